"""Convolution and pooling of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from d2s.errors import ArgumentError
from d2s.nn import functional as F
from d2s.nn.initializer import Normal
from d2s.nn.layer import Layer

__all__ = ["AvgPool2D", "Conv2D", "MaxPool2D"]

Size2: TypeAlias = int | Sequence[int]


class Conv2D(Layer):
    """Two-dimensional convolution (cross-correlation) of ``[N, C, H, W]``.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of input and output.
    kernel_size, stride, dilation : int or pair of int
        Geometry, along H and W.
    padding : int, pair of int, or str
        Zeros around the image; ``"SAME"`` and ``"VALID"`` as `functional.conv2d`.
    groups : int
        Divides both numbers of channels; each group of outputs sees its group of inputs.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the weight, shape ``[out_channels, in_channels / groups, *kernel_size]``; normal with
        ``std = sqrt(2 / (in_channels * kernel elements))`` by default.
    bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of the bias, shape ``[out_channels]``; zeros by default; False: none.
    data_format : {"NCHW", "NHWC"}
        Order of the axes.

    Raises
    ------
    ValueError
        If `groups` does not divide the channels.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: Any = 0,
        dilation: Size2 = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"groups={groups} must divide in_channels={in_channels} and out_channels={out_channels}")
        kernel = [kernel_size, kernel_size] if isinstance(kernel_size, int) else list(kernel_size)
        self._in_channels, self._out_channels, self._kernel_size = in_channels, out_channels, kernel
        self._stride, self._padding, self._dilation = stride, padding, dilation
        self._groups, self._data_format = groups, data_format
        std = math.sqrt(2.0 / (in_channels * math.prod(kernel)))
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *kernel], weight_attr, default_initializer=Normal(0.0, std)
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any) -> Any:
        return F.conv2d(
            x,
            self.weight,
            self.bias,
            stride=self._stride,
            padding=self._padding,
            dilation=self._dilation,
            groups=self._groups,
            data_format=self._data_format,
        )

    def extra_repr(self) -> str:
        settings = [f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"]
        if self._stride not in (1, [1, 1]):
            settings.append(f"stride={self._stride}")
        if self._padding != 0:
            settings.append(f"padding={self._padding}")
        if self._dilation not in (1, [1, 1]):
            settings.append(f"dilation={self._dilation}")
        if self._groups != 1:
            settings.append(f"groups={self._groups}")
        return ", ".join([*settings, f"data_format={self._data_format}"])


class _Pool2D(Layer):
    """What the poolings share.

    Parameters
    ----------
    kernel_size : int or pair of int
        Size of the windows.
    stride : int or pair of int, optional
        Distance of the windows; `kernel_size` by default.
    padding : int or pair of int
        Border around the image; it does not count.
    """

    def __init__(self, kernel_size: Size2, stride: Size2 | None = None, padding: Any = 0) -> None:
        super().__init__()
        self._kernel_size, self._stride, self._padding = kernel_size, stride, padding

    def extra_repr(self) -> str:
        return f"kernel_size={self._kernel_size}, stride={self._stride}, padding={self._padding}"


class MaxPool2D(_Pool2D):
    """Largest element of each window of ``[N, C, H, W]``; see `functional.max_pool2d`."""

    def forward(self, x: Any) -> Any:
        return F.max_pool2d(x, self._kernel_size, self._stride, self._padding)


class AvgPool2D(_Pool2D):
    """Mean of each window of ``[N, C, H, W]``; see `functional.avg_pool2d`."""

    def forward(self, x: Any) -> Any:
        return F.avg_pool2d(x, self._kernel_size, self._stride, self._padding)
