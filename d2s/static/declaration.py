"""Inputs, parameters and other variables of a Program that is built by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase, wrap
from d2s.core.spec import Dim, DType, TensorSpec, as_dtype, default_dtype
from d2s.errors import ShapeError
from d2s.ops.random import uniform
from d2s.static.default_programs import default_main_program, default_startup_program
from d2s.static.graph import recorder_of, sizes_of
from d2s.static.variable import Variable


def data(name: str, shape: Sequence[int | None], dtype: Any = None, lod_level: int = 0) -> Variable:
    """
    An input of the default main Program, to be fed by name.

    Parameters
    ----------
    name : str
        New in this Program.
    shape : sequence of int or None
        None and -1 stand for any size.
    dtype : dtype or str, optional
        By default the default dtype (float32).
    lod_level : int
        Ignored.

    Returns
    -------
    Variable
        It stops gradients; set ``x.stop_gradient = False`` directly after, if its gradient is wanted.

    Raises
    ------
    ProgramError
        If the name is taken.
    ShapeError
        If a size is negative but not -1.
    """
    spec = TensorSpec(sizes_of(shape), default_dtype() if dtype is None else as_dtype(dtype))
    recorder = recorder_of(default_main_program())
    variable = recorder.add_input(name, spec, True)
    recorder.feeds[name] = variable.value
    return variable


def create_parameter(
    shape: Sequence[int], dtype: Any = "float32", name: str | None = None, attr: Any = None, is_bias: bool = False,
    default_initializer: Any = None,
) -> Variable:
    """
    A parameter of the default main Program; the default startup Program gives it its first values.

    Parameters
    ----------
    shape : sequence of int
    dtype : dtype or str
    name : str, optional
    attr : ParamAttr, optional
        Name, initializer and `trainable` in one.
    is_bias : bool
        Start from zeros instead of Xavier uniform values.
    default_initializer : Initializer, optional
        First values.

    Returns
    -------
    Variable
    """
    chosen = getattr(attr, "initializer", None) or default_initializer
    sample = chosen.sample if chosen is not None else (_zeros if is_bias else _xavier_uniform)
    stop_gradient = not getattr(attr, "trainable", True)
    name = getattr(attr, "name", None) or name or "parameter"
    return _persistent(shape, as_dtype(dtype), name, sample, stop_gradient)


def create_global_var(
    shape: Sequence[int], value: float, dtype: Any, persistable: bool = False, force_cpu: bool = False,
    name: str | None = None,
) -> Variable:
    """A tensor that outlives the runs, filled with `value` by the default startup Program; it stops gradients."""
    return _persistent(
        shape, as_dtype(dtype), name or "global", lambda sizes, kind: np.full(sizes, value, kind), True)


def _persistent(
    shape: Sequence[int], dtype: DType, name: str, sample: Callable[..., Any], stop_gradient: bool
) -> Variable:
    sizes = sizes_of(shape)
    if any(isinstance(size, Dim) for size in sizes):
        raise ShapeError(f"{name} needs known sizes, got {list(shape)}")
    tensor = wrap(np.zeros(sizes, dtype), stop_gradient)
    recorder = recorder_of(default_main_program())
    tensor.name = recorder.names.fresh(name)
    tensor.initialized = False
    startup = recorder_of(default_startup_program())
    startup.python_call(_initialize, (tensor, sample, sizes, dtype), effect=True)
    return recorder.capture(tensor, tensor.name)


def _initialize(tensor: Any, sample: Callable[..., Any], shape: tuple[int, ...], dtype: DType) -> None:
    tensor.set_value(sample(shape, dtype))
    tensor.initialized = True


def is_initialized(tensor: TensorBase) -> bool:
    """False for a parameter that waits for its startup Program."""
    return bool(getattr(tensor, "initialized", True))


def _zeros(shape: tuple[int, ...], dtype: DType) -> Any:
    return np.zeros(shape, dtype)


def _xavier_uniform(shape: tuple[int, ...], dtype: DType) -> Any:
    fan_in = math.prod(shape[:-1]) if len(shape) > 1 else math.prod(shape)
    bound = math.sqrt(6.0 / max(fan_in + (shape[-1] if len(shape) > 1 else fan_in), 1))
    return uniform(shape, dtype, -bound, bound)
