"""Programs in the manner of bug reports against other tracers: many constructs at once, in unusual company."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator
import types
from typing import Any, NamedTuple

import numpy as np

import d2s
from tests.corpus.register import LOG, program, record


@program
def factory_with_nonlocal(x, c):
    def make():
        count = 0
        def bump(k):
            nonlocal count
            if c > k:
                count += 1
            else:
                count -= 1
            return count
        return bump
    b = make()
    b(0)
    b(1)
    b(2)
    return x * b(0)


@program
def loop_else_with_managers_and_returns(x, c):
    @contextlib.contextmanager
    def m(name):
        LOG.append("in " + name)
        try:
            yield name
        finally:
            LOG.append("out " + name)
    for i in range(3):
        try:
            with m(str(i)) as n:
                if x[i] > c:
                    return x * i, n
                elif c > 2:
                    continue
        finally:
            LOG.append(i)
    else:
        x = x + 1
    return x, None


@program
def walrus_and_dict_comprehension(x, y, c):
    vals = [v for i in range(3) if (v := x[i] * y[i]) > c]
    return len(vals), sum(vals), {i: (1 if x[i] > 0 else 2) for i in range(3)}


@program
def match_on_many_shapes(x, c, n):
    def kind(v):
        match v:
            case {"a": t, **rest} if t.sum() > c:
                return t * len(rest)
            case {"a": t}:
                return t
            case [a, b, *_] if c > 0:
                return a + b
            case (a, *_):
                return a
            case int() | float() as k:
                return x * k
            case _:
                return None
    return kind({"a": x, "b": 1}), kind([x, x * 2, 3]), kind(2.5), kind("s")


@program
def generator_that_decides(x, n):
    def gen():
        for i in range(4):
            if i < n:
                yield x * i
            else:
                yield x - i
    total = x * 0
    for g in gen():
        total = total + g
    return total


def deco(scale):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*a, **k):
            out = fn(*a, **k)
            if out.sum() > 0:
                return out * scale
            return out / scale
        return inner
    return wrap


@deco(2.0)
@deco(3.0)
def helper(x):
    return x + 1


@program
def two_decorators_with_decisions(x, c):
    return helper(x), helper(-x * c)


@program
def class_body_that_decides(x, c):
    class A:
        base = 2
        if c > 0:
            factor = 3
        else:
            factor = 5
        table = [i * 2 for i in range(3)]
        def f(self, v):
            return v * self.factor * A.base
    return A().f(x), A.table


@program
def chain_and_updates_of_attributes_and_items(x, c):
    ns = types.SimpleNamespace(v=x * 1, d={"k": [x, 1]})
    if -1 < c < 2 < x.sum() + 10:
        ns.v += x
        ns.d["k"][1] += 4
    else:
        ns.v *= 2
        ns.d["k"][0] -= x
    ns.d["k"][1] **= 2
    return ns.v, ns.d["k"][0], ns.d["k"][1]


@program
def tuples_returned_early(x, c):
    def f():
        if c > 2:
            return x, 1, None
        if c > 0:
            return x * 2, 2, "b"
        return x * 3, 3, None
    a, b, s = f()
    return (a * b, s) if s is None else a


@program
def sizes_double_until(x, c):
    z = x
    while z.shape[0] < 10:
        z = d2s.concat([z, z]) if c > 0 else d2s.concat([z, x, x])
    return z, z.shape


@program
def formatted_texts(x, c):
    s = f"{c:.2f}|{x.shape}|{float(c) + 1:>8.1f}|{'yes' if c > 0 else 'no'}"
    print(s, f"{c=}")
    return x, s


class Base:
    def __init__(self, k):
        self.k = k
    @property
    def scale(self):
        return self.k * 2
    @scale.setter
    def scale(self, v):
        self.k = v / 2
    def forward(self, x):
        return x * self.k


class Mid(Base):
    def forward(self, x):
        out = super().forward(x)
        return out if out.sum() > 0 else -out


class Top(Mid):
    def forward(self, x):
        return super().forward(x) + super(Mid, self).forward(x)
    def __call__(self, x):
        return self.forward(x)
    def __getattr__(self, name):
        if name.startswith("times_"):
            return lambda v: v * int(name[6:])
        raise AttributeError(name)


@program
def inheritance_with_setter_and_getattr(x, c):
    t = Top(2)
    if c > 0:
        t.scale = 10
    return t(x), t.times_3(x), t.scale, hasattr(t, "nothing")


@dataclasses.dataclass
class State:
    h: object
    steps: int = 0
    log: list = dataclasses.field(default_factory=list)
    def step(self, x, c):
        if (self.h * x).sum() > c:
            self.h = self.h + x
            self.steps += 1
        else:
            self.h = self.h * 0.5
        return self


@program
def dataclass_stepped(x, c):
    s = State(x)
    for _ in range(3):
        s = s.step(x, c)
    t = dataclasses.replace(s, steps=s.steps + 1)
    return s.h, t.steps, dataclasses.asdict(State(x, 2))["steps"]


@program
def recursion_over_a_nested_list(x, n):
    def walk(tree, d):
        if isinstance(tree, (list, tuple)):
            return sum(walk(t, d + 1) for t in tree)
        if n > d:
            return tree * d
        return tree
    return walk([x, (x * 2, [x, x * 3])], 0)


@program
def raise_from_in_a_handler(x, c):
    def f(v):
        try:
            if v > 0:
                raise ValueError("pos", float(v))
            return x * 2
        except ValueError as e:
            try:
                raise KeyError("k") from e
            except KeyError as k:
                LOG.append((type(k.__cause__).__name__, k.__cause__.args))
                return x * 3
        finally:
            LOG.append("fin")
    return f(c), f(-c)


@program
def lambdas_bound_late_in_branches(x, c):
    fs = []
    for i in range(3):
        if x[i] > c:
            fs.append(lambda: x * i)
        else:
            fs.append(lambda i=i: x - i)
    return [f() for f in fs]


@program
def swaps_and_stars(x, y, c):
    a = b = x
    if c > 0:
        a, b = b * 2, a + y
        (p, q), *r = (a, b), a, b
    else:
        a, b = y, x
        (p, q), *r = (b, a), 1
    return p - q, len(r)


@program
def loop_else_that_continues(x, n):
    out = x
    i = 0
    while i < n:
        i += 1
        for j in range(3):
            if j == i:
                continue
            if out.sum() > 30:
                break
            out = out + j
        else:
            out = out * 1.1
            continue
        break
    else:
        return out, i, "else"
    return out, i


@program
def dict_changed_in_order(x, c):
    d = {"a": x, "b": x * 2}
    if c > 0:
        d["c"] = d.pop("a")
        del d["b"]
    else:
        d.setdefault("z", x * 5)
    return d, list(d), sorted(d)


@program
def iterators_and_reduce(x, c):
    it = iter([x, x * 2, x * 3])
    first = next(it)
    rest = list(it)
    z = first if c > 0 else rest[-1]
    a, b = itertools.tee([1, 2, 3])
    return z, functools.reduce(lambda p, q: p + q, rest), list(zip(a, itertools.accumulate(b)))


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@program
def enum_chosen(x, c):
    col = Color.RED if c > 0 else Color.BLUE
    match col:
        case Color.RED:
            x = x * 2
        case Color.BLUE:
            x = x * 3
    return x * col.value, col.name


class Pair(NamedTuple):
    a: object
    b: int = 3


@program
def namedtuple_replaced(x, c):
    p = Pair(x)
    if c > 0:
        p = p._replace(a=x * 2)
    else:
        p = Pair(x * 3, 3)
    a, b = p
    return p, a * b, p._asdict()["b"]


@program
def finally_in_a_tensor_loop(x, n):
    z = x
    for i in range(n):
        try:
            if i == 3:
                break
            with contextlib.nullcontext(i) as k:
                z = z + k
                if z.sum() > 8:
                    continue
            z = z * 2
        finally:
            LOG.append(i)
    return z


@program
def array_beside(x, c):
    a = np.arange(3.0, dtype="float32")
    z = x + a
    if c > 0:
        z = z * float(a.sum())
    return z, a + 1


@program
def function_defined_in_a_branch(x, c):
    if c > 0:
        def f(k):
            return x if k == 0 else f(k - 1) * 2
    else:
        f = lambda k: x - k
    return f(2)


@program
def nested_ternaries(x, y, c):
    z = x if c > 2 else y if c > 0 else x * y
    v = not c > 0
    return z, v, (c > 0 or c < -1) and z is not None


@program
def zip_and_enumerate_with_list_methods(x, n):
    acc = []
    for i, (a, b) in enumerate(zip([x, x * 2], [1, n]), start=1):
        if b > i:
            acc.append(a * b)
        elif b == i:
            acc.insert(0, a)
        else:
            acc.extend([a, a])
    return acc


@program
def hook_removed_in_a_branch(x, c):
    x.register_hook(record("x", lambda g: g + 1))
    y = x * c
    if c > 0:
        h = y.register_hook(record("y", lambda g: g * g))
        z = (y * y).sum()
        h.remove()
    else:
        z = y.sum()
        y.register_hook(record("late"))
    return z


@program
def deleted_then_read(x, c):
    t = x
    if c > 0:
        del t
    try:
        return t * 2
    except UnboundLocalError as e:
        LOG.append(str(e))
        return x


@program
def integers_of_the_run(x, n):
    q, r = divmod(int(n) + 7, 3)
    k = round(float(n) / 3, 1)
    b = bool(n) and int(n) ** 2 > 3
    return x * q + r, k, b, max(int(n), 2), abs(-int(n)), [0] * 3


async def co(x, c):
    if c is None:
        return x
    return x * 2


@program
def coroutine_driven_by_hand(x, c):
    k = co(x, 1)
    try:
        k.send(None)
    except StopIteration as stop:
        x = stop.value
    return x if c > 0 else x * 3


namespace: dict[str, Any] = {}
exec("def nosource(a, b):\n    return a * b + 1", namespace)
nosource = namespace["nosource"]


@program
def functions_without_source(x, c):
    f = eval("lambda v: v * 2")
    return nosource(x, c), f(x), operator.mul(x, x), max([3, 1]), getattr(x, "sum")()


@program
def literals_of_all_kinds(x, c):
    big, inf, neg = 12345678901234567890123, 1e400, -0.0
    s = "ünï" + 'a\tb' \
        + """low
line"""
    z: float = 1.5
    π = 3
    return x * π * z, big, inf, math.copysign(1, neg), s, 0x1F, 1_000, b"\x00", ...


@program
def writes_of_all_kinds(x, y, c):
    z = x.clone()
    z[0] = y[1]
    if c > 0:
        z[1:] = y[:2]
    else:
        z[x > 0] = 9.0
    z[-1] += 1
    z.multiply_(x)
    return z


@program
def defaultdict_and_counter(x, n):
    table = collections.defaultdict(list)
    counts = collections.Counter()
    for i in range(4):
        key = "even" if i % 2 == 0 else "odd"
        if i < n:
            table[key].append(x * i)
            counts[key] += 1
    return dict(table), counts["even"], counts["odd"]


@program
def nonlocal_through_three_functions(x, c):
    def outer():
        total = x
        def mid():
            nonlocal total
            def low():
                nonlocal total
                total = total + 1 if c > 0 else total - 1
            low()
            total = total * 2
        mid()
        return total
    return outer()


@program
def set_changed_in_a_branch(x, c):
    s = {1, 2}
    if c > 0:
        s.add(3)
    else:
        s |= {7, 8}
    return x * len(s), 3 in s, sorted(s)


@program
def best_of_a_loop_as_index(x, n, c):
    best, where = x[0], 0
    for i in range(1, 3):
        if x[i] > best:
            best, where = x[i], i
    return best, where, x[where], ["a", "b", "c"][where]


@program
def partial_and_getters(x, n):
    f = functools.partial(lambda a, b, k=1: a * b + k, x, k=n)
    g = operator.attrgetter("shape")
    return f(x), g(x), operator.itemgetter(1)(x)


@program
def pair_carried(x, n):
    a, b = x, x * 2
    k = n
    while k > 0:
        a, b, k = b, a + b, k - 1
    return a, b


@program
def class_with_protocols(x, c):
    class Acc:
        def __init__(self):
            self.t = 0

        def __iadd__(self, v):
            self.t = self.t + v
            return self

        def __enter__(self):
            return self

        def __exit__(self, *details):
            LOG.append("exit")
            return False

        def __len__(self):
            return 2

        def __contains__(self, v):
            return v == 1

        def __getitem__(self, i):
            return self.t * i

    with Acc() as a:
        if c > 0:
            a += x
        else:
            a += x * 2
    return a.t, len(a), 1 in a, a[2], bool(a)


@program
def generator_sent_to_and_closed(x, c):
    def g():
        try:
            r = yield x
            LOG.append(r)
            yield x * 2
        finally:
            LOG.append("closed")
    it = g()
    a = next(it)
    b = it.send("hello")
    it.close()
    return a + b if c > 0 else a - b


@program
def rows_unpacked(x, n):
    rows = d2s.stack([x, x * 2])
    a, b = rows
    (r, k) = rows.shape
    for i, row in enumerate(rows):
        if row.sum() > n:
            a = a + row * i
    return a, b, r * k, len(rows)


@program
def return_from_nested_loops(x, c):
    out = x
    for i in range(2):
        for j in range(2):
            if out.sum() > 3 * c:
                return out, i, j
            out = out + x * x + j
        if c < -1:
            break
    return out, -1, -1


@program
def order_of_evaluation(x, y, c, n):
    def t(k, v):
        LOG.append(k)
        return v
    if t("a", c > 0) and (t("b", n > 1) or t("c", c < 2)) and not t("d", n > 4):
        return t("r", x)
    return x + y if t("e", n == 0) or t("f", c > 5) else x - y


@program
def mixed_list(x, c):
    lst = [x, None, 3]
    z = 0
    for v in lst:
        if v is None:
            continue
        if isinstance(v, d2s.Tensor) and c > 0:
            z = z + v.sum()
        elif not isinstance(v, d2s.Tensor):
            z = z + v
    return x * z
