"""Every op of the table: static mode gives the bits of eager mode, with known and with free sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import d2s
from d2s.core.op import OP_TABLE, Op
from d2s.errors import D2SError
from tests.ops.strategies import REGISTRY, Case, inputs_of

OPS = [op for name, op in sorted(OP_TABLE.items()) if name in REGISTRY]
DTYPES = ["float64", "float32", "float16", "complex64", "int64", "int32", "bool"]
# Ops that cannot work on a size that is known only when the Program runs: a number of results.
NEEDS_SIZES = {"split", "unbind"}
# Ops of which there is a Program for each size: `infer` compares sizes, or their gradients do.
ONE_FOR_EACH_SIZE = {
    "cumprod", "eigh", "product_of_others", "qr", "searchsorted", "svd", "unbroadcast", "unbroadcast_like",
}
# Each example is traced and run three times; a failure is told as it was found.
FEW = settings(max_examples=settings.default.max_examples // 5, phases=[Phase.generate])


def outcome(function: Any, case: Case) -> Any:
    """Results, gradients and second gradients as arrays; or the class and the words of the error."""
    d2s.seed(1)
    leaves = [d2s.to_tensor(arg, stop_gradient=arg.dtype.kind not in "fc") for arg in case.args]
    try:
        results = function(*leaves)
        parts = list(results) if isinstance(results, tuple) else [results]
        total = [(part * part).sum() for part in parts if not part.stop_gradient]
        wanted = [leaf for leaf in leaves if not leaf.stop_gradient]
        first = d2s.grad(total, wanted, create_graph=True, allow_unused=True) if total else []
        again = [(grad * grad).sum() for grad in first if grad is not None and not grad.stop_gradient]
        second = d2s.grad(again, wanted, allow_unused=True) if again else []
    except D2SError as error:
        return type(error).__name__, error.message
    return [seen(value) for value in (*parts, *first, *second)]


def seen(value: Any) -> Any:
    if value is None:
        return None
    return value.dtype.name, value.shape, value.stop_gradient, np.ascontiguousarray(value.numpy()).tobytes()


def arguments(data: Any, op: Op) -> Case:
    case = data.draw(inputs_of(op.name))
    dtype = data.draw(st.sampled_from(DTYPES))
    with np.errstate(all="ignore"):
        args = [np.asarray(arg).astype(dtype) if arg.dtype.kind == "f" else np.asarray(arg) for arg in case.args]
    return Case(args, case.attrs)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@FEW
@given(data=st.data())
def test_static_mode_gives_the_bits_of_eager_mode(op: Op, data: Any) -> None:
    case = arguments(data, op)

    def function(*args: Any) -> Any:
        return op(*args, **case.attrs)

    assert outcome(d2s.jit.to_static(function), case) == outcome(function, case)


@pytest.mark.parametrize("op", [op for op in OPS if op.name not in NEEDS_SIZES], ids=lambda op: op.name)
@FEW
@given(data=st.data())
def test_one_program_for_all_sizes(op: Op, data: Any) -> None:
    case = arguments(data, op)

    def function(*args: Any) -> Any:
        return op(*args, **case.attrs)

    specs = [d2s.static.InputSpec([None] * arg.ndim, arg.dtype, stop_gradient=arg.dtype.kind not in "fc")
             for arg in case.args]
    static = d2s.jit.to_static(with_parameters(function, len(specs)), input_spec=specs)
    found = outcome(static, case)
    assert found == outcome(function, case)
    # Sizes of 0 and 1 are never left open.
    sizes = [size for arg in case.args for size in arg.shape]
    if not isinstance(found, tuple) and sizes and min(sizes) > 1 and op.name not in ONE_FOR_EACH_SIZE:
        assert any(not value.spec.is_static for value in static.concrete_program.inputs)


def with_parameters(function: Any, count: int) -> Any:
    """`function` with that many parameters, each of which an InputSpec can stand for."""

    def none() -> Any:
        return function()

    def one(a: Any) -> Any:
        return function(a)

    def two(a: Any, b: Any) -> Any:
        return function(a, b)

    def three(a: Any, b: Any, c: Any) -> Any:
        return function(a, b, c)

    def four(a: Any, b: Any, c: Any, d: Any) -> Any:
        return function(a, b, c, d)

    def five(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        return function(a, b, c, d, e)

    def six(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        return function(a, b, c, d, e, f)

    return [none, one, two, three, four, five, six][count]


def test_complex_numbers_meet_the_neutral_number() -> None:
    x = d2s.to_tensor([1.0 + 2.0j])
    static = d2s.jit.to_static(lambda x: (x * 1.0 + 0.0, x * d2s.ones([], "complex64"), x + d2s.zeros([], "complex64")))
    for found in static(x):
        assert found.tolist() == x.tolist()
