"""What a program shows: lines on standard output and standard error, and records of logging, in their order."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from d2s.errors import Location, user_location
from d2s.testing.variables import is_users_file

Line = tuple[str, Location | None]

_D2S = str(Path(__file__).parent.parent)


class _Stream(io.TextIOBase):
    """Takes what is written, line by line, with the user's line that it comes from."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.note: Callable[[Line], object] = _nowhere
        self._begun = ""
        self._place: Location | None = None

    def write(self, text: str) -> int:
        where = user_location()
        self._place = self._place if self._begun else where
        self._begun += text
        while "\n" in self._begun:
            line, _, self._begun = self._begun.partition("\n")
            self.note((self.prefix + line, self._place))
            self._place = where
        return len(text)

    def writable(self) -> bool:
        return True

    def end(self) -> None:
        """What was begun is a line too."""
        if self._begun:
            self.note((self.prefix + self._begun, self._place))
            self._begun = ""


def _nowhere(line: Line) -> None:
    """For streams that nobody listens to."""


# The same objects in every call: a Program may have been traced with them.
_OUT, _ERR = _Stream(""), _Stream("on stderr: ")


@contextlib.contextmanager
def shown_lines(note: Callable[[Line], object]) -> Iterator[None]:
    """Call `note` for each line that is printed, and each record that is logged, in place of showing it."""
    before = _OUT.note, _ERR.note
    _OUT.note = _ERR.note = note
    try:
        with contextlib.redirect_stdout(_OUT), contextlib.redirect_stderr(_ERR), _logged(note):
            yield
    finally:
        _OUT.end()
        _ERR.end()
        _OUT.note, _ERR.note = before


@contextlib.contextmanager
def _logged(tell: Callable[[Line], object]) -> Iterator[None]:
    """Tell of the records that the user's code makes, which no handler gets then."""
    handle = logging.Logger.callHandlers

    def note(self: logging.Logger, record: logging.LogRecord) -> Any:
        # In static mode a call of the user's comes out of d2s; what d2s itself logs is not the same in both modes.
        is_from_d2s = record.pathname.startswith((_D2S, "<d2s "))
        if self.name.partition(".")[0] == "d2s" or not (is_from_d2s or is_users_file(record.pathname)):
            return handle(self, record)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == logging.__file__:
            frame = frame.f_back
        text = f"logged: {record.levelname} {record.name}: {record.getMessage()}"
        tell((text, user_location(frame)))
        return None

    logging.Logger.callHandlers = note  # type: ignore[method-assign]
    try:
        yield
    finally:
        logging.Logger.callHandlers = handle  # type: ignore[method-assign]
