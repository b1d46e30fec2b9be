"""Reads the project's Markdown: its programs with the output they claim, its links, and what links may point to.

A block marked ``python`` is a program.  If it imports d2s as paddle it begins anew, else it goes on where the block
before it stopped.  A block without a mark (or marked ``text``) that follows it directly is its output, in which
``...`` stands for anything; a program without such a block prints nothing.  If a program ends with an exception, its
output ends with ``Class: message``.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("**/*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One fenced block of a document: its mark, its text, its first line, and where it stands in the document."""

    mark: str
    text: str
    line: int
    begin: int
    end: int


@dataclass(frozen=True)
class Step:
    """A program and the output that the document claims for it."""

    program: str
    output: str
    line: int


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a document."""
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 2, found.start(), found.end())
        for found in _FENCE.finditer(text)
    ]


def sessions_of(text: str) -> Iterator[list[Step]]:
    """The programs of a document; those that share their names together in one list."""
    session: list[Step] = []
    blocks = blocks_of(text)
    for block, following in zip(blocks, [*blocks[1:], None], strict=False):
        if block.mark != "python":
            continue
        output = ""
        if following is not None and following.mark in ("", "text") and not text[block.end : following.begin].strip():
            output = following.text
        if session and "import d2s as paddle\n" in block.text:
            yield session
            session = []
        session.append(Step(block.text, output, block.line))
    if session:
        yield session


def is_output(claimed: str, printed: str) -> bool:
    """True if what was printed is what the document says; blanks at the ends of lines do not count."""
    want, got = (re.sub(r"[ \t]+$", "", text.strip("\n"), flags=re.MULTILINE) + "\n" for text in (claimed, printed))
    return doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)


def links_of(text: str) -> list[str]:
    """The targets of all links outside of fenced blocks and code."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text)))


def anchors_of(text: str) -> set[str]:
    """What a link to a heading of a document is called."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
