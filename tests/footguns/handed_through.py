"""What functions of libraries hand on is the very thing that they were given: what is done to it shows outside."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import operator
import types
import typing

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, x

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Held:
    """A field."""

    field: object = None


def first(things):
    return next(iter(things))


def with_call(owner, name, *args):
    """`owner`, after one of its methods was called."""
    getattr(owner, name)(*args)
    return owner


# Each gives the list `one`: from a list of two lists, or a dict of them.
WAYS = {
    "repeat": lambda one, lists, table: first(itertools.repeat(one)),
    "cycle": lambda one, lists, table: first(itertools.cycle(lists)),
    "chain": lambda one, lists, table: first(itertools.chain(lists)),
    "chain_of_a_display": lambda one, lists, table: first(itertools.chain([one], lists)),
    "product": lambda one, lists, table: first(itertools.product(lists, [1]))[0],
    "permutations": lambda one, lists, table: first(itertools.permutations(lists))[0],
    "zip_longest": lambda one, lists, table: first(itertools.zip_longest([1], [], fillvalue=one))[1],
    "islice": lambda one, lists, table: first(itertools.islice(lists, 2)),
    "accumulate": lambda one, lists, table: first(itertools.accumulate(lists, lambda a, b: a)),
    "accumulate_initial": lambda one, lists, table: first(itertools.accumulate([1], lambda a, b: a, initial=one)),
    "starmap": lambda one, lists, table: first(itertools.starmap(lambda a: a, [(one,)])),
    "takewhile": lambda one, lists, table: first(itertools.takewhile(lambda v: True, lists)),
    "filterfalse": lambda one, lists, table: first(itertools.filterfalse(lambda v: False, lists)),
    "reduce": lambda one, lists, table: functools.reduce(lambda a, b: a, lists),
    "reduce_initial": lambda one, lists, table: functools.reduce(lambda a, b: a, [1, 2], one),
    "fromkeys": lambda one, lists, table: dict.fromkeys("ab", one)["a"],
    "get_default": lambda one, lists, table: {}.get("x", one),
    "get_default_outside": lambda one, lists, table: table.get("z", one),
    "setdefault": lambda one, lists, table: {}.setdefault("x", one),
    "getattr_default": lambda one, lists, table: getattr(Box(), "zz", one),
    "next_default": lambda one, lists, table: next(iter([]), one),
    "repeated": lambda one, lists, table: ([one] * 2)[1],
    "copied": lambda one, lists, table: copy.copy(lists)[0],
    "enumerate": lambda one, lists, table: first(enumerate(lists))[1],
    "zip": lambda one, lists, table: first(zip(lists, [1]))[0],
    "map": lambda one, lists, table: first(map(lambda v: v, lists)),
    "filter": lambda one, lists, table: first(filter(None, lists)),
    "sorted": lambda one, lists, table: sorted(lists, key=len, reverse=True)[-1],
    "largest": lambda one, lists, table: max(lists, key=lambda v: -len(v)),
    "tuple": lambda one, lists, table: tuple(lists)[-2],
    "deque": lambda one, lists, table: collections.deque(lists)[0],
    "ordered_dict": lambda one, lists, table: collections.OrderedDict(table)["k"],
    "spread_dict": lambda one, lists, table: {**table}["k"],
    "namespace": lambda one, lists, table: types.SimpleNamespace(**table).k,
    "cast": lambda one, lists, table: typing.cast(list, one),
    "replaced": lambda one, lists, table: dataclasses.replace(Held(), field=one).field,
    "named_tuple": lambda one, lists, table: Pair(one, 1).a,
    "named_tuple_made": lambda one, lists, table: Pair._make(lists).a,
    "named_tuple_replaced": lambda one, lists, table: Pair(1, 2)._replace(a=one).a,
    "partial": lambda one, lists, table: functools.partial(lambda a: a, one)(),
    "itemgetter": lambda one, lists, table: operator.itemgetter(0)(lists),
    "methodcaller": lambda one, lists, table: operator.methodcaller("get", "k")(table),
    "joined_lists": lambda one, lists, table: (lists[:1] + lists[1:])[0],
    "nullcontext": lambda one, lists, table: contextlib.nullcontext(one).__enter__(),
    "extended": lambda one, lists, table: with_call([], "extend", lists)[0],
    "updated": lambda one, lists, table: with_call({}, "update", table)["k"],
    "inserted": lambda one, lists, table: with_call([1], "insert", 0, one)[0],
    "values": lambda one, lists, table: list(table.values())[-2],
    "comprehension": lambda one, lists, table: [*(v for v in lists if v is one)].pop(),
    "generator": lambda one, lists, table: first(v for v in lists),
}


def _registered():
    for name, way in WAYS.items():
        for kind in ("numbers", "tensors"):
            def play(stage, way=way, kind=kind):
                make = (lambda n: d2s.to_tensor([n])) if kind == "tensors" else (lambda n: n)
                one, two = [make(1.0)], [make(2.0), make(3.0)]
                lists, table = [one, two], {"k": one, "j": two}

                def f(z):
                    got = way(one, lists, table)
                    got.append(make(4.0))
                    return z * len(one) + (10 if got is one else 0)

                f = stage.static(f)
                stage.watch(lists)
                for _ in range(2):
                    stage(f, x())
                two.append(make(5.0))
                two.extend(one)
                stage(f, x())
                stage.note(one, two)

            play.__name__ = f"{name}_of_{kind}"
            footgun(play)


_registered()


@footgun
def what_a_library_hands_out_in_the_run(stage):
    """Only the run knows which it is: what is read after it was changed is refused there, or right."""
    one, two = [1.0], [2.0, 3.0]
    lists = [one, two]

    def f(z):
        heapq.nsmallest(1, lists, key=lambda v: v[0])[0].append(4.0)
        operator.getitem(lists, 0).append(5.0)
        return z * 2

    f = stage.static(f)
    stage.watch(lists)
    for _ in range(3):
        stage(f, x())
    one[0] = 9.0
    stage(f, x())
