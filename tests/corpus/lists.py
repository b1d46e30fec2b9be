"""Lists whose length only the run knows: filled in loops on tensors, read in all ways that lists are read."""

from __future__ import annotations

import functools

import d2s
from tests.corpus.register import LOG, program, record


@d2s.jit.not_to_static
def _look(things):
    return len(things)


def _fill(things, x, n):
    for i in range(n):
        things.append(x * i)


@program
def list_stack_after(x, n):
    seen = []
    for _ in range(n):
        x = x * x
        seen.append(x)
    return d2s.stack(seen).sum(0)


@program
def list_halves(x, n):
    seen = []
    while x.sum() > 1:
        x = x / 2
        seen.append(x)
    return seen


@program
def list_index(x, n):
    seen = [x]
    i = 0
    while i < n:
        seen.append(seen[-1] * seen[i])
        i += 1
    return seen[0] + seen[-1] * seen[1], len(seen)


@program
def list_loop_over(x, n):
    seen = [x]
    for i in range(n):
        seen.append(seen[-1] * 2 + i)
    t = x * 0
    for h in seen:
        t = t + h * h
    return t


@program
def list_pops(x, n):
    seen = [x, x * 2]
    for i in range(n):
        seen.append(x * i)
    a = seen.pop()
    b = seen.pop(0)
    return a * b, seen


@program
def list_sums(x, n):
    seen = []
    for i in range(n):
        seen.append(x * (i + 1))
    return sum(seen) / len(seen)


@program
def list_pairs(x, n):
    seen = []
    for i in range(n):
        x = x + 1
        seen.append((i, x, x * x))
    t = x * 0
    for i, a, b in seen:
        t = t + a * b * i
    return t, seen[0][1]


@program
def list_enum(x, n):
    seen = []
    for i in range(n):
        x = x * 1.5
        seen.append(x)
    t = x * 0
    for i, h in enumerate(seen):
        t = t + h * i
    for h in reversed(seen):
        t = t * h
    for a, b in zip(seen, seen[1:]):  # noqa: RUF007
        t = t + a * b
    return t


@program
def list_rebinding(x, n):
    seen = []
    for i in range(n):
        x = x * 1.5
        seen = seen + [x]  # noqa: RUF005
    return d2s.concat(seen)


@program
def list_conditional(x, n):
    seen = []
    for i in range(n):
        x = x * 1.5 - 1
        if x.sum() > 0:
            seen.append(x)
    if seen:
        return d2s.stack(seen).sum()
    return x.sum()


@program
def list_hooks(x, n):
    seen = []
    for i in range(n):
        x = x * 1.5 - 1
        x.register_hook(record("h", lambda g: g * g + 1))
        seen.append(x)
    y = seen[0] * seen[-1]
    seen[0].register_hook(record("first", lambda g: g + 1))
    return y.sum() + x.sum()


@program
def list_numbers(x, n):
    seen = []
    for i in range(n):
        seen.append(i * i)
    return x * sum(seen), seen, max(seen)


@program
def list_nested(x, n):
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(x * (i + j))
        rows.append(row)
    return rows, rows[0][0] * rows[-1][-1]


@program
def list_slices(x, n):
    seen = [x]
    for i in range(n):
        seen.append(x * i)
    seen[0] = x * 5
    seen[1:2] = [x, x * 7]
    del seen[-1]
    seen.insert(1, x * 9)
    seen.reverse()
    seen += [x * 3]
    seen.extend([x, x])
    return d2s.stack(seen)


@program
def list_early(x, n):
    seen = []
    for i in range(10):
        x = x * 2
        seen.append(x)
        if x.sum() > 20:
            break
    return d2s.stack(seen), len(seen)


@program
def list_prev(x, n):
    hist = []
    for i in range(n):
        if len(hist) > 1:
            x = x + hist[-1] * hist[-2]
        hist.append(x)
    return x


@program
def list_mixed(x, n):
    seen = []
    for i in range(n):
        with d2s.no_grad():
            y = x * i
        seen.append(y)
        seen.append(x * i)
    t = x * 0
    for h in seen:
        t = t + h * x
    return t


@program
def list_nested_loops(x, n):
    seen = []
    for i in range(n):
        j = 0
        while j < i:
            x = x + 0.5
            seen.append(x)
            j += 1
        else:
            seen.append(x * 0)
    return sum(seen)


@program
def list_cont(x, n):
    seen = []
    for i in range(n):
        if (x * i).sum() > 4:
            continue
        seen.append(x * i)
        if len(seen) > 2:
            break
    else:
        seen.append(x)
    return seen


@program
def list_printed(x, n):
    seen = []
    for i in range(n):
        seen.append(i * 2)
    s = f"{seen} {len(seen)}"
    return s, str(seen), 4 in seen, seen == [0, 2, 4], seen.index(0) if seen else -1


@program
def list_tensor_index(x, n):
    seen = [x, x * 2]
    for i in range(n):
        seen.append(x * i)
    return seen[n] * 2


@program
def list_grow_shapes(x, n):
    seen = [x]
    for i in range(n):
        seen.append(d2s.concat([seen[-1], x]))
    return seen[-1].sum(), d2s.concat(seen)


@program
def list_dtypes(x, n):
    seen = []
    for i in range(n):
        seen.append(x * i)
        seen.append("a")
    return len(seen), seen


@program
def list_strings(x, n):
    names = []
    for i in range(n):
        names.append("n")
        names.append(f"{i}")
    return names


@program
def list_tuples(x, n):
    st = [(x, x)]
    for i in range(n):
        h, c = st[-1]
        st.append((h * c, c + h))
    return st[-1]


@program
def list_dicts(x, n):
    st = []
    for i in range(n):
        st.append({"h": x * i, "i": i})
    t = x * 0
    for d in st:
        t = t + d["h"] * d["i"]
    return t


@program
def list_deep(x, n):

    seen = []
    for i in range(n):
        seen.append(x * i)
    c = seen.copy()
    c.append(x)
    d = list(seen)
    e = seen[:]
    e.pop() if e else None
    return len(seen), len(c), len(d), len(e)


@program
def list_mul(x, n):
    seen = []
    for i in range(n):
        seen.append(x * i)
    seen = seen * 2
    seen *= 2
    return d2s.stack(seen)


@program
def list_ext_self(x, n):
    seen = [x]
    for i in range(n):
        seen.extend(seen)
    return len(seen), sum(seen)


@program
def list_sortnum(x, n):
    seen = []
    for i in range(n):
        seen.append((x * i).sum().item())
    seen.sort(reverse=True)
    return seen, sorted(seen), min(seen) if seen else None


@program
def list_queue(x, n):
    q = [x]
    out = x * 0
    k = 0
    while q and k < n + 1:
        h = q.pop(0)
        out = out + h
        if h.sum() < 20:
            q.append(h * 2)
            q.append(h + 1)
        k += 1
    return out, len(q)


@program
def list_inner_fn(x, n):
    seen = []

    def add(i):
        nonlocal seen
        seen = seen + [x * i]  # noqa: RUF005
        return len(seen)

    k = 0
    for i in range(n):
        k = add(i)
    return k, seen


@program
def list_tensorlist(x, n):
    xs = [x, x + 1]
    for i in range(n):
        xs = [h * 2 for h in xs]
    return xs


@program
def list_filt(x, n):
    xs = []
    for i in range(n):
        xs.append(x * i)
        xs = [xs[-1]]
    return xs


@program
def list_maxloop(x, n):
    s = [x.sum()]
    for i in range(n):
        s.append((x * i).sum())
    best = s[0]
    for v in s:
        if v > best:
            best = v
    return best


@program
def list_to_t(x, n):
    s = []
    for i in range(n):
        s.append(i * 2.0)
    return d2s.to_tensor(s)


@program
def list_retain(x, n):
    s = []
    for i in range(n):
        s.append(x * i)
    y = x * 0
    for h in s:
        h.register_hook(record("h", lambda g: g * g + 1))
        y = y + h * h
    return y


@program
def list_as_return_of_helper(x, n):
    seen = []
    _fill(seen, x, n)
    return d2s.stack([x, x] + seen, axis=1)  # noqa: RUF005


@program
def list_for_code_that_is_not_traced(x, n):
    seen = []
    _fill(seen, x, n)
    return _look(seen), seen


@program
def list_kept_outside(x, n):
    seen = []
    LOG.append(seen)
    _fill(seen, x, n)
    seen.append(x)
    return len(seen)


@program
def list_of_the_same_tensors(x, y, n):
    seen = [x]
    for _ in range(n):
        seen.append(x)
        seen.append(y)
    return seen[0] is x, seen[-1] is x, seen[-1] * seen[0]


@program
def list_of_tensors_written_after(x, n):
    seen = []
    z = x * 1
    for i in range(n):
        z = z * 2
        seen.append(z)
        z.add_(x)
        if i > 0:
            seen[0].multiply_(x)
    return z, seen


@program
def list_element_of_a_view(x, n):
    z = x * 2
    seen = [z[0]]
    for i in range(n):
        seen.append(z[1:])
        z[1] = x[0] * i
    return seen, z


@program
def list_with_inner_backward(x, n):
    seen = []
    for i in range(n):
        seen.append(x * i)
    z = sum(seen, x * 1)
    z.register_hook(record("z", lambda g: g * g + 1))
    z.sum().backward(retain_graph=True)
    return z, x.grad


@program
def list_spread_out(x, n):
    seen = [x]
    for i in range(n):
        seen.append(x * i)

    def add(first, *others, scale=1):
        return (first + sum(others)) * scale

    def handed_on(*parts, **named):
        LOG.append(len(parts))
        return add(*parts, **named), isinstance(parts, tuple)

    total = add(x, *seen, x)
    total.register_hook(record("total", lambda g: g * g))
    return total * total, add(*seen, scale=2), handed_on(*seen, scale=n)


@program
def list_spread_out_for_functions_of_libraries(x, n):
    numbers, pairs = [0.5], [(0, x)]
    for i in range(n):
        numbers.append(i * 1.5)
        pairs.append((i, x * i))
    print(*numbers, sep=",")
    places, tensors = zip(*pairs)
    return x * max(*numbers, 0.25), "{}".format(*numbers), sum(tensors), list(places), list(reversed(tensors))


@program
def list_spread_out_by_name(x, n):
    class Pair:
        def __init__(self, first, *rest):
            self.first, self.rest = first, rest

        def total(self, second, third):
            return self.first * second + third + sum(self.rest)

    def two(a, b=2):
        return a * b

    numbers = [i + 1 for i in range(n)]
    made = Pair(x, *numbers)
    try:
        return made.total(*numbers)
    except TypeError:
        return functools.partial(two, x)(*numbers[:1])
