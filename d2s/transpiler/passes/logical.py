"""Turn ``and``, ``or``, ``not``, conditional expressions and chained comparisons into calls of operators."""

from __future__ import annotations

from typing import Any

import gast

from d2s.transpiler.closures import rewrite_bodies
from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node, duplicate, is_generated, located, part_fields
from d2s.transpiler.scopes import user_declared
from d2s.transpiler.selection import is_plain_test
from d2s.transpiler.template import assign, call, function, has_walrus, load, own_call, thunk
from d2s.transpiler.visitors import Rewriter


def run(tree: Node, ctx: Context) -> Node:
    """
    Replace operators that ask for the truth of a value.

    Each operand that may stay unevaluated becomes a lambda.  A walrus in one cannot bind from inside a lambda; it calls
    a small function that binds for it.

    >>> from d2s.transpiler import transpile_source
    >>> print(transpile_source('''
    ... def f(x):
    ...     a = x > 0 and not x
    ...     b = x if 0 < x.sum() < 5 else a
    ...     return a or (c := b)
    ... ''', passes=[run]))
    def f(x):
        c: None
        a = and_(x > 0, lambda : not_(x))
        b = if_exp((lambda middle: and_(0 < middle, lambda : middle < 5))(x.sum()), lambda : x, lambda : a)
    <BLANKLINE>
        def assign_c(value):
            nonlocal c
            c = value
            return value
        return or_(a, lambda : assign_c(b))
    <BLANKLINE>
    """
    rewrite_bodies(tree, lambda function: _Rewriter(ctx, function).block(function.body))
    for statement in tree.body:
        if isinstance(statement, gast.Expr) and isinstance(statement.value, gast.Lambda):
            statement.value = _Rewriter(ctx, None).visit(statement.value)
    return tree


class _Rewriter(Rewriter):
    """Rewrites the expressions of one function, statement by statement."""

    def __init__(self, ctx: Context, user_function: Node | None) -> None:
        self.ctx = ctx
        self.user_function = user_function
        self.lambda_depth = 0
        self.setters: dict[str, Node] = {}
        """Functions that bind a name for a walrus, to be placed before the current statement."""

    # Statements

    def block(self, statements: list[Node]) -> list[Node]:
        done: list[Node] = []
        for statement in statements:
            outer, self.setters = self.setters, {}
            new = self.visit(statement)
            done += [*self.setters.values(), new]
            self.setters = outer
        return done

    def generic_visit(self, node: Node) -> Any:
        for field in part_fields(node.__class__):
            value = getattr(node, field, None)
            if isinstance(value, list) and value and isinstance(value[0], gast.stmt):
                setattr(node, field, self.block(value))
            elif isinstance(value, list):
                value[:] = [self.visit(item) if isinstance(item, gast.AST) else item for item in value]
            elif isinstance(value, gast.AST):
                setattr(node, field, self.visit(value))
        return node

    def visit_FunctionDef(self, node: Node) -> Node:
        if is_generated(node):
            return self.generic_visit(node)
        # The body has its own turn; decorators and defaults belong to the function around it.
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        self.visit_defaults(node.args)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: Node) -> Node:
        # A lambda in a class body does not see the names of the class, so the body stays as it is.
        for field in ("decorator_list", "bases", "keywords"):
            setattr(node, field, [self.visit(part) for part in getattr(node, field)])
        return node

    def visit_AnnAssign(self, node: Node) -> Node:
        node.target = self.visit(node.target)
        node.value = None if node.value is None else self.visit(node.value)
        return node  # annotations are for readers

    def visit_defaults(self, args: Node) -> None:
        args.defaults = [self.visit(default) for default in args.defaults]
        args.kw_defaults = [None if default is None else self.visit(default) for default in args.kw_defaults]

    # Expressions

    def visit_Lambda(self, node: Node) -> Node:
        self.visit_defaults(node.args)
        if not is_generated(node) and has_walrus(node.body):
            # It has variables of its own; to read one that is unbound from a closure would be another error.
            return node
        self.lambda_depth += not is_generated(node)
        node.body = self.visit(node.body)
        self.lambda_depth -= not is_generated(node)
        return node

    def visit_BoolOp(self, node: Node) -> Node:
        self.generic_visit(node)
        if all(is_plain_test(value, self.ctx) for value in node.values[:-1]):
            return node  # the truth of the last operand is not asked here
        if self.keeps(node.values[1:]):
            return node
        operator = "and_" if isinstance(node.op, gast.And) else "or_"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = located(call(self.ctx, operator, value, self.thunk(result)), node)
        return result

    def visit_UnaryOp(self, node: Node) -> Node:
        if not isinstance(node.op, gast.Not) or is_plain_test(node.operand, self.ctx):
            return self.generic_visit(node)
        self.generic_visit(node)
        return located(call(self.ctx, "not_", node.operand), node)

    def visit_IfExp(self, node: Node) -> Node:
        is_plain = is_plain_test(node.test, self.ctx)
        self.generic_visit(node)
        if is_plain or self.keeps([node.body, node.orelse]):
            return node
        return located(call(self.ctx, "if_exp", node.test, self.thunk(node.body), self.thunk(node.orelse)), node)

    def visit_Compare(self, node: Node) -> Node:
        if len(node.ops) == 1 or is_plain_test(node, self.ctx):
            return self.generic_visit(node)
        self.generic_visit(node)
        if self.keeps(node.comparators[1:]):
            return node
        return self.chain(node.left, node.ops, node.comparators, node)

    def chain(self, left: Node, ops: list[Node], comparators: list[Node], origin: Node) -> Node:
        """``left < middle < right``: every term is evaluated once, from left to right, and only as far as needed."""
        middle = comparators[0]
        params: dict[str, Node] = {}
        if not isinstance(middle, (gast.Name, gast.Constant)):
            if not isinstance(left, gast.Constant):  # it is evaluated first, so it has to come in as well
                params[self.ctx.names.stable("left")] = left
                left = load(self.ctx.names.stable("left"))
            params[self.ctx.names.stable("middle")] = middle
            middle = load(self.ctx.names.stable("middle"))
        again = duplicate(middle)
        first = gast.Compare(left=left, ops=ops[:1], comparators=[middle])
        if len(ops) == 2:
            rest = gast.Compare(left=again, ops=ops[1:], comparators=comparators[1:])
        else:
            rest = self.chain(again, ops[1:], comparators[1:], origin)
        both = call(self.ctx, "and_", first, self.thunk(located(rest, origin)))
        if params:
            both = own_call(thunk(both, *params), *params.values())
        return located(both, origin)

    # Lambdas around operands

    def keeps(self, operands: list[Node]) -> bool:
        """Inside a lambda of the user's there is no place for a function that binds for a walrus."""
        nowhere = self.lambda_depth > 0 or self.user_function is None
        return nowhere and any(has_walrus(operand) for operand in operands)

    def thunk(self, operand: Node) -> Node:
        return located(thunk(self.without_walrus(operand)), operand)

    def without_walrus(self, node: Node) -> Node:
        if isinstance(node, gast.NamedExpr):
            return self.setter_call(node)
        if isinstance(node, gast.Lambda) and not is_generated(node):
            return node
        for field in part_fields(node.__class__):
            value = getattr(node, field, None)
            if isinstance(value, list):
                value[:] = [self.without_walrus(item) if isinstance(item, gast.AST) else item for item in value]
            elif isinstance(value, gast.AST):
                setattr(node, field, self.without_walrus(value))
        return node

    def setter_call(self, walrus: Node) -> Node:
        target = walrus.target.id
        name, param = self.ctx.names.stable(f"assign_{target}"), self.ctx.names.stable("value")
        if name not in self.setters:
            is_global = target in user_declared(self.user_function, (gast.Global,))
            declaration = (gast.Global if is_global else gast.Nonlocal)(names=[target])
            give_back = gast.Return(value=load(param))
            body = [declaration, assign(target, load(param)), give_back]
            self.setters[name] = function(name, (param,), body, walrus)
        value = self.without_walrus(walrus.value)
        return located(own_call(load(name), value), walrus)
