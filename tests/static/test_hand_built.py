"""Programs built by hand: variables, py_func, gradients, hooks, the Executor and its errors."""

from __future__ import annotations

import operator
import pickle

import numpy as np
import pytest

import d2s
from d2s import static
from d2s.core.interpreter import default_interpreter, use_interpreter


@pytest.fixture
def programs():
    """A main and a startup Program that are being built."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        yield main, startup


def eagerly():
    """Compute at once, although a Program is being built."""
    return use_interpreter(default_interpreter())


def run(program, fetch, **feed):
    feed = {name: np.asarray(value, "float32") for name, value in feed.items()}
    return static.Executor(d2s.CPUPlace()).run(program, feed=feed, fetch_list=fetch)


def leaf_input(name="x", shape=(None,)):
    x = static.data(name, shape)
    x.stop_gradient = False
    return x


# --- the request: py_func and the hook agree -----------------------------------------------------------------------


def gradient_of_program_2(hook):
    @d2s.to_static
    def f(x):
        t = 3 * x
        x.register_hook(hook)
        return t

    with eagerly():
        x = d2s.to_tensor([2.0], stop_gradient=False)
        f(x).backward()
        return x.grad.numpy()


@pytest.mark.parametrize("change", [lambda g: 2 * g, lambda g: g + 1, lambda g: g * g])
def test_py_func_gives_the_gradient_of_the_hook(programs, change):
    x = leaf_input(shape=[1])
    out = static.default_main_program().current_block().create_var(name="out", shape=[1], dtype="float32")
    static.py_func(lambda x: x, x, out, backward_func=lambda g: change(g), skip_vars_in_backward_input=[x, out])
    static.append_backward((3 * out).sum())
    (gradient,) = run(programs[0], ["x@GRAD"], x=[2.0])
    np.testing.assert_array_equal(gradient, gradient_of_program_2(change))


def test_a_hook_registered_by_hand_after_the_use_gives_it_too(programs):
    calls = []

    def hook(g):
        calls.append(g.numpy().tolist())
        return g * g

    x = leaf_input(shape=[1])
    t = 3 * x
    x.register_hook(hook)
    static.append_backward(t.sum())
    for _ in range(2):
        np.testing.assert_array_equal(run(programs[0], ["x@GRAD"], x=[2.0])[0], [9.0])
    assert calls == [[3.0], [3.0]]
    text = str(programs[0])
    assert "x: float32[1] = input  stop_gradient=False  hooks=[0]" in text
    assert "x@GRAD: float32[1] = call_hooks(" in text


def test_the_hook_of_an_intermediate_value_sees_the_sum_of_its_uses(programs):
    seen = []

    def hook(g):
        seen.append(g.numpy().tolist())
        return g + 1

    x = leaf_input()
    y = x * x
    z = y * 3 + y
    y.register_hook(hook)
    static.append_backward(z.sum())
    np.testing.assert_array_equal(run(programs[0], ["x@GRAD"], x=[2.0, 5.0])[0], [20.0, 50.0])
    assert seen == [[4.0, 4.0]]


def test_hooks_of_a_tensor_from_outside_run_as_well(programs):
    linear = d2s.nn.Linear(2, 1)
    linear.weight.register_hook(lambda g: g * 10)
    x = static.data("x", [None, 2])
    pairs = static.append_backward(linear(x).sum())
    assert [parameter.shape for parameter, _ in pairs] == [[2, 1], [1]]
    weight, bias = run(programs[0], [gradient for _, gradient in pairs], x=[[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(weight, [[40.0], [60.0]])
    np.testing.assert_array_equal(bias, [2.0])


def test_a_hook_after_its_gradient_is_refused(programs):
    x = leaf_input()
    static.append_backward((x * 2).sum())
    with pytest.raises(d2s.HookError, match="hook on x comes too late"):
        x.register_hook(lambda g: g)


# --- py_func ---------------------------------------------------------------------------------------------------------


def output(name, shape):
    return static.default_main_program().current_block().create_var(name=name, shape=shape, dtype="float32")


def test_py_func_gets_and_gives_several_values(programs):
    x, y = leaf_input("x"), leaf_input("y")
    total, difference = output("s", [-1]), output("d", [-1])
    given = []

    def backward(*args):
        given.append(len(args))
        *_, ds, dd = (arg.numpy() for arg in args)
        return ds + dd, ds - dd

    static.py_func(lambda a, b: (a + b, a.numpy() - b.numpy()), [x, y], [total, difference], backward, [x])
    static.append_backward((total * 2 + difference * 5).sum())
    found = run(programs[0], [total, difference, "x@GRAD", "y@GRAD"], x=[1.0], y=[10.0])
    assert [value.tolist() for value in found] == [[11.0], [-9.0], [7.0], [-3.0]]
    assert given == [5]


def test_without_backward_func_no_gradient_passes(programs):
    x = leaf_input()
    out = output("out", [-1])
    static.py_func(lambda x: x, x, out)
    assert out.stop_gradient
    with pytest.raises(d2s.GradientError, match="stops gradients"):
        static.append_backward(out.sum())


def test_py_func_runs_even_if_nobody_wants_its_result(programs):
    calls = []
    static.py_func(lambda x: calls.append(x.numpy().tolist()), static.data("x", [1]), None)
    run(programs[0], [], x=[4.0])
    assert calls == [[4.0]]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (np.zeros(3, "float32"), r"returned float32\[3\] to py_func for out, expected float32\[2\]"),
        (np.zeros(2, "float64"), r"returned float64\[2\]"),
        (None, "returned None"),
        ((1, 2), "returned 2 results to py_func, expected 1: out"),
    ],
)
def test_a_result_that_does_not_fit_is_refused(programs, result, text):
    static.py_func(lambda x: result, static.data("x", [2]), output("out", [2]))
    with pytest.raises(d2s.ExecutionError, match=text):
        run(programs[0], ["out"], x=[1.0, 2.0])


def test_a_missing_gradient_that_is_needed_is_refused(programs):
    x = leaf_input()
    out = output("out", [-1])
    static.py_func(lambda x: x, x, out, lambda *args: None)
    static.append_backward(out.sum())
    with pytest.raises(d2s.ExecutionError, match="returned None to py_func for x@GRAD"):
        run(programs[0], ["x@GRAD"], x=[1.0])


def test_an_output_can_be_defined_only_once(programs):
    x = static.data("x", [2])
    with pytest.raises(d2s.ProgramError, match="x is defined already"):
        static.py_func(lambda x: x, x, x)


def test_only_inputs_and_outputs_can_be_skipped(programs):
    x, other = static.data("x", [2]), static.data("other", [2])
    with pytest.raises(d2s.ProgramError, match="names other"):
        static.py_func(lambda x: x, x, output("out", [2]), lambda *a: a, [other])


def test_an_error_of_the_users_function_keeps_its_type(programs):
    def fails(x):
        raise LookupError("mine")

    static.py_func(fails, static.data("x", [2]), output("out", [2]))
    with pytest.raises(LookupError, match="mine"):
        run(programs[0], ["out"], x=[1.0, 2.0])


# --- gradients -------------------------------------------------------------------------------------------------------


def test_gradients_of_inputs_and_intermediates(programs):
    x = leaf_input()
    y = x * x
    unrelated = leaf_input("u")
    found = static.gradients([y * 3, y], [x, y, unrelated])
    assert found[2] is None
    dx, dy = run(programs[0], found[:2], x=[1.0, 2.0])
    assert (dx.tolist(), dy.tolist()) == ([8.0, 16.0], [4.0, 4.0])


def test_target_gradients_and_no_grad_set(programs):
    x, seed = leaf_input(), static.data("seed", [None])
    y = x * 2
    (dx,) = static.gradients(y + x * x, x, target_gradients=seed, no_grad_set={y})
    assert run(programs[0], [dx], x=[3.0], seed=[10.0])[0].tolist() == [60.0]


def test_gradients_of_gradients(programs):
    x = leaf_input()
    (first,) = static.gradients(x * x * x, x)
    (second,) = static.gradients(first, x)
    assert [value.tolist() for value in run(programs[0], [first, second], x=[2.0])] == [[12.0], [12.0]]


@pytest.mark.parametrize(("at", "factor"), [([1.0, 2.0], 2.0), ([0.1, 0.2], 3.0), ([-1.0, 0.0], 4.0)])
def test_values_that_a_branch_in_a_branch_gives_have_gradients(programs, at, factor):
    x = leaf_input(shape=[2])
    y, z, w = x * 2, x * 3, x * 4

    def inner():
        return static.nn.cond(x.sum() > 1, lambda: y, lambda: z)

    (gradient,) = static.gradients(static.nn.cond(x.sum() > 0, inner, lambda: w), x)
    assert run(programs[0], [gradient], x=at)[0].tolist() == [factor, factor]


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_a_free_size_is_known_only_to_the_run(programs, batch):
    linear = d2s.nn.Linear(3, 2)
    x = leaf_input(shape=[None, 3])
    loss = (linear(x) ** 2).mean()
    static.append_backward(loss)
    values = np.random.default_rng(0).standard_normal((batch, 3)).astype("float32")
    found = run(programs[0], [loss, "x@GRAD"], x=values)
    with eagerly():
        x = d2s.to_tensor(values, stop_gradient=False)
        expected = (linear(x) ** 2).mean()
        expected.backward()
    np.testing.assert_array_equal(found[0], expected.numpy())
    np.testing.assert_array_equal(found[1], x.grad.numpy())


def test_a_free_size_of_one_that_is_broadcast_gets_a_gradient_of_its_own_shape(programs):
    x = leaf_input()
    static.append_backward((x * np.arange(3, dtype="float32")).sum())
    assert run(programs[0], ["x@GRAD"], x=[2.0])[0].tolist() == [3.0]


def test_the_loss_must_have_one_element(programs):
    with pytest.raises(d2s.ShapeError, match="the loss must have one element"):
        static.append_backward(leaf_input() * 2)


# --- variables, modes ------------------------------------------------------------------------------------------------


def test_names_and_shapes(programs):
    x = static.data("x", [None, 3, -1], "int64")
    assert x.name == "x"
    assert x.shape == [-1, 3, -1]
    assert repr(x.shape) == "[-1, 3, -1]"
    assert x.dtype == np.int64
    assert x.stop_gradient
    assert static.default_main_program().global_block().var("x") is x


def test_a_size_that_looks_like_minus_one_computes_with_the_real_size(programs):
    x = static.data("x", [None, 2])
    rows = x.shape[0]
    assert rows == -1
    found = run(programs[0], [x.reshape([rows * 2]), x.sum() / rows], x=np.ones((3, 2)))
    assert found[0].shape == (6,)
    assert found[1] == 2.0


def test_a_name_is_given_once(programs):
    static.data("x", [1])
    with pytest.raises(d2s.ProgramError, match="'x' already"):
        static.data("x", [1])


def test_stop_gradient_is_set_before_the_first_use(programs):
    x = static.data("x", [1])
    x * 2
    with pytest.raises(d2s.ProgramError, match="once an operator has used it"):
        x.stop_gradient = False


def test_startup_gives_parameters_their_values(programs):
    main, startup = programs
    w = static.create_parameter([2, 3], "float32", name="w")
    b = static.create_parameter([3], "float32", is_bias=True)
    c = static.create_global_var([1], 7.0, "float32", name="c")
    executor = static.Executor()
    with pytest.raises(d2s.ExecutionError, match="w has no values yet"):
        executor.run(main, fetch_list=[w])
    executor.run(startup)
    weights, bias, constant = executor.run(main, fetch_list=[w, b, c])
    assert 0 < np.abs(weights).max() <= np.sqrt(6 / 5)
    assert bias.tolist() == [0.0] * 3
    assert constant.tolist() == [7.0]
    assert not w.stop_gradient
    assert c.stop_gradient


def test_enable_static_records_into_the_default_program():
    assert d2s.in_dynamic_mode()
    d2s.enable_static()
    try:
        assert not d2s.in_dynamic_mode()
        d2s.enable_static()
        y = d2s.ones([2]) + 1
        assert isinstance(y, static.Variable)
        assert static.Executor().run(fetch_list=[y])[0].tolist() == [2.0, 2.0]
    finally:
        d2s.disable_static()
    assert d2s.in_dynamic_mode()
    d2s.disable_static()
    assert isinstance(d2s.ones([2]), d2s.Tensor)


def test_program_guards_nest():
    outer, inner = static.Program(), static.Program()
    with static.program_guard(outer):
        with static.program_guard(inner):
            assert static.default_main_program() is inner
            static.data("a", [1])
        assert static.default_main_program() is outer
    assert not outer.inputs
    assert [value.name for value in inner.inputs] == ["a"]


def test_a_traced_program_cannot_be_built_on_or_run_by_hand():
    f = d2s.to_static(lambda x: x + 1)
    f(d2s.ones([1]))
    with pytest.raises(d2s.ProgramError, match="was traced"), static.program_guard(f.main_program):
        pass
    with pytest.raises(d2s.ExecutionError, match="was traced"):
        static.Executor().run(f.main_program)


# --- the Executor ----------------------------------------------------------------------------------------------------


def test_what_is_not_fetched_and_has_no_effect_is_not_run(programs):
    x, y = static.data("x", [1]), static.data("y", [1])
    doubled = x * 2
    y * 3
    assert run(programs[0], [doubled, "x"], x=[1.0])[0].tolist() == [2.0]


def test_fetches_may_be_tensors_and_are_never_the_arrays_that_were_fed(programs):
    x = static.data("x", [1])
    values = np.ones(1, "float32")
    (tensor,) = static.Executor().run(programs[0], feed={"x": values}, fetch_list=[x], return_numpy=False)
    assert isinstance(tensor, d2s.Tensor)
    (array,) = static.Executor().run(programs[0], feed={"x": values}, fetch_list=[x])
    array[0] = 5
    assert values[0] == 1


def test_python_numbers_are_cast_but_fractions_are_no_integers(programs):
    x, n = static.data("x", [2]), static.data("n", [1], "int64")
    executor = static.Executor()
    assert executor.run(programs[0], {"x": [1, 2.5]}, [x])[0].dtype == np.float32
    with pytest.raises(d2s.DTypeError, match=r"n is fed float64\[1\], expected int64\[1\]"):
        executor.run(programs[0], {"n": [1.5]}, [n])


@pytest.mark.parametrize(
    ("feed", "fetch", "error", "text"),
    [
        ({}, ["y"], d2s.ExecutionError, r"x \(float32\[-1, 2\]\) is not fed; fed: nothing"),
        ({"x": np.zeros((1, 2), "float32")}, ["nope"], d2s.ExecutionError, "nope cannot be fetched"),
        ({"z": np.zeros(1, "float32")}, ["y"], d2s.ExecutionError, "no such input; its inputs: x"),
        ({"x": np.zeros((1, 3), "float32")}, ["y"], d2s.ShapeError, r"x is fed float32\[1, 3\], expected float32\[-1"),
        ({"x": np.zeros(2, "float32")}, ["y"], d2s.ShapeError, r"x is fed float32\[2\]"),
        ({"x": np.zeros((1, 2))}, ["y"], d2s.DTypeError, r"x is fed float64\[1, 2\], expected float32\[-1, 2\]"),
        ({}, [3], d2s.DTypeError, "a fetch must be a Variable, a Parameter or a name, got int"),
    ],
)
def test_wrong_calls_say_what_was_expected(programs, feed, fetch, error, text):
    y = static.data("x", [None, 2]) * 2
    fetch = [y if item == "y" else item for item in fetch]
    with pytest.raises(error, match=text):
        static.Executor().run(programs[0], feed=feed, fetch_list=fetch)


def test_a_variable_of_another_program_cannot_be_fetched(programs):
    with static.program_guard(static.Program()):
        other = static.data("other", [1])
    with pytest.raises(d2s.ExecutionError, match="other cannot be fetched"):
        run(programs[0], [other])


def test_a_declared_variable_that_nothing_defines_cannot_be_fetched(programs):
    with pytest.raises(d2s.ExecutionError, match="no operator of main defines it"):
        run(programs[0], [output("never", [1])])


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda x, n: len(x), r"len\(\) needs"), (lambda x, n: list(x), "a loop over a tensor needs"),
        (lambda x, n: 1.0 in x, "a loop over a tensor needs"), (lambda x, n: float(n), r"float\(\) needs"),
        (lambda x, n: operator.mod("%.1f", n), r"float\(\) needs"), (lambda x, n: f"{n:.2f}", r"format\(\) needs"),
        (lambda x, n: str(x), r"str\(\) needs"), (lambda x, n: x.numpy(), r"numpy\(\) needs"),
        (lambda x, n: x.tolist(), r"tolist\(\) needs"), (lambda x, n: np.asarray(x), "a NumPy array needs"),
        (lambda x, n: pickle.dumps(x), "pickling needs"), (lambda x, n: np.from_dlpack(x), "DLPack needs"),
        (lambda x, n: [1, 2, 3][n], "an index needs"), (lambda x, n: int(n.item()), r"int\(\) needs a Python value"),
    ],
)
def test_what_python_asks_of_a_variable_is_refused(use, words):
    with static.program_guard(static.Program()):
        x, n = static.data("x", [None, 2]), static.data("n", [], "int64")
        with pytest.raises(d2s.ProgramError, match=words) as caught:
            use(x, n)
    assert caught.value.location.file == __file__
    assert "Executor().run" in caught.value.advice
    assert "static.nn.cond" in caught.value.advice


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda y: y.backward(), r"backward\(\) of"), (lambda y: y.grad, "grad of"),
        (lambda y: setattr(y, "grad", None), "grad of"), (lambda y: y.clear_grad(), r"clear_gradient\(\) of"),
        (lambda y: d2s.autograd.backward([y]), r"backward\(\) of"),
        (lambda y: d2s.grad(y, [y]), r"grad\(\) of"),
    ],
)
def test_gradients_of_a_variable_are_variables(use, words):
    with static.program_guard(static.Program()):
        y = static.create_parameter([2], "float32").sum()
        with pytest.raises(d2s.UnsupportedSyntaxError, match=words) as caught:
            use(y)
    assert caught.value.location.file == __file__
    assert "static.append_backward" in caught.value.advice
    assert "static.gradients" in caught.value.advice


def test_checkpoints_change_no_gradient(programs):
    parameter = static.create_parameter([2], "float32")
    middle = parameter * parameter
    pairs = static.append_backward((middle * 3).sum(), checkpoints=[middle, middle.name])
    static.Executor().run(programs[1])
    value, gradient = static.Executor().run(programs[0], {}, [parameter, pairs[0][1]])
    np.testing.assert_allclose(gradient, 6 * value, rtol=1e-6)
    for wrong in ({"callbacks": [print]}, {"distop_context": 1}):
        with pytest.raises(d2s.ProgramError, match="does not support"):
            static.append_backward((middle * 3).sum(), **wrong)
    with pytest.raises(d2s.ProgramError, match="nowhere"):
        static.append_backward((middle * 3).sum(), checkpoints=["nowhere"])


def test_free_sizes_go_through_operators():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, 4])
        size = x.shape[0]
        results = [
            d2s.tile(x[:1], [size, 1]), x[:1].expand([size, 4]), d2s.split(x, [2, size - 2])[1],
            x.reshape([size * 2, 2]), d2s.arange(size), d2s.eye(size),
            d2s.repeat_interleave(x, 2, 0), d2s.tril_indices(size, size),
            d2s.nn.functional.interpolate(x.reshape([1, 1, -1, 4]), scale_factor=2)]
    for number in (2, 3, 5):
        array = np.arange(number * 4, dtype="float32").reshape(number, 4)
        found = static.Executor().run(program, {"x": array}, results)
        x = d2s.to_tensor(array)
        expected = [
            d2s.tile(x[:1], [number, 1]), x[:1].expand([number, 4]), x[2:], x.reshape([-1, 2]), d2s.arange(number),
            d2s.eye(number), d2s.repeat_interleave(x, 2, 0), d2s.tril_indices(number, number),
            d2s.nn.functional.interpolate(x.reshape([1, 1, -1, 4]), scale_factor=2)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other.numpy())


def test_name_scope_changes_nothing(programs):
    with static.name_scope("block"), static.name_scope():
        x = leaf_input()
        y = x * 2
    assert x.name == "x"
    assert run(programs[0], [y], x=[1.0])[0].tolist() == [2.0]


def test_the_variables_of_a_program():
    program, layer = static.Program(), d2s.nn.Linear(2, 1)
    with static.program_guard(program):
        x = static.data("x", [None, 2])
        loss = layer(x).mean()
    found = list(program.list_vars())
    assert found[0] is x
    assert {"x", loss.name, *(p.name for p in program.global_block().all_parameters())} <= {v.name for v in found}
    assert len({v.name for v in found}) == len(found)
    given = np.ones((3, 2), "float32")
    fetched = static.Executor().run(program, {"x": given}, [found[-1]])
    assert float(fetched[0]) == layer(d2s.to_tensor(given)).mean().item()
