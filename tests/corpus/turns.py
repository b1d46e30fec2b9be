"""What only the run knows the length of: ranges, rows, and what generators, `map` and `filter` give over them."""

from __future__ import annotations

import functools

import d2s
from tests.corpus.register import program


@program
def nonzero_rows_indexed(x):
    total = 0
    for i in d2s.nonzero(x > 0).flatten():
        total = total + x[i] * (i + 1)
    return total


@program
def masked_rows_enumerated(x, c):
    out = x.sum() * 0
    for k, v in enumerate(x[x > c]):
        out = out + v * k
    return out


@program
def masked_rows_in_a_comprehension(x, c):
    return [v * 2 for v in x[x > c]], sum(v for v in x[x > c])


@program
def masked_rows_zipped(x, y, c):
    out = x.sum()
    for a, b in zip(x[x > c], y[x > c]):
        out = out * 0.5 + a * b
    return out


@program
def masked_rows_reversed(x, c):
    out = x.sum()
    for a in reversed(x[x > c]):
        out = out * 0.5 + a
    return out


@program
def break_in_masked_rows(x, c):
    out = x.sum()
    for a in x[x > c]:
        if a > 1:
            break
        out = out + a
    else:
        out = out * 2
    return out


@program
def list_of_masked_rows(x, c):
    rows = list(x[x > c])
    return len(rows), rows


@program
def range_with_step_of_run(x, n):
    for i in range(0, 10, n + 1):
        x = x + i
    return x, [j for j in range(9, 0, -n - 1)]


@program
def range_with_step_zero(x, n):
    for i in range(0, 4, n):
        x = x + i
    return x


@program
def step_of_run_reversed(x, n):
    for i in reversed(range(1, 10, n + 1)):
        x = x * 0.5 + i
    return x


@program
def join_of_generator(x, n):
    return x, ",".join(str(i) for i in range(n)), "".join([str(i) for i in range(n)])


@program
def containers_of_generators(x, n):
    return x, list(i * 2 for i in range(n)), tuple(i for i in range(n)), sorted(-i for i in range(n))


@program
def set_and_dict_of_generators(x, n):
    return x * len(set(i % 2 for i in range(n))), len({i: x for i in range(n)}), len({i % 3 for i in range(n)})


@program
def any_all_filtered(x, n):
    return x * any(i > 1 for i in range(n) if i % 2), all(i < 3 for i in range(n) if i != 4)


@program
def max_of_generator(x, n):
    return x * max((i * (4 - i) for i in range(n)), default=-1), max(len(str(i)) for i in range(n + 1))


@program
def nested_comprehension_of_run(x, n):
    return x, [[i * j for j in range(i)] for i in range(n)], [i + j for i in range(n) for j in range(2)]


@program
def map_over_range_of_run(x, n):
    return x, list(map(lambda i: i * i, range(n))), sum(map(lambda i: i * 2, range(n)))


@program
def filter_over_range_of_run(x, n):
    return x, list(filter(lambda i: i % 2, range(n)))


@program
def zip_range_of_run(x, n):
    out = x
    for i, j in zip(range(n), range(1, n + 1)):
        out = out + i * j
    for k, (i, v) in enumerate(zip(range(n), [x, x * 2, x * 3])):
        out = out + v * i * k
    return out


@program
def enumerate_range_of_run(x, n):
    out = x
    for k, i in enumerate(range(3, 3 + n)):
        out = out + k * i
    return out


@program
def dict_zip_of_run(x, n):
    return dict(zip(["a", "b", "c"], [x, x * n, n]))


@program
def reduce_over_range(x, n):
    return functools.reduce(lambda a, b: a + b, range(n), 0) * x


@program
def range_in_and_len(x, n):
    r = range(n)
    return x * len(r), 1 in r, r[0] if n > 0 else -1, list(r)


@program
def sum_list_max_of_range(x, n):
    return x * sum(range(n)), max(range(n + 1)), min(range(2, n + 3)), sorted(range(n), reverse=True)


@program
def pairs_of_run(x, n):
    out = x
    for i in range(n):
        for j in range(i + 1, n):
            out = out + i * j
    return out


@program
def windows_of_grown(x, n):
    parts = [x]
    for i in range(n):
        parts.append(x * i)
    out = x
    for a, b in zip(parts, parts[1:]):  # noqa: RUF007
        out = out + a * b
    return out
