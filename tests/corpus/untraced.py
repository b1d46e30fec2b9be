"""Programs that go on with what functions give that are not traced: tensors, numbers, lists; or what they raise."""

from __future__ import annotations

import contextlib
import functools
import json

import numpy as np

import d2s
from tests.corpus.register import LOG, made, program, record


@d2s.jit.not_to_static
def doubled(t):
    return t * 2


@d2s.jit.not_to_static
def summed(t):
    return float(t.sum())


@d2s.jit.not_to_static
def halves():
    return d2s.ones([3]) * 0.5


@d2s.jit.not_to_static
def pair(t):
    return t * 2, {"k": t + 1, "n": 3}


@d2s.jit.not_to_static
def multiples(t):
    return [t * i for i in range(3)]


class Refused(Exception):
    pass


class Coded(Exception):
    def __init__(self, words, code):
        super().__init__(words)
        self.code = code


@d2s.jit.not_to_static
def checked(t, k):
    LOG.append("checked")
    if float(t.sum()) * float(k) < 0:
        raise Refused("negative", 3)
    if float(k) == 0:
        raise ValueError("zero")
    return t * 2


@d2s.jit.not_to_static
def coded(t):
    if float(t.sum()) > 1:
        raise Coded("big", 7)
    if float(t.sum()) > 0:
        raise ValueError
    return t


@program
def combined_with_tensors(x, c):
    y = doubled(x)
    return y + x, (y * c).sum(), y @ x, y.shape[0], x @ y, x.matmul(y), sum([x, y])


@program
def given_to_functions(x, c):
    y = doubled(x)
    if y.sum() > c:
        return d2s.nn.functional.relu(y), d2s.where(y > c, x, y)
    return d2s.concat([y, x]), d2s.stack([y, x]).mean(0)


@program
def number_as_factor(x, c):
    y = x * summed(x)
    y.register_hook(record("y", lambda g: g + 1))
    return y * c


@program
def hooks_before_and_behind(x, w, c):
    y = doubled(x * w)
    y.register_hook(record("y", lambda g: g + 1))
    z = y + x + halves()
    z.register_hook(record("z", lambda g: g * g))
    if c > 0:
        z = z * c
    return (z * w).sum()


@program
def taken_apart(x, n):
    a, found = pair(x)
    size, = (a + x).shape
    return a + found["k"] * x + found["n"] + n, x.reshape([size, 1])


@program
def wrong_number_of_parts(x, c):
    try:
        first, second = multiples(x)
        x = first + second
    except ValueError as error:
        LOG.append(str(error))
    return x * c


@program
def looped_over(x, c):
    total = x
    for part in multiples(x):
        total = total + part * c
    return total, [part + x for part in multiples(x)], [row * 2 for row in doubled(x) + x]


@program
def in_turns(x, n):
    h = x
    for i in range(n):
        h = doubled(h) * 0.5 + x * i
    return h + x


@program
def in_turns_of_a_while(x, n):
    h, i = x, 0
    while i < n:
        h = h + doubled(x) * 0.1
        i += 1
    return h * x


@program
def on_one_path(x, c):
    y = doubled(x) if c > 0 else x
    y += x
    return y + x, (y * x).sum()


@program
def asked_what_it_is(x, c):
    y = x + doubled(x)
    if isinstance(y, d2s.Tensor) and len(y) == 3:
        y[0] = c
    return y


@program
def walked_back_through(x, c):
    y = doubled(x) + x
    gradient, = d2s.grad(y.sum(), [x], retain_graph=True)
    y.sum().backward()
    with d2s.no_grad():
        z = doubled(x) + x
    return gradient * x, x.grad * 2, z + y.detach() * c


@made
def given_to_layers():
    layer = d2s.nn.Linear(3, 3)
    layer.weight.set_value(np.arange(9, dtype="float32").reshape(3, 3) / 9)
    layers = d2s.nn.Sequential(layer, d2s.nn.ReLU())

    def f(x, c):
        y = doubled(x)
        found = layer(y) + layers(y).sum() + layer(x)
        if found.mean() > c:
            return d2s.nn.functional.softmax(found, axis=-1)
        return found

    return f


@made
def cached_with_an_effect():
    @functools.lru_cache(maxsize=None)
    def mask(size):
        LOG.append(size)
        return d2s.tril(d2s.ones([size, size]))

    def f(x, c):
        rows = mask(x.shape[0]) @ x.unsqueeze(1)
        return rows.squeeze(1) * c

    return f


@program
def caught_by_name(x, c):
    try:
        y = checked(x, c)
    except Refused as error:
        LOG.append(error.args)
        y = x
    except ValueError:
        y = -x
    else:
        y = y + 1
    finally:
        LOG.append("finally")
    return y + x


@program
def caught_with_attributes(x, c):
    try:
        y = coded(x * c)
    except Coded as error:
        return x * error.code, str(error)
    except ValueError as error:
        return x, error.args
    return y * x


@program
def caught_and_raised_again(x, c):
    try:
        y = checked(x, c)
    except Refused:
        raise RuntimeError("wrapped") from None
    return y


@program
def suppressed(x, c):
    with contextlib.suppress(Refused, ValueError):
        x = checked(x, c) + x
    return x * c


@program
def told_to_a_manager(x, c):
    class Watch:
        def __enter__(self):
            return self

        def __exit__(self, kind, *rest):
            LOG.append(kind and kind.__name__)
            return kind is Refused

    with Watch():
        x = checked(x, c)
    return x + 1


@program
def shapes_that_do_not_fit(x, y, c):
    z = doubled(d2s.concat([x, y]))
    try:
        z = z + x
    except ValueError:
        z = z * c
    try:
        return d2s.stack([z, x])
    except Exception:
        return z


@program
def library_that_raises(x, c):
    try:
        found = json.loads("[1, 2" + ("]" if c > 0 else ""))
    except json.JSONDecodeError:
        found = [0, 0]
    return x * found[1]
