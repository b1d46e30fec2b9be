"""Definite assignment: which reads of a local name may find it unbound."""

from __future__ import annotations

from d2s.transpiler.nodes import Node


def mark_maybe_unbound(function: Node) -> None:
    """Set ``maybe_unbound`` on each read of a local name that some path reaches before the name is bound."""
