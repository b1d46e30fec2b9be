"""Regions: a piece of user code traced into a block of its own, along every path Python has to decide.

Two paths that end alike are merged into one value each; what cannot be merged (None here and a tensor there, lists of
different lengths, an exception on one path) makes the enclosing region follow both paths to its end.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Any

from d2s.errors import (
    Location,
    ProgramError,
    TracingError,
    UnsupportedSyntaxError,
    is_user_code,
    noted_refusals,
    user_location,
)
from d2s.operators.attempts import is_of_program
from d2s.operators.heap import Heap, restore
from d2s.operators.merging import merge_outcomes
from d2s.operators.outcomes import Outcome
from d2s.operators.recorder import MANY_PATHS, MAX_PATHS
from d2s.operators.restarts import IteratorsOfTheRun, TooManyPaths
from d2s.operators.trace_state import Remembered, go_back, state_of
from d2s.operators.tracer import Tracer
from d2s.static.program import Block, Value


class IteratorAdvanced(BaseException):
    """A branch traced on trial has advanced an iterator made before it: the trace begins anew and follows both paths.

    Attributes
    ----------
    place : Location or None
        The branch; None if it is one that cannot be followed to the end.
    """

    def __init__(self, place: Location | None) -> None:
        super().__init__(place)
        self.place = place


# What says that code cannot become a graph: not an exception of the user's program.
REFUSALS = (UnsupportedSyntaxError, TracingError, ProgramError)
# What ends a trace in any case.
ENDS = (*REFUSALS, MemoryError)


def explore(
    tracer: Tracer, run: Callable[[], Any], root: Block, before: Heap,
    finish: Callable[[Any, BaseException | None], Outcome],
    join: Callable[[Value, tuple[Block, Outcome], tuple[Block, Outcome], Block], Outcome],
) -> Outcome:
    """Run `run` once for each path through it; the outcomes are joined from the last decision backwards."""
    start, remembered = state_of(tracer), Remembered(tracer)
    depth = tracer.depth
    paths = 0
    with tracer.region(root) as path:
        taken: dict[int, tuple[Block, Outcome]] = {}
        while True:
            paths += 1
            if paths > MANY_PATHS and tracer.may_merge and not tracer.in_merged:
                raise TooManyPaths
            if paths > MAX_PATHS:
                raise UnsupportedSyntaxError(
                    f"more than {MAX_PATHS} ways through this code: it decides too often on values that are known "
                    "only when the Program runs", path.decided_at or user_location(),
                    "Use tensor operators (where, masks), or keep it eager with @d2s.jit.not_to_static.",
                    kind="U11",
                )
            before.restore()
            go_back(tracer, start)
            # Python makes its objects anew on each path.
            tracer.lowering.forget(path.blocks)
            tracer.enter_root(path, depth)
            if paths > 1:
                # Those of the function go to its end, and are not merged.
                remembered.forget_the_rest(
                    () if tracer.is_outermost else [outcome.state for _, outcome in taken.values()])
            error: BaseException | None = None
            result: Any = None
            with noted_refusals() as refused:
                try:
                    result = run()
                except ENDS:
                    raise
                except IteratorAdvanced as found:
                    if not tracer.is_outermost:
                        raise
                    if not tracer.follow_both_at(found.place):
                        if IteratorsOfTheRun not in tracer.learned:
                            raise IteratorsOfTheRun from None
                        raise UnsupportedSyntaxError(
                            "an iterator is advanced in code that has to be traced several times", user_location(),
                            "Use a list and an index.",
                            kind="U16",
                        ) from None
                    paths -= 1
                    tracer.generators.end()
                    continue
                except BaseException as raised:
                    if not is_of_program(tracer, raised):
                        raise
                    refuse_endless_walk(raised)
                    error = raised
                if refused:
                    raise refused[0]
            outcome = finish(result, error)
            index = len(path.choices) - 1
            while index >= 0 and not path.choices[index]:
                block = path.blocks[index + 1]
                del tracer._blocks[depth:]
                tracer._blocks.append(path.blocks[index])
                outcome = join(path.tests[index], taken.pop(index), (block, outcome), path.blocks[index])
                index -= 1
            if index < 0:
                return outcome
            taken[index] = (path.blocks[index + 1], outcome)
            path.flip(index)


def refuse_endless_walk(error: BaseException) -> None:
    """Refuse what has led d2s itself, not the user's functions, too deep: something made inside that holds itself."""
    if not isinstance(error, RecursionError):
        return
    steps = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if any(is_user_code(code) for code, _ in steps[-_DEPTH:]):
        return
    places = [Location(code.co_filename, line) for code, line in steps if is_user_code(code)]
    raise UnsupportedSyntaxError(
        "a container that holds itself, or is nested very deeply, cannot be followed in a graph",
        places[-1] if places else None, "Keep it in an attribute of an object of your own.", kind="U36",
    ) from None


# Frames of d2s for one of the user's, and more.
_DEPTH = 60


def trace_branch(tracer: Tracer, run: Callable[[], Any], before: Heap) -> tuple[Block, Outcome]:
    """Trace a branch or loop body into a block; afterwards everything reachable is as it was before."""

    def finish(result: Any, error: BaseException | None) -> Outcome:
        if tracer.path is not None:
            tracer.lowering.settle(tracer.path.blocks)
        return Outcome(result, before.changes(), error, state_of(tracer))

    def join(
        test: Value, first: tuple[Block, Outcome], second: tuple[Block, Outcome], into: Block
    ) -> Outcome:
        return merge_outcomes(tracer, test, first, second, before)

    start = state_of(tracer)
    root = Block()
    tracer.lowering.regions.append((before, tracer.block))
    try:
        outcome = explore(tracer, run, root, before, finish, join)
        if before.is_advanced():
            raise IteratorAdvanced(None)
    finally:
        tracer.lowering.regions.pop()
        before.restore()
        go_back(tracer, start)
    return root, outcome


def apply_changes(changes: Iterable[tuple[Any, Any]]) -> None:
    """Put the state after a region into the objects."""
    for node, content in changes:
        restore(node, content)


__all__ = ["REFUSALS", "IteratorAdvanced", "apply_changes", "explore", "refuse_endless_walk", "trace_branch"]
