"""Builders for the few shapes of code that the passes generate."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node, is_generated, located, mark_generated, parts


def load(name: str) -> Node:
    """``name``, read."""
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def store(name: str) -> Node:
    """``name``, bound."""
    return gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)


def constant(value: object) -> Node:
    """A literal.  Only for values whose text is the value: no negative numbers, nothing from NumPy."""
    return gast.Constant(value=value, kind=None)


def assign(name: str, value: Node) -> Node:
    """``name = value``."""
    return gast.Assign(targets=[store(name)], value=value, type_comment=None)


def own_call(func: Node, *args: Node) -> Node:
    """A call that no later pass takes for one of the user's."""
    return mark_generated(gast.Call(func=func, args=list(args), keywords=[]))


def call(ctx: Context, operator: str, *args: Node) -> Node:
    """A call of one of the operators."""
    return own_call(mark_generated(load(ctx.names.operator(operator))), *args)


def arguments(*names: str) -> Node:
    """Plain positional parameters."""
    params = [gast.Name(id=name, ctx=gast.Param(), annotation=None, type_comment=None) for name in names]
    return gast.arguments(
        args=params, posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )


def thunk(value: Node, *params: str) -> Node:
    """``lambda params: value``, made by us."""
    return mark_generated(gast.Lambda(args=arguments(*params), body=value))


def function(name: str, params: Sequence[str], body: list[Node], origin: Node) -> Node:
    """``def name(params): body``, made by us, at the place of `origin`."""
    fields: dict[str, list[Node]] = {"type_params": []} if "type_params" in gast.FunctionDef._fields else {}
    node = gast.FunctionDef(
        name=name,
        args=arguments(*params),
        body=body or [gast.Pass()],
        decorator_list=[],
        returns=None,
        type_comment=None,
        **fields,
    )
    return located(mark_generated(node), origin)


def negation(flag: str) -> Node:
    """``not flag``."""
    return gast.UnaryOp(op=gast.Not(), operand=load(flag))


def any_of(flags: Sequence[str]) -> Node:
    """``a or b or ...``."""
    values = [load(flag) for flag in flags]
    return values[0] if len(values) == 1 else gast.BoolOp(op=gast.Or(), values=values)


def if_statement(test: Node, body: list[Node], orelse: list[Node], origin: Node) -> Node:
    """``if test: body else: orelse`` at the place of `origin`."""
    return located(gast.If(test=test, body=body, orelse=orelse), origin)


def has_walrus(expression: Node) -> bool:
    """Does evaluating this expression bind a name of the function around it?"""
    if isinstance(expression, gast.NamedExpr):
        return True
    if isinstance(expression, gast.Lambda) and not is_generated(expression):
        return False
    return any(has_walrus(child) for child in parts(expression))


def text_of(node: Node) -> str:
    """An expression as one line of text."""
    return ast.unparse(gast.gast_to_ast(gast.Expression(body=node)).body)
