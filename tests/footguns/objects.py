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
def attribute():
    box = Box(scale=2.0)

    def f(z):
        return z * box.scale

    for box.scale in (2.0, 3.0, 2.0, -1, -2, x(4.0), None, 2.0):
        yield f
    del box.scale
    yield f


@footgun
def nested_attribute():
    box = Box(inner=Box(deep=Box(scale=2.0)))

    def f(z):
        return z * box.inner.deep.scale

    yield f
    box.inner.deep.scale = 3.0
    yield f
    box.inner = Box(deep=Box(scale=4.0))
    yield f
    box.inner.deep = Box(scale=5.0)
    yield f


@footgun
def class_attribute():
    class Thing:
        scale = 2.0

    thing = Thing()

    def f(z):
        return z * thing.scale

    yield f
    Thing.scale = 3.0
    yield f
    thing.scale = 4.0
    yield f
    del thing.scale
    yield f


@footgun
def class_attribute_of_an_object_made_inside():
    class Thing:
        scale = 2.0

        def __init__(self, k):
            self.k = k

        def scaled(self, z):
            return z * self.scale * self.k

    def f(z):
        return Thing(3.0).scaled(z)

    yield f
    Thing.scale = 5.0
    yield f
    Thing.scaled = lambda self, z: z - self.k
    yield f


@footgun
def init_of_a_class_replaced():
    class Thing:
        def __init__(self, k):
            self.k = k

    def f(z):
        return z * Thing(3.0).k

    def init(self, k):
        self.k = k * 10

    yield f
    Thing.__init__ = init
    yield f


@footgun
def class_attribute_read_through_the_class():
    class Thing:
        scale = 2.0
        names = {"a": 1.0}

    def f(z):
        return z * Thing.scale + Thing.names["a"]

    yield f
    Thing.scale = 3.0
    yield f
    Thing.names["a"] = 7.0
    yield f


@footgun
def inherited_attribute_overridden_later():
    class Base:
        scale = 2.0

        def changed(self, z):
            return z * self.scale

    class Derived(Base):
        pass

    thing = Derived()

    def f(z):
        return thing.changed(z)

    yield f
    Derived.scale = 3.0
    yield f
    Derived.changed = lambda self, z: z + self.scale
    yield f
    del Derived.changed
    yield f


@footgun
def property_and_its_state():
    class Thing:
        def __init__(self):
            self.base = 2.0

        @property
        def scale(self):
            return self.base * 3

    thing = Thing()

    def f(z):
        return z * thing.scale

    yield f
    thing.base = 5.0
    yield f
    Thing.scale = property(lambda self: self.base + 1)
    yield f
    Thing.scale = 9.0
    yield f


@footgun
def getattr_of_the_class():
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

    yield f
    thing.values["scale"] = 3.0
    yield f
    thing.scale = 4.0
    yield f


@footgun
def slots():
    class Thing:
        __slots__ = ("scale",)

    thing = Thing()
    thing.scale = 2.0

    def f(z):
        return z * thing.scale

    yield f
    thing.scale = 3.0
    yield f


@footgun
def descriptor_of_the_user():
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

    yield f
    thing.base = 4.0
    yield f


@footgun
def method_replaced():
    class Thing:
        def changed(self, z):
            return z * 2

    thing = Thing()

    def f(z):
        return thing.changed(z)

    yield f
    Thing.changed = lambda self, z: z * 3
    yield f
    thing.changed = lambda z: z * 4
    yield f
    del thing.changed
    yield f


@footgun
def class_of_an_object_changed():
    class First:
        def changed(self, z):
            return z * 2

    class Second:
        def changed(self, z):
            return z * 3

    thing = First()

    def f(z):
        return thing.changed(z)

    yield f
    thing.__class__ = Second
    yield f


@footgun
def operators_of_a_class_replaced():
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

    yield f
    Thing.__call__ = lambda self, z: z * 3
    yield f
    Thing.__getitem__ = lambda self, key: key * 5.0
    yield f
    Thing.__add__ = lambda self, z: z - 1
    yield f
    Thing.__len__ = lambda self: 4
    yield f
    Thing.__contains__ = lambda self, key: False
    yield f


@footgun
def list_items_and_length():
    weights = [1.0, 2.0]

    def f(z):
        for weight in weights:
            z = z * weight
        return z + len(weights)

    yield f
    weights[0] = 3.0
    yield f
    weights.append(x(2.0))
    yield f
    weights.reverse()
    yield f
    weights.clear()
    yield f


@footgun
def dict_items_and_keys():
    weights = {"a": 1.0, "b": 2.0}

    def f(z):
        for name, weight in weights.items():
            z = z * weight + (1.0 if name == "a" else 2.0)
        return z * weights.get("c", 1.0)

    yield f
    weights["a"] = 3.0
    yield f
    weights["c"] = 5.0
    yield f
    weights["a"] = weights.pop("a")
    yield f
    del weights["b"]
    yield f


@footgun
def dict_keys_equal_but_not_the_same():
    weights = {1: 2.0}

    def f(z):
        return [z * key for key in weights]

    yield f
    weights.clear()
    weights[True] = 2.0
    yield f
    weights.clear()
    weights[1.0] = 2.0
    yield f


@footgun
def set_members():
    names = {"a"}

    def f(z):
        if "b" in names:
            z = z * 2
        return z + len(names)

    yield f
    names.add("b")
    yield f
    names.discard("a")
    yield f


@footgun
def set_members_equal_but_not_the_same():
    numbers = {1}

    def f(z):
        return [z * number for number in numbers], type(next(iter(list(numbers)))).__name__

    yield f
    numbers.clear()
    numbers.add(True)
    yield f
    numbers.clear()
    numbers.add(1.0)
    yield f


@footgun
def deque_items():
    weights = deque([1.0, 2.0], maxlen=3)

    def f(z):
        return z * weights[0] + weights[-1] + len(weights)

    yield f
    weights.append(5.0)
    yield f
    weights.append(6.0)
    yield f
    weights.rotate()
    yield f


@footgun
def deque_looped_over():
    weights = deque([1.0, 2.0])

    def f(z):
        for weight in weights:
            z = z * weight
        return z, sum(weights), list(weights), max(weights)

    yield f
    weights.append(5.0)
    yield f
    weights[0] = 4.0
    yield f


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
def missing_key_of_a_counter():
    counts = Counter("a")

    def f(z):
        return z + counts["b"]

    yield f
    counts["b"] = 3
    yield f


@footgun
def ordered_dict_order():
    weights = OrderedDict(a=1.0, b=2.0)

    def f(z):
        return [z * weight for weight in weights.values()]

    yield f
    weights.move_to_end("a")
    yield f


@footgun
def array_items():
    weights = np.array([1.0, 2.0, 3.0], dtype="float32")

    def f(z):
        return z * weights, z * weights[1], weights.sum(), weights[0] > 2

    yield f
    weights[1] = 5.0
    yield f
    weights *= 10
    yield f


@footgun
def array_in_a_container():
    held = {"w": np.array([1.0, 2.0, 3.0], dtype="float32")}

    def f(z):
        return z * held["w"], float(held["w"][0])

    yield f
    held["w"][0] = 5.0
    yield f
    held["w"] = np.array([[1.0, 2.0, 3.0]] * 2)
    yield f


@footgun
def array_turned_into_a_tensor():
    import d2s

    weights = np.array([1.0, 2.0, 3.0], dtype="float32")

    def f(z):
        return z * d2s.to_tensor(weights)

    yield f
    weights[1] = 5.0
    yield f


@footgun
def list_turned_into_a_tensor():
    import d2s

    weights = [1.0, 2.0, 3.0]

    def f(z):
        return z * d2s.to_tensor(weights)

    yield f
    weights[1] = 5.0
    yield f


@footgun
def nested_list_turned_into_a_tensor():
    import d2s

    weights = [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]

    def f(z):
        return z * d2s.to_tensor(weights)

    yield f
    weights[1][0] = 5.0
    yield f


@footgun
def slice_of_a_list():
    weights = [1.0, 2.0, 3.0]

    def f(z):
        return [z * weight for weight in weights[1:]], weights[-1]

    yield f
    weights[2] = 5.0
    yield f
    weights.append(7.0)
    yield f


@footgun
def membership_of_nested_containers():
    pairs = [(1, [2.0]), (3, [4.0])]

    def f(z):
        for key, parts in pairs:
            z = z * key + parts[0]
        return z

    yield f
    pairs[0][1][0] = 9.0
    yield f


@footgun
def comparison_of_containers():
    names, wanted = ["a", ["b"]], ["a", ["b"]]

    def f(z):
        if names == wanted:
            return z * 2
        return z

    yield f
    names[1][0] = "c"
    yield f
    wanted[1][0] = "c"
    yield f


class Kind(enum.Enum):
    ADD = 1
    MUL = 2


@footgun
def enum_member():
    box = Box(kind=Kind.ADD)

    def f(z):
        return z + 2 if box.kind is Kind.ADD else z * box.kind.value

    for box.kind in (Kind.ADD, Kind.MUL, Kind.ADD):
        yield f


@dataclass
class Settings:
    scale: float = 2.0
    parts: list[Any] = field(default_factory=lambda: [1.0])


@footgun
def dataclass_fields():
    settings = Settings()

    def f(z):
        return z * settings.scale + settings.parts[0]

    yield f
    settings.scale = 3.0
    yield f
    settings.parts[0] = 4.0
    yield f


@footgun
def dataclass_compared():
    settings, usual = Settings(), Settings()

    def f(z):
        return z * 2 if settings == usual else z * 3

    yield f
    settings.scale = 3.0
    yield f


@footgun
def registry_of_a_class():
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

    yield f
    Registry.known["a"].scale = 3.0
    yield f
    Registry.known["a"] = Box(scale=4.0)
    yield f
    Registry.scaled = staticmethod(lambda z, k: z + k)
    yield f


@footgun
def vars_and_dict_of_an_object():
    box = Box(a=2.0, b=3.0)

    def f(z):
        for name, value in vars(box).items():
            z = z * value
        return z + box.__dict__["a"]

    yield f
    box.a = 4.0
    yield f
    box.c = 5.0
    yield f


@footgun
def hasattr_and_getattr():
    box = Box()

    def f(z):
        if hasattr(box, "scale"):
            z = z * box.scale
        return z + getattr(box, "shift", 1.0)

    yield f
    box.scale = 2.0
    yield f
    box.shift = 5.0
    yield f
    del box.scale
    yield f


@footgun
def isinstance_of_an_outer_object():
    box = Box(held=Box(scale=2.0))

    def f(z):
        if isinstance(box.held, Box):
            return z * box.held.scale
        if type(box.held) is Settings:
            return z * box.held.scale * 10
        return z

    yield f
    box.held = Settings()
    yield f
    box.held = 3
    yield f
    box.held = Box(scale=5.0)
    yield f


@footgun
def object_at_the_same_address():
    box = Box(held=Box(scale=2.0))

    def f(z):
        return z * box.held.scale

    for k in range(4):
        box.held = None
        box.held = Box(scale=float(k))
        yield f


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


@footgun
def objects_that_look_like_something_else(stage):
    class Numbers:
        part, length, thing = 5.0, 1, None

        def __iter__(self):
            yield from (1.0, self.part)

    numbers = Numbers()

    def f(z):
        for number in numbers:
            z = z * number
        return z + sum(Numbers()) + sum(dict.fromkeys("ab", numbers.part).values())

    stage.around(f, lambda: setattr(numbers, "part", 2.0))
