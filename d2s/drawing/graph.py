"""What is drawn: nodes in nested groups, and edges between nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# Sorts of nodes.  Each has its own colours and, in Mermaid and DOT, its own shape.
KINDS = ("input", "parameter", "op", "constant", "hook", "effect", "end", "gradient", "port", "exit")


@dataclass(frozen=True, eq=False)
class Node:
    """One box.

    Attributes
    ----------
    key : str
        Unique in its graph; a legal name in DOT and Mermaid.
    kind : str
        One of `KINDS`.
    title : str
        The first line; empty for an exit, which is a dot.
    lines : tuple of str
        More lines, in small print.
    place : str
        Where in the user's source it comes from: ``program.py:5``, or "".
    full : str
        All there is to say, shown when the pointer rests on it.
    """

    key: str
    kind: str
    title: str
    lines: tuple[str, ...] = ()
    place: str = ""
    full: str = ""


@dataclass(eq=False)
class Group:
    """Nodes and groups with a frame around them.

    Attributes
    ----------
    kind : str
        "root" (no frame), "program", "backward" or "region".
    """

    key: str
    title: str
    kind: str = "region"
    place: str = ""
    members: list[Node | Group] = field(default_factory=list)

    def nodes(self) -> Iterator[Node]:
        """The nodes inside, those of nested groups included."""
        for member in self.members:
            if isinstance(member, Node):
                yield member
            else:
                yield from member.nodes()

    def groups(self) -> Iterator[Group]:
        """The groups inside, outer ones first."""
        for member in self.members:
            if isinstance(member, Group):
                yield member
                yield from member.groups()


@dataclass(frozen=True)
class Edge:
    """From one node to another, or to a group as a whole; both by key.  Kinds: those of `theme.EDGES`."""

    source: str
    target: str
    kind: str = "value"


@dataclass(eq=False)
class Graph:
    """A picture to be made."""

    title: str
    root: Group
    edges: list[Edge] = field(default_factory=list)
