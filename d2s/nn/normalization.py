"""Normalisation of each example by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from d2s.core.arrays import ndim_of
from d2s.errors import ArgumentError, ShapeError
from d2s.nn import functional as F
from d2s.nn.initializer import Constant
from d2s.nn.layer import Layer

__all__ = ["GroupNorm", "InstanceNorm1D", "InstanceNorm2D", "LayerNorm", "RMSNorm"]


class LayerNorm(Layer):
    """Normalise the last axes to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        Sizes of the axes to normalise over.
    epsilon : float
        Added to the variance.
    elementwise_affine : bool
        False: neither scale nor shift.
    bias : bool
        False: no shift.
    device : optional
        Ignored.
    dtype : dtype or str, optional
        Of the parameters.
    weight_attr, bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of scale (ones) and shift (zeros), with one element for each in `normalized_shape`, flat; False: none.
    name : str, optional
        Ignored.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._normalized_shape, self._epsilon = shape, epsilon
        weight_attr = weight_attr if elementwise_affine else False
        bias_attr = bias_attr if elementwise_affine and bias else False
        size = math.prod(shape)
        self.weight = self.create_parameter([size], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([size], bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class RMSNorm(Layer):
    """Divide the last axes by their root mean square, then scale.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        Sizes of the axes to normalise over.
    epsilon : float
        Added to the mean square.
    weight_attr : ParamAttr, Initializer, str or False, optional
        Settings of the scale (ones), of shape `normalized_shape`; False: none.
    name : str, optional
        Ignored.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._normalized_shape, self._epsilon = shape, epsilon
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=Constant(1.0))

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, self._normalized_shape, self.weight, self._epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Normalise each group of channels of each example to mean 0 and variance 1, then scale and shift each channel.

    Parameters
    ----------
    num_groups, num_channels : int
        How many channels there are, and into how many groups of neighbours they are split.
    epsilon : float
        Added to the variance.
    affine : bool
        False: neither scale nor shift.
    device : optional
        Ignored.
    dtype : dtype or str, optional
        Of the parameters.
    weight_attr, bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of scale (ones) and shift (zeros), of shape ``[num_channels]``; False: none.
    data_format : str
        Says which axis the channels are: the second one, or the last one.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `num_groups` does not divide `num_channels`.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        if num_groups < 1 or num_channels % num_groups:
            raise ArgumentError(f"num_groups={num_groups} must divide num_channels={num_channels}")
        self._num_groups, self._num_channels = num_groups, num_channels
        self._epsilon, self._data_format = epsilon, data_format
        attrs = (weight_attr, bias_attr) if affine else (False, False)
        self.weight = self.create_parameter([num_channels], attrs[0], default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_channels], attrs[1], is_bias=True)

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self) -> str:
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class _InstanceNorm(Layer):
    """What the instance normalisations share.

    Parameters
    ----------
    num_features : int
        Number of channels, C.
    epsilon : float
        Added to the variance.
    momentum : float
        Accepted and ignored: there are no running statistics.
    weight_attr, bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of scale (ones) and shift (zeros), of shape ``[C]``; both False: none.
    data_format : str
        Says which axis the channels are.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If only one of `weight_attr` and `bias_attr` is False.
    ShapeError
        When called on a tensor with another number of axes.
    """

    axes: int

    def __init__(self, num_features: int, epsilon: float, weight_attr: Any, bias_attr: Any, data_format: str) -> None:
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise ArgumentError("weight_attr and bias_attr must be False together, or not at all")
        self._num_features, self._epsilon, self._data_format = num_features, epsilon, data_format
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        if ndim_of(input) != self.axes:
            raise ShapeError(f"{type(self).__name__} needs a tensor of {self.axes} axes, got shape {list(input.shape)}")
        return F.instance_norm(
            input, weight=self.scale, bias=self.bias, eps=self._epsilon, data_format=self._data_format)

    def extra_repr(self) -> str:
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNorm):
    """Normalise each channel of each example of ``[N, C, L]``."""

    axes = 3

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, weight_attr, bias_attr, data_format)


class InstanceNorm2D(_InstanceNorm):
    """Normalise each channel of each example of ``[N, C, H, W]``."""

    axes = 4

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, weight_attr, bias_attr, data_format)
