"""What traced code changes of the parameters, buffers and sublayers of Layers from outside.

One that is registered happens when the Program runs, like an attribute that is set.  Code of d2s that looks at all of
them would not see it while tracing, and is refused; so is what changes a container of Layers.
"""

from __future__ import annotations

import inspect
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.guards import REGISTRIES, is_layer
from d2s.operators.stored import content_at
from d2s.operators.tracer import Tracer

_TABLES = ("_sub_layers", *REGISTRIES)
_REGISTER = frozenset({"add_sublayer", "add_module", "add_parameter", "register_parameter", "register_buffer"})
_CHANGE = frozenset({"append", "extend", "insert", "pop", "clear", "update", "__setitem__", "__delitem__"})
_WRITE = frozenset({"set_state_dict", "load_state_dict", "astype", "float", "double", "half"})
# These do not look at what a Layer consists of.
_APART = frozenset({"__call__", "create_parameter", "full_name", "extra_repr"})
# Nor these at its buffers.
_OF_NO_BUFFERS = frozenset({
    "parameters", "named_parameters", "sublayers", "named_sublayers", "children", "named_children", "modules",
    "named_modules"})


def is_outer(tracer: Tracer, thing: Any) -> bool:
    """True for a Layer from outside."""
    is_young = tracer.is_made(thing) or tracer.layer_hooks.is_new(thing)
    return is_layer(thing) and tracer.is_outer(thing) and not is_young


def registers(tracer: Tracer, method: Any) -> bool:
    """True for a method that enters something into a Layer from outside."""
    # A tensor that is registered has its values in the run only.
    return method.__name__ == "register_buffer" or (
        method.__name__ in _REGISTER and is_outer(tracer, method.__self__))


def register(tracer: Tracer, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call such a method when the Program runs; what it gives."""
    name, value, *_ = inspect.signature(method).bind(*args, **kwargs).arguments.values()
    if not isinstance(name, str):
        raise UnsupportedSyntaxError(
            f"{method.__name__}() is given a name that is known only when the Program runs", user_location(),
            "Name it by a str that is known.", kind="U38")
    owner = method.__self__
    tracer.effects += 1
    tracer.python_call(method, args, kwargs, effect=True)
    tracer.note_stored((id(owner), "attr", name), value, owner)
    tracer.registered.add((id(owner), name))
    table = owner.__dict__["_buffers"]
    if tracer.is_outer(table):
        tracer.changed(table)
    return None if method.__name__ == "register_buffer" else value


def check_unchanged(
    tracer: Tracer, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any], looked_at: list[Any]
) -> None:
    """Raise if a method of a Layer from outside changes what this consists of, or asks for what has been changed."""
    owner, name = method.__self__, method.__name__
    if not is_outer(tracer, owner):
        return
    writes = len(args) > 1 or kwargs.get("dtype") is not None if name == "to" else name in _WRITE
    if writes:
        raise UnsupportedSyntaxError(
            f"{name}() of a Layer from outside cannot become a graph", user_location(),
            "Call it outside of the static function; single tensors can be written by set_value().", kind="U38")
    if name in _CHANGE:
        refuse_change(owner)
    if name not in _APART:
        for layer in looked_at:
            check_whole(tracer, layer, name)


def refuse_change(container: Any) -> None:
    """Raise because traced code changes what a container of Layers from outside holds."""
    raise UnsupportedSyntaxError(
        f"what a {type(container).__name__} from outside holds is changed", user_location(),
        "Change it outside of the static function.", kind="U38")


def check_whole(tracer: Tracer, layer: Any, asked: str) -> None:
    """Raise if code that is not traced would miss what traced code has registered, replaced or deleted."""
    if id(layer) in tracer.dirty or any(
            place[:2] == (id(layer), "attr") and _is_missed(tracer, layer, place[2], content_at(entry), asked)
            for place, entry in tracer.pending.items()):
        raise UnsupportedSyntaxError(
            f"a {type(layer).__name__} from outside that this function has changed is read as a whole",
            user_location(), "Read it before the change, read single attributes, or keep the function eager with "
            "@d2s.jit.not_to_static.", kind="U04")


def _is_missed(tracer: Tracer, layer: Any, name: str, value: Any, asked: str) -> bool:
    """True if it matters to a method that `value` has been set under a name."""
    held = next((table for table in _TABLES if name in layer.__dict__[table]), None)
    if asked == "forward":
        # What is there already is replaced while it runs.
        return held is None and is_layer(value)
    if held == "_buffers" and isinstance(value, TensorBase):
        return asked not in _OF_NO_BUFFERS
    # Parameters know whether they are trained; other tensors are attributes like any other.
    is_parameter = isinstance(value, TensorBase) and hasattr(value, "trainable")
    return held is not None or is_layer(value) or is_parameter or (id(layer), name) in tracer.registered
