"""A Program as a graph to be drawn: what the text form says, without the bookkeeping between operators."""

from __future__ import annotations

import inspect
import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from d2s.drawing.graph import Edge, Graph, Group, Node
from d2s.drawing.languages import dot_of, mermaid_of
from d2s.drawing.page import page_of_graph
from d2s.drawing.svg import svg_of
from d2s.static.printer import HIDDEN_ATTRIBUTES, Printer, place_of, text_of
from d2s.static.program import Block, Operator, Program, Value

_LONGEST = 34
# They compute nothing that the reader of a picture looks for: their output counts as their input.
_SAME_VALUE = frozenset(("hook_point", "materialise", "check_bound", "constant", "reload", "replace"))
_UNSEEN = frozenset(
    ("check_input", "check_version", "check_chosen", "check_output", "contributed", "is_present", "has_turns",
     "is_first_turn", "branch_of", "modified_in_place", "already_used", "version"))
_REGIONS = {"cond": ("then", "else"), "while": ("test", "body"), "reversed_turns": ("one turn",)}


@dataclass(frozen=True)
class Picture:
    """A Program as picture, in several forms, each a str."""

    graph: Graph
    text: str

    def svg(self) -> str:
        """An ``<svg>`` element."""
        return svg_of(self.graph)

    _repr_svg_ = svg

    def dot(self) -> str:
        """DOT, for Graphviz."""
        return dot_of(self.graph)

    def mermaid(self) -> str:
        """A Mermaid flowchart."""
        return mermaid_of(self.graph)

    def html(self) -> str:
        """A page that stands alone: the picture, and the Program as text."""
        return page_of_graph(self.graph, self.text)


def picture_of(program: Program, backward: bool = True) -> Picture:
    """
    The picture of a Program.

    Parameters
    ----------
    program : Program
    backward : bool
        False leaves its backward out.
    """
    drawer = _Drawer(program)
    drawer.forward()
    if backward and program.backward is not None:
        drawer.backward(program.backward)
    _drop_empty(drawer.graph.root)
    root = drawer.graph.root
    shown = {node.key for node in root.nodes()} | {group.key for group in root.groups()}
    # A condition leads to a region, also to one that computes nothing.
    drawer.graph.edges[:] = [edge for edge in drawer.graph.edges if {edge.source, edge.target} <= shown]
    return Picture(drawer.graph, text_of(program, backward))


class _Scope:
    """Which node stands for a value, in one group."""

    def __init__(self, drawer: _Drawer, group: Group, parent: _Scope | None = None) -> None:
        self.drawer = drawer
        self.group = group
        self.parent = parent
        self.nodes: dict[Value, str] = {}
        # Values for which there will be a node once something reads them.
        self.later: dict[Value, Callable[[], None]] = {}
        self.exits: dict[Value, str] = {}
        self.ports: set[Value] = set()
        # The last node or group with an effect, if their order is shown.
        self.last_effect: str | None = None

    def node(self, kind: str, title: str, lines: tuple[str, ...] = (), place: str = "", full: str = "") -> str:
        """Add a node to the group; its key."""
        key = f"n{next(self.drawer.numbers)}"
        self.group.members.append(Node(key, kind, title, lines, place, full))
        return key

    def resolve(self, value: Value) -> str:
        """The node of a value; one from outside of the group gets a port in it."""
        if value in self.later:
            self.later.pop(value)()
        found = self.nodes.get(value)
        if found is None:
            name = self.drawer.printer.name(value)
            full = self.drawer.printer.definition(value)
            if self.parent is None:
                found = self.node("port", name, full=f"{full}, kept by the forward run")
            else:
                source = self.parent.resolve(value)
                found = self.node("port", name, full=full)
                self.ports.add(value)
                self.drawer.edge(source, found)
            self.nodes[value] = found
        return found

    def makes(self, value: Value) -> bool:
        """True if the value comes from an operator of this group."""
        return value in self.later or (value in self.nodes and value not in self.ports)

    def leave(self, value: Value) -> str:
        """The dot through which a value leaves this group; made once."""
        found = self.exits.get(value)
        if found is None:
            source = self.resolve(value)
            found = self.exits[value] = self.node("exit", "", full=self.drawer.printer.definition(value))
            self.drawer.edge(source, found)
        return found

    def known(self, value: Value) -> dict[Value, str]:
        """The node of a value of this group, if it has one."""
        if value in self.later:
            self.later.pop(value)()
        return {value: self.nodes[value]} if value in self.nodes else {}

    def alias(self, value: Value, other: Value) -> None:
        """Let `value` be the node of `other`."""
        if not other.is_constant:
            self.later[value] = lambda: self.nodes.update({value: self.resolve(other)})


class _Drawer:
    """Builds the graph of one Program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.printer = Printer(program)
        self.numbers = itertools.count()
        self.graph = Graph(f"Program {program.name}", Group("root", program.name, "root"))
        self._edges: set[tuple[str, str, str]] = set()
        self._is_backward = False
        self._unseen: dict[Value, Operator] = {}
        self._gradients: dict[str, str] = {}
        # Of the file that most operators come from only the line is shown.
        files = Counter(place_of(operator).rpartition(":")[0] for operator in program.all_operators())
        self._file = next((file for file, _ in files.most_common() if file), "")

    def place(self, operator: Operator) -> str:
        """Where an operator comes from, in brief."""
        # A return is noted where the function was called from.
        return "" if operator.kind == "return" else place_of(operator).removeprefix(self._file)

    def edge(self, source: str, target: str, kind: str = "value") -> None:
        if (source, target, kind) not in self._edges:
            self._edges.add((source, target, kind))
            self.graph.edges.append(Edge(source, target, kind))

    def group(self, around: Group, title: str, kind: str = "region", place: str = "") -> Group:
        made = Group(f"g{next(self.numbers)}", title, kind, place)
        around.members.append(made)
        return made

    # --- the two Programs --------------------------------------------------------------------------------------

    def forward(self) -> None:
        scope = _Scope(self, self.group(self.graph.root, f"program {self.program.name}", "program"))
        for value in self.program.inputs:
            self.input(scope, value, "input" if value.stop_gradient else "parameter")
        self.block(scope, self.program.block)

    def backward(self, backward: Program) -> None:
        self._is_backward = True
        scope = _Scope(self, self.group(self.graph.root, f"backward of {self.program.name}", "backward"))
        for value in backward.inputs:
            self.input(scope, value, "gradient")
        self.block(scope, backward.block)

    def input(self, scope: _Scope, value: Value, kind: str) -> None:
        full = self.printer.definition(value)
        note = "requires a gradient" if kind == "parameter" else "no gradient" if kind == "input" else "given"
        hooks = self.printer.hooks((value,)).strip()
        lines = (_spec(full), hooks) if hooks else (_spec(full),)
        scope.nodes[value] = scope.node(kind, self.printer.name(value), lines, full=f"{full}, {note}")

    # --- operators ---------------------------------------------------------------------------------------------

    def block(self, scope: _Scope, block: Block) -> None:
        for operator in block.operators:
            self.operator(scope, operator)

    def operator(self, scope: _Scope, operator: Operator) -> None:
        kind = operator.kind
        if kind in _UNSEEN or _is_look(operator):
            self._unseen.update(dict.fromkeys(operator.outputs, operator))
        elif kind in _SAME_VALUE:
            source = operator.inputs[-1]
            if source.is_constant:
                self.leaf(scope, operator)
            else:
                scope.alias(operator.outputs[0], source)
        elif kind == "cond" and self.is_bookkeeping(operator):
            self.flatten(scope, operator)
        elif kind in _REGIONS:
            self.region(scope, operator)
        elif kind in ("accumulate", "arrived"):
            self.delivery(scope, operator)
        else:
            self.leaf(scope, operator)

    def leaf(self, scope: _Scope, operator: Operator) -> None:
        """An operator without blocks."""
        full = next(iter(self.printer.lines(operator)))
        title, lines = self.describe(operator)
        place = "" if operator.kind == "return" else place_of(operator)
        full = f"{full}  # {place}" if place else full
        key = scope.node(_kind_of(operator), title, lines, self.place(operator), full)
        for position, value in enumerate(operator.reads()):
            if not value.is_constant and value not in self._unseen:
                if operator.kind == "call_hooks" and position == 1:
                    continue  # where the run keeps its hooks: not in this graph
                is_hooked = operator.kind == "register_hook" and position == 0
                self.edge(scope.resolve(value), key, "hook" if is_hooked else "value")
        for value in operator.outputs:
            scope.nodes[value] = key
        if title != "function" and operator.kind != "return" and _kind_of(operator) != "op":
            self.follows(scope, key)

    def follows(self, scope: _Scope, key: str) -> None:
        """A node or group has an effect: after the one before it."""
        if self._is_backward:
            # Its order is that of the gradients.
            return
        before = scope.last_effect
        if before is not None and not any(edge.source == before and edge.target == key for edge in self.graph.edges):
            self.edge(before, key, "order")
        scope.last_effect = key

    def describe(self, operator: Operator) -> tuple[str, tuple[str, ...]]:
        """Title and small print of an operator."""
        printer = self.printer
        outputs = [_spec(printer.definition(value)) for value in operator.outputs if value.is_tensor]
        hooks = printer.hooks(operator.outputs).strip()
        more = [_short(text) for text in [*outputs, hooks] if text]
        if operator.kind == "python":
            function = operator.attrs["call"][0]
            called = printer.template(function)
            if called == "_make_function":
                code = printer.template(operator.attrs["call"][1][0])
                return "function", (_short(re.sub(r"<code of (.*)>", r"\1", code)),)
            text = printer.call(operator).removeprefix(f"python {called}")
            return _short(called), (_short(text), *more)
        if operator.kind == "return":
            return "return", ()
        if operator.kind == "raise":
            return "raise", (_short(printer.template(operator.attrs["error"])),)
        if operator.kind == "register_hook":
            return "register_hook", (_short(f"on {operator.attrs['target']}"),)
        if operator.kind == "call_hooks":
            return "call hooks", tuple(more)
        known = [printer.name(value) for value in operator.inputs if value.is_constant]
        arguments = ", ".join([*known, *self.attributes(operator)])
        return operator.kind, (*([_short(arguments)] if arguments else []), *more)

    def attributes(self, operator: Operator) -> list[str]:
        """The attributes of an operator that say something: no defaults, no bookkeeping."""
        defaults = {} if operator.op is None else {
            name: parameter.default for name, parameter in inspect.signature(operator.op.forward).parameters.items()}
        shown = []
        for name, value in operator.attrs.items():
            is_plain = isinstance(value, bool | int | float | str | None)
            if name not in HIDDEN_ATTRIBUTES and value != () and not (is_plain and defaults.get(name, self) == value):
                shown.append(f"{name}={self.printer.template(value)}")
        return shown

    # --- regions -----------------------------------------------------------------------------------------------

    def is_bookkeeping(self, operator: Operator) -> bool:
        """True for a `cond` of backward that asks whether a gradient came, or that only passes gradients on."""
        tested = self._unseen.get(operator.inputs[0])
        if tested is None:
            return False
        return tested.kind != "branch_of" or _only_passes_on(operator)

    def flatten(self, scope: _Scope, operator: Operator) -> None:
        """Show the operators of both branches where the `cond` stands."""
        for block in operator.blocks:
            self.block(scope, block)
        for position, value in enumerate(operator.outputs):
            given = [block.outputs[position] for block in operator.blocks]
            self.merge(scope, value, [(scope, source) for source in given if not source.is_constant])

    def merge(self, scope: _Scope, value: Value, sources: list[tuple[_Scope, Value]]) -> None:
        """Let a value be one of several, each of its own scope."""

        def make() -> None:
            # What a branch only hands on does not go through it.
            found = (inner.leave(part) if inner is not scope and inner.makes(part) else scope.resolve(part)
                     for inner, part in sources)
            distinct = list(dict.fromkeys(found))
            if len(distinct) == 1:
                scope.nodes[value] = distinct[0]
            elif distinct:
                scope.nodes[value] = key = scope.node("exit", "", full=self.printer.definition(value))
                for source in distinct:
                    self.edge(source, key)

        scope.later[value] = make

    def region(self, scope: _Scope, operator: Operator) -> None:
        """A branch or a loop: a group with one group for each of its blocks."""
        word = {"cond": "if", "while": "while", "reversed_turns": "turns of while, backwards"}[operator.kind]
        if operator.kind == "cond" and operator.inputs[0] in self._unseen:
            word = "the branch that was taken of if"
        outer = self.group(scope.group, word, place=self.place(operator))
        around = _Scope(self, outer, scope)
        if operator.kind == "cond":
            self.branches(scope, around, operator)
        else:
            self.loop(scope, around, operator)
        if any(node.kind in ("effect", "hook") and node.title != "function" for node in outer.nodes()):
            self.follows(scope, outer.key)

    def branches(self, scope: _Scope, around: _Scope, operator: Operator) -> None:
        """The two branches of a `cond`, and what is one of theirs afterwards."""
        tested = operator.inputs[0]
        if tested not in self._unseen and not tested.is_constant:
            self.edge(scope.resolve(tested), around.group.key)
        inner = []
        for title, block in zip(_REGIONS["cond"], operator.blocks, strict=True):
            inner.append(_Scope(self, self.group(around.group, title), scope))
            self.block(inner[-1], block)
        for position, value in enumerate(operator.outputs):
            given = [
                (part, block.outputs[position])
                for part, block in zip(inner, operator.blocks, strict=True) if block.outputs
            ]
            self.merge(around, value, [(part, source) for part, source in given if not source.is_constant])
            scope.later[value] = lambda value=value: scope.nodes.update(around.known(value))  # type: ignore[misc]

    def loop(self, scope: _Scope, around: _Scope, operator: Operator) -> None:
        """What a loop carries, its test and its turn; afterwards values are those that the last turn has given."""
        body = operator.blocks[-1]
        for value, inner_value in zip(operator.inputs, body.inputs, strict=True):
            self.carry(around, scope, value, inner_value)
        for title, block in zip(_REGIONS[operator.kind], operator.blocks, strict=True):
            for mine, carried in zip(block.inputs, body.inputs, strict=True):
                if mine is not carried and carried in around.nodes:
                    around.nodes[mine] = around.nodes[carried]
            inner = _Scope(self, self.group(around.group, title), around)
            self.block(inner, block)
            # What goes on to the next turn, or decides whether there is one.
            for value in dict.fromkeys(block.outputs):
                if not (value.is_constant or value.name.endswith("@HOOKS") or value in self._unseen):
                    inner.leave(value)
        for value, given in zip(operator.outputs, body.outputs, strict=True):
            if not given.is_constant:
                scope.later[value] = lambda value=value, given=given: scope.nodes.update(  # type: ignore[misc]
                    {value: inner.leave(given)})

    def carry(self, around: _Scope, scope: _Scope, value: Value, inner: Value) -> None:
        """A node for what a loop carries from turn to turn."""
        if inner.name.endswith("@HOOKS") or (value.is_constant and value.constant is None and not inner.is_tensor):
            return
        full = self.printer.definition(inner)
        begins = f"begins as {_short(self.printer.name(value))}" if value.is_constant else ""
        key = around.node("input", self.printer.name(inner), tuple(filter(None, (_spec(full), begins))), full=full)
        around.nodes[inner] = key
        if not value.is_constant:
            self.edge(scope.resolve(value), key)

    # --- gradients that leave ----------------------------------------------------------------------------------

    def delivery(self, scope: _Scope, operator: Operator) -> None:
        name = operator.attrs["name"]
        root = scope
        while root.parent is not None:
            root = root.parent
        key = self._gradients.get(name)
        if key is None:
            hooks = [line for line in self.printer.complete(name) if line.startswith("call_hooks")]
            lines = ("after its hooks",) if hooks else ()
            key = self._gradients[name] = root.node("gradient", f"{name}.grad", lines, full=f"gradient of {name}")
        if operator.kind == "accumulate":
            source = scope.resolve(operator.inputs[0])
            if scope is not root:
                point = scope.node("exit", "", full=f"{name}.grad += {self.printer.name(operator.inputs[0])}")
                self.edge(source, point)
                source = point
            self.edge(source, key)


def _is_look(operator: Operator) -> bool:
    """True for what only looks whether something is as it was while the function was traced."""
    return operator.kind == "python" and getattr(operator.attrs["call"][0], "only_looks", False)


def _only_passes_on(operator: Operator) -> bool:
    """True for a `cond` in which nothing is computed."""
    return all(
        inner.kind in _UNSEEN or (inner.kind == "cond" and _only_passes_on(inner))
        for block in operator.blocks for inner in block.operators)


def _drop_empty(group: Group) -> None:
    """Leave out the groups inside that hold nothing, innermost first."""
    for member in group.members:
        if isinstance(member, Group):
            _drop_empty(member)
    group.members[:] = [member for member in group.members if isinstance(member, Node) or member.members]


def _kind_of(operator: Operator) -> str:
    if operator.kind in ("register_hook", "call_hooks"):
        return "hook"
    if operator.kind in ("return", "raise"):
        return "end"
    return "effect" if operator.effect or operator.kind == "python" else "op"


def _spec(definition: str) -> str:
    """The part of ``name: spec`` behind the name, for tensors that have a name of their own both."""
    return definition.partition(": ")[2]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


__all__ = ["Picture", "picture_of"]
