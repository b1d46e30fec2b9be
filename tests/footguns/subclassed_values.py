"""Numbers and texts of subclasses of the user, and methods of objects that cannot be referred to weakly."""

from __future__ import annotations

import collections
import dataclasses

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, x


class Count(int):
    pass


class F(float):
    pass


class S(str):
    pass


class T(tuple):
    pass


class By(bytes):
    pass


class L(list):
    pass


class D(dict):
    pass


class Fz(frozenset):
    pass


@footgun
def int_subclass_argument(stage):

    def f(z, n):
        return z * n

    f = stage.static(f)
    for v in (Count(1), Count(2), Count(-1), Count(-2), 2, Count(2)):
        stage(f, x(), v)


@footgun
def subclass_arguments(stage):

    def f(z, n):
        return z + (n if isinstance(n, (int, float)) else len(n)) + (1 if n == 2 else 0) + (5 if n else 7)

    f = stage.static(f)
    for v in (
        F(1),
        F(2),
        F(0.0),
        F(-0.0),
        S("a"),
        S("bb"),
        S(""),
        T((1,)),
        T((1, 2)),
        By(b"aa"),
        L([1]),
        L([1, 2]),
        D(a=1),
        Fz([1]),
        Fz([1, 2]),
        F(2),
    ):
        stage(f, x(), v)


@footgun
def subclass_in_attr(stage):
    b = Box(n=Count(1))

    def f(z):
        return z * b.n + (3 if b.n > 1 else 4)

    f = stage.static(f)
    for b.n in (Count(1), Count(2), F(2.0), Count(-1), True, S("a") and 3):
        stage(f, x())


@footgun
def subclass_in_containers(stage):
    parts = [Count(1), S("a"), T((1,))]

    def f(z, k):
        return z * parts[0] + len(parts[1]) + parts[2][0] + k[0] + k[1].__len__()

    f = stage.static(f)
    stage(f, x(), [Count(1), S("a")])
    parts[0] = Count(2)
    stage(f, x(), [Count(1), S("a")])
    parts[1] = S("bb")
    stage(f, x(), [Count(3), S("a")])
    parts[2] = T((5,))
    stage(f, x(), [Count(3), S("aaaa")])


@footgun
def text_subclass(stage):

    def f(z, s):
        return (z, s.upper(), s + "x", f"{s}", s == "a", s in ("a", "b"), {"a": 1}.get(s, 2))

    f = stage.static(f)
    for s in (S("a"), S("b"), "a", S("a")):
        stage(f, x(), s)


@footgun
def numbers_in_ops(stage):

    def f(z, n):
        return (d2s.full([3], n) + z, z.reshape([1, 3]).sum(axis=n), z**n)

    f = stage.static(f)
    for v in (Count(0), Count(1), 1, 0, Count(-1)):
        stage(f, x(), v)


@footgun
def methods_of_number_subclass(stage):

    class M(int):
        def f(self, z):
            return z * self + self.bit_length() + int(self) + float(self)

    M.f = stage.static(M.f)
    for v in (1, 2, -1, -2, 2):
        stage(lambda z: M(v).f(z), x())


@footgun
def namedtuple_methods(stage):

    class N(collections.namedtuple("N", "a b")):
        __slots__ = ()

        def f(self, z):
            return z * self.a + self.b + self[0] + len(self)

    N.f = stage.static(N.f)
    for v in ((1.0, 2.0), (3.0, 2.0), (1.0, -0.0), (1, 2)):
        stage(lambda z: N(*v).f(z), x())


@footgun
def slotted_equal_instances(stage):

    @dataclasses.dataclass(frozen=True)
    class S:
        __slots__ = ("__weakref__", "a", "extra")
        a: float

        def __eq__(self, o):
            return True

        def __hash__(self):
            return 1

        def f(self, z):
            return z * self.a

    S.f = stage.static(S.f)
    for v in (2.0, 3.0, 4.0, 2.0):
        s = S(v)
        stage(s.f, x())


@footgun
def slotted_no_weakref(stage):

    class S:
        __slots__ = ("a",)

        def __init__(self, a):
            self.a = a

        def f(self, z):
            return z * self.a

    S.f = stage.static(S.f)
    for v in (2.0, 3.0, 4.0, 2.0):
        stage(lambda z: S(v).f(z), x())


@footgun
def slotted_unhashable(stage):

    class S:
        __slots__ = ("__weakref__", "a")

        def __init__(self, a):
            self.a = a

        def __eq__(self, o):
            return self.a == o.a

        def f(self, z):
            return z * self.a

    S.f = stage.static(S.f)
    for v in (2.0, 3.0, 4.0, 2.0):
        stage(lambda z: S(v).f(z), x())
