"""Batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.eager.tensor import tensor_of
from d2s.errors import ArgumentError, ShapeError
from d2s.nn import functional as F
from d2s.nn.initializer import Constant
from d2s.nn.layer import Layer
from d2s.words import counted

__all__ = ["BatchNorm", "BatchNorm1D", "BatchNorm2D"]


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
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype=dtype)
        if data_format not in self.formats:
            raise ArgumentError(f"data_format must be one of {', '.join(self.formats)}, got {data_format!r}")
        self._num_features, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._data_format, self._use_global_stats = data_format, use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self.register_buffer("_mean", tensor_of(np.zeros(num_features, self._dtype)))
        self.register_buffer("_variance", tensor_of(np.ones(num_features, self._dtype)))

    def forward(self, input: Any) -> Any:
        need_tensors(input)
        channels = 1 if self._data_format.startswith("NC") else input.ndim - 1
        size = input.shape[channels] if input.ndim in self.dimensions else None
        if size is None or (isinstance(size, int) and size != self._num_features):
            raise ShapeError(
                f"{type(self).__name__} of {counted(self._num_features, 'feature')} cannot take shape "
                f"{list(input.shape)} with data_format {self._data_format}"
            )
        use_running = not self.training if self._use_global_stats is None else self._use_global_stats
        return F.batch_norm(
            input,
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

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats)


class BatchNorm2D(_BatchNorm):
    """Normalise each channel over batch and image; input ``[N, C, H, W]`` (``NHWC``: ``[N, H, W, C]``)."""

    formats = ("NCHW", "NHWC")
    dimensions = (4,)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats)


class BatchNorm(_BatchNorm):
    """Normalise each channel of ``[N, C, ...]`` (``NHWC``: ``[N, ..., C]``), then apply an activation.

    Parameters
    ----------
    num_channels : int
        Number of channels.
    act : str, optional
        Name of a function in `nn.functional`, applied to the result.
    is_test : bool
        Begin in evaluation mode.
    momentum, epsilon, param_attr, bias_attr, data_layout
        As `momentum`, `epsilon`, `weight_attr`, `bias_attr` and `data_format` of `BatchNorm2D`.
    dtype : dtype or str, optional
        Of parameters and statistics.
    use_global_stats : bool
        Normalise by the running statistics in training, too.
    trainable_statistics : bool
        Normalise by the statistics of the batch in evaluation, too.
    in_place, moving_mean_name, moving_variance_name, do_model_average_for_mean_and_var
        Accepted and ignored.
    """

    formats = ("NCHW", "NHWC")
    dimensions = (2, 3, 4)

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        by_running = True if use_global_stats else False if trainable_statistics else None
        super().__init__(num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, by_running, dtype=dtype)
        self._act = act
        if is_test:
            self.eval()

    def forward(self, input: Any) -> Any:
        result = super().forward(input)
        return result if self._act is None else getattr(F, self._act)(result)
