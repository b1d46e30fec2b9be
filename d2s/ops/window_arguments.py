"""Arguments of convolution and pooling, in the many forms that Paddle takes them, in one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from d2s.errors import ShapeError

IMAGE = ("batch", "channels", "height", "width")
LINE = ("batch", "channels", "length")


def pair(value: Any, what: str) -> tuple[Any, Any]:
    """A number for both axes, or one for each.

    Raises
    ------
    ShapeError
        If there are neither one nor two.
    """
    numbers = list(value) if isinstance(value, list | tuple) else [value]
    if len(numbers) not in (1, 2):
        raise ShapeError(f"{what} must be one number or two, got {list(numbers)}")
    return numbers[0], numbers[-1]


def padding_of(
    padding: Any, sizes: Sequence[Any], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[int, int, int, int]:
    """Padding as (top, bottom, left, right).

    Raises
    ------
    ShapeError
        If `padding` has another form than int, pair, four ints, pairs per axis, "SAME" or "VALID".
    """
    if isinstance(padding, str):
        return _named(padding.upper(), sizes, kernel, stride, dilation)
    numbers = list(padding) if isinstance(padding, list | tuple) else [padding]
    if numbers and all(isinstance(one, list | tuple) for one in numbers):
        # [[0, 0], [0, 0], [top, bottom], [left, right]], or the last two alone.
        numbers = [size for ends in numbers[-2:] for size in ends]
    if len(numbers) == 1:
        numbers = numbers * 4
    elif len(numbers) == 2:
        numbers = [numbers[0], numbers[0], numbers[1], numbers[1]]
    if len(numbers) != 4:
        raise ShapeError(f"padding must be int, pair, four ints, pairs per axis, 'SAME' or 'VALID', got {padding}")
    top, bottom, left, right = numbers
    return top, bottom, left, right


def _named(
    name: str, sizes: Sequence[Any], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[int, int, int, int]:
    if name == "VALID":
        return 0, 0, 0, 0
    if name != "SAME":
        raise ShapeError(f"padding must be 'SAME' or 'VALID', got {name!r}")
    ends: list[int] = []
    for axis in (0, 1):
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        total = max(0, (-(-sizes[axis] // stride[axis]) - 1) * stride[axis] + reach - sizes[axis])
        ends += [total // 2, total - total // 2]
    return ends[0], ends[1], ends[2], ends[3]
