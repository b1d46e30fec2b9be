"""What users expect to work: exits, decorators, classes, formats, sizes, containers in branches."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import typing

import d2s
from tests.corpus.register import LOG, made, program, record


@program
def early_return_in_a_nested_loop(x, n, c):
    for i in range(4):
        for j in range(3):
            v = x * (i + 1) + j
            if v.sum() > 6 * n + c:
                v.register_hook(record('v', lambda g: g * g))
                return (v, i, j)
    return (x, -1, -1)


@program
def finally_returns_and_overrides(x, c):

    def inner():
        try:
            if c > 0:
                return x * 2
            raise ValueError('negative')
        finally:
            if c > 2:
                return x * 7
    try:
        return inner()
    except ValueError as e:
        return x + len(str(e))


@program
def return_in_finally_with_a_loop(x, n):
    total = x * 0
    try:
        for i in range(5):
            if i > n:
                break
            total = total + x * i
    finally:
        return total


@program
def continue_in_finally(x, n):
    total = x
    for i in range(4):
        try:
            total = total * 1.5
            if i < n:
                total = total + 1
        finally:
            if i == 2:
                continue
        total = total - 0.25
    return total


@program
def break_in_finally(x, n, c):
    i = 0
    while i < 5:
        try:
            x = x + 1
            if x.sum() > c * 5:
                i = i + 1
        finally:
            if i >= n:
                break
        i = i + 1
    return (x, i)


@program
def slices_of_text(x, n):
    s = 'abcdef'[:n]
    return (x, s, len(s))


@program
def walrus_in_while(x, n):
    i = 0
    while (total := (x.sum() * i)) < n:
        i += 1
        if i > 5:
            break
    return (total, i)


@program
def match_on_structure(x, y, c):

    def step(op):
        match op:
            case ['add', a, b]:
                return a + b
            case ['mul', a, b] if c > 0:
                return a * b
            case {'neg': a, **rest}:
                return -a + len(rest)
            case [a, *more]:
                return a * len(more)
            case _:
                return x
    return [step(('add', x, y)), step(('mul', x, y)), step({'neg': x, 'k': 1}), step([x, 1, 2]), step(3)]


@dataclasses.dataclass
class Point:
    a: typing.Any
    b: typing.Any = 0
    tags: list = dataclasses.field(default_factory=list)

    @property
    def norm(self):
        return (self.a * self.a).sum() + self.b

    def moved(self, by):
        return dataclasses.replace(self, a=self.a + by)


@program
def dataclasses_in_branches(x, c):
    p = Point(x)
    if c > 0:
        p = p.moved(c)
        p.tags.append('moved')
    else:
        p.b = c
    if p.norm > 10:
        p.tags.append('big')
    return (p.a, p.b, p.tags)

P = collections.namedtuple('P', 'left right', defaults=(1,))


@program
def namedtuples_in_loops(x, n):
    p = P(x)
    while n > 0:
        p = p._replace(left=p.left * 2, right=p.right + 1)
        n = n - 1
    return (p, p.left + p.right)


@program
def nested_functions_and_nonlocal(x, n, c):
    count = 0

    def step(v):
        nonlocal count
        if v.sum() > c:
            count += 1
            return v * 0.5
        count += 10
        return v + 1
    for _ in range(3):
        x = step(x)
    while n > 0:
        x = step(x)
        n = n - 1
    return (x, count)


def timed(*labels, **more):

    def wrap(f):

        @functools.wraps(f)
        def inner(*args, **kwargs):
            LOG.append((labels, f.__name__))
            result = f(*args, **kwargs)
            if result.sum() > 3:
                LOG.append('large')
                return result * more.get('scale', 1)
            return result
        return inner
    return wrap


@program
def decorators_with_arguments(x, c):

    @timed('a', 'b', scale=0.1)
    @timed()
    def f(v, k=2):
        return v * k if c > 0 else v - k
    return (f(x), f(x, k=3), f.__name__)


@program
def recursion_by_depth(x, c):

    def tree(v, depth):
        if depth == 0:
            return v
        left = tree(v * 0.5, depth - 1)
        if left.sum() > c:
            return left + tree(v + 1, depth - 1)
        return left - depth
    return tree(x, 3)


@program
def chained_comparisons(x, c, n):
    calls = []

    def mid():
        calls.append(1)
        return x.sum()
    a = 0 < mid() < c < 10
    if -1 < mid() <= n != 2:
        x = x * 2
    return (a, x, len(calls))


class Config:
    scale = 2.0
    history: list = []

    def __init__(self):
        self.steps = 0

    @classmethod
    def bump(cls, by):
        cls.scale = cls.scale + by
        return cls.scale


@made
def class_attributes():

    class Local(Config):
        pass

    def f(x, c):
        if c > 0:
            Local.bump(1)
        else:
            Local.scale = 0.5
        return x * Local.scale
    return f


@program
def fstrings_and_formats(x, c, n):
    s = f'{x.sum():.3f}|{n}|{c!r:>12}|{x.shape}'
    LOG.append(s)
    LOG.append('%s %d' % (n, 3))
    LOG.append('{:.1f}/{k}'.format(c, k=n))
    if c > 0:
        s += f'(x * 2).sum() = {(x * 2).sum()!r}'
    return (x, s)


@program
def reversed_zip_enumerate_on_tensors(x, y):
    out = 0
    for i, (a, b) in enumerate(zip(reversed(x), y), start=1):
        if a > b:
            out = out + a * i
        else:
            out = out - b
    return out


@program
def shape_arithmetic(x, y):
    n = x.shape[0]
    m = d2s.ones([n * 2, n + 1])
    _, *rest = m.shape
    return ((m.reshape([-1, n]) * x).sum() + math.prod(rest) + len(m.shape), m.ndim, m.size)


@program
def isinstance_and_hasattr(x, c):

    def as_tensor(v):
        if isinstance(v, d2s.Tensor):
            return v
        if isinstance(v, (int, float)) and (not isinstance(v, bool)):
            return d2s.full([3], v)
        if hasattr(v, '__len__'):
            return sum((as_tensor(e) for e in v), as_tensor(0.0))
        raise TypeError(type(v).__name__)
    return as_tensor(x) + as_tensor(2) + as_tensor([1.5, x]) + (as_tensor(c) if isinstance(c, d2s.Tensor) else 0)


@program
def dict_mutation_in_branches(x, c, n):
    state = {'x': x, 'log': []}
    if c > 0:
        state['y'] = x * 2
        state['log'].append('y')
        state.setdefault('k', []).append(n)
    elif n > 0:
        del state['log']
    if n > 1:
        state.update(x=state['x'] + 1, z=0)
    return state


@program
def star_args_and_kwargs(x, y, c):

    def f(a, *rest, scale=1, **more):
        total = a * scale
        for r in rest:
            if r.sum() > c:
                total = total + r
        for k in sorted(more):
            total = total * more[k]
        return total
    args = [x, y]
    kw = {'scale': 3, 'z': 2}
    if c > 0:
        args.append(x * y)
        kw['w'] = 0.5
    return (f(*args, **kw), f(*args[:1], x, **{'a1': 1.5}))
