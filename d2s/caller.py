"""Which operator was called, and with what: for errors about its operands, at the moment at which they are raised."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any

# The code of what computes an op, and its name: both modes come to it, static mode without the function around.
FORWARDS: dict[CodeType, str] = {}
# For functions that are handed an op: its name and operands, from their local variables.
HANDS: dict[CodeType, Callable[[Mapping[str, Any]], tuple[str, Iterable[Any]]]] = {}
# Where the functions on tensors are public.
_MODULES = ("d2s.ops", "d2s.linalg", "d2s.fft", "d2s.tensor", "d2s.nn.functional")


def named(message: str, frame: FrameType | None, is_user_code: Callable[[CodeType], bool], with_shapes: bool) -> str:
    """
    `message`, with the operator and the shapes of its operands if it does not name them.

    The operator is the function on tensors that the user has called, or the op, if what it computes raises.

    Parameters
    ----------
    message : str
    frame : frame or None
        Where the error is raised.
    is_user_code : callable
    with_shapes : bool
        Shapes are to be named even if the operator is.
    """
    found = _operator(frame, is_user_code)
    if found is None:
        return message
    name, operands = found
    shapes = list(dict.fromkeys(text for operand in operands for text in _shapes_of(operand)))
    is_named = re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", message) is not None
    if is_named and (not with_shapes or "[" in message or not shapes):
        return message
    about = "" if not shapes or any(shape in message for shape in shapes) else (
        f" of shape{'s' if len(shapes) > 1 else ''} {' and '.join(shapes)}")
    return f"{message}, in {name}{about}" if is_named else f"{name}{about}: {message}"


def _operator(
    frame: FrameType | None, is_user_code: Callable[[CodeType], bool]
) -> tuple[str, Iterable[Any]] | None:
    """Name and operands of the outermost operator between `frame` and the user's code."""
    found: tuple[str, Iterable[Any]] | None = None
    while frame is not None and not is_user_code(frame.f_code):
        code = frame.f_code
        if code in FORWARDS:
            return FORWARDS[code], _arguments(frame)
        if code in HANDS:
            found = HANDS[code](frame.f_locals)
        elif not code.co_name.startswith(("_", "<")) and _is_public(code):
            found = code.co_name.rstrip("_"), _arguments(frame)
        frame = frame.f_back
    return found


def _is_public(code: CodeType) -> bool:
    # Of a function whose name is that of a builtin, the name of the code ends with an underscore.
    name = code.co_name.rstrip("_")
    return any(getattr(getattr(sys.modules.get(module), name, None), "__code__", None) is code for module in _MODULES)


def _arguments(frame: FrameType) -> list[Any]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x04)
    return [frame.f_locals[name] for name in code.co_varnames[:count] if name in frame.f_locals]


def _shapes_of(operand: Any) -> Iterable[str]:
    """The shape of a tensor, an array or a spec, or those of a list of them, as texts."""
    if isinstance(operand, list | tuple):
        return [text for part in operand[:8] for text in _shapes_of(part)]
    if hasattr(type(operand), "__d2s_operand__"):
        # Asking a value of the run for anything would be recorded.
        return []
    # The shape of a symbolic tensor may be computed: its spec is what is known.
    known = getattr(operand, "spec", operand)
    if not isinstance(getattr(known, "shape", None), tuple) or not hasattr(known, "dtype"):
        return []
    return [f"[{', '.join(str(size) if isinstance(size, int) else '?' for size in known.shape)}]"]
