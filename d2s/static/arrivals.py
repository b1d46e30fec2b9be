"""How many contributions a backward will make to the edges that control flow leads to.

A leaf is finished, hooks and all, when its last contribution is in.  Where branches and turns decide how many there
are, they are counted first: the backward Program is run once on nothing but the presence of gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from d2s.static.codegen import FunctionWriter, Source
from d2s.static.program import Block, Operator, Value


class _CountWriter(FunctionWriter):
    """Writes a backward Program with True for each gradient that is there, None for each that is not."""

    checks = False

    def block(self, block: Block) -> None:
        for operator in block.operators:
            self.operator(operator)

    def operator(self, operator: Operator) -> None:
        if operator.kind in _AS_THEY_ARE or (self.checks and operator.kind in _CHECKS):
            super().operator(operator)
            return
        writer = _WRITERS.get(operator.kind)
        if writer is not None:
            writer(self, operator)
        elif operator.outputs:
            self.line(f"{' = '.join(map(self.name, operator.outputs))} = True")


def _contributed(w: _CountWriter, operator: Operator) -> None:
    w.line(f"left[{operator.attrs['edge']}] += 1")


def _accumulated(w: _CountWriter, operator: Operator) -> None:
    if operator.attrs["counted"]:
        w.line(f"left[{operator.attrs['edge']}] += {w.name(operator.inputs[0])} is not None")


def _added_by_identity(w: _CountWriter, operator: Operator) -> None:
    sums, identity, name = map(w.name, operator.inputs)
    w.line(f"add_presence({sums}, {identity}, {name}, {'left' if operator.attrs['counted'] else None})")


def _contributed_by_identity(w: _CountWriter, operator: Operator) -> None:
    identity = w.name(operator.inputs[0])
    w.line(f"if {identity} is not None and {identity} < 0: left[~{identity}] += 1")


def _passed_on(w: _CountWriter, operator: Operator) -> None:
    w.line(f"{w.name(operator.outputs[0])} = {w.name(operator.inputs[0])}")


def _either(w: _CountWriter, operator: Operator) -> None:
    w.line(f"{w.name(operator.outputs[0])} = {' or '.join(map(w.name, operator.inputs))}")


_AS_THEY_ARE = frozenset((
    "cond", "reversed_turns", "is_present", "branch_of", "has_turns", "is_first_turn", "sums_by_identity",
    "take_by_identity"))
_CHECKS = frozenset(("modified_in_place", "check_input", "check_version", "check_chosen", "check_output"))
_WRITERS: dict[str, Callable[[_CountWriter, Operator], None]] = {
    "accumulate": _accumulated,
    "contributed": _contributed,
    "add_by_identity": _added_by_identity,
    "contributed_by_identity": _contributed_by_identity,
    "call_hooks": _passed_on,
    "add_present": _either,
}


def count_source(
    block: Block, forward: Block, saved: dict[Block, tuple[Value, ...]], edges: Sequence[int],
) -> Source:
    """The function ``count(saved, *gradients)``: contributions by edge number."""
    w = _CountWriter("count", saved)
    inputs = [w.name(value) for value in block.inputs]
    w.source.lines.append(f"def count({', '.join(['saved', *inputs])}):")
    w.line(f"left = dict.fromkeys({tuple(edges)!r}, 0)")
    w.unpack(saved.get(forward, ()), "saved")
    w.block(block)
    w.line("return left")
    return w.source


def probe_source(
    block: Block, forward: Block, saved: dict[Block, tuple[Value, ...]], edges: int,
) -> Source:
    """The function ``probe(run, saved, *gradients)``: it raises what a write in place makes the backward raise."""
    w = _CountWriter("probe", saved)
    w.checks = True
    inputs = [w.name(value) for value in block.inputs]
    w.source.lines.append(f"def probe({', '.join(['run', 'saved', *inputs])}):")
    w.line(f"left = [0] * {edges}")
    w.unpack(saved.get(forward, ()), "saved")
    w.block(block)
    return w.source
