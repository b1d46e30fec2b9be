"""Which operator was called, and with what: for errors about its operands, at the moment at which they are raised."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, TypeVar

_Told = TypeVar("_Told")
# All code that says what is called, by its identity: the hash of code takes as long as all that a frame is asked for.
_telling: dict[int, CodeType] = {}


# Files at which the code of d2s does not end.
_own_files: set[str] = set()


class _ByCode(dict[CodeType, _Told]):
    """What is known of some code."""

    def __setitem__(self, code: CodeType, told: _Told) -> None:
        super().__setitem__(code, told)
        _telling[id(code)] = code


# The code of public functions, and their names.
PUBLIC: _ByCode[str] = _ByCode()
# The code of what computes an op, and its name: both modes come to it, static mode without the function around.
FORWARDS: _ByCode[str] = _ByCode()
# Layers of d2s are called by this method.
_FORWARD, _LAYERS = "forward", "d2s.nn."


@dataclass(frozen=True, slots=True)
class Call:
    """What the user has called: the name, and the shapes of the operands, as texts."""

    name: str
    shapes: tuple[str, ...] | None = None

    def with_operands(self, operands: Iterable[Any]) -> Call:
        """With the shapes of these, unless all of its own are known."""
        if self.shapes is not None and not any("?" in shape for shape in self.shapes):
            return self
        return Call(self.name, tuple(dict.fromkeys(text for operand in operands for text in _shapes_of(operand))))


# A call, or name and operands of one.
Found = Call | tuple[str, Iterable[Any]]
# For functions that are handed an op, or act for a public function: what they do, from their local variables.
HANDS: _ByCode[Callable[[Mapping[str, Any]], Found | None]] = _ByCode()
# What the user has called, if it is known of a frame as it is of the code of a Program.
Known = Callable[[FrameType], "tuple[bool, Call | None]"]


def named(message: str, frame: FrameType | None, known: Known, with_shapes: bool) -> str:
    """
    `message`, with the operator and the shapes of its operands if it does not name them.

    The operator is the function or Layer that the user has called, or the op, if there is no such function.

    Parameters
    ----------
    message : str
    frame : frame or None
        Where the error is raised.
    known : callable
        True for a frame at which the code of d2s ends, and what that frame has called, if it says so.
    with_shapes : bool
        Shapes are to be named even if the operator is.
    """
    found = called_from(frame, known)
    if found is None:
        return message
    name, shapes = found.name, found.shapes or ()
    is_named = re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", message) is not None
    if is_named and (not with_shapes or "[" in message or not shapes):
        return message
    about = "" if not shapes or any(shape in message for shape in shapes) else (
        f" of shape{'s' if len(shapes) > 1 else ''} {' and '.join(shapes)}")
    return f"{message}, in {name}{about}" if is_named else f"{name}{about}: {message}"


def called_from(frame: FrameType | None, known: Known) -> Call | None:
    """The outermost operator between `frame` and the user's code, or None."""
    operators: list[FrameType] = []
    call: Call | None = None
    while frame is not None:
        code = frame.f_code
        if id(code) in _telling:
            operators.append(frame)
        else:
            file = code.co_filename
            if file not in _own_files:
                is_end, call = known(frame)
                if is_end:
                    break
                if not file.startswith("<"):
                    _own_files.add(file)
            if code.co_name == _FORWARD:
                operators.append(frame)
        frame = frame.f_back
    # The variables of a frame are costly to look at: those of the outermost one are enough.
    found = next((found for one in reversed(operators) if (found := _operator(one)) is not None), None)
    if call is not None:
        return call.with_operands(found[1] if isinstance(found, tuple) else ())
    return Call(found[0]).with_operands(found[1]) if isinstance(found, tuple) else found


def _operator(frame: FrameType) -> Found | None:
    """What `frame` computes, if it is an operator or a Layer."""
    code = frame.f_code
    name = PUBLIC.get(code) or FORWARDS.get(code)
    if name is not None:
        return name, _arguments(frame)
    if code in HANDS:
        return HANDS[code](frame.f_locals)
    if code.co_varnames[:1] == ("self",) and frame.f_globals.get("__name__", "").startswith(_LAYERS):
        layer, *operands = _arguments(frame)
        return type(layer).__name__, operands
    return None


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
