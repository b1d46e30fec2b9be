"""Searches, containers of the library, states of loops, texts, copies."""

from __future__ import annotations

import bisect
import collections
import copy
import heapq
import json
import re

import d2s
from tests.corpus.register import LOG, program, record

nn, F = (d2s.nn, d2s.nn.functional)


@program
def try_in_a_loop_with_continue(x, n):
    out = x
    for i in range(4):
        try:
            if i == n:
                raise IndexError(i)
            out = out + i
        except IndexError as e:
            out = out * e.args[0]
            continue
        out = out * 1.5
    return out


@program
def while_else(x, c):
    i = 0
    while i < 4:
        if x.sum() > c * 3 + 3:
            LOG.append('broke')
            break
        x = x + 1
        i += 1
    else:
        x = x * 10
    return (x, i)


@program
def for_else_search(x, c):
    for i, v in enumerate(x):
        if v > c:
            r = v * i
            break
    else:
        r = x.sum()
    return (r, i)


@program
def nested_functions_returning_functions(x, c):

    def make(k):
        if c > 0:

            def g(v):
                return v * k
        else:

            def g(v):
                return v + k
        return g
    return (make(2)(x), make(3)(x))


@program
def conditional_import_and_math(x, c):
    if c > 0:
        import math as m
        k = m.sqrt(4)
    else:
        from math import floor as fl
        k = fl(3.7)
    return x * k


@program
def integer_arithmetic_of_the_run(x, n):
    a = n * 3 + 1
    b = a // 2 % 5
    q, r = divmod(a, 3)
    if a & 1 if isinstance(a, int) else a % 2 == 1:
        x = x * 2
    return (x, a, b, q, r)


@program
def comparison_results_as_values(x, y, c):
    a = c > 0
    b = x > y
    d = (a and True) or False
    e = not a
    return (x * a, b, d, e, x.sum() * (not e))


@program
def counter_and_defaultdict(x, c):
    cnt = collections.Counter()
    dd = collections.defaultdict(list)
    for i, v in enumerate(x):
        key = 'pos' if v > c else 'neg'
        cnt[key] += 1
        dd[key].append(i)
    return (dict(cnt), dict(dd), cnt.most_common(1)[0][0])


@program
def ordered_dict_moves(x, c):
    od = collections.OrderedDict(a=x, b=x * 2)
    if c > 0:
        od.move_to_end('a')
    else:
        od.popitem(last=False)
    return (list(od), list(od.values())[-1])


@program
def heap_queue_of_tensors(x, n):
    h = []
    for i, v in enumerate([3, 1, 2]):
        heapq.heappush(h, (v, i))
    out = x
    while h:
        p, i = heapq.heappop(h)
        if out.sum() > 4:
            break
        out = out + p * i
    return (out, len(h))


@program
def string_building(x, n):
    parts = []
    for i in range(n):
        parts.append(f'{i}:{x[0] * i:.1f}')
    s = ', '.join(parts)
    return (x, s, s.count(':'), s.split(', ')[0] if s else 'empty')


@program
def regex_and_json(x, c):
    m = re.match('(\\w+)=(\\d+)', 'k=12')
    d = json.loads('{"a": [1, 2.5]}')
    if c > 0:
        x = x * int(m.group(2))
    return (x * d['a'][1], json.dumps({'n': 3}))


@program
def tuple_state_in_loops(x, n):
    s = (x, 0)
    for _ in range(n):
        s = (s[0] * 1.5, s[1] + 1)
    a, b = s
    return (a, b)


@program
def dict_state_in_loops(x, n):
    s = {'v': x, 'k': 0}
    while s['k'] < n:
        s = {'v': s['v'] + s['k'], 'k': s['k'] + 1}
    return s


@program
def nested_list_state(x, n):
    grid = [[x, x * 2], [x * 3, x * 4]]
    for i in range(n):
        grid[i % 2][0] = grid[(i + 1) % 2][1] + 1
    return grid[0][0] + grid[1][0]


@program
def list_of_run_length(x, n):
    parts = [x * i for i in range(n)]
    total = x * 0
    for p in reversed(parts):
        total = total * 0.5 + p
    return (total, len(parts))


@program
def zip_of_run_lengths(x, n):
    a = [x * i for i in range(n)]
    b = [i + 1 for i in range(n)]
    return (sum((p * q for p, q in zip(a, b)), x * 0), dict(zip('abcdef', b)))


@program
def multiple_returns_of_different_kinds(x, c):
    if c > 1:
        return x
    if c > 0:
        return (x, 1)
    if c < -1:
        return {'x': x}
    return None


@program
def print_and_warn(x, c):
    import warnings
    print('x', x.shape, sep='=', end=';\n')
    if c > 0:
        warnings.warn('positive', UserWarning)
        print(f'{c}')
    return x


@program
def recursion_on_a_list(x, y, c):

    def total(tree):
        if isinstance(tree, list):
            return sum((total(t) for t in tree), x * 0)
        if tree.sum() > c:
            return tree
        return -tree
    return total([x, [y, [x * y]], []])


@program
def matrix_loops(x, y):
    m = d2s.outer(x, y)
    r, k = m.shape
    out = d2s.zeros([r, k])
    for i in range(r):
        for j in range(k):
            if m[i, j] > 0:
                out[i, j] = m[i, j] * 2
            else:
                out[i, j] = -1.0
    return out


@program
def prefix_sums(x, y):
    z = d2s.concat([x, y])
    out = [z[0]]
    for v in z[1:]:
        out.append(out[-1] + v)
    return d2s.stack(out)


@program
def clamp_chain(x, c, n):
    lo, hi = (c, n) if c < n else (n, c)
    if isinstance(lo, d2s.Tensor):
        return d2s.minimum(d2s.maximum(x, lo.astype(x.dtype)), hi.astype(x.dtype))
    return x.clip(lo, hi)


@program
def running_max_with_index(x, y):
    z = d2s.concat([x, y])
    best, at = (z[0], 0)
    for i in range(1, 6):
        if z[i] > best:
            best, at = (z[i], i)
    return (best, at, z[at])


@program
def early_continue_and_flags(x, y, c):
    total, skipped = (x.sum() * 0, 0)
    for v in d2s.concat([x, y]):
        if v < c:
            skipped += 1
            continue
        if skipped > 3:
            break
        total = total + v
    return (total, skipped)


@program
def hooks_on_leaves_in_branches(x, y, c):
    if c > 0:
        x.register_hook(record('x', lambda g: g + 1))
        z = x * y
    else:
        h = y.register_hook(record('y', lambda g: g * g))
        z = x * y * 2
        h.remove()
    return z + x


@program
def hook_closure_over_loop_state(x, n):
    seen = []
    i = 0
    while i < n:
        x = x * 2
        x.register_hook(lambda g, i=i: LOG.append(('turn', int(i), g.tolist())))
        i = i + 1
    return (x, seen)


@program
def copies(x, c):
    a = {'l': [x, 1], 't': (x,)}
    b, d = (copy.copy(a), copy.deepcopy(a))
    if c > 0:
        b['l'].append(2)
        d['l'][0] = x * 5
    return (a['l'][0] * len(a['l']), d['l'][0], len(d['l']))


@program
def bisect_and_thresholds(x, n):
    edges = [0, 2, 4]
    k = bisect.bisect(edges, n) if isinstance(n, int) else bisect.bisect(edges, int(n))
    return (x * k, k)


@program
def slices_of_tuples(x, n):
    t = (x, x * 2, x * 3)
    out = x * 0
    for v in t[:n]:
        out = out + v
    return out, t[-n:]


@program
def slices_of_argument_tuples(x, y, n):

    def first(k, *args):
        return args[:k]
    return first(n, x, y, x), first(n)


@program
def slices_of_named_tuples(x, n):
    Triple = collections.namedtuple('Triple', 'a b c')
    p = Triple(x, 2, 3)
    while n > 1:
        x = x + sum(p[1:n])
        n = n - 1
    return x, p[::2]
