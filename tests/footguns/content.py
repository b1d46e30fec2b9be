"""Content that changes in place, and is looked at in containers that the function makes: arrays, bytes, lists."""

from __future__ import annotations

import array
import types
from collections import OrderedDict, deque, namedtuple

import numpy as np

from tests.footguns.stage import footgun
from tests.footguns.things import x

Pair = namedtuple("Pair", "first second")


@footgun
def arrays_in_lists():
    table = np.arange(4.0).reshape(2, 2)

    def f(z):
        return (
            z * 1.0,
            np.concatenate([table, table]),
            np.array([[table]]),
            np.block([[table], [table]]),
            np.hstack(deque([table, table])),
            np.concatenate([table[:1], table[1:]]),
            np.array_equal([table], [table * 1.0]),
        )

    for number in range(3):
        table[1, 1] = number
        yield f


@footgun
def arrays_of_other_kinds_in_lists():
    numbers, text = array.array("d", [1.0, 2.0]), bytearray(b"abc")

    def f(z):
        return (
            z * 1.0,
            np.array([numbers, numbers]),
            sum(numbers),
            numbers[1],
            list(zip(numbers, text, strict=False)),
            b"".join([text, text]),
            np.frombuffer(text, "u1"),
        )

    for number in range(3):
        numbers[1], text[0] = number, 97 + number
        yield f


@footgun
def bytes_that_are_compared():
    text = bytearray(b"abc")
    view = memoryview(text)

    def f(z):
        equal = text == b"abc", [text] == [b"abc"], {"k": text} == {"k": b"abc"}, view == b"abc", (text,) == (b"abc",)
        return z * 1.0, equal, text in [b"abc"], b"abc" in [text], [text].count(b"abc"), max([text, bytearray(b"aac")])

    for number in (0, 1, 0):
        text[0] = 97 + number
        yield f


@footgun
def lists_in_containers_made_inside():
    held, members, ends = [0.0, 2.0], {1, 2}, deque([1.0, 2.0])

    def f(z):
        return (
            z * 1.0,
            held in [[1.0, 2.0], 3],
            [0.0, 2.0] in [held],
            [held].count([1.0, 2.0]),
            dict([held]),
            (held,) == ([1.0, 2.0],),
            [held].__contains__([0.0, 2.0]),
            {1, 2} in [members],
            [members] == [{1, 2}],
            [ends] == [deque([1.0, 2.0])],
            (held,).count([0.0, 2.0]),
            deque([held]) == deque([[1.0, 2.0]]),
        )

    for number in (0.0, 1.0, 0.0):
        held[0], ends[0] = number, number
        (members.add if number else members.discard)(3)
        yield f


@footgun
def place_of_a_list_in_a_list():
    held = [0.0, 2.0]

    def f(z):
        found = [[1.0, 2.0], held]
        place = found.index([0.0, 2.0])
        found.remove([0.0, 2.0])
        return z * place, found

    for number in (0.0, 1.0, 0.0):
        held[0] = number
        yield f


@footgun
def views_of_dicts():
    table = {"a": 1.0}
    proxy, items, names = types.MappingProxyType(table), table.items(), table.keys()

    def f(z):
        return (
            z * 1.0,
            proxy == {"a": 1.0},
            "b" in proxy,
            {**proxy},
            items == {("a", 1.0)},
            ("a", 1.0) in items,
            "b" in names,
            names == {"a"},
            len(proxy),
        )

    yield f
    table["a"] = 2.0
    yield f
    table["b"] = 1.0
    yield f
    del table["b"]
    yield f


@footgun
def containers_in_tuples_with_names():
    numbers, table = [0.0, 2.0], {"a": 0.0}
    pair, ordered, space = Pair(numbers, table), OrderedDict(k=numbers), types.SimpleNamespace(k=numbers)

    def f(z):
        equal = pair == Pair([0.0, 2.0], {"a": 0.0}), ordered == {"k": [0.0, 2.0]}, deque([pair]) == deque([pair])
        return z * 1.0, equal, space == types.SimpleNamespace(k=[0.0, 2.0]), pair in [([0.0, 2.0], {"a": 0.0})]

    for number in (0.0, 1.0, 0.0):
        numbers[0] = table["a"] = number
        yield f


class Number:
    """Something that may stand for a place, and is a key of its own."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


@footgun
def places_and_keys(stage):
    number = Number(1)
    table = {number: 5.0}

    @stage.static
    def f(z):
        return z * [10.0, 20.0, 30.0][number], table[number], {number: 2.0}[number]

    for place in (1, 2, 0):
        number.number = place
        stage(f, x())


@footgun
def ranges_are_returned(stage):
    @stage.static
    def f(z, count):
        return z * 1.0, range(count), [range(1, count, 2)], isinstance(range(count), range)

    for count in (2, 3, 4, 5, 1):
        stage(f, x(), count)
