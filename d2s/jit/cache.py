"""The Programs of a function, and where they are kept."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from d2s.jit.concrete import ConcreteProgram
from d2s.jit.fallback import EagerCall

# Programs that were not used for long make room for new ones.
MAX_PROGRAMS = 64
# A Python number that has been another one so often is read on each run.
CHANGES_OF_A_NUMBER = 2

_CACHES = "__d2s_programs__"


class ProgramCache:
    """The Programs of one function, or of one function of one object; the one used last first."""

    def __init__(self) -> None:
        # Replaced as a whole, so that threads may look while others change it.
        self._programs: tuple[ConcreteProgram | EagerCall, ...] = ()
        self._changing = threading.Lock()
        self._last: ConcreteProgram | None = None
        self.traces = 0
        # How often a number at a path was another one, and the paths at which numbers are inputs now.
        self.changed: Counter[tuple[Any, ...]] = Counter()
        self.numbers: set[tuple[Any, ...]] = set()

    def __len__(self) -> int:
        return len(self.concrete_programs())

    def __repr__(self) -> str:
        return f"<ProgramCache: {len(self)} Programs of {self.traces} traces>"

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
        for position, program in enumerate(self._programs):
            if program.matches(args):
                if position:
                    self._put_first(program)
                return program
        return None

    def _put_first(self, program: ConcreteProgram | EagerCall) -> None:
        with self._changing:
            others = [other for other in self._programs if other is not program]
            self._programs = (program, *others)[:MAX_PROGRAMS]

    def add(self, program: ConcreteProgram | EagerCall) -> None:
        """Enter a Program, or what stands in for it."""
        self._put_first(program)
        if isinstance(program, ConcreteProgram):
            self._last = program
        self.traces += 1

    def note_retrace(self, args: dict[str, Any]) -> str:
        """Why none of the Programs fits, in words; a number that has changed twice becomes an input."""
        if not self._programs:
            return ""
        change = self._programs[0].guards.broken(args)
        if change is None:
            return "grad mode, default dtype, or which arguments are one object changed"
        if change.is_number:
            path = change.guard.source.identity
            self.changed[path] += 1
            if self.changed[path] >= CHANGES_OF_A_NUMBER:
                self.numbers.add(path)
        return str(change)

    def last(self) -> ConcreteProgram:
        """The Program traced last."""
        if self._last is None:
            raise LookupError("the function has not been called yet")
        return self._last

    def concrete_programs(self) -> list[ConcreteProgram]:
        """All Programs."""
        return [program for program in self._programs if isinstance(program, ConcreteProgram)]

    def clear(self) -> None:
        """Forget all Programs."""
        self._programs = ()


def cache_of(instance: Any, function: Callable[..., Any]) -> ProgramCache:
    """The cache of `function` for one object; it lives in the object, so it goes with it."""
    holder = getattr(instance, "__dict__", None)
    if holder is None or isinstance(instance, type):
        return _slotted.setdefault(instance, {}).setdefault(function, ProgramCache())
    caches = holder.get(_CACHES)
    if caches is None:
        caches = holder[_CACHES] = Caches()
    found: ProgramCache = caches.of(function)
    return found


_slotted: weakref.WeakKeyDictionary[Any, dict[Any, ProgramCache]] = weakref.WeakKeyDictionary()


class Caches:
    """Program caches of one object, by function; a copy of the object starts with none."""

    def __init__(self) -> None:
        self._by_function: dict[Callable[..., Any], ProgramCache] = {}

    def of(self, function: Callable[..., Any]) -> ProgramCache:
        """The cache for one function, made on demand."""
        return self._by_function.setdefault(function, ProgramCache())

    def __deepcopy__(self, memo: dict[int, Any]) -> Caches:
        return Caches()

    def __copy__(self) -> Caches:
        return Caches()

    def __reduce__(self) -> tuple[Any, ...]:
        return Caches, ()

    def __iter__(self) -> Iterator[ProgramCache]:
        return iter(self._by_function.values())
