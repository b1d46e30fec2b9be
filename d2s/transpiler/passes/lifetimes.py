"""Find the names that matter only inside one branch or one turn of a loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import FUNCTIONS, LOOPS, TRIES, Node, is_generated, user_functions, walk
from d2s.transpiler.scopes import bound_names, captured_names, local_names, mentions
from d2s.transpiler.selection import always_leaves, keeps_control_flow

Live: TypeAlias = frozenset[str]


def run(tree: Node, ctx: Context) -> Node:
    """
    Note on each ``if`` and loop, as ``wanted``, the names whose values go into a block of it or out of it.

    Other names that a block binds stay local to the function made from it: less state to carry, less to read.

    >>> from d2s.transpiler import transpile_source
    >>> from d2s.transpiler.passes import loops
    >>> print(transpile_source('''
    ... def f(x):
    ...     total = 0
    ...     for v in x:
    ...         square = v * v
    ...         total = total + square
    ...     return total
    ... ''', passes=[run, loops.run]))
    def f(x):
        total = 0
    <BLANKLINE>
        def body(v):
            nonlocal total
            square = v * v
            total = total + square
        for_loop(x, body)
        return total
    <BLANKLINE>
    """
    for function in user_functions(tree):
        if keeps_control_flow(function):
            continue
        # Cells and declared names are seen from outside at any time.
        always = captured_names(*function.body) | (set(bound_names(*function.body)) - local_names(function))
        _Liveness(frozenset(always)).block(function.body, _Exits(frozenset()), frozenset())
    return tree


@dataclass(frozen=True)
class _Exits:
    """What is live where control may go from inside a block."""

    on_exception: Live
    on_break: Live = frozenset()
    on_continue: Live = frozenset()


class _Liveness:
    """A backward walk over the statements of one function."""

    def __init__(self, always: Live) -> None:
        self.always = always

    def block(self, statements: list[Node], exits: _Exits, live: Live) -> Live:
        """What is live before the statements, given what is live after them."""
        behind: Live = frozenset()
        for statement in reversed(statements):
            # What nothing leads to has names as well, which must be somebody's.
            unreached = behind if always_leaves([statement]) else frozenset()
            live = behind = self.statement(statement, exits, live) | exits.on_exception | unreached
        return live

    def statement(self, node: Node, exits: _Exits, live: Live) -> Live:
        if isinstance(node, (gast.Return, gast.Raise)):
            return _used(node)
        if isinstance(node, gast.Break):
            return exits.on_break
        if isinstance(node, gast.Continue):
            return exits.on_continue
        if isinstance(node, gast.If):
            # What a branch reads before it binds it comes from outside of the branch.
            inside = self.block(node.body, exits, live) | self.block(node.orelse, exits, live)
            node.wanted = self.always | live | inside | exits.on_exception
            return _used(node.test) | inside
        if isinstance(node, (*LOOPS, gast.AsyncFor)):
            return self.loop(node, exits, live)
        if isinstance(node, (gast.With, gast.AsyncWith)):
            # The manager may swallow an exception, and go on behind the statement.
            inner = replace(exits, on_exception=exits.on_exception | live)
            return _used(*node.items) | self.block(node.body, inner, live) - _bound(*node.items)
        if isinstance(node, TRIES):
            return self.try_(node, exits, live)
        if isinstance(node, gast.Match):
            return self.match(node, exits, live)
        if isinstance(node, FUNCTIONS) and is_generated(node):
            return live | frozenset(mentions(node))
        if isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            return live - {node.name} | _used(node)
        return live - _surely_bound(node) | _used(node)

    def loop(self, node: Node, exits: _Exits, live: Live) -> Live:
        after = self.block(node.orelse, exits, live)
        if isinstance(node, gast.While):
            head_uses, targets = _used(node.test), frozenset[str]()
        else:
            head_uses, targets = _used(node.target), _bound(node.target)
        head = after | head_uses
        while True:
            inner = _Exits(exits.on_exception, live, head)
            new = head | self.block(node.body, inner, head) - targets
            if new == head:
                break
            head = new
        node.wanted = self.always | head | live | exits.on_exception
        return head if isinstance(node, gast.While) else head | _used(node.iter)

    def try_(self, node: Node, exits: _Exits, live: Live) -> Live:
        ending = self.block(node.finalbody, exits, live) | exits.on_exception if node.finalbody else live
        leaving = _Exits(
            exits.on_exception | (ending if node.finalbody else frozenset()),
            exits.on_break | ending if node.finalbody else exits.on_break,
            exits.on_continue | ending if node.finalbody else exits.on_continue,
        )
        caught: Live = leaving.on_exception
        for handler in node.handlers:
            name = frozenset([handler.name.id] if handler.name else [])
            caught |= self.block(handler.body, leaving, ending) - name
            caught |= _used(handler.type) if handler.type else frozenset()
        normal = self.block(node.orelse, leaving, ending)
        return self.block(node.body, replace(leaving, on_exception=caught), normal)

    def match(self, node: Node, exits: _Exits, live: Live) -> Live:
        before = live | _used(node.subject)
        for case in node.cases:
            guard = _used(case.guard) if case.guard else frozenset()
            before |= (self.block(case.body, exits, live) | guard) - _bound(case.pattern) | _used(case.pattern)
        return before


def _used(*nodes: Node) -> Live:
    """Names that evaluating the nodes may read; too many do no harm."""
    return frozenset(
        part.id
        for node in nodes
        for part in walk(node)
        if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Store)
    ) | frozenset(_updated(nodes))


def _updated(nodes: Iterable[Node]) -> list[str]:
    """Names that augmented assignments read and bind."""
    return [node.target.id for node in nodes if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name)]


def _bound(*nodes: Node) -> Live:
    return frozenset(bound_names(*nodes))


def _surely_bound(node: Node) -> Live:
    """Names that the statement binds whenever it ends: not those of a walrus in an operand."""
    if isinstance(node, gast.Assign):
        return _bound(*node.targets)
    if isinstance(node, gast.AnnAssign):
        return _bound(node.target) if node.value is not None else frozenset()
    return _bound(node) if isinstance(node, (gast.Import, gast.ImportFrom)) else frozenset()


def private_names(statement: Node, block: list[Node]) -> frozenset[str]:
    """Names that `block` of this ``if`` or loop binds and that nobody wants after it."""
    wanted: Live | None = getattr(statement, "wanted", None)
    return frozenset() if wanted is None else frozenset(bound_names(*block)) - wanted
