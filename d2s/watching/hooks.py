"""Watch gradient hooks: when they are registered, and each call with what it was given and what it gave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from d2s.core.hooks import name_of, watching
from d2s.eager.tensor import Tensor
from d2s.errors import Location, user_location


@dataclass(frozen=True)
class HookCall:
    """
    One call of a gradient hook, or of a hook that runs when a leaf is complete (then both arrays are None).

    Attributes
    ----------
    name : str
        Of the function, with its place.
    defined, registered : Location or None
        The user's lines; `registered` is None if that was before anybody watched.
    given, result : ndarray or None
        The gradient before and after; `result` is None too if the hook gave None.
    code : code object or None
        Of the function: two hooks of one line have the same name.
    captured : tuple of str
        What the function has been made with, as far as it is numbers and texts: ``"factor=2"``.  Two hooks that one
        function has made have the same code.
    """

    name: str
    defined: Location | None
    registered: Location | None
    given: np.ndarray[Any, Any] | None
    result: np.ndarray[Any, Any] | None
    code: CodeType | None = None
    captured: tuple[str, ...] = ()

    @property
    def function(self) -> tuple[CodeType | None, tuple[str, ...]]:
        """What tells it from other hooks of its name."""
        return self.code, self.captured

    @property
    def column(self) -> int | None:
        """The column of the line, from 0, at which the text of the function's result begins."""
        positions = () if self.code is None else self.code.co_positions()
        return min((column for *_, column, _ in positions if column), default=None)

    @property
    def place(self) -> Location | None:
        """Where it was registered, or else where the function is."""
        return self.registered or self.defined


@contextmanager
def watched_hooks(note: Callable[[HookCall], None], apply: bool = True) -> Iterator[None]:
    """Call `note` after every call of a hook in this thread; without `apply`, what hooks return is not used."""
    registered: dict[int, tuple[Any, Location | None]] = {}

    def on_register(hook: Callable[..., Any]) -> None:
        registered[id(hook)] = hook, user_location(sys._getframe(1))

    def on_call(hook: Callable[..., Any], *gradient: Tensor) -> Any:
        given = gradient[0].data if gradient else None
        result = hook(*gradient)
        after = result.data if gradient and isinstance(result, Tensor) else None
        code = getattr(hook, "__code__", None)
        defined = None if code is None else Location(code.co_filename, code.co_firstlineno)
        place = registered.get(id(hook), (None, None))[1]
        note(HookCall(name_of(hook), defined, place, given, after, code, tuple(_captured(hook))))
        return result if apply else None

    before = watching.registers, watching.calls
    watching.registers, watching.calls = on_register, on_call
    try:
        yield
    finally:
        watching.registers, watching.calls = before


def _captured(hook: Any) -> Iterator[str]:
    """Numbers and texts in the closure, the defaults, the arguments or the attributes of a hook."""
    if isinstance(hook, partial):
        yield from _plain([*enumerate(hook.args), *hook.keywords.items()])
        yield from _captured(hook.func)
    elif isinstance(hook, MethodType):
        yield from _plain(getattr(hook.__self__, "__dict__", {}).items())
    elif isinstance(hook, FunctionType):
        for name, cell in zip(hook.__code__.co_freevars, hook.__closure__ or (), strict=True):
            try:
                yield from _plain([(name, cell.cell_contents)])
            except ValueError:
                # Not bound yet.
                continue
        yield from _plain([*enumerate(hook.__defaults__ or ()), *(hook.__kwdefaults__ or {}).items()])
    else:
        yield from _plain(getattr(hook, "__dict__", {}).items())


def _plain(named: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    for name, value in named:
        if type(value) in (bool, int, float, complex, str, bytes, type(None)):
            yield f"{name}={value!r}"
