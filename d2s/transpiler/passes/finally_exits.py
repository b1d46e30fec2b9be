"""Turn ``return``, ``break`` and ``continue`` inside of a ``finally`` into a flag that swallows what is on its way."""

from __future__ import annotations

import gast

from d2s.transpiler.closures import rewrite_bodies
from d2s.transpiler.context import Context
from d2s.transpiler.exit_flags import LOOP_EXITS, RETURNS, ExitFlags
from d2s.transpiler.nodes import (
    FUNCTIONS,
    TRIES,
    Node,
    located,
    map_blocks,
    mark_generated,
    walk_statements,
)
from d2s.transpiler.selection import has_exit, has_return, own_exits
from d2s.transpiler.template import assign, call, constant, load, store, thunk


def run(tree: Node, ctx: Context) -> Node:
    """
    Let the exits of each ``try`` whose ``finally`` leaves happen behind it.

    An exit in a ``finally`` swallows the exception, or overrides the exit, that led there.  No flag can swallow, so
    the statement stands in a ``with`` that does, if the flag is set.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     for v in x:
    ...         try:
    ...             x = g(x)
    ...         finally:
    ...             if v > 0:
    ...                 break
    ... ''', passes=[run]))
    def f(x):
        for v in x:
            leaving = ''
            with swallowed(lambda : leaving):
                try:
                    x = g(x)
                finally:
                    if v > 0:
                        leaving = 'break'
            if leaving:
                break
    <BLANKLINE>
    """
    return rewrite_bodies(tree, lambda function: _lower_block(function.body, ctx, depth=0))


def _lower_block(statements: list[Node], ctx: Context, depth: int) -> list[Node]:
    done: list[Node] = []
    for statement in statements:
        if isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
            done.append(statement)
            continue
        leaves = isinstance(statement, TRIES) and has_exit(statement.finalbody)
        map_blocks(statement, lambda block, depth=depth + leaves: _lower_block(block, ctx, depth))  # type: ignore[misc]
        done += _FinallyExits(statement, ctx, depth).lowered() if leaves else [statement]
    return done


class _FinallyExits:
    """Lowers the exits of one ``try``; those inside it are already done."""

    def __init__(self, statement: Node, ctx: Context, depth: int) -> None:
        self.statement, self.ctx = statement, ctx
        suffix = "" if depth == 0 else f"_{depth}"
        # Those inside one another need variables of their own, those after one another may share them.
        self.leaving, self.returning, self.pending, self.left = (
            ctx.names.stable(name + suffix) for name in ("leaving", "returning", "pending", "left"))
        self.flags = ExitFlags(ctx.names, self.leaving, "", self.noted, LOOP_EXITS | RETURNS)

    def lowered(self) -> list[Node]:
        statement = self.statement
        kinds = own_exits([statement]) | ({gast.Return} if has_return([statement]) else set())
        ending, statement.finalbody = self.flags.block(statement.finalbody), []
        overrides = has_exit([statement])
        # What a manager, or another `finally`, raises behind an exit is not swallowed: that has not left.
        is_told_at_end = overrides or any(isinstance(inner, (gast.With, *TRIES)) for inner in walk_statements(ending))
        [statement] = self.flags.block([statement])
        statement.finalbody = self.told_at_end(ending, overrides) if is_told_at_end else ending
        swallowed = call(self.ctx, "swallowed", thunk(load(self.left if is_told_at_end else self.leaving)))
        item = gast.withitem(context_expr=swallowed, optional_vars=None)
        around = mark_generated(gast.With(items=[item], body=[statement], type_comment=None))
        before = [assign(name, constant("")) for name in (self.leaving, *([self.left] if is_told_at_end else []))]
        return [located(node, statement) for node in (*before, around, *self.exits(kinds))]

    def noted(self, statement: Node) -> list[Node]:
        """What stands for an exit: its value is evaluated where it was."""
        note = located(assign(self.leaving, constant(type(statement).__name__.lower())), statement)
        if not isinstance(statement, gast.Return):
            return [note]
        value = constant(None) if statement.value is None else statement.value
        return [located(assign(self.returning, value), statement), note]

    def told_at_end(self, ending: list[Node], overrides: bool) -> list[Node]:
        """A ``finally`` that says if it has left; the exit that may have led to it holds unless it `overrides` that."""
        note = located(assign(self.left, load(self.leaving)), ending[-1])
        if not overrides:
            return [*ending, note]
        both = gast.Tuple(elts=[load(self.leaving), constant("")], ctx=gast.Load())
        targets = gast.Tuple(elts=[store(self.pending), store(self.leaving)], ctx=gast.Store())
        taken = gast.Assign(targets=[targets], value=both, type_comment=None)
        held = gast.BoolOp(op=gast.Or(), values=[load(self.left), load(self.pending)])
        return [located(taken, ending[0]), *ending, note, located(assign(self.leaving, held), ending[-1])]

    def exits(self, kinds: set[type]) -> list[Node]:
        """The exits themselves."""
        done = []
        for kind in (gast.Return, gast.Break, gast.Continue):
            if kind not in kinds:
                continue
            leave = gast.Return(value=load(self.returning)) if kind is gast.Return else kind()
            test = load(self.leaving)
            if len(kinds) > 1:
                asked = constant(kind.__name__.lower())
                test = gast.Compare(left=test, ops=[gast.Eq()], comparators=[asked])
            done.append(gast.If(test=test, body=[leave], orelse=[]))
        return done
