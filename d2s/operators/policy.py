"""Which functions are converted when traced code calls them."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import sysconfig
import weakref
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = tuple(
    {os.path.realpath(path) + os.sep for path in map(sysconfig.get_paths().get, ("stdlib", "platstdlib")) if path}
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

# Functions of d2s and of the library that call functions of the user and must be looked into.
_TRANSPARENT = (
    *(os.path.join(_PACKAGE, *path) for path in (
        ("autograd", "decorated.py"), ("autograd", "checkpoint.py"), ("static", "nn.py"), ("ops", "tensor_lists.py"),
        ("distribution.py",))),
    contextlib.__file__,
)

# What `functools.total_ordering` adds to a class of the user calls methods of that.
_ORDERING = frozenset(
    function.__code__ for found in functools._convert.values() for _, function in found)  # type: ignore[attr-defined]

_ACT_WHEN_RUN = frozenset({
    ("d2s.ops.random", "seed"),
    ("d2s.ops.random", "get_rng_state"),
    ("d2s.ops.random", "set_rng_state"),
    ("d2s.io.saving", "save"),
    ("d2s.io.saving", "load"),
    ("d2s.nn.utils.gradients", "clip_grad_norm_"),
    ("d2s.nn.utils.gradients", "clip_grad_value_"),
    ("d2s.nn.utils.vectors", "vector_to_parameters"),
    ("d2s.nn.initializer", "set_global_initializer"),
    ("d2s.eager.printing", "set_printoptions"),
})

_ignored_modules: set[str] = set()
_not_converted: weakref.WeakSet[FunctionType] = weakref.WeakSet()


def ignore_module(modules: list[Any]) -> None:
    """Do not convert functions of these modules (modules or their names): they run as they are."""
    for module in modules:
        _ignored_modules.add(module.__name__ if isinstance(module, ModuleType) else str(module))


def keep_eager(fn: FunctionType) -> None:
    """Do not convert this function."""
    _not_converted.add(fn)


def is_kept_eager(fn: FunctionType) -> bool:
    """True if the user asked for this function to run as it is."""
    return fn in _not_converted


def is_library(code: CodeType) -> bool:
    """True for code of the standard library, of installed packages and of d2s."""
    file = code.co_filename
    if file in _TRANSPARENT or code in _ORDERING:
        return False
    if file.startswith(_PACKAGE):
        return True
    if file.startswith("<frozen"):
        return True
    if any(part in file for part in _INSTALLED):
        return True
    return os.path.realpath(file).startswith(_LIBRARY)


def acts_when_run(fn: FunctionType) -> bool:
    """True for functions of d2s that look at or change something outside: they are called on every run."""
    return (fn.__module__, fn.__name__) in _ACT_WHEN_RUN


def is_own(code: CodeType) -> bool:
    """True for code of d2s itself, except for what is looked into."""
    return code.co_filename.startswith(_PACKAGE) and code.co_filename not in _TRANSPARENT


def is_convertible(fn: FunctionType) -> bool:
    """True for functions written by the user, unless kept eager."""
    if fn in _not_converted or is_library(fn.__code__):
        return False
    module = getattr(fn, "__module__", None) or ""
    return not any(module == name or module.startswith(name + ".") for name in _ignored_modules)


def wraps_users(fn: FunctionType) -> bool:
    """True for what a decorator of a library has put around a function of the user."""
    if is_own(fn.__code__):
        return False
    inner = getattr(fn, "__wrapped__", None)
    while isinstance(inner, FunctionType):
        if is_convertible(inner):
            return True
        inner = getattr(inner, "__wrapped__", None)
    return False


def is_of_user(cls: type) -> bool:
    """True for a class written by the user."""
    module = cls.__module__.partition(".")[0]
    return module not in ("builtins", "d2s", "numpy") and not is_stdlib(module)


def has_state(cls: type) -> bool:
    """True for classes of d2s, and of the user below them, whose objects act by their methods and change by it."""
    return any(base.__module__.startswith(_WITH_STATE) for base in cls.__mro__)


# Optimizers and schedules, metrics, samplers and loaders.
_WITH_STATE = ("d2s.optimizer.", "d2s.metric", "d2s.io.sampler", "d2s.io.dataloader")


def module_of(fn: Any) -> str:
    """Top-level package in which a callable was defined."""
    # What `functools.wraps` makes has the `__module__` of another function.
    name = fn.__globals__.get("__name__") if isinstance(fn, FunctionType) else getattr(fn, "__module__", None)
    if not isinstance(name, str):
        name = type(getattr(fn, "__self__", fn)).__module__
    return name.partition(".")[0]


def is_stdlib(name: str) -> bool:
    """True for the name of a module of the standard library."""
    return name in sys.stdlib_module_names
