"""Weights that are computed before each call of a Layer from other parameters."""

from __future__ import annotations

from functools import partial
from typing import Any

from d2s.core.interpreter import traced_as_written
from d2s.errors import ArgumentError
from d2s.nn.basic import Linear
from d2s.nn.conv import Conv1DTranspose, Conv2DTranspose
from d2s.nn.functional import normalize
from d2s.nn.layer import Layer
from d2s.nn.parameter import Parameter
from d2s.ops.creation import detach
from d2s.ops.products import dot, mv
from d2s.ops.random import standard_normal
from d2s.ops.shape import flatten, moveaxis
from d2s.ops.statistics import norm


def weight_norm(layer: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """
    Let a parameter be the product of a length and a direction, each of them a parameter of its own.

    Parameters
    ----------
    layer : Layer
        Gets the parameters ``<name>_g`` and ``<name>_v``; the product is computed before each call.
    name : str
        Which parameter.
    dim : int or None
        The axis along which there are several lengths; None or -1: there is one.

    Returns
    -------
    Layer
        The same.

    Raises
    ------
    ValueError
        If there is no such parameter or axis, or the parameter is one of these products already.
    """
    weight = _parameter_of(layer, name)
    axis = -1 if dim is None else dim
    if not -weight.ndim <= axis < weight.ndim:
        raise ArgumentError(f"weight_norm of {name!r}, of shape {weight.shape}, has no axis {dim}")
    if axis != -1:
        axis %= weight.ndim
    hook = partial(_norm_anew, name, axis)
    delattr(layer, name)
    layer.add_parameter(f"{name}_v", Parameter(weight.data))
    layer.add_parameter(f"{name}_g", Parameter(_lengths(weight, axis, False).data))
    hook(layer, ())
    layer.register_forward_pre_hook(hook)
    return layer


def remove_weight_norm(layer: Layer, name: str = "weight") -> Layer:
    """
    Make a parameter of the product that `weight_norm` has made.

    Raises
    ------
    ValueError
        If `weight_norm` has not made it.
    """
    for place, hook in layer._forward_pre_hooks.items():
        function = hook.function
        if isinstance(function, partial) and function.func is _norm_anew and function.args[0] == name:
            function(layer, ())
            weight = getattr(layer, name)
            del layer._forward_pre_hooks[place]
            for part in (name, f"{name}_g", f"{name}_v"):
                delattr(layer, part)
            layer.add_parameter(name, Parameter(weight.data))
            return layer
    raise ArgumentError(f"weight_norm of {name!r} is not there in {type(layer).__name__}")


def spectral_norm(
    layer: Layer, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Layer:
    """
    Divide a parameter by its largest singular value, which power iterations follow from call to call.

    Parameters
    ----------
    layer : Layer
        Gets the parameter ``<name>_orig`` and the buffers ``<name>_u`` and ``<name>_v``.
    name : str
        Which parameter.
    n_power_iterations : int
        How many in each call, while the Layer trains.
    eps : float
        Added to lengths by which is divided.
    dim : int, optional
        The axis that makes the rows of a matrix; by default 1 for Linear and transposed convolutions, else 0.

    Returns
    -------
    Layer
        The same.

    Raises
    ------
    ValueError
        If there is no such parameter, or it is such a quotient already.
    """
    weight = _parameter_of(layer, name)
    if dim is None:
        dim = 1 if isinstance(layer, Linear | Conv1DTranspose | Conv2DTranspose) else 0
    rows, columns = _matrix(weight, dim).shape
    delattr(layer, name)
    layer.add_parameter(f"{name}_orig", weight)
    setattr(layer, name, weight * 1.0)
    for part, size in (("u", rows), ("v", columns)):
        layer.register_buffer(f"{name}_{part}", normalize(standard_normal([size], weight.dtype), axis=0, epsilon=eps))
    layer.register_forward_pre_hook(partial(_divide_anew, name, n_power_iterations, eps, dim))
    return layer


def _parameter_of(layer: Layer, name: str) -> Parameter:
    found = layer._parameters.get(name)
    if found is not None:
        return found
    if f"{name}_v" in layer._parameters or f"{name}_orig" in layer._parameters:
        raise ArgumentError(f"{name!r} of {type(layer).__name__} is computed from other parameters already")
    raise ArgumentError(f"{type(layer).__name__} has no parameter {name!r}")


@traced_as_written
def _norm_anew(name: str, axis: int, layer: Layer, inputs: tuple[Any, ...]) -> None:
    direction, length = getattr(layer, f"{name}_v"), getattr(layer, f"{name}_g")
    if axis != -1:
        length = length.reshape([-1 if place == axis else 1 for place in range(direction.ndim)])
    setattr(layer, name, direction * (length / _lengths(direction, axis, True)))


@traced_as_written
def _lengths(weight: Any, axis: int, keepdim: bool) -> Any:
    """The lengths of the slices along `axis`; of all of it if that is -1."""
    if axis == -1:
        return norm(weight)
    others = [place for place in range(weight.ndim) if place != axis]
    return norm(weight, 2.0, others, keepdim) if others else weight.abs()


@traced_as_written
def _divide_anew(
    name: str, turns: int, eps: float, dim: int, layer: Layer, inputs: tuple[Any, ...]
) -> None:
    weight, u, v = (getattr(layer, f"{name}_{part}") for part in ("orig", "u", "v"))
    matrix = _matrix(weight, dim)
    if layer.training:
        fixed = detach(matrix)
        for _ in range(turns):
            v.set_value(normalize(mv(fixed.t(), u), axis=0, epsilon=eps))
            u.set_value(normalize(mv(fixed, v), axis=0, epsilon=eps))
        # Later calls write to the buffers before backward reads them.
        u, v = u.clone(), v.clone()
    setattr(layer, name, weight / dot(u, mv(matrix, v)))


@traced_as_written
def _matrix(weight: Any, dim: int) -> Any:
    return flatten(moveaxis(weight, dim, 0), 1)
