"""NumPy arrays from outside that are changed in place: as operands, indices, sizes, members, in conditions."""

from __future__ import annotations

import math

import numpy as np

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import x


@footgun
def numbers_of_arrays_and_library(stage):
    z0 = np.array(2.0)
    z1 = np.array([2])
    b = bytearray(b"12")

    def f(z):
        return (
            z
            + float(z0)
            + int(z1[0])
            + bool(z0)
            + int(b)
            + float(b)
            + abs(z0)
            + round(z0, 1)
            + complex(z0).real
            + np.float32(z0)
        )

    f = stage.static(f)
    stage(f, x())
    z0[...] = 7
    stage(f, x())
    b[:] = b"33"
    stage(f, x())
    z1[0] = 5
    stage(f, x())


@footgun
def index_by_array(stage):
    z0 = np.array(1)
    parts = [1.0, 2.0, 3.0]
    t = (5.0, 6.0, 7.0)

    def f(z):
        return z + parts[z0] + t[z0] + [4.0, 5.0, 6.0][z0]

    f = stage.static(f)
    stage(f, x())
    z0[...] = 2
    stage(f, x())
    z0 -= 2
    stage(f, x())


@footgun
def index_by_array2(stage):
    z0 = np.array(1)
    i = np.array([0, 2])
    k = np.array([True, False, True])

    def f(z):
        return z[z0] + z[i].sum() + z[k].sum() + z[z0:].sum()

    f = stage.static(f)
    stage(f, x())
    z0[...] = 2
    stage(f, x())
    i[0] = 1
    stage(f, x())
    k[1] = True
    stage(f, x())


@footgun
def sizes_by_array(stage):
    z0 = np.array(1)

    def f(z):
        for i in range(z0):
            z = z + 1
        return z.reshape([z0, 3]) if z0 == 1 else z

    f = stage.static(f)
    stage(f, x())
    z0[...] = 2
    stage(f, x())


@footgun
def sizes_by_array3(stage):
    z0 = np.array(1)

    def f(z):
        return d2s.ones([int(z0)]) + z.sum()

    f = stage.static(f)
    stage(f, x())
    z0[...] = 2
    stage(f, x())


@footgun
def text_by_array(stage):
    z0 = np.array(1)

    def f(z):
        return (z, "a" * z0, f"{z0}", str(z0), "%d" % z0, "{}".format(z0), [0] * z0)

    f = stage.static(f)
    stage(f, x())
    z0[...] = 2
    stage(f, x())


@footgun
def min_max_math_by_array(stage):
    z0 = np.array(2.0)
    parts = [z0, np.array(7.0)]

    def f(z):
        return (
            z
            + min(z0, 3)
            + max(parts)
            + math.sqrt(z0)
            + pow(z0, 2)
            + divmod(z0, 2)[1]
            + sum([z0])
            + sum(parts)
            + sorted(parts)[0]
        )

    f = stage.static(f)
    stage(f, x())
    z0[...] = 9
    stage(f, x())
    parts[1][...] = 20
    stage(f, x())


@footgun
def membership_by_array(stage):
    z0 = np.array(2.0)
    parts = [np.array(5.0)]
    t = (np.array(5.0), 1)

    def f(z):
        return (
            z
            + (1 if z0 in [2.0] else 2)
            + (10 if 5.0 in parts else 20)
            + (100 if 5.0 in t else 200)
            + (1000 if z0 == 2 else 0)
            + (5000 if z0 is parts[0] else 0)
            + parts.count(5.0)
        )

    f = stage.static(f)
    stage(f, x())
    z0[...] = 9
    stage(f, x())
    parts[0][...] = 20
    stage(f, x())


@footgun
def unpack_arrays(stage):
    a = np.array([1.0, 2.0])
    parts = [np.array([3.0, 4.0])]

    def f(z):
        p, q = a
        ((r, *s),) = parts
        for v in a:
            z = z + v
        m = [*a]
        d = dict(zip("ab", a))
        t = tuple(a)
        return z + p + q + r + s[0] + m[1] + d["a"] + t[0] + sum(v for v in a)

    f = stage.static(f)
    stage(f, x())
    a[0] = 9.0
    stage(f, x())
    parts[0][:] = 7.0
    stage(f, x())
    a[1] = -1.0
    stage(f, x())


@footgun
def attrs_by_array(stage):
    s = np.array([3, 1])
    ax = np.array(0)
    pm = np.array([0, 1])

    def f(z):
        return (
            z.reshape(s) + d2s.ones(s) * 2,
            z.reshape([1, 3]).transpose(pm),
            d2s.concat([z, z], axis=int(ax)),
            d2s.tile(z, s),
        )

    f = stage.static(f)
    stage(f, x())
    s[:] = [1, 3]
    stage(f, x())
    pm[:] = [1, 0]
    stage(f, x())


@footgun
def attrs_by_array_in_list(stage):
    n = np.array(3)
    cfg = {"shape": [np.array(3), 1]}

    def f(z):
        return (z.reshape([1, n]) + z.reshape(cfg["shape"]).sum(), d2s.full([int(n)], 2.0))

    f = stage.static(f)
    stage(f, x())
    n[...] = 1
    stage(f, x())
    n[...] = 3
    cfg["shape"][0][...] = 1
    stage(f, x())
    cfg["shape"][1] = 3
    stage(f, x())


@footgun
def operand_arrays(stage):
    i = np.array([0, 2])
    w = np.ones([3], "float32")
    y = np.array([1])

    def f(z):
        return (
            d2s.gather(z, d2s.to_tensor(i)),
            d2s.dot(z, d2s.to_tensor(w)),
            d2s.nn.functional.cross_entropy(z.reshape([1, 3]), d2s.to_tensor(y)),
            z[i],
            z.reshape([1, 3])[0, i],
        )

    f = stage.static(f)
    stage(f, x())
    i[:] = [1, 1]
    stage(f, x())
    w[:] = 5
    stage(f, x())
    y[0] = 2
    stage(f, x())


@footgun
def store_by_arrays(stage):
    i = np.array([0, 2])
    m = np.array([True, False, True])
    v = np.array([5.0, 6.0], "float32")

    def f(z):
        y = z * 1
        y[i] = 0.0
        u = z * 2
        u[m] = 7.0
        t = z * 3
        t[i] = d2s.to_tensor(v)
        return (y, u, t)

    f = stage.static(f)
    stage(f, x())
    i[:] = [1, 1]
    stage(f, x())
    i[:] = [1, 0]
    m[1] = True
    stage(f, x())
    v[0] = 50.0
    stage(f, x())


@footgun
def array_arguments_as_index(stage):

    def f(z, i, m):
        return (z[i], z[m], z[i[0]], z[m].sum() * len(i))

    f = stage.static(f)
    i = np.array([0, 2])
    m = np.array([True, False, True])
    stage(f, x(), i, m)
    i[0] = 1
    stage(f, x(), i, m)
    m[1] = True
    stage(f, x(), i, m)
    stage(f, x(), np.array([2, 2]), np.array([False] * 3))
    stage(f, x(), np.array([1, 0, 2]), m)


@footgun
def index_array_changed_inside(stage):
    i = np.array([0, 2])
    stage.watch(i)

    def f(z):
        r = z[i]
        i[0] = 1
        return r + z[i]

    f = stage.static(f)
    stage(f, x())
    stage(f, x())
    i[:] = 0
    stage(f, x())


@footgun
def shuffle_perm(stage):
    perm = np.arange(3)

    def f(z):
        return z[perm]

    f = stage.static(f)
    np.random.seed(0)
    for _ in range(5):
        np.random.shuffle(perm)
        stage(f, x())


@footgun
def perm_shuffled_inside(stage):
    perm = np.arange(3)

    def f(z):
        np.random.shuffle(perm)
        return z[perm]

    f = stage.static(f)
    np.random.seed(0)
    for _ in range(5):
        stage(f, x())
    np.random.seed(0)


@footgun
def star_arrays(stage):
    a = np.array([1.0, 2.0])

    def g(p, q):
        return p * q

    def f(z):
        return z + g(*a)

    f = stage.static(f)
    stage(f, x())
    a[0] = 9.0
    stage(f, x())


@footgun
def array_views_kept(stage):
    a = np.arange(6.0)
    v = a[2:4]
    d = {"v": v, "l": [a[1:]]}

    def f(z):
        return z + v[0] + d["v"][1] + d["l"][0][0] + float(d["l"][0].sum())

    f = stage.static(f)
    stage(f, x())
    a[:] = 9.0
    stage(f, x())
    v[0] = 5.0
    stage(f, x())


@footgun
def memoryview_bytearray(stage):
    b = bytearray(b"abc")
    m = memoryview(b)
    import array

    ar = array.array("d", [1.0, 2.0])

    def f(z):
        return z + b[0] + m[1] + ar[0] + len(b) + sum(b) + (1 if b == b"abc" else 2) + (5 if b"x" in b else 0)

    f = stage.static(f)
    stage(f, x())
    b[0] = 120
    stage(f, x())
    m[1] = 7
    stage(f, x())
    ar[0] = 9.0
    stage(f, x())


@footgun
def numpy_in_place(stage):
    a = np.array([1.0, 2.0, 3.0], "float32")
    o = np.array([1.0, "a", None], object)
    s = np.array(["a", "b"])
    st = np.zeros(2, [("p", "f4"), ("q", "i4")])
    z0 = np.array(2.0)

    def f(z):
        r = z * d2s.to_tensor(a) + a[0] + a.sum() + float(a.max())
        if a[1] > 5:
            r = r * 2
        if s[0] == "c":
            r = r + 100
        r = r + o[0] + st["p"][0] + float(z0) + z0.item()
        return r

    f = stage.static(f)
    stage(f, x())
    a[1] = 10
    stage(f, x())
    a[:] = 0
    stage(f, x())
    s[0] = "c"
    stage(f, x())
    o[0] = 5.0
    stage(f, x())
    st["p"][0] = 4
    stage(f, x())
    z0[...] = 8
    stage(f, x())
    a.resize(4, refcheck=False)
    stage(f, x())
