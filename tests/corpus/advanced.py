"""Iterators made before a loop on a tensor and advanced in it."""

from __future__ import annotations

import itertools

from tests.corpus.register import LOG, program


@program
def an_iterator_advanced_in_a_tensor_loop(x, n):
    values = iter([x * k for k in range(10)])
    total = next(values)
    i = 0
    while i < n:
        total = total + next(values)
        i = i + 1
    return total, list(values)


@program
def an_iterator_with_a_default(x, n):
    values = iter([1.0, 2.0, 3.0])
    total = x
    i = 0
    while i < n:
        total = total + next(values, 0.5)
        i = i + 1
    return total, list(values)


@program
def zip_object_advanced(x, y, n):
    pairs = zip([x, y, x], [1, 2, 3])
    out = x
    i = 0
    while i < n:
        pair = next(pairs, None)
        if pair is None:
            break
        out = out * pair[0] + pair[1]
        i = i + 1
    return out


@program
def enumerate_object_advanced(x, n):
    e = enumerate(x)
    total = x.sum() * 0
    while n > 0:
        i, v = next(e, (7, 0.0))
        total = total + i * v
        n = n - 1
    return total


@program
def stop_iteration_ends_it(x, n, c):
    values = iter([x, x * 2])
    try:
        while n > 0:
            x = x + next(values) * c
            n = n - 1
    except StopIteration:
        LOG.append("stopped")
        x = x * 10
    return x


@program
def walrus_over_an_iterator(x, n):
    it = iter(range(1, 5))
    total = x
    while (k := next(it, None)) is not None:
        if total.sum() > n * 3:
            break
        total = total * k
    return total, list(it)


@program
def the_rest_behind_a_break(x, y, c):
    it = iter([x[0], y[0], x[1], y[1]])
    first = None
    for v in it:
        if v > c:
            first = v
            break
    rest = sum(it, x.sum() * 0)
    return rest if first is None else rest * first


@program
def a_counter_of_ids(x, n):
    ids = itertools.count(3)
    while n > 0:
        x = x + next(ids)
        n = n - 1
    return x, next(ids)


@program
def a_cycle_of_signs(x, n):
    signs = itertools.cycle([1, -1, 2])
    while n > 0:
        x = x + next(signs)
        n = n - 1
    return x


@program
def advanced_in_a_branch_in_a_loop(x, y, n, c):
    it = iter([x, y, x * y, x - y])
    total = x * 0
    for i in range(n):
        if total.sum() <= c:
            total = total + next(it, 1.0)
        else:
            total = total - 0.5
    left = [v for v in it]
    return total, len(left)


@program
def pairs_of_one_iterator(x, y):
    it = iter([x, y, x * 2, y * 2])
    out = []
    for a, b in zip(it, it):
        out.append(a - b)
    return out


@program
def reversed_advanced(x, n):
    it = reversed([x, x * 2, x * 3])
    total = x * 0
    while n > 0:
        total = total + next(it, x)
        n = n - 1
    return total


@program
def two_over_one_list(x, n):
    items = [x, x + 1, x + 2]
    a, b = iter(items), iter(items)
    next(b)
    total = x * 0
    while n > 0:
        total = total + next(a, x) * next(b, x)
        n = n - 1
    return total, len(list(a)), len(list(b))


@program
def merge_of_sorted(x, y, n):
    a, b = iter([x[0], x[1]]), iter([y[0], y[1]])
    u, v = next(a, None), next(b, None)
    out = []
    while u is not None and v is not None:
        if u < v:
            out.append(u)
            u = next(a, None)
        else:
            out.append(v)
            v = next(b, None)
    return out, u, v


@program
def next_of_a_grown_list(x):
    seen = [x]
    while seen[-1].sum() < 20:
        seen.append(seen[-1] + 2)
    it = iter(seen)
    first = next(it)
    second = next(it, None)
    return first, second, sum(it, x * 0)
