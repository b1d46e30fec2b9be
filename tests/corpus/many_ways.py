"""Branches on tensors that leave lists, dicts and texts of many lengths: too many ways to follow each."""

from __future__ import annotations

from collections import deque

import d2s
from tests.corpus.register import program, record


@program
def appends_by_rows(x, c):
    out = []
    for i in range(12):
        if x[i % 3] * i > c:
            out.append(x[i % 3] * i)
    return d2s.stack(out).sum() if out else x.sum(), len(out)


@program
def filter_by_comprehension(x, y, c):
    kept = [v for row in (x, y, x * y) for v in row if v > c]
    return sum(kept, x.sum() * 0), len(kept)


@program
def sum_of_generator(x, y, c):
    z = d2s.concat([x, y, x + y, x - y])
    return sum(v for v in z if v > c), max((v for v in z if v > c), default=0.0)


@program
def counted_kinds(x, y, c):
    z = d2s.concat([x, y, x + y, x - y])
    kinds = {}
    for v in z:
        k = "large" if v > c else "small" if v < 0 else "medium"
        kinds[k] = kinds.get(k, 0) + 1
    return kinds


@program
def groups(x, y, c):
    z = d2s.concat([x, y, x + y])
    groups = {"pos": [], "neg": []}
    for i, v in enumerate(z):
        if v > c:
            groups["pos"].append((i, v))
        elif v < 0:
            groups["neg"].append((i, v))
    total = x.sum() * 0
    for i, v in groups["pos"]:
        total = total + i * v
    return total, len(groups["neg"])


@program
def a_stack_machine(x, y, c):
    stack = [x]
    for op in "dpdpdsdpsd":
        if stack[-1].sum() > c:
            stack.append(stack[-1] * 0.5)
        elif len(stack) > 1:
            a = stack.pop()
            stack[-1] = stack[-1] + a
        else:
            stack.append(y)
    return len(stack), stack[-1]


@program
def in_a_row(x, c):
    out = []
    if x[0] > c:
        out.append(x[0])
    if x[1] > c:
        out.append(x[1])
    if x[2] > c:
        out.append(x[2])
    if x[0] > x[1]:
        out.append(x[0] * 2)
    if x[1] > x[2]:
        out.append(x[1] * 2)
    if x[2] > x[0]:
        out.append(x[2] * 2)
    if x[0] > 1:
        out.append(x[0] * 3)
    if x[1] > 1:
        out.append(x[1] * 3)
    if x[2] > 1:
        out.append(x[2] * 3)
    return d2s.stack(out) if len(out) > 0 else x * 0


@program
def appended_with_hooks(x, c):
    out = []
    for i in range(10):
        v = x * (i - 4)
        if v.sum() > c:
            v.register_hook(record(f"v{i}", lambda g: g * g + 1))
            out.append(v)
    if not out:
        return x
    return d2s.stack(out).sum(0) + out[0] + out[-1]


@program
def deque_window(x, y, c):
    z = d2s.concat([x, y, x * y])
    w = deque(maxlen=3)
    for v in z:
        if v > c:
            w.append(v)
    return len(w), sum(w)


@program
def returned_list(x, y, c):
    z = d2s.concat([x, y, x * y])
    return [v * 2 for v in z if v > c]


@program
def returned_dict(x, y, c):
    z = d2s.concat([x, y, x * y])
    return {i: v * 2 for i, v in enumerate(z) if v > c}


@program
def strings(x, y, c):
    z = d2s.concat([x, y, x * y])
    words = []
    for v in z:
        words.append("+" if v > c else "-" if v < 0 else "0")
    return "".join(words)
