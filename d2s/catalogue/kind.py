"""The record of one kind of failure."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of failure: why it happens, a program that fails in this way, and what to do.

    `example` and `fixed` are the text of programs that begin with ``import d2s as paddle``; the first ends with the
    error, the second does not.  `fixed` is empty where the fix is no other program.
    """

    name: str
    error: str
    title: str
    cause: str
    fix: str
    example: str
    fixed: str = ""

    @property
    def id(self) -> str:
        """The id as messages show it, ``D2S-H01``."""
        return f"D2S-{self.name}"

    def text(self) -> str:
        """The entry for a terminal."""
        parts = [f"{self.id}  {self.title} ({self.error})"]
        parts += [textwrap.fill(text, 88) for text in (f"Why: {self.cause}", f"What to do: {self.fix}")]
        parts.append("For example:\n\n" + textwrap.indent(self.example.rstrip(), "    "))
        if self.fixed:
            parts.append("In place of it:\n\n" + textwrap.indent(self.fixed.rstrip(), "    "))
        return "\n\n".join(parts)


HEADER = "import d2s as paddle\n\n"


def program(text: str) -> str:
    """A whole program from the indented text of an entry."""
    return HEADER + textwrap.dedent(text).strip("\n") + "\n"


@dataclass(frozen=True)
class Family:
    """Makes the entries of one class of errors."""

    error: str

    def __call__(self, name: str, title: str, *, cause: str, fix: str, example: str, fixed: str = "") -> Kind:
        return Kind(name, self.error, title, cause, fix, program(example), program(fixed) if fixed else "")
