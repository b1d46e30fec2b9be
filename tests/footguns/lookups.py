"""Reads in disguise, and reads that find nothing yet: texts, unpacking, copies, views of dicts, caught errors."""

from __future__ import annotations

import contextvars
import copy
import itertools
import json
import operator
import os
import threading
import types
import weakref
from collections import ChainMap, UserDict

import numpy as np

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


@footgun
def key_that_is_missing_at_first(stage):
    table = {}

    def f(z):
        try:
            return z * table["k"]
        except KeyError:
            return z

    f = stage.static(f)
    stage(f, x())
    table["k"] = 3.0
    stage(f, x())
    del table["k"]
    stage(f, x())


@footgun
def index_that_is_missing_at_first(stage):
    parts = [1.0]

    def f(z):
        try:
            return z * parts[1]
        except IndexError:
            return z

    f = stage.static(f)
    stage(f, x())
    parts.append(3.0)
    stage(f, x())
    parts.pop()
    stage(f, x())


@footgun
def attribute_that_is_missing_at_first(stage):
    box = Box()

    def f(z):
        try:
            return z * box.scale
        except AttributeError:
            return z

    f = stage.static(f)
    stage(f, x())
    box.scale = 3.0
    stage(f, x())
    del box.scale
    stage(f, x())


@footgun
def class_attribute_that_is_missing_at_first(stage):
    class Thing:
        pass

    thing = Thing()

    def f(z):
        try:
            return z * thing.scale
        except AttributeError:
            return z * getattr(Thing, "other", 1.0)

    f = stage.static(f)
    stage(f, x())
    Thing.other = 2.0
    stage(f, x())
    Thing.scale = 3.0
    stage(f, x())


@footgun
def attribute_of_a_module_that_is_missing_at_first(stage):
    module = types.ModuleType("growing")

    def f(z):
        try:
            return z * module.scale
        except AttributeError:
            return z

    f = stage.static(f)
    stage(f, x())
    module.scale = 3.0
    stage(f, x())


@footgun
def global_that_is_missing_at_first(stage):
    def f(z):
        try:
            return z * global_of_tomorrow
        except NameError:
            return z

    f = stage.static(f)
    stage(f, x())
    globals()["global_of_tomorrow"] = 3.0
    stage(f, x())
    del globals()["global_of_tomorrow"]
    stage(f, x())


@footgun
def closure_that_is_missing_at_first(stage):
    def f(z):
        try:
            return z * scale
        except NameError:
            return z

    f = stage.static(f)
    stage(f, x())
    scale = 3.0
    stage(f, x())
    del scale
    stage(f, x())


@footgun
def method_that_is_missing_at_first(stage):
    class Thing:
        pass

    thing = Thing()

    def f(z):
        return thing.change(z) if hasattr(thing, "change") else z

    f = stage.static(f)
    stage(f, x())
    Thing.change = lambda self, z: z * 2
    stage(f, x())
    thing.change = lambda z: z * 5
    stage(f, x())


@footgun
def operator_that_is_missing_at_first(stage):
    class Thing:
        pass

    thing = Thing()

    def f(z):
        return z * 2 if thing else z

    f = stage.static(f)
    stage(f, x())
    Thing.__bool__ = lambda self: False
    stage(f, x())


@footgun
def texts_of_containers(stage):
    kept = [1, [2]]

    def f(z):
        return z, f"{kept}", str(kept), repr(kept), "%s" % kept, "%s" % (kept,), "{}".format(kept), format(kept)

    f = stage.static(f)
    stage(f, x())
    kept[1].append(3)
    stage(f, x())


@footgun
def texts_of_objects(stage):
    class Thing:
        name = "a"

        def __str__(self):
            return f"thing {self.name}"

        def __repr__(self):
            return f"<{self.name}>"

        def __format__(self, spec):
            return f"{self.name}|{spec}"

    thing = Thing()

    def f(z):
        return z, f"{thing:x}", f"{thing!r}", str(thing), repr([thing]), "%s" % thing, "{!s}".format(thing)

    f = stage.static(f)
    stage(f, x())
    thing.name = "b"
    stage(f, x())


@footgun
def unpacking(stage):
    pair, rest, named = [1.0, 2.0], [3.0, 4.0], {"k": 2.0}

    class Parts:
        held = (5.0, 6.0)

        def __iter__(self):
            return iter(self.held)

    parts = Parts()

    def scaled(z, *factors, k=1.0):
        for factor in factors:
            z = z * factor
        return z * k

    def f(z):
        a, b = pair
        first, *others = rest
        c, d = parts
        return scaled(z, *rest, **named) * a + b, [*pair, *parts], {**named, "j": first}, others, c + d

    f = stage.static(f)
    stage(f, x())
    pair[0], rest[1], named["k"] = 7.0, 8.0, 9.0
    stage(f, x())
    Parts.held = (1.0, 1.0)
    stage(f, x())
    rest.append(2.0)
    named.clear()
    stage(f, x())


@footgun
def builtin_functions_on_containers(stage):
    numbers, names = [3.0, 1.0, 2.0], {"b": 1.0, "a": 2.0}

    def f(z):
        total = sum(numbers) + max(numbers) - min(numbers) + len(names)
        return (
            z * total, sorted(numbers), list(reversed(numbers)), list(enumerate(names)), list(zip(numbers, names)),
            sorted(names), dict(names), set(names), tuple(numbers), list(map(abs, numbers)), any(numbers), all(numbers),
            list(filter(None, numbers)), list(itertools.chain(numbers, names.values())), 3.0 in numbers,
            numbers + numbers, numbers * 2, numbers[::-1], numbers == [3.0, 1.0, 2.0], {*names} | {"c"},
        )

    f = stage.static(f)
    stage(f, x())
    numbers[1], names["b"] = 0.0, 5.0
    stage(f, x())
    numbers.append(-1.0)
    names["c"] = 0.0
    stage(f, x())


@refused("a view of a dict would have to show what is stored after it was taken")
def views_of_a_dict_that_changes(stage):
    table = {"a": 1.0}

    def f(z):
        keys, values = table.keys(), table.values()
        table["new"] = 2.0
        return z * sum(values), sorted(keys), "new" in keys

    f = stage.static(f)
    stage(f, x())


@footgun
def views_of_a_dict(stage):
    table = {"a": 1.0}

    def f(z):
        for key, value in table.items():
            z = z * value + len(key)
        table["new"] = 2.0
        return z * len(table)

    f = stage.static(f)
    stage(f, x())
    table.pop("new")
    table["a"] = 5.0
    stage(f, x())


@footgun
def layers_looped_over(stage):
    parts = d2s.nn.LayerList([d2s.nn.ReLU()])

    def f(z):
        for part in parts:
            z = part(z)
        return z * len(parts)

    f = stage.static(f)
    stage(f, x())
    parts.append(d2s.nn.Tanh())
    stage(f, x())
    parts[0] = d2s.nn.Sigmoid()
    stage(f, x())


@footgun
def copies_of_older_objects(stage):
    kept = {"a": [1.0], "box": Box(scale=2.0)}

    def f(z):
        deep = copy.deepcopy(kept)
        flat = copy.copy(kept)
        return z, deep["a"][0], flat["a"] is kept["a"], len(flat)

    f = stage.static(f)
    stage(f, x())
    kept["a"][0] = 5.0
    stage(f, x())


@footgun
def json_of_a_container(stage):
    kept = {"a": [1.0], "b": None}

    def f(z):
        return z, json.dumps(kept), json.loads(json.dumps(kept))["a"]

    f = stage.static(f)
    stage(f, x())
    kept["a"].append(2)
    stage(f, x())


@footgun
def getters_of_the_operator_module(stage):
    box, table = Box(scale=2.0), {"k": 3.0}
    by_name, by_key = operator.attrgetter("scale"), operator.itemgetter("k")

    def f(z):
        return z * by_name(box) * by_key(table) + operator.getitem(table, "k")

    f = stage.static(f)
    stage(f, x())
    box.scale, table["k"] = 5.0, 7.0
    stage(f, x())


@footgun
def environment_variables(stage):
    def f(z):
        if os.environ.get("D2S_FOOTGUN") == "1":
            return z * 2
        return z * 3 if "D2S_FOOTGUN" in os.environ else z

    f = stage.static(f)
    stage(f, x())
    for value in ("1", "0"):
        os.environ["D2S_FOOTGUN"] = value
        stage(f, x())
    del os.environ["D2S_FOOTGUN"]
    stage(f, x())


@footgun
def thread_local_and_context_variables(stage):
    local, variable = threading.local(), contextvars.ContextVar("scale", default=1.0)
    local.scale = 2.0

    def f(z):
        return z * local.scale * variable.get()

    f = stage.static(f)
    stage(f, x())
    local.scale = 3.0
    stage(f, x())
    variable.set(5.0)
    stage(f, x())


@footgun
def weak_reference(stage):
    held = [Box(scale=2.0)]
    reference = weakref.ref(held[0])

    def f(z):
        found = reference()
        return z if found is None else z * found.scale

    f = stage.static(f)
    stage(f, x())
    held[0].scale = 3.0
    stage(f, x())
    held.clear()
    stage(f, x())


@footgun
def mappings_of_the_standard_library(stage):
    chained, user = ChainMap({"a": 1.0}, {"b": 2.0}), UserDict(a=3.0)

    def f(z):
        return z * chained["b"] * user["a"], len(chained), "c" in user

    f = stage.static(f)
    stage(f, x())
    chained["b"], user["a"], user["c"] = 5.0, 7.0, 1.0
    stage(f, x())


@footgun
def proxy_of_a_dict(stage):
    table = {"k": 2.0}
    proxy = types.MappingProxyType(table)

    def f(z):
        return z * proxy["k"], len(proxy), dict(proxy)

    f = stage.static(f)
    stage(f, x())
    table["k"] = 3.0
    stage(f, x())
    table["j"] = 4.0
    stage(f, x())


@footgun
def tuple_that_holds_a_list(stage):
    pair = ([1.0], {"k": 2.0})

    def f(z):
        return z * pair[0][0] + pair[1]["k"] + len(pair[0])

    f = stage.static(f)
    stage(f, x())
    pair[0][0] = 5.0
    stage(f, x())
    pair[0].append(1.0)
    stage(f, x())


@footgun
def one_list_as_two_arguments(stage):
    def f(z, a, b):
        a.append(z.sum().item())
        return z * len(b), a is b

    f = stage.static(f)
    first, second = [], []
    stage(f, x(), first, second)
    stage(f, x(), first, first)
    stage(f, x(), second, second)
    stage(f, x(), second, first)


@footgun
def argument_that_is_the_closure(stage):
    kept = stage.watch([1.0])

    def f(z, a):
        a.append(2.0)
        return z * len(kept), a is kept

    f = stage.static(f)
    stage(f, x(), [])
    stage(f, x(), kept)
    stage(f, x(), [])


@footgun
def one_array_as_two_arguments(stage):
    def f(z, a, b):
        a[0] = 5.0
        return z * b

    f = stage.static(f)
    first, second = np.ones(3, "float32"), np.ones(3, "float32")
    stage(f, x(), first, second)
    stage(f, x(), second, second)
    stage(f, x(), first, first[:])


@footgun
def numpy_scalars(stage):
    box = Box(k=np.float32(2))

    def f(z):
        return z * box.k, box.k + 1, box.k.dtype

    f = stage.static(f)
    for box.k in (np.float32(2), np.float64(2), np.int64(2), 2, np.float32(3), np.bool_(True)):
        stage(f, x())


@footgun
def written_through_globals(stage):
    globals()["counted"] = 0

    def f(z):
        globals()["counted"] += 1
        return z * counted

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        stage.note(globals()["counted"])


@footgun
def bound_methods_kept_in_a_container(stage):
    kept = stage.watch([])
    actions = {"push": kept.append}

    class Thing:
        n = 0

        def count(self):
            self.n += 1
            return self.n

    thing = Thing()
    actions["count"] = thing.count

    def f(z):
        actions["push"](1.0)
        return z * len(kept) + actions["count"]()

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
    thing.n = 10
    stage(f, x())


@footgun
def partial_that_is_kept(stage):
    import functools

    kept, box = stage.watch([]), Box(scale=2.0)

    def scaled(where, holder, z, k=1.0):
        where.append(k)
        return z * holder.scale * k

    bound = functools.partial(scaled, kept, box, k=3.0)

    def f(z):
        return bound(z)

    f = stage.static(f)
    stage(f, x())
    box.scale = 5.0
    stage(f, x())
    bound.keywords["k"] = 7.0
    stage(f, x())


@refused("tensors as keys of a dict from outside")
def tensor_in_a_set_and_as_a_key(stage):
    first, second = constant(1.0), constant(2.0)
    scales = {first: 2.0}

    def f(z, t):
        return z * scales.get(t, 5.0), t in scales, len({t, first})

    f = stage.static(f)
    stage(f, x(), first)
    stage(f, x(), second)
    stage(f, x(), first)


@footgun
def values_of_a_tensor_as_python_objects(stage):
    weight = constant()

    def f(z):
        values = weight.numpy()
        return z * float(weight[0]), values.sum(), weight.tolist(), f"{weight[1].item():.1f}", int(weight[2])

    f = stage.static(f)
    stage(f, x())
    weight.set_value(np.array([5.0, 6.0, 7.0]))
    stage(f, x())


@footgun
def none_from_an_untraced_call(stage):
    answers = [None, 1.0, None]

    @d2s.jit.not_to_static
    def ask():
        return answers.pop()

    def f(z):
        found = ask()
        return z if found is None else z * found

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
