"""Dotted and subscripted names as paths, and what a statement writes and reads by them."""

from __future__ import annotations

from typing import TypeAlias

import gast

from d2s.transpiler.nodes import Node, walk_own
from d2s.transpiler.scopes import bound_names
from d2s.transpiler.template import text_of

Path: TypeAlias = tuple[str, ...]
"""A dotted or subscripted name, one part after another: ``self.outs[0]`` is ``("self", ".outs", "[0]")``."""


def path_of(node: Node) -> Path | None:
    """The path of a dotted or subscripted name; None for anything else."""
    if isinstance(node, gast.Name):
        return (node.id,)
    if isinstance(node, gast.Attribute):
        owner, last = path_of(node.value), "." + node.attr
    elif isinstance(node, gast.Subscript) and isinstance(node.slice, (gast.Constant, gast.Name)):
        owner, last = path_of(node.value), f"[{text_of(node.slice)}]"
    else:
        return None
    return None if owner is None else (*owner, last)


def may_be_prefix(path: Path, of: Path) -> bool:
    """Does writing `path` change what `of` means?  An index that is no literal may be any index."""
    return len(path) <= len(of) and all(_may_be_equal(a, b) for a, b in zip(path, of, strict=False))


def _may_be_equal(a: str, b: str) -> bool:
    if a.startswith("[") and b.startswith("["):
        return a == b or a[1:-1].isidentifier() or b[1:-1].isidentifier() or "?" in (a[1:-1], b[1:-1])
    return a == b


def written_paths(statement: Node) -> list[Path]:
    """Everything that the statement binds, stores into or deletes."""
    found: list[Path] = [(name,) for name in bound_names(statement)]
    for part in walk_own(statement):
        if isinstance(part, (gast.Attribute, gast.Subscript)) and isinstance(part.ctx, (gast.Store, gast.Del)):
            owner = path_of(part.value)
            if owner is not None:
                found.append(path_of(part) or (*owner, "[?]"))
    return found


def read_paths(argument: Node) -> list[Path]:
    """Names and dotted names that evaluating the argument reads; of a lambda only its defaults are evaluated."""
    path = path_of(argument)
    if path is not None:
        return [path, *(read for index in indices_of(argument) for read in read_paths(index))]
    children = gast.iter_child_nodes(argument)
    if isinstance(argument, gast.Lambda):
        children = iter([value for value in [*argument.args.defaults, *argument.args.kw_defaults] if value])
    return [read for child in children for read in read_paths(child)]


def indices_of(target: Node) -> list[Node]:
    """The expressions inside the brackets of a path."""
    return [node.slice for node in gast.walk(target) if isinstance(node, gast.Subscript)]
