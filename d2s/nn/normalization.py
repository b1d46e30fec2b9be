"""Normalisation of activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError, ShapeError
from d2s.nn import functional as F
from d2s.nn.initializer import Constant
from d2s.nn.layer import Layer

__all__ = ["BatchNorm1D", "BatchNorm2D", "LayerNorm"]


class LayerNorm(Layer):
    """Normalise the last axes to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        Sizes of the axes to normalise over.
    epsilon : float
        Added to the variance.
    weight_attr, bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of scale (ones) and shift (zeros), of shape `normalized_shape`; False: none.
    name : str, optional
        Ignored.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._normalized_shape, self._epsilon = shape, epsilon
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(shape, bias_attr, is_bias=True)

    def forward(self, x: Any) -> Any:
        return F.layer_norm(x, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class _BatchNorm(Layer):
    """What the batch normalisations share.

    Parameters
    ----------
    num_features : int
        Number of channels, C.
    momentum : float
        Share of the running mean and variance (buffers `_mean`, `_variance`) that is kept in each step.
    epsilon : float
        Added to the variance.
    weight_attr, bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of scale (ones) and shift (zeros), of shape ``[C]``; False: none.
    data_format : str
        Says which axis the channels are: the second one, or the last one.
    use_global_stats : bool, optional
        True: normalise by the running mean and variance in training, too; False: never by them.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        When called on a tensor with another number of axes or channels.
    """

    formats: tuple[str, ...] = ()
    dimensions: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        data_format = data_format or self.formats[0]
        if data_format not in self.formats:
            raise ArgumentError(f"data_format must be one of {', '.join(self.formats)}, got {data_format!r}")
        self._num_features, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._data_format, self._use_global_stats = data_format, use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self.register_buffer("_mean", Tensor(np.zeros(num_features, self._dtype)))
        self.register_buffer("_variance", Tensor(np.ones(num_features, self._dtype)))

    def forward(self, x: Any) -> Any:
        channels = 1 if self._data_format.startswith("NC") else x.ndim - 1
        size = x.shape[channels] if x.ndim in self.dimensions else None
        if size is None or (isinstance(size, int) and size != self._num_features):
            raise ShapeError(
                f"{type(self).__name__} of {self._num_features} features cannot take shape {list(x.shape)} "
                f"with data_format {self._data_format}"
            )
        use_running = not self.training if self._use_global_stats is None else self._use_global_stats
        return F.batch_norm(
            x,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            training=self.training,
            momentum=self._momentum,
            epsilon=self._epsilon,
            data_format=self._data_format,
            use_global_stats=use_running,
        )

    def extra_repr(self) -> str:
        return (
            f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}, "
            f"data_format={self._data_format}"
        )


class BatchNorm1D(_BatchNorm):
    """Normalise each channel over the batch; input ``[N, C]``, or ``[N, C, L]`` (``NLC``: ``[N, L, C]``)."""

    formats = ("NCL", "NLC", "NC")
    dimensions = (2, 3)


class BatchNorm2D(_BatchNorm):
    """Normalise each channel over batch and image; input ``[N, C, H, W]`` (``NHWC``: ``[N, H, W, C]``)."""

    formats = ("NCHW", "NHWC")
    dimensions = (4,)
