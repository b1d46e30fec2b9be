"""Iterators whose items cost something: the user's `__next__`, generators with effects, and loops that end before."""

from __future__ import annotations

import collections
import contextlib
import functools
import heapq
import itertools
import math

from tests.corpus.register import LOG, program, refused


class Counting:
    """An iterator that counts and tells what it has given."""

    def __init__(self, end):
        self.given, self.end = 0, end

    def __iter__(self):
        return self

    def __next__(self):
        self.given += 1
        if self.given > self.end:
            raise StopIteration(self.end)
        LOG.append(self.given)
        return self.given


class Shelf:
    """A container that has nothing but `__iter__`."""

    def __init__(self, x):
        self.x = x

    def __iter__(self):
        for i in range(3):
            LOG.append(("shelf", i))
            yield self.x * i


def told(x, count):
    for i in range(count):
        LOG.append(i)
        yield x * i


# --- `__next__` of the user ------------------------------------------------------------


@program
def loop_over_an_iterator_of_the_user(x):
    for k in Counting(3):
        x = x + k
    return x


@program
def next_and_iter(x, c):
    found = iter(Counting(5))
    a, b = next(found), next(found, None)
    if c > 0:
        a = a + next(found)
    return x * a + b, found.given, next(Counting(0), "none")


@program
def iterators_in_displays_and_calls(x):
    def total(*args):
        return sum(args)

    a, b, *rest = Counting(4)
    (c, d), *others = [Counting(2), 3]
    return total(*Counting(3)) * x, [*Counting(2), x], {*Counting(2)}, a, b, rest, c, d, others


@program
def iterators_in_comprehensions(x, c):
    return [x * k for k in Counting(2)], {k: x for k in Counting(2)}, sum(k for k in Counting(4) if x.sum() * k > c)


@program
def iterators_given_to_functions(x, c):
    found = collections.deque(Counting(2)), collections.Counter(Counting(2)), heapq.nlargest(1, Counting(2))
    listed = [0]
    listed.extend(Counting(2))
    listed += Counting(1)
    listed[:1] = Counting(2)
    members = {9} | set(Counting(1))
    members.update(Counting(2))
    numbers = math.prod(Counting(3)), functools.reduce(lambda a, b: a * b, Counting(3)), bytes(Counting(2))
    return x, [list(part) for part in found], listed, members, numbers, 3 in Counting(5), any(
        x.sum() > c - k for k in Counting(3))


@program
def iterators_in_itertools(x):
    return list(itertools.chain(Counting(2), [x])), list(itertools.islice(Counting(5), 2)), list(
        itertools.takewhile(lambda k: k < 3, Counting(5))), list(zip(Counting(2), Shelf(x), strict=False))


@program
def yield_from_an_iterator_of_the_user(x):
    def numbers():
        last = yield from Counting(3)
        yield last * 10

    return x * sum(numbers())


@program
def iterator_advanced_in_a_branch(x, c):
    found = Counting(5)
    if c > 0:
        x = x * next(found)
    return x + next(found), found.given


@program
def iterator_of_the_user_in_a_tensor_loop(x, n):
    found = Counting(9)
    k = n * 0
    while k < n:
        x = x + next(found)
        k = k + 1
    return x


# --- loops that end before their iterator ----------------------------------------------


@program
def generator_from_outside_with_a_break(x, c):
    for part in told(x, 4):
        if part.sum() > c:
            break
        x = x + part
    return x


@program
def wrapped_generator_with_a_break(x, c):
    for i, part in enumerate(told(x, 4)):
        if part.sum() > c:
            break
        x = x + part * i
    for part, k in zip(Shelf(x), itertools.count(), strict=False):
        if part.sum() * k > c:
            return part
    return x


@program
def generator_that_writes_around_it(x, c):
    seen, count = [], 0

    def parts():
        nonlocal count
        for i in range(4):
            seen.append(i)
            count += 1
            yield x * i

    z = x
    for part in parts():
        if part.sum() > c:
            break
        z = z + part
    return z * count, seen


@program
def iterator_of_the_user_with_a_break(x, c):
    found = Counting(4)
    for k in found:
        if x.sum() + k > c + 3:
            break
        x = x + k
    return x, found.given, list(found)


@program
def map_with_a_break(x, c):
    def noted(row):
        LOG.append("row")
        return row * 2

    for row in map(noted, x):
        if row > c:
            break
        x = x + row
    return x


@program
def generator_expression_with_a_break(x, c):
    z = x
    for part in (LOG.append(i) or x * i for i in range(4)):
        if part.sum() > c:
            break
        z = z + part
    return z


@program
def call_and_sentinel_with_a_break(x, c):
    numbers = [1, 2, 3, 4]
    for k in iter(numbers.pop, 1):
        if x.sum() > c:
            break
        x = x + k
    return x, numbers


@program
def generator_that_would_raise_behind_the_break(x, c):
    def parts():
        yield x
        yield x[7]

    z = x * 0
    for part in parts():
        if part.sum() > c - 3:
            break
        z = z + part
    return z


@program
def generator_that_is_told_of_its_end(x, c):
    ended = []

    def parts():
        try:
            for i in range(4):
                yield x * i
        except GeneratorExit:
            ended.append(True)
            raise

    z = x
    for part in parts():
        if part.sum() > c:
            break
        z = z + part
    return z, ended


@program
def generators_in_turns_of_a_tensor_loop(x, c, n):
    k = n * 0
    while k < n:
        for part in told(x, 3):
            if part.sum() > c:
                break
            x = x + part
        k = k + 1
    return x


@program
def generator_with_a_break_in_each_branch(x, c, n):
    if n > 1:
        for part in told(x, 3):
            if part.sum() > c:
                break
            x = x + part
    else:
        for part in told(x, 2):
            if part.sum() > c:
                return part
    return x * 2


@refused
def generator_that_is_driven_in_a_tensor_loop(x, n):
    def parts():
        for i in range(9):
            LOG.append((yield x * i))

    found = parts()
    z = next(found)
    while n > 0:
        z = z + found.send(2)
        n = n - 1
    return z


# --- generators beside loops and branches on tensors -----------------------------------


@program
def loop_beside_a_generator_inside(x, n):
    @contextlib.contextmanager
    def noted(name):
        LOG.append(("in", name))
        try:
            yield 3
        finally:
            LOG.append(("out", name))

    k = n * 0
    while k < n:
        with noted("a") as v:
            x = x + v
            if x.sum() > 9:
                break
            if k == 1:
                k = k + 2
                continue
        k = k + 1
    return x


@program
def generator_left_at_a_break_with_effects(x, c):
    def parts():
        try:
            for i in range(10):
                LOG.append(i)
                yield x * i
        finally:
            LOG.append("closed")

    for part in parts():
        if part.sum() > c:
            break
    return part


@program
def generators_left_together(x, c):
    def parts():
        with contextlib.ExitStack() as stack:
            stack.callback(LOG.append, "out")
            for i in range(4):
                yield x * i

    total = x
    for first, second in zip(parts(), parts()):
        total = total + first * second
        if total.sum() > c:
            break
    LOG.append("after")
    return total


@program
def generator_dropped_half_way(x, c):
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            LOG.append(float(c))

    found = numbers()
    k = next(found)
    if c > 0:
        k += next(found)
    return x * k
