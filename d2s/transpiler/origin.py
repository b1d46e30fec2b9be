"""Tracebacks as the user's program has them: without the frames that conversion put in between."""

from __future__ import annotations

import os
from types import CodeType, TracebackType

from d2s.errors import chained

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def clean_traceback(trace: TracebackType | None, hidden: str | tuple[str, ...] = _HERE) -> TracebackType | None:
    """
    The traceback without operators, and with one frame per call of a user's function.

    A branch or loop body runs as a function of its own, called by an operator: between the frame of the statement and
    the frame of its body stand only frames that the user did not write, and both bear the user's function name.

    Parameters
    ----------
    trace : traceback
        Taken from an exception that left a converted function.
    hidden : str or tuple of str
        Frames of files whose name starts with this, or one of these, are left out; by default those of the transpiler.

    Returns
    -------
    traceback
        New traceback objects over the same frames; `trace` is untouched.
    """
    kept: list[TracebackType] = []
    after_operator = False
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(hidden):
            after_operator = True
        else:
            if after_operator and kept and is_part_of(code, kept[-1].tb_frame.f_code):
                kept.pop()
            kept.append(trace)
            after_operator = False
        trace = trace.tb_next
    return chained(kept)


def is_part_of(inner: CodeType, outer: CodeType) -> bool:
    """Is `inner` a generated function, or lambda, of the function that `outer` belongs to?"""
    return inner.co_qualname == outer.co_qualname and any(const is inner for const in outer.co_consts)
