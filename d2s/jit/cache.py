"""The Programs of a function, and where they are kept."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

from d2s.core.interpreter import state
from d2s.core.locks import new_lock
from d2s.core.spec import default_dtype
from d2s.errors import ArgumentError, KeyNameError
from d2s.jit.concrete import ConcreteProgram
from d2s.jit.fallback import EagerCall
from d2s.jit.generality import Generality
from d2s.words import counted

# Reasons of traces that are remembered, and changes that are named in one of them.
MAX_REASONS = 64
MAX_SHOWN = 4

_CACHES = "__d2s_programs__"
_size = 64
_all: weakref.WeakSet[ProgramCache] = weakref.WeakSet()


def set_cache_size(programs: int) -> None:
    """Set how many Programs a function keeps, for the whole process; those not used for longest make room.

    Parameters
    ----------
    programs : int
        At least 1; 64 if it was never set.

    Raises
    ------
    ValueError
        If it is less than 1.
    """
    global _size
    if programs < 1:
        raise ArgumentError(f"a function keeps at least one Program, got set_cache_size({programs})")
    _size = int(programs)


class ProgramCache:
    """The Programs of one function, or of one function of one object; the one used last first.

    Attributes
    ----------
    generality : Generality
        What its traces leave open.
    traces : int
        How many there have been.
    programs : tuple
        The Programs, and what stands in for them, the one used last first.  Replaced as a whole, so that threads may
        look while others change it.
    """

    def __init__(self) -> None:
        self.programs: tuple[ConcreteProgram | EagerCall, ...] = ()
        self._changing = new_lock()
        self._last: ConcreteProgram | None = None
        self.generality = Generality()
        self.traces = 0
        _all.add(self)
        self._cleared = "its Programs were dropped"
        # Why the last ones have been necessary.
        self._reasons: deque[str] = deque(maxlen=MAX_REASONS)

    def __len__(self) -> int:
        return len(self.concrete_programs())

    def __repr__(self) -> str:
        return f"<ProgramCache: {counted(len(self), 'Program')} of {counted(self.traces, 'trace')}>"

    @property
    def has_programs(self) -> bool:
        """True if something was traced."""
        return self._last is not None

    def __deepcopy__(self, memo: dict[int, Any]) -> ProgramCache:
        return ProgramCache()

    def __reduce__(self) -> tuple[Any, ...]:
        return ProgramCache, ()

    def find(self, args: dict[str, Any]) -> ConcreteProgram | EagerCall | None:
        """The Program for these arguments, if there is one, or what stands in for it."""
        programs = self.programs
        if programs and programs[0].matches(args):
            return programs[0]
        for program in programs[1:]:
            if program.matches(args):
                self._put_first(program)
                return program
        return None

    def _put_first(self, program: ConcreteProgram | EagerCall) -> None:
        with self._changing:
            others = [other for other in self.programs if other is not program]
            self.programs = (program, *others)[:_size]

    def add(self, program: ConcreteProgram | EagerCall, why: str) -> None:
        """Enter a Program, or what stands in for it, and why it was traced."""
        self.traces += 1
        # One that has served its call holds the parameters of that.
        self.programs = tuple(known for known in self.programs if not known.guards.is_for_one_call)
        if isinstance(program, ConcreteProgram):
            self._last = program
            program.number = self.traces
        self._put_first(program)
        self._reasons.append(why)

    def note_retrace(self, args: dict[str, Any]) -> str:
        """Why none of the Programs fits, in words: what has changed since the call before."""
        if not self.programs:
            return self._cleared if self.traces else "first call"
        last = self.programs[0]
        changes = last.guards.broken(args)
        for change in changes:
            self.generality.note(change)
        reasons = [*_changed_modes(last), *dict.fromkeys(map(str, changes))]
        if not reasons:
            return "which arguments are one object changed"
        more = f"; and {len(reasons) - MAX_SHOWN} more" if len(reasons) > MAX_SHOWN else ""
        return "; ".join(reasons[:MAX_SHOWN]) + more

    def explained(self) -> list[str]:
        """One line for each of the last traces."""
        first = self.traces - len(self._reasons)
        return [f"{number}. {why}" for number, why in enumerate(self._reasons, first + 1)]

    def last(self) -> ConcreteProgram:
        """The Program traced last."""
        if self._last is None:
            raise KeyNameError(
                "the function has not been called yet, so there is no Program", kind="K03",
                advice="Call it first, or ask get_concrete_program(...) with arguments or an InputSpec.")
        return self._last

    @property
    def used_last(self) -> ConcreteProgram | None:
        """The Program used last."""
        return next(iter(self.concrete_programs()), None)

    def numbered(self) -> list[tuple[int, ConcreteProgram]]:
        """All Programs in the order of their traces, each with the number of its trace."""
        return sorted(((program.number, program) for program in self.concrete_programs()), key=lambda pair: pair[0])

    def concrete_programs(self) -> list[ConcreteProgram]:
        """All Programs."""
        return [program for program in self.programs if isinstance(program, ConcreteProgram)]

    def clear(self, why: str = "its Programs were dropped") -> None:
        """Forget all Programs."""
        self.programs, self._cleared = (), why


def _changed_modes(program: ConcreteProgram | EagerCall) -> list[str]:
    """What has changed of the modes that a trace depends on, in words."""
    found = []
    if program.grad_mode is not state.grad_enabled:
        found.append(f"grad mode changed from {program.grad_mode} to {state.grad_enabled}")
    if program.dtype is not default_dtype():
        found.append(f"the default dtype changed from {program.dtype} to {default_dtype()}")
    return found


def drop_all(why: str) -> None:
    """Forget the Programs of all functions."""
    for cache in tuple(_all):
        cache.clear(why)


def cache_of_layer(layer: Any, function: Callable[..., Any]) -> ProgramCache:
    """The cache of `function` for one Layer; it lives in the Layer, so it goes with it."""
    caches = layer.__dict__.get(_CACHES)
    if caches is None:
        caches = layer.__dict__[_CACHES] = Caches()
    found: ProgramCache = caches.of(function)
    return found


class ObjectCaches:
    """The caches of one function for the objects, other than Layers, that have it as a method.

    They are kept beside the objects: their attributes are the user's.  An object takes its cache along when it goes;
    those that Programs refer to make room for others, as Programs do.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[weakref.ref[Any], ProgramCache]] = OrderedDict()

    def of(self, instance: Any, shared: ProgramCache) -> ProgramCache:
        """The cache for `instance`, made on demand; the `shared` one if there can be no weak reference to it."""
        key, known = id(instance), self._known
        found = known.get(key)
        if found is not None and found[0]() is instance:
            return found[1]
        try:
            reference = weakref.ref(instance, functools.partial(_forget, known, key))
        except TypeError:
            return shared
        cache = ProgramCache()
        known[key] = reference, cache
        while len(known) > _size:
            known.popitem(last=False)
        return cache


def _forget(known: OrderedDict[int, tuple[weakref.ref[Any], ProgramCache]], key: int, reference: Any) -> None:
    found = known.get(key)
    if found is not None and found[0] is reference:
        known.pop(key, None)


class Caches:
    """Program caches of one object, by function; a copy of the object starts with none."""

    def __init__(self) -> None:
        self._by_function: dict[Callable[..., Any], ProgramCache] = {}

    def of(self, function: Callable[..., Any]) -> ProgramCache:
        """The cache for one function, made on demand."""
        return self._by_function.setdefault(function, ProgramCache())

    def _none(self, *copying: Any) -> Caches:
        return Caches()

    __copy__ = __deepcopy__ = __d2s_copied__ = _none

    def __reduce__(self) -> tuple[Any, ...]:
        return Caches, ()

    def __iter__(self) -> Iterator[ProgramCache]:
        return iter(self._by_function.values())
