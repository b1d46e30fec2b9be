"""What is rewritten and what stays: tests that are never tensors, loops that are plain Python by their text."""

from __future__ import annotations

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import (
    FUNCTIONS,
    LOOPS,
    TRIES,
    Node,
    blocks_of,
    is_generator,
    parts_in_frame,
    walk_statements,
)

_PLAIN_PREDICATES = frozenset({"isinstance", "issubclass", "hasattr", "callable"})
_PLAIN_COMPARISONS = (gast.Is, gast.IsNot, gast.In, gast.NotIn)
_FRAME_READERS = frozenset({"locals", "vars", "dir", "eval", "exec"})

EXITS = (gast.Return, gast.Break, gast.Continue)


def is_plain_test(test: Node, ctx: Context) -> bool:
    """
    Can the truth of this expression never depend on a tensor?  Such tests stay as the user wrote them.

    >>> from d2s.transpiler.context import new_context
    >>> def plain(text):
    ...     tree = gast.parse(text)
    ...     return is_plain_test(tree.body[0].value, new_context(tree))
    >>> plain("x is None or not isinstance(x, int)"), plain("x > 0"), plain("x is None and y")
    (True, False, False)
    """
    if isinstance(test, gast.Constant):
        return True
    if isinstance(test, gast.Compare):
        return all(isinstance(op, _PLAIN_COMPARISONS) for op in test.ops)
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return is_plain_test(test.operand, ctx)
    if isinstance(test, gast.BoolOp):
        return all(is_plain_test(value, ctx) for value in test.values)
    if isinstance(test, gast.Call) and isinstance(test.func, gast.Name):
        return test.func.id in _PLAIN_PREDICATES and test.func.id not in ctx.rebound
    return False


def keeps_control_flow(function: Node) -> bool:
    """
    Must the statements of this function stay in its own frame?

    So for generators and coroutines (``yield`` and ``await`` work only there) and for functions that look at their own
    frame (``locals()``).
    """
    found = getattr(function, "keeps_control_flow", None)
    if found is None:
        # Asked by every pass, before any of them has changed anything: the answer stays.
        found = function.keeps_control_flow = (
            isinstance(function, gast.AsyncFunctionDef) or is_generator(function) or _reads_its_frame(function)
        )
    return bool(found)


def _reads_its_frame(function: Node) -> bool:
    return any(map(reads_frame, parts_in_frame(function)))


def reads_frame(node: Node) -> bool:
    """Is this a call that looks at the local names of its caller?"""
    if not (isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in _FRAME_READERS):
        return False
    return not node.args or node.func.id in ("eval", "exec")


def is_rewritten(statement: Node, ctx: Context) -> bool:
    """Will this statement become a call of `if_else`, `while_loop` or `for_loop`?"""
    if isinstance(statement, gast.If):
        return not is_plain_test(statement.test, ctx)
    if isinstance(statement, gast.While):
        return not is_plain_test(statement.test, ctx) or _has_lifted_exit(statement.body, ctx) or (
            not has_exit(statement.body))
    if isinstance(statement, gast.For):
        return not is_literal_iterable(statement.iter, ctx) or _has_rewritten(statement.body, ctx)
    return False


def is_literal_iterable(iterable: Node, ctx: Context) -> bool:
    """Does the text alone show what a ``for`` runs over: a tuple or list display, or a range of literals?"""
    if isinstance(iterable, (gast.Tuple, gast.List)):
        return True
    if isinstance(iterable, gast.Call) and isinstance(iterable.func, gast.Name) and iterable.func.id == "range":
        return "range" not in ctx.rebound and all(isinstance(arg, gast.Constant) for arg in iterable.args)
    return False


def _has_rewritten(statements: list[Node], ctx: Context) -> bool:
    return any(is_rewritten(statement, ctx) for statement in walk_statements(statements))


def _has_lifted_exit(statements: list[Node], ctx: Context) -> bool:
    """Does an exit of the enclosing loop stand inside a construct that is rewritten?"""
    for statement in statements:
        if isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
            continue
        if is_rewritten(statement, ctx):
            if has_exit([statement]):
                return True
        elif isinstance(statement, TRIES) and has_exit([statement]) and _has_rewritten(statement.body, ctx):
            # What a branch raises there leads to another exit.
            return True
        elif isinstance(statement, LOOPS):
            if _has_lifted_exit(statement.orelse, ctx) or any(
                is_rewritten(inner, ctx) and has_return([inner]) for inner in walk_statements(statement.body)
            ):
                return True
        elif any(_has_lifted_exit(block, ctx) for block in blocks_of(statement)):
            return True
    return False


def has_return(statements: list[Node]) -> bool:
    """Is there a ``return`` of the function that these statements stand in?"""
    return any(isinstance(statement, gast.Return) for statement in walk_statements(statements))


def own_exits(statements: list[Node]) -> set[type]:
    """Which of Break and Continue, aimed at the loop around these statements, occur in them."""
    found: set[type] = set()
    for statement in statements:
        if isinstance(statement, (gast.Break, gast.Continue)):
            found.add(type(statement))
        elif isinstance(statement, LOOPS):
            found |= own_exits(statement.orelse)
        elif not isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
            for block in blocks_of(statement):
                found |= own_exits(block)
    return found


def has_exit(statements: list[Node]) -> bool:
    """Is there a return, or a break or continue that leaves these statements?"""
    return has_return(statements) or bool(own_exits(statements))


def always_leaves(statements: list[Node]) -> bool:
    """Does no path run past the end of these statements?"""
    return any(_leaves(statement) for statement in statements)


def _leaves(statement: Node) -> bool:
    if isinstance(statement, (*EXITS, gast.Raise)):
        return True
    if isinstance(statement, gast.If):
        return always_leaves(statement.body) and always_leaves(statement.orelse)
    if isinstance(statement, TRIES):
        normal = always_leaves(statement.body) or always_leaves(statement.orelse)
        return normal and all(always_leaves(handler.body) for handler in statement.handlers)
    if isinstance(statement, gast.Match):
        last = statement.cases[-1]
        is_total = isinstance(last.pattern, gast.MatchAs) and last.pattern.pattern is None and last.guard is None
        return is_total and all(always_leaves(case.body) for case in statement.cases)
    # A `with` may swallow the exception that ended its body, so it never counts.
    return False
