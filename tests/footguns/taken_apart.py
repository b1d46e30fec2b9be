"""Containers from outside that targets take apart, also nested ones, in loops and comprehensions."""

from __future__ import annotations

import bisect
import contextlib
import heapq
import operator

from tests.footguns.stage import footgun
from tests.footguns.things import x


@footgun
def nested_targets(stage):
    o = [[1.0, 2.0], 3.0]

    def f(z):
        (a, b), c = o
        return z * a + b * c

    f = stage.static(f)
    stage(f, x())
    o[0][0] = 5.0
    stage(f, x())
    o[1] = 7.0
    stage(f, x())
    o[0].append(1.0)
    stage(f, x())


@footgun
def nested_single_star(stage):
    o = [[1.0, 2.0, 3.0]]

    def f(z):
        ((a, *b),) = o
        [[_c, d, _e]] = o
        return z * a + b[0] + len(b) + d

    f = stage.static(f)
    stage(f, x())
    o[0][0] = 5.0
    stage(f, x())
    o[0][1] = 7.0
    stage(f, x())


@footgun
def loop_pairs(stage):
    o = [[1.0, 2.0], [3.0, 4.0]]
    d = {"a": [1.0, [2.0]], "b": [3.0, [4.0]]}

    def f(z):
        for a, b in o:
            z = z * a + b
        for i, (a, b) in enumerate(o):
            z = z + a * i + b
        for k, (a, (b,)) in d.items():
            z = z + a * b + len(k)
        for (a, b), (c, e) in zip(o, o):
            z = z + c - b
        return z + sum((a * b for a, b in o)) + sum([b for a, b in o]) + sum({k: q for k, (q, r) in d.items()}.values())

    f = stage.static(f)
    stage(f, x())
    o[1][0] = 5.0
    stage(f, x())
    o[0][1] = -1.0
    stage(f, x())
    d["b"][1][0] = 9.0
    stage(f, x())
    d["a"][0] = 9.0
    stage(f, x())


@footgun
def loops_alone(stage):
    o = [[1.0, 2.0], [3.0, 4.0]]

    def f(z):
        for a, b in o:
            z = z * a + b
        return z

    f = stage.static(f)
    stage(f, x())
    o[1][0] = 5.0
    stage(f, x())
    o[0][1] = -1.0
    stage(f, x())
    o[0].append(3.0)
    stage(f, x())


@footgun
def comps_alone(stage):
    o = [[1.0, 2.0], [3.0, 4.0]]
    w = [[[1.0, [5.0]]]]
    k = [1.0]
    d = {"q": [1.0, 2.0]}

    def f(z):
        return (
            z + sum([a * b for a, b in o]),
            [a for _ in k for a, b in o],
            {a: b for a, b in o},
            {b for a, b in o if a > 2},
            [c for ((a, (c,)),) in w],
            list((p for n, (p, *q) in d.items())),
            [(a, r) for a, *r in o],
        )

    f = stage.static(f)
    stage(f, x())
    o[1][0] = 5.0
    stage(f, x())
    o[0][1] = -1.0
    stage(f, x())
    w[0][0][1][0] = 8.0
    stage(f, x())
    d["q"][0] = 9.0
    stage(f, x())
    o[1].append(3.0)
    stage(f, x())


@footgun
def with_targets(stage):
    o = [1.0, [2.0, 3.0]]

    @contextlib.contextmanager
    def cm():
        yield o

    def f(z):
        with cm() as (a, (b, _c)):
            z = z * a + b
        with cm() as (a, p):
            p.append(1.0)
        return z

    f = stage.static(f)
    stage.watch(o)
    stage(f, x())
    o[1][0] = 7.0
    del o[1][2:]
    stage(f, x())


@footgun
def names_bound_to_inner_lists_stay_those(stage):
    o = [[1.0], [2.0]]
    stage.watch(o)

    def f(z):
        a, b = o
        a.append(5.0)
        for (c,) in [[b]]:
            c.append(6.0)
        [d.append(7.0) for d, e in [(a, b)]]
        return (z * a[0] + len(o[0]), a is o[0])

    f = stage.static(f)
    stage(f, x())
    stage(f, x())


@footgun
def unpack_errors(stage):
    o = [[1.0], [2.0]]

    def f(z):
        try:
            (_a, _b), _c = o
        except ValueError as e:
            return (z, str(e))
        try:
            [k for k, j in [[1, 2], [3]]]
        except ValueError as e:
            return (z * 2, str(e))
        return z

    f = stage.static(f)
    stage(f, x())
    o[0].append(1.0)
    stage(f, x())
    o[0].append(1.0)
    stage(f, x())
    o[0] = 5
    stage(f, x())

    def g(z):
        (_a, _b), _c = o
        return z

    g = stage.static(g)
    stage(g, x())
    o[0] = [1, 2]
    stage(g, x())
    o[0] = (1, 2, 3)
    stage(g, x())


@footgun
def star_calls(stage):
    o = [[1.0, 2.0]]
    kw = {"q": [3.0]}

    def g(a, b, q=0.0):
        return a * b + (q[0] if q else 0)

    def f(z):
        return z + g(*o[0], **kw) + g(*[*o[0]]) + max(*o[0]) + sum([*o[0], *kw["q"]])

    f = stage.static(f)
    stage(f, x())
    o[0][0] = 5.0
    stage(f, x())
    kw["q"][0] = 6.0
    stage(f, x())
    kw["q"] = [9.0]
    stage(f, x())
    del kw["q"]
    stage(f, x())


@footgun
def lambda_and_default_unpack(stage):
    o = [[1.0, 2.0], [0.0, 3.0]]

    def f(z):
        s = sorted(o, key=lambda p: p[0])
        m = max(o, key=lambda p: p[1])
        fl = list(filter(lambda p: p[0] > 0, o))
        mp = list(map(lambda p: p[0] + p[1], o))
        u = min(o)
        q = [*o, [9.0, 9.0]]
        r = o * 2
        w = o[::-1]
        t = tuple(o)
        idx = o.index([0.0, 3.0]) if [0.0, 3.0] in o else 5
        return (
            z
            + s[0][1]
            + m[0]
            + len(fl)
            + mp[1]
            + u[1]
            + q[0][0]
            + r[3][1]
            + w[0][0]
            + t[1][0]
            + idx
            + (100 if o == [[1.0, 2.0], [0.0, 3.0]] else 0)
            + (7 if o[0] < o[1] else 0)
        )

    f = stage.static(f)
    stage(f, x())
    o[1][0] = 5.0
    stage(f, x())
    o[0][1] = 10.0
    stage(f, x())
    o[0][0] = -4.0
    stage(f, x())


@footgun
def dict_ops_nested(stage):
    d = {"a": {"x": 1.0}, "b": {"x": 2.0}}

    def f(z):
        e = {**d, "c": {"x": 3.0}}
        g = dict(d)
        h = d | {"q": {"x": 8.0}}
        c = d.copy()
        return (
            z
            + e["a"]["x"]
            + g["b"]["x"]
            + h["a"]["x"]
            + c["b"]["x"]
            + sum(v["x"] for v in d.values())
            + sum((i["x"] for _, i in d.items()))
            + len([k for k in d if d[k]["x"] > 1.5])
            + d.get("a", {})["x"]
            + next(iter(d.values()))["x"]
        )

    f = stage.static(f)
    stage(f, x())
    d["a"]["x"] = 5.0
    stage(f, x())
    d["b"] = {"x": -1.0}
    stage(f, x())


@footgun
def nested_lists_in_order(stage):
    o = [[1.0, 2.0], [3.0, 0.5]]
    other = [1.0, 2.0]

    def f(z):
        made = list(o)
        made.sort()
        best = min(o[0], other), max(o), min(made), sorted(o, reverse=True)
        return z, made, best, sorted([(pair, 1) for pair in o])[0][0], [o[0]] == [other], (o[0],) < (other,)

    f = stage.static(f)
    stage(f, x())
    changes = lambda: o[0].__setitem__(0, 5.0), lambda: other.__setitem__(0, 3.0), lambda: o[1].append(7.0), o.sort
    for change in changes:
        change()
        stage(f, x())


@footgun
def nested_lists_searched(stage):
    o = [[1.0, 2.0], [3.0, 0.5]]
    other = [1.0, 2.0]

    def f(z):
        made = [*o, other]
        made.remove([1.0, 2.0])
        counts = [o[0], other].count([1.0, 2.0]), (o[0], other).count([1.0, 2.0]), o.count(other)
        return z, made, counts, (o[0], other, [1.0, 2.0]).index([1.0, 2.0]), [o[0], other].index(other)

    f = stage.static(f)
    stage(f, x())
    for pair, place, value in ((o[0], 0, 5.0), (other, 1, 3.0), (o[1], 0, 1.0), (o[1], 1, 2.0)):
        pair[place] = value
        stage(f, x())


@footgun
def heaps_and_other_functions_that_write(stage):
    o = [[1.0, 2.0], [0.0, 3.0]]
    heap = [1.0, 3.0, 2.0]
    ordered = [1.0, 4.0]
    stage.watch([o, heap, ordered])

    def f(z):
        made = []
        heapq.heappush(made, o[0])
        heapq.heappush(made, o[1])
        first = heapq.heappop(made)
        heapq.heappush(heap, z.sum().item())
        held = [1.0, 5.0]
        bisect.insort(held, ordered[0])
        bisect.insort(ordered, 2.0)
        operator.iadd(held, o[0])
        list.extend(held, o[1])
        operator.setitem(o[1], 1, 9.0)
        return z * heapq.heappop(heap), first, held, len(held)

    f = stage.static(f)
    for value in (1.0, 1.0, -7.0):
        o[0][0] = value
        stage(f, x())
