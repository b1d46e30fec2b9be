"""Where in the user's source a running frame stands, generated code included."""

from __future__ import annotations

from types import FrameType
from typing import Any

from d2s.core.hooks import HookList
from d2s.eager.tape import InteriorNode, LeafNode, OpNode
from d2s.eager.walk import Walk
from d2s.errors import user_frame
from d2s.static.codegen import SOURCE, Source
from d2s.static.runtime import py_layer_backward

GENERATED = "<d2s program"
_PROPAGATE = OpNode.propagate.__code__
# What hooks do belongs to no rule.
_HOOKS = (HookList.run.__code__, LeafNode.run_reduce_hooks.__code__)
_RULES_OF_USERS = py_layer_backward.__code__
_VISIT = InteriorNode.visit.__code__
_SUM = Walk._sum.__code__


def source_of(frame: FrameType) -> Source | None:
    """The generated source that a frame runs, or None if it runs something else."""
    if not frame.f_code.co_filename.startswith(GENERATED):
        return None
    function: Any = frame.f_globals.get(frame.f_code.co_name)
    found: Source | None = getattr(function, "__dict__", {}).get(SOURCE)
    return found


def is_backward(source: Source) -> bool:
    """True if a generated function computes gradients, or counts them."""
    return source.name in ("backward", "count")


def place_in_backward(frame: FrameType | None) -> tuple[OpNode | None, bool]:
    """The node of the tape whose gradient rules `frame` is called from, if it is, and whether a hook is in between.

    Rules may be the user's code too.
    """
    while frame is not None and frame.f_code not in _HOOKS:
        if frame.f_code is _PROPAGATE:
            found: OpNode = frame.f_locals["self"]
            return found, False
        frame = frame.f_back
    return None, frame is not None


def is_in_backward(frame: FrameType | None) -> bool:
    """True if `frame` is called from a compiled backward, not counting the user's frames, or from that of a PyLayer."""
    stop, inner = user_frame(frame), frame
    while inner is not None and inner is not stop:
        source = source_of(inner)
        if source is not None:
            return is_backward(source)
        inner = inner.f_back
    return _is_users_rule(stop)


def is_sum_of_gradients(frame: FrameType | None) -> bool:
    """True if `frame` adds two contributions to one gradient: no line of the user's does."""
    stop = user_frame(frame)
    while frame is not None and frame is not stop:
        if frame.f_code is _SUM:
            return True
        frame = frame.f_back
    return False


def _is_users_rule(frame: FrameType | None) -> bool:
    """True if `frame` is called by a rule of gradients that is the user's own, with no hook in between."""
    while frame is not None and frame.f_code not in _HOOKS:
        if frame.f_code is _RULES_OF_USERS:
            return True
        if frame.f_code is _VISIT:
            node: InteriorNode = frame.f_locals["self"]
            return node.has_users_rule
        frame = frame.f_back
    return False
