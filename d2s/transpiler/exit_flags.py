"""Exits of a stretch of code that become a flag: what follows one runs only while the flag is not set.

On its way out an exit passes by managers and ``finally`` clauses, and what these raise overrides it.  So a flag says
that an exit has arrived at where the flag is read: a handler resets it first, and inside of a ``with`` that may swallow
such an exception an exit sets a flag of its own, which is handed on at the end of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import gast

from d2s.transpiler.naming import Names
from d2s.transpiler.nodes import LOOPS, TRIES, Node, blocks_of, located, map_blocks, walk
from d2s.transpiler.selection import always_leaves, has_return, own_exits
from d2s.transpiler.template import assign, constant, if_statement, load, negation

RETURNS = frozenset([gast.Return])
LOOP_EXITS = frozenset([gast.Break, gast.Continue])


class ExitFlags:
    """
    Replaces the exits of one stretch of code, and guards what follows them.

    Parameters
    ----------
    names : Names
        Gives the names of flags inside of ``with`` statements.
    flag : str
        The variable that is true behind an exit.
    unset : bool or str
        What it holds before, and where an exception has overridden the exit.
    replaced : callable
        Gives the statements that stand for an exit, which set the flag.
    kinds : set of types
        The exits that are replaced.
    """

    def __init__(
        self, names: Names, flag: str, unset: bool | str, replaced: Callable[[Node], list[Node]], kinds: frozenset[type]
    ) -> None:
        self.names, self.flag, self.unset, self.replaced, self.kinds = names, flag, unset, replaced, kinds

    def block(self, statements: list[Node], kinds: frozenset[type] | None = None, breaks: bool = False) -> list[Node]:
        """The statements with the flag instead of exits of these kinds; if it `breaks`, the loop around is left too."""
        kinds = self.kinds if kinds is None else kinds
        done: list[Node] = []
        for position, statement in enumerate(statements):
            if not exits_in([statement], kinds):
                done.append(statement)
            elif isinstance(statement, (gast.Return, gast.Break, gast.Continue)):
                leave = [located(gast.Break(), statement)] if breaks else []
                return [*done, *self.replaced(statement), *leave]
            elif breaks and goes_on(statement, kinds):
                # A break inside of it would pass by the end of its body.
                done += [*self.block([statement], kinds), self._break(statement)]
            elif breaks:
                self._inside(statement, kinds, breaks)
                # Other statements than loops let the break itself through.
                done += [statement, *([self._break(statement)] if isinstance(statement, LOOPS) else [])]
            else:
                rest = _moved_into_branch(statement, statements[position + 1 :])
                is_overridden = goes_on(statement, kinds)
                self._inside(statement, kinds, breaks)
                if is_overridden:
                    done += handed_on(statement, self.names, {self.flag: self.unset})
                guarded = self.block(rest, kinds)
                guard = [if_statement(negation(self.flag), guarded, [], statement)] if guarded else []
                return [*done, statement, *guard]
        return done

    def reset(self, origin: Node) -> Node:
        """``flag = unset``."""
        return located(assign(self.flag, constant(self.unset)), origin)

    def _inside(self, statement: Node, kinds: frozenset[type], breaks: bool) -> None:
        if isinstance(statement, LOOPS):
            statement.body = self.block(statement.body, kinds & RETURNS, breaks=True)
            statement.orelse = self.block(statement.orelse, kinds, breaks)
            return
        may_leave_early = isinstance(statement, TRIES) and exits_in(statement.body, kinds)
        map_blocks(statement, lambda block: self.block(block, kinds, breaks))
        if may_leave_early:
            for handler in statement.handlers:
                # An exception on the way out (from a `with`, say) overrides the exit.
                handler.body.insert(0, self.reset(handler))
            if statement.orelse:
                guarded = if_statement(negation(self.flag), statement.orelse, [], statement.orelse[0])
                statement.orelse = [guarded]

    def _break(self, statement: Node) -> Node:
        """``if flag: break``."""
        leave = gast.copy_location(gast.Break(), statement)
        return if_statement(load(self.flag), [leave], [], statement)


def exits_in(statements: list[Node], kinds: frozenset[type]) -> set[type]:
    """Which exits of these kinds leave the statements."""
    found = own_exits(statements) if kinds & LOOP_EXITS else set()
    if gast.Return in kinds and has_return(statements):
        found.add(gast.Return)
    return found & kinds


def goes_on(statement: Node, kinds: frozenset[type]) -> bool:
    """
    May what follows this ``with`` run, although an exit of these kinds was met inside of it?

    So it is if the exit stands in another ``with``, or in a ``try`` with ``finally``, inside of this one: they may
    raise behind the exit, and this one may swallow that.  For it a ``with`` of several managers becomes several.
    """
    if not isinstance(statement, gast.With) or not exits_in(statement.body, kinds):
        return False
    if len(statement.items) > 1:
        first, *others = statement.items
        inner = gast.With(items=others, body=statement.body, type_comment=None)
        statement.items, statement.body = [first], [gast.copy_location(inner, statement)]
    return _may_be_overridden(statement.body, kinds)


def handed_on(statement: Node, names: Names, flags: Mapping[str, bool | str]) -> list[Node]:
    """
    Let a ``with``, whose exits are replaced, have flags of its own, which are handed on at the end of its body.

    Parameters
    ----------
    statement : With
        It is changed.
    names : Names
        Gives their names.
    flags : mapping
        The flags around it, and what they hold while they are not set.

    Returns
    -------
    list of statements
        What has to stand before: each flag of its own, not set.
    """
    before = []
    for flag, unset in flags.items():
        read = [node for inner in statement.body for node in walk(inner) if isinstance(node, gast.Name)]
        used, depth = {node.id for node in read}, 0
        while (own := names.stable(f"{flag}_inside" + (f"_{depth}" if depth else ""))) in used:
            depth += 1
        for node in read:
            if node.id == flag:
                node.id = own
        statement.body.append(located(assign(flag, load(own)), statement))
        before.append(located(assign(own, constant(unset)), statement))
    return before


def _may_be_overridden(statements: list[Node], kinds: frozenset[type]) -> bool:
    """Does an exit of these kinds stand where something may raise behind it?"""
    for statement in statements:
        if not exits_in([statement], kinds):
            continue
        if isinstance(statement, gast.With) or (isinstance(statement, TRIES) and statement.finalbody):
            return True
        if isinstance(statement, LOOPS):
            if _may_be_overridden(statement.body, kinds & RETURNS) or _may_be_overridden(statement.orelse, kinds):
                return True
        elif any(_may_be_overridden(block, kinds) for block in blocks_of(statement)):
            return True
    return False


def _moved_into_branch(statement: Node, rest: list[Node]) -> list[Node]:
    """Move `rest` into the one branch of an ``if`` that falls through; what could not move is given back."""
    if not isinstance(statement, gast.If) or always_leaves(statement.body) == always_leaves(statement.orelse):
        return rest
    fall_through = statement.orelse if always_leaves(statement.body) else statement.body
    fall_through.extend(rest)
    return []
