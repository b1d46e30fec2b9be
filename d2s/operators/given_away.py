"""Containers and objects made inside that code which is not traced has got: the run checks that it changes none.

Of what traced code has made, the trace knows what it holds.  Whoever has got it may keep it, and change it in any later
call of code that is not traced.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from types import CellType, SimpleNamespace
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.operators.guards import is_layer
from d2s.operators.heap import content_of
from d2s.operators.open_items import is_open
from d2s.operators.tracer import Tracer
from d2s.static.program import Value
from d2s.static.runtime import MISSING, check_contents, contents_of
from d2s.static.variable import ObjectVariable

_CONTAINERS = (list, dict, set, deque, bytearray)
# What has methods that keep and change nothing.
_HARMLESS_KINDS = (bool, int, float, complex, str, bytes, tuple, np.ndarray, np.generic)


@contextlib.contextmanager
def watched(tracer: Tracer, given: Iterable[Any], with_earlier: bool = True) -> Iterator[None]:
    """Around a call that is `given` these, and may change them, and what was given away earlier."""
    made: dict[int, Any] = {}
    for thing in given:
        _collect(tracer, thing, made)
    if made or with_earlier:
        tracer.lowering.refresh()
    if with_earlier:
        made |= {id(thing): thing for thing in _still_seen(tracer) if _is_known(tracer, thing)}
    before = [(thing, content_of(thing), _in_the_run(tracer, thing)) for thing in made.values()]
    contents = [tracer.python_call(contents_of, (there,), effect=True) for _, _, there in before]
    yield
    for (thing, known, there), content in zip(before, contents, strict=True):
        # Code of the user that is traced may have changed it.
        if not is_open(thing) and _is_same(content_of(thing), known):
            tracer.python_call(check_contents, (there, content), effect=True)


def _still_seen(tracer: Tracer) -> list[Any]:
    """What was given away and traced code may still look at."""
    given = tracer.lowering.given_away()
    # The same each time that the trace comes here, whoever refers to it by then.
    seen = tracer.as_found("still seen", lambda: _referred_to(tracer, given))
    return [given[value] for value in seen if value in given]


def _referred_to(tracer: Tracer, given: dict[Value, Any]) -> list[Value]:
    """Those of the things `given` away, by what stands for them, to which somebody besides the trace itself refers."""
    # By the dict, by what is noted of it, and by the call; and by what else the trace notes.
    others = {
        id(thing): sys.getrefcount(thing) - 4 - (id(thing) in tracer.frozen_containers) - tracer.is_made(thing)
        for thing in given.values()}
    inner = {value: [part for part in _parts(thing) if id(part) in others] for value, thing in given.items()}
    for parts in inner.values():
        for part in parts:
            others[id(part)] -= 1
    values = {id(thing): value for value, thing in given.items()}
    found = [value for value, thing in given.items() if others[id(thing)] > 0]
    seen = set(found)
    for value in found:
        for part in inner[value]:
            if values[id(part)] not in seen:
                seen.add(values[id(part)])
                found.append(values[id(part)])
    return found


def _parts(thing: Any) -> Iterable[Any]:
    content = thing if isinstance(thing, tuple) else content_of(thing)
    if isinstance(content, dict):
        return content.values()
    if isinstance(thing, CellType):
        return (content,)
    return () if isinstance(content, bytearray) else content


def _in_the_run(tracer: Tracer, thing: Any) -> Any:
    return ObjectVariable(tracer, tracer.lowering.cell(thing)) if isinstance(thing, CellType) else thing


def _is_same(content: Any, known: Any) -> bool:
    """True if two contents are the very same things."""
    if isinstance(content, dict):
        return content.keys() == known.keys() and all(content[key] is known[key] for key in content)
    if isinstance(content, list | deque):
        return len(content) == len(known) and all(map(operator.is_, content, known))
    return content is known or (isinstance(content, set | bytearray) and content == known)


def _collect(tracer: Tracer, thing: Any, made: dict[int, Any]) -> None:
    """What traced code has made of a thing and of what is in it."""
    if id(thing) in made or isinstance(thing, type | ObjectVariable | TensorBase) or tracer.is_outer(thing):
        return
    if _is_known(tracer, thing):
        made[id(thing)] = thing
    elif not isinstance(thing, tuple):
        return
    for part in _parts(thing):
        _collect(tracer, part, made)


def may_change_what_it_has(tracer: Tracer, called: ObjectVariable) -> bool:
    """True if a call of an object of the run may change what was given away."""
    owner, _ = _method_of(tracer, called)
    kind = getattr(owner, "kind", None)
    return kind is None or not issubclass(kind, _HARMLESS_KINDS)


def name_called(tracer: Tracer, called: ObjectVariable) -> str:
    """The name of the method that an object of the run is; empty for others."""
    return _method_of(tracer, called)[1]


def _method_of(tracer: Tracer, called: ObjectVariable) -> tuple[Any, str]:
    """Of which object an object of the run is an attribute, and its name; None and "" if that is not known."""
    definition = tracer.definitions.get(called.value)
    if definition is not None and definition[0].kind == "python":
        function, args, _ = definition[0].attrs["call"]
        if function is getattr and len(args) > 1 and isinstance(args[1], str):
            return args[0], args[1]
    return None, ""


def _is_known(tracer: Tracer, thing: Any) -> bool:
    """True for what traced code has made, and of which it knows the content."""
    if isinstance(thing, ObjectVariable) or tracer.is_outer(thing) or is_layer(thing):
        return False
    if isinstance(thing, CellType):
        return content_of(thing) is not MISSING
    return (isinstance(thing, _CONTAINERS) and not is_open(thing)) or type(thing) is SimpleNamespace or (
        tracer.is_made(thing) and type(getattr(thing, "__dict__", None)) is dict)
