"""Objects that turns replace, loops that exceptions end, lists that libraries change."""

from __future__ import annotations

import bisect
import dataclasses
import enum
import heapq
import operator
import random
import typing

from tests.corpus.register import LOG, made, program


@program
def shuffled_inside(x, n):
    random.seed(3)
    a = [0, 1, 2, 3, 4]
    random.shuffle(a)
    return x * a[0], a


@made
def shuffled_outer():
    a = [0, 1, 2, 3]
    def f(x, c):
        random.seed(3)
        random.shuffle(a)
        return x * a[0], len(a)
    return f


@made
def heap_outer():
    h = [5]
    def f(x, n):
        heapq.heappush(h, int(x.sum()))
        return x * h[0], len(h)
    return f


@program
def insort_of_run(x, n):
    a = [1, 4, 7]
    bisect.insort(a, int(x.sum()))
    k = bisect.bisect_left(a, 4)
    return x, a, a[0], k, len(a)


@program
def heapify_and_replace(x, n):
    a = [5, int(x.sum()), 3]
    heapq.heapify(a)
    b = heapq.heapreplace(a, n)
    d = heapq.heappushpop(a, 2)
    return x, a[0], b, d, heapq.nsmallest(2, a), heapq.nlargest(1, a)


@program
def operator_functions_on_lists(x, n):
    a = [1, 2, 3]
    operator.setitem(a, 0, int(x.sum()))
    b = operator.iadd(a, [4])
    operator.delitem(a, 1)
    return x, a, a[0], b is a


@program
def unbound_methods_on_lists(x, n):
    a = []
    list.append(a, int(x.sum()))
    list.extend(a, [n])
    d = {}
    dict.update(d, k=int(x.sum()))
    dict.__setitem__(d, "j", x)
    s = set()
    set.add(s, 3)
    return a, d, len(s)


@dataclasses.dataclass
class S:
    h: typing.Any
    step: int = 0
    def next(self, k):
        return dataclasses.replace(self, h=self.h * 2 + k, step=self.step + 1)


@program
def dataclass_replaced_in_a_loop(x, n):
    s = S(x)
    for i in range(n):
        s = s.next(i)
    return s.h, s.step, s


class P:
    def __init__(self, v, k):
        self.v = v
        self.k = k
    def moved(self, by):
        return P(self.v + by, self.k + 1)


@program
def object_replaced_in_a_loop(x, n):
    p = P(x, 0)
    for i in range(n):
        p = p.moved(i)
    return p.v, p.k


@program
def object_replaced_on_a_condition(x, n):
    p = best = P(x, 0)
    for i in range(n):
        p = p.moved(x.sum())
        if p.v.sum() > best.v.sum():
            best = p
    return best.v, best.k


@program
def object_replaced_in_a_branch(x, c):
    p = P(x, 0)
    if c > 0:
        p = P(x * 2, 1)
    return p.v, p.k


@program
def frozen_record_replaced(x, n):
    @dataclasses.dataclass(frozen=True)
    class R:
        v: typing.Any
        k: int
    r = R(x, 0)
    while r.k < n:
        r = R(r.v * 2, r.k + 1)
    return r.v, r.k


@program
def linked_list(x, n):
    class Node:
        def __init__(self, v, nxt):
            self.v, self.nxt = v, nxt
    head = None
    for i in range(3):
        head = Node(x * i, head)
    total = x
    while head is not None:
        total = total + head.v
        head = head.nxt
    return total * n


@program
def raise_ends_an_endless_loop(x, n):
    i = 0
    while True:
        try:
            if i >= n:
                raise StopIteration
            x = x + i
            i += 1
        except StopIteration:
            break
    return x


@program
def retry_until(x, n):
    tries = 0
    while True:
        try:
            tries += 1
            if tries < n:
                raise OSError("again")
            return x * tries
        except OSError as e:
            LOG.append(str(e))


@program
def index_error_ends_a_loop(x, n):
    a = [1, 2, 3]
    i = 0
    try:
        while True:
            x = x + a[i]
            i += 1 + n
    except IndexError:
        return x, int(i)


@program
def key_error_in_a_loop_of_turns(x, n):
    d = {0: 1, 2: 5}
    for i in range(n):
        try:
            x = x + d[i]
        except KeyError:
            x = x * 2
    return x


@program
def continue_after_except(x, n):
    bad = 0
    for i in range(n):
        try:
            x = x / (i % 2) if i % 2 == 0 and i > 0 and False else x + 10 // (i % 3)
        except ZeroDivisionError:
            bad += 1
            continue
        x = x + 1
    return x, bad


@program
def raise_in_turns_caught_outside(x, n):
    total = 0
    try:
        for i in range(5):
            if i > n:
                raise RuntimeError(f"at {i}")
            total = total + x * i
    except RuntimeError as e:
        return total, str(e)
    return total, None


@program
def finally_in_endless_loop(x, n):
    k = 0
    while True:
        try:
            if k > n:
                break
            k += 1
        finally:
            x = x + 1
    return x, k


@program
def nested_endless_loops(x, n):
    i = 0
    while True:
        j = 0
        while True:
            if j >= i:
                break
            x = x + j
            j += 1
        i += 1
        if i > n:
            break
    return x


@program
def prime_factors(x, n):
    k, out, p = n * 6 + 6, [], 2
    while k > 1:
        while k % p == 0:
            out.append(p)
            k //= p
        p += 1
    return x, out


@program
def pascal_rows(x, n):
    row = [1]
    for _ in range(n):
        row = [1] + [a + b for a, b in zip(row, row[1:])] + [1]  # noqa: RUF007
    return x * sum(row), row


@program
def text_reversed_and_counted(x, n):
    s = ""
    for i in range(n):
        s = str(i) + s
    return x, s, s.count("1"), len(s), s[:2], "2" in s


class Mode(enum.Enum):
    A = 1
    B = 2


@program
def enum_state_machine(x, n):
    mode = Mode.A
    for i in range(n):
        if mode is Mode.A:
            x = x + 1
            mode = Mode.B
        else:
            x = x * 2
            mode = Mode.A
    return x, mode


@program
def string_state_machine(x, n):
    state = "start"
    k = 0
    while state != "done":
        if state == "start":
            state = "run"
        elif state == "run":
            x = x * 1.5
            k += 1
            if k >= n:
                state = "done"
    return x


@program
def record_replaced_with_list_inside(x, n):
    @dataclasses.dataclass
    class R:
        v: typing.Any
        log: list
    r = R(x, [])
    for i in range(n):
        r = R(r.v * 2, [*r.log, i])
    return r.v, r.log


@program
def object_with_methods_replaced(x, n):
    class Vec:
        def __init__(self, a, b):
            self.a, self.b = a, b
        def __add__(self, o):
            return Vec(self.a + o.a, self.b + o.b)
        def scaled(self, k):
            return Vec(self.a * k, self.b * k)
    v = Vec(x, 1)
    step = Vec(x * 0.5, 2)
    for i in range(n):
        v = (v + step).scaled(0.5)
    return v.a, v.b


@program
def object_swapped_in_a_loop(x, y, n):
    class Holder:
        def __init__(self, v):
            self.v = v
    a, b = Holder(x), Holder(y)
    for i in range(n):
        a, b = b, a
    return a.v, b.v


@program
def best_object_of_a_list(x, y, n):
    class Holder:
        def __init__(self, v, k):
            self.v, self.k = v, k
    os = [Holder(x, 1), Holder(y, 2)]
    best = os[0]
    for o in os[1:]:
        if o.v.sum() * n > best.v.sum():
            best = o
    return best.v, best.k


@program
def object_mutated_and_replaced(x, n):
    class S:
        def __init__(self, h, k):
            self.h, self.k = h, k
    s = S(x, 0)
    for i in range(n):
        s = S(s.h + i, s.k)
        s.k += 1
    return s.h, s.k
