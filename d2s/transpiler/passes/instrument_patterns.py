"""What the patterns of a ``match`` statement ask of what they are held against."""

from __future__ import annotations

from typing import Any

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node, walk

LOOKING = (gast.MatchSingleton, gast.MatchSequence, gast.MatchMapping)  # that ask what an object is
# Classes whose pattern takes one part, which is the object itself.
_SELF_MATCHING = frozenset({"bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"})


def place_of(patterns: list[Node], kinds: Any, spared: list[Node]) -> str:
    """Where patterns of these kinds stand but for those `spared`: "" nowhere, "top", or "inside" if any are inside."""
    all_, top = (sum(isinstance(part, kinds) and part not in spared for pattern in patterns for part in ways(pattern))
                 for ways in (walk, _alternatives))
    return "" if not all_ else "top" if all_ == top else "inside"


def plain_classes(patterns: list[Node], ctx: Context) -> list[Node]:
    """The patterns that ask for the class of the subject and nothing else: ``A()``, ``a.B()``, ``int(x)``."""
    return [
        part for pattern in patterns for part in _alternatives(pattern)
        if isinstance(part, gast.MatchClass) and not part.kwd_patterns
        and (not part.patterns or is_self_matching(part, ctx))
    ]


def is_self_matching(pattern: Node, ctx: Context) -> bool:
    """Is this ``int(x)`` or one of its like, where the part is the object itself?"""
    name = getattr(pattern.cls, "id", None)
    is_bound = [isinstance(part, gast.MatchAs) and part.pattern is None for part in pattern.patterns]
    return name in _SELF_MATCHING and name not in ctx.rebound and is_bound == [True]


def _alternatives(pattern: Node) -> list[Node]:
    """The patterns that the subject itself is held against."""
    if isinstance(pattern, gast.MatchOr):
        return [part for inner in pattern.patterns for part in _alternatives(inner)]
    if isinstance(pattern, gast.MatchAs) and pattern.pattern is not None:
        return _alternatives(pattern.pattern)
    return [pattern]
