"""Convolutions, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from d2s.errors import ArgumentError
from d2s.nn import functional as F
from d2s.nn.initializer import Normal
from d2s.nn.layer import Layer

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose"]

Sizes: TypeAlias = int | Sequence[int]
_BORDERS = ("zeros", "reflect", "replicate", "circular")


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups < 1 or in_channels % groups or out_channels % groups:
        raise ArgumentError(f"groups={groups} must divide in_channels={in_channels} and out_channels={out_channels}")


def _listed(sizes: Sizes, axes: int) -> list[int]:
    return [sizes] * axes if isinstance(sizes, int) else [int(size) for size in sizes]


class _Conv(Layer):
    """What the convolutions share.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of input and output.
    kernel_size, stride, dilation : int or sequence of int
        Geometry, along each axis of the image.
    padding : int, sequence of int, or str
        Border around the image; ``"SAME"`` and ``"VALID"`` as `functional.conv2d`.
    groups : int
        Divides both numbers of channels; each group of outputs sees its group of inputs.
    bias : bool
        False: no bias, as ``bias_attr=False``.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        What the border consists of; other than zeros only with numbers as `padding`.
    device : optional
        Ignored.
    dtype : dtype or str, optional
        Of the parameters.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the weight, shape ``[out_channels, in_channels / groups, *kernel_size]``; normal with
        ``std = sqrt(2 / (in_channels * kernel elements))`` by default.
    bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of the bias, shape ``[out_channels]``; zeros by default; False: none.
    data_format : str
        Order of the axes.

    Raises
    ------
    ValueError
        If `groups` does not divide the channels, or `padding_mode` is not known or does not go with `padding`.
    """

    axes: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Any,
        dilation: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
    ) -> None:
        super().__init__(dtype=dtype)
        _check_groups(in_channels, out_channels, groups)
        if padding_mode not in _BORDERS:
            raise ArgumentError(f"padding_mode must be one of {', '.join(_BORDERS)}, got {padding_mode!r}")
        kernel = _listed(kernel_size, self.axes)
        self._in_channels, self._out_channels, self._kernel_size = in_channels, out_channels, kernel
        self._stride, self._padding, self._dilation = stride, padding, dilation
        self._groups, self._padding_mode, self._data_format = groups, padding_mode, data_format
        self._border = None if padding_mode == "zeros" else self._border_of(padding)
        std = math.sqrt(2.0 / (in_channels * math.prod(kernel)))
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *kernel], weight_attr, default_initializer=Normal(0.0, std)
        )
        self.bias = self.create_parameter([out_channels], bias_attr if bias else False, is_bias=True)

    def _border_of(self, padding: Any) -> list[int]:
        """`padding` as `functional.pad` takes it: two numbers for each axis, the last axis first."""
        numbers = [padding] if isinstance(padding, int) else padding
        if not isinstance(numbers, list | tuple) or not all(isinstance(number, int) for number in numbers):
            raise ArgumentError(f"padding_mode={self._padding_mode!r} needs numbers as padding, got {padding!r}")
        if len(numbers) == 2 * self.axes:
            ends = [list(numbers[2 * axis : 2 * axis + 2]) for axis in range(self.axes)]
        elif len(numbers) in (1, self.axes):
            ends = [[numbers[axis % len(numbers)]] * 2 for axis in range(self.axes)]
        else:
            raise ArgumentError(f"padding must be 1, {self.axes} or {2 * self.axes} numbers, got {padding!r}")
        return [size for pair in reversed(ends) for size in pair]

    def forward(self, x: Any) -> Any:
        padding = self._padding
        if self._border is not None:
            x = F.pad(x, self._border, mode=self._padding_mode, data_format=self._data_format)
            padding = 0
        convolve = F.conv1d if self.axes == 1 else F.conv2d
        return convolve(
            x,
            self.weight,
            self.bias,
            stride=self._stride,
            padding=padding,
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
        if self._padding_mode != "zeros":
            settings.append(f"padding_mode={self._padding_mode}")
        if self._dilation not in (1, [1, 1]):
            settings.append(f"dilation={self._dilation}")
        if self._groups != 1:
            settings.append(f"groups={self._groups}")
        return ", ".join([*settings, f"data_format={self._data_format}"])


class Conv1D(_Conv):
    """One-dimensional convolution (cross-correlation) of ``[N, C, L]`` (``NLC``: ``[N, L, C]``)."""

    axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Any = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device, dtype, weight_attr, bias_attr, data_format,
        )  # fmt: skip


class Conv2D(_Conv):
    """Two-dimensional convolution (cross-correlation) of ``[N, C, H, W]`` (``NHWC``: ``[N, H, W, C]``)."""

    axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Any = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device, dtype, weight_attr, bias_attr, data_format,
        )  # fmt: skip


class _ConvTranspose(Layer):
    """What the transposed convolutions share.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of input and output.
    kernel_size, stride, padding, dilation, groups
        Of the convolution that is reversed.
    output_padding : int or sequence of int
        Rows and columns added at the far ends of the result.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the weight, shape ``[in_channels, out_channels / groups, *kernel_size]``; Xavier uniform by default.
    bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of the bias, shape ``[out_channels]``; zeros by default; False: none.
    data_format : str
        Order of the axes.

    Raises
    ------
    ValueError
        If `groups` does not divide the channels.
    """

    axes: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Any,
        output_padding: Any,
        dilation: Sizes,
        groups: int,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        kernel = _listed(kernel_size, self.axes)
        self._in_channels, self._out_channels, self._kernel_size = in_channels, out_channels, kernel
        self._stride, self._padding, self._dilation = stride, padding, dilation
        self._groups, self._output_padding, self._data_format = groups, output_padding, data_format
        self.weight = self.create_parameter([in_channels, out_channels // groups, *kernel], weight_attr)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any, output_size: Any = None) -> Any:
        convolve = F.conv1d_transpose if self.axes == 1 else F.conv2d_transpose
        return convolve(
            x,
            self.weight,
            self.bias,
            stride=self._stride,
            padding=self._padding,
            output_padding=self._output_padding if output_size is None else 0,
            dilation=self._dilation,
            groups=self._groups,
            output_size=output_size,
            data_format=self._data_format,
        )

    def extra_repr(self) -> str:
        return (
            f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}, stride={self._stride}, "
            f"padding={self._padding}, data_format={self._data_format}"
        )


class Conv1DTranspose(_ConvTranspose):
    """Transposed convolution of ``[N, C, L]``; its call takes an `output_size` too."""

    axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Sizes = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups,
            weight_attr, bias_attr, data_format,
        )  # fmt: skip


class Conv2DTranspose(_ConvTranspose):
    """Transposed convolution of ``[N, C, H, W]``; its call takes an `output_size` too."""

    axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups,
            weight_attr, bias_attr, data_format,
        )  # fmt: skip
