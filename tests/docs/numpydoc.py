"""Docstrings in NumPy's style as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

_RULE = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def sections_of(docstring: str) -> list[tuple[str, str]]:
    """Titles and texts; the text before the first title has an empty one."""
    text = inspect.cleandoc(docstring)
    found = list(_RULE.finditer(text))
    ends = [*(match.start() for match in found), len(text)]
    sections = [("", text[: ends[0]].strip())]
    sections += [
        (match[1], text[match.end() : end].strip("\n")) for match, end in zip(found, ends[1:], strict=True)
    ]
    return sections


def to_markdown(docstring: str) -> str:
    """The whole docstring."""
    parts = []
    for title, text in sections_of(docstring):
        if title:
            parts.append(f"**{title}**")
        if title in ("", "Notes", "Examples"):
            parts.append(_prose(text))
        else:
            parts.append("\n".join(_entries(text)))
    return "\n\n".join(part for part in parts if part)


def _entries(text: str) -> Iterator[str]:
    """Items of a list: each name (or type) with what is said about it in the indented lines below."""
    for block in re.split(r"\n(?=\S)", text):
        head, _, body = block.partition("\n")
        words = " ".join(textwrap.dedent(body).replace("``", "`").split())
        names, colon, kind = head.partition(" : ")
        shown = f"`{names}`: {kind}" if colon else head if "`" in head else f"`{head}`"
        yield f"* {shown}. {words}".rstrip() if words else f"* {shown}"


def _prose(text: str) -> str:
    """Paragraphs; examples and indented blocks become fenced ones."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.lstrip().startswith(">>> "):
            parts.append(f"```pycon\n{textwrap.dedent(paragraph).rstrip()}\n```")
        elif paragraph.startswith("    "):
            parts.append(f"```text\n{textwrap.dedent(paragraph).rstrip()}\n```")
        else:
            parts.append(paragraph.replace("``", "`"))
    return "\n\n".join(parts)
