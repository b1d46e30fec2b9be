"""The variables outside of a function that it may read and bind: cells, globals, attributes of the user's modules."""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Among them what dataclasses and named tuples are made of.
_NOT_THE_USERS = (
    str(Path(__file__).parent.parent) + os.sep, sysconfig.get_paths()["stdlib"] + os.sep,
    "<d2s ", "<string>", "<frozen ",
)


@functools.cache
def is_users_file(file: str) -> bool:
    """True for a file of the user's own, which is neither of d2s nor of a library."""
    return not file.startswith(_NOT_THE_USERS) and "site-packages" not in Path(file).parts


def is_users_class(kind: type) -> bool:
    """True for a class that a file of the user's own defines."""
    return is_users_module(sys.modules.get(kind.__module__))


def is_users_module(thing: Any) -> bool:
    """True for a module that is a file of the user's own."""
    file = getattr(thing, "__file__", None) if isinstance(thing, types.ModuleType) else None
    return isinstance(file, str) and is_users_file(file)


def variables_of(function: types.FunctionType) -> Iterator[tuple[str, Any, str | None]]:
    """
    Name, keeper (a cell, or the dict of a module) and key (None for a cell) of each variable.

    A global may be missing: one that the function binds.  Attributes of a module are those among the names in the code.
    """
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell, None
    names, bound, imported = _names_in(function.__code__)
    modules = {name: sys.modules.get(name) for name in imported}
    for name in names:
        if name in function.__globals__:
            yield name, function.__globals__, name
            modules[name] = function.__globals__[name]
        elif name in bound:
            yield name, function.__globals__, name
    yield from _attributes(modules, names, set())


def _attributes(modules: dict[str, Any], names: tuple[str, ...], seen: set[int]) -> Iterator[tuple[str, Any, str]]:
    """The attributes with these names of those of the `modules` that are the user's, and of modules in them."""
    for path, module in modules.items():
        if is_users_module(module) and id(module) not in seen:
            seen.add(id(module))
            found = {name: value for name, value in vars(module).items() if name in names}
            yield from ((f"{path}.{name}", vars(module), name) for name in found)
            yield from _attributes({f"{path}.{name}": value for name, value in found.items()}, names, seen)


@functools.cache
def _names_in(code: types.CodeType) -> tuple[tuple[str, ...], frozenset[str], frozenset[str]]:
    """The names in code, that of inner functions too: all of them, the globals that it binds, what it imports."""
    names, bound, imported = dict.fromkeys(code.co_names), set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            bound.add(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":
            imported.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names_in(constant)
            names.update(dict.fromkeys(inner[0]))
            bound |= inner[1]
            imported |= inner[2]
    return tuple(names), frozenset(bound), frozenset(imported)


def read_variable(keeper: Any, key: str | None) -> Any:
    """The value of a variable in a cell or a dict; `inspect.Parameter.empty` if there is none."""
    if key is not None:
        return keeper.get(key, inspect.Parameter.empty)
    try:
        return keeper.cell_contents
    except ValueError:
        return inspect.Parameter.empty


def bind_variable(keeper: Any, key: str | None, value: Any) -> None:
    """Give a variable a value; `inspect.Parameter.empty` unbinds it."""
    if value is inspect.Parameter.empty:
        if key is None:
            del keeper.cell_contents
        else:
            keeper.pop(key, None)
    elif key is None:
        keeper.cell_contents = value
    else:
        keeper[key] = value
