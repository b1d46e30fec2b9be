"""More of them: masks, sizes, classes, tools of the library, displays, numbers."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import typing

import d2s
from tests.corpus.register import LOG, program


@program
def tensor_in_dict_key_lookup(x, n):
    table = {0: x, 1: x * 2, 2: x + 5, 3: -x, 5: x * x}
    k = int(n) if not isinstance(n, int) else n
    return (table.get(k, x * 0), k in table)


@program
def early_exit_flags(x, y, c):
    found, idx = (False, -1)
    for i, v in enumerate(x):
        if v > c and (not found):
            found, idx = (True, i)
    if found:
        return y * idx
    return y


@program
def bool_tensor_masks(x, y, c):
    m = (x > c) & (y > 0) | ~(x > 1)
    z = d2s.where(m, x, y)
    if m.any():
        z = z + 1
    if not m.all():
        z = z * 2
    return (z, m)


@program
def in_place_in_branches(x, c, n):
    y = x * 1
    if c > 0:
        y[0] = 5.0
        y[1:] += 1
    else:
        y.add_(x)
    for i in range(n):
        y[i % 3] = y[i % 3] * 2
    return y * x


@program
def dataclass_post_init(x, c):

    @dataclasses.dataclass
    class Box:
        v: typing.Any
        scale: float = 2.0
        out: typing.Any = dataclasses.field(init=False)

        def __post_init__(self):
            if c > 0:
                self.out = self.v * self.scale
            else:
                self.out = self.v / self.scale

        def __add__(self, other):
            return Box(self.v + other.v, self.scale)
    b = Box(x) + Box(x, 3.0)
    return (b.out, b.scale, b.v)


@program
def properties_and_setters(x, c):

    class Temp:

        def __init__(self, v):
            self._v = v

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, new):
            if c > 0:
                self._v = new
            else:
                self._v = self._v - new
    t = Temp(x)
    t.v = x * 3
    t.v += 1
    return t.v


@program
def super_and_mro(x, c):

    class A:

        def f(self, v):
            return v + 1

    class B(A):

        def f(self, v):
            r = super().f(v)
            return r * 2 if c > 0 else r

    class C(A):

        def f(self, v):
            return super().f(v) - 3

    class D(B, C):

        def f(self, v):
            return super().f(v) * 0.5
    return D().f(x)


@program
def functools_tools(x, y, c):
    add = functools.partial(operator.add, x)
    r = functools.reduce(lambda a, b: a * b if c > 0 else a + b, [x, y, x])
    return (add(y), r, functools.partial(lambda a, k=1: a * k, k=3)(x))


@program
def accumulate_and_pairwise(x, y, c):
    out = []
    for a, b in itertools.pairwise([x, y, x + y]):
        out.append(a - b if c > 0 else b)
    acc = list(itertools.accumulate([x, y, x]))
    return (out, acc[-1])


@program
def product_loops(x, c):
    total = x * 0
    for i, j in itertools.product(range(2), range(3)):
        if i == j:
            continue
        if total.sum() > c * 4:
            break
        total = total + x * i - j
    return total


@program
def assert_with_message(x, c):
    assert x.shape[0] == 3, 'three'
    assert c < 2.5, f'c is too large: {float(c):.1f}'
    return x * c


@program
def logging_in_turns(x, n):
    i = 0
    while i < n:
        LOG.append((float(x.sum()), int(i)))
        x = x * 1.1
        i = i + 1
    print('done', x.shape, f'{x.sum():.2f}')
    return x


@program
def none_until_found(x, c):
    best = None
    for v in x:
        if v > c:
            if best is None or v > best:
                best = v
    return x if best is None else x * best


@program
def optional_arguments(x, c):

    def f(v, mask=None, *, scale: float | None=None):
        if mask is not None:
            v = v * mask
        if scale is None:
            scale = 2.0 if c > 0 else 0.5
        return v * scale
    return (f(x), f(x, x > 0), f(x, scale=3.0))


@program
def dict_and_set_comprehensions(x, y, c):
    d = {k: v * 2 for k, v in {'a': x, 'b': y}.items() if v.sum() > c}
    s = {i for i, v in enumerate(x) if v > 0}
    inv = {v: k for k, v in zip('ab', range(2))}
    return (d, s, inv)


@program
def list_methods(x, y, c):
    items = [x, y]
    items.insert(0, x + y)
    if c > 0:
        items.reverse()
        last = items.pop()
    else:
        last = items[0]
        items.extend([x, x])
    del items[0]
    return (len(items), last, items)


@program
def slices_with_run_values(x, n):
    y = d2s.concat([x, x, x])
    k = n + 1
    return (y[:k].sum(), y[k:].sum(), y[k], [x, x * 2, x * 3, x, x, x, x][:int(n)])


@program
def numeric_conversions(x, n, c):
    i = int(c) + int(n)
    f = float(n) / 2
    b = bool(n)
    return (x * i + f, i // 2, f, b, round(float(c), 1), divmod(i, 2), abs(i), i ** 2, -i)


@program
def del_and_rebind(x, c):
    y = x * 2
    z = y + 1
    del y
    if c > 0:
        y = z
    else:
        y = x
    del z
    return y


@program
def star_expressions(x, y, c):
    a = [x, *([y] if c > 0 else []), x]
    b = {**{'k': x}, **({'z': y} if c > 0 else {})}
    t = (*a, 1)
    return (len(a), sorted(b), t[-2])


@program
def lambda_conditions(x, c):
    pick = (lambda v: v * 2) if c > 0 else lambda v: v - 2
    return (pick(pick(x)), (lambda *a, **k: a[0] + k.get('q', 1))(x, q=2))


@program
def method_chaining(x, c):

    class Chain:

        def __init__(self, v):
            self.v = v

        def then(self, f, when=True):
            if when:
                self.v = f(self.v)
            return self

        def __getitem__(self, i):
            return self.v[i]

        def __len__(self):
            return len(self.v)

        def __iter__(self):
            return iter(self.v)

        def __contains__(self, q):
            return any((v == q for v in self.v))

        def __call__(self, k):
            return self.v * k

        def __bool__(self):
            return bool(self.v.sum() > 0)
    ch = Chain(x).then(lambda v: v + 1).then(lambda v: v * 3, when=c > 0)
    return (ch(2), len(ch), ch[0], sum(ch), 2.0 in ch, x if ch else -x)
