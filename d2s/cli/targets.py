"""From ``file.py:function`` and ``--input 'float32[8,784]'`` to the objects that are meant."""

from __future__ import annotations

import ast
import difflib
import functools
import importlib
import importlib.util
import inspect
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from d2s.cli.mistakes import FAILED, Mistake
from d2s.core.spec import as_dtype
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import D2SError, Location
from d2s.jit import StaticFunction, to_static
from d2s.nn.layer import Layer
from d2s.ops.random import seed
from d2s.testing.arguments import Arguments, parameters_of
from d2s.testing.observing import place_of_error

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
        return _module_of_file(Path(where).resolve())
    except ModuleNotFoundError as error:
        if error.name is not None and (where == error.name or where.startswith(f"{error.name}.")):
            raise Mistake(f"there is no module {where}; for a file write {where}.py") from error
        raise Mistake(f"{where} cannot be loaded: {in_words(error)}", FAILED) from error
    except (Exception, SystemExit) as error:
        raise Mistake(f"{where} cannot be loaded: {in_words(error)}", FAILED) from error


def _module_of_file(path: Path) -> ModuleType:
    """The module of a file: that of its package, if it is in one, so that its relative imports work."""
    root, names = path.parent, [] if path.stem == "__init__" else [path.stem]
    while (root / "__init__.py").is_file() and root != root.parent:
        names.insert(0, root.name)
        root = root.parent
    sys.path.insert(0, str(root))
    if len(names) > 1 or path.stem == "__init__":
        name = ".".join(names)
        before = sys.modules.get(names[0])
        if before is None or str(root) in map(str, (Path(at).parent for at in getattr(before, "__path__", ()))):
            return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Under its own name, as if it were imported.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _close_to(found: Any, name: str) -> str:
    names = [known for known, value in vars(found).items() if callable(value) and not known.startswith("_")]
    close = difflib.get_close_matches(name, names, 3) or [
        known for known in names if getattr(getattr(found, known), "__module__", None) == found.__name__][:8]
    return f"; there is {', '.join(close)}" if close else ""


def in_words(error: BaseException) -> str:
    """An error with the last line of the user's that it came through."""
    if isinstance(error, D2SError) and error.location is not None:
        return f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        column = None if error.offset is None else error.offset - 1
        where = Location(error.filename, error.lineno, (error.text or "").rstrip(), column)
        return f"{type(error).__name__}: {error.msg}\n{where.excerpt()}"
    found = place_of_error(error)
    place = f"\n{found.excerpt()}" if found is not None else ""
    return f"{type(error).__name__}: {error}{place}"


def static_of(target: Any) -> StaticFunction:
    """The static form of a target; of a partial, that of its function."""
    while isinstance(target, functools.partial):
        target = target.func
    found = target if isinstance(target, StaticFunction) else to_static(
        target.forward if isinstance(target, Layer) else target)
    if not isinstance(found, StaticFunction):
        raise Mistake(f"{target!r} is no plain function")
    return found


def in_full(target: Any, given: Arguments) -> Arguments:
    """The arguments with those that partials add: what the function of `static_of` gets."""
    while isinstance(target, functools.partial):
        given = Arguments((*target.args, *given.positional), {**target.keywords, **given.keyword})
        target = target.func
    return given


# Between the inputs of one call and those of the next.
NEXT = None


def calls_of(target: Any, texts: Sequence[str | None]) -> list[Arguments]:
    """The arguments of several calls: `NEXT` stands between those of one and those of the next."""
    groups: list[list[str]] = [[]]
    for text in texts:
        if text is NEXT:
            groups.append([])
        else:
            groups[-1].append(text)
    return [inputs_of(target, group) for group in groups]


def inputs_of(target: Any, texts: Sequence[str]) -> Arguments:
    """
    The arguments for a call.

    Parameters
    ----------
    target : callable
    texts : list of str
        Each one ``float32[8,784]`` (random numbers; ``float32[8,784]!`` stops gradients), a Python value, or one of
        these behind ``name=``.  Those without a name are for the positional parameters in their order, then for ``*``.

    Raises
    ------
    Mistake
        If one cannot be read, their number is wrong, or one parameter is given twice.
    """
    seed(0)
    generator = np.random.default_rng(0)
    inputs = _Inputs(parameters_of(target.dygraph_function if isinstance(target, StaticFunction) else target))
    for text in texts:
        inputs.add(text, *_read(text, generator))
    return inputs.arguments()


class _Inputs:
    """The inputs of one call, as they are given."""

    def __init__(self, parameters: Sequence[inspect.Parameter]) -> None:
        self._parameters = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        self._positional = [p for p in self._parameters if p.kind is not p.KEYWORD_ONLY]
        kinds = {p.kind for p in parameters}
        self._takes_more = inspect.Parameter.VAR_POSITIONAL in kinds
        self._takes_names = inspect.Parameter.VAR_KEYWORD in kinds
        self._given: dict[str, Any] = {}
        self._more: list[Any] = []

    def add(self, text: str, name: str | None, value: Any) -> None:
        """One more input; without a name it is for the first positional parameter that has none."""
        if name is None:
            name = next((p.name for p in self._positional if p.name not in self._given), None)
            if name is None and self._takes_more:
                self._more.append(value)
                return
            if name is None:
                raise Mistake(f"too many inputs: {text!r} has no parameter; they are {self._in_words()}")
        elif name in self._given:
            raise Mistake(f"the parameter {name!r} is given twice, the second time by {text!r}")
        elif not self._takes_names and name not in (p.name for p in self._parameters):
            raise Mistake(f"there is no parameter {name!r}; they are {self._in_words()}")
        self._given[name] = value

    def arguments(self) -> Arguments:
        """The arguments of the call: defaults stand in for positional parameters before one that is given."""
        for parameter in self._parameters:
            if parameter.name not in self._given and parameter.default is inspect.Parameter.empty:
                raise Mistake(
                    f"no input for {parameter.name!r}: give one --input for each of {self._in_words()}, like "
                    "--input 'float32[8,784]'")
        keyword = dict(self._given)
        given = [p.name in keyword for p in self._positional]
        count = len(given) if self._more else max((number for number, is_given in enumerate(given, 1) if is_given),
                                                  default=0)
        positional = [keyword.pop(p.name, p.default) for p in self._positional[:count]]
        return Arguments((*positional, *self._more), keyword)

    def _in_words(self) -> str:
        return ", ".join(f"{p.name}=" if p.kind is p.KEYWORD_ONLY else p.name for p in self._parameters) or "none"


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
        return tensor_of(generator.standard_normal(shape).astype(dtype), stops)
    if dtype.kind == "b":
        return tensor_of(generator.integers(0, 2, shape).astype(dtype))
    return tensor_of(generator.integers(0, 10, shape).astype(dtype))
