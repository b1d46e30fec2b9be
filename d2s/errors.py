"""Every error d2s raises on purpose: one class per kind of failure.

Each class is a child of `D2SError` *and* of the builtin a user would catch.  A message says what happened, where
(the user's file, line and text) and what to do.  The first line of it ends with the id of its kind, such as
``[D2S-H01]``; `d2s.catalogue` has cause, example and fix of each.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import ClassVar

import numpy as np
from numpy.linalg import LinAlgError

from d2s import caller

__all__ = [
    "AnomalyError",
    "ArgumentError",
    "D2SError",
    "DTypeError",
    "ExecutionError",
    "GradientError",
    "GuardError",
    "HookError",
    "IndexOutOfRangeError",
    "KeyNameError",
    "LeafError",
    "Location",
    "MatrixError",
    "MemberError",
    "NotSupportedError",
    "NumberError",
    "ProgramError",
    "ShapeError",
    "SourceError",
    "StateError",
    "TracingError",
    "UnsupportedSyntaxError",
    "user_location",
]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_COMMAND = _PACKAGE + "cli" + os.sep
# Where code lies that calls what the user has given it; within it may lie other code.
_STDLIB, _NUMPY = sysconfig.get_paths()["stdlib"] + os.sep, os.path.dirname(np.__file__) + os.sep
_NOT_STDLIB = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages", "test"))
# Stands between `with` in the user's code and a context manager of d2s.
_CONTEXTLIB = contextmanager.__code__.co_filename


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's source: file, line number (from 1), text of the line and column (from 0, if known).

    Two places are equal if file, line, text and column are; the instruction they were taken from does not count, nor
    do `of_gradient`: that what happens there is part of the gradient of the line; and `called`: which function of d2s
    is called there, if the place is that of an operator.
    """

    file: str
    line: int
    text: str = ""
    column: int | None = None
    code: CodeType | None = field(default=None, compare=False, repr=False)
    instruction: int = field(default=0, compare=False, repr=False)
    of_gradient: bool = field(default=False, compare=False, repr=False)
    called: caller.Call | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def __reduce__(self) -> tuple[object, ...]:
        return Location, (self.file, self.line, self.text, self.column)

    @property
    def span(self) -> tuple[int, int, int, int]:
        """Line, last line, column and last column (in bytes) of the expression; if unknown, of the whole line."""
        if self.code is not None:
            found = next(islice(self.code.co_positions(), self.instruction // 2, None), (None,) * 4)
            line, end_line, column, end_column = found
            if line is not None and end_line is not None and column is not None and end_column is not None:
                return line, end_line, column, end_column
        text = (self.text or linecache.getline(self.file, self.line)).rstrip()
        return self.line, self.line, len(text) - len(text.lstrip()), len(text.encode())

    def excerpt(self) -> str:
        """The place as a block of text: `file:line`, the line itself and, if the column is known, a caret."""
        text = self.text or linecache.getline(self.file, self.line)
        bare = text.strip()
        lines = [f"  {self.file}:{self.line}"]
        if bare:
            lines.append(f"    {bare}")
            if self.column is not None:
                indent = len(text) - len(text.lstrip())
                lines.append("    " + " " * max(self.column - indent, 0) + "^")
        return "\n".join(lines)


class D2SError(Exception):
    """Base of all errors raised by d2s.

    Parameters
    ----------
    message : str
        What happened, with the values that matter.
    location : Location, optional
        Where in the user's source; by default the line outside of d2s that is being executed.
    advice : str, optional
        What to do about it.
    kind : str, optional
        Letter and number of the kind of failure, by default the most general kind of the class.

    Attributes
    ----------
    id : str
        ``D2S-`` and the kind, as the message shows it; empty if there is no kind.
    """

    general_kind: ClassVar[str] = ""
    # True for what operators say about their operands; "shapes": the words are to name their shapes.
    about_operands: ClassVar[bool | str] = False

    def __init__(
        self,
        message: str,
        location: Location | None = None,
        advice: str | None = None,
        *,
        kind: str | None = None,
    ) -> None:
        if self.about_operands:
            message = caller.named(message, sys._getframe(1), _called_by, self.about_operands == "shapes")
        if location is None:
            location = user_location(sys._getframe(1))
        self._tell(message, location, advice, kind or self.general_kind)

    def _tell(self, message: str, location: Location | None, advice: str | None, kind: str) -> None:
        self.kind = kind
        self.id = f"D2S-{self.kind}" if self.kind else ""
        parts = [f"{message} [{self.id}]" if self.id else message]
        if location is not None:
            parts.append(location.excerpt())
        if advice:
            parts.append(f"  {advice}")
        super().__init__("\n".join(parts))
        self.message = message
        self.location = location
        self.advice = advice

    def place_at(self, location: Location, prefix: str = "") -> None:
        """Say that it happened there, and put `prefix` before the message."""
        self._tell(prefix + self.message, location, self.advice, self.kind)

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.message, self.location, self.advice, self.kind)


def _again(made: type[D2SError], message: str, location: Location | None, advice: str | None, kind: str) -> D2SError:
    """An error that was pickled."""
    return made(message, location, advice, kind=kind)


class ShapeError(D2SError, ValueError):
    """Shapes of the operands do not fit the operator."""

    general_kind = "S01"
    about_operands = "shapes"


class DTypeError(D2SError, TypeError):
    """The operator or function does not accept this element type or kind of value."""

    general_kind = "D01"
    about_operands = True


class IndexOutOfRangeError(D2SError, IndexError):
    """An index, axis or label lies outside the tensor."""

    general_kind = "I01"
    about_operands = "shapes"


class ArgumentError(D2SError, ValueError):
    """An argument has a value that it cannot have, or a file is not what it should be."""

    general_kind = "A01"
    about_operands = True


class NotSupportedError(D2SError, NotImplementedError):
    """An option that d2s does not have, or a method that a class of the user has to define."""

    general_kind = "N01"


class NumberError(D2SError, OverflowError):
    """A Python number is too large, or too small, for the dtype that it becomes part of."""

    general_kind = "O01"
    about_operands = True


class KeyNameError(D2SError, KeyError):
    """A name or key that is not there, or that cannot be used."""

    # In the words of the message, not as the repr of a key.
    __str__ = Exception.__str__


class MemberError(D2SError, AttributeError):
    """An attribute of a Layer that cannot be set, or a sublayer that is not there."""


class StateError(D2SError, RuntimeError):
    """An object is not in the state that a call needs, or what is loaded does not fit it."""


class MatrixError(D2SError, LinAlgError):
    """A matrix that has no inverse or no decomposition; also NumPy's LinAlgError, which is a ValueError."""

    general_kind = "Q01"
    about_operands = "shapes"


class LeafError(D2SError, ValueError):
    """Something that only a leaf can do, or that a leaf which requires a gradient cannot."""

    @staticmethod
    def of_write(name: str) -> LeafError:
        """What is raised for a write that would give history to a leaf."""
        return LeafError(f"Leaf Tensor ({name}) that doesn't stop gradient can't use inplace strategy.", kind="L02")


class GradientError(D2SError, RuntimeError):
    """A gradient was asked for where there is none, or a graph was used twice without `retain_graph=True`."""


class AnomalyError(D2SError, FloatingPointError):
    """Inside of `detect_anomaly()`, an op gave NaN."""

    general_kind = "V01"


class HookError(D2SError, RuntimeError):
    """A gradient hook cannot be registered here, or returned something that is no gradient of its tensor."""


class _Refusals(threading.local):
    """What was refused while this thread traces; None outside of traces."""

    def __init__(self) -> None:
        self.noted: list[BaseException] | None = None


_refusals = _Refusals()


@contextmanager
def noted_refusals() -> Iterator[list[BaseException]]:
    """Collect what is refused inside: a handler of the user may catch such an error, but the refusal stands.

    So it does around, if a refusal leaves this.
    """
    before, _refusals.noted = _refusals.noted, []
    noted = _refusals.noted
    try:
        yield noted
    except _Refusal as error:
        if before is not None and error.is_noted:
            before.append(error)
        raise
    finally:
        _refusals.noted = before


@contextmanager
def pardoned_refusals() -> Iterator[None]:
    """What is refused inside may be caught by d2s itself: it does something else instead."""
    before, _refusals.noted = _refusals.noted, None if _refusals.noted is None else []
    try:
        yield
    finally:
        _refusals.noted = before


def note_interruption(error: BaseException) -> None:
    """Note what has interrupted a trace: a handler of the user may catch it, but that trace is of no use."""
    if _refusals.noted is not None:
        _refusals.noted.append(error)


class _Refusal(D2SError):
    """Says that code cannot become a graph."""

    is_noted = True

    def __init__(
        self,
        message: str,
        location: Location | None = None,
        advice: str | None = None,
        *,
        kind: str | None = None,
    ) -> None:
        super().__init__(message, location, advice, kind=kind)
        if self.is_noted and _refusals.noted is not None:
            _refusals.noted.append(self)


class UnsupportedSyntaxError(_Refusal, NotImplementedError):
    """A construct that cannot become a graph."""


class TracingError(UnsupportedSyntaxError, TypeError):
    """Python needs the value of a tensor that is known only when the Program runs."""


class SourceError(UnsupportedSyntaxError, OSError):
    """The source of a function cannot be found, so it cannot be converted."""

    # Inside of a trace such a function runs as it is: nothing is refused there.
    is_noted = False


class GuardError(D2SError, ValueError):
    """A call does not fit what the function was converted for (InputSpec, argument structure)."""


class ProgramError(D2SError, ValueError):
    """A Program is not legal; the message names the operator and, if a pass made it so, the pass."""


class ExecutionError(D2SError, RuntimeError):
    """A Program was run in a way that it cannot be run (missing feed, unknown fetch)."""


# Which place in the user's source a line of generated code stands for, by the name of the generated file.
GENERATED: dict[str, dict[int, Location]] = {}


def is_user_code(code: CodeType) -> bool:
    """True for code that is not part of the d2s package (generated code and contextlib count as d2s)."""
    name = code.co_filename
    return not name.startswith(_PACKAGE) and not name.startswith("<d2s ") and name != _CONTEXTLIB


def _called_by(frame: FrameType) -> tuple[bool, caller.Call | None]:
    """True if `frame` is the user's code, or stands for it; what it has called, if it is code of a Program."""
    code = frame.f_code
    if not code.co_filename.startswith("<d2s "):
        return is_user_code(code), None
    place = GENERATED.get(code.co_filename, {}).get(frame.f_lineno)
    return place is not None, None if place is None else place.called


def operator_location() -> Location | None:
    """As `user_location`, with what is called there: for an operator that is recorded."""
    frame = sys._getframe(1)
    place = user_location(frame)
    if place is not None and (called := caller.called_from(frame, _called_by)) is not None:
        return replace(place, called=called)
    return place


def chained(entries: list[TracebackType]) -> TracebackType | None:
    """One traceback that shows the frames of `entries` in their order, outermost first."""
    result: TracebackType | None = None
    for entry in reversed(entries):
        # Ctrl-C may come to a function that has not begun its first line.
        line: int | None = entry.tb_lineno
        line = entry.tb_frame.f_code.co_firstlineno if line is None else line
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, line)
    return result


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """The innermost frame that is the user's code."""
    if frame is None:
        frame = sys._getframe(1)
    while frame is not None and not is_user_code(frame.f_code):
        frame = frame.f_back
    return frame


def user_location(frame: FrameType | None = None) -> Location | None:
    """Where in the user's source the program stands now, or None outside any user code.

    While a Program runs that is the line that the operator came from.  Code of Python's library and of NumPy that
    stands between, because the user gave it a tensor, is passed over.
    """
    found = frame if frame is not None else sys._getframe(1)
    between: Location | None = None
    while found is not None:
        code = found.f_code
        if code.co_filename.startswith("<d2s "):
            place = GENERATED.get(code.co_filename, {}).get(found.f_lineno)
            if place is not None:
                return place
        elif code.co_filename.startswith(_COMMAND):
            # What called the command `d2s` is no code of the user's.
            return None
        elif is_user_code(code):
            place = Location(code.co_filename, found.f_lineno, code=code, instruction=found.f_lasti)
            if not _is_between(code.co_filename):
                return place
            between = between or place
        found = found.f_back  # type: ignore[assignment]
    return between


def _is_between(file: str) -> bool:
    if file.startswith(_STDLIB):
        return file.startswith(_NUMPY) or not any(part in file for part in _NOT_STDLIB)
    return file.startswith(_NUMPY)
