"""Gradient rules as straight code: the same bits as by ops, for every op of the table, and only where that is safe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import d2s
from d2s.core.interpreter import bind
from d2s.core.op import OP_TABLE, Op, define_op
from d2s.eager import cases, straight
from d2s.eager.straight import exactly
from tests.ops.strategies import REGISTRY, inputs_of

DIFFERENTIABLE = [op for name, op in sorted(OP_TABLE.items()) if name in REGISTRY and op.is_differentiable]


@pytest.fixture(autouse=True)
def from_the_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known, and small arrays are written over too."""
    monkeypatch.setattr(straight, "_LARGE", 1)
    cases._known.clear()
    yield
    cases._known.clear()


def gradients(op: Op, args: list[Any], attrs: dict[str, Any], by_backward: bool) -> list[bytes | None]:
    """The bits of the gradients of all floating point inputs."""
    tensors = [
        d2s.to_tensor(arg, stop_gradient=arg.dtype.kind not in "fc") if isinstance(arg, np.ndarray) else arg
        for arg in args
    ]
    for tensor, arg in zip(tensors, args, strict=True):
        if isinstance(tensor, d2s.Tensor):
            # In memory as it was given.
            tensor.data = arg
    found = bind(op, *tensors, **attrs)
    outputs = [out for out in (found if isinstance(found, tuple) else (found,)) if not out.stop_gradient]
    seeds = [d2s.to_tensor(np.linspace(-1, 2, out.data.size).reshape(out.shape).astype(out.dtype)) for out in outputs]
    leaves = [tensor for tensor in tensors if isinstance(tensor, d2s.Tensor) and not tensor.stop_gradient]
    if not outputs:
        return []
    if by_backward:
        d2s.autograd.backward(outputs, seeds)
        grads: list[Any] = [leaf.grad for leaf in leaves]
    else:
        grads = d2s.grad(outputs, leaves, seeds, allow_unused=True)
    return [None if grad is None else grad.data.tobytes() for grad in grads]


def known_functions() -> list[Any]:
    return [function for case in cases._known.values() for function in case._straight.values()]


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
@given(data=st.data())
def test_the_same_bits_as_by_ops(op: Op, data: Any) -> None:
    case = data.draw(inputs_of(op.name))
    backward = data.draw(st.booleans())
    transposed = data.draw(st.booleans())
    args = [
        np.asfortranarray(arg) if transposed and isinstance(arg, np.ndarray) and arg.ndim > 1 else arg
        for arg in case.args
    ]
    cases._known.clear()
    by_ops = gradients(op, args, case.attrs, backward)
    for _ in range(3):
        assert gradients(op, args, case.attrs, backward) == by_ops


def test_most_rules_become_straight_code() -> None:
    x = d2s.to_tensor(np.linspace(0.1, 1, 6, dtype="float32").reshape(2, 3), stop_gradient=False)
    for _ in range(3):
        y = d2s.nn.functional.softmax(d2s.tanh(x * 2) @ x.t(), -1)
        d2s.nn.functional.conv2d(y.reshape([1, 1, 2, 2]), d2s.ones([1, 1, 2, 2])).sum().backward()
    assert None not in known_functions()
    assert len(known_functions()) >= 7


@pytest.mark.parametrize("f", [d2s.nn.functional.sigmoid, d2s.nn.functional.relu, d2s.rsqrt, d2s.nn.functional.silu])
def test_rules_with_numbers_in_their_templates(f: Any) -> None:
    """As in 1 / (1 + exp(-x)): the numbers have the dtype of the first input."""
    x = d2s.to_tensor(np.linspace(0.1, 1, 6, dtype="float32"), stop_gradient=False)
    grads = []
    for _ in range(3):
        x.clear_grad(False)
        f(x * 2).sum().backward()
        assert x.grad is not None
        grads.append(x.grad.data.tobytes())
    assert known_functions()
    assert None not in known_functions()
    assert len(set(grads)) == 1


def test_one_number_shown_everywhere_is_written_over_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of a sum takes no memory; what is computed from it lies in order."""
    calls = []
    compiled = straight._Writer._compiled

    def watched(self: Any, lines: list[str]) -> Any:
        function, is_in_place = compiled(self, lines), any("out=" in line for line in lines)

        def called(*arrays: Any) -> Any:
            calls.append(is_in_place)
            return function(*arrays)

        return called

    monkeypatch.setattr(straight._Writer, "_compiled", watched)
    x = d2s.to_tensor(np.linspace(0.1, 1, 6, dtype="float32"), stop_gradient=False)
    for _ in range(3):
        d2s.tanh(x).sum().backward()
    # Of `tanh`, in the second backward and in the third.
    assert calls.count(True) == 2


def test_equal_arguments_are_not_mixed_up() -> None:
    """`x * x` and `x * y` have equal shapes."""
    x, y = (d2s.to_tensor(value, stop_gradient=False) for value in ([3.0], [5.0]))
    for _ in range(3):
        for first, second, expected in ((x, x, [6.0]), (x, y, [5.0]), (y, x, [5.0])):
            x.clear_grad(False)
            (first * second).backward()
            assert x.grad is not None
            assert x.grad.tolist() == expected


@pytest.mark.parametrize(("first", "second"), [
    (1, True), (1, 1.0), (0.0, -0.0), ((1, 2), (1, True)), ([1], (1,)), (slice(0, 1), slice(False, 1)),
    (np.float32(0.0), np.float32(-0.0)), (np.float32(1), np.float64(1)), (np.dtype("f4"), np.dtype("f8")),
])
def test_keys_tell_equal_values_apart(first: Any, second: Any) -> None:
    assert exactly(first) != exactly(second)
    assert exactly(first) == exactly(first)


def test_constants_by_their_bits() -> None:
    """1 / -0.0 is -inf."""
    x = d2s.to_tensor([1.0], stop_gradient=False)
    for _ in range(3):
        for zero, expected in ((0.0, np.inf), (-0.0, -np.inf)):
            x.clear_grad(False)
            (x / zero).backward()
            assert x.grad is not None
            assert x.grad.item() == expected


def test_no_warning_and_the_error_state_of_the_user_in_hooks() -> None:
    x = d2s.to_tensor([0.0], stop_gradient=False)
    seen = []
    x.register_hook(lambda g: seen.append(np.geterr()["divide"]))
    with np.errstate(divide="raise"):
        for _ in range(3):
            d2s.sqrt(x).backward()
    assert seen == ["raise"] * 3


def test_a_rule_of_the_user_is_called_each_time(fresh_op_table: dict[str, object]) -> None:
    calls = []

    @define_op("twice", infer=lambda x: x)
    def twice(x: Any) -> Any:
        return 2 * x

    def rule(g: Any, out: Any, x: Any) -> Any:
        calls.append(1)
        return g * 2

    twice.vjp(rule)
    x = d2s.to_tensor([1.0], stop_gradient=False)
    for _ in range(4):
        bind(twice, x).backward()
    assert len(calls) == 4


def test_a_rule_that_looks_at_values_stays_as_it_is() -> None:
    """A rule is noted under an interpreter that does not let values out."""

    def rule(g: Any, out: Any, x: Any) -> Any:
        return g * 2 if g.item() > 0 else g

    rule.__module__ = "d2s.ops.planted"
    op = Op("planted", lambda x: x * 1, lambda x: x)
    op.vjp(rule)
    x = d2s.to_tensor(1.0, stop_gradient=False)
    for seed, expected in ((1.0, 2.0), (1.0, 2.0), (-1.0, -1.0), (1.0, 2.0)):
        x.clear_grad(False)
        bind(op, x).backward(d2s.to_tensor(seed))
        assert x.grad is not None
        assert x.grad.item() == expected


def test_what_is_known_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "LIMIT", 5)
    for size in range(20):
        x = d2s.to_tensor(np.ones(size, "float32"), stop_gradient=False)
        (x * 2).backward(d2s.ones([size]))
        assert x.grad is not None
        assert x.grad.tolist() == [2.0] * size
    assert len(cases._known) <= 5


def test_a_second_case_with_another_default_dtype() -> None:
    x = d2s.to_tensor([1, 2], dtype="int64")
    y = d2s.to_tensor([0.5, 0.25], stop_gradient=False)
    try:
        for dtype in ("float32", "float32", "float64", "float64"):
            d2s.set_default_dtype(dtype)
            y.clear_grad(False)
            (x * y).sum().backward()
            assert y.grad is not None
            assert y.grad.dtype == "float32"
            assert y.grad.tolist() == [1.0, 2.0]
    finally:
        d2s.set_default_dtype("float32")


