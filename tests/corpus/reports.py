"""Programs like those of bug reports against other libraries that turn Python into graphs."""

from __future__ import annotations

import bisect
import collections
import contextlib
import dataclasses
import functools
import heapq
import itertools
import operator
import typing

import numpy as np

import d2s
from tests.corpus.register import LOG, program, record


@program
def nested_break_continue(x, n):
    total = x * 0
    for i in range(n + 2):
        for j in range(5):
            if j > i:
                break
            if (i + j) % 2 == 0:
                continue
            total = total + x * j
        else:
            total = total - 1
        if total.sum() > 50:
            return total
    return total * 2


@program
def return_in_with_try(x, c):
    @contextlib.contextmanager
    def cm(name):
        LOG.append("in " + name)
        try:
            yield name
        finally:
            LOG.append("out " + name)
    with cm("a") as a, cm("b"):
        try:
            if c > 0:
                return x * 2, a
            with d2s.no_grad():
                y = x * 3
            return y + x, a
        finally:
            LOG.append("fin")


@program
def chained(x, c):
    if -1 < c <= 1.5 < 10:
        return x
    return x * (0 <= c < 5) if c != 0 else -x


@program
def walrus_comp(x, n):
    out = [z for i in range(3) if (z := i * n) > 1]
    return x * len(out), z


def _star(a, *args, k=2, **kw):
    return a * k + sum(args) + sum(kw.values())


@program
def star_args(x, y, n):
    args = [y, x]
    kw = {"k": 3, "e": n}
    return _star(x, *args, **kw)


@program
def deleted(x, c):
    y = x * 2
    d = {"a": y, "b": x}
    del d["a"]
    a = [1, 2, 3]
    del a[0], a[-1]
    if c > 0:
        z = y
        del y
        return z * a[0]
    return y + d["b"]


@program
def slice_write(x, n):
    y = x * 1
    y[0] = 5.0
    y[1:] = y[1:] * 2
    y[-1] += 1
    z = d2s.zeros([3, 3])
    z[0] = y
    z[:, 1] = x
    z[1, 2] = n
    return y, z


class Base:
    scale = 2
    def __init__(self, w):
        self._w = w
        self.calls = 0
    @property
    def w(self):
        self.calls += 1
        return self._w * self.scale
    @w.setter
    def w(self, v):
        self._w = v
    @classmethod
    def make(cls, w):
        return cls(w)
    @staticmethod
    def act(v):
        return v * v
    def forward(self, x):
        return self.act(x) + self.w
    def __call__(self, x):
        return self.forward(x)


class Child(Base):
    scale = 3
    def forward(self, x):
        r = super().forward(x)
        if r.sum() > 0:
            return super(Child, self).forward(r)
        return r


class GrandChild(Child):
    def forward(self, x):
        return super().forward(x) + 1


@program
def classes(x, c):
    m = GrandChild.make(c)
    y = m(x)
    m.w = c * 2
    return y + m(x), m.calls


@program
def match(x, n):
    cmd = ("go", 2)
    match cmd:
        case ("stop",):
            return x
        case ("go", k) if k > 5:
            return x * 5
        case ("go", k):
            y = x * k
        case _:
            y = x
    match {"a": 1, "b": [1, 2]}:
        case {"a": 1, "b": [p, *rest]}:
            y = y + p + len(rest)
    match int(n):
        case 0 | 1:
            y = y * 10
        case k if k > 2:
            y = y - k
        case _:
            y = y * 0.5
    return y


@dataclasses.dataclass
class Pt:
    a: typing.Any
    b: typing.Any = 2
    tags: list = dataclasses.field(default_factory=list)
    def dot(self):
        return self.a * self.b


NT = collections.namedtuple("NT", "p q")


@program
def dataclass(x, c):
    p = Pt(x)
    if c > 0:
        p.b = c
        p.tags.append("pos")
    q = dataclasses.replace(p, a=x * 2)
    n = NT(p.dot(), q.dot())
    n2 = n._replace(p=n.p + 1)
    a, b = n2
    return n2, a + b, p.tags, dataclasses.asdict(q)["b"] * x


@program
def numpy(x, n):
    a = np.arange(3, dtype="float32")
    b = np.where(a > 1, a, -a)
    return x * d2s.to_tensor(b) + np.float32(2.0) + np.pi


@program
def dict_methods(x, c):
    d = dict(a=x)
    d.update(b=x * c)
    v = d.pop("a")
    w = d.get("zz", v)
    d.setdefault("q", w)
    return list(d.values()), list(d.keys()), d | {"t": 1}


@program
def try_finally_loop(x, n):
    for i in range(3):
        try:
            if i == n:
                continue
            if i > n:
                break
            x = x + i
        finally:
            x = x * 2
    return x


@program
def raise_in_branch(x, c):
    if c < -1:
        raise ValueError("too small", float(c))
    try:
        if c < 0:
            raise KeyError("neg")
    except KeyError as e:
        LOG.append(repr(e))
        return x * 0
    return x


@program
def hooks_loop(x, n):
    y = x
    for i in range(n):
        y = y * 2
        y.register_hook(lambda g, i=i: LOG.append((i, g.tolist())))
    y.register_hook(lambda g: g + 1)
    return y


@program
def partial(x, c):
    f = functools.partial(_star, k=c)
    return f(x, x) + operator.mul(x, 2) + next(map(f, [x]))


@program
def iterators(x, n):
    t = x
    for a, b in itertools.product([1, 2], [n, 3]):
        t = t + a * b
    for i, v in zip(itertools.count(1), itertools.chain([x], [t])):
        t = t + v * i
    acc = list(itertools.accumulate([x, x, x], lambda a, b: a * 0.5 + b))
    return t, acc[-1]


@program
def class_in_function(x, c):
    class Acc:
        total = 0
        def __init__(self, k):
            self.k = k
        def __add__(self, o):
            self.total = self.total + o * self.k
            return self
        def __len__(self):
            return 2
        def __getitem__(self, i):
            return self.total * i
        def __contains__(self, v):
            return v == 1
        def __iter__(self):
            yield self.total
            yield self.k
        def __enter__(self):
            LOG.append("enter")
            return self
        def __exit__(self, *a):
            LOG.append(a[0])
    with Acc(c) as acc:
        acc = acc + x
        acc = acc + x * 2
    a, b = acc
    return a + acc[1] + len(acc), b, 1 in acc


@program
def string_building(x, n):
    s = ""
    for i in range(3):
        s += str(i) if i != n else "n"
    LOG.append(s)
    LOG.append(",".join(map(str, [int(n), 1])))
    return x


@program
def nested_tuple_state(x, n):
    s = {"h": (x, x * 2), "i": 0}
    while s["i"] < n:
        h, c = s["h"]
        s["h"] = (h + c, h - c)
        s["i"] += 1
    return s["h"]


@program
def break_in_try_in_loop(x, n):
    for i in range(5):
        try:
            if i >= n:
                break
            x = x + 1
        except ValueError:
            pass
        else:
            x = x * 2
        finally:
            LOG.append(i)
    return x


@program
def try_else_return(x, c):
    try:
        v = x * c
    except Exception:
        return x
    else:
        if c > 0:
            return v
    finally:
        LOG.append("f")
    return -v


@program
def except_star(x, c):
    try:
        if c > 0:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as g:
        LOG.append(len(g.exceptions))
        x = x * 2
    except* TypeError:
        x = x * 3
    return x


@program
def inner_recursion(x, c):
    def go(k, v):
        if k == 0:
            return v
        return go(k - 1, v * 2 if c > 0 else v + 1)
    return go(3, x)


class Desc:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, obj, cls=None):
        return self if obj is None else getattr(obj, self.name) * 2
    def __set__(self, obj, v):
        setattr(obj, self.name, v)


class HasDesc:
    a = Desc()
    __slots__ = ("_a", "b")
    def __init__(self, a):
        self.a = a


@program
def descriptor(x, c):
    o = HasDesc(x)
    if c > 0:
        o.a = o.a + 1
    return o.a


class Vec:
    def __init__(self, *v):
        self.v = list(v)
    def __add__(self, o):
        return Vec(*[a + b for a, b in zip(self.v, o.v)])
    def __mul__(self, k):
        return Vec(*(a * k for a in self.v))
    __rmul__ = __mul__
    def __eq__(self, o):
        return isinstance(o, Vec) and len(self.v) == len(o.v)
    def __hash__(self):
        return 1
    def __neg__(self):
        return self * -1
    def __bool__(self):
        return len(self.v) > 1
    def __repr__(self):
        return f"Vec({len(self.v)})"
    def __iter__(self):
        return iter(self.v)


@program
def operators(x, y, c):
    a = Vec(x, y)
    b = 2 * a + -a * c
    LOG.append(repr(b))
    if a == b and a:
        return list(b)
    return x


@program
def contextvar_stack(x, c):
    with contextlib.ExitStack() as st:
        st.callback(LOG.append, "bye")
        if c > 0:
            st.callback(LOG.append, "pos")
        y = x * 2
    return y


@program
def heap(x, n):
    h = []
    for k in (3, 1, 2):
        heapq.heappush(h, (k, f"v{k}"))
    k, _ = heapq.heappop(h)
    return x * k * n, bisect.bisect([1, 2, 4], 3)


@program
def counter(x, n):
    ct = collections.Counter("abca")
    ct["z"] += 2
    dd = collections.defaultdict(list)
    for i in range(3):
        dd[i % 2].append(x * i)
    od = collections.OrderedDict(a=1)
    od.move_to_end("a")
    return x * ct["a"], [len(v) for v in dd.values()], sum(dd[0]) * n


@program
def deque(x, n):
    q = collections.deque([x, x * 2], maxlen=3)
    q.append(x * n)
    q.appendleft(x)
    q.rotate(1)
    return sum(q), len(q)


@program
def tolist_loop(x, n):
    t = 0.0
    for v in x.tolist():
        if v > 0:
            t += v
    return x * t


@program
def hooks_in_while(x, n):
    i = 0
    hs = []
    while i < n:
        x = x * 1.5
        hs.append(x.register_hook(record("w", lambda g: g * g)))
        i += 1
    if hs:
        hs[0].remove()
    return x


@program
def type_dispatch(x, n):
    def kind(v):
        match v:
            case bool():
                return 1
            case int() | float():
                return 2
            case str():
                return 3
            case [_, *_]:
                return 4
            case {"k": _}:
                return 5
        return 6
    return x * sum(kind(v) for v in (True, 1, "s", [1], {"k": 1}, None))


@program
def multi_assign(x, c):
    a = b = [x]
    b.append(c)
    (p, q), [r] = (1, 2), [3]
    a[0], t = both = (x * 2, 5)
    return len(a), a[0] * p * q * r * t, len(both)


@program
def async_like_gen_send(x, n):
    def g():
        k = 0
        while True:
            got = yield x * k
            k = k + (got or 1)
    it = g()
    a = next(it)
    b = it.send(3)
    it.close()
    return a + b
