"""Put each ``x.register_hook(h)`` right after the definition of ``x``.

A hook belongs to a value, wherever the call stands; the place only shows the reader what the hook acts on, and orders
registrations.  So a call moves only across statements that cannot tell the difference, and what cannot move stays.
"""

from __future__ import annotations

import gast

from d2s.transpiler.context import Context, HookReport
from d2s.transpiler.nodes import FUNCTIONS, TRIES, Node, duplicate, located, prologue_length, user_functions
from d2s.transpiler.passes.hidden_hooks import Lasting, hidden_registrations
from d2s.transpiler.passes.hook_barriers import (
    ATTACH,
    Header,
    HookCall,
    find_barrier,
    find_definition,
    find_hook_call,
    has_hook_point,
    is_plain,
    last_line,
)
from d2s.transpiler.scopes import bound_names, parameters
from d2s.transpiler.template import call, text_of


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
    placement = _Placement(ctx, Lasting(tree))
    for function in user_functions(tree):
        header = Header(function.lineno, frozenset(parameters(function)), prologue_length(function))
        function.body = placement.block(function.body, header)
    return tree


class _Placement:
    """Places the hooks of functions."""

    def __init__(self, ctx: Context, lasting: Lasting) -> None:
        self.ctx = ctx
        self.lasting = lasting

    def block(self, statements: list[Node], header: Header) -> list[Node]:
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
        header = Header(getattr(statement, "lineno", 0), names)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(statement, field, None)
            if isinstance(block, list):
                # The else of a loop runs after the last turn, and try has no header: nothing is defined at their top.
                is_headed = field == "body" or isinstance(statement, gast.If)
                setattr(statement, field, self.block(block, header if is_headed else Header(header.line, frozenset())))
        for handler in getattr(statement, "handlers", ()):
            caught = frozenset([handler.name.id] if handler.name else [])
            handler.body = self.block(handler.body, Header(handler.lineno, caught))
        for case in getattr(statement, "cases", ()):
            guard = [case.guard] if case.guard else []
            matched = frozenset(bound_names(case.pattern, *guard)) | names
            case.body = self.block(case.body, Header(header.line, matched))

    def place(self, hook: HookCall, done: list[Node], header: Header) -> None:
        """Append the hook statement to `done`, or insert it where it may stand."""
        found = find_barrier(hook, done, header)
        if found is None:
            return self.stay(hook, done, "its tensor is defined outside of this block")
        crossed = done[found.position :]
        if not crossed:
            return self.stay(hook, done, f"already {found.reason}")
        obstacle = next((statement for statement in crossed if not is_plain(statement)), None)
        line = hook.statement.lineno
        if obstacle is not None:
            return self.attach(hook, done, header, f"line {obstacle.lineno} may do more than compute")
        if not hook.is_inert:
            return self.attach(hook, done, header, "what makes its hook may do more than compute")
        if line in self.ctx.staying:
            lines = " to ".join(map(str, sorted({crossed[0].lineno, last_line(crossed[-1])})))
            return self.attach(hook, done, header, f"line {lines} may raise or run other code, as a trace has shown")
        for statement in crossed:
            statement.crossed_by = (*getattr(statement, "crossed_by", ()), line)
        hook.statement.moved_from = line
        done.insert(found.position, hook.statement)
        self.report(hook, found.line, found.reason)

    def attach(self, hook: HookCall, done: list[Node], header: Header, reason: str) -> None:
        """Leave the registration where it is, and mark its tensor right after the definition."""
        definition = find_definition(hook, done, header)
        if definition is None:
            return self.stay(hook, done, reason)
        if any(has_hook_point(statement, hook) for statement in done[definition.position :]):
            return self.stay(hook, done, f"its tensor has a hook point already; {reason}")
        point = call(self.ctx, ATTACH, duplicate(hook.target))
        done.insert(definition.position, located(gast.Expr(value=point), hook.statement))
        self.stay(
            hook, done, f"attached at line {definition.line}, registered at line {hook.statement.lineno}: {reason}"
        )

    def stay(self, hook: HookCall, done: list[Node], reason: str) -> None:
        done.append(hook.statement)
        self.report(hook, None, reason)

    def report(self, hook: HookCall, moved_to: int | None, reason: str) -> None:
        line = hook.statement.lineno
        self.add_report(line, hook.target, moved_to, reason)

    def report_hidden(self, statement: Node) -> None:
        """Report the registrations that are no statement of their own."""
        for found in hidden_registrations(_own_expressions(statement)):
            self.add_report(found.line, found.target, None, found.reason)

    def add_report(self, line: int, target: Node, moved_to: int | None, reason: str) -> None:
        warning = self.lasting.warning(target)
        self.ctx.hook_report.append(HookReport(line, text_of(target), moved_to, reason, warning))


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
