"""Tensors among NumPy arrays, Python numbers and other libraries; Variables refuse what needs values."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.errors import D2SError, DTypeError, IndexOutOfRangeError, NumberError, ProgramError, ShapeError


def vector() -> Any:
    return d2s.to_tensor([1.5, 2.5])


def test_arrays() -> None:
    x = vector()
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(x, dtype="float64").dtype == np.float64
    copied = np.asarray(x)
    copied[0] = 9
    assert x.tolist() == [1.5, 2.5]
    shown = np.asarray(x, copy=False)
    assert not shown.flags.writeable
    assert np.shares_memory(shown, np.asarray(x, copy=False))
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(x, dtype="int64", copy=False)
    assert isinstance(np.ones(2, "float32") + x, d2s.Tensor)
    assert (np.float64(2) * x).dtype == d2s.float32
    assert np.concatenate([x, x]).shape == (4,)
    with pytest.raises(TypeError):
        np.sin(x)


def test_dlpack() -> None:
    x = vector()
    array = np.from_dlpack(x)
    assert array.tolist() == [1.5, 2.5]
    source = np.arange(3.0)
    made = d2s.from_dlpack(source)
    source[0] = 7
    assert made.tolist() == [0, 1, 2]
    assert d2s.from_dlpack(d2s.to_dlpack(x)).tolist() == [1.5, 2.5]
    assert d2s.from_dlpack(x).tolist() == [1.5, 2.5]
    with pytest.raises(DTypeError, match="needs an object with __dlpack__, got list"):
        d2s.from_dlpack([1])
    with pytest.raises(BufferError, match="always copies"):
        d2s.from_dlpack(source, copy=False)
    x.stop_gradient = False
    with pytest.raises(DTypeError, match="requires a gradient"):
        x.__dlpack__()


def test_dlpack_with_torch() -> None:
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(vector()).tolist() == [1.5, 2.5]
    assert d2s.from_dlpack(torch.ones(2, dtype=torch.int64)).dtype == d2s.int64
    assert d2s.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2))).tolist() == [1, 1]


def test_pickle_and_copies() -> None:
    x = vector()
    x.stop_gradient = False
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert (other.tolist(), other.stop_gradient, other.is_leaf) == ([1.5, 2.5], False, True)
    shared = copy.copy(x)
    (shared * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert x.gradient().tolist() == [2, 2]


def test_numbers_and_text() -> None:
    s, i = d2s.to_tensor(3.25), d2s.to_tensor([2])
    assert (float(s), int(s), bool(s), complex(s)) == (3.25, 3, True, 3.25 + 0j)
    assert ([10, 20, 30][i], operator.index(i), list(range(i))) == (30, 2, [0, 1])
    assert (f"{s:.3f}", f"{i:04d}", "%.1f" % s) == ("3.250", "0002", "3.2")  # noqa: UP031
    assert f"{vector()}" == str(vector())
    assert (len(vector()), [float(v) for v in vector()]) == (2, [1.5, 2.5])
    assert vector().place == d2s.CPUPlace()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: int(vector()), ShapeError, r"int\(\) of a tensor needs exactly one element, got shape \[2\]"),
        (lambda: f"{vector():.2f}", ShapeError, r"the format '.2f' of a tensor needs exactly one element"),
        (lambda: len(d2s.to_tensor(1.0)), DTypeError, "0-d tensor has no len"),
        (lambda: list(d2s.to_tensor(1.0)), DTypeError, "0-d tensor cannot be iterated over"),
        (lambda: operator.index(d2s.to_tensor(1.5)), DTypeError, "only an integer tensor can be an index, got float32"),
        (lambda: vector().item(5), IndexOutOfRangeError, r"item\(5\) of a tensor of shape \[2\]"),
        (lambda: d2s.to_tensor([1], dtype="uint8") + 300, NumberError, "300 is out of range for uint8"),
        (lambda: d2s.to_tensor([1], dtype="int32") * 2**40, NumberError, "1099511627776 is out of range for int32"),
        (lambda: d2s.full([1], -1, "uint8"), NumberError, "-1 is out of range for uint8"),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[D2SError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert "test_interop.py" in str(caught.value)


def test_other_devices_are_refused() -> None:
    for call in (lambda: d2s.to_tensor(1.0, place="gpu:0"), lambda: vector().cuda(), lambda: vector().to("gpu")):
        with pytest.raises(ValueError, match="CPU only"):
            call()
    assert vector().to("cpu", "float64").dtype == d2s.float64


def test_casts_wrap_around_as_in_numpy() -> None:
    assert d2s.to_tensor([300, -1]).astype("uint8").tolist() == [44, 255]
    assert d2s.to_tensor([1], dtype="uint8").__sub__(2).tolist() == [255]
    assert d2s.to_tensor([2.9, -2.9]).astype("int32").tolist() == [2, -2]


NEEDS_VALUES = {
    "float": float, "int": int, "bool": bool, "complex": complex, "index": operator.index, "str": str,
    "format": lambda v: f"{v:.2f}", "array": np.asarray, "dlpack": np.from_dlpack, "pickle": pickle.dumps,
    "in": lambda v: 1.0 in v,
}


@pytest.mark.parametrize("use", NEEDS_VALUES.values(), ids=NEEDS_VALUES)
def test_variables_refuse(use: Callable[[Any], Any]) -> None:
    with d2s.static.program_guard(d2s.static.Program()):
        variable = d2s.static.data("v", [1])
        with pytest.raises(ProgramError, match="known only when the Program runs") as caught:
            use(variable)
    assert "test_interop.py" in str(caught.value)
    assert caught.value.advice


def test_lists_of_tensors() -> None:
    def program(x: Any) -> Any:
        array = d2s.tensor.create_array("float32")
        i = d2s.tensor.fill_constant([1], "int64", 0)
        d2s.tensor.array_write(x, i, array)
        d2s.tensor.array_write(x * 2, i + 1, array)
        d2s.tensor.array_write(x * 3, 0, array)
        return d2s.tensor.array_read(array, i + 1) + array[0], d2s.tensor.array_length(array)

    for function in (program, d2s.jit.to_static(program)):
        total, length = function(vector())
        assert (total.tolist(), length.item()) == ([7.5, 12.5], 2)
    with d2s.static.program_guard(d2s.static.Program()) as _:
        found, _ = program(d2s.static.data("v", [2]))
        assert found.shape == [2]
    with pytest.raises(IndexOutOfRangeError, match="array_write to a place after the end of its list"):
        d2s.tensor.array_write(vector(), 3, [])
    with pytest.raises(IndexOutOfRangeError, match="a place that its list does not have"):
        d2s.tensor.array_read([], 0)
