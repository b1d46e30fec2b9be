"""From ``file.py:function`` and ``--input 'float32[8,784]'`` to the objects that are meant."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import math
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from d2s.cli.mistakes import FAILED, Mistake
from d2s.core.spec import as_dtype
from d2s.eager.tensor import Tensor
from d2s.errors import D2SError
from d2s.jit import StaticFunction, to_static
from d2s.nn.layer import Layer
from d2s.ops.random import seed
from d2s.testing.reach import parameter_names

_SPEC = re.compile(r"(?:(?P<name>[A-Za-z_]\w*)=)?(?P<dtype>[a-z]+\d*)\[(?P<sizes>[\d,\s]*)\](?P<stop>!?)")
# An input is drawn in float64, and there are its gradients, the results and copies of all these.
COPIES = 8
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.+)", re.DOTALL)


def target_of(text: str, to_call: bool = False) -> Any:
    """
    The function or Layer that ``file.py:name`` or ``package.module:name`` means; a class is called without arguments.

    `to_call`: so is the class of a method, which is then bound.

    Raises
    ------
    Mistake
    """
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name:
        raise Mistake(f"{text!r} names no function: write file.py:function")
    found: Any = _module(where)
    for part in name.split("."):
        if not hasattr(found, part):
            raise Mistake(f"{where} has no {name!r}{_close_to(found, part)}")
        if to_call and isinstance(found, type) and isinstance(inspect.getattr_static(found, part), FunctionType):
            found = _made(found, where)
        found = getattr(found, part)
    if isinstance(found, type):
        found = _made(found, where)
    if not callable(found):
        raise Mistake(f"{text} is {type(found).__name__}, neither a function nor a Layer")
    return found


def _made(kind: type, where: str) -> Any:
    """An object of the class."""
    try:
        return kind()
    except (Exception, SystemExit) as error:
        raise Mistake(
            f"{kind.__qualname__} is a class, and {kind.__qualname__}() raises {type(error).__name__}: {error}\n"
            f"Make the object in {where} and name that.", FAILED) from error


def _module(where: str) -> ModuleType:
    is_file = where.endswith(".py") or "/" in where
    if is_file and not Path(where).is_file():
        raise Mistake(f"there is no file {where}")
    try:
        if not is_file:
            sys.path.insert(0, "")
            return importlib.import_module(where)
        path = Path(where).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Under its own name, as if it were imported.
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    except ModuleNotFoundError as error:
        if error.name is not None and (where == error.name or where.startswith(f"{error.name}.")):
            raise Mistake(f"there is no module {where}; for a file write {where}.py") from error
        raise Mistake(f"{where} cannot be loaded: {in_words(error)}", FAILED) from error
    except (Exception, SystemExit) as error:
        raise Mistake(f"{where} cannot be loaded: {in_words(error)}", FAILED) from error


def _close_to(found: Any, name: str) -> str:
    names = [known for known, value in vars(found).items() if callable(value) and not known.startswith("_")]
    close = difflib.get_close_matches(name, names, 3) or [
        known for known in names if getattr(getattr(found, known), "__module__", None) == found.__name__][:8]
    return f"; there is {', '.join(close)}" if close else ""


def in_words(error: BaseException) -> str:
    """An error with the last line of the user's that it came through."""
    if isinstance(error, SyntaxError) or (isinstance(error, D2SError) and error.location is not None):
        return f"{type(error).__name__}: {error}"
    last = None
    for entry in traceback.extract_tb(error.__traceback__):
        if "importlib" not in entry.filename and f"{Path(__file__).parent.parent}" not in entry.filename:
            last = entry
    place = f"\n  {last.filename}:{last.lineno}\n    {last.line}" if last is not None else ""
    return f"{type(error).__name__}: {error}{place}"


def static_of(target: Any) -> StaticFunction:
    """The static form of a target."""
    found = target if isinstance(target, StaticFunction) else to_static(
        target.forward if isinstance(target, Layer) else target)
    if not isinstance(found, StaticFunction):
        raise Mistake(f"{target!r} is no plain function")
    return found


# Between the inputs of one call and those of the next.
NEXT = None


def calls_of(target: Any, texts: Sequence[str | None]) -> list[tuple[Any, ...]]:
    """The arguments of several calls: `NEXT` stands between those of one and those of the next."""
    groups: list[list[str]] = [[]]
    for text in texts:
        if text is NEXT:
            groups.append([])
        else:
            groups[-1].append(text)
    return [inputs_of(target, group) for group in groups]


def inputs_of(target: Any, texts: Sequence[str]) -> tuple[Any, ...]:
    """
    The arguments for a call, in their order.

    Parameters
    ----------
    target : callable
    texts : list of str
        Each one ``float32[8,784]`` (random numbers; ``float32[8,784]!`` stops gradients), a Python value, or one of
        these behind ``name=``.

    Raises
    ------
    Mistake
        If one cannot be read, or their number is wrong.
    """
    seed(0)
    generator = np.random.default_rng(0)
    original = target.dygraph_function if isinstance(target, StaticFunction) else target
    names = parameter_names(original, 10_000)
    names = [name for name in names if not name.startswith("argument ")]
    given: dict[str, Any] = {}
    for text in texts:
        name, value = _read(text, generator)
        if name is None:
            name = next((free for free in names if free not in given), None)
            if name is None:
                raise Mistake(f"too many inputs: {text!r} has no parameter; they are {', '.join(names) or 'none'}")
        elif name not in names:
            raise Mistake(f"there is no parameter {name!r}; they are {', '.join(names) or 'none'}")
        given[name] = value
    return _in_order(original, names, given)


def _in_order(original: Any, names: list[str], given: dict[str, Any]) -> tuple[Any, ...]:
    plain = original.forward if isinstance(original, Layer) else original
    parameters = inspect.signature(plain).parameters
    args = []
    last = max((number for number, name in enumerate(names) if name in given), default=-1)
    for number, name in enumerate(names):
        default = parameters[name].default
        if name in given:
            args.append(given[name])
        elif default is inspect.Parameter.empty:
            raise Mistake(
                f"no input for {name!r}: give one --input for each of {', '.join(names)}, like "
                "--input 'float32[8,784]'")
        elif number < last:
            args.append(default)
    return tuple(args)


def _read(text: str, generator: np.random.Generator) -> tuple[str | None, Any]:
    found = _SPEC.fullmatch(text.strip())
    if found is not None:
        shape = tuple(int(size) for size in found["sizes"].replace(" ", "").split(",") if size)
        try:
            dtype = as_dtype(found["dtype"])
        except (D2SError, TypeError, ValueError) as error:
            raise Mistake(f"in the input {text!r}: {found['dtype']!r} is no dtype") from error
        try:
            return found["name"], _random(shape, dtype, bool(found["stop"]), generator)
        except MemoryError as error:
            raise Mistake(f"there is not enough memory for the input {text!r}; give smaller sizes") from error
    named = _NAMED.fullmatch(text.strip())
    name, value = (named["name"], named["value"]) if named is not None else (None, text)
    try:
        return name, ast.literal_eval(value.strip())
    except (ValueError, SyntaxError) as error:
        raise Mistake(
            f"the input {text!r} is neither a spec like 'float32[8,784]' nor a Python value like 0.5") from error


def _memory() -> float:
    """Bytes of memory of this machine, if that can be known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def _random(shape: tuple[int, ...], dtype: Any, stops: bool, generator: np.random.Generator) -> Tensor:
    size = math.prod(shape) * dtype.itemsize
    if size * COPIES > _memory():
        raise Mistake(
            f"an input of shape {list(shape)} takes {size / 2**30:,.1f} GiB; with gradients and copies that is more "
            "than the memory of this machine; give smaller sizes")
    if dtype.kind in "fc":
        return Tensor(generator.standard_normal(shape).astype(dtype), stops)
    if dtype.kind == "b":
        return Tensor(generator.integers(0, 2, shape).astype(dtype))
    return Tensor(generator.integers(0, 10, shape).astype(dtype))
