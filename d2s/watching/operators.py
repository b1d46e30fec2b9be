"""Watch operators run: in eager mode as an interpreter, in static mode line by line of the generated code."""

from __future__ import annotations

import ast
import functools
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from d2s.core.interpreter import state, use_interpreter
from d2s.core.op import Op
from d2s.eager.interpreter import EagerInterpreter
from d2s.eager.tape import InteriorNode
from d2s.errors import Location, user_location
from d2s.static.codegen import Source
from d2s.watching.places import is_backward, is_in_backward, is_sum_of_gradients, place_in_backward, source_of


@dataclass(frozen=True)
class Ran:
    """
    One operator that has run.

    Attributes
    ----------
    kind : str
        Name of the op, or of the built-in operator.
    backward : bool
        True if it computes a gradient.
    location : Location or None
        The user's line; of a gradient the line that it is the gradient of.
    is_static : bool
    arguments, attrs : tuple, dict
        What an eager op was given; of a static operator the arrays that it read, and no attributes.
    values : tuple of ndarray
        What it gave: the arrays themselves.
    begin, end : int
        In nanoseconds of `time.perf_counter_ns`.
    in_hook : bool
        True if a hook has run it.
    """

    kind: str
    backward: bool
    location: Location | None
    is_static: bool
    arguments: tuple[Any, ...]
    attrs: dict[str, Any]
    values: tuple[np.ndarray[Any, Any], ...]
    begin: int
    end: int
    in_hook: bool = False


Note = Callable[[Ran], None]


@contextmanager
def watched(note: Note) -> Iterator[None]:
    """Call `note` for every operator that this thread runs inside, in order of completion.

    Uses `sys.settrace` for generated code: a debugger does not see what runs inside.
    """
    before = sys.gettrace()
    sys.settrace(_StaticWatch(note).called)
    try:
        with use_interpreter(_EagerWatch(note)):
            yield
    finally:
        sys.settrace(before)


class _EagerWatch(EagerInterpreter):
    """Computes as eager mode does, and tells of it."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._busy = False
        self._places: weakref.WeakKeyDictionary[InteriorNode, Location | None] = weakref.WeakKeyDictionary()

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any], links: bool = True) -> Any:
        if self._busy or state.current is not self:
            # Part of another op, or computed while something is traced.
            return super().process(op, args, attrs, links)
        self._busy = True
        begin = time.perf_counter_ns()
        try:
            result = super().process(op, args, attrs, links)
        finally:
            self._busy = False
        end = time.perf_counter_ns()
        frame = sys._getframe(1)
        node, in_hook = place_in_backward(frame)
        is_sum = node is None and is_sum_of_gradients(frame)
        location = None if is_sum else user_location(frame) if node is None else self._places.get(node)
        tensors = result if type(result) is tuple else (result,)
        for tensor in tensors:
            if tensor._node is not None:
                self._places[tensor._node] = location
        values = tuple(tensor.data for tensor in tensors)
        backward = node is not None or is_sum or is_in_backward(frame)
        self._note(Ran(op.name, backward, location, False, args, attrs, values, begin, end, in_hook))
        return result


class _StaticWatch:
    """A trace function that follows generated code and nothing else."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def called(self, frame: FrameType, event: str, argument: Any) -> Any:
        source = source_of(frame)
        if source is None:
            return None
        # Lines of other generated code that runs in between are told of first, so each line has its own begin.
        last: list[int] = [0, 0]
        read: list[tuple[np.ndarray[Any, Any], ...]] = [()]

        def follow(frame: FrameType, event: str, argument: Any) -> Any:
            now = time.perf_counter_ns()
            if last[0]:
                self._finished(frame, source, last[0], read[0], last[1], now, event == "exception")
                last[0] = 0
            if event == "line":
                # Once the line has run, what it read may be gone.
                read[0] = _arrays(frame, _names(source.lines[frame.f_lineno - 1]).read)
                last[:] = frame.f_lineno, time.perf_counter_ns()
            return follow

        return follow

    def _finished(
        self, frame: FrameType, source: Source, line: int, read: tuple[np.ndarray[Any, Any], ...], begin: int, end: int,
        failed: bool,
    ) -> None:
        operator = source.locations.get(line)
        if operator is None:
            return
        values = () if failed else _arrays(frame, _names(source.lines[line - 1]).assigned)
        place = operator.location
        backward = is_backward(source) or (place is not None and place.of_gradient)
        self._note(Ran(operator.kind, backward, place, True, read, {}, values, begin, end))


def _arrays(frame: FrameType, names: tuple[str, ...]) -> tuple[np.ndarray[Any, Any], ...]:
    """What the names stand for in a frame, if that is an array or a number of NumPy."""
    held, constants = frame.f_locals, frame.f_globals
    found = (held.get(name, constants.get(name)) for name in names)
    return tuple(np.asarray(value) for value in found if isinstance(value, np.ndarray | np.generic))


class _Names(NamedTuple):
    """The names that one line of generated code reads, and those that it assigns."""

    read: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()


@functools.lru_cache(maxsize=4096)
def _names(line: str) -> _Names:
    try:
        statements = ast.parse(line.strip()).body
    except SyntaxError:
        # The head of a compound statement.
        return _Names()
    nodes = [node for statement in statements for node in ast.walk(statement)]
    targets = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    return _Names(
        tuple(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)),
        tuple(name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)))


