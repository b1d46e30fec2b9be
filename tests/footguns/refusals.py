"""What static mode refuses, by the user's line and before any effect of the call; and why."""

from __future__ import annotations

import functools

import numpy as np

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import x


@refused("an iterator from outside would be used up by tracing")
def iterator_from_outside(stage):
    ticks = iter(range(100))

    def f(z):
        return z * next(ticks)

    stage(stage.static(f), x())


@refused("an iterator from outside would be used up by tracing")
def generator_from_outside(stage):
    parts = (float(k) for k in range(3))

    def f(z):
        for part in parts:
            z = z + part
        return z

    stage(stage.static(f), x())


@refused("a loop over what the Program has just changed needs values known only then")
def loop_over_a_changed_container(stage):
    kept = stage.watch({"a": 1.0})

    def f(z):
        kept.update([("b", 2.0)])
        for name in kept:
            z = z * len(name)
        return z

    stage(stage.static(f), x())


@refused("`with` on a file needs a context manager known while tracing")
def file_opened_inside(stage):
    def f(z):
        stage.log.append("before")
        with open(__file__) as file:
            stage.log.append(file.readline())
        return z

    stage(stage.static(f), x())


@refused("a cached function tells tensors apart by which object they are")
def cached_function_of_a_tensor(stage):
    w = d2s.nn.Linear(3, 3).weight

    @functools.lru_cache
    def doubled(tensor):
        return tensor * 2

    stage(stage.static(lambda z: z @ doubled(w)), x())


@refused("shape and dtype of an array made in each run are not known")
def tensor_of_an_array_made_in_each_run(stage):
    def f(z):
        return z * d2s.to_tensor(np.random.rand(3).astype("float32"))

    np.random.seed(3)
    stage(stage.static(f), x())


@footgun
def tuple_sliced_by_a_tensor(stage):
    def f(z, k):
        parts = (z, z * 2)
        stage.log.append("before")
        return parts[: int(k)]

    stage(stage.static(f), x(), d2s.to_tensor(1))


@refused("a recursion that ends on a tensor has no depth known while tracing")
def recursion_that_ends_on_a_tensor(stage):
    def power(z, k):
        return z if k <= 0 else power(z * 2, k - 1)

    def f(z, k):
        return power(z, k)

    stage(stage.static(f), x(), d2s.to_tensor(2))
