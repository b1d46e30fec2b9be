"""What traced code has made and given to code that is not traced: a later change of it never goes unnoticed."""

from __future__ import annotations

import collections
import io
import queue
import random
import re
import threading
import types
from typing import Any

import pytest

import d2s

KEPT: list[Any] = []


@d2s.jit.not_to_static
def keep(thing: Any) -> None:
    KEPT.append(thing)


@d2s.jit.not_to_static
def run(change: Any) -> None:
    change(KEPT[-1])


class Thing:
    def __init__(self) -> None:
        self.k = 1.0
        self.items = [1.0]


def made_list(z):
    mine = [1.0]
    keep(mine)
    run(lambda kept: kept.append(2.0))
    return z * len(mine)


def made_object(z):
    mine = Thing()
    keep(mine)
    run(lambda kept: setattr(kept, "k", 5.0))
    return z * mine.k


def list_of_an_object(z):
    mine = Thing()
    keep(mine)
    run(lambda kept: kept.items.append(2.0))
    return z * len(mine.items)


def nested_containers(z):
    mine = {"a": {"b": [1.0]}}
    keep(mine)
    run(lambda kept: kept["a"]["b"].append(3.0))
    return z * len(mine["a"]["b"])


def list_in_a_tuple(z):
    mine = [1.0, 2.0]
    keep((mine,))
    run(lambda kept: kept[0].append(1.0))
    return z * len(mine)


def list_of_tensors(z):
    mine = [z * 2]
    keep(mine)
    run(lambda kept: kept.__setitem__(0, kept[0] * 5))
    return mine[0] * 1


def counter(z):
    mine = collections.Counter("ab")
    keep(mine)
    run(lambda kept: kept.update("aa"))
    return z * mine["a"]


def namespace(z):
    mine = types.SimpleNamespace(k=1.0)
    keep(mine)
    run(lambda kept: setattr(kept, "k", 9.0))
    return z * mine.k


def list_stored_outside(z):
    mine = [1.0]
    KEPT.append(mine)
    KEPT[-1].append(5.0)
    return z * len(mine)


def list_through_a_shuffled_list(z):
    mine = [1.0]
    KEPT.extend([mine, mine])
    random.shuffle(KEPT)
    KEPT[-1].append(2.0)
    return z * len(mine)


def list_through_a_queue(z):
    mine, line = [1.0], queue.Queue()
    line.put(mine)
    line.get().append(7.0)
    return z * len(mine)


def bytes_read_into(z):
    mine = bytearray(3)
    io.BytesIO(b"xyz").readinto(mine)
    return z * mine[0]


def thread_that_writes(z):
    mine = [1.0]
    worker = threading.Thread(target=lambda: mine.append(2.0))
    worker.start()
    worker.join()
    return z * len(mine)


def variable_of_a_function(z):
    count = 0.0

    def up():
        nonlocal count
        count += 1

    keep(up)
    run(lambda kept: kept())
    return z + count


FUNCTIONS = (
    made_list, made_object, list_of_an_object, nested_containers, list_in_a_tuple, list_of_tensors, counter, namespace,
    list_stored_outside, list_through_a_shuffled_list, list_through_a_queue, bytes_read_into, thread_that_writes,
    variable_of_a_function,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_change_is_seen_or_refused_in_the_run(function: Any) -> None:
    KEPT.clear()
    expected = function(d2s.ones([1])).tolist()
    static = d2s.to_static(function)
    for _ in range(2):
        KEPT.clear()
        assert outcome(static) in (expected, "refused")


def outcome(static: Any) -> Any:
    """What a call gives; "refused" if the run says where it has found a change by code that is not traced."""
    try:
        return static(d2s.ones([1])).tolist()
    except d2s.ExecutionError as error:
        told = re.search("(code|a call) that is not traced", str(error))
        return "refused" if told and error.location is not None and error.location.file == __file__ else error


def unchanged(z):
    mine, other = [1.0], Thing()
    keep(mine)
    keep(other)
    run(id)
    return z * len(mine) + other.k


def test_what_is_not_changed_is_read_as_it_is() -> None:
    static = d2s.to_static(unchanged)
    KEPT[:] = [[]]
    assert [static(d2s.ones([1])).item() for _ in range(2)] == [2.0, 2.0]


def lists_in_what_was_stored(z):
    KEPT.append({"items": []})
    KEPT[-1]["items"].append(2.0)
    KEPT.append([[1.0]])
    KEPT[-1][0].append(3.0)
    KEPT.append([])
    KEPT[-1].append(z.shape[0])
    return z * 2


def test_what_traced_code_does_not_look_at_any_more_may_change() -> None:
    seen = []
    for function in (lists_in_what_was_stored, d2s.to_static(lists_in_what_was_stored)):
        KEPT.clear()
        for _ in range(2):
            function(d2s.ones([2]))
        seen.append([dict(part) if isinstance(part, dict) else list(part) for part in KEPT])
    assert seen[0] == seen[1]
