"""What a saved Program may name: the functions and classes that are stored by name, and no others."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from d2s import errors
from d2s.errors import ExecutionError
from d2s.operators import closures, control_flow, open_functions, run_time
from d2s.static import variable

_BUILTINS = ("abs", "bool", "complex", "dict", "divmod", "float", "int", "len", "list", "max", "min", "pow", "print",
             "range", "round", "set", "sorted", "str", "sum", "tuple")

# With these a file could get at, and call, whatever it likes.
_REACHING_OUT = frozenset(("attrgetter", "call", "itemgetter", "methodcaller"))

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"operator.{name}": getattr(operator, name) for name in operator.__all__ if name not in _REACHING_OUT},
    **{f"math.{name}": found for name, found in vars(math).items() if callable(found)},
    **{name: getattr(builtins, name) for name in _BUILTINS},
    "d2s.check": control_flow._check,
    "d2s.check_reads": run_time.check_reads,
    "d2s.copy_of": closures._copy_of,
    "d2s.fill": closures._fill,
    "d2s.list_of": open_functions.tolist,
    "d2s.note_read": run_time.note_read,
    "d2s.numpy_of": variable._numpy_of,
    "d2s.set_value": run_time.set_value,
}
NAMES = {function: name for name, function in FUNCTIONS.items()}
TAGS = frozenset((
    "array", "complex", "dict", "dtype", "ellipsis", "error", "float", "frozenset", "function", "list", "record",
    "scalar", "set", "slice", "tuple", "type", "value",
))
TYPES = {"bool": bool, "complex": complex, "dict": dict, "float": float, "int": int, "list": list, "str": str}


def fill_container(thing: Any, template: tuple[Any, ...]) -> None:
    """What `d2s.fill` is in a Program from a file: nothing but containers can be filled."""
    if type(thing) not in (list, dict, set):
        raise ExecutionError(f"a saved Program fills a {type(thing).__name__}", kind="X11")
    closures._fill(thing, template)


def error_class(name: str) -> type[BaseException] | None:
    """The class of errors of Python or d2s that has this name."""
    found = getattr(errors, name, None) or getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None
