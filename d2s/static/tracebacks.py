"""Tracebacks of errors in generated code: in place of its frames the user's lines, as if they had run."""

from __future__ import annotations

import ast
import functools
from types import CodeType, TracebackType

from d2s.errors import GENERATED, Location, chained


def with_user_lines(trace: TracebackType | None) -> TracebackType | None:
    """
    The traceback with frames of generated code exchanged for ones at the places that their lines came from.

    New traceback objects; `trace` is untouched.
    """
    entries: list[TracebackType] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        place = GENERATED.get(code.co_filename, {}).get(trace.tb_lineno)
        entries.append(trace if place is None else _entry_at(place))
        trace = trace.tb_next
    return chained(entries)


class _Marker(Exception):
    """Raised to get hold of a traceback."""


def _entry_at(place: Location) -> TracebackType:
    """A traceback entry whose frame stands at `place`."""
    try:
        exec(_code_at(place, place.span, "<module>" if place.code is None else place.code.co_name), {"marker": _Marker})
    except _Marker as found:
        assert found.__traceback__ is not None
        assert found.__traceback__.tb_next is not None
        return found.__traceback__.tb_next
    raise AssertionError


@functools.lru_cache(maxsize=256)
def _code_at(place: Location, span: tuple[int, int, int, int], name: str) -> CodeType:
    tree = ast.parse("raise marker")
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = span
    code = compile(tree, place.file, "exec")
    qualname = name if place.code is None else place.code.co_qualname
    return code.replace(co_name=name, co_qualname=qualname)
