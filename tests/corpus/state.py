"""State: lists, dicts, attributes, subscripts, closures, `nonlocal`, `global`, comprehensions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import d2s
from tests.corpus.register import LOG, made, program, record

total = 0.0


class Point(NamedTuple):
    first: Any
    second: Any


@dataclass
class Box:
    value: Any
    history: list[Any] = field(default_factory=list)


@program
def append_in_a_python_loop(x, n):
    parts = []
    for i in range(3):
        parts.append(x * i)
    return d2s.stack(parts).sum(0) + n


@program
def append_in_a_branch(x, c):
    parts = [x]
    if c > 0:
        parts.append(x * x)
    return sum(parts), len(parts)


@program
def append_in_a_tensor_loop(x, n):
    parts = [x]
    for i in range(n):
        parts.append(parts[-1] * 2)
    return d2s.stack(parts)


@program
def list_returned_from_a_tensor_loop(x, n):
    parts = []
    for i in range(n):
        parts.append(x * i)
    return parts


@program
def list_of_numbers_from_a_tensor_loop(x, n):
    numbers = []
    for i in range(n):
        numbers.append(i * 2)
    return x, numbers


@program
def item_set_in_a_branch(x, c):
    parts = [x, x * 2]
    if c > 0:
        parts[0] = x * x
    else:
        parts[1] = x * 3
    return parts[0] + parts[1]


@program
def item_set_in_a_tensor_loop(x, n):
    parts = [x, x * 2]
    for i in range(n):
        parts[0] = parts[0] * 1.5
        parts[1] = parts[0] + parts[1]
    return parts


@program
def pop_in_a_branch(x, c):
    parts = [x, x * 2, x * x]
    if c > 0:
        last = parts.pop()
    else:
        last = parts.pop(0)
    return last * parts[0]


@program
def dict_changed_in_a_branch(x, c):
    state = {"a": x, "b": x * 2}
    if c > 0:
        state["a"] = state["b"] * x
    return state


@program
def key_added_in_a_branch(x, c):
    state = {"a": x}
    if c > 0:
        state["b"] = x * x
    if "b" in state:
        return state["b"]
    return state["a"] * 3


@program
def dict_changed_in_a_tensor_loop(x, n):
    state = {"z": x, "turns": 0}
    for _ in range(n):
        state["z"] = state["z"] * x
        state["turns"] += 1
    return state


@program
def attribute_changed_in_a_branch(x, c):
    box = Box(x)
    if c > 0:
        box.value = box.value * x
    return box.value + x


@program
def attribute_changed_in_a_tensor_loop(x, n):
    box = Box(x)
    for _ in range(n):
        box.value = box.value * 1.5
    return box.value


@program
def dataclass_returned(x, c):
    box = Box(x * c)
    box.history.append(x)
    return box


@program
def namedtuple_from_branches(x, y, c):
    point = Point(x, y) if c > 0 else Point(y, x * y)
    return point


@program
def changed_through_a_helper(x, c):
    def put(where, value):
        where["z"] = value

    state = {"z": x}
    if c > 0:
        put(state, x * x)
    return state["z"]


@program
def changed_through_an_alias(x, c):
    parts = [x, x]
    same = parts
    if c > 0:
        same[0] = x * x
    return parts[0] + same[1]


@made
def attribute_of_an_outer_object():
    box = Box(0.0)

    def f(x, c):
        box.value = c
        if c > 0:
            box.value = x * 2
        return x * box.value

    return f


@made
def counter_on_an_outer_object():
    box = Box(0)

    def f(x, c):
        box.value += 1
        if c > 0:
            box.history.append(c)
        LOG.append((box.value, len(box.history)))
        return x * box.value

    return f


@made
def nonlocal_counter():
    count = 0

    def f(x, c):
        nonlocal count
        count += 1
        if c > 0:
            count += 10
        LOG.append(count)
        return x * count

    return f


@made
def global_written_in_a_branch():
    def f(x, c):
        global total
        total = 1.0
        if c > 0:
            total = total + 2.0
        return x * total

    return f


@program
def inner_nonlocal_in_a_branch(x, c):
    z = x

    def change():
        nonlocal z
        z = z * x

    if c > 0:
        change()
        change()
    return z


@program
def inner_nonlocal_in_a_tensor_loop(x, n):
    z = x

    def change():
        nonlocal z
        z = z * 1.5

    for _ in range(n):
        change()
    return z


@program
def late_binding(x, c):
    factor = 2

    def scaled(z):
        return z * factor

    if c > 0:
        factor = 3
    return scaled(x)


@program
def lambdas_from_a_loop(x):
    functions = []
    for i in range(3):
        functions.append(lambda z: z * i)
    return sum(f(x) for f in functions)


@program
def lambdas_with_defaults(x):
    functions = [lambda z, k=k: z**k for k in range(3)]
    return sum(f(x) for f in functions)


@program
def function_chosen_by_a_branch(x, c):
    def square(z):
        return z * z

    def double(z):
        return z * 2

    if c > 0:
        f = square
    else:
        f = double
    return f(x)


@program
def closure_returned(x, c):
    def scaled(z):
        return z * c

    return scaled(x), scaled(x * 2)


@program
def list_comprehension(x, c):
    parts = [part * 2 if c > 0 else part for part in (x, x * x)]
    return parts


@program
def comprehension_with_condition(x, c):
    parts = [x * i for i in range(4) if c > i - 2]
    return sum(parts, x)


@program
def nested_comprehension(x):
    table = [[x * i + j for j in range(2)] for i in range(2)]
    return [sum(row) for row in table]


@program
def dict_comprehension(x, c):
    parts = {name: x * i for i, name in enumerate("ab")}
    if c > 0:
        parts = {name: part * part for name, part in parts.items()}
    return parts


@program
def generator_expression(x, c):
    return sum(part * c for part in (x, x * x))


@program
def comprehension_over_tensor(x):
    return d2s.stack([part * part for part in x])


@program
def walrus_in_a_comprehension(x):
    parts = [last := x * i for i in range(3)]
    return parts[1] + last


@program
def star_unpacking(x, y, c):
    first, *rest = [x, y, x * y]
    if c > 0:
        first, rest = rest[0], [first, *rest[1:]]
    return first * rest[0] + rest[-1]


@program
def augmented_list(x, c):
    parts = [x]
    parts += [x * 2]
    if c > 0:
        parts[0] += x
    return parts[0] * parts[1]


@program
def arguments_in_containers(x, y, c):
    parts = {"pair": (x, y), "list": [x, {"y": y}]}
    if c > 0:
        parts["list"][1]["y"] = x * y
    return parts["pair"][0] * parts["list"][1]["y"]


@program
def sorted_by_value(x, y, c):
    parts = sorted([x * y, x, y], key=lambda part: part.sum().item())
    return parts[0]


@program
def cells_shared_by_two_functions(x, c):
    value = x

    def put(z):
        nonlocal value
        value = z

    def get():
        return value

    if c > 0:
        put(x * x)
    first = get()
    put(first + 1)
    return first * get()


@made
def items_of_an_outer_list_one_by_one():
    held = [d2s.ones([3]), d2s.zeros([3])]

    def f(x, c):
        for i in range(2):
            held[i] = held[i] * x + c
            held[i].register_hook(record(f"held {i}", lambda g: g * g + 1))
        total = held[0] * held[-1] + sum(held)
        for part in held:
            total = total * part
        LOG.append((len(held), bool(held), list(enumerate(range(len(held))))))
        result = total + d2s.stack(held).sum(0)
        for i, part in enumerate(held):
            held[i] = part.detach()
        return result

    return f


@made
def keys_of_an_outer_dict_with_new_ones():
    table = {"b": 2.0}

    def f(x, c):
        table["a"] = x * table["b"]
        table["b"] = c
        total = 0
        for i, (_, part) in enumerate(table.items()):
            total = total + part * (i + 1)
        LOG.append((sorted(table), list(table), "a" in table, "z" in table, len(table)))
        return total * dict(table)["a"], {**table}["a"]

    return f


@made
def an_outer_list_that_both_branches_write():
    held = [d2s.ones([3]), d2s.zeros([3])]

    def f(x, c):
        for i in range(2):
            if c > 0:
                held[i] = held[i] + x
            else:
                held[i] = x
            x = x * held[i]
        total = sum(held) + x
        held[:] = [part.detach() for part in held]
        return total

    return f


@made
def an_outer_dict_written_in_another_order_by_branches():
    table = {}

    def f(x, c):
        table.clear()
        if c > 0:
            table["p"] = x
            table["q"] = x * 2
        else:
            table["q"] = x * 3
            table["p"] = x
        return table["p"] * table["q"]

    return f


@made
def equal_keys_of_an_outer_dict():
    table = {}

    def f(x):
        table[1] = x
        return table[True] * table[1.0]

    return f


@made
def states_in_an_outer_list_of_dicts():
    states = [{"h": d2s.ones([3]), "c": d2s.zeros([3])} for _ in range(2)]

    def f(x, c):
        for state in states:
            state["h"] = state["h"] * x + state["c"]
            state["c"] = state["c"] + c
            x = sum(state.values())
        for state in states:
            for key, part in list(state.items()):
                state[key] = part.detach()
        return x

    return f


class Outer:
    """An object from outside, with tensors at an attribute, in a list and in a dict."""

    def __init__(self):
        self.h = d2s.ones([3])
        self.l = [d2s.ones([3]), d2s.zeros([3])]
        self.d = {"a": d2s.ones([3])}
        self.first = None

    def advance(self, x):
        self.h = self.h * 0.5 + x
        self.d["a"] = self.d["a"] + self.h
        self.l[1] = self.l[0] * x
        return self.h

    def forget(self):
        self.h = self.h.detach()
        self.l[:] = [part.detach() for part in self.l]
        self.d["a"] = self.d["a"].detach()


@made
def outer_tensors_that_turns_of_a_loop_write():
    outer = Outer()

    def f(x, n):
        for i in range(n):
            x = x + outer.advance(x) * i
        result = x * outer.h + outer.d["a"] * outer.l[1] + sum(outer.l)
        outer.forget()
        return result

    return f


@made
def outer_tensors_that_some_turns_write_with_hooks():
    outer = Outer()

    def f(x, c, n):
        i = 0
        while i < n:
            if c > 0:
                outer.h = outer.h * x
                outer.h.register_hook(record("h", lambda g: g * g + 1))
            outer.l[0] = outer.l[0] + outer.h
            x = x + outer.l[0]
            i = i + 1
        outer.h = outer.h + x
        outer.h.register_hook(record("end", lambda g: g + 2))
        result = x * outer.h + outer.l[0]
        outer.forget()
        return result

    return f


@made
def an_outer_attribute_that_begins_as_none():
    outer = Outer()

    def f(x, n):
        outer.first = None
        while n > 0:
            outer.first = x if outer.first is None else outer.first * 0.5 + x
            x = x * 2
            n = n - 1
        result = x if outer.first is None else x + outer.first
        outer.first = None
        return result

    return f


@made
def outer_tensors_in_nested_loops():
    outer = Outer()

    def f(x, n):
        i = 0
        while i < n:
            j = 0
            while j < i:
                outer.h = outer.h + x
                j = j + 1
                if outer.h.sum() > 20:
                    break
            x = x + outer.h * outer.d["a"]
            outer.d["a"] = outer.d["a"] - 1
            i = i + 1
        result = x * outer.h
        outer.forget()
        return result

    return f


@made
def an_outer_tensor_that_a_loop_writes_before_it_raises():
    outer = Outer()

    def f(x, n):
        i = 0
        while i < n:
            outer.h = outer.h + x
            if i > 1:
                outer.h = outer.h.detach()
                raise ValueError("too long")
            i = i + 1
        result = outer.h * x
        outer.h = outer.h.detach()
        return result

    return f


@made
def a_nonlocal_tensor_that_a_loop_writes():
    state = d2s.ones([3])

    def f(x, n):
        nonlocal state
        i = 0
        while i < n:
            state = state * 0.5 + x
            x = x * state
            i = i + 1
        result = x + state
        state = state.detach()
        return result

    return f


@made
def a_global_tensor_that_a_loop_writes():
    def f(x, n):
        global total
        total = x * 0
        i = 0
        while i < n:
            total = total + x
            i = i + 1
        return total * x

    return f


@made
def a_place_that_only_the_run_knows_of_an_outer_list():
    held = [1.0, 2.0]

    def f(x, n):
        held[0] = 5.0
        for i in range(n):
            held[i % 2] = float(i)
        return x * held[0], held[1]

    return f


@program
def leaves_by_path(x, w, c, n):
    y = x * 2
    if c > 0:
        y = w
    seen = [x.is_leaf, w.is_leaf, (x.detach() * 2).is_leaf, y.is_leaf]
    z = w
    while n > 0:
        seen.append(z.is_leaf)
        z = z * 2
        n = n - 1
    return list(seen), z.is_leaf, z


@program
def name_that_was_set(x, w):
    w.name = "gain"
    x.name = f"{w.name}_and_more"
    return x.name, x * w
