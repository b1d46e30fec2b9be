"""Branches: `if`, ternary, `and`, `or`, `not`, comparisons, `match`, names bound on some paths only."""

from __future__ import annotations

import d2s
from tests.corpus.register import LOG, program


@program
def if_else(x, c):
    if c > 0:
        z = x * x
    else:
        z = x * 3
    return z + x


@program
def if_without_else(x, c):
    z = x * 2
    if c > 0:
        z = z * z
    return z


@program
def elif_chain(x, y, c):
    if c > 2:
        z = x * y
    elif c > 0:
        z = x + y
    elif c == 0:
        z = x - y
    else:
        z = y * y
    return z * x


@program
def nested(x, y, c, n):
    z = x
    if c > 0:
        if n > 1:
            z = z * y
        else:
            z = z + y
        z = z * 2
    elif n > 2:
        z = -z
    return z


@program
def return_in_branches(x, c):
    if c > 0:
        return x * x
    return x * 3


@program
def none_on_some_paths(x, c):
    if c > 0:
        return x * 2
    if c == 0:
        return None


@program
def other_shapes_on_other_paths(x, c):
    if c > 0:
        return x.sum()
    if c == 0:
        return x.reshape([3, 1])
    return (x * x, x)


@program
def other_dtypes_on_other_paths(x, c):
    if c > 0:
        return x * 2
    return (x > 0).astype("int64")


@program
def argument_returned_on_one_path(x, c):
    if c > 0:
        return x
    return x * x


@program
def one_of_two_arguments(x, y, c):
    z = x if c > 0 else y
    return z * z, z


@program
def ternary(x, y, c):
    return x * y if c > 0 else x - y


@program
def nested_ternary(x, y, c):
    z = x if c > 1 else (y if c > 0 else x * y)
    return z * x


@program
def and_gives_operand(x, c):
    z = c and x
    return z * 2


@program
def or_gives_operand(x, c):
    z = c or x
    return z * 2


@program
def not_of_number(x, c):
    if not c:
        return x * x
    return -x


@program
def short_circuit(x, c, n):
    def noted(value):
        LOG.append("evaluated")
        return value

    if c > 0 and noted(n) > 1:
        return x * 2
    if c < 0 or noted(n) > 2:
        return x * 3
    return x * x


@program
def chain_of_operands(x, c, n):
    z = (c > 1 and n > 1) or (c < 0 and not n > 3)
    return x * x if z else x


@program
def chained_comparison(x, c):
    def middle():
        LOG.append("middle")
        return c

    if -1 < middle() < 2:
        return x * x
    return x


@program
def comparison_of_three(x, c, n):
    if 0 <= c < n < 4:
        return x * x
    return x * 3


@program
def bound_in_one_branch(x, c):
    if c > 0:
        z = x * x
    if c > 1:
        return z + 1
    return x


@program
def unbound_in_the_other_branch(x, c):
    if c > 0:
        z = x * x
    return z + 1


@program
def number_bound_in_one_branch(x, c):
    if c > 0:
        factor = 2.0
    return x * factor


@program
def deleted_in_a_branch(x, c):
    z = x * x
    if c > 0:
        del z
    return z


@program
def none_before(x, c):
    z = None
    if c > 0:
        z = x * x
    if z is None:
        return x
    return z


@program
def none_before_then_same_condition(x, c):
    z = None
    if c > 0:
        z = x * x
    if c > 0:
        return z * 2
    return x


@program
def python_values_from_branches(x, c):
    if c > 0:
        factor, name, shift = 2, "plus", 0.5
    else:
        factor, name, shift = 3, "minus", 1.5
    LOG.append((name, factor))
    return x * factor + shift


@program
def string_chosen_and_compared(x, c):
    name = "square" if c > 0 else "double"
    if name == "square":
        return x * x
    return x * 2


@program
def tuple_from_branches(x, y, c):
    pair = (x, y) if c > 0 else (y * y, x)
    a, b = pair
    return a - b, a


@program
def swap_in_a_branch(x, y, c):
    if c > 0:
        x, y = y, x
    return x * x - y


@program
def walrus_in_the_test(x, c):
    if (d := c * 2) > 1:
        return x * d
    return x + d


@program
def walrus_in_and(x, c, n):
    if c > 0 and (m := n + 1) > 2:
        return x * m
    return x


@program
def match_on_value(x, n):
    match n:
        case 0:
            return x
        case 1 | 2:
            return x * x
        case other if other > 4:
            return x * 5
        case _:
            return -x


@program
def match_on_structure(x, y, c):
    match (x, y):
        case (a, b) if c > 0:
            z = a * b
        case [a, b]:
            z = a - b
    return z


@program
def condition_inside_match(x, c, n):
    match "square":
        case "square":
            if c > 0:
                return x * x
            return x
        case _:
            return -x


@program
def condition_on_gradient_carrier(x):
    if x.sum() > 1:
        return x * x
    return x * 3


@program
def condition_on_item(x, c):
    value = x.sum().item()
    if value > 1 and c > 0:
        return x * value
    return x


@program
def condition_of_one_element(x):
    if x[1:2] < 0:
        return -x
    return x


@program
def truth_of_several_elements(x):
    if x > 0:
        return x
    return -x


@program
def same_value_in_both_branches(x, c):
    z = x * x
    if c > 0:
        u = z
    else:
        u = z
    return u + z, u


@program
def where_and_branch(x, y, c):
    z = d2s.where(x > 0, x, y)
    if c > 0:
        z = d2s.where(z > 1, z * z, z)
    return z


@program
def stop_gradient_in_one_branch(x, c):
    z = x * x
    if c > 0:
        z = z.detach()
    return z * x


@program
def no_gradient_on_one_path(x, y, c):
    if c > 0:
        z = x * y
    else:
        z = x * 2
    return z


@program
def branch_of_a_bool(x, c):
    positive = c > 0
    z = x * 2 if positive else x
    if positive:
        z = z * z
    return z


@program
def empty_branch(x, c):
    if c > 0:
        pass
    else:
        x = x * x
    return x


@program
def twelve_branches(x, c):
    z = x
    for i in range(12):
        if c > i - 6:
            z = z + x * i
        else:
            z = z - x
    return z
