"""Which functions of libraries compute only from their arguments: they may run while a function is traced."""

from __future__ import annotations

import dis
import pathlib
from types import CodeType
from typing import Any

import numpy as np

from d2s.operators import policy

# Packages whose functions compute only from their arguments.
PURE = frozenset({
    "abc", "bisect", "builtins", "collections", "copy", "cmath", "dataclasses", "decimal", "enum", "fractions",
    "functools", "heapq", "inspect", "itertools", "json", "math", "numbers", "numpy", "operator", "re", "statistics",
    "string", "textwrap", "types", "typing", "_collections_abc", "_functools", "_operator", "_bisect", "_heapq",
    "_collections", "_struct", "struct", "copyreg", "contextlib", "pathlib", "posixpath", "weakref", "datetime",
})
EFFECTS_IN_BUILTINS = frozenset({"print", "open", "input", "exec", "eval", "breakpoint", "setattr", "delattr"})
# What asks for the time or for files, wherever it is.
EFFECTS_IN_PURE = frozenset({
    "now", "utcnow", "today", "load", "dump", "fromtimestamp", "timestamp", "astimezone", "get_type_hints",
})


def computes_only(func: Any) -> bool:
    """True for a function of a library that asks and changes nothing but its arguments."""
    module, name = policy.module_of(func), getattr(func, "__name__", "")
    if module not in PURE or name in EFFECTS_IN_PURE:
        return False
    if module == "posixpath":
        return name in _OF_TEXT
    if module == "pathlib":
        return hasattr(pathlib.PurePath, name)
    # What functions and classes hold may change, and is looked at.
    return module != "inspect" or name.startswith("is")


# Functions of `os.path` that look at no files, folders or variables of the process.
_OF_TEXT = frozenset({
    "basename", "commonpath", "commonprefix", "dirname", "isabs", "join", "normcase", "normpath", "split", "splitdrive",
    "splitext", "splitroot",
})

# Functions of NumPy that read and write files, write to an array, or look at its settings.
ACT_IN_NUMPY = frozenset({
    "geterr", "seterr", "geterrcall", "seterrcall", "getbufsize", "setbufsize", "get_printoptions", "set_printoptions",
    "array2string", "array_repr", "array_str",
    "save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "fromfile", "memmap", "copyto", "put",
    "place", "putmask", "fill_diagonal", "put_along_axis",
})


def names_nothing(text: Any) -> bool:
    """True for the text of an expression that reads no names but its own: ``lambda v: v * 2``."""
    if not isinstance(text, str):
        return False
    codes = [compile(text, "<string>", "eval")]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    read = {instruction.opname for code in codes for instruction in dis.get_instructions(code)}
    return read.isdisjoint({"LOAD_NAME", "LOAD_GLOBAL"})


def runs_no_code_of_user(func: Any) -> bool:
    """True for functions of libraries that run no code of the user."""
    module = policy.module_of(func)
    return (policy.is_stdlib(module) or module in ("builtins", "numpy")) and func not in (eval, exec) and not (
        isinstance(func, np.vectorize) or is_ufunc_of_user(func))


def is_ufunc_of_user(func: Any) -> bool:
    """True for what `numpy.frompyfunc` has made."""
    return isinstance(func, np.ufunc) and getattr(np, func.__name__, None) is not func and any(
        letter == "O" for types in func.types for letter in types.replace("->", "")) and len(func.types) == 1
