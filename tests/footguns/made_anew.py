"""What each call makes for itself: told apart by identity, kept, changed by whoever gets it."""

from __future__ import annotations

import collections
import copy
import dataclasses
import decimal
import enum
import functools
import operator
import types

import d2s
from d2s import nn
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


def _scenarios():
    def scale(value, by=1.0):
        return value * by

    class Kind:
        pass

    return {
        "plain_objects": object,
        "partial_functions": lambda: functools.partial(scale, 2.0),
        "partial_functions_of_partial_functions": lambda: functools.partial(functools.partial(scale, by=2.0), 3.0),
        "getters_of_items": lambda: operator.itemgetter(1),
        "getters_of_attributes": lambda: operator.attrgetter("a.b"),
        "callers_of_methods": lambda: operator.methodcaller("sum", 1, keepdim=True),
        "exceptions": lambda: ValueError("told", 1),
        "groups_of_exceptions": lambda: ExceptionGroup("several", [ValueError(1)]),
        "classes_by_type": lambda: type("Made", (Kind,), {"scale": 2.0}),
        "classes_by_enum": lambda: enum.Enum("Made", "A B"),
        "classes_by_namedtuple": lambda: collections.namedtuple("Made", "a b"),
        "classes_by_dataclass": lambda: dataclasses.make_dataclass("Made", ["a", "b"]),
        "cached_functions": lambda: functools.lru_cache(scale),
        "dispatching_functions": lambda: functools.singledispatch(scale),
        "properties": lambda: property(scale),
        "static_methods": lambda: staticmethod(scale),
        "modules": lambda: types.ModuleType("made"),
        "layers_without_parameters": nn.ReLU,
        "containers_of_layers": lambda: nn.Sequential(nn.ReLU(), nn.Dropout(0.5)),
        "initializers": lambda: nn.initializer.Constant(2.0),
        "objects_of_the_user": Kind,
        "functions": lambda: lambda z: z,
    }


def _registered():
    for name, make in _scenarios().items():
        def play(stage, make=make):
            kept, table = [], {}

            def f(z):
                made = make()
                kept.append(made)
                table[made] = z.shape[0]
                return [made], made

            f = stage.static(f)
            for _ in range(3):
                inner, outer = f(x())
                stage.note(inner[0] is outer, outer is kept[-1], len({id(one) for one in kept}), len(table))

        play.__name__ = name
        footgun(play)


_registered()


@footgun
def contexts_of_decimals(stage):
    kept = []

    def f(z):
        kept.append(decimal.Context(prec=3))
        return z * len(kept)

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        kept[-1].prec += len(kept)
        stage.note([one.prec for one in kept])


@footgun
def views_of_memory_and_of_dicts(stage):
    kept = []

    def f(z):
        table = {"a": 1}
        kept.append((types.MappingProxyType(table), memoryview(bytearray(b"abc"))))
        return z

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        kept[-1][1][0] = 120
        stage.note([(dict(table), bytes(view)) for table, view in kept])


@footgun
def caches_used_inside():
    def f(z):
        @functools.lru_cache
        def scale(n):
            print("computed", n)
            return n * 2

        return z * scale(2) + scale(2)

    yield f
    yield f
    yield f


@footgun
def layers_that_are_changed_by_whoever_gets_them(stage):
    kept = []

    def f(z):
        layer = nn.Dropout(0.5)
        kept.append(layer)
        return layer(z) + (1.0 if layer.training else 0.0)

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        stage.note([one.training for one in kept])
        kept[-1].eval()


@footgun
def layers_behind_a_decision(stage):
    box = Box(act=None)

    def f(z):
        if z.sum() > 0:
            box.act = nn.ReLU()
        else:
            box.act = nn.Tanh()
        return box.act(z)

    f = stage.static(f)
    for data in ((1.0, 2.0), (-1.0, -2.0), (3.0, 1.0)):
        before = box.act
        stage(f, x(*data))
        stage.note(box.act is before, type(box.act).__name__)


@footgun
def classes_with_counters(stage):
    kept = []

    def f(z):
        class Counting:
            count = 0

            def go(self):
                Counting.count += 1
                return Counting.count

        one = Counting()
        kept.append(one)
        return z * one.go()

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        kept[0].go()
        stage.note([type(one).count for one in kept], len({type(one) for one in kept}))


@footgun
def classes_used_inside():
    def f(z):
        class Scaled:
            count = 0

            def __init__(self, k):
                self.k = k

            def go(self):
                Scaled.count += 1
                return z * self.k * Scaled.count

        one = Scaled(2.0)
        return one.go() + one.go() + Scaled(3.0).go()

    yield f
    yield f


@footgun
def records_of_classes_made_inside(stage):
    def f(z):
        @dataclasses.dataclass
        class Result:
            value: object
            count: int = 2

        Pair = collections.namedtuple("Pair", "a b")
        return Result(z * 2), Pair(z, 1)

    f = stage.static(f)
    kinds = set()
    for _ in range(3):
        result, pair = f(x())
        kinds |= {type(result), type(pair)}
        stage.note(result.value, result.count, pair.a, pair.b, len(kinds))


@refused("a class made inside holds a tensor of the call")
def classes_that_hold_tensors(stage):
    def f(z):
        class Scaled:
            factor = z * 2

        return Scaled

    f = stage.static(f)
    for _ in range(2):
        stage(lambda z: f(z).factor, x())


@refused("methods of a class made inside use a tensor of the call")
def classes_that_close_over_tensors(stage):
    def f(z):
        class Scaled:
            def go(self):
                return z * 3

        return Scaled()

    f = stage.static(f)
    for _ in range(2):
        stage(lambda z: f(z).go(), x())


@refused("a cached function made inside uses a tensor of the call")
def cached_functions_that_close_over_tensors(stage):
    def f(z):
        @functools.lru_cache
        def scaled(n):
            return z * n

        return scaled

    f = stage.static(f)
    for _ in range(2):
        stage(lambda z: f(z)(2), x())


@refused("a cached function made inside uses a list of the call")
def cached_functions_that_close_over_lists(stage):
    def f(z):
        seen = []

        @functools.lru_cache
        def noted(n):
            seen.append(n)
            return n

        return noted, seen

    f = stage.static(f)

    def g(z):
        noted, seen = f(z)
        noted(3)
        return z * len(seen)

    stage(g, x())


@footgun
def exceptions_that_are_caught_and_kept(stage):
    kept = []

    def f(z):
        try:
            raise KeyError("k", len(kept))
        except KeyError as error:
            error.add_note("noted")
            kept.append(error)
        return z * len(kept)

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        kept[-1].args = (*kept[-1].args, "changed")
        stage.note([(one.args, one.__notes__) for one in kept], len({id(one) for one in kept}))


@footgun
def objects_made_before_a_decision(stage):
    def f(z):
        mark, error = object(), ValueError("before")
        part = functools.partial(max, 2.0)
        kept = []
        if z.sum() > 0:
            kept += [mark, error, part]
        return mark, error, part, kept

    f = stage.static(f)
    for data in ((1.0, 2.0), (-1.0, -2.0), (3.0, 1.0)):
        *made, kept = f(x(*data))
        stage.note([one is other for one, other in zip(made, kept)], len(kept))


@footgun
def objects_made_in_turns(stage):
    box = Box(marks=[])

    def f(z):
        while z.sum() < 5:
            box.marks.append(object())
            box.last = functools.partial(max, 2.0)
            z = z + 1
        return z

    f = stage.static(f)
    for data in ((1.0, 2.0), (0.0, 0.5)):
        stage(f, x(*data))
        stage.note(len(box.marks), len({id(one) for one in box.marks}), box.last(1.0))


@footgun
def marks_for_what_is_missing():
    table = {}
    missing = object()

    def f(z):
        mine = object()
        found = table.get("k", mine)
        other = table.get("j", missing)
        return z * (2.0 if found is mine else found) + (1.0 if other is missing else other)

    yield f
    table["k"] = 5.0
    yield f
    table["j"] = 7.0
    yield f


@footgun
def copies_of_objects_from_outside(stage):
    class Settings:
        def __init__(self):
            self.scale, self.items = 2.0, [1.0]

    settings = Settings()
    kept = []

    def f(z):
        mine, deep = copy.copy(settings), copy.deepcopy(settings)
        mine.scale += 1
        mine.items.append(len(kept))
        deep.items.append(100)
        kept.append((mine, deep))
        return z * mine.scale + sum(deep.items) + len(settings.items)

    f = stage.static(f)
    stage(f, x())
    settings.scale = 5.0
    stage(f, x())
    settings.more = 1
    stage(f, x())
    Settings.__copy__ = lambda self: Box(scale=0.0, items=[])
    stage(f, x())
    del Settings.__copy__
    settings.items = [7.0]
    stage(f, x())
    stage.note([(one.scale, one.items, vars(one).keys(), two.items) for one, two in kept])


@footgun
def embeddings_with_padding(stage):
    kept = []

    def f(z):
        layer = nn.Embedding(4, 3, padding_idx=-3)
        kept.append(layer)
        return layer(d2s.to_tensor([0, 1, 2])).sum() * z + constant()

    f = stage.static(f)
    for _ in range(2):
        stage(f, x())
        stage.note([layer.weight for layer in kept], kept[-1].weight.grad)
