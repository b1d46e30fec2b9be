"""Class patterns of ``match`` on numbers that only the run knows; classes are read when their pattern is reached."""

from __future__ import annotations

import d2s
from tests.corpus.register import LOG, program


@program
def classes_of_numbers_of_the_run(x, c):
    match float(c):
        case int():
            return x
        case float() as v if v > 1:
            return x + v
        case 0.0:
            return x * 3
        case _:
            return x - 1


@program
def number_as_part_of_its_class(x, n):
    match int(n):
        case bool():
            LOG.append("bool")
        case int(k) if k > 2:
            return x * k
        case 0:
            return x
        case str() | int() as k:
            return x + k, k


@program
def class_of_what_may_be_tensor(x, c):
    match c:
        case int() | float():
            kind = "number"
        case d2s.Tensor():
            kind = "tensor"
    return x * c, kind


@program
def classes_in_turns(x, n):
    state, turns = 0, 0
    while turns < n:
        match state:
            case int(s):
                state = s + x.sum().item()
            case float(s):
                state = int(s) % 2
        turns += 1
    return x * state, turns


@program
def class_of_the_user_with_parts(x, c):
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    point = Point(x, 1) if c > 0 else Point(x * 2, 2)
    match point:
        case Point(a, 1):
            return a
        case Point(a=a, b=b):
            return a * b


@program
def names_of_classes_read_when_reached(x, c):
    def named():
        LOG.append("read")
        return float

    class Kinds:
        @property
        def number(self):
            return named()

    kinds = Kinds()
    match c * 1.0 if not hasattr(c, "item") else c.item():
        case str():
            return x
        case kinds.number() as v:
            return x * v


@program
def no_class_in_a_pattern(x, c):
    kinds = (int, float)
    try:
        match float(c):
            case kinds():
                return x
    except TypeError as error:
        return x * 2, str(error)


@program
def class_of_an_attribute_that_turns_set(x, n):
    class Holder:
        value = None

    holder = Holder()
    for i in range(n):
        holder.value = "first" if holder.value is None else i
    return x, isinstance(holder.value, str), isinstance(holder.value, int | float), holder.value
