"""What a hook registration may not move across, and what it may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import gast

from d2s.transpiler.nodes import FUNCTIONS, Node, walk_own
from d2s.transpiler.scopes import bound_names
from d2s.transpiler.template import text_of

Path: TypeAlias = tuple[str, ...]
"""A dotted or subscripted name, one part after another: ``self.outs[0]`` is ``("self", ".outs", "[0]")``."""


@dataclass(frozen=True)
class HookCall:
    """A statement ``target.register_hook(...)`` or ``handle = target.register_hook(...)``."""

    statement: Node
    target: Node
    path: Path
    reads: frozenset[Path]
    """What evaluating the arguments reads."""
    handle: str | None
    has_inert_arguments: bool


@dataclass(frozen=True)
class Barrier:
    """A statement that must stay above the hook."""

    position: int
    line: int
    reason: str
    is_definition: bool = False


def find_hook_call(statement: Node) -> HookCall | None:
    """The hook registration that this statement consists of, if it can be moved at all."""
    handle = None
    if isinstance(statement, gast.Assign) and len(statement.targets) == 1:
        if not isinstance(statement.targets[0], gast.Name):
            return None
        handle = statement.targets[0].id
    elif not isinstance(statement, gast.Expr):
        return None
    value = statement.value
    if not (isinstance(value, gast.Call) and getattr(value.func, "attr", None) == "register_hook"):
        return None
    target = value.func.value
    path = path_of(target)
    if path is None or handle == path[0]:
        return None
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    reads = frozenset(path for argument in [*arguments, *_indices(target)] for path in _reads(argument))
    return HookCall(statement, target, path, reads, handle, all(_is_inert(argument) for argument in arguments))


def barrier(statement: Node, position: int, hook: HookCall) -> Barrier | None:
    """Must `statement` stay above the hook?  If so, why."""
    line = getattr(statement, "end_lineno", statement.lineno)
    parts = list(walk_own(statement))
    written = _writes(statement, parts)
    if any(_may_be_prefix(path, hook.path) for path in written):
        return Barrier(position, line, "directly after its definition", is_definition=True)
    if any(_may_be_prefix(hook.path, path) for path in written) or any(_is_in_place(part, hook.path) for part in parts):
        return Barrier(position, line, "after an in-place write to its tensor", is_definition=True)
    for read in hook.reads:
        if any(_may_be_prefix(path, read) or _may_be_prefix(read, path) for path in written):
            return Barrier(position, line, f"after {''.join(read)!r}, which it reads, is bound", is_definition=True)
    if hook.handle is not None and any(_mentions(part, hook.handle) for part in parts):
        return Barrier(position, line, f"after another use of {hook.handle!r}")
    if any(_registers_on(part, hook.path) for part in parts):
        return Barrier(position, line, "after an earlier hook on the same tensor")
    if any(_may_leave(part) for part in parts):
        return Barrier(position, line, "after a statement that may leave the block", is_definition=True)
    if any(isinstance(part, gast.Call) and getattr(part.func, "attr", None) == "backward" for part in parts):
        return Barrier(position, line, "after a call of backward()", is_definition=True)
    return None


_SIMPLE_EXPRESSIONS = (
    gast.BinOp,
    gast.UnaryOp,
    gast.BoolOp,
    gast.Compare,
    gast.IfExp,
    gast.Constant,
    gast.Name,
    gast.Attribute,
    gast.Subscript,
    gast.Slice,
    gast.Tuple,
    gast.List,
    gast.Starred,
    gast.NamedExpr,
    gast.operator,
    gast.unaryop,
    gast.boolop,
    gast.cmpop,
    gast.expr_context,
)


def is_plain(statement: Node, hook: HookCall) -> bool:
    """Does the statement only compute and bind names, so that the registration may as well come first?"""
    if isinstance(statement, gast.Pass):
        return True
    if isinstance(statement, gast.Expr):
        return _is_simple(statement.value)
    if isinstance(statement, gast.Assign):
        return all(_binds_names(target) for target in statement.targets) and _is_simple(statement.value)
    if isinstance(statement, gast.AnnAssign):
        return isinstance(statement.target, gast.Name) and (statement.value is None or _is_simple(statement.value))
    if isinstance(statement, gast.FunctionDef):
        defaults = [*statement.args.defaults, *statement.args.kw_defaults]
        return not statement.decorator_list and all(value is None or _is_simple(value) for value in defaults)
    if isinstance(statement, gast.If):
        return _is_simple(statement.test) and all(
            is_plain(inner, hook) for inner in [*statement.body, *statement.orelse]
        )
    # Loops ask iterators, `with` calls managers, `+=` may write into an alias.
    return False


def _is_simple(expression: Node) -> bool:
    if isinstance(expression, gast.Lambda):
        return all(_is_simple(value) for value in [*expression.args.defaults, *expression.args.kw_defaults] if value)
    return isinstance(expression, _SIMPLE_EXPRESSIONS) and all(
        _is_simple(child) for child in gast.iter_child_nodes(expression)
    )


def _binds_names(target: Node) -> bool:
    if isinstance(target, (gast.Tuple, gast.List)):
        return all(_binds_names(element) for element in target.elts)
    return isinstance(target.value if isinstance(target, gast.Starred) else target, gast.Name)


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


def _may_be_prefix(path: Path, of: Path) -> bool:
    """Does writing `path` change what `of` means?  An index that is no literal may be any index."""
    return len(path) <= len(of) and all(_may_be_equal(a, b) for a, b in zip(path, of, strict=False))


def _may_be_equal(a: str, b: str) -> bool:
    if a.startswith("[") and b.startswith("["):
        return a == b or a[1:-1].isidentifier() or b[1:-1].isidentifier() or "?" in (a[1:-1], b[1:-1])
    return a == b


def _writes(statement: Node, parts: list[Node]) -> list[Path]:
    """Everything that the statement binds, stores into or deletes."""
    found: list[Path] = [(name,) for name in bound_names(statement)]
    for part in parts:
        if isinstance(part, (gast.Attribute, gast.Subscript)) and isinstance(part.ctx, (gast.Store, gast.Del)):
            owner = path_of(part.value)
            if owner is not None:
                found.append(path_of(part) or (*owner, "[?]"))
    return found


def _reads(argument: Node) -> list[Path]:
    """Names and dotted names that evaluating the argument reads; of a lambda only its defaults are evaluated."""
    path = path_of(argument)
    if path is not None:
        return [path, *(read for index in _indices(argument) for read in _reads(index))]
    children = gast.iter_child_nodes(argument)
    if isinstance(argument, gast.Lambda):
        children = iter([value for value in [*argument.args.defaults, *argument.args.kw_defaults] if value])
    return [read for child in children for read in _reads(child)]


def _indices(target: Node) -> list[Node]:
    """The expressions inside the brackets of a path."""
    return [node.slice for node in gast.walk(target) if isinstance(node, gast.Subscript)]


def _is_inert(argument: Node) -> bool:
    """Does evaluating the argument earlier or later make no difference, if nothing it reads is written?"""
    if isinstance(argument, gast.Lambda):
        return all(_is_inert(value) for value in [*argument.args.defaults, *argument.args.kw_defaults] if value)
    return isinstance(argument, (gast.Constant, gast.Name)) or (
        isinstance(argument, gast.Attribute) and _is_inert(argument.value)
    )


def _mentions(part: Node, name: str) -> bool:
    if isinstance(part, FUNCTIONS):
        return any(_mentions(inner, name) for inner in gast.walk(part) if inner is not part)
    return isinstance(part, gast.Name) and part.id == name


def _registers_on(part: Node, path: Path) -> bool:
    is_register = isinstance(part, gast.Call) and getattr(part.func, "attr", None) == "register_hook"
    if not is_register:
        return False
    other = path_of(part.func.value)
    return other is not None and len(other) == len(path) and _may_be_prefix(other, path)


def _is_in_place(part: Node, path: Path) -> bool:
    """``x.add_(...)``: a method whose name ends in one underscore writes its tensor."""
    if not (isinstance(part, gast.Call) and isinstance(part.func, gast.Attribute)):
        return False
    name = part.func.attr
    return name.endswith("_") and not name.endswith("__") and path_of(part.func.value) == path


def _may_leave(part: Node) -> bool:
    leaving = (gast.Return, gast.Raise, gast.Break, gast.Continue, gast.Assert)
    return isinstance(part, (*leaving, gast.Yield, gast.YieldFrom, gast.Await))
