"""Borders, sizes and patches of images and sequences; channels shuffled and made pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from d2s.nn import functional as F
from d2s.nn.layer import Layer
from d2s.ops.shape import reshape

__all__ = [
    "ChannelShuffle",
    "ConstantPad1D",
    "ConstantPad2D",
    "Fold",
    "LocalResponseNorm",
    "Pad1D",
    "Pad2D",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReflectionPad1D",
    "ReflectionPad2D",
    "ReplicationPad1D",
    "ReplicationPad2D",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingNearest2D",
    "ZeroPad1D",
    "ZeroPad2D",
]


class _Pad(Layer):
    """A border; see `functional.pad`.

    Parameters
    ----------
    padding : int or sequence of int
        Widths: left, right and, for images, top, bottom; one number for all ends.
    mode : {"constant", "reflect", "replicate", "circular"}
        What the border consists of.
    value : float
        Of the mode "constant".
    data_format : str
        Order of the axes.
    """

    ends: int

    def __init__(self, padding: int | Sequence[int], mode: str, value: float, data_format: str) -> None:
        super().__init__()
        self._pad = [padding] * self.ends if isinstance(padding, int) else list(padding)
        self._mode, self._value, self._data_format = mode, value, data_format

    def forward(self, x: Any) -> Any:
        return F.pad(x, self._pad, mode=self._mode, value=self._value, data_format=self._data_format)

    def extra_repr(self) -> str:
        return f"padding={self._pad}, mode={self._mode}, value={self._value}, data_format={self._data_format}"


class Pad1D(_Pad):
    """A border around ``[N, C, L]``."""

    ends = 2

    def __init__(
        self, padding: Any, mode: str = "constant", value: float = 0.0, data_format: str = "NCL", name: Any = None
    ) -> None:
        super().__init__(padding, mode, value, data_format)


class Pad2D(_Pad):
    """A border around ``[N, C, H, W]``."""

    ends = 4

    def __init__(
        self, padding: Any, mode: str = "constant", value: float = 0.0, data_format: str = "NCHW", name: Any = None
    ) -> None:
        super().__init__(padding, mode, value, data_format)


class ZeroPad1D(Pad1D):
    """A border of zeros around ``[N, C, L]``."""

    def __init__(self, padding: Any, data_format: str = "NCL", name: str | None = None) -> None:
        super().__init__(padding, data_format=data_format)


class ZeroPad2D(Pad2D):
    """A border of zeros around ``[N, C, H, W]``."""

    def __init__(self, padding: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(padding, data_format=data_format)


class ConstantPad1D(Pad1D):
    """A border of `value` around ``[N, C, L]``."""

    def __init__(self, padding: Any, value: float, data_format: str = "NCL", name: str | None = None) -> None:
        super().__init__(padding, "constant", value, data_format)


class ConstantPad2D(Pad2D):
    """A border of `value` around ``[N, C, H, W]``."""

    def __init__(self, padding: Any, value: float, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(padding, "constant", value, data_format)


class ReflectionPad1D(Pad1D):
    """A border around ``[N, C, L]`` that mirrors the inside, without the outermost element."""

    def __init__(self, padding: Any, data_format: str = "NCL", name: str | None = None) -> None:
        super().__init__(padding, "reflect", data_format=data_format)


class ReflectionPad2D(Pad2D):
    """A border around ``[N, C, H, W]`` that mirrors the inside, without the outermost row or column."""

    def __init__(self, padding: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(padding, "reflect", data_format=data_format)


class ReplicationPad1D(Pad1D):
    """A border around ``[N, C, L]`` of the outermost elements."""

    def __init__(self, padding: Any, data_format: str = "NCL", name: str | None = None) -> None:
        super().__init__(padding, "replicate", data_format=data_format)


class ReplicationPad2D(Pad2D):
    """A border around ``[N, C, H, W]`` of the outermost rows and columns."""

    def __init__(self, padding: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(padding, "replicate", data_format=data_format)


class PixelShuffle(Layer):
    """Channels laid out as pixels; see `functional.pixel_shuffle`."""

    def __init__(self, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._factor, self._data_format = upscale_factor, data_format

    def forward(self, x: Any) -> Any:
        return F.pixel_shuffle(x, self._factor, self._data_format)

    def extra_repr(self) -> str:
        return f"upscale_factor={self._factor}"


class PixelUnshuffle(Layer):
    """Pixels laid out as channels; see `functional.pixel_unshuffle`."""

    def __init__(self, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._factor, self._data_format = downscale_factor, data_format

    def forward(self, x: Any) -> Any:
        return F.pixel_unshuffle(x, self._factor, self._data_format)

    def extra_repr(self) -> str:
        return f"downscale_factor={self._factor}"


class ChannelShuffle(Layer):
    """Channels in another order; see `functional.channel_shuffle`."""

    def __init__(self, groups: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._groups, self._data_format = groups, data_format

    def forward(self, x: Any) -> Any:
        return F.channel_shuffle(x, self._groups, self._data_format)

    def extra_repr(self) -> str:
        return f"groups={self._groups}"


class Upsample(Layer):
    """An image of another size; see `functional.interpolate`."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool = False,
        align_mode: int = 0,
        data_format: str | None = None,
        recompute_scale_factor: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._size, self._scale_factor, self._mode = size, scale_factor, mode
        self._align_corners, self._align_mode, self._data_format = align_corners, align_mode, data_format
        self._recompute_scale_factor = recompute_scale_factor

    def forward(self, x: Any) -> Any:
        return F.interpolate(
            x,
            self._size,
            self._scale_factor,
            self._mode,
            self._align_corners,
            self._align_mode,
            self._data_format,
            self._recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        given = f"scale_factor={self._scale_factor}" if self._size is None else f"size={self._size}"
        return f"{given}, mode={self._mode}"


class UpsamplingNearest2D(Upsample):
    """Nearest pixels."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__(size, scale_factor, "nearest", data_format=data_format)


class UpsamplingBilinear2D(Upsample):
    """Linear along both axes, with the centres of the corners kept in place."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True, data_format=data_format)


class Unfold(Layer):
    """What a sliding window sees, as columns; see `functional.unfold`."""

    def __init__(
        self, kernel_sizes: Any, dilations: Any = 1, paddings: Any = 0, strides: Any = 1, name: str | None = None
    ) -> None:
        super().__init__()
        self._settings = kernel_sizes, strides, paddings, dilations

    def forward(self, input: Any) -> Any:
        return F.unfold(input, *self._settings)


class Fold(Layer):
    """Columns put back where a sliding window saw them, and added; see `functional.fold`."""

    def __init__(
        self,
        output_sizes: Any,
        kernel_sizes: Any,
        dilations: Any = 1,
        paddings: Any = 0,
        strides: Any = 1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._settings = output_sizes, kernel_sizes, strides, paddings, dilations

    def forward(self, input: Any) -> Any:
        return F.fold(input, *self._settings)


class Unflatten(Layer):
    """One axis laid out in several, of sizes `shape`; one of them may be -1."""

    def __init__(self, axis: int, shape: Sequence[int], name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape = axis, list(shape)

    def forward(self, input: Any) -> Any:
        axis = self.axis % input.ndim
        return reshape(input, [*input.shape[:axis], *self.shape, *input.shape[axis + 1 :]])

    def extra_repr(self) -> str:
        return f"axis={self.axis}, shape={self.shape}"


class LocalResponseNorm(Layer):
    """Division by the activity of neighbouring channels; see `functional.local_response_norm`."""

    def __init__(
        self,
        size: int,
        alpha: float = 1e-4,
        beta: float = 0.75,
        k: float = 1.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k, self.data_format = size, alpha, beta, k, data_format

    def forward(self, input: Any) -> Any:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k, self.data_format)

    def extra_repr(self) -> str:
        return f"size={self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
