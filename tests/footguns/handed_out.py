"""Objects that functions hand out (of libraries, of classes, of the user) and that change after the trace."""

from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import enum
import functools
import heapq
import itertools
import logging
import operator
import sys
import threading
import types
import typing
import weakref

import numpy as np

import d2s
from d2s import nn
from tests.footguns.stage import footgun
from tests.footguns.things import Box, constant, x


def boxes(*scales):
    return [Box(scale=scale) for scale in scales]


@footgun
def attrgetter_and_itemgetter():
    box = Box(inner=Box(scale=2.0), table={"a": Box(scale=3.0)})

    def f(z):
        one = operator.attrgetter("inner")(box)
        two = operator.itemgetter("a")(box.table)
        three = operator.attrgetter("inner.scale")(box)
        return z * one.scale + two.scale * three

    yield f
    box.inner.scale = 4.0
    yield f
    box.table["a"].scale = 5.0
    yield f
    box.inner = Box(scale=7.0)
    yield f


@footgun
def the_largest_by_a_key():
    held = boxes(1.0, 3.0, 2.0)

    def f(z):
        best = max(held, key=lambda one: one.scale)
        least = min(held, key=operator.attrgetter("scale"))
        return z * best.scale + least.scale

    yield f
    held[0].scale = 9.0
    yield f
    held.append(Box(scale=-3.0))
    yield f
    held[1] = Box(scale=20.0)
    yield f


@footgun
def sorted_and_reversed_objects():
    held = boxes(2.0, 3.0, 1.0)

    def f(z):
        order = sorted(held, key=lambda one: one.scale)
        for place, one in enumerate(reversed(order)):
            z = z * one.scale + place
        return z

    yield f
    held[2].scale = 8.0
    yield f
    held.pop(0)
    yield f


@footgun
def objects_through_iterators_of_libraries():
    one, two = boxes(1.0, 2.0), boxes(3.0)

    def f(z):
        for each in itertools.chain(one, two[:1]):
            z = z * each.scale
        for first, second in itertools.product(one, two):
            z = z + first.scale * second.scale
        for first, second in zip(one, itertools.repeat(two[0])):
            z = z - first.scale / second.scale
        return z + sum(each.scale for each in itertools.islice(one, 1))

    yield f
    two[0].scale = 5.0
    yield f
    one.append(Box(scale=4.0))
    yield f
    two[:] = boxes(6.0, 7.0)
    yield f


@footgun
def objects_by_reduce_and_accumulate():
    held = boxes(1.0, 2.0, 3.0)

    def f(z):
        last = functools.reduce(lambda a, b: b if b.scale > a.scale else a, held)
        return z * last.scale + list(itertools.accumulate(one.scale for one in held))[-1]

    yield f
    held[1].scale = 7.0
    yield f
    held.insert(0, Box(scale=30.0))
    yield f


@footgun
def objects_in_heaps():
    held = [(1.0, 0, Box(scale=2.0)), (3.0, 1, Box(scale=5.0))]

    def f(z):
        return z * heapq.nsmallest(1, held)[0][2].scale + heapq.nlargest(1, held)[0][2].scale + held[0][2].scale

    yield f
    held[0][2].scale = 4.0
    yield f
    heapq.heappush(held, (0.5, 2, Box(scale=11.0)))
    yield f


@footgun
def bisected_lists():
    edges, values = [1.0, 2.0, 3.0], boxes(1.0, 2.0, 3.0, 4.0)

    def f(z):
        return z * values[bisect.bisect(edges, 2.5)].scale

    yield f
    values[2].scale = 9.0
    yield f
    edges.insert(0, 0.0)
    yield f


@footgun
def default_of_get_and_setdefault():
    spare, table = Box(scale=2.0), {}

    def f(z):
        return z * table.get("k", spare).scale + getattr(table, "missing", spare).scale

    yield f
    spare.scale = 3.0
    yield f
    table["k"] = Box(scale=5.0)
    yield f
    table["k"].scale = 6.0
    yield f


@footgun
def next_of_a_filter():
    held = boxes(1.0, 2.0, 3.0)

    def f(z):
        found = next((one for one in held if one.scale > 1.5), None)
        first = next(iter(held))
        kept = list(filter(lambda one: one.scale > 0, held))
        return z * (found.scale if found else 100.0) + first.scale + len(kept)

    yield f
    held[0].scale = 8.0
    yield f
    held[0].scale = held[1].scale = -1.0
    yield f
    held[2].scale = 0.5
    yield f


@footgun
def shallow_copies_of_objects():
    box = Box(inner=Box(scale=2.0), scale=3.0)

    def f(z):
        other = copy.copy(box)
        other.scale = other.scale + 1
        return z * other.inner.scale + other.scale + box.scale

    yield f
    box.scale = 5.0
    yield f
    box.inner.scale = 7.0
    yield f
    box.inner = Box(scale=1.0)
    yield f
    box.more = 1
    yield f


@footgun
def deep_copies_of_objects():
    box = Box(inner=Box(scale=2.0, items=[1.0, 2.0]), scale=3.0)

    def f(z):
        other = copy.deepcopy(box)
        other.inner.items.append(4.0)
        return z * other.inner.scale + sum(other.inner.items) + len(box.inner.items)

    yield f
    box.inner.items.append(9.0)
    yield f
    box.inner.scale = 7.0
    yield f


@footgun
def copies_of_containers_of_objects():
    held, table = boxes(1.0, 2.0), {"a": Box(scale=3.0)}

    def f(z):
        one, two = copy.copy(held), dict(table)
        one.append(Box(scale=10.0))
        two["b"] = one[0]
        return z * sum(each.scale for each in one) + sum(each.scale for each in two.values())

    yield f
    held[1].scale = 5.0
    yield f
    table["c"] = held[0]
    yield f
    held.clear()
    yield f


@footgun
def replaced_fields_of_dataclasses():
    @dataclasses.dataclass(frozen=True)
    class Settings:
        inner: Box
        scale: float = 2.0

    box = Box(settings=Settings(Box(scale=3.0)))

    def f(z):
        other = dataclasses.replace(box.settings, scale=box.settings.scale + 1)
        fields = dataclasses.asdict(dataclasses.replace(box.settings, inner=None))
        return z * other.scale + other.inner.scale + len(fields) + fields["scale"]

    yield f
    box.settings.inner.scale = 4.0
    yield f
    box.settings = Settings(Box(scale=1.0), 9.0)
    yield f


@footgun
def named_tuples_that_hold_objects():
    Pair = collections.namedtuple("Pair", "a b")
    box = Box(pair=Pair(Box(scale=2.0), [1.0]))

    def f(z):
        other = box.pair._replace(b=[5.0])
        return z * other.a.scale + box.pair.b[-1] + other._asdict()["a"].scale + other.b[0]

    yield f
    box.pair.a.scale = 3.0
    yield f
    box.pair.b.append(2.0)
    yield f
    box.pair = Pair(Box(scale=4.0), [0.0])
    yield f


@footgun
def parts_of_partials():
    box = Box(scale=2.0)
    part = functools.partial(lambda a, b, c=1: a.scale * b * c, box, c=3)

    def f(z):
        return z * part(2.0) + part.args[0].scale + part.keywords["c"]

    yield f
    box.scale = 4.0
    yield f
    part.keywords["c"] = 5
    yield f
    part.__setstate__((part.func, (Box(scale=7.0),), {"c": 1}, None))
    yield f


@footgun
def partial_as_a_key():
    def scaled(a, b):
        return a * b

    double, triple = functools.partial(scaled, 2.0), functools.partial(scaled, 3.0)
    table = {double: 5.0, triple: 7.0}
    box = Box(chosen=double)

    def f(z):
        return box.chosen(z) * table[box.chosen] + (triple in table)

    yield f
    box.chosen = triple
    yield f
    table[triple] = 1.0
    yield f
    del table[triple]
    box.chosen = double
    yield f


@footgun
def partial_as_a_member():
    box = Box(step=functools.partial(max, 2.0))
    chosen = {box.step, functools.partial(min, 3.0)}

    def f(z):
        return z * (2.0 if box.step in chosen else 3.0) + len(chosen)

    yield f
    chosen.discard(box.step)
    yield f
    box.step = next(iter(chosen))
    yield f


@footgun
def methods_as_keys():
    class Scale:
        def __init__(self, k):
            self.k = k

        def go(self, z):
            return z * self.k

    one, two = Scale(2.0), Scale(3.0)
    table = {one.go: "one", two.go: "three"}
    box = Box(go=one.go)

    def f(z):
        return box.go(z) * len(table[box.go])

    yield f
    box.go = two.go
    yield f
    two.k = 5.0
    yield f
    table[two.go] = "seventeen"
    yield f


@footgun
def objects_behind_weak_references():
    held = Box(scale=2.0), Box(scale=5.0)
    box = Box(ref=weakref.ref(held[0]), proxy=weakref.proxy(held[1]))

    def f(z):
        return z * box.ref().scale + box.proxy.scale

    yield f
    held[0].scale = 3.0
    yield f
    held[1].scale = 4.0
    yield f
    box.ref = weakref.ref(held[1])
    yield f
    held = held[1:]
    yield f


@footgun
def dead_weak_references():
    held = [Box(scale=2.0)]
    ref = weakref.ref(held[0])

    def f(z):
        found = ref()
        return z * (9.0 if found is None else found.scale)

    yield f
    held[0].scale = 3.0
    yield f
    held.clear()
    yield f


@footgun
def modules_by_their_names():
    module = types.ModuleType("footgun_handed")
    module.scale, module.inner = 2.0, Box(scale=3.0)
    sys.modules["footgun_handed"] = module

    def f(z):
        found = sys.modules["footgun_handed"]
        same = sys.modules.get("footgun_handed")
        return z * found.scale + same.inner.scale

    try:
        yield f
        module.scale = 5.0
        yield f
        module.inner.scale = 6.0
        yield f
        sys.modules["footgun_handed"] = Box(scale=7.0, inner=Box(scale=8.0))
        yield f
    finally:
        del sys.modules["footgun_handed"]


@footgun
def the_current_thread_and_its_attributes():
    thread = threading.current_thread()
    thread.scale = 2.0

    def f(z):
        return z * threading.current_thread().scale

    yield f
    thread.scale = 4.0
    yield f
    del thread.scale


@footgun
def classes_by_their_attributes():
    class Base:
        scale = 2.0

    class Derived(Base):
        pass

    def f(z):
        return z * Derived.__base__.scale + type(Derived()).__mro__[1].scale + len(Base.__subclasses__())

    yield f
    Base.scale = 3.0
    yield f

    class Another(Base):
        scale = 10.0

    yield f
    Another.scale = 20.0
    yield f


@footgun
def functions_and_their_parts():
    def helper(a, b=2.0, *, c=3.0):
        """Text."""
        return a * b + c

    helper.settings = Box(scale=2.0)

    def f(z):
        return helper(z) * helper.__defaults__[0] + helper.__kwdefaults__["c"] + helper.settings.scale + len(
            helper.__doc__)

    yield f
    helper.__defaults__ = (4.0,)
    yield f
    helper.__kwdefaults__["c"] = 7.0
    yield f
    helper.settings.scale = 5.0
    yield f
    helper.__doc__ = "Longer text."
    yield f


@footgun
def cells_of_functions():
    scale, box = 2.0, Box(scale=1.0)

    def helper():
        return scale * box.scale

    def f(z):
        found = helper.__closure__
        return z * len(found) + helper()

    yield f
    box.scale = 3.0
    yield f
    scale = 4.0
    yield f
    helper.__closure__[1].cell_contents = 5.0
    yield f


@footgun
def methods_and_their_owners():
    class Scale:
        k = 2.0

        def go(self, z):
            return z * self.k

    one = Scale()
    box = Box(go=one.go)

    def f(z):
        return box.go(z) + box.go.__self__.k + box.go.__func__(one, z)

    yield f
    one.k = 3.0
    yield f
    Scale.k = 9.0
    del one.k
    yield f
    box.go = Scale().go
    yield f


@footgun
def descriptors_of_enums():
    class Kind(enum.IntFlag):
        A = 1
        B = 2
        C = 4

    box = Box(kind=Kind.A | Kind.B, by_name="B")

    def f(z):
        if Kind.C in box.kind:
            z = z + 10
        return z * Kind[box.by_name].value + len(list(box.kind)) + Kind(4).value

    yield f
    box.kind |= Kind.C
    yield f
    box.by_name = "C"
    yield f
    box.kind = 3
    yield f


@footgun
def casts_and_annotations():
    box = Box(scale=2.0)

    class Typed:
        field: float = 1.0

    def f(z):
        found = typing.cast(Box, box)
        return z * found.scale + len(Typed.__annotations__)

    yield f
    box.scale = 3.0
    yield f
    Typed.__annotations__["more"] = int
    yield f


@footgun
def handlers_of_loggers():
    logger = logging.getLogger("footguns.handed")
    logger.handlers[:] = [logging.NullHandler()]
    logger.setLevel(0)

    def f(z):
        found = logging.getLogger("footguns.handed")
        for handler in found.handlers:
            z = z * (handler.level + 2)
        return z + found.level + found.parent.level * 0 + len(found.name)

    yield f
    logger.handlers[0].setLevel(3)
    yield f
    logger.setLevel(5)
    yield f
    logger.addHandler(logging.NullHandler(7))
    yield f
    logger.handlers.clear()
    logger.setLevel(0)
    yield f


@footgun
def elements_of_object_arrays():
    array = np.array(boxes(2.0, 3.0), dtype=object)

    def f(z):
        return z * array[0].scale + array[1].scale + array.size

    yield f
    array[0].scale = 5.0
    yield f
    array[1] = Box(scale=7.0)
    yield f


@footgun
def fields_of_structured_arrays():
    array = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])

    def f(z):
        return z * float(array["a"][0]) + int(array[1]["b"]) + len(array.dtype.names)

    yield f
    array["a"][0] = 3.0
    yield f
    array[1] = (2.0, 7)
    yield f


@footgun
def layers_out_of_containers():
    layers = nn.LayerDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
    for layer in layers.values():
        layer.scale = 2.0
    box = Box(chosen="a")

    def f(z):
        layer = layers[box.chosen]
        last = list(layers.values())[-1]
        return layer(z) * layer.scale + last.scale

    yield f
    layers["a"].scale = 3.0
    yield f
    layers["b"].scale = 4.0
    yield f
    box.chosen = "b"
    yield f
    layers["c"] = nn.Linear(3, 3)
    layers["c"].scale = 10.0
    yield f


@footgun
def sublayers_found_by_name():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = nn.Linear(3, 3)
            self.a.scale = self.b.scale = 2.0

        def forward(self, z):
            for name, layer in self.named_sublayers():
                z = layer(z) * layer.scale + len(name)
            found = dict(self.named_parameters())["a.weight"]
            return z + found.sum() + len(self.sublayers())

    net = Net()
    yield net
    net.b.scale = 3.0
    yield net
    net.c = nn.Linear(3, 3)
    net.c.scale = 4.0
    yield net
    net.a.weight.set_value(np.ones((3, 3), "float32"))
    yield net
    net.a = net.c
    yield net


@footgun
def gradients_by_attribute_of_tensors():
    held = constant()
    held.stop_gradient = False
    held.info = Box(scale=2.0)

    def f(z):
        return z * held * held.info.scale

    yield f
    held.info.scale = 3.0
    yield f
    held.info = Box(scale=4.0)
    yield f


@footgun
def results_of_other_static_functions(stage):
    box = Box(scale=2.0)

    def inner(z):
        return {"box": box, "z": z * box.scale}

    inner = stage.static(inner)

    def f(z):
        found = inner(z)
        return found["z"] * found["box"].scale

    f = stage.static(f)
    stage(f, x())
    box.scale = 3.0
    stage(f, x())
    box = Box(scale=5.0)
    stage(f, x())


@footgun
def objects_that_cached_functions_keep():
    @functools.lru_cache
    def of(name):
        return Box(scale=float(len(name)), name=name)

    def f(z):
        return z * of("abc").scale

    yield f
    of("abc").scale = 7.0
    yield f
    of.cache_clear()
    yield f


@footgun
def objects_that_singletons_keep():
    class Registry:
        only = None

        def __new__(cls):
            if cls.only is None:
                cls.only = super().__new__(cls)
                cls.only.scale = 2.0
            return cls.only

    def f(z):
        return z * Registry().scale

    yield f
    Registry().scale = 4.0
    yield f
    Registry.only = None
    yield f


@footgun
def objects_that_descriptors_hand_out():
    class Held:
        def __get__(self, instance, owner):
            return self.box if instance is None else instance.inner

    held = Held()
    held.box = Box(scale=11.0)

    class Owner:
        part = held

    owner = Owner()
    owner.inner = Box(scale=2.0)

    def f(z):
        return z * owner.part.scale + Owner.part.scale

    yield f
    owner.inner.scale = 3.0
    yield f
    held.box.scale = 5.0
    yield f
    owner.inner = Box(scale=7.0)
    yield f


@footgun
def slots_that_hold_objects():
    class Slotted:
        __slots__ = ("__weakref__", "inner")

    one = Slotted()
    one.inner = Box(scale=2.0)

    def f(z):
        return z * one.inner.scale + (1.0 if hasattr(one, "inner") else 0.0)

    yield f
    one.inner.scale = 4.0
    yield f
    one.inner = Box(scale=5.0)
    yield f
    del one.inner
    yield f


@footgun
def mapping_proxies_of_classes():
    class Held:
        scale = 2.0
        inner = Box(scale=3.0)

    def f(z):
        return z * vars(Held)["scale"] + Held.__dict__["inner"].scale + ("more" in vars(Held))

    yield f
    Held.scale = 4.0
    yield f
    Held.inner.scale = 5.0
    yield f
    Held.more = 1
    yield f


@footgun
def user_dicts_and_lists():
    table, numbers = collections.UserDict(a=2.0), collections.UserList([1.0, 2.0])

    def f(z):
        return z * table["a"] + sum(numbers) + len(table)

    yield f
    table["a"] = 3.0
    yield f
    numbers.append(4.0)
    yield f
    table.data["b"] = 1
    yield f


@footgun
def generators_that_hand_out():
    held = boxes(1.0, 2.0)

    def each():
        for one in held:
            yield one, one.scale

    def f(z):
        for one, scale in each():
            z = z * scale + one.scale
        return z

    yield f
    held[1].scale = 4.0
    yield f
    held.append(Box(scale=0.5))
    yield f


@footgun
def tensors_handed_out_by_a_function():
    held = [d2s.to_tensor([1.0, 2.0, 3.0])]

    def current():
        return held[-1]

    def f(z):
        return z * current() + operator.itemgetter(0)(held)

    yield f
    held[0].add_(constant())
    yield f
    held.append(d2s.to_tensor([5.0, 5.0, 5.0]))
    yield f
    held[-1] = d2s.to_tensor([[2.0, 2.0, 2.0]])
    yield f


@footgun
def arrays_handed_out_by_a_function():
    box = Box(array=np.array([1.0, 2.0, 3.0], "float32"))

    def current():
        return box.array

    def f(z):
        return z * d2s.to_tensor(current()) + float(np.asarray(current())[0]) + float(current().max())

    yield f
    box.array[0] = 7.0
    yield f
    box.array = box.array * 2
    yield f
    box.array = np.zeros((1, 3), "float32")
    yield f
