"""One call of a function, with backward, and all that can be seen of it."""

from __future__ import annotations

import contextlib
import inspect
import random
import re
import sys
import traceback
import types
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np

from d2s.autograd import backward
from d2s.eager.tensor import Tensor, tensor_of
from d2s.eager.walk import obstacle
from d2s.errors import D2SError, Location, user_frame, user_location
from d2s.jit import StaticFunction
from d2s.testing.arguments import Arguments
from d2s.testing.output import Line, shown_lines
from d2s.testing.reach import MOST_PARTS, Reach, is_closed, is_generator, parts_of
from d2s.testing.surroundings import SURROUNDINGS, digest
from d2s.testing.variables import is_users_file
from d2s.watching.hooks import HookCall, watched_hooks
from d2s.watching.places import source_of

# What a function does whose result has been used up.
CALLS_BACKWARD = "the function calls backward itself"
# A note of tensors.
REQUIRES = "requires a gradient"


@dataclass(frozen=True)
class Seen:
    """A value that was seen: an array, or a text for anything else."""

    value: Any
    note: str = ""

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray)


@dataclass(frozen=True)
class Raised:
    """An exception: class, words, where in the user's source, the classes of its causes; of d2s, its id and advice."""

    kind: str
    words: str
    place: Location | None = field(compare=False)
    causes: tuple[str, ...] = ()
    id: str = ""
    advice: str = field(default="", compare=False)

    @property
    def is_refusal(self) -> bool:
        """True if static mode says that code cannot become a graph."""
        return self.kind in ("UnsupportedSyntaxError", "TracingError")

    def __str__(self) -> str:
        id = f" [{self.id}]" if self.id else ""
        return f"{self.kind}: {self.words}{id}" if self.words else self.kind


@dataclass
class Observation:
    """
    What one call has shown.

    Attributes
    ----------
    outputs, gradients, state : dict of str to Seen
        By the path a reader knows them under.
    hooks : list of HookCall
    printed : list of (text, Location or None)
        The lines that were printed, on stderr too, and what was logged, and where in the user's source.
    warned : list of (text, Location or None)
        In the same way.
    order : list of str
        What came after what: of hook calls, printed lines and warnings.
    left_out : list of str
        Why backward was not called on some of the returned tensors.
    raised : Raised or None
    """

    outputs: dict[str, Seen] = field(default_factory=dict)
    gradients: dict[str, Seen] = field(default_factory=dict)
    state: dict[str, Seen] = field(default_factory=dict)
    hooks: list[HookCall] = field(default_factory=list)
    printed: list[Line] = field(default_factory=list)
    warned: list[Line] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    raised: Raised | None = None

    def note_hook(self, call: HookCall) -> None:
        """A hook has been called."""
        self.hooks.append(call)
        self.order.append(f"hook call {len(self.hooks)}")

    def note_line(self, line: Line) -> None:
        """A line has been printed, or a record logged."""
        self.printed.append(line)
        self.order.append(f"printed line {len(self.printed)}")

    def note_warning(self, warning: Line) -> None:
        """A warning has been given."""
        self.warned.append(warning)
        self.order.append(f"warning {len(self.warned)}")


def observe(
    function: Callable[..., Any], arguments: Arguments, reach: Reach, grads: bool,
    around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
) -> Observation:
    """
    Call `function`, and backward from what it returns.

    Parameters
    ----------
    function : callable
    arguments : Arguments
    reach : Reach
        What is looked at afterwards.
    grads : bool
        False: no backward.
    around : callable
        A context to run in.
    """
    seen = Observation()
    with (
        shown_lines(seen.note_line), _all_warnings(seen.note_warning), watched_hooks(seen.note_hook), around()
    ):
        try:
            result = arguments.call(function)
            seen.outputs = dict(_describe("the output", result, _objects_by_path(reach)))
            if grads:
                seen.left_out = differentiate(result)
                seen.gradients.update(_gradients(_tensors_by_path("the output", result)))
            if inspect.iscoroutine(result):
                # Nobody will await it.
                result.close()
        except (Exception, SystemExit) as error:
            seen.raised = _raised(error)
    seen.gradients.update(gradients_of(reach))
    seen.state = state_of(reach)
    return seen


@contextlib.contextmanager
def _all_warnings(tell: Callable[[Line], object]) -> Iterator[None]:
    """Tell of every warning, in place of showing it, with the user's line that it comes from."""

    def note(message: Warning | str, category: type[Warning], *_: Any) -> None:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == warnings.__file__:
            frame = frame.f_back
        tell((f"{category.__name__}: {message}", user_location(frame)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note  # type: ignore[assignment]
        yield


def differentiate(result: Any) -> list[str]:
    """
    Backward from every tensor in `result` that has a history; each element gets a gradient of its own.

    A tensor is left out if the function has called backward on its graph, or has written to what the gradient needs.

    Returns
    -------
    list of str
        Why tensors were left out.
    """
    roots = list({id(t): t for t in tensors_in(result) if not t.stop_gradient and not t.is_leaf}.values())
    reasons = [why_not_differentiated(root) for root in roots]
    free = [root for root, reason in zip(roots, reasons, strict=True) if reason is None]
    if free:
        backward(free, [tensor_of(np.arange(1, t.size + 1).astype(t.dtype).reshape(t.shape) / t.dtype.type(2))
                        for t in free])
    return [reason for reason in reasons if reason is not None]


def why_not_differentiated(tensor: Tensor) -> str | None:
    """Why backward from a tensor is not possible, in words; None if it is."""
    error = obstacle(tensor)
    if error is None:
        return None
    return CALLS_BACKWARD if error.kind == "G01" else error.message


def tensors_in(tree: Any) -> Iterator[Tensor]:
    """The tensors in nested containers and dataclasses."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, list | tuple | set):
        for part in tree:
            yield from tensors_in(part)
    elif isinstance(tree, dict):
        yield from tensors_in(list(tree.values()))
    elif is_dataclass(tree) and not isinstance(tree, type):
        yield from tensors_in(list(vars(tree).values()))


def _tensors_by_path(path: str, tree: Any) -> Iterator[tuple[str, Tensor]]:
    """The same, each with its path."""
    if isinstance(tree, Tensor):
        yield path, tree
    elif isinstance(tree, list | tuple | set | dict) or (is_dataclass(tree) and not isinstance(tree, type)):
        for inner, part in parts_of(path, tree):
            yield from _tensors_by_path(inner, part)


_MUTABLE = (list, dict, np.ndarray)


def _objects_by_path(reach: Reach) -> dict[int, str]:
    return {id(thing): path for path, thing in reach.objects() if isinstance(thing, (Tensor, *_MUTABLE))}


def _describe(path: str, thing: Any, known: dict[int, str]) -> Iterator[tuple[str, Seen]]:
    """A result, part by part; what is one of the caller's objects, or was met before, says so."""
    again = known.setdefault(id(thing), path) if isinstance(thing, (Tensor, *_MUTABLE)) else path
    note = "" if again == path else f"the same {_noun(thing)} as {again}"
    if isinstance(thing, Tensor):
        yield path, Seen(thing.data, ", ".join(filter(None, [note, "" if thing.stop_gradient else REQUIRES])))
    elif isinstance(thing, np.ndarray | np.generic):
        yield path, Seen(np.asarray(thing).copy(), ", ".join(filter(None, [type(thing).__name__, note])))
    elif isinstance(thing, list | tuple | dict) or (is_dataclass(thing) and not isinstance(thing, type)):
        keys = f" with keys {list(thing)}" if isinstance(thing, dict) else ""
        size = f" of {len(thing)}" if isinstance(thing, list | tuple | dict) else ""
        yield path, Seen(f"{type(thing).__name__}{size}{keys}", note)
        for inner, part in parts_of(path, thing):
            yield from _describe(inner, part, known)
    else:
        yield path, Seen(text_of(thing))


def _noun(thing: Any) -> str:
    return "tensor" if isinstance(thing, Tensor) else "array" if isinstance(thing, np.ndarray) else type(thing).__name__


def gradients_of(reach: Reach) -> dict[str, Seen]:
    """The gradients of everything that can be reached, by path."""
    return dict(_gradients(reach.objects()))


def _gradients(things: Any) -> Iterator[tuple[str, Seen]]:
    for path, thing in things:
        if isinstance(thing, Tensor):
            grad = thing.grad
            if grad is not None or not thing.stop_gradient:
                yield path, Seen("None" if grad is None else grad.data)


def state_of(reach: Reach) -> dict[str, Seen]:
    """Everything that can be reached, by path."""
    return dict(_state(reach))


def _state(reach: Reach) -> Iterator[tuple[str, Seen]]:
    for path, thing, again in reach.places():
        if is_closed(thing):
            # The same number may be found in many places: it is no object to be met once.
            yield path, Seen(text_of(thing))
        elif again is not None:
            yield path, Seen(f"the same object as {again}")
        elif isinstance(thing, Tensor):
            yield path, Seen(thing.data, "" if thing.stop_gradient else REQUIRES)
        elif isinstance(thing, np.ndarray):
            yield path, Seen(thing.copy(), "array")
        elif is_generator(thing):
            yield path, Seen(_digest_of_generator(thing))
        elif isinstance(thing, list | tuple | dict | set):
            whole = f", all of it {_digest(thing)}" if len(thing) > MOST_PARTS else ""
            yield path, Seen(f"{type(thing).__name__} of {len(thing)}{whole}")
            if isinstance(thing, set):
                yield f"the elements of {path}", Seen(repr(sorted(map(text_of, thing))))
    for surrounding in SURROUNDINGS:
        yield surrounding.name, Seen(surrounding.text(surrounding.read()))


def _digest_of_generator(thing: Any) -> str:
    """Where a generator of random numbers is."""
    if isinstance(thing, random.Random):
        return digest(thing.getstate())
    return digest(thing.bit_generator.state if isinstance(thing, np.random.Generator) else thing.get_state(False))


def _digest(things: Any) -> str:
    """A short text that differs for containers of different content."""
    parts = things.items() if isinstance(things, dict) else sorted(map(text_of, things)) if isinstance(
        things, set) else things
    words = (" ".join(map(text_of, part)) if isinstance(part, tuple) else text_of(part) for part in parts)
    return f"{zlib.crc32(chr(10).join(words).encode()):08x}"


def text_of(thing: Any) -> str:
    """A value as text without addresses."""
    if isinstance(thing, StaticFunction):
        return "a static function"
    if isinstance(thing, type | types.FunctionType | types.BuiltinFunctionType):
        return f"{type(thing).__name__} {thing.__qualname__}"
    if isinstance(thing, BaseException):
        return f"{type(thing).__name__}({', '.join(map(text_of, thing.args))})"
    if isinstance(thing, bool | int | float | complex | str | bytes | type(None) | np.generic | slice | range):
        return f"{thing!r}"
    return type(thing).__qualname__


def _raised(error: BaseException) -> Raised:
    """An error without what tells the modes apart: addresses in names, and the place that d2s adds to its words."""
    words = error.message if isinstance(error, D2SError) else str(error)
    words = re.sub(r"tensor_[0-9a-f]+", "tensor", words)
    causes = []
    cause = error.__cause__
    while cause is not None and not isinstance(error, D2SError):
        causes.append(type(cause).__name__)
        cause = cause.__cause__
    id, advice = (error.id, error.advice or "") if isinstance(error, D2SError) else ("", "")
    return Raised(type(error).__name__, words, place_of_error(error), tuple(causes), id, advice)


def place_of_error(error: BaseException) -> Location | None:
    """The last line of the user's that an error came through."""
    if isinstance(error, D2SError) and error.location is not None:
        return error.location
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if user_frame(frame) is frame and is_users_file(frame.f_code.co_filename):
            found = Location(frame.f_code.co_filename, line)
            continue
        source = source_of(frame)
        operator = None if source is None else source.locations.get(line)
        if operator is not None and operator.location is not None:
            found = operator.location
    return found
