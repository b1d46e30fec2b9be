"""Dead code: operators that nobody reads, as far as they could neither act nor raise."""

from __future__ import annotations

import dataclasses

from d2s.static.passes.rewriting import may_raise, with_parts
from d2s.static.program import Block, Operator, Program, Value, values_in


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Drop operators without readers that compute and do nothing else."""
    block = _without_dead(program.block, set(kept))
    return program if block is program.block else dataclasses.replace(program, block=block)


def _without_dead(block: Block, live: set[Value]) -> Block:
    live.update(block.outputs)
    operators: list[Operator] = []
    changed = False
    for operator in reversed(block.operators):
        if not live.intersection(operator.outputs) and not may_raise(operator):
            changed = True
            continue
        if operator.blocks:
            blocks = tuple(_without_dead(inner, live) for inner in operator.blocks)
            if any(new is not old for new, old in zip(blocks, operator.blocks, strict=True)):
                changed = True
                operator = with_parts(operator, operator.inputs, operator.attrs, blocks)
        live.update(operator.inputs)
        live.update(values_in(operator.attrs))
        operators.append(operator)
    return block.derived(operators[::-1], block.outputs) if changed else block
