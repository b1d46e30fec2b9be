"""Why a function is traced again, and what its next traces leave open because of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from d2s.operators.guards import Change
from d2s.operators.sizes import Place
from d2s.operators.sources import Source

# A Python number that has been another one so often is read on each run.
CHANGES_OF_A_NUMBER = 2

Path = tuple[Any, ...]


@dataclass(frozen=True)
class Opening:
    """What a trace leaves open: Python numbers by their paths, sizes of tensors by path and axis.

    Python is steered by those in `steering` as by numbers that only the run knows.
    """

    numbers: frozenset[Path] = frozenset()
    sizes: frozenset[Place] = frozenset()
    steering: frozenset[Place] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.sizes)

    def __sub__(self, other: Opening) -> Opening:
        return Opening(self.numbers - other.numbers, self.sizes - other.sizes, self.steering - other.sizes)

    def narrowed(self, needed: frozenset[Place] | None, declared: frozenset[Place]) -> Opening:
        """What to leave open after a trace that came to no end: because Python needed sizes, or something failed.

        Sizes that the user has declared to be free are tried as numbers that steer; all others are taken as they are.
        """
        if needed is None:
            # The sizes first: numbers change more often.
            return self - Opening(sizes=self.steering or self.sizes) if self.sizes else Opening()
        free = needed & declared & self.sizes - self.steering
        if free:
            return Opening(self.numbers, self.sizes, self.steering | free)
        return self - Opening(sizes=needed)


class Generality:
    """What the traces of one function leave open: numbers that keep changing, and sizes from the second one on.

    What Python needs while tracing is fixed for good.
    """

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self._changed: Counter[Path] = Counter()
        self._numbers: set[Path] = set()
        self._sizes: set[Place] = set()
        self._declared: set[Place] = set()
        self._fixed: set[Any] = set()

    @property
    def opening(self) -> Opening:
        """What the next trace leaves open."""
        return Opening(frozenset(self._numbers - self._fixed), frozenset(self._sizes - self._fixed))

    @property
    def fixed(self) -> list[str]:
        """What Python needs while tracing, in words."""
        return sorted(self.names[place] for place in self._fixed)

    def note(self, change: Change) -> None:
        """Take note of something that has changed since a trace."""
        path = change.guard.source.identity
        if change.is_number:
            self._changed[path] += 1
            if self._changed[path] >= CHANGES_OF_A_NUMBER:
                self._numbers.add(path)
                self.names[path] = str(change.guard.source)
        self.leave_open((change.guard.source, axis) for axis in change.sizes)

    def leave_open(self, sizes: Iterable[tuple[Source, int]], declared: bool = False) -> None:
        """Leave the sizes of these tensors along these axes open, unless Python needs them.

        Those `declared` by the user may steer Python, too.
        """
        for source, axis in sizes:
            place = source.identity, axis
            self._sizes.add(place)
            self.names[place] = f"size {axis} of {source}"
            if declared:
                self._declared.add(place)

    @property
    def declared(self) -> frozenset[Place]:
        """The sizes that the user has declared to be free."""
        return frozenset(self._declared)

    def fix(self, needed: Opening) -> None:
        """Let traces take these as they are."""
        self._fixed |= needed.numbers | needed.sizes

    def described(self, opening: Opening) -> list[str]:
        """What is left open, in words."""
        return sorted(self.names[place] for place in (*opening.numbers, *opening.sizes))
