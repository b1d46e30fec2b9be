"""Definite assignment: which reads of a local name may find it unbound."""

from __future__ import annotations

import sys
from typing import TypeAlias

import gast

from d2s.transpiler.nodes import COMPREHENSIONS, TRIES, Node, parts, walk, walk_statements
from d2s.transpiler.scopes import bound_names, local_names, parameters

# Since Python 3.12, all but generator expressions.
_COMPREHENSIONS_ARE_INLINE = sys.version_info >= (3, 12)

State: TypeAlias = frozenset[str] | None
"""Names that are bound for certain; None where control never arrives."""


def mark_maybe_unbound(function: Node) -> None:
    """
    Set ``maybe_unbound`` on each read of a local name that some path reaches before the name is bound.

    >>> tree = gast.parse('''
    ... def f(c):
    ...     if c:
    ...         y = 1
    ...     while True:
    ...         z = 2
    ...         break
    ...     return c, y, z
    ... ''')
    >>> mark_maybe_unbound(tree.body[0])
    >>> [node.id for node in gast.walk(tree) if getattr(node, "maybe_unbound", False)]
    ['y']
    """
    analysis = _DefiniteAssignment(local_names(function), _deleted_inside(function))
    analysis.block(function.body, frozenset(parameters(function)))


def _deleted_inside(function: Node) -> set[str]:
    """Variables of a function that functions inside delete: they may do so at any time."""
    declared: set[str] = set()
    deleted: set[str] = set()
    for node in walk(function):
        if isinstance(node, gast.Nonlocal):
            declared.update(node.names)
        elif isinstance(node, gast.Delete):
            deleted.update(target.id for target in node.targets if isinstance(target, gast.Name))
    return declared & deleted


def _meet(*states: State) -> State:
    reachable = [state for state in states if state is not None]
    return frozenset.intersection(*reachable) if reachable else None


class _DefiniteAssignment:
    """A forward walk over the statements of one function."""

    def __init__(self, names: set[str], unsure: set[str]) -> None:
        self.names = names
        self.unsure = unsure
        self.breaks: list[list[State]] = []
        self.continues: list[list[State]] = []
        self.in_inner_scope = False

    def block(self, statements: list[Node], state: State) -> State:
        for statement in statements:
            if state is None:
                return None
            state = self.statement(statement, state)
        return state

    def statement(self, node: Node, state: frozenset[str]) -> State:
        special = getattr(self, f"do_{type(node).__name__}", None)
        if special is not None:
            result: State = special(node, state)
            return result
        # Statements that evaluate their parts in the order of the fields, and bind names last.
        return self.expression(node, state) | frozenset(bound_names(node))

    # Expressions

    def expression(self, node: Node | None, state: frozenset[str]) -> frozenset[str]:
        """Mark the reads in an expression; the result has the names it binds for certain."""
        if node is None:
            return state
        if isinstance(node, gast.Name):
            self.read(node, state)
            return state
        if isinstance(node, gast.NamedExpr):
            return self.expression(node.value, state) | {node.target.id}
        if isinstance(node, gast.BoolOp):
            state = self.expression(node.values[0], state)
            self.sequence(node.values[1:], state)
            return state
        if isinstance(node, gast.IfExp):
            state = self.expression(node.test, state)
            return self.expression(node.body, state) & self.expression(node.orelse, state)
        if isinstance(node, gast.Lambda):
            return self.sequence([*node.args.defaults, *node.args.kw_defaults], state)
        if isinstance(node, COMPREHENSIONS):
            state = self.expression(node.generators[0].iter, state)
            hidden = frozenset(bound_names(*(generator.target for generator in node.generators)))
            outer = self.in_inner_scope
            self.in_inner_scope = outer or isinstance(node, gast.GeneratorExp) or not _COMPREHENSIONS_ARE_INLINE
            self.sequence(self.inner_parts(node), state | hidden)
            self.in_inner_scope = outer
            return state
        return self.sequence(parts(node), state)

    def inner_parts(self, node: Node) -> list[Node]:
        """The parts of a comprehension without its first iterable, which is evaluated outside."""
        first = node.generators[0]
        return [part for part in parts(node) if part is not first] + [first.target, *first.ifs]

    def sequence(self, nodes: list[Node], state: frozenset[str]) -> frozenset[str]:
        for node in nodes:
            state = self.expression(node, state)
        return state

    def read(self, name: Node, state: frozenset[str]) -> None:
        is_unsure = name.id not in state or name.id in self.unsure
        if isinstance(name.ctx, gast.Load) and name.id in self.names and is_unsure:
            name.maybe_unbound = True
            name.is_read_as_free = self.in_inner_scope

    # Statements

    def do_Assign(self, node: Node, state: frozenset[str]) -> State:
        state = self.expression(node.value, state)
        for target in node.targets:
            state = self.expression(target, state) | frozenset(bound_names(target))
        return state

    def do_AugAssign(self, node: Node, state: frozenset[str]) -> State:
        if isinstance(node.target, gast.Name) and node.target.id in self.names - state:
            node.target.maybe_unbound = True
        state = self.sequence([node.target, node.value], state)
        return state | frozenset(bound_names(node.target))

    def do_AnnAssign(self, node: Node, state: frozenset[str]) -> State:
        state = self.sequence([node.value, node.target], state)
        return state if node.value is None else state | frozenset(bound_names(node.target))

    def do_Delete(self, node: Node, state: frozenset[str]) -> State:
        for target in node.targets:
            if isinstance(target, gast.Name) and target.id in self.names - state:
                target.maybe_unbound = True
            state = self.expression(target, state) - frozenset(bound_names(target))
        return state

    def do_FunctionDef(self, node: Node, state: frozenset[str]) -> State:
        state = self.sequence([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults], state)
        return state | {node.name}

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node: Node, state: frozenset[str]) -> State:
        return self.sequence([*node.decorator_list, *node.bases, *node.keywords], state) | {node.name}

    def do_Return(self, node: Node, state: frozenset[str]) -> State:
        self.sequence(parts(node), state)
        return None

    do_Raise = do_Return

    def do_Assert(self, node: Node, state: frozenset[str]) -> State:
        state = self.expression(node.test, state)
        self.expression(node.msg, state)  # evaluated where nothing goes on
        return state

    def do_Break(self, node: Node, state: frozenset[str]) -> State:
        self.breaks[-1].append(state)
        return None

    def do_Continue(self, node: Node, state: frozenset[str]) -> State:
        self.continues[-1].append(state)
        return None

    def do_If(self, node: Node, state: frozenset[str]) -> State:
        state = self.expression(node.test, state)
        return _meet(self.block(node.body, state), self.block(node.orelse, state))

    def do_While(self, node: Node, state: frozenset[str]) -> State:
        def turn(head: frozenset[str]) -> tuple[State, State]:
            tested = self.expression(node.test, head)
            is_endless = isinstance(node.test, gast.Constant) and node.test.value
            return self.block(node.body, tested), None if is_endless else tested

        return self.loop(node, state, turn)

    def do_For(self, node: Node, state: frozenset[str]) -> State:
        def turn(head: frozenset[str]) -> tuple[State, State]:
            bound = self.expression(node.target, head) | frozenset(bound_names(node.target))
            return self.block(node.body, bound), head

        return self.loop(node, self.expression(node.iter, state), turn)

    do_AsyncFor = do_For

    def loop(self, node: Node, state: frozenset[str], turn: object) -> State:
        """Run the body twice: a `del` in the first turn can unbind names for the second."""
        assert callable(turn)
        breaks: list[State] = []
        ended: State = None
        head: frozenset[str] = state
        for _ in range(2):
            self.breaks.append(breaks)
            self.continues.append([])
            after_body, ended = turn(head)
            head = _meet(head, after_body, *self.continues.pop()) or frozenset()
            self.breaks.pop()
        ended = None if ended is None else self.block(node.orelse, ended & head | (ended - state))
        return _meet(ended, *breaks)

    def do_With(self, node: Node, state: frozenset[str]) -> State:
        for item in node.items:
            state = self.expression(item.context_expr, state)
            if item.optional_vars is not None:
                state = self.expression(item.optional_vars, state) | frozenset(bound_names(item.optional_vars))
        after = self.block(node.body, state)
        # A manager may swallow exceptions.  Few do, so names bound inside count as bound after an ordinary end.
        return state - _deleted(node.body) if after is None else after

    do_AsyncWith = do_With

    def do_Try(self, node: Node, state: frozenset[str]) -> State:
        begins = [len(states) for states in self._exits()]
        interrupted = state - _deleted(node.body)
        normal = self.block(node.body, state)
        if normal is not None:
            normal = self.block(node.orelse, normal)
        ends = [normal]
        for handler in node.handlers:
            caught = frozenset([handler.name.id] if handler.name else [])
            entry = self.expression(handler.type, interrupted) | caught
            exits = [len(states) for states in self._exits()]
            end = self.block(handler.body, entry)
            self._unbind(exits, caught)
            ends.append(None if end is None else end - caught)
            interrupted -= _deleted(handler.body) | caught
        if not node.finalbody:
            return _meet(*ends)
        self._unbind(begins, _deleted(node.finalbody))
        if self.block(node.finalbody, interrupted - _deleted(node.orelse)) is None:
            return None
        end = _meet(*ends)
        return None if end is None else self.block(node.finalbody, end)

    do_TryStar = do_Try

    def _exits(self) -> list[list[State]]:
        """What is known at the exits so far of the loop around."""
        return [self.breaks[-1], self.continues[-1]] if self.breaks else []

    def _unbind(self, begins: list[int], names: frozenset[str]) -> None:
        """Note that exits met since `begins` pass by what unbinds these names."""
        for states, begin in zip(self._exits(), begins, strict=True):
            states[begin:] = [None if state is None else state - names for state in states[begin:]]

    def do_Match(self, node: Node, state: frozenset[str]) -> State:
        state = self.expression(node.subject, state)
        ends: list[State] = [state]
        for case in node.cases:
            entry = self.sequence([case.pattern], state) | frozenset(bound_names(case.pattern))
            entry = self.expression(case.guard, entry)
            ends.append(self.block(case.body, entry))
        return _meet(*ends)


def _deleted(statements: list[Node]) -> frozenset[str]:
    """Names that some statement deletes, also by leaving an ``except ... as name``."""
    deletes = [node for node in walk_statements(statements) if isinstance(node, gast.Delete)]
    handlers = [h for node in walk_statements(statements) if isinstance(node, TRIES) for h in node.handlers if h.name]
    return frozenset(bound_names(*deletes, *(handler.name for handler in handlers)))
