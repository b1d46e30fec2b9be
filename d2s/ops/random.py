"""Random tensors, all drawn from one generator, at run time: so both modes draw the same numbers in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import as_number, need_tensors
from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public, sizes_one_by_one
from d2s.core.spec import DType, Shape, Size, TensorSpec, as_dtype, default_dtype, is_floating
from d2s.errors import ArgumentError, DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import is_symbolic, shape_argument, size_argument
from d2s.ops.promotion import floating

_bits = np.random.PCG64()
_generator = np.random.Generator(_bits)


def generator() -> np.random.Generator:
    """The generator that every random op draws from."""
    return _generator


@public()
def seed(seed: int) -> np.random.Generator:
    """
    Start the generator anew: the same seed gives the same numbers, in either mode.

    Parameters
    ----------
    seed : int
        Not negative.

    Returns
    -------
    numpy.random.Generator
        The generator, the same object as before.
    """
    _bits.state = np.random.PCG64(seed).state
    return _generator


@public()
def get_rng_state(device: Any = None) -> list[Any]:
    """Where the generator is, for `set_rng_state`; one entry, as there is one device."""
    return [_bits.state]


@public()
def set_rng_state(state_list: list[Any], device: Any = None) -> None:
    """Put the generator back to where it was: it draws the same numbers again."""
    (_bits.state,) = state_list


def _infer_shaped(*, shape: Shape, dtype: DType, **attrs: Any) -> TensorSpec:
    return TensorSpec(shape, dtype)


def _drawn_dtype(dtype: DType) -> Any:
    return np.float32 if dtype == np.float32 else np.float64


def _scaled(drawn: Any, factor: float, offset: float, dtype: DType) -> Array:
    """``drawn * factor + offset``, where Python's numbers keep the dtype drawn."""
    return np.asarray(drawn if (factor, offset) == (1.0, 0.0) else drawn * factor + offset, dtype)


@define_op("uniform", infer=_infer_shaped, random=True)
def uniform_op(*, shape: tuple[int, ...], dtype: DType, min: float = 0.0, max: float = 1.0) -> Array:
    """Numbers spread evenly over [min, max)."""
    return _scaled(generator().random(shape, _drawn_dtype(dtype)), max - min, min, dtype)


@define_op("gaussian", infer=_infer_shaped, random=True)
def gaussian_op(*, shape: tuple[int, ...], dtype: DType, mean: float = 0.0, std: float = 1.0) -> Array:
    """Normally distributed numbers."""
    return _scaled(generator().standard_normal(shape, _drawn_dtype(dtype)), std, mean, dtype)


@define_op("randint", infer=_infer_shaped, random=True)
def randint_op(*, shape: tuple[int, ...], dtype: DType, low: int, high: int) -> Array:
    """Whole numbers spread evenly over [low, high)."""
    if low >= high:
        raise ArgumentError(f"randint needs low < high, got {low} and {high}")
    if dtype.kind in "iu":
        for number in (low, high - 1):
            as_number(number, dtype)
    return np.asarray(generator().integers(low, high, shape)).astype(dtype)


def _infer_randperm(*, n: Size, dtype: DType) -> TensorSpec:
    return TensorSpec((n,), dtype)


@define_op("randperm", infer=_infer_randperm, random=True)
def randperm_op(*, n: int, dtype: DType) -> Array:
    """The numbers below n in random order."""
    return generator().permutation(n).astype(dtype)


def _infer_probabilities(x: TensorSpec) -> TensorSpec:
    if x.dtype.kind != "f":
        raise DTypeError(f"bernoulli needs probabilities, got {x.dtype.name}")
    return x


@define_op("bernoulli", kinds="f", infer=_infer_probabilities, random=True)
def bernoulli_op(x: Array) -> Array:
    """1 with probability x, else 0."""
    return (generator().random(x.shape) < x).astype(x.dtype)


def _infer_multinomial(x: TensorSpec, *, num_samples: Size, replacement: bool) -> TensorSpec:
    if x.ndim not in (1, 2):
        raise ShapeError(f"multinomial needs weights of shape (n,) or (rows, n), got {list(x.shape)}")
    if x.dtype.kind != "f":
        raise DTypeError(f"multinomial needs weights, got {x.dtype.name}")
    return TensorSpec((*x.shape[:-1], num_samples), np.dtype("int64"))


@define_op("multinomial", kinds="", infer=_infer_multinomial, random=True)
def multinomial_op(x: Array, *, num_samples: int, replacement: bool) -> Array:
    """Classes drawn with the given weights."""
    total = x.sum(-1, keepdims=True, dtype=np.float64)
    if not ((x >= 0).all() and (total > 0).all() and np.isfinite(total).all()):
        raise ArgumentError(
            f"multinomial of weights of shape {list(x.shape)}: they must be finite and not negative, and some of them "
            "positive in each row")
    weights = x.astype(np.float64) / total
    rows = [
        generator().choice(x.shape[-1], num_samples, replace=replacement, p=row)
        for row in weights.reshape(-1, x.shape[-1])
    ]
    return np.asarray(rows, np.int64).reshape(*x.shape[:-1], num_samples)


def _infer_poisson(x: TensorSpec) -> TensorSpec:
    if x.dtype.kind != "f":
        raise DTypeError(f"poisson needs rates, got {x.dtype.name}")
    return x


@define_op("poisson", kinds="f", infer=_infer_poisson, random=True)
def poisson_op(x: Array) -> Array:
    """Counts of events that come at the given rates."""
    return np.asarray(generator().poisson(x)).astype(x.dtype)


def _float_dtype(dtype: Any) -> DType:
    found = default_dtype() if dtype is None else as_dtype(dtype)
    if not is_floating(found):
        raise DTypeError(f"random real numbers need a floating point dtype, got {found.name}")
    return found


@public()
def uniform(
    shape: Any, dtype: Any = None, min: float = 0.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Numbers spread evenly over ``[min, max)``.  `seed` is not used: see `d2s.seed`."""
    return bind(uniform_op, shape=shape_argument(shape), dtype=_float_dtype(dtype), min=float(min), max=float(max))


@sizes_one_by_one(0)
@public()
def rand(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Numbers spread evenly over ``[0, 1)``."""
    return uniform(shape, dtype)


@public()
def gaussian(shape: Any, mean: float = 0.0, std: float = 1.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """Normally distributed numbers."""
    return bind(gaussian_op, shape=shape_argument(shape), dtype=_float_dtype(dtype), mean=float(mean), std=float(std))


@sizes_one_by_one(0)
@public()
def randn(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Normally distributed numbers, of mean 0 and standard deviation 1."""
    return gaussian(shape, 0.0, 1.0, dtype)


standard_normal = randn


@public()
def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> Tensor:
    """
    Normally distributed numbers.

    Parameters
    ----------
    mean, std : float or Tensor
        Tensors broadcast, and give the shape.
    shape : sequence of int, optional
        Shape if both are numbers; (1,) if left out.

    Returns
    -------
    Tensor
    """
    if isinstance(mean, int | float) and isinstance(std, int | float):
        return gaussian([1] if shape is None else shape, mean, std)
    spread = std + mean * 0
    return randn(spread.shape, spread.dtype) * spread + mean


@public()
def randint(low: Any = 0, high: Any = None, shape: Any = (1,), dtype: Any = None, name: str | None = None) -> Tensor:
    """
    Whole numbers spread evenly over ``[low, high)``; over ``[0, low)`` with one argument.

    Parameters
    ----------
    low, high : int
    shape : sequence of int
    dtype : dtype, optional
        int64 by default.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there is no such number.
    """
    first, end = (0, low) if high is None else (low, high)
    wanted = as_dtype("int64" if dtype is None else dtype)
    first, end = (number if is_symbolic(number) else int(number) for number in (first, end))
    return bind(randint_op, shape=shape_argument(shape), dtype=wanted, low=first, high=end)


@public()
def randperm(n: Any, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """The numbers 0 … n - 1 in random order."""
    return bind(randperm_op, n=size_argument(n), dtype=as_dtype(dtype))


@public()
def bernoulli(x: Tensor, p: float | None = None, name: str | None = None) -> Tensor:
    """1 with the probability that `x` holds (or with `p`), else 0, element by element."""
    x = floating(x)
    return bind(bernoulli_op, x if p is None else x * 0 + p)


@public()
def multinomial(x: Tensor, num_samples: Any = 1, replacement: bool = False, name: str | None = None) -> Tensor:
    """`num_samples` classes drawn by the weights `x`, of shape (n,) or (rows, n); not twice without `replacement`."""
    need_tensors(x)
    return bind(multinomial_op, x, num_samples=size_argument(num_samples), replacement=bool(replacement))


@public()
def randint_like(
    x: Tensor, low: int = 0, high: int | None = None, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Whole numbers as by `randint`, in the shape (and, unless it is given, the dtype) of `x`."""
    return randint(low, high, x.shape, x.dtype if dtype is None else dtype)


@public()
def rand_like(input: Tensor, name: str | None = None, *, dtype: Any = None) -> Tensor:
    """Numbers spread evenly over [0, 1), in the shape (and dtype) of `input`."""
    return rand(input.shape, input.dtype if dtype is None else dtype)


@public()
def randn_like(x: Tensor, dtype: Any = None, name: str | None = None) -> Tensor:
    """Normally distributed numbers, in the shape (and dtype) of `x`."""
    return randn(x.shape, x.dtype if dtype is None else dtype)


@public()
def uniform_like(x: Tensor, min: float = 0.0, max: float = 1.0, seed: int = 0, name: str | None = None) -> Tensor:
    """Numbers spread evenly over [min, max), in the shape and dtype of `x`."""
    return uniform(x.shape, x.dtype, min, max, seed)


@public()
def normal_like(x: Tensor, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> Tensor:
    """Normally distributed numbers, in the shape and dtype of `x`."""
    return gaussian(x.shape, mean, std, dtype=x.dtype)


@public()
def bernoulli_like(x: Tensor, p: Any = 0.5, name: str | None = None) -> Tensor:
    """1 with probability `p`, else 0, in the shape and dtype of `x`."""
    return (rand(x.shape, "float64") < p).cast(x.dtype)


@public()
def exponential_like(x: Tensor, lam: float = 1.0, name: str | None = None) -> Tensor:
    """Numbers with the density ``lam * exp(-lam * x)``, in the shape and dtype of `x`."""
    return (-(1 - rand(x.shape, x.dtype)).log() / lam).cast(x.dtype)


@public()
def poisson(x: Tensor, name: str | None = None) -> Tensor:
    """Counts of events that come at the rates `x`, in its shape and dtype."""
    return bind(poisson_op, x)


@public()
def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Numbers whose logarithms are distributed as by `normal`."""
    return normal(mean, std, shape).exp()
