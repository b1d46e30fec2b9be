"""Values that a branch or turn has chosen, where Python needs them."""

from __future__ import annotations

import enum

import d2s
import d2s.nn.functional as F
from tests.corpus.register import LOG, program, record


@program
def axis_from_a_branch(x, c):
    k = 0 if c > 0 else -1
    return d2s.stack([x, x * 2]).sum(axis=k)


@program
def text_from_a_branch_in_a_loop(x, n):
    for i in range(n):
        name = "exp" if i % 2 else "tanh"
        x = getattr(x, name)()
    return x


@program
def reduction_by_text(x, n):
    for i in range(n):
        how = "sum" if i % 2 else "mean"
        if how == "sum":
            x = x + x.sum()
        else:
            x = x + x.mean()
    return x


@program
def reduction_argument_by_branch(x, c):
    how = "sum" if c > 0 else "mean"
    return F.mse_loss(x, x * 0, reduction=how)


@program
def set_of_branch_numbers(x, c):
    k = 2 if c > 0 else 3
    return x * len({k, 2}), {k: 1}


@program
def dtype_by_text(x, c):
    return x.astype("float64" if c > 0 else "int32")


@program
def permutation_by_branch(x, c):
    axes = [0, 1] if c > 0 else [1, 0]
    return d2s.stack([x, x * 2]).transpose(axes)


@program
def slices_of_lists_by_branch(x, c):
    k = 1 if c > 0 else 2
    items = [x, x * 2, x * 3]
    return items[:k], items[k:], items[k]


@program
def int_of_text_by_branch(x, c):
    k = int("12" if c > 0 else "7")
    return x * k


@program
def format_by_branch(x, c):
    spec = ".1f" if c > 0 else ".3e"
    return x, format(1.5, spec), f"{2.25:{spec}}"


@program
def number_of_layers_by_branch(x, c):
    depth = 2 if c > 0 else 1
    for i in range(depth):
        x = x * 2 + i
    return x, [0] * depth, list(range(depth))


@program
def chunks_by_branch(x, c):
    parts = d2s.split(d2s.concat([x, x]), 2 if c > 0 else 3)
    return len(parts), parts[0]


class Kind(enum.Enum):
    RELU = "relu"
    TANH = "tanh"


@program
def enum_by_branch(x, c):
    kind = Kind.RELU if c > 0 else Kind.TANH
    if kind is Kind.RELU:
        return F.relu(x)
    return getattr(x, kind.value)()


@program
def enum_in_a_loop_value(x, n):
    kind = Kind.RELU
    for i in range(n):
        x = F.relu(x) if kind == Kind.RELU else d2s.tanh(x)
        kind = Kind.TANH if kind is Kind.RELU else Kind.RELU
    return x, kind.value, kind.name


@program
def enum_as_key(x, n):
    table = {Kind.RELU: 2, Kind.TANH: 3}
    kind = Kind.RELU
    for i in range(n):
        x = x * table[kind]
        kind = Kind.TANH
    return x


@program
def text_carried_and_compared(x, n):
    last = ""
    for i in range(n):
        cur = "up" if x.sum() > 3 else "down"
        if cur != last:
            x = x * 2
        last = cur
    return x, last


@program
def slice_list_by_run(x, n):
    items = [x, x * 2, x * 3]
    return items[: n % 3]


@program
def conditional_expression_in_call(x, c):
    return d2s.clip(x, min=0.0 if c > 0 else -1.0, max=1.0 if c > 1 else 2.0)


@program
def tensors_sorted(x, y, c):
    parts = sorted([*x, *y], key=lambda t: -t)
    parts[0].register_hook(record("first", lambda g: g + 1))
    return d2s.stack(parts) * c


@program
def pairs_sorted(x, n):
    pairs = [(float(x[i]), i) for i in range(3)]
    pairs.sort(reverse=True)
    return x * pairs[0][1], pairs


@program
def sorted_by_a_tuple_of_the_run(x, n):
    rows = sorted(range(5), key=lambda k: ((k * int(n)) % 3, -k))
    return x, rows


@program
def records_sorted(x, y):
    items = [(x[0], "a"), (y[1], "b"), (x[2], "c")]
    items.sort(key=lambda p: p[0])
    return items[0][0], [p[1] for p in items]


@program
def sorted_with_ties_and_effects(x, c):
    def key(v):
        LOG.append(float(v))
        return float(v) > c
    return sorted([x[0], x[1], x[2], x[0] * 1], key=key)


@program
def top_k_of_a_list(x, y, n):
    vals = sorted([float(v) for v in x] + [float(v) for v in y])[-2:]
    return x * vals[0], vals


@program
def median_of_values(x, y):
    vals = sorted(float(v) for v in [*x, *y])
    return x * ((vals[2] + vals[3]) / 2)
