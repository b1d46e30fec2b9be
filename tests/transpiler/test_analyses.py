"""What the analyses say of random programs, held against def-use chains made by beniget."""

from __future__ import annotations

import beniget
import gast
from hypothesis import HealthCheck, assume, given, settings

from d2s.transpiler.context import new_context
from d2s.transpiler.definite import mark_maybe_unbound
from d2s.transpiler.passes import fence, lifetimes
from d2s.transpiler.scopes import local_names, user_declared
from d2s.transpiler.selection import has_exit, keeps_control_flow
from tests.transpiler.test_generated_programs import programs

REGIONS = (gast.If, gast.While, gast.For)
quiet = settings(deadline=None, suppress_health_check=list(HealthCheck))


class Chains:
    """Definitions and uses of the local names of the one function in a text."""

    def __init__(self, text):
        try:
            compile(text, "<random>", "exec")
        except SyntaxError:
            assume(False)
        self.tree = gast.parse(text)
        self.function = self.tree.body[0]
        self.chains = beniget.DefUseChains("<random>")
        self.chains.visit(self.tree)
        self.locals = self.chains.locals[self.function]
        # beniget takes the inside of `def inner()` with its nonlocal for a scope of its own.
        self.shared = {name for node in gast.walk(self.function) if isinstance(node, gast.Nonlocal)
                       for name in node.names}

    def pairs(self):
        """(name, node that defines it, node that reads it), in the function itself."""
        inner = {id(part) for node in gast.walk(self.function)
                 if isinstance(node, (gast.FunctionDef, gast.Lambda)) and node is not self.function
                 for part in gast.walk(node)}
        # What an augmented assignment binds is no local of the function there.
        stores = [found for found in self.chains.chains.values()
                  if isinstance(found.node, gast.Name) and isinstance(found.node.ctx, gast.Store)]
        for definition in {*self.locals, *stores}:
            for use in definition.users():
                if isinstance(use.node, gast.Name) and id(use.node) not in inner:
                    yield definition.name(), definition.node, use.node


@quiet
@given(text=programs())
def test_local_names_are_those_with_definitions(text):
    chains = Chains(text)
    found = {definition.name() for definition in chains.locals}
    ours = local_names(chains.function)
    assert found - set(user_declared(chains.function)) <= ours
    # A name that is only deleted, or bound in code that control never reaches, has no definition there.
    bound = {node.id for node in gast.walk(chains.function)
             if isinstance(node, gast.Name) and isinstance(node.ctx, (gast.Store, gast.Del, gast.Param))}
    assert ours <= found | bound | {"inner", "c", "d"}


@quiet
@given(text=programs())
def test_a_read_without_definition_may_be_unbound(text):
    chains = Chains(text)
    mark_maybe_unbound(chains.function)
    defined = {id(use) for _, _, use in chains.pairs()}
    names = local_names(chains.function)
    reachable = Reachable()
    reachable.block(chains.function.body)
    for node in gast.walk(chains.function):
        is_read = isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load) and node.id in names - chains.shared
        if is_read and id(node) in reachable.reads - reachable.mixed and id(node) not in defined:
            assert getattr(node, "maybe_unbound", False), f"{node.id} in line {node.lineno}\n{text}"


def leaves(statement):
    """Does no path run past this statement, by what it says?"""
    def ends(block):
        return any(map(leaves, block))

    if isinstance(statement, gast.If):
        return ends(statement.body) and ends(statement.orelse)
    if isinstance(statement, (gast.For, gast.While)):
        return ends(statement.orelse) and not breaks(statement.body)
    if isinstance(statement, gast.Try):
        normal = ends(statement.body) or ends(statement.orelse)
        return ends(statement.finalbody) or (normal and all(ends(handler.body) for handler in statement.handlers))
    if isinstance(statement, gast.Match):
        last = statement.cases[-1]
        return last.guard is None and getattr(last.pattern, "pattern", 0) is None and all(
            ends(case.body) for case in statement.cases)
    return isinstance(statement, (gast.Return, gast.Raise, gast.Break, gast.Continue))


def breaks(block):
    """May a break in this block, outside of dead code, end the loop around it?"""
    for statement in block:
        inner = [part for field in ("body", "orelse", "finalbody") for part in [getattr(statement, field, [])]]
        inner += [part.body for field in ("handlers", "cases") for part in getattr(statement, field, [])]
        is_loop = isinstance(statement, (gast.For, gast.While))
        if isinstance(statement, gast.Break) or any(map(breaks, inner[1:] if is_loop else inner)):
            return True
        if leaves(statement):
            return False
    return False


class Reachable(gast.NodeVisitor):
    """The nodes that stand in the function itself, not behind a statement that always leaves."""

    def __init__(self):
        self.reads = set()
        self.mixed = set()

    def block(self, statements):
        for statement in statements:
            self.visit(statement)
            if leaves(statement):
                break

    def generic_visit(self, node):
        self.reads.add(id(node))
        if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
            # beniget finds no definition for what is added to a name itself.
            self.mixed |= {id(part) for part in gast.walk(node.value)}
        for _, value in gast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], gast.stmt):
                self.block(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, gast.AST):
                        self.visit(item)
            elif isinstance(value, gast.AST):
                self.visit(value)

    def visit_Name(self, node):
        self.reads.add(id(node))

    def visit_FunctionDef(self, node):
        """Functions inside read when they are called."""
        self.reads.add(id(node))

    visit_Lambda = visit_FunctionDef


@quiet
@given(text=programs())
def test_what_goes_into_or_out_of_a_region_is_wanted(text):
    chains = Chains(text)
    ctx = new_context(chains.tree)
    reachable = Reachable()
    reachable.block(chains.function.body)
    nodes = reachable.reads | {id(part) for part in gast.walk(chains.function.args)}
    pairs = [pair for pair in chains.pairs() if id(pair[1]) in nodes and id(pair[2]) in nodes]
    fence.run(chains.tree, ctx)
    lifetimes.run(chains.tree, ctx)
    if keeps_control_flow(chains.function) or any(
            has_exit(node.finalbody) for node in gast.walk(chains.function) if isinstance(node, gast.Try)):
        return  # beniget does not follow a `finally` that leaves
    branches = [block for node in gast.walk(chains.function) if isinstance(node, gast.If)
                for block in (node.body, node.orelse) if any(map(leaves, block))]
    leaving = [{id(part) for statement in block for part in gast.walk(statement)} for block in branches]
    for region in gast.walk(chains.function):
        if not isinstance(region, REGIONS) or not hasattr(region, "wanted"):
            continue
        blocks = [id(part) for block in (region.body, region.orelse) for statement in block
                  for part in gast.walk(statement)]
        inside = set(blocks)
        for name, definition, use in pairs:
            if any(id(definition) in branch and id(use) not in branch for branch in leaving):
                continue  # beniget lets it go on behind a return
            if (id(definition) in inside) != (id(use) in inside) and is_near(region, definition, use):
                assert name in region.wanted, f"{name} of line {region.lineno}\n{text}"


def is_near(region, definition, use):
    """False for the target of a `for` and the test of the region itself, which stand between inside and outside."""
    own = {id(part) for field in ("test", "target", "iter") if hasattr(region, field)
           for part in gast.walk(getattr(region, field))}
    return id(definition) not in own and id(use) not in own
