"""Lists whose length only the run knows, elements at places that only the run knows, counters without end."""

from __future__ import annotations

import copy
import itertools
import types

import d2s
from tests.corpus.register import LOG, program, record


@program
def append_what_the_last_gives(x, n):
    parts = [x]
    for i in range(n):
        parts.append(parts[-1] * 2)
    return d2s.stack(parts)


@program
def length_in_the_test(x, n):
    parts = [x]
    z = x
    while len(parts) < n + 1:
        z = z * 1.5
        parts.append(z)
    total = z
    for p in parts:
        total = total + p
    return total, z


@program
def append_in_a_branch_with_hooks(x, n):
    parts = []
    z = x
    for i in range(n):
        z = z * 1.5
        if z.sum() > 1:
            z.register_hook(record("z", lambda g: g * g))
            parts.append(z)
    if not parts:
        return x * 3
    return d2s.concat(parts)


@program
def items_set_in_a_growing_list(x, n):
    parts = [x, x * 2]
    for i in range(n):
        parts[i % 2] = parts[0] * parts[-1]
        parts.append(x)
    return sum(parts), len(parts)


@program
def numbers_of_the_run_summed(x, n):
    losses = []
    for i in range(n):
        x = x * 0.5
        losses.append(x.sum().item())
    print(losses)
    return x, sum(losses)


@program
def lists_inside_of_turns(x, n):
    rows = []
    for i in range(n):
        row = []
        for j in range(i + 1):
            row.append(x * j)
        rows.append(d2s.stack(row).sum(0))
    return rows


@program
def extended_and_enumerated(x, n):
    out = []
    for i in range(n):
        out += [x * i, x]
    for k, p in enumerate(out):
        x = x + p * k
    return x


@program
def append_in_a_python_loop(x, c):
    found = []
    for i in range(3):
        if x[i] > c:
            found.append(x[i] * 2)
    return found


@program
def cleared_in_some_turns(x, c, n):
    found = []
    for i in range(n):
        if x.sum() * i > c:
            found.append(i)
        else:
            found.clear()
    return x, found, len(found)


class Collect:
    def __init__(self):
        self.items = []

    def add(self, z):
        self.items.append(z)


@program
def list_of_an_object(x, n):
    c = Collect()
    for i in range(n):
        c.add(x * i)
    return d2s.stack(c.items) if c.items else x


@program
def alias_of_a_growing_list(x, n):
    parts = [x]
    alias = parts
    for i in range(n):
        parts.append(x + i)
    return len(alias), alias[0] is x, alias[-1] * x


@program
def hooks_on_what_is_read(x, n):
    parts = [x]
    for i in range(n):
        h = parts[-1] * 2
        h.register_hook(record("h", lambda g: g + 1))
        parts.append(h)
    return parts[-1] + parts[0]


@program
def growing_in_a_try(x, n):
    try:
        parts = []
        for i in range(n):
            parts.append(x * i)
            if i > 2:
                raise ValueError("many")
    except ValueError as e:
        LOG.append((str(e), len(parts)))
    return len(parts)


@program
def window(x, n, c):
    z = x
    parts = []
    while n > 0:
        n = n - 1
        z = z * c
        parts.append(z)
        if len(parts) > 3:
            parts.pop(0)
    return parts


@program
def read_and_used_with_tensors(x, n):
    outs = [x]
    for i in range(n):
        h = d2s.tanh(outs[-1]) * x + outs[0]
        outs.append(h)
    y = outs[-1]
    return y.sum() * x, y


@program
def copies_and_parts(x, n):
    parts = [x]
    for i in range(n):
        parts.append(x * i)
    for i in range(2):
        parts.append(x)
    b = copy.copy(parts)
    c = parts[1:]
    d = parts + [x]  # noqa: RUF005
    return len(b), len(c), len(d), x in parts


@program
def lists_made_of_a_growing_list(x, n):
    parts = [x]
    for i in range(n):
        parts.append(x * i)
    y = x
    for p in parts[1:]:
        y = y + p
    for p in reversed(parts):
        y = y * 0.5 + p
    for p in parts + [x]:  # noqa: RUF005
        y = y + p
    b = parts.copy()
    b.append(y)
    return y, b, sorted([3, 1] )


@program
def list_of_a_range(x, n):
    ks = list(range(n))
    for i in range(n):
        ks.append(i * i)
    return x * len(ks), ks, sorted(ks), max(ks, default=0)


@program
def chosen_from_a_growing_list(x, n, c):
    # carried out of the loop by a name
    best = x
    parts = []
    for i in range(n):
        parts.append(x * (i - 1))
        if parts[-1].sum() > best.sum():
            best = parts[-1]
    return best


@program
def append_in_a_helper_and_loop_else(x, n):
    parts = []
    def add(v):
        parts.append(v)
        return len(parts)
    for i in range(n):
        k = add(x * i)
        if k > 2:
            break
    else:
        parts.append(x)
    return d2s.stack(parts, axis=1)


@program
def lists_in_a_dict(x, n):
    d = {"a": [], "b": [x]}
    for i in range(n):
        d["a" if i == 0 else "b"].append(x * i)
    return d


@program
def truth_of_a_growing_list(x, n):
    parts = []
    for i in range(n):
        parts.append(x * i)
    y = parts[0] if parts else x
    z = x * 2 if not parts else parts[-1] * 2
    return y + z


@program
def tensor_loop_collected(x, c, n):
    hs = []
    h = x
    while h.sum() < 50 and n > 0:
        h = h * 1.5 + c
        n = n - 1
        hs.append(h)
    print(len(hs))
    return d2s.concat(hs, axis=0).sum() + h if hs else h


@program
def write_to_an_element(x, n):
    parts = [x * 1]
    for i in range(n):
        parts[-1].add_(x)
        parts.append(x * i)
    return parts


@program
def write_after_append(x, n):
    parts = [x * 1]
    z = x * 2
    for i in range(n):
        z = z * 2
        parts.append(z)
        z.add_(x)
    return parts


@program
def queue_of_tuples(x, n):
    queue = [(x, 0)]
    out = x * 0
    while len(queue) > 0 and n > 0:
        v, k = queue.pop(0)
        out = out + v.sum() * k
        n = n - 1
        if k < 3:
            queue.append((v * 2, k + 1))
            queue.append((v + 1, k + 2))
    return out


@program
def place_of_a_tensor(x, n):
    parts = (x, x * 2, x * x)
    return parts[n] + parts[-1]


@program
def index_error_caught(x, n):
    parts = [x, x * 2, x * x]
    try:
        return parts[int(n)]
    except IndexError as e:
        print(e)
        return -x


@program
def text_by_place(x, n):
    return x * 2, ["a","b","c"][int(n) % 3]


@program
def value_by_key(x, n):
    d = {0: x, 1: x*3, 2: x+1}
    return d[int(n)]


@program
def key_error_caught(x, n):
    d = {0: x, 1: x*3, 2: x+1}
    try:
        return d[int(n)]
    except KeyError as e:
        print(e)
        return x


@program
def store_at_a_place(x, n):
    parts = [x, x*2, x*3]
    parts[int(n)] = x * x
    return sum(parts)


@program
def division_in_place_caught(x, n, c):
    try:
        s = 6
        s /= float(c)
    except ZeroDivisionError as e:
        print(e)
        s = -1
    return x * s


@program
def counter_with_a_break(x, c):
    for i in itertools.count(1):
        x = x * 1.5 + c
        if (x * x).sum() > 50 + c:
            break
    return x, i


@program
def counter_with_a_return(x, c):
    for i in itertools.count(3, 2):
        if i > 5 and x.sum() + i > c * 3 + 10:
            return x * i
        x = x * 1.1


@program
def places_in_a_tensor_loop(x, n):
    ws = [x, x*2, x*3]
    z = x
    for i in range(n):
        z = z + ws[i % 3] * ws[-(i % 3)]
    return z


STORED = []


@program
def written_after_it_was_stored(x, n):
    STORED.clear()
    z = x * 2
    STORED.append(z)
    z.add_(x)
    for i in range(n):
        z = z * 2
        STORED.append(z)
        z.add_(x)
    LOG.append((STORED[0], STORED[-1], STORED[-1] is z))
    return z


@program
def written_in_a_branch_after_it_was_stored(x, c):
    STORED.clear()
    z = x * 2
    if c > 0:
        z = z * 3
        STORED.append(z)
        z.add_(x)
    else:
        STORED.append(x)
    z.multiply_(x)
    LOG.append(STORED[0])
    return z


@program
def stored_and_written_in_the_next_turn(x, n):
    STORED.clear()
    z = x * 2
    for i in range(n):
        z.add_(x)
        STORED.append(z)
    LOG.append(len(STORED))
    for i in range(n):
        LOG.append(STORED[i])
    return z


@program
def comprehension_over_a_range(x, n):
    parts = [x * i for i in range(n)]
    return d2s.stack(parts) if parts else x


@program
def comprehension_with_a_condition_of_the_run(x, n, c):
    parts = [x * i for i in range(n) if x.sum() * i > c]
    return parts


@program
def comprehension_over_a_growing_list(x, n):
    parts = []
    for i in range(n):
        parts.append(x * i)
    doubled = [p * 2 for p in parts]
    return [p for p in doubled if p.sum() > 2], len(doubled)


@program
def comprehensions_with_two_conditions(x, n):
    ks = [i * i for i in range(n) if i % 2 == 0 if i < 4]
    rows = [[x * i for i in range(2)] for _ in range(2)]
    return ks, rows, [f(x) for f in [lambda v: v * j for j in range(3)]]


@program
def chosen_by_attribute(x, c):
    names = types.SimpleNamespace(v=x * 1)
    if c < 2:
        names.v += x
    else:
        names.v *= 2
    return names.v, names


@program
def elements_changed_where_they_are(x, n):
    rows = [[0, 0] for _ in range(n)]
    for row in rows:
        row[0] = 1
        row.append(9)
    groups = {}
    for i in range(n):
        if i % 2 not in groups:
            groups[i % 2] = [x]
        groups[i % 2].append(x * i)
        groups.setdefault(i % 2, [x]).append(x)
    return rows, {key: sum(parts) for key, parts in groups.items()}


@program
def changed_after_it_was_put_in(x, n):
    row, rows = {"v": x}, []
    for _ in range(n):
        rows.append(row)
    row["v"] = x * 5
    return rows, (rows[0] is row, rows[-1] is rows[0]) if rows else None


@program
def stack_of_frames(x, n):
    stack = [[x, 0]]
    for i in range(n):
        top = stack[-1]
        top[1] = i
        stack.append([top[0] * 2, -1])
    return [frame[1] for frame in stack], stack[-1][0]


@program
def records_with_lists(x, n):
    records = []
    for i in range(n):
        records.append({"i": i, "tags": []})
    for row in records:
        row["tags"].append(row["i"] * 2)
        row["i"] += 1
    return [(row["i"], row["tags"]) for row in records], x
