"""The trace-only pass: loads, stores and calls become operators too.

It runs on a copy of the converted tree, after the text for ``.code`` was made.  Stores of several kinds in one
statement are taken apart into statements of their own, in the order in which Python does them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node, is_generated, located, walk
from d2s.transpiler.passes.instrument_patterns import LOOKING, is_self_matching, place_of, plain_classes
from d2s.transpiler.passes.instrument_scopes import Scopes, stored_outside
from d2s.transpiler.passes.instrument_stores import DISPLAYS, Stores
from d2s.transpiler.scopes import bound_names
from d2s.transpiler.selection import is_plain_test, reads_frame
from d2s.transpiler.template import assign, call, constant, load, own_call, thunk
from d2s.transpiler.visitors import Visitor

# What a comprehension may hold that sees the scope of the comprehension later, or binds or waits outside of it.
_NEEDS_ITS_SCOPE = (gast.Lambda, gast.GeneratorExp, gast.NamedExpr, gast.Yield, gast.YieldFrom, gast.Await)
# Built-in functions that take all of an iterator, the last two until they know.
_TAKE_ALL = ("sum", "max", "min", "sorted", "list", "tuple", "set", "frozenset", "dict", "any", "all")
_METHODS_THAT_TAKE_ALL = ("join", "extend", "update")
_NEVER_TENSOR = (gast.Is, gast.IsNot)

# Names of the functions of module `operator`.
BINARY = {
    gast.Add: "add",
    gast.Sub: "sub",
    gast.Mult: "mul",
    gast.MatMult: "matmul",
    gast.Div: "truediv",
    gast.FloorDiv: "floordiv",
    gast.Mod: "mod",
    gast.Pow: "pow",
    gast.LShift: "lshift",
    gast.RShift: "rshift",
    gast.BitAnd: "and_",
    gast.BitXor: "xor",
    gast.BitOr: "or_",
}
UNARY = {gast.USub: "neg", gast.UAdd: "pos", gast.Invert: "invert"}
COMPARISONS = {
    gast.Lt: "lt",
    gast.LtE: "le",
    gast.Gt: "gt",
    gast.GtE: "ge",
    gast.Eq: "eq",
    gast.NotEq: "ne",
    gast.Is: "is_",
    gast.IsNot: "is_not",
}


def run(tree: Node, ctx: Context, free: frozenset[str] = frozenset()) -> Node:
    """
    Turn every access that a tracer has to see into the call of an operator.

    Parameters
    ----------
    free : set of str
        Names that the converted function gets from cells outside of it.

    >>> tree = gast.parse('''
    ... def f(x):
    ...     x.a[0] += 1
    ...     return [g(v) for v in x if v]
    ... ''')
    >>> from d2s.transpiler.context import new_context
    >>> print(gast.unparse(run(tree, new_context(tree))).strip())
    def f(x):
        target = attr(x, 'a')
        index = 0
        store_item(target, index, aug('iadd', item(target, index), 1))
        return list_comp(iterate(x), lambda v: call(load_global('g', g), v), lambda v: truth(v))
    """
    definition = tree.body[0]
    _Tests(ctx).visit(definition)
    _Instrument(ctx, free, stored_outside(definition, free)).visit(definition)
    return gast.fix_missing_locations(tree)


class _Tests(Visitor):
    """Finds what is only asked for its truth: there ``and`` and ``or`` need not give an operand."""

    TESTED = frozenset({"if_else", "if_exp", "not_", "assert_", "while_loop"})
    ASKED = MappingProxyType({"and_": "both", "or_": "either"})

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        # The functions that stand for tests of loops, as they were defined last.
        self.tests: dict[str, Node] = {}

    def visit_FunctionDef(self, node: Node) -> None:
        if is_generated(node) and isinstance(node.body[-1], gast.Return):
            self.tests[node.name] = node.body[-1].value
        self.generic_visit(node)

    def operator_of(self, node: Node) -> str | None:
        if isinstance(node, gast.Call) and is_generated(node) and isinstance(node.func, gast.Name):
            return self.ctx.names.operators.get(node.func.id)
        return None

    def visit_Call(self, node: Node) -> None:
        operator = self.operator_of(node)
        if operator in self.TESTED:
            self.asked(node.args[0])
        elif operator == "for_loop" and len(node.args) > 2:
            self.asked(node.args[2])
        self.generic_visit(node)

    def asked(self, test: Node) -> None:
        if isinstance(test, gast.Lambda) and is_generated(test):
            self.asked(test.body)
        if isinstance(test, gast.Name) and test.id in self.tests:
            self.asked(self.tests[test.id])
        operator = self.operator_of(test)
        asked = self.ASKED.get(operator or "")
        if asked is not None:
            test.func.id = self.ctx.names.operator(asked)
            for operand in test.args:
                self.asked(operand)


class _Instrument(Stores):
    def __init__(self, ctx: Context, free: frozenset[str], pending: frozenset[str]) -> None:
        self.ctx = ctx
        self.scopes = Scopes(free)
        self.pending = pending
        self.first_parameters: list[str | None] = []

    def operator(self, name: str, origin: Node, *args: Node) -> Node:
        """A call of an operator at the place of `origin`."""
        return located(call(self.ctx, name, *args), origin)

    # Statements that hooks have moved across

    def visit(self, node: Node) -> Any:
        new = super().visit(node)
        crossed, moved = getattr(node, "crossed_by", ()), getattr(node, "moved_from", None)
        for lines, is_registration in (((moved,), True), (crossed, False)):
            if lines and lines != (None,):
                around = self.operator("crossing", node, constant(lines), constant(is_registration))
                body = new if isinstance(new, list) else [new]
                items = [gast.withitem(context_expr=around, optional_vars=None)]
                new = located(gast.With(items=items, body=body, type_comment=None), node)
        return new

    # Functions and classes

    def visit_FunctionDef(self, node: Node) -> Any:
        if not is_generated(node):
            node.decorator_list = self.decorators(node)
            self.visit_defaults(node.args)
            if hasattr(node, "nested_index"):
                node.decorator_list.append(self.operator("function", node, constant(node.nested_index)))
        with self.scopes.function(node):
            self.enter_parameters(node)
            node.body = self.visit_block(node.body)
            self.leave_parameters(node)
            if node.args.vararg is not None and not is_generated(node):
                node.body.insert(0, self.varargs(node, node.args.vararg.id))
        return node

    def varargs(self, node: Node, name: str) -> Node:
        """``name = varargs(name)`` at the beginning of a function."""
        return located(assign(name, call(self.ctx, "varargs", load(name))), node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: Node) -> Any:
        self.visit_defaults(node.args)
        with self.scopes.function(node):
            self.enter_parameters(node)
            node.body = self.visit(node.body)
            self.leave_parameters(node)
        if is_generated(node) or not hasattr(node, "nested_index"):
            return node
        wrapper = self.operator("function", node, constant(node.nested_index))
        return located(own_call(wrapper, node), node)

    def enter_parameters(self, node: Node) -> None:
        if not is_generated(node):
            positional = [*node.args.posonlyargs, *node.args.args]
            self.first_parameters.append(positional[0].id if positional else None)

    def leave_parameters(self, node: Node) -> None:
        if not is_generated(node):
            self.first_parameters.pop()

    def visit_defaults(self, args: Node) -> None:
        args.defaults = [self.visit(default) for default in args.defaults]
        args.kw_defaults = [None if default is None else self.visit(default) for default in args.kw_defaults]

    def visit_ClassDef(self, node: Node) -> Any:
        node.decorator_list = [*self.decorators(node), self.operator("made_class", node)]
        node.bases = [self.operator("base", part, self.visit(part)) for part in node.bases]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
            if keyword.arg == "metaclass":
                keyword.value = self.operator("base", keyword.value, keyword.value)
        with self.scopes.class_body(node):
            node.body = self.visit_block(node.body)
        node.body.append(located(gast.Expr(self.operator("class_body", node)), node))
        return node

    def decorators(self, node: Node) -> list[Node]:
        """Decorators whose calls are seen."""
        return [self.operator("decorator", part, self.visit(part)) for part in node.decorator_list]

    # Imports

    def visit_Import(self, node: Node) -> Any:
        return [node, *(
            statement for alias in node.names
            for statement in self.imported(node, alias.asname or alias.name.partition(".")[0], alias.name, 0, None))]

    def visit_ImportFrom(self, node: Node) -> Any:
        return [node, *(
            statement for alias in node.names
            for statement in self.imported(
                node, alias.asname or alias.name, node.module or "", node.level or 0, alias.name))]

    def imported(self, node: Node, bound: str, module: str, level: int, name: str | None) -> list[Node]:
        """What was imported is read once more, by an operator."""
        if self.scopes.kind(bound) != "local":
            return []
        value = self.operator("imported", node, constant(module), constant(level), constant(name), load(bound))
        return [located(assign(bound, value), node)]

    def visit_block(self, statements: list[Node]) -> list[Node]:
        done: list[Node] = []
        for statement in statements:
            new = self.visit(statement)
            done += new if isinstance(new, list) else [new]
        return done

    # Reads

    def visit_Name(self, node: Node) -> Any:
        if not isinstance(node.ctx, gast.Load) or is_generated(node) or node.id == "__class__":
            return node
        kind = self.scopes.kind(node.id)
        if kind not in ("global", "free"):
            return node
        if node.id in self.pending:
            return self.operator(f"load_{kind}_pending", node, constant(node.id), thunk(node))
        return self.operator(f"load_{kind}", node, constant(node.id), node)

    def visit_Attribute(self, node: Node) -> Any:
        node.value = self.visit(node.value)
        return self.operator("attr", node, node.value, constant(self.scopes.mangled(node.attr)))

    def visit_Subscript(self, node: Node) -> Any:
        return self.operator("item", node, self.visit(node.value), self.index(node.slice))

    def index(self, node: Node) -> Node:
        """The object that ``[...]`` passes on."""
        if isinstance(node, gast.Slice):
            bounds = [constant(None) if b is None else self.visit(b) for b in (node.lower, node.upper, node.step)]
            return self.operator("slice_", node, *bounds)
        if isinstance(node, gast.Tuple):
            node.elts = [self.index(element) for element in node.elts]
            return node
        return self.visit(node)

    # Calls and operators

    def visit_Call(self, node: Node) -> Any:
        is_operator = is_generated(node)
        name = node.func.id if isinstance(node.func, gast.Name) else None
        takes_all = name in _TAKE_ALL or getattr(node.func, "attr", None) in _METHODS_THAT_TAKE_ALL
        if name == "super" and not (node.args or node.keywords) and self.first_parameters[-1] is not None:
            node.args = [located(load(part), node) for part in ("__class__", self.first_parameters[-1])]
        # Called through an operator, these would look at the operator's frame.  What `eval` runs is not traced.
        keeps_frame = (reads_frame(node) and name not in ("eval", "exec")) or (
            name in ("globals", "super") and not node.args)
        if not keeps_frame:
            node.func = self.visit(node.func)
        takes_all = takes_all and (len(node.args) == 1 or name == "sum") and isinstance(
            next(iter(node.args), None), gast.GeneratorExp)
        is_lazy = name in ("any", "all") or len(node.args) > 1  # what it starts with is evaluated before the items
        if not is_operator and not keeps_frame:
            for arg in node.args:
                if isinstance(arg, gast.Starred):
                    arg.value = self.spread(arg.value)
        node.args = [
            self.generator(arg, is_lazy) if takes_all and arg is node.args[0]
            else arg if isinstance(arg, gast.Starred) and not (is_operator or keeps_frame) else self.visit(arg)
            for arg in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        if is_operator or keeps_frame:
            return node
        wrapped = self.operator("call", node, node.func, *node.args)
        wrapped.keywords = node.keywords
        return wrapped

    def visit_BinOp(self, node: Node) -> Any:
        self.generic_visit(node)
        if isinstance(node.left, gast.Constant) and isinstance(node.right, gast.Constant):
            return node
        return self.operator("binary", node, constant(BINARY[type(node.op)]), node.left, node.right)

    def visit_UnaryOp(self, node: Node) -> Any:
        self.generic_visit(node)
        if type(node.op) not in UNARY or isinstance(node.operand, gast.Constant):
            return node
        return self.operator("unary", node, constant(UNARY[type(node.op)]), node.operand)

    def visit_Starred(self, node: Node) -> Any:
        node.value = self.visit(node.value)
        if isinstance(node.ctx, gast.Load):
            node.value = self.operator("iterate", node.value, node.value)
        return node

    def visit_YieldFrom(self, node: Node) -> Any:
        value = self.visit(node.value)
        node.value = self.operator("iterate", value, value)
        return node

    def visit_List(self, node: Node) -> Any:
        if not isinstance(node.ctx, gast.Load) or not any(isinstance(part, gast.Starred) for part in node.elts):
            return self.generic_visit(node)
        for part in node.elts:
            if isinstance(part, gast.Starred):
                part.value = self.spread(part.value)
        node.elts = [part if isinstance(part, gast.Starred) else self.visit(part) for part in node.elts]
        return self.operator("displayed", node, node)

    visit_Tuple = visit_List

    def spread(self, value: Node) -> Node:
        """What ``*value`` spreads out."""
        value = self.visit(value)
        return self.operator("spread", value, value)

    def visit_keyword(self, node: Node) -> Any:
        node.value = self.visit(node.value)
        if node.arg is None:
            node.value = self.operator("mapping", node.value, node.value)
        return node

    def visit_Dict(self, node: Node) -> Any:
        node.keys = [None if key is None else self.visit(key) for key in node.keys]
        values = [self.visit(value) for value in node.values]
        node.values = [
            self.operator("mapping", value, value) if key is None else value
            for key, value in zip(node.keys, values, strict=True)
        ]
        if None in node.keys or all(isinstance(key, gast.Constant) for key in node.keys):
            return node
        pairs = [_tuple(pair) for pair in zip(node.keys, node.values, strict=True)]
        return self.operator("dict_of", node, _tuple(pairs))

    def visit_Set(self, node: Node) -> Any:
        parts = [self.visit(part) for part in node.elts]
        if all(isinstance(part, gast.Constant) for part in parts):
            return node
        return self.operator("set_of", node, _tuple(parts))

    def visit_Compare(self, node: Node) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            return self.operator(
                "binary", node, constant(COMPARISONS[type(node.ops[0])]), node.left, node.comparators[0]
            )
        if len(node.ops) != 1 or not isinstance(node.ops[0], (gast.In, gast.NotIn)):
            return node
        element, container = node.left, node.comparators[0]
        if isinstance(element, (gast.Name, gast.Constant)):
            found = self.operator("contains", node, container, element)
        else:  # Python evaluates the element first
            names = self.ctx.names.stable("element"), self.ctx.names.stable("container")
            inner = call(self.ctx, "contains", load(names[1]), load(names[0]))
            found = located(own_call(thunk(inner, *names), element, container), node)
        return found if isinstance(node.ops[0], gast.In) else self.operator("not_", node, found)

    def visit_JoinedStr(self, node: Node) -> Any:
        if all(isinstance(part, gast.Constant) for part in node.values):
            return node
        return self.operator("join_text", node, *(self.visit(part) for part in node.values))

    def visit_FormattedValue(self, node: Node) -> Any:
        conversion = None if node.conversion == -1 else chr(node.conversion)
        spec = constant("") if node.format_spec is None else self.visit(node.format_spec)
        return self.operator("format_value", node.value, self.visit(node.value), constant(conversion), spec)

    # Conditions and iterables that stayed in Python

    def truth(self, test: Node) -> Node:
        is_plain = is_plain_test(test, self.ctx) and not any(
            isinstance(part, gast.Compare) and not all(isinstance(op, _NEVER_TENSOR) for op in part.ops)
            for part in walk(test)
        )
        new = self.visit(test)
        return new if is_plain else self.operator("truth", test, new)

    def visit_If(self, node: Node) -> Any:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.visit_block(node.body), self.visit_block(node.orelse)
        return node

    visit_While = visit_If

    def visit_IfExp(self, node: Node) -> Any:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Assert(self, node: Node) -> Any:
        node.test = self.truth(node.test)
        node.msg = None if node.msg is None else self.visit(node.msg)
        return node

    def visit_comprehension_expression(self, node: Node) -> Any:
        self.visit_parts(node)
        return self.with_targets_apart(node)

    def visit_parts(self, node: Node) -> None:
        """Convert what a comprehension is made of."""
        first = node.generators[0]
        first.iter = self.iterated(first)  # evaluated in the scope around
        with self.scopes.comprehension(node):
            for generator in node.generators:
                if generator is not first:
                    generator.iter = self.iterated(generator)
                generator.ifs = [self.truth(test) for test in generator.ifs]
            for field in ("elt", "key", "value"):
                if hasattr(node, field):
                    setattr(node, field, self.visit(getattr(node, field)))

    def visit_ListComp(self, node: Node) -> Any:
        """``[elt for target in iter if test]``: of some things to run over only the run knows how many there are."""
        if not self.is_plain(node, node.elt):
            return self.visit_comprehension_expression(node)
        self.visit_parts(node)
        if len(node.generators) == 1:
            return self.operator("list_comp", node, *self.taken_apart(node.generators[0], node.elt))
        name = self.ctx.names.fresh("item")
        return self.operator(
            "list_comp", node, self.operator("iterate", node, self.nested(node, node.elt)), thunk(load(name), name))

    def generator(self, node: Node, is_lazy: bool) -> Any:
        """The same of a generator expression that a built-in function is given."""
        if len(node.generators) != 1 or not self.is_plain(node, node.elt):
            return self.visit_comprehension_expression(node)
        self.visit_parts(node)
        return self.operator("generator", node, constant(is_lazy), *self.taken_apart(node.generators[0], node.elt))

    def nested(self, node: Node, elt: Node) -> Any:
        """What a plain comprehension gives, as something to run over."""
        *around, last = node.generators
        made = self.operator("generator", node, constant(False), *self.taken_apart(last, elt))
        for generator in reversed(around):
            made = self.operator("nested", node, *self.taken_apart(generator, made))
        return made

    def is_plain(self, node: Node, *elements: Node) -> bool:
        """True for a comprehension whose parts can stand in functions of their own."""
        first = node.generators[0]
        later = [generator.iter for generator in node.generators if generator is not first]
        tests = [test for generator in node.generators for test in generator.ifs]
        return (
            all(_is_plain_target(generator.target) for generator in node.generators)
            and not any(generator.is_async for generator in node.generators) and not self.scopes.is_class_body
            and not any(isinstance(part, _NEEDS_ITS_SCOPE) for whole in (*elements, *later, *tests)
                        for part in walk(whole)))

    def taken_apart(self, generator: Node, elt: Node) -> list[Node]:
        """What a loop of a plain comprehension runs over, its element and its test as functions."""
        tests = generator.ifs if len(generator.ifs) < 2 else [gast.BoolOp(op=gast.And(), values=generator.ifs)]
        if isinstance(generator.target, gast.Name):
            return [generator.iter, *(thunk(part, generator.target.id) for part in (elt, *tests))]
        name = self.ctx.names.fresh("item")
        return [generator.iter, *(thunk(self.applied(part, generator.target, name), name) for part in (elt, *tests))]

    def applied(self, part: Node, target: Node, item: str) -> Node:
        """``(lambda a, b: part)(*item)``; a display among the targets is taken apart inside."""
        names = [self.ctx.names.fresh("part") if isinstance(one, DISPLAYS) else one.id for one in target.elts]
        for one, name in zip(target.elts, names, strict=True):
            if isinstance(one, DISPLAYS):
                part = self.applied(part, one, name)
        # Of several targets of one name, as in `for _, _, x in ...`, the last one counts.
        names = [self.ctx.names.fresh(name) if name in names[place + 1 :] else name for place, name in enumerate(names)]
        parts = self.operator("parts", part, load(item), constant(len(names)))
        starred = gast.Starred(value=parts, ctx=gast.Load())
        return located(gast.Call(func=thunk(part, *names), args=[starred], keywords=[]), part)

    visit_GeneratorExp = visit_comprehension_expression

    def visit_DictComp(self, node: Node) -> Any:
        return self.made_of(
            "dict_of", node, lambda: located(_tuple((node.key, node.value)), node), node.key, node.value)

    def visit_SetComp(self, node: Node) -> Any:
        return self.made_of("set_of", node, lambda: node.elt, node.elt)

    def made_of(self, operator: str, node: Node, part: Callable[[], Node], *elements: Node) -> Any:
        """A comprehension as what is made of a generator."""
        if self.is_plain(node, *elements):
            self.visit_parts(node)
            return self.operator(operator, node, self.nested(node, part()))
        self.visit_comprehension_expression(node)
        if any(generator.is_async for generator in node.generators) or any(
                isinstance(inner, gast.Await) for inner in walk(node)):
            return node
        return self.operator(operator, node, located(gast.GeneratorExp(part(), node.generators), node))

    def iterated(self, node: Node) -> Node:
        new = self.visit(node.iter)
        is_async = getattr(node, "is_async", False) or isinstance(node, gast.AsyncFor)
        return new if is_async else self.operator("iterate", node.iter, new)

    def visit_Match(self, node: Node) -> Any:
        patterns = [case.pattern for case in node.cases]
        asked = [] if self.scopes.is_class_body else plain_classes(patterns, self.ctx)
        types_at, looks_at = (place_of(patterns, kinds, asked) for kinds in (gast.MatchClass, LOOKING))
        subject = self.visit(node.subject)
        node.subject = self.operator("matched", node.subject, subject, constant(types_at), constant(looks_at))
        before = [self.asked_class(pattern) for pattern in asked]
        node.cases = [self.visit(case) for case in node.cases]
        return [*before, node]

    def asked_class(self, pattern: Node) -> Node:
        """Put a class that asks for itself when the pattern does in the place of that of a pattern."""
        base = [load(pattern.cls.id)] if is_self_matching(pattern, self.ctx) else []
        name, cls = self.ctx.names.fresh("kind"), pattern.cls
        pattern.cls = located(load(name), cls)
        made = self.operator("pattern_class", cls, thunk(self.visit(cls)), *base)
        return located(assign(name, made), cls)

    def visit_match_case(self, node: Node) -> Any:
        node.guard = None if node.guard is None else self.truth(node.guard)
        node.body = self.visit_block(node.body)
        return node  # patterns are no expressions


def _is_plain_target(target: Node) -> bool:
    """True for a name, and for displays of names of which none is bound twice in different displays."""
    if isinstance(target, gast.Name):
        return True
    if not isinstance(target, DISPLAYS):
        return False
    inner = [name for part in target.elts if isinstance(part, DISPLAYS) for name in bound_names(part)]
    outer = [part.id for part in target.elts if isinstance(part, gast.Name)]
    return all(map(_is_plain_target, target.elts)) and len({*inner, *outer}) == len(inner) + len({*outer})


def _tuple(parts: Iterable[Node]) -> Node:
    return gast.Tuple(elts=list(parts), ctx=gast.Load())
