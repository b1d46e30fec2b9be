"""Compiled Programs are tampered with, a line at a time; `assert_same_in_both_modes` names the line each time."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s.static import executor
from d2s.testing import ModesDiffer, assert_same_in_both_modes


class Model:
    def __init__(self) -> None:
        self.scale = 2.0
        self.log: dict[str, float] = {}
        self.items = [1, 2, 3]


MODEL = Model()
B = d2s.to_tensor([0.1, 0.2], stop_gradient=False)


def program(x, w, v):
    x.register_hook(lambda g: g * g)  # HOOK OF X
    y = x * w  # PRODUCT
    z = y * MODEL.scale  # SCALE
    MODEL.log["sum"] = z.sum().item()  # STORE
    MODEL.items.pop()  # POP
    v.add_(x.detach())  # WRITE
    while z.sum() < 20:  # LOOP
        z = z * 1.5 + B  # BODY
    q = d2s.mean(z)  # MEAN
    r = d2s.rand([2])  # RANDOM
    print("one")  # ONE
    print("two")  # TWO
    y.register_hook(lambda g: g + 1)  # HOOK OF Y
    return q * r, z  # RETURN


# What stands in the generated code, what it is replaced by, and the line that is at fault then.
FAULTS = {
    "the gradient of another operand": (
        "multiply_5 = np.multiply(multiply_GRAD_1, x)", "multiply_5 = np.multiply(multiply_GRAD_1, w)", "PRODUCT"),
    "hooks that are not called": (
        "run.call_hooks(walk, multiply_GRAD, multiply_HOOKS, None)", "multiply_GRAD", "HOOK OF Y"),
    "a hook on another value": ("register_hook(multiply_HOOKS,", "register_hook(multiply_1_HOOKS,", "HOOK OF Y"),
    "a hook registered twice": (
        "handle_1 = register_hook(multiply_HOOKS, make_function_1)",
        "handle_1 = [register_hook(multiply_HOOKS, make_function_1) for _ in range(2)]", "HOOK OF Y"),
    "a lost hook of an argument": ("handle = register_hook(x_HOOKS, make_function)", "handle = None", "HOOK OF X"),
    "a stale constant": ("np.multiply(multiply, k_3)", "np.multiply(multiply, np.float32(5))", "SCALE"),
    "a lost call": ("pop_1 = outside(pop)", "pop_1 = None", "POP"),
    "another value stored": ("'sum', item)", "'sum', item + 1)", "STORE"),
    "a lost write in place": ("set_value(v_TENSOR, array)", "None", "WRITE"),
    "a turn too few": ("if not item_1:", "if not item_1 or turns:", "BODY"),
    "another turn": ("np.add(multiply_3, B)", "np.add(multiply_3, multiply_3)", "BODY"),
    "a lost gradient in a loop": ("run.accumulate(walk, 2, z_GRAD_3_1)", "pass", "BODY"),
    "another dtype": (
        "mean = (np.add.reduce(z_2, None) / np.float32(2))", "mean = np.float64(np.add.reduce(z_2, None) / 2)", "MEAN"),
    "a sum for a mean, backward": ("average=True)", "average=False)", "MEAN"),
    "random numbers drawn twice": (
        "uniform = uniform_op(", "uniform = uniform_op(shape=(2,), dtype=k_6, min=0, max=1); uniform = uniform_op(",
        "RANDOM"),
    "another text": ("outside(print, 'one')", "outside(print, 'eins')", "ONE"),
    "a line printed twice": ("outside(print, 'two')", "outside(print, 'two'); outside(print, 'two')", "TWO"),
    "another tensor returned": (
        "return (multiply_4_TENSOR, z_2_TENSOR)", "return (multiply_4_TENSOR, multiply_4_TENSOR)", "RETURN"),
}


def arguments() -> list[Any]:
    return [d2s.to_tensor([1.0, 2.0], stop_gradient=False), d2s.to_tensor([0.5, 1.5], stop_gradient=False),
            d2s.to_tensor([1.0, 1.0])]


def line_of(mark: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, text in enumerate(file, 1) if text.rstrip().endswith(f"  # {mark}"))


def test_nothing_differs_without_a_fault() -> None:
    assert_same_in_both_modes(program, *arguments())


@pytest.mark.parametrize("fault", FAULTS)
def test_the_line_is_named(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong, mark = FAULTS[fault]
    load, changed = executor.load, []

    def tampered(source: executor.Source, name: str) -> Any:
        changed.extend(line for line in source.lines if right in line)
        source.lines[:] = [line.replace(right, wrong) for line in source.lines]
        return load(source, name)

    monkeypatch.setattr(executor, "load", tampered)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(program, *arguments(), calls=1)
    assert changed
    assert raised.value.location is not None
    assert raised.value.location.line == line_of(mark), str(raised.value)
    assert f"# {mark}" in str(raised.value)
