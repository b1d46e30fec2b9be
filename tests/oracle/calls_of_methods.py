"""Methods and attributes of tensors that are no public function as well.

A name "Tensor.add_" is called as ``x.add_(...)``.  What changes its tensor, or gives nothing back, is called by a
program of a few lines, in `PROGRAMS`.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from .calls import Array, Call, Draw, call

PROGRAMS: dict[str, Callable[..., Any]] = {}

Program = Callable[..., Any]


def methods(*names: str) -> Callable[[Callable[[Draw], Call]], Callable[[Draw], Call]]:
    return call(*(f"Tensor.{name}" for name in names))


# What Python and NumPy call by another name.
BY_ANOTHER_NAME = {
    "__array__": "asarray", "__bool__": "bool", "__complex__": "complex", "__copy__": "copy",
    "__deepcopy__": "deepcopy",
    "__dlpack__": "from_dlpack", "__float__": "float", "__format__": "format", "__hash__": "hash", "__int__": "int",
    "__iter__": "list", "__len__": "len", "__reduce__": "dumps", "__repr__": "repr",
}


def by(name: str, program: Program) -> Callable[[Callable[[Draw], Call]], Callable[[Draw], Call]]:
    """The method `name` is called by `program`, in which its name stands."""
    assert BY_ANOTHER_NAME.get(name, name) in program.__code__.co_names, name
    PROGRAMS[f"Tensor.{name}"] = program
    return methods(name)


def any_tensor(d: Draw, *more: str) -> Array:
    return d.array(d.shape(), -4, 4, d.one("float32", "float64", "int32", "int64", *more))


# --- operators -------------------------------------------------------------------------------------------------------


@methods("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__le__", "__ge__", "__gt__", "__ne__",
         "__eq__", "__lt__")
def _binary(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("float32", "float64", "int64")
    return Call([d.array(first, -3, 3, dtype), d.array(second, -3, 3, dtype)])


@methods("__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__")
def _quotient(d: Draw) -> Call:
    first, second = d.pair()
    # Away from the steps, where there are some.
    return Call([d.array(first, 1.1, 1.4, "float32"), d.array(second, 2.9, 3.2, "float32")])


@methods("__pow__", "__rpow__")
def _power(d: Draw) -> Call:
    first, second = d.pair()
    return Call([d.array(first, 0.5, 2, "float32"), d.array(second, 0.5, 2, "float32")])


@methods("__and__", "__or__", "__xor__")
def _bits(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("int32", "int64", "bool")
    return Call([d.array(first, -5, 5, dtype), d.array(second, -5, 5, dtype)])


@methods("__lshift__", "__rshift__")
def _shifts(d: Draw) -> Call:
    first, second = d.pair()
    dtype = d.one("int32", "int64")
    return Call([d.array(first, -99, 99, dtype), d.array(second, 0, 5, dtype)])


@methods("__rlshift__", "__rrshift__")
def _shifts_of_a_number(d: Draw) -> Call:
    return Call([d.array(d.shape(), 0, 5, d.one("int32", "int64")), d.int(0, 99)])


@methods("__rand__", "__ror__", "__rxor__")
def _bits_of_a_number(d: Draw) -> Call:
    return Call([d.array(d.shape(), -5, 5, d.one("int32", "int64")), d.int(0, 7)])


@methods("__matmul__", "__rmatmul__")
def _matmul(d: Draw) -> Call:
    return Call([d.array((*d.shape(0, 1, 1), 3, 3), dtype="float32"), d.array((3, 3), dtype="float32")])


@methods("__neg__", "__pos__", "__abs__")
def _sign(d: Draw) -> Call:
    return Call([any_tensor(d, "complex64")])


@methods("__invert__")
def _invert(d: Draw) -> Call:
    return Call([d.array(d.shape(), -5, 5, d.one("int32", "int64", "bool"))])


# --- indices ---------------------------------------------------------------------------------------------------------


def index(d: Draw, shape: tuple[int, ...]) -> Any:
    """What may stand between brackets behind a tensor of three axes."""
    def place(axis: int) -> int:
        return d.int(-shape[axis], shape[axis] - 1)

    def part(axis: int) -> Any:
        begin, end, step = d.one(None, place(axis)), d.one(None, place(axis)), d.one(None, 1, 2, -1, -2)
        return d.one(place(axis), slice(begin, end, step), slice(None), slice(begin, end))

    several = [[place(0) for _ in range(3)], [place(1) for _ in range(3)]]
    return d.one(
        place(0), part(0), (part(0), part(1)), (part(0), part(1), part(2)), (..., part(2)), (part(0), ..., part(2)),
        (None, part(0)), (part(0), None, part(1)), ..., several[0], Array(np.array(several[0])),
        (Array(np.array(several[0])), Array(np.array(several[1]))), (slice(None), Array(np.array(several[1]))),
        Array(d.rng.random(shape) < 0.5), Array(d.rng.random(shape[0]) < 0.5),
        (Array(d.rng.random(shape[:2]) < 0.5), slice(None)),
    )


@methods("__getitem__")
def _getitem(d: Draw) -> Call:
    shape = (d.int(2, 4), d.int(2, 4), d.int(2, 4))
    return Call([d.array(shape, -4, 4, d.one("float32", "float64", "int64")), index(d, shape)])


def _written(x: Any, key: Any, value: Any) -> Any:
    x = x * 1
    x.__setitem__(key, value)
    return x


@by("__setitem__", _written)
def _setitem(d: Draw) -> Call:
    shape = (d.int(2, 4), d.int(2, 4), d.int(2, 4))
    return Call([d.array(shape, -4, 4, "float32"), index(d, shape), d.one(2.5, d.array((1,), dtype="float32"))])


# --- other dtypes, other tensors -------------------------------------------------------------------------------------


@methods("bool", "double", "float", "half", "int", "long", "clone", "contiguous", "cpu", "is_contiguous",
         "element_size", "detach", "dim", "ndimension")
def _of_itself(d: Draw) -> Call:
    return Call([any_tensor(d, "bool")])


@methods("to")
def _to(d: Draw) -> Call:
    return Call([any_tensor(d), d.one("float64", "float32", "int64", "cpu")])


@methods("type_as")
def _type_as(d: Draw) -> Call:
    return Call([any_tensor(d), d.array((2,), dtype=d.one("float32", "float64"))])


@methods("true_divide")
def _true_divide(d: Draw) -> Call:
    first, second = d.pair()
    return Call([d.array(first, dtype="float32"), d.array(second, 0.5, 2, "float32")])


@methods("permute")
def _permute(d: Draw) -> Call:
    return Call([d.array((2, 3, 4)), *(int(axis) - 3 * d.int(0, 1) for axis in d.rng.permutation(3))])


@methods("new_full")
def _new_full(d: Draw) -> Call:
    return Call([any_tensor(d), list(d.shape()), d.int(-3, 3)], d.one({}, {"dtype": "float64"}))


@methods("new_zeros", "new_ones")
def _new(d: Draw) -> Call:
    return Call([any_tensor(d), list(d.shape())], d.one({}, {"dtype": "int64"}))


@by("new_empty", lambda x, shape: x.new_empty(shape).shape)
def _new_empty(d: Draw) -> Call:
    return Call([any_tensor(d), list(d.shape())])


# --- attributes ------------------------------------------------------------------------------------------------------


@by("shape", lambda x: [int(size) for size in x.shape])
@by("ndim", lambda x: x.ndim)
@by("size", lambda x: x.size)
@by("itemsize", lambda x: x.itemsize)
@by("dtype", lambda x: x.astype("float32").astype(x.dtype))
@by("is_leaf", lambda x: [x.is_leaf, (x * 2).is_leaf])
@by("stop_gradient", lambda x: [x.stop_gradient, (x * 2).stop_gradient])
@by("persistable", lambda x: x.persistable)
@by("place", lambda x: str(x.place))
@by("grad", lambda x: x.grad)
def _attribute(d: Draw) -> Call:
    return Call([any_tensor(d)])


@by("T", lambda x: x.T)
def _all_axes(d: Draw) -> Call:
    return Call([any_tensor(d)])


@by("mT", lambda x: x.mT)
def _two_axes(d: Draw) -> Call:
    return Call([d.array(d.shape(2, 3), dtype="float32")])


def _named(x: Any) -> Any:
    x.name = "weight"
    return x.name


@by("name", _named)
def _name(d: Draw) -> Call:
    return Call([any_tensor(d)])


# --- gradients and hooks ---------------------------------------------------------------------------------------------


def _summed(x: Any) -> Any:
    return (x * x).sum()


def _backward(x: Any) -> Any:
    _summed(x).backward()
    _summed(x).backward()
    return x.grad


def _backward_of_a_gradient(x: Any, gradient: Any) -> Any:
    (x * x).backward(gradient, retain_graph=True)
    return x.grad


def _cleared(x: Any) -> Any:
    _backward(x)
    x.clear_grad()
    return x.grad


def _cleared_in_full(x: Any) -> Any:
    _backward(x)
    x.clear_gradient()
    return x.grad


def _as_array(x: Any) -> Any:
    _backward(x)
    return x.gradient()


def _hooked(x: Any) -> Any:
    y = x * x
    y.register_hook(lambda g: g * g + 1)
    x.register_hook(lambda g: g * 3 - 1)
    (y * y).sum().backward()
    return x.grad


def _reduced(x: Any) -> Any:
    seen: list[float] = []
    x._register_backward_hook(lambda: seen.append(float(x.grad.sum())))
    _backward(x)
    return seen


def _retained(x: Any) -> Any:
    y = x * x
    y.retain_grads()
    (y * y).sum().backward()
    return [y.grad, x.grad]


@by("backward", _backward)
@by("clear_grad", _cleared)
@by("clear_gradient", _cleared_in_full)
@by("gradient", _as_array)
@by("register_hook", _hooked)
@by("_register_backward_hook", _reduced)
@by("retain_grads", _retained)
def _of_a_leaf(d: Draw) -> Call:
    return Call([d.array(d.shape(smallest=1), 0.5, 2, "float32")])


PROGRAMS["Tensor.backward|gradient"] = _backward_of_a_gradient


@methods("backward|gradient")
def _with_a_gradient(d: Draw) -> Call:
    shape = d.shape(smallest=1)
    return Call([d.array(shape, 0.5, 2, "float32"), Array(d.array(shape, dtype="float32").data, stops=True)])


# --- values ----------------------------------------------------------------------------------------------------------


@by("numpy", lambda x: x.numpy())
@by("tolist", lambda x: x.tolist())
@by("__array__", lambda x: [np.asarray(x.detach()), np.asarray(x.detach(), dtype="float64")])
@by("__copy__", lambda x: copy.copy(x))
@by("__deepcopy__", lambda x: copy.deepcopy(x))
@by("__reduce__", lambda x: pickle.loads(pickle.dumps(x)))
@by("__hash__", lambda x: [hash(x) == hash(x), {x: 1}[x]])
@by("__dlpack__", lambda x: np.from_dlpack(x.detach()))
@by("__dlpack_device__", lambda x: [int(part) for part in x.detach().__dlpack_device__()])
@by("__repr__", lambda x: repr(x)[:12])
def _values(d: Draw) -> Call:
    return Call([any_tensor(d)])


@by("__len__", lambda x: len(x))
@by("__iter__", lambda x: list(x))
def _rows(d: Draw) -> Call:
    return Call([d.array(d.shape(1), -4, 4, d.one("float32", "int64"))])


@by("item", lambda x: x.item())
def _single(d: Draw) -> Call:
    return Call([d.array((1,) * d.int(0, 2), -4, 4, d.one("float32", "float64"))])


# Paddle cannot convert one element along axes with the NumPy of today, and takes negative numbers for false.
@by("__float__", lambda x: float(x))
@by("__int__", lambda x: int(x))
@by("__bool__", lambda x: bool(abs(x)))
@by("__complex__", lambda x: complex(x))
@by("__format__", lambda x: format(x, ".2f"))
def _of_no_axes(d: Draw) -> Call:
    return Call([d.array((), -4, 4, d.one("float32", "float64"))])


PROGRAMS["Tensor.__index__"] = lambda x: [10, 20, 30, 40][x]


@methods("__index__")
def _as_index(d: Draw) -> Call:
    return Call([d.array((), 0, 3, d.one("int32", "int64"))])


@methods("item|place")
def _item(d: Draw) -> Call:
    return Call([d.array((3, 4), dtype="float32"), d.int(0, 2), d.int(0, 3)])


# --- writes ----------------------------------------------------------------------------------------------------------


def _filled(x: Any, value: float) -> Any:
    x = x * 1
    return x.fill_(value)


def _zeroed(x: Any) -> Any:
    x = x * 1
    return x.zero_()


def _copied(x: Any, other: Any) -> Any:
    x = x * 1
    return x.copy_(other, True)


def _with_diagonal(x: Any, value: float, offset: int) -> Any:
    x = x * 1
    return x.fill_diagonal_(value, offset)


def _set(x: Any, array: Any) -> Any:
    x = x.detach().clone()
    x.set_value(array)
    return x


@by("fill_", _filled)
def _fill(d: Draw) -> Call:
    return Call([d.array(d.shape(), dtype="float32"), 2.5])


@by("zero_", _zeroed)
def _zero(d: Draw) -> Call:
    return Call([d.array(d.shape(), dtype="float32")])


@by("copy_", _copied)
def _copy(d: Draw) -> Call:
    shape = d.shape()
    return Call([Array(d.array(shape, dtype="float32").data, stops=True), d.array(shape, dtype="float32")])


@by("fill_diagonal_", _with_diagonal)
def _fill_diagonal(d: Draw) -> Call:
    return Call([d.array((3, 4), dtype="float32"), 2.5, d.one(0, 1, -1)])


@by("set_value", _set)
def _set_value(d: Draw) -> Call:
    shape = d.shape()
    return Call([d.array(shape, dtype="float32"), d.array(shape, dtype="float32").data])
