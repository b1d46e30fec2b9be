"""Constructs one by one, for what no other program of the corpus shows on its own."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import itertools
import logging
import typing
import warnings
from collections import namedtuple

import numpy as np

import d2s
from tests.corpus.register import LOG, made, program, refused

Pair = namedtuple("Pair", "a b")


def told(value):
    LOG.append(value)
    return value


class Thing:
    def __init__(self, v):
        self.v, self.seen = v, []

    def add(self, k):
        self.v = self.v + k
        self.seen.append(k)


# --- conditions ------------------------------------------------------------------------


@program
def operands_of_and_and_or(x, y, c, n):
    return (c and x), (c or x), (not c), (c and n and x), (c or n or y)


@program
def middle_term_is_evaluated_once(x, c):
    return x if 0 < told(c) < 5 else -x


@program
def python_number_becomes_a_tensor_in_the_test(x, c):
    k = 0
    while k < 3:
        x, k = x * 1.5, k + c * 0 + 1
    return x, k


@program
def while_true_and_a_tensor_break(x, c):
    while True:
        x = x + 1
        if x.sum() > c + 9:
            break
    return x


# --- loops -----------------------------------------------------------------------------


@program
def enumerate_from_a_number_of_the_run(x, n):
    total = 0
    for i, row in enumerate(x, start=n):
        total = total + row * i
    for i, row in enumerate([x, x * 2], int(n)):
        total = total + row * i
    return total


@program
def reversed_of_everything(x, n):
    for i in reversed(range(n)):
        x = x * 0.5 + i
    for row in reversed(x):
        x = x * 0.5 + row
    for k in reversed([1, 2]):
        x = x + k
    return x


@program
def count_with_start_step_and_break(x, c):
    for i in itertools.count(2, 3):
        x = x + i
        if x.sum() > c + 10:
            break
    return x, i


@program
def exits_through_nested_finally(x, n):
    for i in range(n):
        try:
            for j in range(3):
                try:
                    if x.sum() > 5:
                        break
                    if j == 1:
                        continue
                    x = x + 1
                finally:
                    LOG.append((j, hasattr(i, "real")))
            else:
                x = x * 1.1
        finally:
            x = x + 0.1
        if x.sum() > 8:
            return x * 2
    return x


# --- recursion -------------------------------------------------------------------------


@program
def recursion_of_twenty_calls(x):
    def deep(x, k):
        return x if k == 0 else deep(x * 1.1 + k, k - 1)

    return deep(x, 20)


@refused
def recursion_that_a_tensor_stops(x, n):
    def down(x, k):
        return x if k <= 0 else down(x + 1, k - 1)

    return down(x, n)


# --- names -----------------------------------------------------------------------------


@program
def function_bound_in_one_branch(x, c):
    if c > 0:
        def double(v):
            return v * 2
    return double(x)


@program
def none_before_and_compared(x):
    best = None
    for row in x:
        if best is None or row > best:
            best = row
    return best


# --- containers ------------------------------------------------------------------------


@program
def object_and_dict_through_helpers(x, c):
    def put(table, key, value):
        table[key] = value

    thing, table, members = Thing(x), {"a": x}, {1}
    if c > 0:
        thing.add(2)
        put(table, "a", x * 2)
        members.add(2)
    else:
        thing.w = x
        put(table, "b", x)
    return thing.v, thing.seen, table, members, getattr(thing, "w", None)


@program
def writes_with_ellipsis_masks_and_index_tensors(x, y, c, n):
    z = x * 1
    z[...] = c * 2.0
    z[y > c] = 0.5
    z[y <= c] *= 2
    many = d2s.zeros([6])
    many[n] = x.sum()
    return z, many


@program
def nested_comprehensions_with_conditions(x, y, c):
    return [[a * b for b in y[:1] if b > c] for a in x[:2]], {i: a for i, a in enumerate(x[:2]) if c > i}, {
        i for i in range(4) if i > 1}


@program
def names_rebound_behind_closures(x, c, n):
    k = 1
    scaled = lambda: x * k
    if c > 0:
        k = 5
    return scaled(), sum(f(x) for f in [lambda v: v + i * n for i in range(3)])


# --- text and match --------------------------------------------------------------------


@program
def text_with_specs_and_names(x, c, n):
    print(f"{float(c):>8.3f} {n=} {x.sum():.2e} {c!r:>10} {float(c):{8}.{2}f} {int(n):03d}")
    return f"v{n}", x


@program
def match_on_numbers_of_the_run(x, n):
    match n:
        case 0:
            return x
        case 1 | 2:
            return x * 2
        case k if k > 4:
            return x * k
        case _:
            return -x


@program
def match_with_a_guard_and_a_capture(x, c):
    match {"k": [c, x], "more": 1}:
        case {"k": [k, t], **rest} if k > 0:
            return t * k, rest
        case {"k": [_, t]}:
            return -t


# --- errors and messages ---------------------------------------------------------------


@program
def raise_with_two_arguments(x, c):
    if c < 0:
        raise KeyError("k", 3)
    return x


@program
def print_log_and_warn(x, c):
    print(x, c)
    logging.getLogger("rows").warning("x %s", c)
    warnings.warn(f"w {float(c)}", stacklevel=1)
    return x


# --- values ----------------------------------------------------------------------------


@program
def numbers_are_not_differentiated(x, c, n):
    k = int(x.sum())
    for _ in range(int(n)):
        x = x * 1.1
    return x * int(c * 3), x * float(x.sum()), x * bool(c), x * x.sum().item(), x * float(x.numpy()[0]), x.tolist(), (
        d2s.zeros([x.shape[0] * 2]) + len(x)), k % 2 == 1, str(int(n))


@program
def list_and_dict_at_numbers_of_the_run(x, n):
    return [x, x * 2, x * 3, x * 4, x * 5, x * 6][int(n)], {k: x * k for k in range(6)}[int(n)], [x] * int(n)


@program
def tuple_cut_at_a_number_of_the_run(x, n):
    return (x, x * 2)[: int(n)]


@refused
def step_of_a_tuple_that_only_the_run_knows(x, n):
    return (x, x * 2)[:: int(n) + 1] if isinstance(n, d2s.Tensor) else x


@refused
def name_that_only_the_run_knows(x, n):
    return getattr(x, "T" * int(n), x) if isinstance(n, d2s.Tensor) else x


@program
def list_cut_at_a_number_of_the_run(x, n):
    return [x, x * 2][: int(n)], [x, x * 2][int(n) % 2 :]


@program
def key_that_only_the_run_knows(x, n):
    return {int(n): x}, {int(n), 2} == {2}


@program
def builtins_on_tensors_and_numbers(x, y, c, n):
    return (
        isinstance(x, d2s.Tensor), isinstance(float(c), float), getattr(x, "nothing", 3), hasattr(x, "sum"),
        callable(x.sum), sum([x, y]), sum(x), max(c, n), all(x > c), list(map(lambda v: v * c, x)),
    )


@program
def builtins_that_ask_about_parts(x, c):
    return any(r > c for r in x), sorted([c, 0.3]), list(filter(lambda v: v > c, x[:2]))


@program
def smallest_and_largest(x, c):
    return min(x), max([r for r in x if r > c], default=x.sum())


@program
def sorted_with_a_key(x, c):
    return sorted(x, key=lambda v: (v - c) ** 2), min(x, key=lambda v: -v)


# --- functions and classes -------------------------------------------------------------


@program
def parameters_of_every_kind(x, c):
    def f(a, /, b=2, *args, k=1, **more):
        return a * b + sum(args) * k + sum(more.values())

    return f(x), f(x, c, 1, 2, k=c, z=x), f(x, **{"k": 3, "q": c}), f(*[x, c]), str(inspect.signature(f)), f.__name__


@made
def first_argument_of_another_name():
    class Scale:
        by = 3

        def apply(this, x, c):
            return x * this.by if c > 0 else x

    return Scale().apply


class Base:
    q = 3

    def f(self, x, c):
        return x + 1 if c > 0 else x

    @staticmethod
    def s(x):
        return x * 2

    @classmethod
    def k(cls, x):
        return x * cls.q

    @property
    def p(self):
        return 4


class Middle(Base):
    q = 5

    def f(self, x, c):
        return super().f(x, c) * 2


class Last(Middle):
    def f(self, x, c):
        if c > 0:
            return super(Last, self).f(x, c) + 1
        return super().f(x, c) * 3

    def __call__(self, x):
        return x * self.p


@program
def methods_of_every_kind(x, c):
    last = Last()
    return last.f(x, c), last.s(x), last.k(x), Middle.k(x), last(x), functools.partial(last.f, x)(c)


def scaling(k):
    def decorate(f):
        @functools.wraps(f)
        def wrapped(*args, **kwargs):
            LOG.append(k)
            return f(*args, **kwargs) * k
        return wrapped
    return decorate


@program
@scaling(2)
@scaling(3)
def decorators_below_to_static(x, c):
    return x if c > 0 else -x


@program
def lambdas_on_one_line(x, c):
    f, g = (lambda v: v * 2 if c > 0 else v), (lambda v: v * 3 if c > 1 else -v)
    return f(x), g(x)


# --- generators and coroutines ---------------------------------------------------------


@program
def generator_with_a_tensor_condition(x, c):
    def parts():
        for i in range(3):
            if c > i:
                yield x * i

    return list(parts())


@refused
def generator_with_a_tensor_loop(x, n):
    def parts():
        k = n
        while k > 0:
            yield x * k
            k = k - 1

    return sum(parts())


@program
def coroutine_that_runs_to_its_end(x, c):
    async def scaled(v):
        return v * 2

    async def work():
        if c > 0:
            return await scaled(x)
        return x

    return asyncio.run(work())


# --- other code ------------------------------------------------------------------------

_made: dict[str, typing.Any] = {}
exec("def plain(x, c):\n    return x * 3 if c > 0 else x", _made)
plain = _made["plain"]


@program
def function_without_source_inside(x, c):
    return plain(x, 1.0)


@program
def numpy_functions(x, c):
    return x * float(np.sqrt(4.0)) + np.ones(3, "float32"), np.arange(3), np.sum(x.numpy()) * x


@dataclasses.dataclass
class Held:
    a: typing.Any
    b: typing.Any = 3


@program
def results_of_every_kind(x, c):
    return {"t": (x, [x * 2, None, True, "s", 1, 2.5]), "p": Pair(x, c), "d": Held(x * 3), "n": np.arange(2),
            "z": 1 + 2j, "b": b"x"}


@program
def literals_and_low_indents(x):
    """Words	with a tab
  and a low indent.
"""
    a: int = 10**30
    b: float = -0.0
    c = 1 \
        + 2
    é = 3
    return x * c * é, a, b, 1e400, 0x10, 1_000, "é\n", rb"\x"
