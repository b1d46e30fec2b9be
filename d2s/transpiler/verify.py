"""What a legal tree is: checked between the passes, so that an error names the pass that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import gast

from d2s.errors import ProgramError
from d2s.transpiler.nodes import Node, duplicate
from d2s.transpiler.template import assign, constant, function

# Called after each pass with the tree, the names from outside and the name of the pass; the test suite puts `verify`
# here.
CHECKS: list[Callable[[Node, frozenset[str], str], None]] = []


def verify(tree: Node, outer: Iterable[str], name: str) -> None:
    """
    Check a tree that the pass `name` has given back.

    It has to compile, with the names `outer` in cells around it, and every statement has a place in the user's file.

    Raises
    ------
    ProgramError
        If the tree is not legal.

    >>> tree = gast.parse("def f(x): return x")
    >>> verify(tree, (), "nothing")
    >>> tree.body[0].body = []
    >>> try:
    ...     verify(tree, (), "clears")
    ... except ProgramError as error:
    ...     print(error.message)
    the pass clears made a tree that is not Python: empty body on FunctionDef
    """
    for node in gast.walk(tree):
        if isinstance(node, gast.stmt) and not hasattr(node, "lineno"):
            raise ProgramError(f"the pass {name} made a {type(node).__name__} without a place", kind="P01")
    body = list(duplicate(tree).body)
    names = list(outer)
    if names:
        # The factory gives the names cells, as those of the user's function are.
        body = [function("factory", (), [*(assign(bound, constant(None)) for bound in names), *body], body[0])]
    module = gast.fix_missing_locations(gast.Module(body=body, type_ignores=[]))
    try:
        compile(gast.gast_to_ast(module), "<tree>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError) as error:
        raise ProgramError(f"the pass {name} made a tree that is not Python: {error}", kind="P01") from error
