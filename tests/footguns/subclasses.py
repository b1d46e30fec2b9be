"""Classes of the user that build on built-in ones: containers, enums, exceptions; and code without source."""

from __future__ import annotations

import copy
import enum
import traceback
import types

import numpy as np

from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, x


@footgun
def list_with_methods_of_its_own(stage):
    class Numbers(list):
        @property
        def total(self):
            return sum(self)

        def __len__(self):
            stage.log.append("len")
            return 7

        def __getitem__(self, index):
            stage.log.append(index)
            return list.__getitem__(self, index) * 2

    numbers = Numbers([1.0, 2.0])
    stage.around(
        lambda z: z * numbers.total + len(numbers) + numbers[0], lambda: numbers.append(5.0),
        lambda: numbers.__setitem__(0, 3.0), lambda: list.clear(numbers))


@footgun
def dict_with_methods_of_its_own(stage):
    class Table(dict):
        def __getitem__(self, key):
            stage.log.append(key)
            return dict.__getitem__(self, key) * 2

        def __iter__(self):
            stage.log.append("iter")
            return dict.__iter__(self)

    class Filled(dict):
        def __missing__(self, key):
            self[key] = len(self) + 1
            return self[key]

    table, filled = Table(a=1.0), Filled()
    stage.watch(filled)

    def f(z):
        for key in table:
            z = z * len(key)
        return z * table["a"] + table.get("a") + filled["k"] + filled["l"]

    stage.around(
        f, lambda: dict.__setitem__(table, "a", 5.0), lambda: dict.__setitem__(table, "bb", 1.0),
        lambda: filled.pop("k"))


@footgun
def enum_with_code(stage):
    factor = [2]

    class Kind(enum.Enum):
        ADD = 1
        MUL = 2

        @property
        def twice(self):
            return self.value * factor[0]

        @classmethod
        def _missing_(cls, value):
            stage.log.append(value)
            return cls.MUL

    box = Box(kind=Kind.ADD)
    stage.around(
        lambda z: z * box.kind.twice + len(Kind) + Kind["MUL"].value + Kind(1).value + Kind(7).value,
        lambda: factor.__setitem__(0, 3), lambda: setattr(box, "kind", Kind.MUL))


@footgun
def exception_with_code(stage):
    factor = [2]

    class Failure(Exception):
        def __init__(self, k):
            super().__init__(k)
            stage.log.append("init")
            self.k = k * factor[0]

        def __str__(self):
            stage.log.append("str")
            return f"failure {self.k}"

    def f(z):
        try:
            raise Failure(3)
        except Failure as error:
            stage.log.append(str(error))
            return z * error.k

    stage.around(f, lambda: factor.__setitem__(0, 5))


@footgun
def exception_that_holds_values_of_the_run(stage):
    class Failure(Exception):
        def __init__(self, total):
            super().__init__("failure")
            self.total = total

    static = stage.static(_fails)
    for value in (1.0, 2.0, -1.0):
        try:
            stage.note(static(x(value), Failure))
        except Failure as error:
            stage.note(error.total)


def _fails(z, kind):
    if z.sum() > 0:
        raise kind(z.sum().item())
    return z


@footgun
def function_without_source(stage):
    module = types.ModuleType("without_source")
    exec("k = 2.0\ndef g(z):\n    return z.shape[0] * k\ndef h(n):\n    return n * 2", module.__dict__)
    stage.around(
        lambda z: z * module.g(z) + module.h(3), lambda: setattr(module, "k", 5.0),
        lambda: setattr(module, "h", copy.copy))


@footgun
def arrays_as_text(stage):
    f = stage.static(lambda z: stage.log.append(f"{np.ones(3) / 3} {[np.ones(2) / 3]}") or z * 2)
    for digits in (8, 2):
        with np.printoptions(precision=digits):
            stage(f, x())


@refused("what is being handled or running while a Program runs is something else")
def traceback_of_what_is_handled(stage):
    def f(z):
        try:
            raise ValueError("no")
        except ValueError:
            stage.log.append(traceback.format_exc())
        return z

    stage(stage.static(f), x())
