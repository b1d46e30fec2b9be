"""Objects that a function reads: attributes, classes, containers."""

from __future__ import annotations

import enum
import functools
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.footguns.stage import footgun
from tests.footguns.things import Box, x


@footgun
def attribute(stage):
    box = Box(scale=2.0)

    def f(z):
        return z * box.scale

    f = stage.static(f)
    for box.scale in (2.0, 3.0, 2.0, -1, -2, x(4.0), None, 2.0):
        stage(f, x())
    del box.scale
    stage(f, x())


@footgun
def nested_attribute(stage):
    box = Box(inner=Box(deep=Box(scale=2.0)))

    def f(z):
        return z * box.inner.deep.scale

    f = stage.static(f)
    stage(f, x())
    box.inner.deep.scale = 3.0
    stage(f, x())
    box.inner = Box(deep=Box(scale=4.0))
    stage(f, x())
    box.inner.deep = Box(scale=5.0)
    stage(f, x())


@footgun
def class_attribute(stage):
    class Thing:
        scale = 2.0

    thing = Thing()

    def f(z):
        return z * thing.scale

    f = stage.static(f)
    stage(f, x())
    Thing.scale = 3.0
    stage(f, x())
    thing.scale = 4.0
    stage(f, x())
    del thing.scale
    stage(f, x())


@footgun
def class_attribute_of_an_object_made_inside(stage):
    class Thing:
        scale = 2.0

        def __init__(self, k):
            self.k = k

        def scaled(self, z):
            return z * self.scale * self.k

    def f(z):
        return Thing(3.0).scaled(z)

    f = stage.static(f)
    stage(f, x())
    Thing.scale = 5.0
    stage(f, x())
    Thing.scaled = lambda self, z: z - self.k
    stage(f, x())


@footgun
def init_of_a_class_replaced(stage):
    class Thing:
        def __init__(self, k):
            self.k = k

    def f(z):
        return z * Thing(3.0).k

    def init(self, k):
        self.k = k * 10

    f = stage.static(f)
    stage(f, x())
    Thing.__init__ = init
    stage(f, x())


@footgun
def class_attribute_read_through_the_class(stage):
    class Thing:
        scale = 2.0
        names = {"a": 1.0}

    def f(z):
        return z * Thing.scale + Thing.names["a"]

    f = stage.static(f)
    stage(f, x())
    Thing.scale = 3.0
    stage(f, x())
    Thing.names["a"] = 7.0
    stage(f, x())


@footgun
def inherited_attribute_overridden_later(stage):
    class Base:
        scale = 2.0

        def changed(self, z):
            return z * self.scale

    class Derived(Base):
        pass

    thing = Derived()

    def f(z):
        return thing.changed(z)

    f = stage.static(f)
    stage(f, x())
    Derived.scale = 3.0
    stage(f, x())
    Derived.changed = lambda self, z: z + self.scale
    stage(f, x())
    del Derived.changed
    stage(f, x())


@footgun
def property_and_its_state(stage):
    class Thing:
        def __init__(self):
            self.base = 2.0

        @property
        def scale(self):
            return self.base * 3

    thing = Thing()

    def f(z):
        return z * thing.scale

    f = stage.static(f)
    stage(f, x())
    thing.base = 5.0
    stage(f, x())
    Thing.scale = property(lambda self: self.base + 1)
    stage(f, x())
    Thing.scale = 9.0
    stage(f, x())


@footgun
def getattr_of_the_class(stage):
    class Thing:
        def __init__(self):
            self.values = {"scale": 2.0}

        def __getattr__(self, name):
            try:
                return self.__dict__["values"][name]
            except KeyError:
                raise AttributeError(name) from None

    thing = Thing()

    def f(z):
        return z * thing.scale

    f = stage.static(f)
    stage(f, x())
    thing.values["scale"] = 3.0
    stage(f, x())
    thing.scale = 4.0
    stage(f, x())


@footgun
def slots(stage):
    class Thing:
        __slots__ = ("scale",)

    thing = Thing()
    thing.scale = 2.0

    def f(z):
        return z * thing.scale

    f = stage.static(f)
    stage(f, x())
    thing.scale = 3.0
    stage(f, x())


@footgun
def descriptor_of_the_user(stage):
    class Scaled:
        def __get__(self, instance, owner):
            return instance.base * 2

    class Thing:
        scale = Scaled()

        def __init__(self):
            self.base = 1.0

    thing = Thing()

    def f(z):
        return z * thing.scale

    f = stage.static(f)
    stage(f, x())
    thing.base = 4.0
    stage(f, x())


@footgun
def method_replaced(stage):
    class Thing:
        def changed(self, z):
            return z * 2

    thing = Thing()

    def f(z):
        return thing.changed(z)

    f = stage.static(f)
    stage(f, x())
    Thing.changed = lambda self, z: z * 3
    stage(f, x())
    thing.changed = lambda z: z * 4
    stage(f, x())
    del thing.changed
    stage(f, x())


@footgun
def class_of_an_object_changed(stage):
    class First:
        def changed(self, z):
            return z * 2

    class Second:
        def changed(self, z):
            return z * 3

    thing = First()

    def f(z):
        return thing.changed(z)

    f = stage.static(f)
    stage(f, x())
    thing.__class__ = Second
    stage(f, x())


@footgun
def operators_of_a_class_replaced(stage):
    class Thing:
        def __call__(self, z):
            return z * 2

        def __getitem__(self, key):
            return key * 2.0

        def __add__(self, z):
            return z + 1

        def __len__(self):
            return 3

        def __contains__(self, key):
            return key == 1

        def __bool__(self):
            return True

    thing = Thing()

    def f(z):
        z = thing(z) * thing[3] + len(thing)
        if 1 in thing and thing:
            z = z * 7
        return thing + z

    f = stage.static(f)
    stage(f, x())
    Thing.__call__ = lambda self, z: z * 3
    stage(f, x())
    Thing.__getitem__ = lambda self, key: key * 5.0
    stage(f, x())
    Thing.__add__ = lambda self, z: z - 1
    stage(f, x())
    Thing.__len__ = lambda self: 4
    stage(f, x())
    Thing.__contains__ = lambda self, key: False
    stage(f, x())


@footgun
def list_items_and_length(stage):
    weights = [1.0, 2.0]

    def f(z):
        for weight in weights:
            z = z * weight
        return z + len(weights)

    f = stage.static(f)
    stage(f, x())
    weights[0] = 3.0
    stage(f, x())
    weights.append(x(2.0))
    stage(f, x())
    weights.reverse()
    stage(f, x())
    weights.clear()
    stage(f, x())


@footgun
def dict_items_and_keys(stage):
    weights = {"a": 1.0, "b": 2.0}

    def f(z):
        for name, weight in weights.items():
            z = z * weight + (1.0 if name == "a" else 2.0)
        return z * weights.get("c", 1.0)

    f = stage.static(f)
    stage(f, x())
    weights["a"] = 3.0
    stage(f, x())
    weights["c"] = 5.0
    stage(f, x())
    weights["a"] = weights.pop("a")
    stage(f, x())
    del weights["b"]
    stage(f, x())


@footgun
def dict_keys_equal_but_not_the_same(stage):
    weights = {1: 2.0}

    def f(z):
        return [z * key for key in weights]

    f = stage.static(f)
    stage(f, x())
    weights.clear()
    weights[True] = 2.0
    stage(f, x())
    weights.clear()
    weights[1.0] = 2.0
    stage(f, x())


@footgun
def set_members(stage):
    names = {"a"}

    def f(z):
        if "b" in names:
            z = z * 2
        return z + len(names)

    f = stage.static(f)
    stage(f, x())
    names.add("b")
    stage(f, x())
    names.discard("a")
    stage(f, x())


@footgun
def set_members_equal_but_not_the_same(stage):
    numbers = {1}

    def f(z):
        return [z * number for number in numbers], type(next(iter(list(numbers)))).__name__

    f = stage.static(f)
    stage(f, x())
    numbers.clear()
    numbers.add(True)
    stage(f, x())
    numbers.clear()
    numbers.add(1.0)
    stage(f, x())


@footgun
def deque_items(stage):
    weights = deque([1.0, 2.0], maxlen=3)

    def f(z):
        return z * weights[0] + weights[-1] + len(weights)

    f = stage.static(f)
    stage(f, x())
    weights.append(5.0)
    stage(f, x())
    weights.append(6.0)
    stage(f, x())
    weights.rotate()
    stage(f, x())


@footgun
def deque_looped_over(stage):
    weights = deque([1.0, 2.0])

    def f(z):
        for weight in weights:
            z = z * weight
        return z, sum(weights), list(weights), max(weights)

    f = stage.static(f)
    stage(f, x())
    weights.append(5.0)
    stage(f, x())
    weights[0] = 4.0
    stage(f, x())


@footgun
def counter_and_defaultdict(stage):
    counts, weights = Counter("aab"), defaultdict(lambda: 4.0)

    def f(z):
        return z * counts["a"] + weights["w"], len(weights)

    f = stage.static(f)
    stage.watch(weights)
    stage(f, x())
    counts.update("a")
    stage(f, x())
    weights["w"] = 1.0
    stage(f, x())
    del weights["w"]
    stage(f, x())


@footgun
def missing_key_of_a_counter(stage):
    counts = Counter("a")

    def f(z):
        return z + counts["b"]

    f = stage.static(f)
    stage(f, x())
    counts["b"] = 3
    stage(f, x())


@footgun
def ordered_dict_order(stage):
    weights = OrderedDict(a=1.0, b=2.0)

    def f(z):
        return [z * weight for weight in weights.values()]

    f = stage.static(f)
    stage(f, x())
    weights.move_to_end("a")
    stage(f, x())


@footgun
def array_items(stage):
    weights = np.array([1.0, 2.0, 3.0], dtype="float32")

    def f(z):
        return z * weights, z * weights[1], weights.sum(), weights[0] > 2

    f = stage.static(f)
    stage(f, x())
    weights[1] = 5.0
    stage(f, x())
    weights *= 10
    stage(f, x())


@footgun
def array_in_a_container(stage):
    held = {"w": np.array([1.0, 2.0, 3.0], dtype="float32")}

    def f(z):
        return z * held["w"], float(held["w"][0])

    f = stage.static(f)
    stage(f, x())
    held["w"][0] = 5.0
    stage(f, x())
    held["w"] = np.array([[1.0, 2.0, 3.0]] * 2)
    stage(f, x())


@footgun
def array_turned_into_a_tensor(stage):
    import d2s

    weights = np.array([1.0, 2.0, 3.0], dtype="float32")

    def f(z):
        return z * d2s.to_tensor(weights)

    f = stage.static(f)
    stage(f, x())
    weights[1] = 5.0
    stage(f, x())


@footgun
def list_turned_into_a_tensor(stage):
    import d2s

    weights = [1.0, 2.0, 3.0]

    def f(z):
        return z * d2s.to_tensor(weights)

    f = stage.static(f)
    stage(f, x())
    weights[1] = 5.0
    stage(f, x())


@footgun
def nested_list_turned_into_a_tensor(stage):
    import d2s

    weights = [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]

    def f(z):
        return z * d2s.to_tensor(weights)

    f = stage.static(f)
    stage(f, x())
    weights[1][0] = 5.0
    stage(f, x())


@footgun
def slice_of_a_list(stage):
    weights = [1.0, 2.0, 3.0]

    def f(z):
        return [z * weight for weight in weights[1:]], weights[-1]

    f = stage.static(f)
    stage(f, x())
    weights[2] = 5.0
    stage(f, x())
    weights.append(7.0)
    stage(f, x())


@footgun
def membership_of_nested_containers(stage):
    pairs = [(1, [2.0]), (3, [4.0])]

    def f(z):
        for key, parts in pairs:
            z = z * key + parts[0]
        return z

    f = stage.static(f)
    stage(f, x())
    pairs[0][1][0] = 9.0
    stage(f, x())


@footgun
def comparison_of_containers(stage):
    names, wanted = ["a", ["b"]], ["a", ["b"]]

    def f(z):
        if names == wanted:
            return z * 2
        return z

    f = stage.static(f)
    stage(f, x())
    names[1][0] = "c"
    stage(f, x())
    wanted[1][0] = "c"
    stage(f, x())


class Kind(enum.Enum):
    ADD = 1
    MUL = 2


@footgun
def enum_member(stage):
    box = Box(kind=Kind.ADD)

    def f(z):
        return z + 2 if box.kind is Kind.ADD else z * box.kind.value

    f = stage.static(f)
    for box.kind in (Kind.ADD, Kind.MUL, Kind.ADD):
        stage(f, x())


@dataclass
class Settings:
    scale: float = 2.0
    parts: list[Any] = field(default_factory=lambda: [1.0])


@footgun
def dataclass_fields(stage):
    settings = Settings()

    def f(z):
        return z * settings.scale + settings.parts[0]

    f = stage.static(f)
    stage(f, x())
    settings.scale = 3.0
    stage(f, x())
    settings.parts[0] = 4.0
    stage(f, x())


@footgun
def dataclass_compared(stage):
    settings, usual = Settings(), Settings()

    def f(z):
        return z * 2 if settings == usual else z * 3

    f = stage.static(f)
    stage(f, x())
    settings.scale = 3.0
    stage(f, x())


@footgun
def registry_of_a_class(stage):
    class Registry:
        known: dict[str, Any] = {}

        @classmethod
        def of(cls, name):
            return cls.known[name]

        @staticmethod
        def scaled(z, k):
            return z * k

    Registry.known["a"] = Box(scale=2.0)

    def f(z):
        return Registry.scaled(z, Registry.of("a").scale)

    f = stage.static(f)
    stage(f, x())
    Registry.known["a"].scale = 3.0
    stage(f, x())
    Registry.known["a"] = Box(scale=4.0)
    stage(f, x())
    Registry.scaled = staticmethod(lambda z, k: z + k)
    stage(f, x())


@footgun
def vars_and_dict_of_an_object(stage):
    box = Box(a=2.0, b=3.0)

    def f(z):
        for name, value in vars(box).items():
            z = z * value
        return z + box.__dict__["a"]

    f = stage.static(f)
    stage(f, x())
    box.a = 4.0
    stage(f, x())
    box.c = 5.0
    stage(f, x())


@footgun
def hasattr_and_getattr(stage):
    box = Box()

    def f(z):
        if hasattr(box, "scale"):
            z = z * box.scale
        return z + getattr(box, "shift", 1.0)

    f = stage.static(f)
    stage(f, x())
    box.scale = 2.0
    stage(f, x())
    box.shift = 5.0
    stage(f, x())
    del box.scale
    stage(f, x())


@footgun
def isinstance_of_an_outer_object(stage):
    box = Box(held=Box(scale=2.0))

    def f(z):
        if isinstance(box.held, Box):
            return z * box.held.scale
        if type(box.held) is Settings:
            return z * box.held.scale * 10
        return z

    f = stage.static(f)
    stage(f, x())
    box.held = Settings()
    stage(f, x())
    box.held = 3
    stage(f, x())
    box.held = Box(scale=5.0)
    stage(f, x())


@footgun
def object_at_the_same_address(stage):
    box = Box(held=Box(scale=2.0))

    def f(z):
        return z * box.held.scale

    f = stage.static(f)
    for k in range(4):
        box.held = None
        box.held = Box(scale=float(k))
        stage(f, x())


@footgun
def cached_property(stage):
    class Thing:
        computed = 0

        def __init__(self, base):
            self.base = base

        @functools.cached_property
        def scale(self):
            self.computed += 1
            return self.base * 2

    def f(z, thing):
        if z.sum() > 0:
            return z * thing.scale + thing.scale
        return z * thing.computed

    f = stage.static(f)
    for base in (2.0, x(3.0)):
        thing = Thing(base)
        for value in (-1.0, 1.0, 1.0, -1.0):
            stage(f, x(value), thing)
        thing.base = 5.0
        stage(f, x(), thing)
        del thing.scale
        stage(f, x(), thing)
        stage(f, x(), thing)
