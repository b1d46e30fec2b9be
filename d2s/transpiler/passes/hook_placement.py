"""Put each ``x.register_hook(h)`` right after the definition of ``x``."""

from __future__ import annotations

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node


def run(tree: Node, ctx: Context) -> Node:
    """Move hook registrations."""
    return tree
