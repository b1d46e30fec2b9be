"""What is asked for its truth: containers, arrays and objects of libraries, in every kind of condition."""

from __future__ import annotations

import collections
import types
import weakref

import numpy as np

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, x


@footgun
def truth_of_arrays_and_library(stage):
    z0 = np.array(2.0)
    b = bytearray(b"a")
    d = {"a": 1}
    mp = types.MappingProxyType(d)
    kv = d.keys()
    ws = weakref.WeakSet()
    ud = collections.UserDict()
    cm = collections.ChainMap({}, d)
    c = collections.Counter()
    k = Box()

    def f(z):
        if z0:
            z = z + 1
        if b:
            z = z + 2
        if mp:
            z = z + 4
        if kv:
            z = z + 8
        if ws:
            z = z + 16
        if ud:
            z = z + 32
        if not cm:
            z = z + 64
        while c:
            return z * 2
        return z + (0 if z0 else 5) + (1 if not b else 2)

    f = stage.static(f)
    stage(f, x())
    z0[...] = 0
    stage(f, x())
    b.clear()
    stage(f, x())
    d.clear()
    stage(f, x())
    ws.add(k)
    stage(f, x())
    ud["a"] = 1
    stage(f, x())
    c["q"] = 3
    stage(f, x())
    d["b"] = 1
    z0[...] = 1
    stage(f, x())


@footgun
def layerlist_truth(stage):

    class N(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.ls = d2s.nn.LayerList([d2s.nn.ReLU()])
            self.ps = d2s.nn.ParameterList()

        def forward(self, z):
            if self.ls:
                z = self.ls[0](z)
            if not self.ps:
                z = z * 3
            return z + len(self.ls)

    n = N()
    s = stage.static(n)
    stage(s, x())
    stage(s, x())
    del n.ls[0]
    stage(s, x())
    stage(s, x())
    n.ls.append(d2s.nn.Tanh())
    stage(s, x())
    n.ps.append(n.create_parameter([3]))
    stage(s, x())


@footgun
def while_counter(stage):
    c = collections.Counter()

    def f(z):
        while c:
            return z * 2
        return z

    f = stage.static(f)
    stage(f, x())
    c["q"] = 3
    stage(f, x())


@footgun
def while_list(stage):
    c = []

    def f(z):
        while c:
            return z * 2
        return z

    f = stage.static(f)
    stage(f, x())
    c.append(3)
    stage(f, x())


@footgun
def while_list_break(stage):
    c = []
    n = [3]

    def f(z):
        while c:
            z = z * 2
            break
        else:
            z = z + 1
        while n[0] > len(c):
            z = z * 2
            if z.sum() > 5:
                break
            else:
                return z
        return z

    f = stage.static(f)
    stage(f, x())
    c.append(3)
    stage(f, x())


@footgun
def while_dict_number_attr(stage):
    d = {}
    b = Box(n=0, l=[])
    a = np.array(0)

    def f(z):
        while d:
            return z * 2
        while b.n:
            return z * 3
        while b.l:
            return z * 4
        while a:
            return z * 5
        while not b.l and a:
            return z * 6
        return z

    f = stage.static(f)
    stage(f, x())
    d[1] = 2
    stage(f, x())
    d.clear()
    b.n = 1
    stage(f, x())
    b.n = 0
    b.l.append(1)
    stage(f, x())
    b.l.clear()
    a[...] = 1
    stage(f, x())


@footgun
def if_ternary_and_or_not(stage):
    parts = []
    d = {}
    a = np.array(0)
    s = set()
    t = Box(t=())

    def f(z):
        r = z * (2 if parts else 3)
        r = r + (1 if not d else 5)
        r = r + (7 if parts or d else 9) + (11 if parts and a else 13)
        r = r + len(parts or [1, 2]) + (a or 3) + ((s and 5) or 6)
        assert not t.t, "t"
        return r + next(i for i in range(3) if parts or i) + (100 if t.t else 200)

    f = stage.static(f)
    stage(f, x())
    parts.append(1)
    stage(f, x())
    d[1] = 1
    stage(f, x())
    a[...] = 1
    stage(f, x())
    s.add(1)
    stage(f, x())
    parts.clear()
    stage(f, x())
    t.t = (1,)
    stage(f, x())


@footgun
def comprehension_conditions_over_outer(stage):
    parts = [1.0, 2.0, 3.0]
    keep = {1.0: True, 2.0: False, 3.0: True}
    a = np.array([1, 0, 1])

    def f(z):
        return (
            z
            + sum(v for v in parts if keep[v])
            + sum([v for i, v in enumerate(parts) if a[i]])
            + len({v for v in parts if not keep.get(v)})
            + max(parts, key=lambda v: -v)
            + sorted(parts, key=lambda v: keep[v])[0]
        )

    f = stage.static(f)
    stage(f, x())
    keep[2.0] = True
    stage(f, x())
    a[1] = 1
    stage(f, x())
    parts.insert(0, 3.0)
    stage(f, x())


@footgun
def while_users_bool(stage):

    class Q:
        def __init__(self):
            self.n = 3
            self.log = []

        def __bool__(self):
            self.log.append("asked")
            return self.n > 0

    q = Q()
    stage.watch(q)

    def f(z):
        while q:
            z = z * 2
            q.n -= 1
        return z

    f = stage.static(f)
    stage(f, x())
    stage(f, x())
    q.n = 2
    stage(f, x())


@footgun
def while_users_len(stage):

    class Q:
        def __init__(self):
            self.n = [1]

        def __len__(self):
            return len(self.n)

    q = Q()

    def f(z):
        k = 0
        while q and k < 2:
            z = z * 2
            k += 1
        while k < len(q):
            k += 1
        return z + k

    f = stage.static(f)
    stage(f, x())
    stage(f, x())
    q.n.clear()
    stage(f, x())
    q.n.extend([1] * 5)
    stage(f, x())


@footgun
def while_outer_popped(stage):
    q = [3.0, 2.0]
    stage.watch(q)

    def f(z):
        while q:
            z = z * q.pop()
        return z

    f = stage.static(f)
    stage(f, x())
    q.append(5.0)
    stage(f, x())
    stage(f, x())


@footgun
def while_tensor_and_list(stage):
    q = [3.0]

    def f(z):
        while q and z.sum() < 50:
            z = z * 2
        while z.sum() < 100 and q:
            z = z * 2
        while z.sum() < 100 or not q:
            z = z + 100
            if not q:
                return z
        return z

    f = stage.static(f)
    stage(f, x())
    q.clear()
    stage(f, x())
    q.append(1)
    stage(f, x(5.0, 6.0, 7.0))


@footgun
def outer_list_in_tensor_loop(stage):
    log = []
    stage.watch(log)
    d = {}
    stage.watch(d)

    def f(z):
        while z.sum() < 50:
            log.append(1)
            z = z * 2 + len(log)
        return z

    f = stage.static(f)
    stage(f, x())
    stage(f, x())
    log.clear()
    stage(f, x())


@footgun
def bool_of_dirty(stage):
    parts = []
    d = {}
    s = set()
    dq = collections.deque(maxlen=2)
    stage.watch([parts, d, s, list(dq)])

    def f(z):
        if z.sum() > 0:
            parts.append(1)
            d["a"] = 1
            s.add(1)
            dq.append(z.sum().item())
        r = z
        if parts:
            r = r + 1
        if d:
            r = r + 10
        if s:
            r = r + 100
        if dq:
            r = r + 1000
        if not parts or (d and s):
            r = r * 2
        return (r + len(parts) + len(d) + len(s) + len(dq), parts and d, s or 3)

    f = stage.static(f)
    stage(f, x(-1.0, -1.0))
    stage(f, x(1.0, 1.0))
    parts.clear()
    s.clear()
    stage(f, x(-1.0, -1.0))
    dq.clear()
    d.clear()
    stage(f, x(-1.0, -1.0))
    stage(f, x(1.0, 1.0))


@footgun
def isinstance_of_an_unknown_result(stage):
    kept = ["a", 2, 0.5, True]

    def f(z):
        last = kept.pop()
        return z * 2 if isinstance(last, float) else z * 3 if isinstance(last, int) else z

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())
