"""Pooling."""

from __future__ import annotations

from typing import Any

from d2s.nn import functional as F
from d2s.nn.layer import Layer

__all__ = [
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AvgPool1D",
    "AvgPool2D",
    "MaxPool1D",
    "MaxPool2D",
]


class _Pool(Layer):
    """What the poolings over windows share.

    Parameters
    ----------
    kernel_size : int or sequence of int
        Size of the windows.
    stride : int or sequence of int, optional
        Distance of the windows; `kernel_size` by default.
    padding : int, sequence of int, or str
        Border around the image.
    ceil_mode : bool
        Count windows that reach over the far end too.
    """

    def __init__(self, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool) -> None:
        super().__init__()
        self._kernel_size, self._stride, self._padding, self._ceil_mode = kernel_size, stride, padding, ceil_mode

    def extra_repr(self) -> str:
        return f"kernel_size={self._kernel_size}, stride={self._stride}, padding={self._padding}"


class MaxPool1D(_Pool):
    """Largest element of each window of ``[N, C, L]``; see `functional.max_pool1d`."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self._return_mask = return_mask

    def forward(self, input: Any) -> Any:
        return F.max_pool1d(input, self._kernel_size, self._stride, self._padding, self._return_mask, self._ceil_mode)


class MaxPool2D(_Pool):
    """Largest element of each window of ``[N, C, H, W]``; see `functional.max_pool2d`."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self._return_mask, self._data_format = return_mask, data_format

    def forward(self, x: Any) -> Any:
        return F.max_pool2d(
            x, self._kernel_size, self._stride, self._padding, self._return_mask, self._ceil_mode, self._data_format
        )


class AvgPool1D(_Pool):
    """Mean of each window of ``[N, C, L]``; see `functional.avg_pool1d`."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        exclusive: bool = True,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self._exclusive = exclusive

    def forward(self, x: Any) -> Any:
        return F.avg_pool1d(x, self._kernel_size, self._stride, self._padding, self._exclusive, self._ceil_mode)


class AvgPool2D(_Pool):
    """Mean of each window of ``[N, C, H, W]``; see `functional.avg_pool2d`."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self._exclusive, self._divisor, self._data_format = exclusive, divisor_override, data_format

    def forward(self, x: Any) -> Any:
        return F.avg_pool2d(
            x,
            self._kernel_size,
            self._stride,
            self._padding,
            self._ceil_mode,
            self._exclusive,
            self._divisor,
            self._data_format,
        )


class _AdaptivePool(Layer):
    """What the adaptive poolings share: ranges that divide each axis into `output_size` parts."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self._output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}"


class AdaptiveAvgPool1D(_AdaptivePool):
    """Means over `output_size` ranges of ``[N, C, L]``."""

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        super().__init__(output_size)

    def forward(self, input: Any) -> Any:
        return F.adaptive_avg_pool1d(input, self._output_size)


class AdaptiveAvgPool2D(_AdaptivePool):
    """Means over `output_size` ranges of rows and columns of ``[N, C, H, W]`` (None: keep that size)."""

    def __init__(self, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(output_size)
        self._data_format = data_format

    def forward(self, x: Any) -> Any:
        return F.adaptive_avg_pool2d(x, self._output_size, self._data_format)


class AdaptiveMaxPool1D(_AdaptivePool):
    """Largest elements of `output_size` ranges of ``[N, C, L]``; with `return_mask` their places too."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__(output_size)
        self._return_mask = return_mask

    def forward(self, input: Any) -> Any:
        return F.adaptive_max_pool1d(input, self._output_size, self._return_mask)


class AdaptiveMaxPool2D(_AdaptivePool):
    """Largest elements of `output_size` ranges of rows and columns of ``[N, C, H, W]``.

    With `return_mask` also their places, as counted in the flattened image.
    """

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__(output_size)
        self._return_mask = return_mask

    def forward(self, x: Any) -> Any:
        return F.adaptive_max_pool2d(x, self._output_size, self._return_mask)
