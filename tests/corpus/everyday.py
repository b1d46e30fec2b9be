"""Programs as users write them every day: hooks, helpers, closures, generators, errors, loops."""

from __future__ import annotations

import contextlib
import enum

import d2s
from tests.corpus.register import LOG, program, record


@program
def hook_in_a_helper_called_by_turns(x, n):

    def noted(v, k):
        v.register_hook(record(f't{k}', lambda g: g + 1))
        return v
    for i in range(n):
        x = noted(x * 1.5, i)
    return x


@program
def hooks_removed_in_a_branch(x, c):
    y = x * 2
    h = y.register_hook(record('y', lambda g: g * g))
    if c > 0:
        h.remove()
    else:
        y.register_hook(record('second', lambda g: g + 1))
    return y * 3


@program
def hook_on_a_value_chosen_by_a_ternary(x, y, c):
    a, b = (x * 2, y * 3)
    z = a if c > 0 else b
    z.register_hook(record('z', lambda g: g * g + 1))
    return z * a + b


@program
def fib_memo(x, c):
    memo = {}

    def fib(k):
        if k in memo:
            return memo[k]
        if k < 2:
            r = x * (k + 1)
        else:
            r = fib(k - 1) + fib(k - 2)
            if r.sum() > c * 10:
                r = r * 0.5
        memo[k] = r
        return r
    return (fib(6), sorted(memo))


@program
def mutable_default(x, c):

    def f(v, acc=[]):
        acc.append(v * 2)
        if c > 0:
            acc.append(v)
        return (len(acc), acc[-1])
    return (f(x), f(x + 1), f(x, []))


@program
def late_binding(x, n):
    fs = [lambda v: v * i for i in range(3)]
    gs = [lambda v, i=i: v * i for i in range(3)]
    k = 0
    while k < n:
        x = x + fs[0](x) - gs[1](x)
        k = k + 1
    return (x, [f(x) for f in fs], [g(x) for g in gs])


@program
def generator_pipeline(x, y, c):

    def source():
        for v in (x, y, x * y):
            yield v

    def positive(vs):
        for v in vs:
            if v.sum() > c:
                yield v

    def scaled(vs, k):
        yield from (v * k for v in vs)
    return sum(scaled(positive(source()), 3), x * 0)


@program
def context_manager_with_tensor_state(x, c):

    @contextlib.contextmanager
    def scaled(v, k):
        LOG.append('enter')
        try:
            yield (v * k)
        finally:
            LOG.append('exit')
    out = x
    with scaled(x, 2) as a, scaled(x, 3) as b:
        if c > 0:
            out = a + b
        else:
            out = a - b
    return out


class Meter:

    def __init__(self):
        self.total, self.count = (0.0, 0)

    def update(self, v, n=1):
        self.total = self.total + v * n
        self.count += n
        return self

    @property
    def avg(self):
        return self.total / self.count if self.count else 0.0

    def __repr__(self):
        return f'Meter({self.count})'


@program
def running_average(x, y, n):
    m = Meter()
    for v in x:
        if v > 0:
            m.update(v)
        else:
            m.update(-v, 2)
    i = 0
    while i < n:
        m.update(y.sum(), 1)
        i = i + 1
    return (m.avg, m.count, repr(m))


@program
def try_else_finally(x, c):
    log = []

    def attempt(v):
        try:
            if v.sum() > c:
                raise ValueError('big')
            r = v * 2
        except ValueError as e:
            log.append(str(e))
            return v
        else:
            log.append('else')
            return r + 1
        finally:
            log.append('finally')
    return (attempt(x), attempt(x * 5), log)


@program
def raise_from(x, c):

    def f():
        try:
            {}['missing']
        except KeyError as e:
            if c > 0:
                raise RuntimeError(f'c was {1}') from e
            raise
    try:
        f()
    except (RuntimeError, KeyError) as e:
        return (x * 2, type(e).__name__, type(e.__cause__).__name__)
    return x


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def factor(self):
        return self.value * 1.5


@program
def enums_chosen_by_tensors(x, c):
    color = Color.RED if c > 0 else Color.BLUE
    match color:
        case Color.RED:
            y = x + 1
        case Color.BLUE:
            y = x - 1
    return (y * color.factor, color.name, color is Color.RED)


@program
def unpacking_in_loops(x, y):
    total = 0
    for i, (a, (b, c)) in enumerate([(x, (y, 1)), (y, (x, 2))]):
        first, *rest = [a, b, c]
        if first.sum() > 0:
            total = total + first * c
        else:
            total = total - rest[0] * i
    return total


@program
def augmented_on_attributes_and_items(x, c):

    class S:
        pass
    s = S()
    s.v = x * 1
    s.d = {'k': [x * 2, 0]}
    if c > 0:
        s.v += 1
        s.d['k'][0] *= 2
        s.d['k'][1] += 5
    else:
        s.v -= c
        s.d['k'][-1] -= 1
    return (s.v, s.d)


@program
def nested_closures_share_state(x, c):

    def counter():
        n = 0

        def inc(by=1):
            nonlocal n
            if c > 0:
                n += by
            else:
                n -= by
            return n

        def get():
            return n
        return (inc, get)
    inc, get = counter()
    inc()
    inc(3)
    return (x * get(), get())


@program
def global_like_registry(x, c):
    registry = {}

    def register(name):

        def deco(f):
            registry[name] = f
            return f
        return deco

    @register('double')
    def double(v):
        return v * 2

    @register('neg')
    def neg(v):
        return -v
    key = 'double' if c > 0 else 'neg'
    return (registry[key](x), list(registry))


@program
def any_all_with_tensors(x, y, c):
    a = any((v > c for v in x))
    b = all((v < 3 for v in y))
    out = x
    if a and (not b):
        out = out * 2
    elif a or b:
        out = out * 3
    return (out, a if isinstance(a, bool) else bool(a), bool(b))


@program
def sorted_by_tensor_keys(x, y):
    items = sorted([x[0], y[1], x[2], y[0]], key=lambda v: -v)
    best = max(x, key=lambda v: v * v)
    lo = min(x[0], y[0], x[1])
    return (items[0] * 2 + items[-1], best, lo)


@program
def while_with_two_tensor_conditions(x, n, c):
    k = 0
    while (x.sum() < 20 and k < n) or x.max() < c:
        x = x * 1.5 + 0.5
        k += 1
        if k > 6:
            break
    return (x, k)


@program
def nested_while_with_continue(x, n):
    i, total = (0, x * 0)
    while i < n:
        i = i + 1
        j = 0
        while j < 3:
            j = j + 1
            if (i + j) % 2 == 0:
                continue
            if total.sum() > 10:
                break
            total = total + x * j
        else:
            total = total + 0.5
    return total


@program
def string_dispatch(x, c, n):
    mode = 'relu' if c > 0 else 'tanh'
    fn = getattr(d2s.nn.functional, mode)
    for _ in range(2):
        x = fn(x) + n
    return (x, mode.upper(), f'{mode:>6}')


@program
def tensor_in_dict_key_lookup(x, n):
    table = {0: x, 1: x * 2, 2: x + 5, 3: -x, 5: x * x}
    k = int(n) if not isinstance(n, int) else n
    return (table.get(k, x * 0), k in table)
