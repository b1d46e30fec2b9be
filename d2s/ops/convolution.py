"""Convolution in one and two dimensions: a copy into columns and one matrix product.

Three bilinear ops are closed under differentiation: `conv2d` (image and weight to output), `conv2d_image` (output and
weight to image: transposed convolution) and `conv2d_weight` (image and output to weight).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.core.spec import Dim, Shape, Size, TensorSpec
from d2s.errors import DTypeError, ShapeError
from d2s.ops.annotations import Array, Tensor
from d2s.ops.axes import need_axes, sizes_agree
from d2s.ops.complex_numbers import conj
from d2s.ops.promotion import operands
from d2s.ops.shape import reshape, squeeze, transpose, unsqueeze
from d2s.ops.window_arguments import IMAGE, LINE, padding_of, pair
from d2s.ops.windows import Window, add_columns, columns_of, windowed_shape


def _infer_conv2d(x: TensorSpec, weight: TensorSpec, *, window: Window, groups: int) -> TensorSpec:
    batch, _, rows, columns = windowed_shape(x.shape, window, "conv2d")
    _check_dtypes("conv2d", x, weight)
    if weight.ndim != 4 or not sizes_agree(x.shape[1], _times(weight.shape[1], groups)):
        raise ShapeError(
            f"conv2d of shape {list(x.shape)} with a weight of shape {list(weight.shape)} and {groups} groups: "
            f"the weight must be (out, {x.shape[1]} / {groups}, height, width)"
        )
    if isinstance(weight.shape[0], int) and weight.shape[0] % groups:
        raise ShapeError(f"conv2d: {weight.shape[0]} output channels cannot be shared by {groups} groups")
    return TensorSpec((batch, weight.shape[0], rows, columns), x.dtype)


def _times(size: Size, factor: int) -> Size:
    if factor == 1:
        return size
    return size * factor if isinstance(size, int) else Dim()


def _check_dtypes(name: str, first: TensorSpec, second: TensorSpec) -> None:
    if first.dtype != second.dtype or first.dtype.kind not in "fc":
        raise DTypeError(f"{name} needs two floating point tensors of one dtype, got {first} and {second}")


def _grouped(columns: Array, groups: int) -> Array:
    """Columns as one matrix per group: (groups, channels * places, positions)."""
    channels, places = columns.shape[:2]
    return columns.reshape(groups, channels // groups * places, -1)


def _by_group(y: Array, groups: int) -> Array:
    """An output (B, O, OH, OW) as one matrix per group: (groups, O / groups, positions)."""
    return y.transpose(1, 2, 3, 0).reshape(groups, y.shape[1] // groups, -1)


@define_op("conv2d", kinds="fc", infer=_infer_conv2d, saves=("x", "weight"), fresh=True)
def conv2d_op(x: Array, weight: Array, *, window: Window, groups: int) -> Array:
    """Correlation of (B, C, H, W) with (O, C / groups, kh, kw)."""
    if x.dtype != weight.dtype or x.shape[1] != weight.shape[1] * groups:
        raise ShapeError("conv2d: image and weight do not fit")
    columns = columns_of(x, window)
    product = weight.reshape(groups, weight.shape[0] // groups, -1) @ _grouped(columns, groups)
    return product.reshape(weight.shape[0], *columns.shape[2:]).transpose(3, 0, 1, 2)


def _infer_image(y: TensorSpec, weight: TensorSpec, *, window: Window, groups: int, size: Shape) -> TensorSpec:
    _check_dtypes("conv2d_transpose", y, weight)
    if y.ndim != 4 or weight.ndim != 4 or not sizes_agree(y.shape[1], weight.shape[0]):
        raise ShapeError(
            f"conv2d_transpose of shape {list(y.shape)} with a weight of shape {list(weight.shape)}: "
            f"the weight must be ({y.shape[1] if y.ndim > 1 else '...'}, out / {groups}, height, width)"
        )
    expected = window.output_sizes(*size)
    if not all(sizes_agree(own, other) for own, other in zip(y.shape[2:], expected, strict=True)):
        raise ShapeError(f"conv2d_transpose of shape {list(y.shape)}: an output of sizes {list(size)} is impossible")
    return TensorSpec((y.shape[0], _times(weight.shape[1], groups), *size), y.dtype)


@define_op("conv2d_image", kinds="fc", infer=_infer_image, saves=("y", "weight"), fresh=True)
def conv2d_image_op(y: Array, weight: Array, *, window: Window, groups: int, size: tuple[int, int]) -> Array:
    """The image of `size` that an output of conv2d came from, each window weighted and added in its place."""
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1).transpose(0, 2, 1)
    channels, places = weight.shape[1] * groups, weight.shape[2] * weight.shape[3]
    columns = (matrix @ _by_group(y, groups)).reshape(channels, places, *y.shape[2:], y.shape[0])
    return add_columns(columns, (y.shape[0], channels, *size), window)


def _infer_weight(x: TensorSpec, y: TensorSpec, *, window: Window, groups: int) -> TensorSpec:
    channels = x.shape[1]
    if groups > 1:
        channels = channels // groups if isinstance(channels, int) else Dim()
    return TensorSpec((y.shape[1], channels, *window.kernel), x.dtype)


@define_op("conv2d_weight", infer=_infer_weight, saves=("x", "y"), fresh=True)
def conv2d_weight_op(x: Array, y: Array, *, window: Window, groups: int) -> Array:
    """Correlation of an image with an output: the gradient of conv2d's weight."""
    # The long axis is summed over; this way round takes BLAS half the time of the other.
    product = _grouped(columns_of(x, window), groups) @ _by_group(y, groups).transpose(0, 2, 1)
    return product.transpose(0, 2, 1).reshape(y.shape[1], x.shape[1] // groups, *window.kernel)


def _image(y: Tensor, weight: Tensor, window: Window, groups: int, shape: Sequence[Any]) -> Tensor:
    return bind(conv2d_image_op, y, weight, window=window, groups=groups, size=tuple(shape[2:]))


def _weight(x: Tensor, y: Tensor, window: Window, groups: int) -> Tensor:
    return bind(conv2d_weight_op, x, y, window=window, groups=groups)


conv2d_op.vjp(
    lambda g, out, x, weight, *, window, groups: _image(g, conj(weight), window, groups, x.shape),
    lambda g, out, x, weight, *, window, groups: _weight(conj(x), g, window, groups),
)
conv2d_image_op.vjp(
    lambda g, out, y, weight, *, window, groups, size: bind(conv2d_op, g, conj(weight), window=window, groups=groups),
    lambda g, out, y, weight, *, window, groups, size: _weight(g, conj(y), window, groups),
)
conv2d_weight_op.vjp(
    lambda g, out, x, y, *, window, groups: _image(conj(y), g, window, groups, x.shape),
    lambda g, out, x, y, *, window, groups: bind(conv2d_op, conj(x), g, window=window, groups=groups),
)


@public(x="input")
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """
    Convolution (strictly: correlation) over the last two axes.

    Parameters
    ----------
    x : Tensor, shape (B, C, H, W)
    weight : Tensor, shape (O, C / groups, kh, kw)
    bias : Tensor, shape (O,), optional
    stride, dilation : int or pair of int
    padding : int, pair, four ints (top, bottom, left, right), pairs per axis, "SAME" or "VALID"
    groups : int
        Channels are split into groups that do not see each other.
    data_format : {"NCHW", "NHWC"}
        With "NHWC", `x` and the result are (B, H, W, C).

    Returns
    -------
    Tensor, shape (B, O, OH, OW)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or the window does not fit into the padded image.
    """
    need_axes("conv2d", x, IMAGE)
    need_axes("the weight of conv2d", weight, IMAGE)
    if data_format == "NHWC":
        x = transpose(x, (0, 3, 1, 2))
    x, weight = operands(x, weight)
    kernel = tuple(weight.shape[2:])
    strides, dilations = pair(stride, "stride"), pair(dilation, "dilation")
    border = padding_of(padding, x.shape[2:], kernel, strides, dilations)
    window = Window(kernel, strides, border, dilations)
    result = bind(conv2d_op, x, weight, window=window, groups=groups)
    if bias is not None:
        result = result + reshape(bias, [-1, 1, 1])
    return transpose(result, (0, 2, 3, 1)) if data_format == "NHWC" else result


@public(x="input")
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """Convolution over the last axis: (B, C, L) with (O, C / groups, k) gives (B, O, OL); see `conv2d`."""
    need_axes("conv1d", x, LINE)
    need_axes("the weight of conv1d", weight, LINE)
    if data_format == "NLC":
        x = transpose(x, (0, 2, 1))
    border = padding if isinstance(padding, str) else _flat_padding(padding)
    result = conv2d(
        unsqueeze(x, 2), unsqueeze(weight, 2), bias, (1, _single(stride)), border, (1, _single(dilation)), groups
    )
    result = squeeze(result, 2)
    return transpose(result, (0, 2, 1)) if data_format == "NLC" else result


def _single(value: Any) -> int:
    return int(value[0]) if isinstance(value, list | tuple) else int(value)


def _flat_padding(padding: Any) -> tuple[int, int, int, int]:
    ends = list(padding) if isinstance(padding, list | tuple) else [padding]
    if len(ends) == 1 and isinstance(ends[0], list | tuple):
        ends = list(ends[0])
    return 0, 0, int(ends[0]), int(ends[-1])


@public()
def conv2d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    output_size: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """
    Transposed convolution: the image whose convolution has the shape of `x`.

    Parameters
    ----------
    x : Tensor, shape (B, C, H, W)
    weight : Tensor, shape (C, O / groups, kh, kw)
    bias : Tensor, shape (O,), optional
    stride, padding, dilation, groups, data_format
        Of the convolution that is reversed; see `conv2d`.
    output_padding : int or pair of int
        Rows and columns added at the far ends of the result.
    output_size : pair of int, optional
        Sizes of the result, in place of `output_padding`.

    Returns
    -------
    Tensor, shape (B, O, OH, OW)
    """
    need_axes("conv2d_transpose", x, IMAGE)
    need_axes("the weight of conv2d_transpose", weight, IMAGE)
    if data_format == "NHWC":
        x = transpose(x, (0, 3, 1, 2))
    x, weight = operands(x, weight)
    kernel, strides, dilations = tuple(weight.shape[2:]), pair(stride, "stride"), pair(dilation, "dilation")
    top, bottom, left, right = padding_of(padding, x.shape[2:], kernel, strides, dilations)
    extra = pair(output_padding, "output_padding")
    borders = (top + bottom, left + right)
    size = tuple(
        (x.shape[2 + axis] - 1) * strides[axis] - borders[axis] + dilations[axis] * (kernel[axis] - 1) + 1 + extra[axis]
        for axis in (0, 1)
    )
    if output_size is not None:
        size = pair(output_size, "output_size")
    window = Window(kernel, strides, (top, bottom, left, right), dilations)
    result = bind(conv2d_image_op, x, weight, window=window, groups=groups, size=size)
    if bias is not None:
        result = result + reshape(bias, [-1, 1, 1])
    return transpose(result, (0, 2, 3, 1)) if data_format == "NHWC" else result


@public()
def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """Transposed convolution over the last axis: (B, C, L) with (C, O / groups, k); see `conv2d_transpose`."""
    need_axes("conv1d_transpose", x, LINE)
    need_axes("the weight of conv1d_transpose", weight, LINE)
    if data_format == "NLC":
        x = transpose(x, (0, 2, 1))
    border = padding if isinstance(padding, str) else _flat_padding(padding)
    size = None if output_size is None else (1, _single(output_size))
    result = conv2d_transpose(
        unsqueeze(x, 2),
        unsqueeze(weight, 2),
        bias,
        (1, _single(stride)),
        border,
        (0, _single(output_padding)),
        (1, _single(dilation)),
        groups,
        size,
    )
    result = squeeze(result, 2)
    return transpose(result, (0, 2, 1)) if data_format == "NLC" else result
