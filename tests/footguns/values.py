"""Values that are equal and not the same: numbers, strings, None, containers as arguments and in the closure."""


from __future__ import annotations

import decimal
import enum
import fractions
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, x

Pair = namedtuple("Pair", "first second")
OtherPair = namedtuple("OtherPair", "first second")


@dataclass
class Options:
    scale: Any
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Frozen:
    scale: Any


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def shown(z, k):
    return z * 1.0, k, type(k).__name__, repr(k)


def _called_with(stage, function, *values):
    f = stage.static(function)
    for value in (*values, *reversed(values)):
        stage(f, x(), value)


@footgun
def minus_one_and_minus_two(stage):
    _called_with(stage, shown, -1, -2)


@footgun
def one_in_three_types(stage):
    _called_with(stage, shown, 1, 1.0, True, np.float32(1), np.int64(1), 1 + 0j)


@footgun
def nan_with_a_sign(stage):
    box = Box(value=0.0)
    f = stage.static(lambda z: z * math.copysign(1.0, box.value))
    for box.value in (math.nan, -math.nan, math.nan, -0.0, 0.0):
        stage(f, x())


@footgun
def zeros_and_nan(stage):
    _called_with(stage, shown, 0.0, -0.0, float("nan"), -float("nan"), 0, False)


@footgun
def zeros_and_nan_in_arithmetic(stage):
    def f(z, k):
        return z * k, 1.0 / (z * k)

    _called_with(stage, f, 0.0, -0.0, float("nan"), 0, float("inf"))


@footgun
def signed_zeros_in_containers(stage):
    def f(z, k):
        return z * k[0], z * k[1][0]

    _called_with(stage, f, (0.0, [1.0]), (-0.0, [1.0]), (0.0, [-0.0]), [0.0, [1.0]], (0.0, (1.0,)))


@footgun
def complex_parts(stage):
    _called_with(stage, shown, complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, -0.0), complex(float("nan"), 0))


@footgun
def big_ints(stage):
    _called_with(stage, shown, 2**70, 2**70 + 1, -(2**70), 2**63, 2.0**70)


@footgun
def big_ints_that_become_inputs(stage):
    def f(z, k):
        return z, k % 7, k * 2

    f = stage.static(f)
    for k in (5, 6, 7, 8, 2**70, 2**71, -1, -2):
        stage(f, x(), k)


@footgun
def strings_and_bytes(stage):
    _called_with(stage, shown, "a", "b", b"a", "", None, "None")


class _Text(str):
    pass


@footgun
def subclasses_of_builtins(stage):
    class Number(int):
        def __mul__(self, other):
            return 100

    def f(z, k):
        return z, k * 2, type(k).__name__

    _called_with(stage, f, 3, Number(3), 4, Number(4))


@footgun
def none_and_values(stage):
    def f(z, k):
        return z if k is None else z * 2 if k else z * 3

    _called_with(stage, f, None, 0, 1, False, True, "", "a", (), [1], [])


@footgun
def tensor_or_number(stage):
    def f(z, k):
        return z * k

    f = stage.static(f)
    for k in (2.0, x(2.0), 2, x(2.0), 3.0, None):
        stage(f, x(), k)


@footgun
def enums(stage):
    _called_with(stage, shown, Level.LOW, Level.HIGH, 1, 2)


@footgun
def decimals_and_fractions(stage):
    def f(z, k):
        return z * float(k), str(k)

    _called_with(stage, f, decimal.Decimal("1.0"), decimal.Decimal("1.00"), fractions.Fraction(1), 1)


@footgun
def tuples_and_lists(stage):
    def f(z, k):
        return [z * part for part in k], type(k).__name__

    _called_with(stage, f, (1.0, 2.0), [1.0, 2.0], (1.0,), [1, 2], (1.0, 2.0, 3.0))


@footgun
def namedtuples(stage):
    def f(z, k):
        return z * k[0] + k[1], type(k).__name__, getattr(k, "first", None)

    _called_with(stage, f, Pair(1.0, 2.0), OtherPair(1.0, 2.0), (1.0, 2.0), Pair(2.0, 1.0))


@footgun
def dataclasses(stage):
    def f(z, k):
        return z * k.scale

    _called_with(stage, f, Options(2.0), Options(3.0), Frozen(2.0), Options(2), Options(x(2.0)))


@footgun
def dataclass_changed_between_calls(stage):
    def f(z, k):
        return z * k.scale + len(k.names)

    options = Options(2.0)
    f = stage.static(f)
    stage(f, x(), options)
    options.scale = 3.0
    stage(f, x(), options)
    options.names = ("a", "b")
    stage(f, x(), options)


@footgun
def dicts_by_order_and_type_of_keys(stage):
    def f(z, k):
        return [z * value for value in k.values()], list(k)

    _called_with(stage, f, {"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}, {1: 1.0}, {True: 1.0}, {1.0: 1.0}, {})


@footgun
def numbers_in_nested_arguments(stage):
    def f(z, k):
        return z * k["a"][0]["b"]

    f = stage.static(f)
    for number in (1.0, 2.0, 3.0, -1, -2, True, 4.0):
        stage(f, x(), {"a": [{"b": number}]})


@footgun
def sets_as_arguments(stage):
    def f(z, k):
        return z * 2 if 1 in k else z

    _called_with(stage, f, {1}, {2}, frozenset({1}), set(), {True})


@footgun
def slices_and_ellipsis(stage):
    def f(z, k):
        return z[k]

    _called_with(stage, f, slice(0, 2), slice(1, 3), 0, 1, -1, ..., (0,), [0, 2], None)


@footgun
def dtypes_and_types(stage):
    def f(z, k):
        return z.astype(k)

    _called_with(stage, f, "float32", "float64", np.float32, np.dtype("float64"), float)


@footgun
def functions_as_arguments(stage):
    def f(z, k):
        return k(z)

    _called_with(stage, f, lambda z: z * 2, lambda z: z * 3, len, np.shape)


@footgun
def functions_made_again_by_a_factory(stage):
    def scaled(k):
        return lambda z: z * k

    def f(z, k):
        return k(z)

    f = stage.static(f)
    for k in (2.0, 3.0, 2.0, -1, -2):
        stage(f, x(), scaled(k))


@footgun
def numbers_compared_once_they_are_inputs(stage):
    def f(z, k):
        return z * k if k > 3 else z

    f = stage.static(f)
    for k in (1, 2, 3, 4, 5, -1, 7, 3):
        stage(f, x(), k)


@footgun
def numbers_that_index_once_they_are_inputs(stage):
    weights = [1.0, 2.0, 3.0, 4.0, 5.0]

    def f(z, k):
        return z * weights[k]

    f = stage.static(f)
    for k in (0, 1, 2, 3, 4, -1, 0, 7):
        stage(f, x(), k)


@footgun
def numbers_that_are_axes_once_they_are_inputs(stage):
    def f(z, k):
        return (z.reshape([1, 3, 1]) * 2).sum(k)

    f = stage.static(f)
    for k in (0, 1, 2, -1, 0, 5):
        stage(f, x(), k)


@footgun
def numbers_that_are_sizes_once_they_are_inputs(stage):
    import d2s

    def f(z, k):
        return z.sum() + d2s.ones([k]), [z] * k, "a" * k

    f = stage.static(f)
    for k in (1, 2, 3, 4, 0, 5):
        stage(f, x(), k)


@footgun
def numbers_used_as_keys_once_they_are_inputs(stage):
    def f(z, k):
        names = {1: 2.0, 2: 3.0, 3: 4.0, 4: 5.0}
        return z * names[k], k in names, {k: z}

    f = stage.static(f)
    for k in (1, 2, 3, 4, 1):
        stage(f, x(), k)


@footgun
def numbers_asked_for_identity_and_type(stage):
    def f(z, k):
        return z, k is None, type(k) is int, isinstance(k, float), k == 3, k != 3, bool(k), str(k), f"{k:>3}"

    f = stage.static(f)
    for k in (1, 2, 3, 4, 0, 3):
        stage(f, x(), k)


@footgun
def int_becomes_bool_becomes_float(stage):
    def f(z, k):
        return z * k, k + 1

    f = stage.static(f)
    for k in (1, 2, 3, 4, True, 5, 5.0, False, 0, -0.0, 0.0):
        stage(f, x(), k)


@footgun
def overflow_of_a_number(stage):
    def f(z, k):
        return z.astype("int64") + k

    f = stage.static(f)
    for k in (1, 2, 3, 4, 2**31, 2**62, 2**80):
        stage(f, x(), k)


@footgun
def division_by_a_number_that_becomes_zero(stage):
    def f(z, k):
        return z * (6 // k), 6 / k

    f = stage.static(f)
    for k in (1, 2, 3, 4, 0, 5):
        stage(f, x(), k)


@footgun
def dict_with_the_value_of_a_tensor_as_key(stage):
    def f(z, k):
        names = {1: 2.0, 2: 3.0}
        names[k.item()] = 4.0
        return z * len(names)

    stage(stage.static(f), x(), d2s.to_tensor(1))


@footgun
def set_of_values_of_tensors(stage):
    def f(z, k):
        return z * len({k.item(), 1})

    stage(stage.static(f), x(), d2s.to_tensor(1))


@footgun
def text_of_a_tensor_as_a_dict_key(stage):
    def f(z):
        return {f"{z.sum().item():.1f}": z}

    stage(stage.static(f), x())
