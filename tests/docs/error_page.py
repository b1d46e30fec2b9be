"""Makes docs/errors.md from `d2s.catalogue`: every example is run, and the page shows what it prints."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import d2s
import d2s.testing
from d2s.catalogue import KINDS, Kind
from tests.docs.markdown import ROOT
from tests.docs.programs import run_alone

PAGE = ROOT / "docs" / "errors.md"

BEGIN = """\
# Errors

An error that d2s raises on purpose is a `d2s.D2SError`, and also the builtin error that you would expect: a
`ShapeError` is a `ValueError`. (What Python itself would say of an attribute, a name or a key that is not there comes
as it does without d2s.) Its message says what happened, where in
your program, and what to do; the first line ends with an id, which leads to an entry of this page. The same text is
printed by `d2s error D2S-G01`, and an error has its id as attribute `id`. What the assertions of `d2s.testing` raise is
an `AssertionError` with an id.

This page is made from `d2s/catalogue` by `python -m tests.docs`, and each program on it is run as a test.
"""


def page(entry_of: Callable[[Kind], str]) -> str:
    """The whole page, of the entries that `entry_of` gives."""
    parts = [BEGIN, _contents()]
    for error in dict.fromkeys(kind.error for kind in KINDS.values()):
        parts.append(_head_of(error))
        parts += [entry_of(kind) for kind in KINDS.values() if kind.error == error]
    return "\n".join(parts)


def _contents() -> str:
    rows = [f"| [{kind.id}](#{kind.id.lower()}) | `{kind.error}` | {kind.title} |" for kind in KINDS.values()]
    return "\n".join(["| Id | Class | What happened |", "|---|---|---|", *rows, ""])


def _head_of(error: str) -> str:
    found = getattr(d2s, error, None) or getattr(d2s.testing, error)
    builtin = next(base for base in found.__mro__ if base.__module__ == "builtins")
    return f"## {error}\n\n{found.__doc__}\nIt is also a `{builtin.__name__}`.\n"


def entry(kind: Kind) -> str:
    """The part of the page about one kind of failure."""
    with tempfile.TemporaryDirectory() as folder:
        output = run_alone(kind.example, Path(folder))
    parts = [f"### {kind.id}", f"**{kind.title}.** {kind.cause}", _program(kind.example), f"```\n{output}```"]
    parts.append(f"What to do: {kind.fix}")
    if kind.fixed:
        parts.append(_program(kind.fixed))
    return "\n\n".join(parts) + "\n"


def _program(text: str) -> str:
    return f"```python\n{text}```"
