"""A run of a Program as a tape: one node per operator of the path that the run took.

The compiled backward is derived once for all runs.  What depends on the path of one run in a way that it does not
know (which of several values a name is, what was written in place on the way, how a gradient ends at a value inside),
or is differentiated itself (`create_graph`), is left to the walk of eager mode, on the nodes that eager mode would
have made: branches and turns are followed as the run has recorded them, and every name stands for the value that it
was.

What a run has kept is what the rules read; a value that is missing is computed anew from what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.spec import is_floating, spec_of
from d2s.eager.tape import Edge, InteriorNode, LeafNode
from d2s.jit.path_nodes import PathNode, Place, Step, Storage, next_place
from d2s.static.program import Block, Operator, Value, Write, map_values
from d2s.static.storage import shares_storage

if TYPE_CHECKING:
    from d2s.jit.run_program import CallNode, Visited


class Tape:
    """The tape of one run.

    Attributes
    ----------
    saved : tuple
        What the run had kept when it was followed last.
    """

    def __init__(self, call: CallNode) -> None:
        self.saved: Any = None
        self._nodes: list[InteriorNode] = []
        # Until the run has come to its end.
        self._path: _Path | None = _Path(call, self._nodes)
        # Then, per output: where its gradient goes in this run, and its memory; None if it is not there.
        self._outputs: list[tuple[Edge | None, Storage] | None] = []
        self.follow(call)

    def follow(self, call: CallNode) -> None:
        """Follow the run as far as it has come: up to the `backward` it is in, or to its end."""
        path = self._path
        if path is not None:
            path.go_on()
            if not call.released:
                path.fill()
            if call.reached is None:
                self._outputs = [path.output(number) for number in range(len(call.specs))]
                self._path = None
        if call.released:
            for node in self._nodes:
                node.release()
        for number in call.written:
            self.note_write(number)
        self._move_hooks(call)
        for visited in call.walks:
            self._release(visited)
        call.walks.clear()
        if call.reached is None:
            # All that is needed of it is with the nodes now.
            call.saved = ()
        self.saved = call.saved

    def note_write(self, number: int) -> None:
        """Take note that the caller writes to the Tensor of an output."""
        found = self._output(number)
        if found is not None:
            found[1].written()

    def _move_hooks(self, call: CallNode) -> None:
        """Hooks and retained gradients of the outputs go to the values that they are."""
        for number, hooks in (call.hooks or {}).items():
            edge = self.edge(number)
            if edge is None:
                continue
            node, index = edge
            if isinstance(node, LeafNode):
                continue
            if node.hooks is None:
                node.hooks = {}
            held = node.hooks.setdefault(index, hooks)
            if held is not hooks:
                held.hooks.update(hooks.hooks)
        for number, kept in (call.retained or {}).items():
            edge = self.edge(number)
            if edge is not None and isinstance(node := edge[0], InteriorNode):
                node.retained = {**(node.retained or {}), edge[1]: kept}
        call.hooks = call.retained = None

    def edge(self, number: int) -> Edge | None:
        """Where the gradient of an output goes."""
        found = self._output(number)
        return None if found is None else found[0]

    def _output(self, number: int) -> tuple[Edge | None, Storage] | None:
        """What is known of an output, if the run has come to it."""
        if self._path is not None:
            return self._path.output(number)
        return self._outputs[number] if number < len(self._outputs) else None

    def _release(self, visited: Visited) -> None:
        """Mark what a compiled backward has used up."""
        own = set(self._nodes)
        stack = [edge[0] for number in visited.reached if (edge := self.edge(number)) is not None]
        seen: set[Any] = set()
        while stack:
            node = stack.pop()
            if node not in own or node in seen:
                continue
            seen.add(node)
            stack += [edge[0] for edge in node.edges if edge is not None]
        last = _last_visited(seen, visited.failed_at)
        for node in seen:
            if node.sequence >= last and (not isinstance(node, PathNode) or node.operator in visited.operators):
                node.release()


def _last_visited(nodes: Iterable[InteriorNode], failed_at: Any) -> int:
    """The sequence of the last node that a backward through `nodes` came to: later ones have a smaller one."""
    if failed_at is None:
        return 0
    if isinstance(failed_at, LeafNode):
        # A leaf is finished behind the node that contributes to it last.
        found = [node for node in nodes if any(edge is not None and edge[0] is failed_at for edge in node.edges)]
        return min((node.sequence for node in found), default=0)
    found = [
        node for node in nodes
        if getattr(node, "context", None) is failed_at or any(
            hooks is failed_at for hooks in (node.hooks or {}).values())]
    return max((node.sequence for node in found), default=0)


class _Path:
    """The path that a run took, from operator to operator; it is followed on as the run goes on.

    Parameters
    ----------
    call : CallNode
    nodes : list of nodes
        New ones are added.
    """

    def __init__(self, call: CallNode, nodes: list[InteriorNode]) -> None:
        self.call = call
        self._nodes = nodes
        # The node after which the next ones are placed, and how many there were before it.
        self._sequence, self._since = call.sequence, 0
        self._places: dict[Value, Place] = {}
        self._kept: dict[Value, Any] = {}
        # What nodes need to hold once a gradient can come to them, and those to which one can.
        self._made: dict[InteriorNode, tuple[Sequence[Any], Sequence[Place]]] = {}
        self._reached: set[InteriorNode] = set()
        program = call.compiled.program
        self._writes = program.writes
        # The blocks that the path is in, with what the run keeps of them now; of loops the turn, and all so far.
        self._inside: list[tuple[Block, Callable[[], Sequence[Any]]]] = [(program.block, lambda: call.saved)]
        self._open_turns: list[tuple[int, Sequence[Any]]] = []
        # Like those of the run: where turns have made Tensors; those that are new since `fill`.
        self._met: dict[int, int] = {}
        self._turns: dict[int, Place] = {}
        self._new: list[Place] = []
        for value, tensor, version in zip(call.compiled.tensors, call.tensors, call.versions, strict=True):
            self._places[value] = Place(
                tensor.spec, None if value.stop_gradient else call.edge_of(value), Storage(tensor, version),
                tensor=tensor)
        self._steps = self._block(program.block)

    def go_on(self) -> None:
        """Follow the run to where it is now."""
        for block, kept in self._inside:
            self._keep(block, kept())
        next(self._steps, None)

    def fill(self) -> None:
        """Let the nodes that gradients can come to hold what their rules read: the run has kept it."""
        found = [*map(self._places.get, self.call.compiled.program.outputs), *self._new]
        self._new.clear()
        stack = [place.edge[0] for place in found if place is not None and place.edge is not None]
        while stack:
            node = stack.pop()
            if node not in self._reached and isinstance(node, InteriorNode) and not node.may_unfold:
                self._reached.add(node)
                stack += [edge[0] for edge in node.edges if edge is not None]
                if node in self._made:
                    node.fill(*self._made.pop(node))  # type: ignore[attr-defined]

    def output(self, number: int) -> tuple[Edge | None, Storage] | None:
        """What an output of the run is: where its gradient goes, and its memory; None if the run has not come to it."""
        outputs = self.call.compiled.program.outputs
        place = self._places.get(outputs[number]) if number < len(outputs) else self._turns.get(number)
        return None if place is None else (place.edge, place.storage)

    def _keep(self, block: Block, kept: Sequence[Any]) -> None:
        """Take over what the run has kept of a block."""
        self._kept.update(zip(self.call.compiled.saved.get(block, ()), kept, strict=False))

    def _block(self, block: Block) -> Iterator[None]:
        """Follow the operators of a block; stops where the run has not come further yet."""
        for operator in block.operators:
            while operator is self.call.reached and self._is_in_last_turns():
                yield
            if operator.op is not None:
                self._op(operator)
            else:
                for out in operator.outputs:
                    self._places.pop(out, None)
                if operator.kind == "cond":
                    yield from self._cond(operator)
                elif operator.kind == "while":
                    yield from self._while(operator)
                elif (follow := _FOLLOW.get(operator.kind)) is not None:
                    follow(self, operator)
            write = self._writes.get(operator)
            if write is not None:
                self._write(write)

    def _is_in_last_turns(self) -> bool:
        """False in turns behind which there are more of the same loop: the run has gone on from them."""
        return all(number == len(turns) for number, turns in self._open_turns)

    def _write(self, write: Write) -> None:
        before = self._places.get(write.value)
        if before is not None:
            kept = None if write.kept is None else self._places.get(write.kept)
            for node, key, spec in before.storage.readers:
                if node.operator is not write.through or kept is None or key != kept.key:
                    node.written = spec
                else:
                    # The op whose result is written goes on reading what was there before.
                    node.watched = [found for found in node.watched if found[0] is not before.storage.tensor]
                    kept.forget_tensor()

    def _place(self, value: Value) -> Place:
        """What `value` is in this run."""
        found = self._places.get(value)
        if found is None:
            data = value.constant if value.is_constant else self._kept.get(value)
            spec = value.spec if data is None or value.spec is None else spec_of(np.asarray(data))
            assert spec is not None
            found = Place(spec, None, None, data)
            if not value.is_constant:
                self._places[value] = found
        return found

    def _object(self, value: Value) -> Any:
        """A Python object of the run; None if it is not known, and no rule reads it."""
        return value.constant if value.is_constant else self._kept.get(value)

    def _operand(self, value: Value) -> Any:
        return self._place(value) if value.is_tensor else self._object(value)

    def _op(self, operator: Operator) -> None:
        op = operator.op
        assert op is not None
        operands = [self._operand(value) for value in operator.inputs]
        attrs = {name: map_values(held, self._object) for name, held in operator.attrs.items()}
        step = Step(operator, operands, attrs)
        places: list[Place] = []
        for position, out in enumerate(operator.outputs):
            data = self._kept.get(out)
            assert out.spec is not None
            spec = out.spec if data is None else spec_of(np.asarray(data))
            storage = operands[0].storage if shares_storage(operator) else None
            places.append(Place(spec, None, storage, data, (step, position)))
            self._places[out] = places[position]
        if all(out.stop_gradient for out in operator.outputs):
            return
        edges = [
            operand.edge if isinstance(operand, Place) and op.differentiates(index) else None
            for index, operand in enumerate(operands)]
        if all(edge is None for edge in edges):
            return
        node = self._add(PathNode(operator, attrs, edges, [place.spec for place in places]))
        self._made[node] = operands, places
        self._note_reads(node, operands, places)
        for index, (place, out) in enumerate(zip(places, operator.outputs, strict=True)):
            if not out.stop_gradient and is_floating(place.spec.dtype):
                place.edge = (node, index)

    def _note_reads(self, node: PathNode, operands: Sequence[Any], places: Sequence[Place]) -> None:
        """Let the memory that the rule of a node reads know of it."""
        read, reads_out = node.read()
        found = [(operand, index) for index, operand in enumerate(operands) if read[index]]
        node.watched = []
        for place, index in (*found, *((place, -1) for place in (places if reads_out else ()))):
            if isinstance(place, Place):
                place.storage.readers.append((node, place.key if index == 0 else -1, place.spec))
                tensor = place.storage.tensor
                if tensor is not None and place._tensor is not tensor:
                    node.watched.append((tensor, place.storage.version, place.spec))

    def _add(self, node: Any) -> Any:
        # Between the call itself and whatever the caller has computed after it.
        self._nodes.append(node)
        node.sequence = self._sequence + len(self._nodes) - self._since
        return node

    def _materialise(self, operator: Operator) -> None:
        number = self.call.compiled.turn_tensors.get(operator.outputs[0])
        if number is not None:
            index = self.call.turns.get(next_place(self._met, number))
            if index is not None:
                place = self._turns[index] = self._place(operator.inputs[0])
                self._new.append(place)

    def _hook_point(self, operator: Operator) -> None:
        hooks = self._kept.get(operator.outputs[0])
        edge = self._place(operator.inputs[0]).edge
        if isinstance(hooks, HookList) and edge is not None and isinstance(node := edge[0], InteriorNode):
            index = edge[1]
            held = {**(node.hooks or {}), index: hooks}
            node.hooks = dict(sorted(held.items(), key=lambda item: item[1].first))

    def _same(self, operator: Operator) -> None:
        self._name(operator.outputs, operator.inputs)

    def _replace(self, operator: Operator) -> None:
        """Other values with the same history: written without grad mode."""
        old, data = (self._place(value) for value in operator.inputs)
        out = operator.outputs[0]
        storage, tensor = self._read_in_version(out)
        if operator.attrs["is_view"]:
            storage = data.storage
        elif storage is None and old.storage.tensor is not None:
            storage = Storage(old.storage.tensor, old.storage.version + 1, is_guess=True)
        edge = None if out.stop_gradient else old.edge
        made = Place(data.spec, edge, storage, self._kept.get(out), None, tensor)
        if made._data is None:
            made._data, made._made_by = data._data, data._made_by
        self._places[out] = made

    def _stop(self, operator: Operator) -> None:
        old, out = self._place(operator.inputs[0]), operator.outputs[0]
        data = self._kept.get(out) if old._data is None else old._data
        self._places[out] = Place(old.spec, None, old.storage, data, old._made_by, old._tensor)

    def _leaf(self, operator: Operator) -> None:
        data, tensor = operator.outputs
        held = self._kept.get(tensor)
        place = self._place(operator.inputs[0])
        edge = None if held is None else held.graph_edge()
        # As it was made: what was written since has made later versions.
        storage = None if held is None else Storage(held, 0)
        self._places[data] = Place(place.spec, edge, storage, self._kept.get(data), place._made_by, held)

    def _reload(self, operator: Operator) -> None:
        """A tensor of the caller that was read again."""
        out = operator.outputs[0]
        assert out.spec is not None
        edge = None if out.stop_gradient else self.call.edge_of(out)
        storage, tensor = self._read_in_version(out)
        self._places[out] = Place(out.spec, edge, storage, self._kept.get(out), None, tensor)

    def _version(self, operator: Operator) -> None:
        """A value of which the caller may have the Tensor."""
        read, storage = self._kept.get(operator.outputs[0]), self._place(operator.inputs[1]).storage
        if read is not None and (storage.tensor is None or storage.is_guess):
            guessed = storage.tensor, storage.version
            storage.tensor, storage.version = read
            storage.is_guess = False
            for node, _, spec in storage.readers:
                node.watched = [found for found in node.watched if found[:2] != guessed]
                node.watched.append((*read, spec))

    def _read_in_version(self, value: Value) -> tuple[Storage | None, Any]:
        """The memory of a tensor of the caller that was read again, and that tensor."""
        version = self.call.compiled.program.versions.get(value)
        read = None if version is None else self._kept.get(version)
        return (None, None) if read is None else (Storage(*read), read[0])

    def _take(self, operator: Operator) -> None:
        out, reference = operator.outputs
        place = self._referred(self._kept.get(reference), out)
        self._places[out] = place
        if place._data is None:
            place._data = self._kept.get(out)

    def _referred(self, reference: Any, value: Value) -> Place:
        """What a Tensor is that the run had in a container."""
        program = self.call.compiled.program
        if isinstance(reference, int):
            found = self._turns.get(reference) if reference >= len(program.outputs) else self._places.get(
                program.outputs[reference])
            if found is not None:
                return found
        if isinstance(reference, tuple):
            held: Any
            held, version, edge = reference
            for tensor, given in zip(self.call.tensors, self.call.compiled.tensors, strict=True):
                if tensor is held:
                    place = self._place(given)
                    if place.storage.version == version:
                        return place
            if edge is not None and isinstance(edge[0], InteriorNode) and edge[0].sequence > self._sequence:
                # Recorded in the middle of the run: what is computed of it comes after it.
                self._sequence, self._since = edge[0].sequence, len(self._nodes)
            return Place(held.spec, edge, Storage(held, version), None, None, held)
        assert value.spec is not None
        return Place(value.spec)

    def _take_all(self, operator: Operator) -> None:
        out, references = operator.outputs
        op, attrs = operator.attrs["op"], operator.attrs["attrs"]
        data = self._kept.get(out)
        operands = []
        for reference, spec in self._kept.get(references) or ():
            operands.append(place := self._referred(reference, out))
            if not place.spec.is_static:
                # Rules that join or split read the sizes.
                place.spec = spec
        assert out.spec is not None
        place = Place(out.spec if data is None else spec_of(np.asarray(data)), None, None, data)
        self._places[out] = place
        edges = [operand.edge if op.differentiates(index) else None for index, operand in enumerate(operands)]
        if out.stop_gradient or all(edge is None for edge in edges):
            return
        joined = Operator(op.name, (), (out,), attrs, op, location=operator.location)
        node = self._add(PathNode(joined, attrs, edges, [place.spec]))
        self._made[node] = operands, [place]
        self._note_reads(node, operands, [place])
        place.edge = (node, 0)

    def _cond(self, operator: Operator) -> Iterator[None]:
        found = operator.record
        if found is None or self._kept.get(found) is None:
            return
        block = operator.blocks[0 if self._kept[found][0] else 1]
        self._keep(block, self._kept[found][1:])
        yield from self._within(block, lambda: self._kept[found][1:])
        self._name(operator.outputs, block.outputs)

    def _while(self, operator: Operator) -> Iterator[None]:
        turns = None if operator.record is None else self._kept.get(operator.record)
        if turns is None:
            return
        body = operator.blocks[1]
        given = operator.inputs
        number = 0
        # There may be more, once the path is followed on.
        while number < len(turns):
            number += 1
            self._keep(body, turns[number - 1])
            self._name(body.inputs, given)
            self._open_turns.append((number, turns))
            yield from self._within(body, partial(turns.__getitem__, number - 1))
            self._open_turns.pop()
            given = body.outputs
        self._name(operator.outputs, given)

    def _within(self, block: Block, kept: Callable[[], Sequence[Any]]) -> Iterator[None]:
        """Follow a nested block, of which `kept` gives what the run keeps."""
        self._inside.append((block, kept))
        yield from self._block(block)
        self._inside.pop()

    def _name(self, names: Sequence[Value], values: Sequence[Value]) -> None:
        """Let each of `names` stand for what the value at its position is."""
        places = [self._place(value) if value.is_tensor else None for value in values[: len(names)]]
        for name, place in zip(names, places, strict=False):
            if place is not None:
                self._places[name] = place
                if place._data is None:
                    # The run keeps a value under the names by which it is read.
                    place._data = self._kept.get(name)

    def _py_layer(self, operator: Operator) -> None:
        context = self._kept.get(operator.outputs[0])
        operands = [self._place(value) for value in operator.inputs]
        edges = [operand.edge for operand in operands]
        places = []
        for out in operator.outputs[1:]:
            data = self._kept.get(out)
            assert out.spec is not None
            places.append(Place(out.spec if data is None else spec_of(np.asarray(data)), None, None, data))
            self._places[out] = places[-1]
        if context is None or all(edge is None for edge in edges):
            return
        # Of a run that is used up only the way is known.
        specs = context._outputs or [place.spec for place in places]
        node = self._add(operator.attrs["layer"].node(context, edges, specs))
        for index, (place, out) in enumerate(zip(places, operator.outputs[1:], strict=True)):
            if not out.stop_gradient:
                place.edge = (node, index)


_FOLLOW: dict[str, Any] = {
    "taken": _Path._take,
    "taken_all": _Path._take_all,
    "materialise": _Path._materialise,
    "rewrite": _Path._materialise,
    "hook_point": _Path._hook_point,
    "check_bound": lambda path, operator: path._same(operator) if operator.inputs[0].is_tensor else None,
    "constant": _Path._same,
    "replace": _Path._replace,
    "stop_gradient": _Path._stop,
    "leaf": _Path._leaf,
    "reload": _Path._reload,
    "version": _Path._version,
    "py_layer": _Path._py_layer,
}
