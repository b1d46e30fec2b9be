"""Put each ``x.register_hook(h)`` right after the definition of ``x``.

A hook belongs to a value, wherever the call stands; the place only shows the reader what the hook acts on, and orders
registrations.  So a call moves only across statements that cannot tell the difference, and what cannot move stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import gast

from d2s.transpiler.context import Context, HookReport
from d2s.transpiler.nodes import FUNCTIONS, TRIES, Node, duplicate, located, prologue_length, user_functions
from d2s.transpiler.passes.hook_barriers import Barrier, HookCall, barrier, find_hook_call, is_plain, path_of
from d2s.transpiler.scopes import bound_names, parameters
from d2s.transpiler.template import call, text_of

_OPERATOR = "attach"


def run(tree: Node, ctx: Context) -> Node:
    """
    Move hook registrations up to the definition of their tensor.

    Across plain expressions the call itself moves.  Across calls, which might register hooks too, or raise, the tensor
    is only marked by ``attach(x)`` and the registration stays where it is.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     y = x + 1
    ...     z = y ** 2
    ...     y.register_hook(double)
    ...     w = helper(z)
    ...     z.register_hook(double)
    ...     return w
    ... ''', passes=[run]))
    def f(x):
        y = x + 1
        y.register_hook(double)
        z = y ** 2
        attach(z)
        w = helper(z)
        z.register_hook(double)
        return w
    <BLANKLINE>
    """
    for function in user_functions(tree):
        header = _Header(function.lineno, frozenset(parameters(function)), prologue_length(function))
        function.body = _Placement(ctx).block(function.body, header)
    return tree


@dataclass(frozen=True)
class _Header:
    """The line above a block, the names it binds, and how many statements of the block belong to it."""

    line: int
    names: frozenset[str]
    length: int = 0


class _Placement:
    """Places the hooks of one function."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def block(self, statements: list[Node], header: _Header) -> list[Node]:
        """Place the hooks among these statements, from top to bottom: a later hook may stop at an earlier one."""
        done: list[Node] = []
        for statement in statements:
            if not isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
                self.inside(statement)
            hook = find_hook_call(statement)
            if hook is None:
                done.append(statement)
                self.report_hidden(statement)
            else:
                self.place(hook, done, header)
        return done

    def inside(self, statement: Node) -> None:
        """Place the hooks in the blocks of a compound statement; what its header binds is defined at their top."""
        names = frozenset(bound_names(*_header_parts(statement)))
        header = _Header(getattr(statement, "lineno", 0), names)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(statement, field, None)
            if isinstance(block, list):
                # The else of a loop runs after the last turn, and try has no header: nothing is defined at their top.
                is_headed = field == "body" or isinstance(statement, gast.If)
                setattr(statement, field, self.block(block, header if is_headed else _Header(header.line, frozenset())))
        for handler in getattr(statement, "handlers", ()):
            caught = frozenset([handler.name.id] if handler.name else [])
            handler.body = self.block(handler.body, _Header(handler.lineno, caught))
        for case in getattr(statement, "cases", ()):
            guard = [case.guard] if case.guard else []
            matched = frozenset(bound_names(case.pattern, *guard)) | names
            case.body = self.block(case.body, _Header(header.line, matched))

    def place(self, hook: HookCall, done: list[Node], header: _Header) -> None:
        """Append the hook statement to `done`, or insert it where it may stand."""
        found = self.find_barrier(hook, done)
        if found is None:
            if hook.path[0] not in header.names:
                return self.stay(hook, done, "its tensor is defined outside of this block")
            position, line, why = header.length, header.line, "after the line that binds it"
            is_definition = len(hook.path) == 1
        else:
            position, line = found.position + 1, found.line
            why, is_definition = found.reason, found.is_definition
        crossed = done[position:]
        if not crossed:
            return self.stay(hook, done, f"already {why}")
        obstacle = next((statement for statement in crossed if not is_plain(statement, hook)), None)
        if obstacle is None:
            done.insert(position, hook.statement)
            return self.report(hook, line, why)
        reason = f"line {obstacle.lineno} may do more than compute"
        if not is_definition:
            return self.stay(hook, done, f"cannot move further up than {why}, and {reason}")
        if not any(_is_attached(statement, hook) for statement in crossed):
            attach = call(self.ctx, _OPERATOR, duplicate(hook.target))
            done.insert(position, located(gast.Expr(value=attach), hook.statement))
        self.stay(hook, done, f"attached at line {line}, registered at line {hook.statement.lineno}: {reason}")

    def find_barrier(self, hook: HookCall, done: list[Node]) -> Barrier | None:
        """The last statement above which the call must not stand."""
        for position in range(len(done) - 1, -1, -1):
            found = barrier(done[position], position, hook)
            if found is not None:
                return found
        return None

    def stay(self, hook: HookCall, done: list[Node], reason: str) -> None:
        done.append(hook.statement)
        self.report(hook, None, reason)

    def report(self, hook: HookCall, moved_to: int | None, reason: str) -> None:
        line = hook.statement.lineno
        self.ctx.hook_report.append(HookReport(line, text_of(hook.target), moved_to, reason))

    def report_hidden(self, statement: Node) -> None:
        """Report the registrations that are no statement of their own."""
        for node in _own_expressions(statement):
            if isinstance(node, gast.Call) and getattr(node.func, "attr", None) == "register_hook":
                reason = "the call is part of a larger statement, or its tensor has no name"
                self.ctx.hook_report.append(HookReport(node.lineno, text_of(node.func.value), None, reason))


def _header_parts(statement: Node) -> list[Node]:
    """The expressions and targets in the first line of a compound statement."""
    if isinstance(statement, (*TRIES, gast.ExceptHandler)):
        return []
    parts = [getattr(statement, field, None) for field in ("test", "target", "iter", "subject")]
    return [*(part for part in parts if part is not None), *getattr(statement, "items", ())]


def _own_expressions(statement: Node) -> list[Node]:
    """The expressions of a statement, without the statements inside it."""
    found: list[Node] = []
    stack = [] if isinstance(statement, (*FUNCTIONS, gast.ClassDef)) else [statement]
    while stack:
        node = stack.pop()
        found.append(node)
        if isinstance(node, gast.Lambda):
            continue
        stack.extend(
            child
            for child in gast.iter_child_nodes(node)
            if not isinstance(child, (gast.stmt, gast.ExceptHandler, gast.match_case))
        )
    return found


def _is_attached(statement: Node, hook: HookCall) -> bool:
    """Is this statement ``attach(x)`` for the same tensor, from an earlier hook or an earlier run?"""
    return (
        isinstance(statement, gast.Expr)
        and isinstance(statement.value, gast.Call)
        and isinstance(statement.value.func, gast.Name)
        and statement.value.func.id == _OPERATOR
        and len(statement.value.args) == 1
        and path_of(statement.value.args[0]) == hook.path
    )
