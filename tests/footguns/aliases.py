"""Containers from outside that share what they hold with others, and loops over what changes while they run."""

from __future__ import annotations

import functools
import itertools
from collections import ChainMap, Counter, deque
from types import MappingProxyType, SimpleNamespace

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import x


def three_calls(stage, function):
    function = stage.static(function)
    for _ in range(3):
        stage(function, x())


@footgun
def lists_that_lose_elements_in_loops(stage):
    numbers = [1, 2, 3, 4, 5, 6]

    def f(z):
        for number in numbers:
            if number % 2 == 0:
                numbers.remove(number)
            z = z * number
        return z * len(numbers)

    three_calls(stage, f)


@footgun
def elements_replaced_ahead_of_a_loop(stage):
    numbers = [1.0, 2.0, 3.0]

    def f(z):
        for place, number in enumerate(numbers):
            numbers[place] = number + 1
            if place + 1 < len(numbers):
                numbers[place + 1] = numbers[place + 1] * number
            z = z * number
        return z

    three_calls(stage, f)


@footgun
def generators_over_lists_that_grow(stage):
    numbers = [1.0, 2.0]

    def f(z):
        doubled, iterator = (number * 2 for number in numbers), iter(numbers)
        first, second = next(doubled), next(iterator)
        numbers.append(5.0)
        numbers.insert(0, 7.0)
        return z * first * sum(doubled) + second + next(iterator)

    three_calls(stage, f)


@footgun
def tables_and_queues_that_change_in_loops(stage):
    """Python raises at the next turn."""
    table, members, queue = {"a": 1.0}, {1}, deque([1])

    def of_table(z):
        for key in table:
            table[key] = table[key] * 2
            stage.log.append(key)
            table[key + "x"] = 1.0
        return z

    def of_members(z):
        for member in members:
            members.add(member + len(members))
        return z

    def of_queue(z):
        for part in queue:
            queue.append(part)
        return z

    for function in (of_table, of_members, of_queue):
        function = stage.static(function)
        stage(function, x())


@footgun
def iterators_of_libraries(stage):
    numbers = [1.0]

    def f(z):
        first, second = itertools.tee(numbers)
        chained = itertools.chain(numbers, [2.0])
        numbers.append(2.0)
        return z * sum(first) + sum(second) + sum(chained)

    three_calls(stage, f)


@refused("a list that a loop runs over grows where only the run knows")
def lists_that_grow_in_branches(stage):
    numbers = [1.0]

    def f(z):
        for number in numbers:
            if z.sum() > 0:
                numbers.append(number)
            z = z * 2
            if len(numbers) > 3:
                break
        return z

    three_calls(stage, f)


@footgun
def objects_that_keep_what_they_are_given(stage):
    numbers, table = [1], {"a": 1}
    held = (numbers,)

    def add(kept, z):
        kept.append(1)
        return z * len(kept)

    def f(z):
        part, space = functools.partial(add, numbers), SimpleNamespace(numbers=numbers)
        proxy, pair = MappingProxyType(table), (held + (2,), [numbers] * 2)  # noqa: RUF005
        space.numbers.append(2)
        pair[0][0].append(3)
        pair[1][1].append(4)
        table["a"] += 1
        return part(z) * proxy["a"] + len(numbers)

    three_calls(stage, f)


@footgun
def partial_functions_that_leave(stage):
    numbers = [1.0]
    made = stage.static(lambda z: (z * 1, functools.partial(max, numbers)))
    _, part = made(x())
    numbers.append(5.0)
    stage.note(part(), part.args[0] is numbers)


@refused("a ChainMap made inside of a dict from outside, to which it writes")
def chains_of_tables(stage):
    first, second = {"a": 1.0}, {"b": 2.0}

    def f(z):
        chain = ChainMap(first, second)
        chain["a"] = chain["a"] + 1
        return z * first["a"] * chain["b"]

    three_calls(stage, f)


@refused("a Counter made inside is updated from a list that the function has changed")
def counters_of_changed_lists(stage):
    letters = ["a"]

    def f(z):
        counter = Counter(letters)
        letters.append("a")
        counter.update(letters)
        return z * counter["a"]

    three_calls(stage, f)


@footgun
def tensors_in_shared_lists(stage):
    tensors = [d2s.ones([3])]

    def f(z):
        together = [*tensors, *tensors]
        for tensor in list(tensors):
            tensors.append(tensor * 2)
        return z * len(together) + len(tensors)

    three_calls(stage, f)
