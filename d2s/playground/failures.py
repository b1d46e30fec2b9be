"""Errors as the page shows them: what, in which line, and what to do."""

from __future__ import annotations

import traceback
from typing import Any

from d2s.catalogue import KINDS
from d2s.errors import D2SError


class InputsError(ValueError):
    """The inputs cannot be read; `line` counts their lines from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def failure_of(error: BaseException, file: str) -> dict[str, Any]:
    """
    An error of the user's program.

    Returns
    -------
    dict
        `message`; `where`: "program" or "inputs", with the `line` there, or None; `id` and `fix` of d2s's own errors.
    """
    if isinstance(error, InputsError):
        return _shown(str(error), error.line, "inputs")
    if isinstance(error, D2SError):
        kind = KINDS.get(error.id)
        message = f"{type(error).__name__}: {error.message}"
        return _shown(message, _line_of(error, file), "program", error.id, error.advice or (kind.fix if kind else ""))
    if isinstance(error, SyntaxError):
        return _shown(f"{type(error).__name__}: {error.msg}", error.lineno, "program")
    words = "".join(traceback.format_exception_only(error)).strip()
    return _shown(words, _line_of(error, file), "program")


def _shown(message: str, line: int | None, where: str, id: str = "", fix: str = "") -> dict[str, Any]:
    return {"message": message, "line": line, "where": where, "id": id, "fix": fix}


def _line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of the user's file that the error came through."""
    location = error.location if isinstance(error, D2SError) else None
    if location is not None and location.file == file:
        return location.line
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None
