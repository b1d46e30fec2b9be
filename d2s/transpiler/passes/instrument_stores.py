"""Statements that store, taken apart into stores that are operators."""

from __future__ import annotations

import copy
from typing import Any

import gast

from d2s.transpiler.context import Context
from d2s.transpiler.nodes import Node, is_generated, located
from d2s.transpiler.passes.instrument_scopes import Scopes
from d2s.transpiler.template import assign, constant, load, own_call, store, thunk
from d2s.transpiler.visitors import Rewriter

DISPLAYS = (gast.Tuple, gast.List)
_IN_PLACE = {
    gast.Add: "iadd",
    gast.Sub: "isub",
    gast.Mult: "imul",
    gast.MatMult: "imatmul",
    gast.Div: "itruediv",
    gast.FloorDiv: "ifloordiv",
    gast.Mod: "imod",
    gast.Pow: "ipow",
    gast.LShift: "ilshift",
    gast.RShift: "irshift",
    gast.BitAnd: "iand",
    gast.BitXor: "ixor",
    gast.BitOr: "ior",
}


class Stores(Rewriter):
    """The half of the instrumenting visitor that deals with targets."""

    ctx: Context
    scopes: Scopes

    def index(self, node: Node) -> Node:
        """The object that ``[...]`` passes on."""
        raise NotImplementedError

    def operator(self, name: str, origin: Node, *args: Node) -> Node:
        """A call of an operator at the place of `origin`."""
        raise NotImplementedError

    def iterated(self, node: Node) -> Node:
        """The iterable of a loop or comprehension."""
        raise NotImplementedError

    def visit_block(self, statements: list[Node]) -> list[Node]:
        """The statements, each replaced by what stands for it."""
        raise NotImplementedError

    # Targets

    def is_native(self, target: Node) -> bool:
        """Is this target only names that Python may bind itself?"""
        if isinstance(target, gast.Name):
            return self.scopes.kind(target.id) in ("local", "class")
        if isinstance(target, DISPLAYS):
            # What is taken apart inside of it has to be read through the trace, too.
            parts = [part.value if isinstance(part, gast.Starred) else part for part in target.elts]
            return all(not isinstance(part, DISPLAYS) and self.is_native(part) for part in parts)
        return False

    def stores(self, target: Node, value: str, is_part: bool = False) -> list[Node]:
        """Statements that store the variable `value`, or such a part of one, into `target`."""
        found = load(value)
        if is_part and isinstance(target, DISPLAYS):
            found = self.taken_apart_once(target, found)
        if self.is_native(target):
            statement = gast.Assign(targets=[target], value=found, type_comment=None)
        elif isinstance(target, DISPLAYS):
            return self.unpacked(target, found)
        else:
            statement = gast.Expr(value=self.store_call(target, found))
        return [located(statement, target)]

    def unpacked(self, target: Node, value: Node) -> list[Node]:
        """Unpack into temporaries first: Python, too, unpacks before it evaluates the first target."""
        temporaries: list[str] = []
        pattern: list[Node] = []
        for element in target.elts:
            temporaries.append(self.ctx.names.fresh("part"))
            name = store(temporaries[-1])
            pattern.append(gast.Starred(value=name, ctx=gast.Store()) if isinstance(element, gast.Starred) else name)
        whole = gast.Tuple(elts=pattern, ctx=gast.Store())
        done = [located(gast.Assign(targets=[whole], value=value, type_comment=None), target)]
        for element, temporary in zip(target.elts, temporaries, strict=True):
            inner = element.value if isinstance(element, gast.Starred) else element
            done += self.stores(inner, temporary, is_part=True)
        return done

    def taken_apart_once(self, target: Node, value: Node) -> Node:
        """What the parts of a display of targets are taken from: the trace has to see which there are."""
        return self.operator("unpack", target, value, *map(constant, self.counts(target)))

    def with_targets_apart(self, node: Node) -> Node:
        """A comprehension in which the trace sees what targets take apart."""
        if not self.scopes.is_class_body:
            node.generators = [part for generator in node.generators for part in self.clauses(generator)]
        return node

    def clauses(self, generator: Node) -> list[Node]:
        """``for a, b in parts`` as ``for item in parts for a, b in (unpack(item),)``: the trace sees what is taken."""
        if not isinstance(generator.target, DISPLAYS):
            return [generator]
        name = self.ctx.names.fresh("item")
        made = [
            gast.comprehension(store(name), generator.iter, [], generator.is_async),
            *self.inner_clauses(generator.target, load(name))]
        made[-1].ifs = generator.ifs
        return made

    def inner_clauses(self, target: Node, value: Node) -> list[Node]:
        parts: list[Node] = []
        behind: list[Node] = []
        for part in target.elts:
            if isinstance(part, DISPLAYS):
                name = self.ctx.names.fresh("part")
                behind += self.inner_clauses(part, load(name))
                part = store(name)
            parts.append(part)
        once = gast.Tuple(elts=[self.taken_apart_once(target, value)], ctx=gast.Load())
        return [gast.comprehension(gast.Tuple(elts=parts, ctx=gast.Store()), once, [], 0), *behind]

    @staticmethod
    def counts(target: Node) -> tuple[int, ...]:
        """How many targets there are, or how many before and behind the starred one."""
        starred = [place for place, part in enumerate(target.elts) if isinstance(part, gast.Starred)]
        return (starred[0], len(target.elts) - starred[0] - 1) if starred else (len(target.elts),)

    def store_call(self, target: Node, value: Node) -> Node:
        """The operator that stores into an attribute, an item, a global or an outer cell."""
        if isinstance(target, gast.Name):
            return self.operator(f"store_{self.scopes.kind(target.id)}", target, constant(target.id), value)
        owner = self.visit(target.value)
        if isinstance(target, gast.Attribute):
            return self.operator("store_attr", target, owner, constant(self.scopes.mangled(target.attr)), value)
        return self.operator("store_item", target, owner, self.index(target.slice), value)

    def temporary(self, base: str, value: Node) -> tuple[str, Node]:
        """A variable for a value that is needed more than once, or before something else."""
        name = self.ctx.names.stable(base)
        return name, located(assign(name, value), value)

    # Statements

    def visit_Assign(self, node: Node) -> Any:
        node.value = self.visit(node.value)
        displays = [target for target in node.targets if isinstance(target, DISPLAYS)]
        if len(node.targets) == 1 and displays and not isinstance(node.value, DISPLAYS):
            node.value = self.taken_apart_once(node.targets[0], node.value)
        is_simple = len(node.targets) == 1 or not displays
        if self.scopes.is_class_body or (is_simple and all(map(self.is_native, node.targets))):
            return node
        # Python evaluates the value before the targets; of several, each takes it apart by itself.
        name, keep = self.temporary("stored", node.value)
        return [keep, *(part for target in node.targets for part in self.stores(target, name, not is_simple))]

    def visit_AnnAssign(self, node: Node) -> Any:
        if node.value is None:
            return node
        if self.scopes.is_class_body or self.is_native(node.target):
            node.value = self.visit(node.value)
            return node
        return self.visit_Assign(located(gast.Assign([node.target], node.value, None), node))

    def visit_AugAssign(self, node: Node) -> Any:
        if self.scopes.is_class_body:
            node.value = self.visit(node.value)
            return node
        operation, target = constant(_IN_PLACE[type(node.op)]), node.target
        if isinstance(target, gast.Name):
            old = self.visit(gast.copy_location(load(target.id), target))
            new = self.operator("aug", node, operation, old, self.visit(node.value))
            if self.is_native(target):
                return located(gast.Assign(targets=[target], value=new, type_comment=None), node)
            return located(gast.Expr(value=self.store_call(target, new)), node)
        owner, keep_owner = self.temporary("target", self.visit(target.value))
        if isinstance(target, gast.Attribute):
            key, before = constant(self.scopes.mangled(target.attr)), [keep_owner]
            read, write = "attr", "store_attr"
        else:
            index, keep_index = self.temporary("index", self.index(target.slice))
            key, before = load(index), [keep_owner, keep_index]
            read, write = "item", "store_item"
        old = self.operator(read, target, load(owner), key)
        # The value may hold an augmented assignment no more than any expression: the temporaries survive it.
        new = self.operator("aug", node, operation, old, self.visit(node.value))
        again = load(key.id) if isinstance(key, gast.Name) else constant(key.value)
        stored = self.operator(write, target, load(owner), again, new)
        return [*before, located(gast.Expr(value=stored), node)]

    def visit_Delete(self, node: Node) -> Any:
        if self.scopes.is_class_body:
            return node
        return [statement for target in node.targets for statement in self.deletions(target)]

    def deletions(self, target: Node) -> list[Node]:
        if isinstance(target, DISPLAYS):
            return [statement for element in target.elts for statement in self.deletions(element)]
        if self.is_native(target):
            return [located(gast.Delete(targets=[target]), target)]
        if isinstance(target, gast.Name):
            gone = self.operator(f"delete_{self.scopes.kind(target.id)}", target, constant(target.id))
        elif isinstance(target, gast.Attribute):
            name = constant(self.scopes.mangled(target.attr))
            gone = self.operator("delete_attr", target, self.visit(target.value), name)
        else:
            gone = self.operator("delete_item", target, self.visit(target.value), self.index(target.slice))
        return [located(gast.Expr(value=gone), target)]

    def visit_NamedExpr(self, node: Node) -> Any:
        node.value = self.visit(node.value)
        if self.is_native(node.target):
            return node
        # A store is a statement's operator and gives nothing back: pass the value round it.
        given = self.ctx.names.stable("given")
        pair = gast.Tuple(elts=[self.store_call(node.target, load(given)), load(given)], ctx=gast.Load())
        last = gast.Subscript(value=pair, slice=constant(1), ctx=gast.Load())
        return located(own_call(thunk(last, given), node.value), node)

    # Targets of compound statements

    def visit_For(self, node: Node) -> Any:
        node.iter = self.iterated(node)
        before: list[Node] = []
        is_simple = self.is_native(node.target) and not isinstance(node.target, DISPLAYS)
        if not (self.scopes.is_class_body or is_simple):
            name = self.ctx.names.fresh("stored")
            before = self.stores(node.target, name, is_part=True)
            node.target = located(store(name), node.target)
        node.body = [*before, *self.visit_block(node.body)]
        node.orelse = self.visit_block(node.orelse)
        return node

    visit_AsyncFor = visit_For

    def visit_Try(self, node: Node) -> Any:
        self.generic_visit(node)
        caught = {"body": node.handlers, **({"orelse": []} if node.finalbody and node.orelse else {})}
        for field, handlers in caught.items():
            statements = getattr(node, field)
            is_known = isinstance(node, gast.Try) and not self.scopes.is_class_body
            told = self._handled(handlers) if is_known else []
            item = gast.withitem(context_expr=self.operator("attempt", statements[0], *told), optional_vars=None)
            setattr(node, field, [located(gast.With(items=[item], body=statements, type_comment=None), statements[0])])
        for block in (*(handler.body for handler in node.handlers), node.finalbody):
            if block:
                block.insert(0, located(gast.Expr(value=self.operator("caught", block[0])), block[0]))
        return node

    visit_TryStar = visit_Try

    def _handled(self, handlers: list[Node]) -> list[Node]:
        """What is told of the handlers around a body: what they catch, and whether one names what it has caught."""
        types = [constant(None) if handler.type is None else copy.deepcopy(handler.type) for handler in handlers]
        if any(isinstance(part, (gast.NamedExpr, gast.Await)) for found in types for part in gast.walk(found)):
            return []
        caught = thunk(gast.Tuple(elts=types, ctx=gast.Load()))
        return [caught, constant(any(handler.name is not None for handler in handlers))]

    def visit_With(self, node: Node) -> Any:
        if is_generated(node):
            return self.generic_visit(node)
        enters = isinstance(node, gast.With)
        first, rest = node.items[0], node.items[1:]
        first.context_expr = self.visit(first.context_expr)
        if enters:
            first.context_expr = self.operator("enter", first.context_expr, first.context_expr)
        before: list[Node] = []
        target = first.optional_vars
        is_simple = target is None or (self.is_native(target) and not isinstance(target, DISPLAYS))
        if not (self.scopes.is_class_body or is_simple):
            name = self.ctx.names.fresh("stored")
            before = self.stores(target, name, is_part=True)
            first.optional_vars = located(store(name), target)
        if rest:  # one manager is entered, and its target stored, before the next is evaluated
            inner = located(type(node)(items=rest, body=node.body, type_comment=None), node)
            body = self.visit_With(inner)
            node.items, node.body = [first], [*before, body]
        else:
            node.body = [*before, *self.visit_block(node.body)]
        return node

    visit_AsyncWith = visit_With
