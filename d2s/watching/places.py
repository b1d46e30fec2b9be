"""Where in the user's source a running frame stands, generated code included."""

from __future__ import annotations

from types import FrameType
from typing import Any

from d2s.core.hooks import HookList
from d2s.eager.tape import LeafNode, OpNode
from d2s.errors import user_frame
from d2s.static.codegen import SOURCE, Source

GENERATED = "<d2s program"
_PROPAGATE = OpNode.propagate.__code__
# What hooks do belongs to no rule.
_HOOKS = (HookList.run.__code__, LeafNode.run_reduce_hooks.__code__)


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
    """True if `frame` is called from a compiled backward, not counting the user's frames."""
    stop = user_frame(frame)
    while frame is not None and frame is not stop:
        source = source_of(frame)
        if source is not None:
            return is_backward(source)
        frame = frame.f_back
    return False
