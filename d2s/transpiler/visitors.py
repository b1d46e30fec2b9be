"""Visitors of syntax trees: those of `ast`, without looking at contexts and operators, and without its detours."""

from __future__ import annotations

import functools
from typing import Any

import gast

from d2s.transpiler.nodes import Node, part_fields, parts


@functools.cache
def _method(visitor: Any, kind: type) -> Any:
    return getattr(visitor, f"visit_{kind.__name__}", None) or visitor.generic_visit


class Visitor:
    """Calls ``visit_Kind(node)`` for a node of that kind, else `generic_visit`, which visits the parts of the node."""

    def visit(self, node: Node) -> Any:
        """What the method for this kind of node gives back."""
        visitor: Any = type(self)
        return _method(visitor, node.__class__)(self, node)

    def generic_visit(self, node: Node) -> Any:
        """Visit all parts."""
        for part in parts(node):
            self.visit(part)


class Rewriter(Visitor):
    """
    A visitor whose methods give back what stands for the node: a node, or in a block a list of statements.

    >>> class Doubled(Rewriter):
    ...     def visit_Pass(self, node):
    ...         return [node, node]
    >>> print(gast.unparse(Doubled().visit(gast.parse("if x: pass"))).strip())
    if x:
        pass
        pass
    """

    def generic_visit(self, node: Node) -> Any:
        """Replace all parts by what visiting them gives."""
        for field in part_fields(node.__class__):
            value = getattr(node, field, None)
            if value.__class__ is list:
                done: list[Any] = []
                for item in value:
                    new = self.visit(item) if isinstance(item, gast.AST) else item
                    if new.__class__ is list:
                        done += new
                    else:
                        done.append(new)
                value[:] = done
            elif isinstance(value, gast.AST):
                setattr(node, field, self.visit(value))
        return node
