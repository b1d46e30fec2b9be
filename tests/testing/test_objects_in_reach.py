"""Comparisons look at objects of all kinds, and put them back, without calling code of the user's."""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import random
import threading
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import d2s
from d2s.testing import ModesDiffer, assert_same_in_both_modes
from tests.testing.mode_of_faults import now, told_of_the_mode  # noqa: F401


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    items: list[int]
    number: int = 0


class Pair(NamedTuple):
    one: int
    other: list[int]


class Refuses(type):
    def __setattr__(cls, name: str, value: Any) -> None:
        raise TypeError("no attributes")


class OfRefuses(metaclass=Refuses):
    numbers = [1]  # noqa: RUF012


class Closed:
    def __init__(self) -> None:
        object.__setattr__(self, "x", 1)

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError("no attributes")


class Descriptor:
    def __get__(self, thing: Any, kind: Any = None) -> Any:
        raise RuntimeError("read")


class Touchy:
    described = Descriptor()

    @property
    def number(self) -> int:
        raise RuntimeError("read")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("asked for a name") if not name.startswith("__") else AttributeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = object.__hash__

    def __len__(self) -> int:
        raise RuntimeError("counted")

    def __repr__(self) -> str:
        raise RuntimeError("shown")


class Touchies(list[int]):
    def __repr__(self) -> str:
        raise RuntimeError("shown")


class Abstract(abc.ABC):  # noqa: B024
    @functools.cached_property
    def made(self) -> list[int]:
        return [1]


class Ring:
    def __init__(self) -> None:
        self.next = self


OBJECTS = [
    Colour.RED, Frozen([1]), Pair(1, [2]), OfRefuses, OfRefuses(), Closed(), Touchy(), Touchies([1]), Abstract(),
    Ring(),
    threading.Lock(), threading.local(), random.Random(0), np.random.default_rng(0), np.random.RandomState(0),
    types.SimpleNamespace(a=1), types.MappingProxyType({"a": 1}), collections.defaultdict(list),
    collections.deque([1], maxlen=2), bytearray(b"x"), memoryview(b"x"), np.array([1, None], dtype=object),
    functools.partial(print, 1), functools.lru_cache(len), (number for number in range(3)), Ring().__init__, iter([1]),
    d2s.optimizer.Adam(0.1, parameters=d2s.nn.Linear(1, 1).parameters()),
]
THING: Any = None


def with_a_global(x: Any, *more: Any) -> Any:
    thing = THING
    return x * 2 if thing is not None else x


@pytest.mark.parametrize("thing", OBJECTS, ids=lambda thing: getattr(thing, "__name__", type(thing).__name__))
def test_objects_of_all_kinds(thing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "THING", thing)
    x = d2s.to_tensor([1.0], stop_gradient=False)
    assert_same_in_both_modes(with_a_global, x, calls=2)
    assert_same_in_both_modes(with_a_global, x, {"thing": [thing]}, calls=2)


FROZEN = Frozen([1])


def changes_frozen(x):
    object.__setattr__(FROZEN, "number", 1 if now.static else 2)
    FROZEN.items.append(3)
    return x * 2


def test_what_is_frozen_is_put_back() -> None:
    with pytest.raises(ModesDiffer, match=r"FROZEN\.number after the call") as raised:
        assert_same_in_both_modes(changes_frozen, d2s.to_tensor([1.0]))
    assert raised.value.location is not None
    assert raised.value.location.line == changes_frozen.__code__.co_firstlineno + 1
    assert (FROZEN.number, FROZEN.items) == (0, [1])


def draws_elsewhere(x, generator):
    if now.static:
        generator.random()
    return x * 2


@pytest.mark.parametrize("generator", [random.Random(0), np.random.default_rng(0)])
def test_generators_in_reach_are_compared(generator: Any) -> None:
    with pytest.raises(ModesDiffer, match="generator after the call"):
        assert_same_in_both_modes(draws_elsewhere, d2s.to_tensor([1.0]), generator)
