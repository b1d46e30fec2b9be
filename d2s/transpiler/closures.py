"""Turn a block of statements into a function that works on the variables of the function around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import gast

from d2s.transpiler.nodes import (
    FUNCTIONS,
    Node,
    is_generated,
    located,
    map_blocks,
    parts,
    prologue_length,
    user_functions,
)
from d2s.transpiler.scopes import bound_names, declared_names, local_names, mentions, parameters, user_declared
from d2s.transpiler.selection import keeps_control_flow
from d2s.transpiler.template import constant, function, store


def closure(
    name: str,
    statements: list[Node],
    user_function: Node,
    origin: Node,
    params: tuple[str, ...] = (),
    private: Iterable[str] = (),
) -> Node:
    """
    ``def name(params): statements``, where names the statements bind stay variables of `user_function`.

    `private` names are left local: nobody outside reads what the block gave them.
    """
    statements = _plain_assignments(statements)
    own_globals = set(user_declared(user_function, (gast.Global,)))
    names = [bound for bound in bound_names(*statements) if bound not in {*private, *params}]
    declarations = [
        kind(names=chosen)
        for kind, chosen in (
            (gast.Global, [bound for bound in names if bound in own_globals]),
            (gast.Nonlocal, [bound for bound in names if bound not in own_globals]),
        )
        if chosen
    ]
    return function(name, params, [*declarations, *statements], origin)


def _plain_assignments(statements: list[Node]) -> list[Node]:
    """Drop annotations: a name cannot be both annotated and ``nonlocal``, and Python never evaluates them here."""
    done: list[Node] = []
    for statement in statements:
        if isinstance(statement, gast.AnnAssign) and isinstance(statement.target, gast.Name):
            if statement.value is not None:
                plain = gast.Assign(targets=[statement.target], value=statement.value, type_comment=None)
                done.append(located(plain, statement))
            continue
        if not isinstance(statement, (*FUNCTIONS, gast.ClassDef)):
            map_blocks(statement, lambda block: _plain_assignments(block) or ([gast.Pass()] if block else []))
        done.append(statement)
    return done


def rewrite_bodies(tree: Node, rewritten: Callable[[Node], list[Node]]) -> Node:
    """
    Give each function of the user that may be cut into closures the body that `rewritten` makes of it.

    What was a local name stays one, though it is bound in dead code that is gone, or in a closure.
    """
    for user_function in user_functions(tree):
        if not keeps_control_flow(user_function):
            locals_before = local_names(user_function)
            user_function.body = rewritten(user_function)
            _declare_unbound(user_function, locals_before)
    return tree


def _declare_unbound(user_function: Node, locals_before: set[str]) -> None:
    """
    Keep the names of `user_function` its own, though every statement that binds them may have moved into a closure.

    A bare annotation makes a name local and leaves it unbound, which is what it was.
    """
    bound = {*parameters(user_function), *user_declared(user_function)}
    bound.update(bound_names(*user_function.body, through_generated=False))
    outside = _free_mentions(user_function)
    closed_over = bound_names(*user_function.body)
    needed = [name for name in (*closed_over, *sorted(locals_before)) if name not in bound and name in outside]
    position = prologue_length(user_function)
    origin = user_function.body[0]
    user_function.body[position:position] = [
        located(gast.AnnAssign(target=store(name), annotation=constant(None), value=None, simple=1), origin)
        for name in dict.fromkeys(needed)
    ]


def _free_mentions(node: Node) -> set[str]:
    """Names mentioned below `node`, without those that a generated function keeps to itself."""
    found: set[str] = set()
    for child in parts(node):
        if isinstance(child, FUNCTIONS) and is_generated(child):
            own = {*parameters(child), *bound_names(*child.body, through_generated=False)} - {*declared_names(child)}
            found |= _free_mentions(child) - own
        elif isinstance(child, (gast.Global, gast.Nonlocal)):
            found.update(child.names)
        else:
            found |= _free_mentions(child) if not isinstance(child, gast.Name) else {child.id}
            found.update(_plain_names(child))
    return found


def _plain_names(node: Node) -> set[str]:
    """Names that a node holds as text."""
    return set(mentions(node)) if isinstance(node, (gast.alias, *FUNCTIONS, gast.ClassDef, gast.pattern)) else set()
