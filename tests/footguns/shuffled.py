"""Libraries and objects of libraries that change what they are given."""

from __future__ import annotations

import collections
import io
import queue
import random

import numpy as np

from tests.footguns.stage import footgun
from tests.footguns.things import x

GENERATORS = {
    "module": lambda: random,
    "own": lambda: random.Random(3),
    "numpy": lambda: np.random,
    "numpy_generator": lambda: np.random.default_rng(3),
}


def _registered():
    for name, make in GENERATORS.items():
        for is_kept in (False, True):
            def play(stage, make=make, is_kept=is_kept):
                random.seed(2)
                np.random.seed(2)
                kept = make() if is_kept else None
                outer, array = [3.0, 1.0, 2.0], np.arange(4.0)

                def f(z):
                    rng = make() if kept is None else kept
                    mine, other = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0]
                    rng.shuffle(mine)
                    rng.shuffle(other)
                    rng.shuffle(outer)
                    rng.shuffle(array)
                    return z * mine[0] + mine[-1] + other[1] + outer[0] + float(array[1]) + len(mine), mine

                f = stage.static(f)
                stage.watch(outer)
                for _ in range(3):
                    stage(f, x())
                outer.append(9.0)
                stage(f, x())

            play.__name__ = f"shuffled_by_{name}_{'kept' if is_kept else 'made'}"
            footgun(play)


_registered()


@footgun
def orders_for_an_epoch(stage):
    random.seed(4)
    data = [1.0, 2.0, 3.0, 4.0]

    def f(z):
        order = list(range(len(data)))
        random.shuffle(order)
        for place in order[:2]:
            z = z * 2 + data[place]
        return z

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())


@footgun
def queues_that_hand_on_what_is_outside(stage):
    outer, waiting = [1.0], queue.Queue()

    def f(z):
        line = queue.Queue()
        line.put(outer)
        line.get().append(7.0)
        waiting.put(len(outer))
        return z * len(outer) + waiting.get()

    f = stage.static(f)
    stage.watch(outer)
    for _ in range(3):
        stage(f, x())


@footgun
def streams_that_read_into_what_is_outside(stage):
    held = bytearray(b"abc")

    def f(z):
        io.BytesIO(b"xyz").readinto(held)
        return z * held[0]

    f = stage.static(f)
    for _ in range(2):
        held[:] = b"abc"
        stage(f, x())
        stage.note(bytes(held))


@footgun
def arrays_made_inside_and_shuffled(stage):
    np.random.seed(3)

    def f(z):
        mine = np.arange(4.0)
        np.random.default_rng(1).shuffle(mine)
        return z * float(mine[0])

    f = stage.static(f)
    for _ in range(2):
        stage(f, x())


@footgun
def containers_of_libraries_around_what_is_outside(stage):
    outer, table = [1.0], {"a": 1.0}

    def f(z):
        numbers, pairs = collections.UserList(outer), collections.UserDict(table)
        numbers.append(3.0)
        pairs["b"] = 2.0
        return z * len(numbers) + len(outer) + len(pairs) + len(table)

    f = stage.static(f)
    for _ in range(2):
        stage(f, x())
    outer.append(2.0)
    stage(f, x())
