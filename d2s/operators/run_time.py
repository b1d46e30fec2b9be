"""Functions that recorded Programs call when they run."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from d2s.core import interpreter
from d2s.core.interpreter import TensorBase
from d2s.core.spec import DType, TensorSpec
from d2s.eager.views import write_data
from d2s.errors import ExecutionError
from d2s.operators.equality import same_thing
from d2s.static.runtime import HookPoint

# What a run has read of one tensor: versions and arrays, of which it keeps none alive.
Reads = list[tuple[int, Callable[[], Any]]]


class Reading:
    """What a function gives for something."""

    def __init__(self, reader: Any, thing: Any) -> None:
        self.reader = reader
        self.thing = thing

    def __call__(self) -> Any:
        return self.reader(self.thing)


class Expected:
    """A value that is compared with when the Program runs."""

    def __init__(self, value: Any) -> None:
        self.value = value


def check_unchanged(reader: Any, place: tuple[Any, ...], expected: Any, name: str) -> None:
    """Raise an error if ``reader(*place)`` is not what the trace read there."""
    now = reader(*place)
    before = expected.value if isinstance(expected, Expected) else expected
    if not same_thing(now, before):
        raise ExecutionError(
            f"{name} was changed by a call that is not traced, and is read after it in the same run",
            advice="Let the call return what it changes, or keep the whole function eager with @d2s.jit.not_to_static.",
            kind="X07",
        )


# It changes nothing, and its result says nothing.
check_unchanged.only_looks = True  # type: ignore[attr-defined]


def check_shown(point: Any, array: Any, view: tuple[Any, ...], name: str) -> None:
    """Raise an error if a value, given by its hook point or its Tensor, is not what that Tensor shows any more.

    With a `view`, its array and where its Tensor is, only if that shows values of the array; its array is None if
    showing them may have taken a copy.
    """
    tensor = _tensor_at(point)
    if tensor is None or tensor.data is array or _is_apart(view, array):
        return
    # Single elements become arrays anew each time.
    if array.ndim or tensor.data.tobytes() != array.tobytes():
        _written_over(name)


def check_version_read(read: tuple[Any, int], array: Any, view: tuple[Any, ...], name: str) -> None:
    """Raise an error if a tensor has been written to since it was read in this version, as `array`; `view` as above."""
    tensor, version = read
    if tensor.version != version and not _is_apart(view, array):
        _written_over(name)


def note_read(reads: Reads, tensor: Any) -> None:
    """Note which values a branch or a turn of a loop has read of a tensor from outside."""
    array = tensor.data
    # Single elements cannot be referred to weakly.
    reads.append((tensor.version, weakref.ref(array) if array.ndim else lambda: array))


def check_reads(reads: Reads, tensor: Any, view: tuple[Any, ...], name: str) -> None:
    """Raise an error if a tensor has been written to since any of its `reads`; `view` as above."""
    for version, array in reads:
        if tensor.version != version and not _is_apart(view, array()):
            _written_over(name)


# They change nothing, and their result says nothing.
check_shown.only_looks = check_version_read.only_looks = check_reads.only_looks = True  # type: ignore[attr-defined]
# At Tensors that may have been made in a turn or branch before.
check_shown.looks_at_tensors = True  # type: ignore[attr-defined]


def _tensor_at(point: Any) -> Any:
    return point.tensor if isinstance(point, HookPoint) else point


def _is_apart(view: tuple[Any, ...], array: Any) -> bool:
    """True if a view is certain not to show old values of an array: its Tensor would know, or it has no part of it."""
    if not view:
        return False
    shown, point = view
    if _tensor_at(point) is not None or array is None:
        # Nobody shows what nobody has any more.
        return True
    # Single elements become arrays of their own, and so does what has another order in memory.
    return (
        shown is not None and shown.ndim > 0 and array.ndim > 0 and array.flags.c_contiguous
        and not np.may_share_memory(shown, array))


def _written_over(name: str) -> None:
    raise ExecutionError(
        f"{name} was written to by a call that is not traced, and the run goes on with what it was before",
        advice="Let the call return what it computes, or keep the whole function eager with @d2s.jit.not_to_static.",
        kind="X12",
    )


def checked_number(number: Any) -> Any:
    """`number`, which must be a number."""
    if isinstance(number, int | float | np.floating | np.integer | np.bool_):
        return number
    raise ExecutionError(
        f"a {type(number).__name__} that is known only when the Program runs was combined with a tensor: only numbers "
        "can be", advice="Keep the function that makes it inside of the trace, or pass it as an argument.",
        kind="X08",
    )


def taken_apart(value: Any, count: int) -> list[Any]:
    """What ``a, b = value`` takes apart, for `count` names."""
    try:
        iterator = iter(value)
    except TypeError:
        raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object") from None
    parts = list(itertools.islice(iterator, count))
    if len(parts) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(parts)})")
    for _ in iterator:
        raise ValueError(f"too many values to unpack (expected {count})")
    return parts


def counted(things: list[Any], function: Any, before: int, names: tuple[str, ...]) -> list[Any]:
    """`things`, after a call of a function that does nothing but take them, behind so many others and by name."""
    function(*[None] * before, *things, **dict.fromkeys(names))
    return things


def parts_given(thing: Any) -> list[Any]:
    """All that a loop over `thing` is given."""
    if isinstance(thing, Iterator):
        raise ExecutionError(
            f"a {type(thing).__name__} that an untraced call gave is looped over: what it gives only it knows",
            advice="Let the call return a list.", kind="X08")
    return list(thing)


class Drawing:
    """A loop over what draws its items, such as a loader: one turn after the other."""

    def __init__(self, thing: Any) -> None:
        self._iterator = iter(thing)
        self._item: Any = None

    def advance(self) -> bool:
        """Draw the next item; False if there is none."""
        try:
            self._item = next(self._iterator)
        except StopIteration:
            self._item = None
            return False
        return True

    def item(self) -> Any:
        """What was drawn last."""
        return self._item


def spread_to(thing: Any, shape: Sequence[int], dtype: DType) -> Any:
    """A Tensor of this shape and dtype: `thing`, which is a number or a tensor, broadcast."""
    shape = tuple(shape)
    if not isinstance(thing, TensorBase):
        return interpreter.wrap(np.full(shape, checked_number(thing), dtype))
    held: Any = thing
    if held.dtype != dtype or not _broadcasts(held.data.shape, shape):
        raise ExecutionError(
            f"a tensor {held.spec} that is known only when the Program runs was combined with one of "
            f"{TensorSpec(shape, dtype)}: it can be if it has its dtype, and can be broadcast to its shape",
            advice="Keep the function that makes it inside of the trace, or pass it as an argument.", kind="X08")
    return held if held.data.shape == shape else held.expand(shape)


def _broadcasts(shape: tuple[Any, ...], into: tuple[Any, ...]) -> bool:
    """True if a shape can be broadcast to another one."""
    return len(shape) <= len(into) and all(
        size in (1, other) for size, other in zip(shape[::-1], into[::-1], strict=False))


def show_retained(old: Any, new: Any) -> None:
    """Let the Tensor of a version that was written in place show the gradient retained of the version before."""
    if old._node is not None and new._node is not None:
        old._node.show_retained(old._index, new._node, new._index)


def set_value(tensor: Any, array: Any) -> None:
    """Write values to a tensor from outside; no copy of them, so that views of them go on sharing its memory."""
    write_data(tensor, array)
