"""Loop-invariant motion: what is the same in each turn of a loop is computed before it."""

from __future__ import annotations

import dataclasses

from d2s.static.passes.rewriting import may_raise, with_parts
from d2s.static.program import Block, Operator, Program, Value, values_in

# The block of a loop that runs once in each turn.
_BODIES = {"while": 1, "reversed_turns": 0}


def run(program: Program, kept: frozenset[Value]) -> Program:
    """Move pure operators out of loops, if they read only values from before and nothing can go wrong in them.

    A loop of no turns computes them in vain; what a turn keeps for backward stays in the turn.
    """
    block = _moved(program.block, set(program.inputs), kept)
    return program if block is program.block else dataclasses.replace(program, block=block)


def _moved(block: Block, around: set[Value], kept: frozenset[Value]) -> Block:
    """The block with what came out of the loops in it; `around` are the values from before it."""
    scope = around | set(block.inputs)
    operators: list[Operator] = []
    changed = False
    for operator in block.operators:
        if operator.blocks:
            blocks = [_moved(inner, scope, kept) for inner in operator.blocks]
            body = _BODIES.get(operator.kind)
            if body is not None:
                moved = _invariant(blocks[body], scope, kept)
                if moved:
                    operators += moved
                    scope.update(value for one in moved for value in one.outputs)
                    rest = [one for one in blocks[body].operators if one not in moved]
                    blocks[body] = blocks[body].derived(rest, blocks[body].outputs)
            if any(new is not old for new, old in zip(blocks, operator.blocks, strict=True)):
                changed = True
                operator = with_parts(operator, operator.inputs, operator.attrs, tuple(blocks))
        operators.append(operator)
        scope.update(operator.outputs)
    return block.derived(operators, block.outputs) if changed else block


def _invariant(body: Block, scope: set[Value], kept: frozenset[Value]) -> list[Operator]:
    """The operators of a body that read nothing but values of `scope` and of each other."""
    known, found = set(scope), []
    for operator in body.operators:
        reads = [value for value in (*operator.inputs, *values_in(operator.attrs)) if not value.is_constant]
        if may_raise(operator) or kept.intersection(operator.outputs) or not known.issuperset(reads):
            continue
        found.append(operator)
        known.update(operator.outputs)
    return found
