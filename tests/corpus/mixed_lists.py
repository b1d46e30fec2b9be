"""Lists of the run: with elements of several kinds, made anew in turns, unpacked, spread out, sorted, of tensors."""

from __future__ import annotations

import functools
import heapq
import itertools

import numpy as np

import d2s
from tests.corpus.register import LOG, program, record


# --- None in lists, different returns, loops
@program
def list_with_none(x, n):
    a = []
    for i in range(n):
        if i % 2 == 0:
            a.append(None)
        else:
            a.append(x * i)
    t = x
    for v in a:
        if v is not None:
            t = t + v
    return t


@program
def list_none_filled(x, n):
    a = [None] * 3
    for i in range(n):
        if i < 3:
            a[i] = x * i
    t = x
    for v in a:
        if v is None:
            t = t + 1
        else:
            t = t + v
    return t


@program
def list_reset_clear(x, n):
    cur = []
    t = x
    for i in range(n):
        cur.append(x * i)
        if len(cur) == 2:
            t = t + cur[0] * cur[1]
            cur.clear()
    return t, len(cur)


@program
def tuple_of_run_list(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    return tuple(a)


@program
def sorted_key_run(x, n):
    a = []
    for i in range(n):
        a.append((-i, x * i))
    b = sorted(a, key=lambda p: p[0])
    return [p[1] for p in b]


@program
def sorted_key_tensor(x, n):
    a = [x]
    for i in range(n):
        a.append(x - i * 2)
    b = sorted(a, key=lambda t: float(t.sum()))
    return b[0], b[-1]


@program
def max_key_run(x, n):
    a = [x]
    for i in range(n):
        a.append(x * (i - 1))
    return max(a, key=lambda t: float(t.sum()))


@program
def unpack_run_list(x, n):
    a = [x]
    for i in range(n):
        a.append(x * i)
    first, *rest = a
    return first, len(rest)


@program
def unpack_run_two(x, n):
    a = []
    for i in range(n):
        a.append(x * (i + 1))
    if len(a) == 2:
        p, q = a
        return p * q
    return x


@program
def spread_in_list(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    b = [x, *a, x]
    return d2s.stack(b).sum(0), len(b)


@program
def count_raise(x, n):
    for i in itertools.count():
        if i >= n:
            break
        if i > 2:
            raise RuntimeError("too many")
    return x * i


@program
def count_raise_while(x, c):
    i = 0
    while True:
        c = c - 1
        i += 1
        if c < 0:
            break
        if i > 100:
            raise ValueError("no end")
    return x * i


@program
def return_kinds(x, n):
    for i in range(n):
        if i == 1:
            return "found"
    return x


@program
def return_kinds_tuple(x, n):
    for i in range(n):
        if i == 1:
            return x, i
    return None


@program
def list_reset_in_branch_hooks(x, n):
    cur = [x]
    t = x * 0
    for i in range(n):
        y = x * i
        y.register_hook(record("y", lambda g: g * g + 1))
        cur.append(y)
        if len(cur) > 2:
            t = t + cur[0] * cur[-1]
            cur = [y]
    return t, cur


@program
def list_reset_every_turn(x, n):
    t = x
    for i in range(n):
        cur = []
        for j in range(i):
            cur.append(t * j)
        if cur:
            t = t + d2s.stack(cur).sum(0)
    return t


@program
def list_reset_to_other(x, n):
    best = []
    for i in range(n):
        now = []
        for j in range(i + 1):
            now.append(x * j)
        if len(now) > len(best):
            best = now
    return best


@program
def list_swapped(x, n):
    a, b = [x], []
    for i in range(n):
        b.append(a[-1] * 2)
        a, b = b, a
    return a, b


@program
def none_then_list(x, n):
    seen = None
    for i in range(n):
        if seen is None:
            seen = []
        seen.append(x * i)
    return seen if seen is not None else x


@program
def batches(x, n):
    out, batch = [], []
    i = 0
    while i < n:
        batch.append(x + i)
        if len(batch) >= 2:
            out.append(d2s.stack(batch))
            batch = []
        i += 1
    if batch:
        out.append(d2s.stack(batch))
    return out


@program
def union_of_kinds(x, n):
    seen = []
    for i in range(n):
        if i % 3 == 0:
            seen.append(None)
        elif i % 3 == 1:
            seen.append(x * i)
        else:
            seen.append(i)
    t = x
    for s in seen:
        if s is None:
            t = t * 2
        elif isinstance(s, int):
            t = t + s
        else:
            t = t * s
    return t, len(seen)


@program
def elements_of_two_ranks(x, n):
    seen = []
    for i in range(n):
        if i % 2:
            seen.append(x)
        else:
            seen.append(x.sum())
    t = x
    for s in seen:
        t = t * s
    return t


@program
def pairs_with_none(x, n):
    seen = [(0, None)]
    for i in range(n):
        seen.append((i, x * i))
    t = x
    for k, v in seen:
        t = t + (k if v is None else v)
    return t


@program
def unpack_middle(x, n):
    a = [x, x * 2]
    for i in range(n):
        a.append(x * i)
    first, *mid, last = a
    mid.append(last)
    return first, mid, len(mid)


@program
def unpack_three(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    p, q, r = a
    return p + q * r


@program
def unpack_three_caught(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    try:
        p, q, r = a
    except ValueError as e:
        LOG.append(str(e))
        return x
    return p + q * r


@program
def display_of_two(x, n):
    a, b = [], [x]
    for i in range(n):
        a.append(x * i)
        b.append(x - i)
    c = [*a, x, *b]
    c.append(x)
    return c


@program
def best_of_run(x, n):
    a = [x]
    for i in range(n):
        a.append(x * (i - 1))
    i = max(range(len(a)), key=lambda k: float(a[k].sum()))
    return a[i]


@program
def sort_in_place(x, n):
    a = [x]
    for i in range(n):
        a.append(x * (3 - i))
    a.sort(key=lambda t: -float(t.sum()))
    return a


@program
def min_by(x, n):
    a = []
    for i in range(n):
        a.append(x * (i - 1))
    return min(a, key=lambda t: t.sum())


@program
def sorted_reverse(x, n):
    a = []
    for i in range(n):
        a.append((i % 2, x * i))
    return [p for _, p in sorted(a, key=lambda q: q[0], reverse=True)]


@program
def sum_of_lens(x, n):
    a = []
    for i in range(n):
        a.append([x * j for j in range(i)])
    return x * sum(len(p) for p in a)


@program
def tolist_small(x, n):
    a, b, c = x.tolist()
    k = [v * 2 for v in x.tolist() if v > 0]
    m = max(x.tolist()), sorted(x.tolist()), sum(x.tolist())
    LOG.append(x.tolist())
    print(x.tolist())
    return x * a + b * c, k, m


@program
def tolist_big(x, n):
    y = d2s.concat([x] * 9)
    t = 0.0
    for i, v in enumerate(y.tolist()):
        if v > 0:
            t = t + v * i
    LOG.append(y.tolist())
    big = [v for v in y.tolist() if v > 1]
    return x * t, len(y.tolist()), big, y.tolist()[-1], str(y.tolist())[:9]


@program
def tolist_2d(x, n):
    m = d2s.stack([x, x * n] * 4)
    t = 0
    for row in m.tolist():
        for v in row:
            t += v
    return x * t


@program
def tolist_of_mask(x, c):
    y = x[x > c]
    t = 1.0
    for v in y.tolist():
        t *= v
    return x * t, len(y.tolist())


@program
def tuple_of_run(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    t = tuple(a)
    for v in t:
        LOG.append(len(t))
    return t


@program
def join_run(x, n):
    names = []
    for i in range(n):
        names.append(f"k{i}")
    LOG.append("-".join(names))
    LOG.append("+".join(str(v) for v in [1, int(n)]))
    return x * len(names)


@program
def heap_tuple(x, n):
    h = []
    for k in (3, 1, 2):
        heapq.heappush(h, (k, f"v{k}"))
    heapq.heapify(h)
    return x * heapq.heappop(h)[0] * n, len(h)


@program
def np_funcs(x, n):
    a = np.arange(6).reshape(2, 3)
    b = np.concatenate([a, a * 2]).sum(axis=0)
    m = np.where(b > 3, 1.0, 0.5).astype("float32")
    return x * d2s.to_tensor(m), int(np.argmax(b)), np.array_equal(a, a), float(np.mean(b))


@program
def np_inplace(x, c):
    a = np.zeros(3, dtype="float32")
    a[1] = 2
    np.fill_diagonal(np.zeros((2, 2)), 1)
    return x + d2s.to_tensor(a)


@program
def partial_chain(x, c):
    f = functools.partial(lambda a, b, k=1: a * b + k, x, k=c)
    return f(2) + sum(itertools.chain([x, c], [1]))


@program
def gen_sum_run(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    return sum(v * 2 for v in a) + x


@program
def any_run(x, n):
    a = []
    for i in range(n):
        a.append(i - 1)
    if any(v > 0 for v in a):
        return x
    if all(v < 5 for v in a):
        return x * 2
    return x * 3


@program
def min_max_gen(x, n):
    a = [1]
    for i in range(n):
        a.append(i * 2)
    return x * max(v * 2 for v in a) + min(v for v in a)


@program
def dict_of_run_values(x, n):
    a = []
    for i in range(n):
        a.append((str(i), x * i))
    d = dict(a)
    return d


@program
def best_of_range(x, n):
    a = [x]
    for i in range(n):
        a.append(x * (i - 1))
    i = max(range(len(a)), key=lambda k: float(a[k].sum()))
    return a[i], sorted(range(n), reverse=True)


@program
def set_of_run(x, n):
    seen = set()
    for i in range(4):
        if i < n:
            seen.add(i % 2)
    return x * len(seen)


@program
def pairs_in_comprehensions(x, n):
    a = []
    for i in range(n):
        a.append((i, x * i))
    numbers = [k for k, v in enumerate(a)]
    return [k * v for k, v in a if k != 1], sum(v for _, v in a) + x, any(k > 1 for k, v in a), numbers


@program
def generators_over_ranges(x, n):
    return x * sum(i * i for i in range(n)), all(i < 2 for i in range(n)), list(i + 1 for i in range(n))


@program
def asked_no_further(x, n):
    def asks(i):
        LOG.append(i)
        return i > 0

    return x * (2 if any(asks(i) for i in range(n)) else 3)


@program
def hooks_in_lists_with_none(x, n):
    seen = [None]
    for i in range(n):
        y = x * i
        y.register_hook(record("y", lambda g: g * g + 1))
        seen.append(y if i != 1 else None)
    t = x
    for s in seen:
        if s is not None:
            s.register_hook(record("s", lambda g: g + 1))
            t = t + s * s
    return t

