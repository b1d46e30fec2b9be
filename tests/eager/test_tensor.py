"""What a Tensor is made of, says, and turns into; and that errors leave it as it was."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import DTypeError, GradientError, HookError, ShapeError
from d2s.eager import printing


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, "int64", []),
        (True, "bool", []),
        (1.5, "float32", []),
        (1j, "complex64", []),
        ([1, 2], "int64", [2]),
        ([1, 2.5], "float32", [2]),
        ([[1.0], [2.0]], "float32", [2, 1]),
        (np.float64(1), "float64", []),
        (np.zeros((0, 3), "float16"), "float16", [0, 3]),
        ([], "float32", [0]),
    ],
)
def test_to_tensor_decides_dtype_and_shape(data, dtype, shape):
    tensor = d2s.to_tensor(data)
    assert tensor.dtype == np.dtype(dtype)
    assert tensor.shape == shape
    assert tensor.stop_gradient
    assert tensor.is_leaf


def test_types_of_python_name_the_dtypes_of_numpy():
    x = d2s.to_tensor([1.5])
    for kind, dtype in ((float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128")):
        assert x.astype(kind).dtype == np.dtype(kind) == dtype
        assert d2s.zeros([1], kind).dtype == dtype
        assert d2s.jit.to_static(lambda x, kind=kind: x.astype(kind))(x).dtype == dtype


def test_complex_numbers_have_the_width_of_the_default_dtype():
    assert d2s.full([1], 1j).dtype == "complex128"
    d2s.set_default_dtype("float64")
    try:
        assert d2s.to_tensor(1j).dtype == d2s.to_tensor([1j, 2.0]).dtype == d2s.full([1], 1j).dtype == "complex128"
    finally:
        d2s.set_default_dtype("float32")


def test_to_tensor_takes_tensors_in_lists_and_dtype_names():
    parts = [d2s.to_tensor(1.0), d2s.to_tensor(2.0)]
    assert d2s.to_tensor(parts).tolist() == [1.0, 2.0]
    assert d2s.to_tensor([1.9], dtype="int32").tolist() == [1]
    assert d2s.to_tensor([1], dtype="paddle.float64").dtype == np.float64


def test_data_is_copied_both_ways():
    source = np.zeros(2, "float32")
    tensor = d2s.to_tensor(source)
    source[0] = 7
    copy = tensor.numpy()
    copy[1] = 8
    np.asarray(tensor)[0] = 9
    assert tensor.tolist() == [0.0, 0.0]


def test_repr_is_like_paddles():
    tensor = d2s.to_tensor([[1.0, 2.5]], stop_gradient=False)
    assert repr(tensor) == (
        "Tensor(shape=[1, 2], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [[1. , 2.5]])"
    )


def test_python_numbers():
    assert d2s.to_tensor([2.5]).item() == 2.5
    assert d2s.to_tensor([1, 2, 3]).item(1) == 2
    assert float(d2s.to_tensor(2.5)) == 2.5
    assert int(d2s.to_tensor(2.5)) == 2
    assert complex(d2s.to_tensor(1j)) == 1j
    assert bool(d2s.to_tensor([0.0])) is False
    assert ["a", "b"][d2s.to_tensor(1)] == "b"
    assert f"{d2s.to_tensor(2.5):.2f}" == "2.50"
    assert len(d2s.to_tensor([1, 2])) == 2


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda x: x.item(), ShapeError, r"one element, got shape \[2\]"),
        (lambda x: bool(x), ShapeError, "exactly one element"),
        (lambda x: [1, 2][d2s.to_tensor(1.0)], DTypeError, "integer tensor can be an index, got float32"),
        (lambda x: len(d2s.to_tensor(1.0)), DTypeError, "0-d tensor has no len"),
        (lambda x: x.register_hook(3), TypeError, "must be callable, got int"),
        (lambda x: d2s.to_tensor([1.0]).register_hook(abs), HookError, "Cannot register hook on a tensor that stop"),
        (lambda x: x._register_backward_hook(None), TypeError, "must be callable, got NoneType"),
        (lambda x: (x * 2)._register_backward_hook(print), ValueError, "leaf Tensor"),
        (lambda x: x.backward(), GradientError, r"one element, got shape \[2\]"),
        (lambda x: d2s.to_tensor(1.0).backward(), GradientError, "stops gradients"),
        (lambda x: x.backward(d2s.to_tensor([1.0])), ShapeError, r"grad_tensor has shape \[1\], expected \[2\]"),
        (lambda x: x.backward(d2s.ones([2], "float64")), DTypeError, "grad_tensor has dtype float64"),
        (lambda x: x.backward(np.ones(2)), DTypeError, "got ndarray"),
        (lambda x: x + d2s.to_tensor([1.0, 2.0, 3.0]), ShapeError, r"\[2\] and \[3\]"),
        (lambda x: d2s.to_tensor([[1.0], [1.0, 2.0]]), ShapeError, "equal lengths"),
        (lambda x: d2s.to_tensor("text"), DTypeError, "cannot make a tensor of str"),
        (lambda x: d2s.to_tensor([None]), DTypeError, "cannot make a tensor"),
        (lambda x: d2s.to_tensor(1, dtype="floaty"), DTypeError, "'floaty' is no dtype"),
        (lambda x: d2s.to_tensor([1], stop_gradient=False), DTypeError, "can require gradients, got int64"),
        (lambda x: x.set_value(d2s.to_tensor([1.0])), ShapeError, r"needs shape \[2\], got \[1\]"),
        (lambda x: setattr(x, "grad", 1.0), DTypeError, "grad must be a Tensor or None, got float"),
        (lambda x: setattr(x, "grad", d2s.to_tensor([1.0])), ShapeError, r"shape \[2\]"),
        (lambda x: d2s.grad(x.sum(), [d2s.to_tensor([1.0])]), GradientError, "stops gradients"),
        (lambda x: d2s.grad(x.sum(), [x], only_inputs=False), GradientError, "only_inputs=True"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(action, error, message):
    x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(error, match=message):
        action(x)
    assert (x.tolist(), x.grad, x.stop_gradient, x.is_leaf, x.version) == ([1.0, 2.0], None, False, True, 0)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_failed_write_changes_nothing():
    y = d2s.to_tensor([1.0, 2.0], stop_gradient=False) * 2
    before = y.version
    with pytest.raises(ShapeError):
        y[0] = d2s.to_tensor([1.0, 2.0, 3.0])
    with pytest.raises(d2s.IndexOutOfRangeError):
        y[5] = 1.0
    assert (y.tolist(), y.version) == ([2.0, 4.0], before)


def test_overflow_and_division_by_zero_are_silent():
    """Warnings are errors in this suite."""
    zero, large = d2s.to_tensor([0.0]), d2s.to_tensor([1e38])
    assert (large * large).tolist() == [float("inf")]
    assert np.isnan((zero / zero).item())
    assert (1 / zero).item() == float("inf")


def test_stop_gradient_spreads():
    x, c = d2s.to_tensor([1.0], stop_gradient=False), d2s.to_tensor([1.0])
    assert not (x * c).stop_gradient
    assert (c * c).stop_gradient
    assert (x > 0).stop_gradient
    assert (x * c).detach().stop_gradient


def test_names():
    x = d2s.to_tensor(1.0)
    assert x.name == x.name
    x.name = "weight"
    assert x.name == "weight"


def test_what_is_shown_of_values_can_be_set() -> None:
    x = d2s.to_tensor([1e-9, 0.123456789, 2.0])
    before = repr(x)

    @d2s.to_static
    def exponents(x):
        d2s.set_printoptions(sci_mode=True)
        return str(x)

    old = dict(printing._options)
    try:
        with pytest.raises(ValueError, match="numbers from 0 on, got -1"):
            d2s.set_printoptions(precision=2, threshold=-1)
        assert repr(x) == before
        d2s.set_printoptions(precision=2, sci_mode=False)
        assert "[0.  , 0.12, 2.  ]" in repr(x)
        # An effect of the Program, on every call.
        for _ in range(2):
            d2s.set_printoptions(sci_mode=False)
            assert "[1.00e-09, 1.23e-01, 2.00e+00]" in exponents(x)
        d2s.set_printoptions(threshold=2, edgeitems=1, linewidth=60)
        assert "[1.00e-09, ..., 2.00e+00]" in repr(x)
    finally:
        printing._options.clear()
        printing._options.update(old)
    assert repr(x) == before
