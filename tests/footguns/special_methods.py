"""Special methods and functions of the user that built-in functions and libraries call, and objects of libraries."""

from __future__ import annotations

import array
import bisect
import contextlib
import dataclasses
import decimal
import functools
import io
import json
import queue
import random
import re
import threading
from collections import defaultdict

import numpy as np

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, x


@footgun
def numbers_of_an_object(stage):
    class Number:
        def __float__(self):
            stage.log.append("float")
            return 2.0

        def __int__(self):
            stage.log.append("int")
            return 3

        def __bool__(self):
            stage.log.append("bool")
            return True

        def __abs__(self):
            stage.log.append("abs")
            return 7

        def __round__(self, digits=None):
            stage.log.append("round")
            return 8

        def __len__(self):
            stage.log.append("len")
            return 9

        def __index__(self):
            stage.log.append("index")
            return 1

    outer = Number()

    def f(z):
        for n in (outer, Number()):
            z = z * float(n) + int(n) + bool(n) + abs(n) + round(n, 1) + len(n) + [1.0, 2.0][n] + len(range(n))
        return z

    stage.around(f, lambda: None, lambda: setattr(Number, "__int__", lambda self: 30))
    stage.around(f, lambda: setattr(Number, "__float__", lambda self: 3))


@footgun
def texts_of_an_object(stage):
    class Text:
        def __str__(self):
            stage.log.append("str")
            return "abc"

        def __repr__(self):
            stage.log.append("repr")
            return "abcd"

        def __format__(self, spec):
            stage.log.append("format")
            return "abcde" + spec

    def f(z):
        text = Text()
        print(text, [text])
        known = len(str(text)) + len(repr(text)) + len(f"{text:x}") + len(f"{text!s:>9}") + len(format(text, "yy"))
        return z * known + len("%s" % text) + len(f"{text}") + len(f"{[text]}")

    stage.around(f, lambda: None, lambda: setattr(Text, "__str__", lambda self: "longer"))


@footgun
def text_of_a_dataclass_made_inside(stage):
    @dataclasses.dataclass
    class Thing:
        a: object

    def f(z):
        thing = Thing(z.sum().item())
        stage.log.extend([str(thing), f"{thing}", "%s %r" % (thing, [thing]), "{}".format(thing)])
        return z * 2

    f = stage.static(f)
    for value in (1.0, 2.0):
        stage(f, x(value))


@footgun
def order_of_objects(stage):
    seen = []

    class Item:
        def __init__(self, k):
            self.k = k

        def __lt__(self, other):
            seen.append((self.k, other.k))
            return self.k < other.k

    def compare(a, b):
        seen.append((a, b))
        return a - b

    def f(z):
        items = [Item(3), Item(1), Item(2)]
        items.sort()
        smallest = min(Item(2), Item(1)).k + sorted([Item(3), Item(1)], reverse=True)[0].k + items[0].k
        return z * smallest + sorted([3, 1, 2], key=functools.cmp_to_key(compare))[0]

    stage.watch(seen)
    stage.around(f, lambda: None, lambda: setattr(Item, "__lt__", lambda self, other: self.k > other.k))


@footgun
def equality_in_containers(stage):
    class Item:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            stage.log.append((self.k, getattr(other, "k", None)))
            return isinstance(other, Item) and self.k == other.k

    first, second = Item(1), Item(2)

    def f(z):
        items = [Item(1), Item(2), Item(3)]
        items.remove(Item(2))
        z = z * items.index(Item(3)) + items.count(second) + (first in items) + (Item(5) in (first, second))
        same = ([first] == [second]) + ((first, 2) != (second, 2)) + ({"a": first} == {"a": Item(1)})
        return z * (first != second) + same

    stage.around(f, lambda: setattr(first, "k", 2), lambda: setattr(first, "k", 3))


@footgun
def total_order(stage):
    @functools.total_ordering
    class Item:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            stage.log.append("eq")
            return self.k == other.k

        def __lt__(self, other):
            stage.log.append("lt")
            return self.k < other.k

    first, second = Item(1), Item(2)
    stage.around(
        lambda z: z * (first <= second) + (first >= second) + (max(first, second) is second),
        lambda: setattr(first, "k", 5))


@footgun
def items_without_an_iterator(stage):
    class Numbers:
        size = 3

        def __getitem__(self, index):
            stage.log.append(index)
            if index >= self.size:
                raise IndexError
            return index + 1.0

        def __len__(self):
            return self.size

    class Backwards:
        def __reversed__(self):
            stage.log.append("reversed")
            return iter([3, 1])

    numbers = Numbers()

    def f(z):
        for number in numbers:
            z = z * number
        for number in reversed(numbers):
            z = z + number
        return z + sum(reversed(Backwards())) + len("-".join(map(str, numbers)))

    stage.around(f, lambda: setattr(numbers, "size", 2))


@footgun
def attributes_set_and_deleted_by_methods(stage):
    class Plain:
        def __setattr__(self, name, value):
            stage.log.append(("set", name))
            object.__setattr__(self, name, value)

        def __delattr__(self, name):
            stage.log.append(("delete", name))
            object.__delattr__(self, name)

    class Descriptor:
        def __get__(self, thing, owner):
            stage.log.append("get")
            return getattr(thing, "kept", 1.0)

        def __set__(self, thing, value):
            thing.kept = value

        def __delete__(self, thing):
            stage.log.append("delete")
            thing.kept_before = True

    class Described:
        k = Descriptor()

        @property
        def gone(self):
            return self.kept_before

        @gone.deleter
        def gone(self):
            stage.log.append("gone")
            self.kept_before = False

    outer, described = Plain(), Described()
    stage.watch(described)

    def f(z):
        made = Plain()
        outer.k = 2.0
        made.m = 3.0
        z = z * outer.k * made.m * described.k
        del outer.k, made.m, described.k
        kept = described.gone
        del described.gone
        return z + hasattr(made, "m") + kept

    stage.around(f, lambda: None)


@refused("`__hash__` of a key that does more than answer: Python would call it while the function is traced only")
def keys_with_effects(stage):
    class Key:
        def __hash__(self):
            stage.log.append("hash")
            return 1

        def __eq__(self, other):
            return True

    stage.around(lambda z: z * {Key(): 5.0}[Key()], lambda: None)


@refused("the same of `__eq__` of members that have the same hash")
def members_compared_with_effects(stage):
    class Key:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            stage.log.append("equal")
            return True

    stage.around(lambda z: z * len({Key() for _ in range(2)}), lambda: None)


@refused("a key whose hash depends on what the function has changed")
def keys_changed_inside(stage):
    key = stage.watch(Version(1))
    table = {Version(1): 2.0, Version(2): 3.0}

    def f(z):
        key.number = 2
        return z * table[key]

    stage.around(f)


class Version:
    """A key of the user's, compared by what it holds."""

    allowed = 5

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash((type(self), self.number))

    def __eq__(self, other):
        return type(other) is type(self) and other.number == self.number and other.number < self.allowed


@footgun
def keys_that_change(stage):
    key, other = Version(1), Version(2)
    table = {Version(1): 2.0, other: 3.0}

    def f(z):
        inside = {key: 1.0, other: 2.0, Version(3): 4.0}
        known = {other, key, Version(2)} | {part for part in table}
        told = dict([(key, 5.0), (Version(3), 6.0)]) | dict.fromkeys({Version(4)}, 7.0)
        return z * table.get(key, 9.0) * len(inside) * (2.0 if Version(2) in known else 3.0) * sum(told.values())

    stage.around(
        f, lambda: setattr(key, "number", 2), lambda: setattr(key, "number", 1), lambda: setattr(key, "number", 7),
        lambda: setattr(Version, "allowed", 2), lambda: setattr(Version, "allowed", 5))


@refused("a key that no longer has the hash under which a dict holds it")
def keys_changed_in_their_dict(stage):
    key = Version(1)
    table = {key: 2.0}
    stage.around(lambda z: z * len({part: 1 for part in table}), lambda: setattr(key, "number", 2))


@footgun
def frozen_dataclasses_as_keys(stage):
    @dataclasses.dataclass(frozen=True)
    class Pair:
        first: int
        second: str = "a"
        note: list = dataclasses.field(default_factory=list, compare=False)

    table = {Pair(1): 2.0, Pair(1, "b"): 3.0}

    @functools.lru_cache
    def scale(pair):
        return pair.first + 1.0

    def f(z, pair):
        return z * table.get(pair, 4.0) * len({pair, Pair(1), Pair(2)}) * scale(pair)

    f = stage.static(f)
    for pair in (Pair(1), Pair(1), Pair(1, "b"), Pair(2), Pair(1, note=[3])):
        stage(f, x(), pair)


@footgun
def functions_called_by_libraries(stage):
    seen = []

    def noted(thing):
        seen.append(str(thing))
        return thing

    def match(found):
        seen.append(found.group())
        return "--"

    def f(z, text):
        factory = defaultdict(lambda: seen.append("made") or len(seen))
        known = len(re.sub("a", match, text)) + len(re.compile("b").sub(match, text))
        known += bisect.bisect([1, 2, 3], 2, key=noted) + len(json.loads('{"a": 2}', object_hook=noted))
        known += len(json.dumps({"a": Box()}, default=lambda box: seen.append("json") or 1))
        return z * known + factory["a"] + factory["b"] + factory["a"]

    f = stage.static(f)
    stage.watch(seen)
    for text in ("abca", "abca", "b"):
        stage(f, x(), text)


@refused("a library looks at what a function gives that is known only when the Program runs")
def unknown_text_for_a_library(stage):
    seen = []

    def match(found):
        seen.append(found.group())
        return str(len(seen))

    stage.watch(seen)
    stage(stage.static(lambda z: z * len(re.sub("a", match, "abca"))), x())


@footgun
def decimal_context(stage):
    f = stage.static(lambda z, k: z * float(decimal.Decimal(1) / decimal.Decimal(k)))
    for digits in (28, 3, 5):
        with decimal.localcontext() as context:
            context.prec = digits
            stage(f, x(), 3)


# --- objects of libraries, made anew in each call ---------------------------------------------------------------------


@footgun
def generators_of_numbers_made_inside(stage):
    def f(z):
        first, second, third = random.Random(0), np.random.default_rng(0), np.random.RandomState(1)
        return z * first.random() + first.random() + float(second.standard_normal()) + float(third.rand())

    stage.around(f, lambda: None, lambda: None)


@footgun
def containers_of_libraries_made_inside(stage):
    def f(z):
        text, parts, numbers = io.StringIO(), queue.Queue(), array.array("d", [1.0])
        text.write("ab")
        print("c", file=text)
        parts.put(2.0)
        numbers.append(2.0)
        return z * len(text.getvalue()) + parts.get() + numbers[1] + len(numbers)

    stage.around(f, lambda: None, lambda: None)


@footgun
def threads_made_inside(stage):
    seen = []

    def f(z):
        thread = threading.Thread(target=lambda: seen.append("thread"))
        thread.start()
        thread.join()
        return z * 2

    stage.watch(seen)
    stage.around(f, lambda: None, lambda: None)


@footgun
def output_redirected_inside(stage):
    def f(z):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            print("inner")
        print("outer", text.getvalue())
        return z * 2

    stage.around(f, lambda: None)


# --- tensors that were given away, and are written to then ----------------------------------------------------------


@footgun
def tensor_stored_and_written_then(stage):
    kept, box = [], Box(t=None)
    stage.watch(kept)
    stage.watch(box)

    def f(z):
        y = z.detach() + 1
        kept.append(y)
        box.t = y
        y.add_(d2s.ones([3]))
        y[0] = 7.0
        view = y[1:]
        view.zero_()
        return y, view, z * y, box.t

    stage.around(f, lambda: None)


@footgun
def view_stored_and_its_base_written_then(stage):
    box = Box(t=None)
    stage.watch(box)

    def f(z):
        y = z.detach() * 2
        box.t = y[1:]
        y.zero_()
        return y + 1, box.t

    stage.around(f, lambda: None)


@footgun
def tensor_stored_in_a_branch_and_written_then(stage):
    kept = []
    stage.watch(kept)

    def f(z):
        y = z.detach() + 1
        if z.sum() > 0:
            kept.append(y)
        y.add_(d2s.ones([3]))
        return y

    f = stage.static(f)
    for sign in (1.0, -1.0, 1.0):
        stage(f, x(sign, sign, sign))


@footgun
def buffer_replaced_and_written_then(stage):
    class Net(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", d2s.zeros([1]))

        def forward(self, z):
            self.count = self.count + 1
            self.count.add_(d2s.ones([1]))
            return z * self.count

    net = Net()
    stage.watch(net._buffers)
    stage.around(net, lambda: None, lambda: setattr(net, "count", d2s.ones([3])))


@footgun
def tensor_with_a_gradient_stored_and_written_then(stage):
    kept = stage.watch([])

    def f(z):
        y = z + 1
        kept.append(y)
        y.add_(z)
        return y

    stage.around(f, lambda: None)


@footgun
def tensor_written_and_stored_in_each_turn(stage):
    kept = stage.watch([])

    def f(z):
        y = z.detach() + 1
        i = d2s.to_tensor(0.0)
        while i < 2:
            y.add_(d2s.ones([3]))
            kept.append(y)
            i = i + 1
        return y

    stage.around(f, lambda: None)


@footgun
def stop_gradient_set_and_taken_back(stage):
    weight = stage.watch(x())

    def f(z):
        weight.stop_gradient = True
        y = z * weight
        weight.stop_gradient = False
        return y

    stage.around(f, lambda: None)


@footgun
def size_that_decides_whether_a_try_fails(stage):
    def f(z):
        try:
            y = (z * 2).reshape([7])
        except Exception:
            y = z - 1
        return y

    f = stage.static(f)
    for count in (3, 7, 3, 2):
        stage(f, x(*map(float, range(count))))
