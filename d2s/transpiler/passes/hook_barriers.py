"""What a hook registration may not move across, and what it may."""

from __future__ import annotations

from dataclasses import dataclass

import gast

from d2s.transpiler.nodes import FUNCTIONS, Node, walk_own
from d2s.transpiler.passes.paths import Path, indices_of, may_be_prefix, path_of, read_paths, written_paths

ATTACH = "attach"


@dataclass(frozen=True)
class HookCall:
    """A statement ``target.register_hook(...)`` or ``handle = target.register_hook(...)``."""

    statement: Node
    target: Node
    path: Path
    reads: frozenset[Path]
    """What evaluating the arguments reads."""
    handle: str | None
    is_inert: bool
    """Does evaluating the arguments earlier make no difference, if nothing they read is written in between?"""


@dataclass(frozen=True)
class Header:
    """The line above a block, the names it binds, and how many statements of the block belong to it."""

    line: int
    names: frozenset[str]
    length: int = 0


@dataclass(frozen=True)
class Barrier:
    """What must stay above the hook: the hook may stand at `position`, below `line`."""

    position: int
    line: int
    reason: str


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
    if not _is_registration(value):
        return None
    target = value.func.value
    path = path_of(target)
    if path is None or handle == path[0]:
        return None
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    reads = {path for argument in [*arguments, *indices_of(target)] for path in read_paths(argument)}
    return HookCall(statement, target, path, frozenset(reads), handle, all(map(_is_inert, arguments)))


def find_barrier(hook: HookCall, above: list[Node], header: Header) -> Barrier | None:
    """The last thing above which the call must not stand; None if nothing here binds its tensor."""
    for position in range(len(above), 0, -1):
        reason = _barrier(above[position - 1], hook)
        if reason is not None:
            return Barrier(position, last_line(above[position - 1]), reason)
    return _header_barrier(hook, header)


def find_definition(hook: HookCall, above: list[Node], header: Header) -> Barrier | None:
    """Where the tensor got its present value; None if reading it there might fail."""
    # An attribute or item may not be there yet, and reading it may run code of the user.
    if not isinstance(hook.target, gast.Name) or getattr(hook.target, "maybe_unbound", False):
        return None
    for position in range(len(above), 0, -1):
        statement = above[position - 1]
        reason = _changes_tensor(hook, written_paths(statement), list(walk_own(statement)))
        if reason is not None:
            return Barrier(position, last_line(statement), reason)
    return _header_barrier(hook, header)


def has_hook_point(statement: Node, hook: HookCall) -> bool:
    """Does this statement register on the same tensor, or hold ``attach(x)`` from another hook or an earlier run?"""
    if _registers_on(getattr(statement, "value", None), hook.path):
        return True
    value = getattr(statement, "value", None)
    return (
        isinstance(value, gast.Call)
        and isinstance(value.func, gast.Name)
        and value.func.id == ATTACH
        and len(value.args) == 1
        and path_of(value.args[0]) == hook.path
    )


def last_line(statement: Node) -> int:
    return int(getattr(statement, "end_lineno", None) or statement.lineno)


def _header_barrier(hook: HookCall, header: Header) -> Barrier | None:
    if hook.path[0] not in header.names:
        return None
    return Barrier(header.length, header.line, "directly after the line that binds it")


def _changes_tensor(hook: HookCall, written: list[Path], parts: list[Node]) -> str | None:
    if any(may_be_prefix(path, hook.path) for path in written):
        return "directly after its definition"
    if any(may_be_prefix(hook.path, path) for path in written) or any(_is_in_place(part, hook.path) for part in parts):
        return "after an in-place write to its tensor"
    return None


def _barrier(statement: Node, hook: HookCall) -> str | None:
    """Must `statement` stay above the hook?  If so, why."""
    parts, written = list(walk_own(statement)), written_paths(statement)
    reason = _changes_tensor(hook, written, parts)
    if reason is not None:
        return reason
    for read in hook.reads:
        if any(may_be_prefix(path, read) or may_be_prefix(read, path) for path in written):
            return f"after the definition of {''.join(read)!r}, which it reads"
    if hook.handle is not None and any(_mentions(part, hook.handle) for part in parts):
        return f"after another use of {hook.handle!r}"
    if any(_registers_on(part, hook.path) for part in parts):
        return "after an earlier hook on the same tensor"
    if any(_may_leave(part) for part in parts):
        return "after a statement that may leave the block"
    if any(isinstance(part, gast.Call) and getattr(part.func, "attr", None) == "backward" for part in parts):
        return "after a call of backward()"
    return None


_SIMPLE_EXPRESSIONS = (
    gast.BinOp,
    gast.UnaryOp,
    gast.BoolOp,
    gast.IfExp,
    gast.Constant,
    gast.Name,
    gast.Attribute,
    gast.Subscript,
    gast.Slice,
    gast.Tuple,
    gast.List,
    gast.NamedExpr,
    gast.operator,
    gast.unaryop,
    gast.boolop,
    gast.expr_context,
)


def is_plain(statement: Node) -> bool:
    """Does the statement only compute and bind names, if its operands are tensors and plain Python objects?

    Then the registration may as well come first.  What its operands are shows when the function is traced.
    """
    if isinstance(statement, gast.Pass):
        return True
    if isinstance(statement, gast.Expr):
        return _is_simple(statement.value)
    if isinstance(statement, gast.Assign):
        value = statement.value
        return _is_simple(value) and all(_binds_names(target, value) for target in statement.targets)
    if isinstance(statement, gast.AnnAssign):
        return isinstance(statement.target, gast.Name) and (statement.value is None or _is_simple(statement.value))
    if isinstance(statement, gast.FunctionDef):
        defaults = [*statement.args.defaults, *statement.args.kw_defaults]
        return not statement.decorator_list and all(value is None or _is_simple(value) for value in defaults)
    # Loops and tests ask objects of any kind, `with` calls managers, `+=` may write into an alias.
    return False


def _is_simple(expression: Node) -> bool:
    if isinstance(expression, gast.Lambda):
        return all(_is_simple(value) for value in [*expression.args.defaults, *expression.args.kw_defaults] if value)
    if isinstance(expression, gast.Compare):
        # `in` may run through an iterator.
        asks = any(isinstance(operator, (gast.In, gast.NotIn)) for operator in expression.ops)
        return not asks and all(_is_simple(part) for part in (expression.left, *expression.comparators))
    return isinstance(expression, _SIMPLE_EXPRESSIONS) and all(
        _is_simple(child) for child in gast.iter_child_nodes(expression)
    )


def _binds_names(target: Node, value: Node) -> bool:
    displays = (gast.Tuple, gast.List)
    if isinstance(target, displays):
        # Taking apart anything but a display may run through an iterator.
        return isinstance(value, displays) and len(value.elts) == len(target.elts) and all(
            _binds_names(*pair) for pair in zip(target.elts, value.elts, strict=True))
    return isinstance(target, gast.Name)


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


def _is_registration(node: Node) -> bool:
    return isinstance(node, gast.Call) and getattr(node.func, "attr", None) == "register_hook"


def _registers_on(node: Node, path: Path) -> bool:
    if not _is_registration(node):
        return False
    other = path_of(node.func.value)
    return other is not None and len(other) == len(path) and may_be_prefix(other, path)


def _is_in_place(part: Node, path: Path) -> bool:
    """``x.add_(...)``: a method whose name ends in one underscore writes its tensor."""
    if not (isinstance(part, gast.Call) and isinstance(part.func, gast.Attribute)):
        return False
    name = part.func.attr
    return name.endswith("_") and not name.endswith("__") and path_of(part.func.value) == path


def _may_leave(part: Node) -> bool:
    leaving = (gast.Return, gast.Raise, gast.Break, gast.Continue, gast.Assert)
    return isinstance(part, (*leaving, gast.Yield, gast.YieldFrom, gast.Await))
