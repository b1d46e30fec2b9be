"""Loops: `while`, `for` over everything, `break`, `continue`, `else`, values carried from turn to turn."""

from __future__ import annotations

import itertools

import d2s
from tests.corpus.register import LOG, program


@program
def while_counter(x, n):
    i = 0
    z = x
    while i < n:
        z = z * x
        i = i + 1
    return z


@program
def while_that_adds_a_number(x, n):
    """Nothing is left to compute in the turns of its backward."""
    z = x * 3
    i = d2s.to_tensor(0.0)
    while i < n:
        z = z + i
        i = i + 1
    return z


@program
def while_augmented(x, n):
    while n > 0:
        x = x * 1.5
        n -= 1
    return x


@program
def while_on_value(x, c):
    z = x * x
    while z.sum() < 50:
        z = z * 2
    return z


@program
def while_true_with_break(x, n):
    i = 0
    while True:
        x = x * 2
        i = i + 1
        if i >= n:
            break
    return x


@program
def while_and(x, c, n):
    i = 0
    while i < n and c < 2:
        x = x + x * x
        c = c + 0.5
        i += 1
    return x, c


@program
def python_condition_that_becomes_a_tensor(x, c):
    going = True
    z = x
    turns = 0
    while going:
        z = z * 1.5
        turns += 1
        going = (z * z).sum() < 30
    return z, turns


@program
def for_over_range(x, n):
    z = x
    for i in range(n):
        z = z * x + i
    return z


@program
def for_over_range_with_start_and_step(x, n):
    z = x
    for i in range(1, n, 2):
        z = z * i + x
    return z


@program
def for_over_falling_range(x, n):
    z = x
    for i in range(n, 0, -1):
        z = z * i
    return z


@program
def for_over_range_object(x, n):
    numbers = range(n)
    z = x
    for i in numbers:
        z = z + x * i
    return z


@program
def item_after_the_loop(x, n):
    i = -1
    for i in range(n):
        x = x * 2
    return x * i


@program
def loop_variable_unbound(x, n):
    for i in range(n):
        x = x * 2
    return x * i


@program
def for_over_tensor(x, y):
    z = y
    for row in x:
        z = z * row
    return z


@program
def for_over_rows(x, c):
    matrix = d2s.stack([x, x * 2, x * x])
    z = x
    for row in matrix:
        if c > 0:
            z = z + row
        else:
            z = z * row
    return z


@program
def for_over_list(x, y, c):
    z = x
    for part in [x, y, x * y]:
        if part.sum() > c:
            z = z + part
    return z


@program
def for_over_dict_items(x, y, c):
    parts = {"a": x, "b": y}
    z = x
    for name, part in parts.items():
        if c > 0 and name == "a":
            z = z * part
        else:
            z = z + part
    return z


@program
def for_over_zip_and_enumerate(x, y, c):
    z = x
    for i, (a, b) in enumerate(zip([x, y], [y, x], strict=True), start=1):
        if c > i:
            z = z + a * i
        else:
            z = z - b
    return z


@program
def for_over_zip_of_tensors(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total = total + a * b * b
    return total


@program
def for_over_reversed(x):
    z = x
    for i in reversed(range(3)):
        z = z * (i + 1) + x
    return z


@program
def for_over_count(x, n):
    z = x
    for i in itertools.count(1):
        z = z * 1.5
        if i > 3:
            break
    return z


@program
def break_on_condition(x, c):
    z = x
    for i in range(5):
        if z.sum() * c > 4:
            break
        z = z * 2 + i
    return z


@program
def continue_on_condition(x, n):
    z = x
    for i in range(5):
        if n > i:
            continue
        z = z * x
    return z


@program
def break_and_continue_in_tensor_loop(x, c, n):
    z = x
    for i in range(n):
        if i == 1:
            continue
        if z.sum() > 30:
            break
        z = z * 2 + c
    return z


@program
def return_in_python_loop(x, c):
    for i in range(4):
        x = x * 2
        if x.sum() * c > 5:
            return x + i
    return -x


@program
def return_in_tensor_loop(x, n):
    for i in range(n):
        x = x * 2
        if x.sum() > 5:
            return x + 1
    return x * x


@program
def nested_loops(x, n):
    z = x
    for i in range(n):
        for j in range(i):
            z = z * 1.5 + j
    return z


@program
def tensor_loop_in_python_loop(x, n):
    z = x
    for i in range(2):
        j = 0
        while j < n:
            z = z + x * i
            j = j + 1
    return z


@program
def break_in_inner_loop(x, n):
    turns = 0
    for i in range(3):
        for j in range(4):
            if j >= n:
                break
            x = x * 1.5
            turns += 1
    return x, turns


@program
def inner_break_outer_continue(x, n):
    z = x
    for i in range(n):
        if i == 2:
            continue
        k = 0
        while True:
            if k >= i:
                break
            z = z * 2
            k = k + 1
        z = z + 1
    return z


@program
def for_else(x, n):
    for i in range(4):
        if i == n:
            break
        x = x * 2
    else:
        x = x + 100
    return x


@program
def while_else(x, n):
    i = 0
    while i < 3:
        if i == n:
            break
        x = x * 2
        i += 1
    else:
        x = x + 100
    return x


@program
def for_else_in_tensor_loop(x, n):
    for i in range(n):
        if x.sum() > 8:
            break
        x = x * 2
    else:
        return x * x
    return x + 100


@program
def while_true_with_return(x, c):
    while True:
        x = x * 2
        if (x * x).sum() > 40:
            return x * c


@program
def carried_numbers(x, n):
    count, total, even = 0, 0.5, True
    for i in range(n):
        count = count + i
        total = total * 1.5
        even = not even
    return x * count + total, even


@program
def int_becomes_float(x, n):
    scale = 1
    for _ in range(n):
        scale = scale * 1.5
    return x * scale


@program
def number_becomes_tensor(x, n):
    total = 0
    for i in range(n):
        total = total + x * i
    return total + x


@program
def carried_tuple(x, y, n):
    pair = (x, y)
    for _ in range(n):
        a, b = pair
        pair = (b, a * b)
    return pair


@program
def fibonacci(x, y, n):
    a, b = x, y
    for _ in range(n):
        a, b = b, a + b * 0.5
    return a, b


@program
def growing_shape(x, n):
    z = x
    for i in range(n):
        z = d2s.concat([z, x * i])
    return z, z.sum()


@program
def changing_rank(x, n):
    z = x
    for i in range(n):
        z = z.unsqueeze(0) * 2
    return z


@program
def changing_dtype(x, n):
    z = x > 0
    for i in range(n):
        z = z * 2
    return z


@program
def none_before_the_loop(x, n):
    best = None
    for i in range(n):
        if best is None:
            best = x * 2
        else:
            best = best * x
    return x if best is None else best


@program
def none_then_set(x, n):
    last = None
    for i in range(n):
        last = x * i
    if last is None:
        return x
    return last


@program
def name_bound_in_the_loop_only(x, n):
    for i in range(n):
        part = x * i
    if n > 0:
        return part
    return x


@program
def condition_in_tensor_loop(x, c, n):
    z = x
    for i in range(n):
        if c > 0:
            z = z * x
        elif i > 1:
            z = z + x
    return z


@program
def alternating(x, y, n):
    z = x
    for i in range(n):
        if i % 2 == 0:
            z = z * y
        else:
            z = z + x
    return z


@program
def newton(x, c):
    z = x * x + 1
    turns = 0
    while (z * z - 2).abs().sum() > 0.01 and turns < 20:
        z = z - (z * z - 2) / (2 * z)
        turns += 1
    return z, turns


@program
def loop_that_uses_a_name_twice(x, n):
    for i in range(n):
        x = x * x
    for i in range(n):
        x = x + i
    return x


@program
def loop_over_function_result(x, n):
    def numbers():
        LOG.append("asked")
        return n

    z = x
    for i in range(numbers()):
        z = z + i
    return z


@program
def loop_without_use_of_result(x, n):
    z = x
    for i in range(n):
        z = z * 2
    return x * x


@program
def mean_of_turns(x, n):
    total = x * 0
    count = 0
    while count < n:
        total = total + x**count
        count += 1
    return total / count if count > 0 else total


@program
def none_returned_from_a_loop(x, n):
    i = 0
    while i < n:
        i = i + 1
        if i > 2:
            return None
    return x * i


@program
def swap_behind_a_break(x, y, c, n):
    for i in range(n):
        if c > i:
            break
        x, y = y, x
    return x, x * y


@program
def number_returned_from_a_loop(x, n):
    for i in range(n):
        x = x * 2
        if x.sum() > 5:
            return 5
    return x


@program
def tuple_returned_in_a_tensor_loop(x, c, n):
    z, u = x * 2, x + 1
    for i in range(n):
        z = z * x
        if c > 0:
            return z, u
    return z, u


@program
def pair_bound_in_the_loop_only(x, n):
    for i in range(n):
        pair = x * i, (x + 1, i)
    return pair[0] + pair[1][0]


@program
def tuple_returned_from_a_loop(x, y, n):
    for i in range(n):
        x, y = y, x * 0.5
        if i > 0:
            return x, y, i
    return x


@program
def list_grows_beside_a_tensor_break(x, c):
    seen = []
    for i in range(10):
        x = x / 2
        seen.append(x)
        if c * i > 2:
            break
    return seen


@program
def hook_defined_in_a_tensor_loop(x, n):
    for i in range(n):
        y = 2 * x

        def hook(g):
            LOG.append(g.tolist())
            return g * g + 1

        y.register_hook(hook)
        x = y + 1
    return x


@program
def argument_taken_in_a_loop(x, y, n):
    z = x * y
    for i in range(n):
        z = x
    return z * x


@program
def tensor_of_a_turn_and_no_result(x, n):
    z = x * 2
    for i in range(n):
        z = z * x
        LOG.append(z)


@program
def swapped_with_a_chosen_value(x, y, c, n):
    z = x * y
    u = x + z
    if c < 0:
        u, y = y, u
    for i in range(n):
        u = z - x * 0.3
        y, z = z, y
    return u * z, z * y


@program
def for_over_reversed_ranges(x, n):
    for i in reversed(range(n)):
        x = x * 2 + i
    for i in reversed(range(1, n + 4, 3)):
        x = x + i
    for i in reversed(range(n, -3, -2)):
        x = x * 0.5 - i
    for i in reversed(range(n + 1, n)):
        x = x + 1000
    return x
