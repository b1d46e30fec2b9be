"""Turn ``break``, ``continue`` and loop ``else`` into flags and tests."""

from __future__ import annotations

import gast

from d2s.transpiler.closures import rewrite_bodies
from d2s.transpiler.context import Context
from d2s.transpiler.exit_flags import LOOP_EXITS, goes_on, handed_on
from d2s.transpiler.nodes import (
    FUNCTIONS,
    LOOPS,
    TRIES,
    Node,
    located,
    map_blocks,
    walk,
)
from d2s.transpiler.selection import (
    always_leaves,
    is_rewritten,
    own_exits,
)
from d2s.transpiler.template import any_of, assign, constant, if_statement, load, negation


def run(tree: Node, ctx: Context) -> Node:
    """
    Replace the exits of loops by flags; the result is ordinary Python that does the same.

    A ``for`` keeps one ``if broke: break`` as the last statement of its body: that is where the loop asks, before it
    fetches the next item, whether to go on.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     while x > 0:
    ...         if x == 5:
    ...             break
    ...         x -= 1
    ...     else:
    ...         x = 7
    ...     for v in x:
    ...         if v > 2:
    ...             break
    ... ''', passes=[run]))
    def f(x):
        broke = False
        while not broke and x > 0:
            if x == 5:
                broke = True
            else:
                x -= 1
        if not broke:
            x = 7
        broke = False
        for v in x:
            if v > 2:
                broke = True
            if broke:
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
        # Decided before the inside changes: an exit that is already a flag would not count.
        # A `for` keeps a break, which is not to be lowered again.
        is_done = getattr(statement, "exits_are_flags", False)
        lowers = isinstance(statement, LOOPS) and not is_done and is_rewritten(statement, ctx)
        inner_depth = depth + isinstance(statement, LOOPS)
        map_blocks(statement, lambda block, depth=inner_depth: _lower_block(block, ctx, depth))  # type: ignore[misc]
        done += _LoopExits(statement, ctx, depth).lowered() if lowers else [statement]
    return done


class _LoopExits:
    """Lowers the exits of one loop; the loops inside it are already done."""

    def __init__(self, loop: Node, ctx: Context, depth: int) -> None:
        suffix = "" if depth == 0 else f"_{depth}"
        # Loops inside one another need different flags, loops after one another may share them.
        self.loop, self.ctx = loop, ctx
        self.broke = ctx.names.stable("broke" + suffix)
        self.continued = ctx.names.stable("continued" + suffix)
        self.flags = {gast.Break: self.broke, gast.Continue: self.continued}
        self.inside: list[str] = []
        """Flags inside of ``with`` statements, inner ones first."""

    def lowered(self) -> list[Node]:
        loop, exits = self.loop, own_exits(self.loop.body)
        orelse, loop.orelse = loop.orelse, []
        loop.body = self.guarded(loop.body)
        if gast.Continue in exits:
            self.settle_continued()
        if gast.Break not in exits:
            return [loop, *orelse]
        if isinstance(loop, gast.While):
            loop.test = self.unless_broken(loop.test)
        else:
            leave = gast.copy_location(gast.Break(), loop)
            loop.exits_are_flags = True
            loop.body.append(if_statement(load(self.broke), [leave], [], loop))
        reset = located(assign(self.broke, constant(False)), loop)
        after = [if_statement(negation(self.broke), orelse, [], orelse[0])] if orelse else []
        return [reset, loop, *after]

    def unless_broken(self, test: Node) -> Node:
        """``not broke and test``."""
        if isinstance(test, gast.Constant) and test.value:
            return located(negation(self.broke), test)
        return located(gast.BoolOp(op=gast.And(), values=[negation(self.broke), test]), test)

    def settle_continued(self) -> None:
        """Reset the flag in each turn; where nothing reads it (all that follows moved into an else) drop it."""
        if self.is_read(self.continued):
            self.loop.body.insert(0, located(assign(self.continued, constant(False)), self.loop))
            return
        for flag in (self.continued, *reversed(self.inside)):
            if not self.is_read(flag):
                self.loop.body = self.without_assignments(self.loop.body, flag)

    def is_read(self, flag: str) -> bool:
        """Does the body of the loop read this flag?"""
        return any(
            isinstance(node, gast.Name) and node.id == flag and isinstance(node.ctx, gast.Load)
            for statement in self.loop.body
            for node in walk(statement)
        )

    def without_assignments(self, statements: list[Node], flag: str) -> list[Node]:
        """The statements without those that set the flag."""
        kept = [
            statement for statement in statements
            if not (isinstance(statement, gast.Assign) and getattr(statement.targets[0], "id", None) == flag)]
        for statement in kept:
            map_blocks(statement, lambda block: self.without_assignments(block, flag))
        if statements and not kept:
            kept = [gast.copy_location(gast.Pass(), statements[0])]
        return kept

    def guarded(self, statements: list[Node]) -> list[Node]:
        """Replace exits by flags, and run what follows one only if no flag is set."""
        done: list[Node] = []
        for position, statement in enumerate(statements):
            if isinstance(statement, (gast.Break, gast.Continue)):
                flag = self.flags[type(statement)]
                return [*done, located(assign(flag, constant(True)), statement)]
            exits = own_exits([statement])
            if not exits:
                done.append(statement)
                continue
            rest = statements[position + 1 :]
            flags = [flag for kind, flag in self.flags.items() if kind in exits]
            if isinstance(statement, gast.If) and rest:
                if always_leaves(statement.body):
                    statement.orelse, rest = [*statement.orelse, *rest], []
                elif always_leaves(statement.orelse):
                    statement.body, rest = [*statement.body, *rest], []
            is_overridden = goes_on(statement, LOOP_EXITS)
            self.guard_blocks(statement)
            if is_overridden:
                resets = handed_on(statement, self.ctx.names, dict.fromkeys(flags, False))
                self.inside += [reset.targets[0].id for reset in resets]
                done += resets
            done.append(statement)
            if rest:
                test = gast.UnaryOp(op=gast.Not(), operand=any_of(flags))
                done.append(if_statement(test, self.guarded(rest), [], rest[0]))
            return done
        return done

    def guard_blocks(self, statement: Node) -> None:
        if isinstance(statement, LOOPS):
            statement.orelse = self.guarded(statement.orelse)  # its body belongs to that loop
            return
        early = own_exits(statement.body) if isinstance(statement, TRIES) else set()
        map_blocks(statement, self.guarded)
        flags = [flag for kind, flag in self.flags.items() if kind in early]
        if not flags:
            return
        for handler in statement.handlers:
            # An exception on the way out overrides the exit.
            handler.body[:0] = [located(assign(flag, constant(False)), handler) for flag in flags]
        if statement.orelse:
            test = gast.UnaryOp(op=gast.Not(), operand=any_of(flags))
            statement.orelse = [if_statement(test, statement.orelse, [], statement.orelse[0])]
