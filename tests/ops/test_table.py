"""What holds for every op of the table: gradients, and agreement of `infer` with `forward`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2s.core.op import OP_TABLE, Op, define_op
from d2s.core.spec import Dim, TensorSpec, spec_of
from d2s.errors import DTypeError
from tests.ops.gradient_checks import check_gradients
from tests.ops.strategies import REGISTRY, Case, inputs_of

OPS = [op for name, op in sorted(OP_TABLE.items()) if name in REGISTRY]


def test_every_op_has_a_strategy() -> None:
    assert sorted(OP_TABLE) == sorted(REGISTRY)


def parametrize(ops: list[Op]) -> Any:
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


def compute(op: Op, case: Case) -> tuple[Any, ...]:
    """The results of `forward`, which may not write to its arguments."""
    for arg in case.args:
        arg.setflags(write=False)
    with np.errstate(all="ignore"):
        result = op.forward(*case.args, **case.attrs)
    return result if isinstance(result, tuple) else (result,)


def inferred(op: Op, args: list[Any], attrs: dict[str, Any]) -> tuple[TensorSpec, ...]:
    result = op.infer(*args, **attrs)
    return result if isinstance(result, tuple) else (result,)


@parametrize([op for op in OPS if op.is_differentiable])
@given(data=st.data())
def test_rules_agree_with_finite_differences(op: Op, data: Any) -> None:
    case = data.draw(inputs_of(op.name))
    check_gradients(op, case.args, case.attrs)


@parametrize(OPS)
@given(data=st.data())
def test_infer_agrees_with_forward(op: Op, data: Any) -> None:
    """For every dtype that `infer` accepts: same dtype; same shape, but for sizes that depend on the data."""
    case = data.draw(inputs_of(op.name))
    dtype = data.draw(st.sampled_from(["float64", "float32", "float16", "int64", "int32", "uint8", "bool"]))
    with np.errstate(all="ignore"):
        args = [np.asarray(arg).astype(dtype) if arg.dtype.kind == "f" else arg for arg in case.args]
    case = Case(args, case.attrs)
    try:
        specs = inferred(op, [spec_of(arg) for arg in args], case.attrs)
    except DTypeError:
        return
    results = compute(op, case)
    assert len(specs) == len(results)
    for spec, result in zip(specs, results, strict=True):
        result = np.asarray(result)
        assert result.dtype == spec.dtype
        assert len(spec.shape) == result.ndim
        assert all(isinstance(a, Dim) or a == b for a, b in zip(spec.shape, result.shape, strict=True)), (spec, result)


@parametrize(OPS)
@given(data=st.data())
def test_infer_with_unknown_sizes(op: Op, data: Any) -> None:
    """With a Dim in place of one size, wherever it occurs, `infer` says no more than what is true."""
    case = data.draw(inputs_of(op.name))
    sizes = {size for arg in case.args for size in arg.shape if size > 1}
    if not sizes:
        return
    chosen = data.draw(st.sampled_from(sorted(sizes)))
    dim = Dim("n")

    def hidden(shape: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(dim if size == chosen else size for size in shape)

    if op.name == "unbind" and case.args[0].shape[case.attrs["axis"]] == chosen:
        # A tuple of unknown length is no result.
        return
    known = inferred(op, [spec_of(arg) for arg in case.args], case.attrs)
    attrs = {name: hidden(value) if name == "shape" else value for name, value in case.attrs.items()}
    unknown = inferred(op, [TensorSpec(hidden(arg.shape), arg.dtype) for arg in case.args], attrs)
    for first, second in zip(known, unknown, strict=True):
        assert first.dtype == second.dtype
        assert len(first.shape) == len(second.shape)
        for size, hidden_size in zip(first.shape, second.shape, strict=True):
            assert isinstance(hidden_size, Dim) or hidden_size == size or isinstance(size, Dim)
            assert hidden_size is not dim or size == chosen


@parametrize([op for op in OPS if op.template is not None])
@given(data=st.data())
def test_template_computes_what_forward_does(op: Op, data: Any) -> None:
    case = data.draw(inputs_of(op.name))
    assert op.template is not None
    names = {f"x{index}": arg for index, arg in enumerate(case.args)}
    with np.errstate(all="ignore"):
        by_template = eval(op.template.format(*names), {"np": np, **names})
    np.testing.assert_array_equal(by_template, compute(op, case)[0], strict=False)


def test_check_gradients_notices_a_wrong_rule(fresh_op_table: dict[str, object]) -> None:
    @define_op("double", infer=lambda x: x)
    def double(x: Any) -> Any:
        return 2.0 * x

    double.vjp(lambda g, out, x: g * 2.001)
    with pytest.raises(AssertionError, match="gradient of double is wrong"):
        check_gradients(double, [np.ones(3)], {})


def test_check_gradients_notices_a_wrong_second_rule(fresh_op_table: dict[str, object]) -> None:
    @define_op("cube", infer=lambda x: x, saves=("x",))
    def cube(x: Any) -> Any:
        return x**3

    # The value is right, but the factor is cut off from the graph.
    cube.vjp(lambda g, out, x: g * (x * x * 3).detach())
    with pytest.raises(AssertionError, match="second gradient of cube is wrong"):
        check_gradients(cube, [np.full(3, 2.0)], {})
