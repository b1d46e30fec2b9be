"""Errors that leave a static function: their tracebacks show the user's lines, and nothing of how they were run."""

from __future__ import annotations

import os

import d2s.errors
from d2s.static.tracebacks import with_user_lines
from d2s.transpiler.origin import clean_traceback

_HIDDEN = (os.path.dirname(os.path.abspath(d2s.errors.__file__)) + os.sep, "<d2s ")

_shows_all = os.environ.get("D2S_FULL_TRACEBACK", "") not in ("", "0")


def show_internal_frames(enable: bool = True) -> None:
    """Let tracebacks out of static functions show the frames of d2s and of generated code; by default they are hidden.

    The environment variable ``D2S_FULL_TRACEBACK=1`` does the same.
    """
    global _shows_all
    _shows_all = bool(enable)


def show_user_lines(error: BaseException) -> None:
    """Leave only the user's frames in the tracebacks of `error` and its causes."""
    if _shows_all:
        return
    seen: set[int] = set()
    part: BaseException | None = error
    while part is not None and id(part) not in seen:
        seen.add(id(part))
        # If nothing of the user is in it, the error is in d2s.
        part.__traceback__ = clean_traceback(with_user_lines(part.__traceback__), _HIDDEN) or part.__traceback__
        part = part.__cause__ or (None if part.__suppress_context__ else part.__context__)
