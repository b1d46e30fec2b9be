"""What holds for every op of the table: gradients, and agreement of `infer` with `forward`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2s.core.op import OP_TABLE, TEMPLATE_NUMBERS, Op, define_op
from d2s.core.spec import Dim, TensorSpec, spec_of
from d2s.errors import DTypeError
from tests.ops.gradient_checks import check_gradients
from tests.ops.strategies import F64, REGISTRY, Case, inputs_of

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


def as_complex_case(op: Op, case: Case) -> Case | None:
    """The floating arguments with imaginary parts; None if the op refuses complex numbers."""
    rng = np.random.default_rng(len(case.args))
    args = [
        arg + 1j * rng.uniform(-0.4, 0.4, arg.shape) if isinstance(arg, np.ndarray) and arg.dtype.kind == "f" else arg
        for arg in map(np.asarray, case.args)
    ]
    if op.name in ("cholesky", "eigh"):
        args = [(arg + np.conj(np.swapaxes(arg, -1, -2))) / 2 for arg in args]
    attrs = {name: np.dtype("complex128") if value == F64 else value for name, value in case.attrs.items()
             } if "dtype" in case.attrs else case.attrs
    try:
        inferred(op, [spec_of(arg) for arg in args], attrs)
    except DTypeError:
        return None
    return Case(args, attrs)


@parametrize([op for op in OPS if op.is_differentiable])
@given(data=st.data())
def test_rules_agree_with_finite_differences_for_complex_numbers(op: Op, data: Any) -> None:
    """Every op that accepts complex numbers has their gradient: an op that has not must refuse them."""
    case = as_complex_case(op, data.draw(inputs_of(op.name)))
    if case is not None:
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
    names = {f"x{index}": arg for index, arg in enumerate(case.args)}
    pattern = op.expression([spec_of(np.asarray(arg)) for arg in case.args], case.attrs)
    if pattern is None:
        return
    with np.errstate(all="ignore"):
        dtype = np.asarray(case.args[0]).dtype
        numbers = {name: np.asarray(number, dtype) for name, number in TEMPLATE_NUMBERS.items()}
        by_template = eval(pattern.format(*names, **{name: name for name in numbers}), {"np": np, **names, **numbers})
    parts = by_template if isinstance(by_template, tuple) else (by_template,)
    for part, expected in zip(parts, compute(op, case), strict=True):
        assert np.asarray(part).dtype == expected.dtype
        assert np.asarray(part).tobytes() == expected.tobytes()


def test_check_gradients_notices_a_wrong_rule(fresh_op_table: dict[str, object]) -> None:
    @define_op("double", infer=lambda x: x)
    def double(x: Any) -> Any:
        return 2.0 * x

    double.vjp(lambda g, out, x: g * 2.001)
    with pytest.raises(AssertionError, match="gradient of double is wrong"):
        check_gradients(double, [np.ones(3)], {})


def test_check_gradients_notices_a_missing_conjugate(fresh_op_table: dict[str, object]) -> None:
    @define_op("cube", infer=lambda x: x, saves=("x",))
    def cube(x: Any) -> Any:
        return x**3

    cube.vjp(lambda g, out, x: g * (x * x * 3))
    check_gradients(cube, [np.full(3, 2.0)], {})
    with pytest.raises(AssertionError, match="gradient of cube is wrong"):
        check_gradients(cube, [np.full(3, 2.0 + 1j)], {})


def test_check_gradients_notices_a_wrong_second_rule(fresh_op_table: dict[str, object]) -> None:
    @define_op("cube", infer=lambda x: x, saves=("x",))
    def cube(x: Any) -> Any:
        return x**3

    # The value is right, but the factor is cut off from the graph.
    cube.vjp(lambda g, out, x: g * (x * x * 3).detach())
    with pytest.raises(AssertionError, match="second gradient of cube is wrong"):
        check_gradients(cube, [np.full(3, 2.0)], {})


@parametrize([op for op in OPS if op.shared is not None])
@given(data=st.data())
def test_a_gradient_from_shared_parts_is_the_same_to_the_bit(op: Op, data: Any) -> None:
    case = data.draw(inputs_of(op.name))
    assert op.shared is not None
    with np.errstate(all="ignore"):
        result = np.asarray(op.forward(*case.args, **case.attrs))
        g = np.linspace(-1, 2, result.size).reshape(result.shape)
        parts = op.shared.parts.forward(*case.args, **case.attrs)
        assert parts[0].tobytes() == result.tobytes()
        expected = op.shared.gradient.forward(g, *case.args, **case.attrs)
        assert op.shared.rest.forward(g, *parts, **case.attrs).tobytes() == expected.tobytes()


@parametrize([op for op in OPS if op.is_fresh or op.in_order])
@given(data=st.data())
def test_memory_of_results_is_as_declared(op: Op, data: Any) -> None:
    """Results share no memory, are contiguous if the inputs are, and are the same bits when written elsewhere."""
    case = data.draw(inputs_of(op.name))
    args = [np.ascontiguousarray(arg) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in case.args]
    with np.errstate(all="ignore"):
        expected = op.forward(*args, **case.attrs)
        if op.out is not None and isinstance(expected, tuple):
            # `out` is for the first of several results.
            more = {"scratch": tuple(np.empty_like(expected[0]) for _ in range(op.scratch))} if op.scratch else {}
            out = np.empty_like(expected[0])
            found = op.forward(*args, **case.attrs, out=out, **more)
            assert found[0] is out
            assert [part.tobytes() for part in found] == [part.tobytes() for part in expected]
            return
        if op.is_fresh and isinstance(expected, np.ndarray):
            assert not any(np.shares_memory(expected, arg) for arg in args if isinstance(arg, np.ndarray))
        if op.in_order and isinstance(expected, np.ndarray):
            assert expected.flags.c_contiguous
        if op.out is None or not isinstance(expected, np.ndarray):
            return
        more = {"scratch": tuple(np.empty_like(expected) for _ in range(op.scratch))} if op.scratch else {}
        out = np.empty_like(expected)
        assert op.forward(*args, **case.attrs, out=out, **more) is out or op.name == "matmul"
        assert out.tobytes() == expected.tobytes()
        if op.out == "in place":
            for index, arg in enumerate(args):
                if isinstance(arg, np.ndarray) and (arg.shape, arg.dtype) == (expected.shape, expected.dtype):
                    copies = [np.array(other) if isinstance(other, np.ndarray) else other for other in args]
                    op.forward(*copies, **case.attrs, out=copies[index], **more)
                    assert copies[index].tobytes() == expected.tobytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transpose_y", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (5, 2, 4, 3)])
def test_products_with_a_matrix_are_contiguous(shape: tuple[int, ...], transpose_y: bool, order: Any) -> None:
    r = np.random.default_rng(0)
    x = np.asarray(r.standard_normal(shape), order=order)
    y = np.asarray(r.standard_normal((6, 3) if transpose_y else (3, 6)), order=order)
    for left in (x, x[..., ::-1], x.transpose().copy().transpose()):
        result = OP_TABLE["matmul"].forward(left, y, transpose_y=transpose_y)
        assert result.flags.c_contiguous
        out = np.empty_like(result)
        OP_TABLE["matmul"].forward(left, y, transpose_y=transpose_y, out=out)
        assert out.tobytes() == result.tobytes()
    if len(shape) == 2:
        assert OP_TABLE["matmul"].forward(x, x, transpose_x=True).flags.c_contiguous
