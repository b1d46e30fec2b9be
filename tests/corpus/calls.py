"""Calls: helpers, methods, `super`, properties, callables, recursion, generators, context managers, builtins."""

from __future__ import annotations

import contextlib
import functools
import math

import d2s
from tests.corpus.register import LOG, made, program


def helper(z, c, /, *, scale=2.0):
    if c > 0:
        return z * scale
    return z + scale


def early(z, c):
    if c > 1:
        return z * z
    if c > 0:
        return z * 2
    return z


class Base:
    factor = 2.0

    def __init__(self, bias):
        self.bias = bias

    def scaled(self, z):
        return z * self.factor

    def __call__(self, z, c):
        return self.scaled(z) + c

    @property
    def double(self):
        return self.bias * 2

    @staticmethod
    def squared(z):
        return z * z

    @classmethod
    def made_by_class(cls, bias):
        return cls(bias)


class Derived(Base):
    def scaled(self, z):
        if z.sum() > 1:
            return super().scaled(z) * z
        return super().scaled(z)


class Deepest(Derived):
    def scaled(self, z):
        return super().scaled(z) + self.double


@program
def helper_with_branch(x, c):
    return helper(x, c) + helper(x * x, c, scale=3.0)


@program
def helper_with_early_returns(x, c):
    return early(x, c) * early(x, -1)


@program
def helper_in_a_loop(x, c, n):
    for i in range(n):
        x = early(x, c) + i
    return x


@program
def method_and_super(x, c):
    return Deepest(0.5)(x, c)


@program
def classmethod_and_staticmethod(x, c):
    made_ = Derived.made_by_class(c)
    return made_.scaled(Base.squared(x)) + made_.bias


@program
def property_in_a_condition(x, c):
    thing = Base(c)
    if thing.double > 2:
        return x * thing.double
    return x


@made
def method_of_an_outer_object():
    thing = Deepest(0.25)

    def f(x, c):
        return thing(x, c) if c > 0 else thing.scaled(x)

    return f


@program
def partial(x, c):
    f = functools.partial(helper, scale=4.0)
    return f(x, c)


@program
def stars(x, y, c):
    def collect(*args, **kwargs):
        if c > 0:
            return args[0] * kwargs["y"]
        return args[0] + kwargs["y"]

    return collect(*[x], y=y)


@program
def recursion_with_python_depth(x, c):
    def power(z, k):
        if k == 0:
            return z * c
        return power(z * x, k - 1)

    return power(x, 3)


@program
def immediately_called_lambda(x, c):
    return (lambda z: z * c if c > 0 else z)(x)


@program
def generator(x, c):
    def parts():
        yield x
        yield x * c
        yield x * x

    z = x
    for part in parts():
        z = z + part
    return z


@program
def generator_with_condition_outside(x, c):
    def parts():
        for i in range(3):
            yield x * i

    z = x
    for part in parts():
        if c > 0:
            z = z + part
        else:
            z = z - part
    return z


@contextlib.contextmanager
def noted(name):
    LOG.append(("enter", name))
    try:
        yield name
    finally:
        LOG.append(("exit", name))


class Manager:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        LOG.append(("enter", self.name))
        return self

    def __exit__(self, *details):
        LOG.append(("exit", self.name, details[0] is not None))
        return details[0] is KeyError


@program
def with_contextmanager(x, c):
    with noted("a") as name, noted("b"):
        LOG.append(name)
        z = x * c
    return z


@program
def return_in_with(x, c):
    with Manager("m"):
        if c > 0:
            return x * x
        z = x * 2
    return z


@program
def with_in_a_branch(x, c):
    if c > 0:
        with Manager("m") as manager:
            x = x * 2
            LOG.append(manager.name)
    return x


@program
def no_grad_block(x, c):
    with d2s.no_grad():
        scale = x * c
        if c > 0:
            scale = scale * 2
    return x * scale


@program
def decorated_no_grad(x, c):
    @d2s.no_grad()
    def scale(z):
        if c > 0:
            return z * z
        return z

    return x * scale(x)


@program
def sum_min_max(x, y, c):
    z = sum([x, y]) + max(1.0, 2.0) + min(3, 4)
    return z * max(c, 0.5)


@program
def any_and_all(x, c):
    if any(part > c for part in x):
        x = x * 2
    if all(part > -2 for part in x):
        x = x * x
    return x


@program
def map_and_filter(x, c):
    parts = list(map(lambda part: part * c, [x, x * x]))
    kept = list(filter(lambda part: part.sum() > 1, parts))
    return sum(kept, x)


@program
def numbers_from_tensors(x, c, n):
    scale = float(c) * 2 + int(n)
    if scale > 2:
        return x * scale
    return x + scale


@program
def math_on_items(x, c):
    return x * math.exp(x[0].item()) + math.floor(float(c))


@program
def abs_and_round(x, c):
    return abs(x) * abs(c)


@program
def isinstance_and_hasattr(x, c):
    if isinstance(x, d2s.Tensor) and hasattr(x, "shape") and callable(x.sum):
        return x * len(x) + getattr(x, "ndim")
    return x


@program
def shape_arithmetic(x, c):
    rows = x.shape[0]
    z = x.reshape([rows, 1]) * x.reshape([1, rows])
    if c > 0:
        z = z.reshape([-1])
    return z / rows


@made
def function_from_a_factory():
    def factory(scale):
        def scaled(z, c):
            if c > 0:
                return z * scale
            return z - scale

        return scaled

    twice, thrice = factory(2.0), factory(3.0)

    def f(x, c):
        return twice(x, c) * thrice(x, c)

    return f


@program
def user_decorator(x, c):
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args):
            LOG.append(("call", function.__name__))
            result = function(*args)
            if c > 0:
                result = result * 2
            return result

        return wrapper

    @logged
    def square(z):
        return z * z

    return square(x)


@program
def iterator_advanced_in_branches(x, c):
    parts = iter([x, x * 2, x * x])
    if c > 0:
        z = next(parts)
    else:
        z = next(parts) * 10
    return z + next(parts)


@program
def generator_advanced_in_a_branch(x, c):
    def parts():
        yield x
        yield x * 2

    found = parts()
    z = x
    if c > 0:
        for part in found:
            z = z * part
    return z, list(found)


@program
def zip_advanced_in_a_branch(x, c, n):
    pairs = zip([1, 2, 3], [x, x * 2, x * x], strict=True)
    scale = 1
    if c > 0:
        if n > 0:
            scale, x = next(pairs)
    return scale * x, next(pairs)[0]


@program
def generator_with_effects_and_a_break(x, c):
    def parts():
        for i in range(4):
            LOG.append(i)
            yield x * i

    z = x
    for part in parts():
        if part.sum() > c:
            break
        z = z + part
    return z


@program
def iterator_advanced_in_a_tensor_loop(x, n):
    parts = iter([x, x * 2, x * x])
    for i in range(n):
        x = x + next(parts)
    return x


@program
def sizes_of_the_run_that_keep_an_axis(x, n):
    k = int(n) * 0
    first = x.reshape([k, -1])
    try:
        second = x.reshape([-1, int(n)])
    except d2s.ShapeError:
        second = x
    return first * 2, second.sum()
