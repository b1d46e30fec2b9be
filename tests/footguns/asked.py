"""Libraries run code of the user by themselves: they ask objects for texts, order and numbers, and call functions."""

from __future__ import annotations

import bisect
import heapq
import json
import logging
import math
import tempfile

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import x

LOGGER = logging.getLogger("footguns")


class Counting:
    """It counts how often it is asked."""

    def __init__(self, value=0):
        self.value = value
        self.asked = 0

    def __str__(self):
        self.asked += 1
        return str(self.asked)

    __repr__ = __str__

    def __float__(self):
        self.asked += 1
        return float(self.asked)

    def __lt__(self, other):
        self.asked += 1
        return self.value < (other.value if isinstance(other, Counting) else other)

    def write(self, text):
        self.asked += len(text)

    def flush(self):
        pass


def three_calls(stage, function):
    function = stage.static(function)
    for _ in range(3):
        stage(function, x())


@footgun
def printed(stage):
    thing = Counting()

    def f(z):
        print(thing, [thing], {"thing": thing})
        print("text", file=thing)
        return z * thing.asked

    three_calls(stage, f)


@footgun
def printed_that_was_made_inside(stage):
    def f(z):
        thing = Counting()
        print(thing, [thing])
        return z * thing.asked

    three_calls(stage, f)


@footgun
def logged(stage):
    thing = Counting()

    def f(z):
        LOGGER.warning("%s and %s", thing, {"inside": [thing]})
        return z * thing.asked

    three_calls(stage, f)


@footgun
def filters_of_loggers(stage):
    passed = [0]

    class Filter(logging.Filter):
        def filter(self, record):
            passed[0] += 1
            return True

    added = Filter()

    def f(z):
        LOGGER.warning("text")
        return z * passed[0]

    LOGGER.addFilter(added)
    try:
        three_calls(stage, f)
    finally:
        LOGGER.removeFilter(added)


@footgun
def formatted(stage):
    thing = Counting()
    def f(z):
        return z * float("{}".format(thing)) + float("%s" % (thing,)) + len(str([thing])) + thing.asked

    three_calls(stage, f)


@footgun
def turned_into_numbers(stage):
    thing = Counting()
    three_calls(stage, lambda z: z * math.sqrt(thing) + float(thing) + thing.asked)


@footgun
def put_in_order(stage):
    calls = [0]
    numbers, things = [1, 2, 3], [Counting(3), Counting(1), Counting(2)]

    def key(number):
        calls[0] += 1
        return -number

    def f(z):
        numbers.sort(key=key)
        things.sort()
        heapq.heapify(things)
        place = bisect.bisect_left(things, 2)
        return z * numbers[0] + calls[0] + things[0].asked + place

    three_calls(stage, f)


@footgun
def functions_for_json(stage):
    calls = [0]

    def default(thing):
        calls[0] += 1
        return calls[0]

    three_calls(stage, lambda z: z * len(json.dumps([Counting()], default=default)) * calls[0])


@footgun
def state_of_descriptors(stage):
    class Scale:
        def __init__(self):
            self.factor = 1.0
            self.reads = [0]

        def __get__(self, owner, cls):
            self.reads.append(1)
            return self.factor * len(self.reads)

        def __set__(self, owner, value):
            self.factor += value

        def __delete__(self, owner):
            self.factor = 0.5

    class Owner:
        scale = Scale()

    owner, descriptor = Owner(), vars(Owner)["scale"]

    @stage.static
    def f(z):
        owner.scale = 1.0
        y = z * owner.scale
        del owner.scale
        return y + owner.scale

    stage(f, x())
    descriptor.factor = 7.0
    stage(f, x())
    descriptor.reads.clear()
    stage(f, x())


@footgun
def wrapped_methods_of_files(stage):
    """What `functools.wraps` makes says that it is of another module."""
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("1\n2\n3\n4\n")
        file.flush()
        file.seek(0)
        three_calls(stage, lambda z: z * float(file.readline()))


@footgun
def samplers(stage):
    sampler = d2s.io.RandomSampler([1, 2, 3, 4])
    three_calls(stage, lambda z: z * sum(index * number for number, index in enumerate(sampler)))


@footgun
def loaders(stage):
    loader = d2s.io.DataLoader(d2s.io.TensorDataset([d2s.ones([4])]), batch_size=2, shuffle=True)
    three_calls(stage, lambda z: z * next(iter(loader))[0].sum())
