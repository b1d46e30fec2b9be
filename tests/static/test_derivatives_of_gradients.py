"""Second and third derivatives in Programs that are built by hand, through hooks and branches, against eager mode."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import static

POINT = np.array([1.25, 0.75], "float64")
FACTORS = np.array([0.5, 2.0], "float64")


def constant(value):
    return lambda g, w: d2s.to_tensor(value, dtype="float64") * w


HOOKS = {
    "none": None,
    "keeps": lambda g, w: None,
    "affine": lambda g, w: g * 3 + 1,
    "square": lambda g, w: g * g,
    "by a tensor from outside": lambda g, w: g * w * w + w,
    "without the gradient": constant([1.0, 2.0]),
    "writes": lambda g, w: (g.add_(w), None)[1],
}


def straight(x, c, w, hook):
    y = x * x
    hook(y)
    z = y * x
    hook(z)
    return (z * y).sum() + (x * x * x).sum()


def used_twice(x, c, w, hook):
    hook(x)
    y = x * w
    hook(y)
    return (y * y * x).sum() + (y * w).sum()


def several_outputs(x, c, w, hook):
    a, b = d2s.split(d2s.concat([x * x, x]), 2)
    hook(a)
    return (a * b * a).sum() + (x * w).sum()


def around_a_branch(x, c, w, hook):
    y = x * x
    hook(y)
    return static.nn.cond(c > 0, lambda: (y * x * w).sum(), lambda: (y * y).sum())


def in_a_branch(x, c, w, hook):
    y = x * x

    def first():
        u = y * x
        hook(u)
        return (u * x).sum()

    return static.nn.cond(c > 0, first, lambda: (y * y * w).sum())


def differentiated(order, target, of, grad):
    """The gradients of order 1 to `order` with respect to `of`: of the target, and of the squares of the first one."""
    found = []
    for _ in range(order):
        gradients = grad(target, of)
        found.append(gradients)
        target = (gradients[0] * gradients[0]).sum()
    return found


def by_hand(function, hook, order, values):
    log = []
    w = d2s.to_tensor(FACTORS, stop_gradient=False)
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2], "float64")
        x.stop_gradient = False
        c = static.data("c", [], "float64")
        target = function(x, c, w, registering(hook, w, log))
        wv = program.recorder.lift(w)
        found = differentiated(order, target, [x, wv], static.gradients)
    fetched = [g for part in found for g in part if g is not None]
    results = []
    for value in values:
        given = iter(static.Executor().run(
            program, feed={"x": POINT, "c": np.float64(value)}, fetch_list=fetched))
        results.append([[None if g is None else next(given) for g in part] for part in found])
    return results, log


def eagerly(function, hook, order, values):
    log, results = [], []
    for value in values:
        w = d2s.to_tensor(FACTORS, stop_gradient=False)
        x = d2s.to_tensor(POINT, stop_gradient=False)
        target = function(x, d2s.to_tensor(value, dtype="float64"), w, registering(hook, w, log))
        found = differentiated(order, target, [x, w], lambda target, of: d2s.grad(
            target, of, create_graph=True, allow_unused=True))
        results.append([[None if g is None else g.numpy() for g in part] for part in found])
    return results, log


def registering(hook, w, log):
    def logged(g):
        log.append(g.numpy().copy())
        return hook(g, w)

    return lambda tensor: None if hook is None else tensor.register_hook(logged)


FUNCTIONS = [straight, used_twice, several_outputs, around_a_branch, in_a_branch]
CASES = [
    pytest.param(function, hook, id=f"{function.__name__}-{name}") for function in FUNCTIONS
    for name, hook in HOOKS.items()
    # A hook on the input itself, which leaves nothing to differentiate.
    if (function, name) != (used_twice, "without the gradient")]


@pytest.mark.parametrize(("function", "hook"), CASES)
@pytest.mark.parametrize("order", [2, 3])
def test_derivatives_are_those_of_eager_mode(function, hook, order):
    values = [1.0] if "branch" not in function.__name__ else [1.0, -1.0]

    (found, found_log), (expected, expected_log) = (
        run(function, hook, order, values) for run in (by_hand, eagerly))

    for one, other in zip(found, expected, strict=True):
        for part, known in zip(one, other, strict=True):
            for g, h in zip(part, known, strict=True):
                assert (g is None) == (h is None)
                if g is not None:
                    np.testing.assert_allclose(g, h, rtol=1e-12)
    assert len(found_log) == len(expected_log)
    for g, h in zip(found_log, expected_log, strict=True):
        np.testing.assert_allclose(g, h, rtol=1e-12)


def test_what_goes_back_through_a_loop_is_refused():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2], "float64")
        x.stop_gradient = False
        start = [d2s.full([], 0, "int64"), x * 1]
        _, y = static.nn.while_loop(lambda n, y: n < 2, lambda n, y: (n + 1, y * x), start)
        (g,) = static.gradients(y, x)
        with pytest.raises(d2s.GradientError, match="gone back through a loop") as caught:
            static.gradients(g, x)
    assert caught.value.kind == "G10"


def test_what_a_function_of_the_user_has_computed_is_refused():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2], "float64")
        x.stop_gradient = False
        out = program.current_block().create_var("out", [2], "float64")
        static.py_func(lambda x: x * x, x, out, lambda x, out, g: 2 * x * g)
        (g,) = static.gradients(out, x)
        with pytest.raises(d2s.GradientError, match="backward function of a py_func"):
            static.gradients(g, x)


def test_a_tensor_that_comes_after_the_hooks_were_differentiated():
    w = d2s.to_tensor(FACTORS, stop_gradient=False)
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2], "float64")
        x.stop_gradient = False
        y = x * x
        y.register_hook(lambda g: g * w)
        (g,) = static.gradients(y * x, x)
        (h,) = static.gradients(g, x)
        target = (h * w).sum()
        with pytest.raises(d2s.GradientError, match="has come to the Program after"):
            static.gradients(target, program.recorder.lift(w))
