"""Code that is followed several times: what was made, given away or registered the time before must not show."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import both_modes, leaf, recorder


@both_modes
@pytest.mark.parametrize("n", [0, 1])
def test_a_tensor_that_only_the_other_path_has_returned(convert, n):
    """The write to `u` must not take `u` for a Tensor that the caller has: that is so on the path that returned it."""

    @convert
    def f(x, n):
        u = x * 2
        if u.sum() > 1 and x.sum() > 2.0:
            u.add_(x)
        u.add_(x * x)
        if n > 0:
            return u
        no_such_name.register_hook(print)  # noqa: F821
        return u

    x = leaf(1.5)
    if n == 0:
        with pytest.raises(NameError):
            f(x, d2s.to_tensor(n))
    else:
        f(x, d2s.to_tensor(n)).sum().backward()
        assert x.grad.tolist() == [2.0 + 1.0 * (1.5 > 2.0) + 3.0]


@pytest.mark.parametrize("start", [0.25, 0.75, 1.5, -2.0])
def test_a_choice_that_only_the_other_path_has_made(start):
    """The write to `z` must not reach the `z` that was chosen the time before behind the write."""

    def f(x, c, log):
        z = x * x
        u = x * 3
        if c > 0:
            u.register_hook(recorder(log, "u"))
        else:
            z.multiply_(x)
            if z.sum() > 0.1:
                x.register_hook(recorder(log, "x"))
            else:
                z = u * x
            if u.sum() > 2.0:
                return z, u
        return z + 1, u

    def seen_of(f):
        log, x = [], leaf(start)
        for c in (-1.0, 1.0):
            z, u = f(x, d2s.to_tensor(c), log)
            (z * u).sum().backward()
            log += [z.tolist(), u.tolist(), x.grad.tolist()]
        return log

    eager = seen_of(f)
    assert ("u", [start * start + 1]) in eager
    assert seen_of(d2s.to_static(f)) == eager


@both_modes
def test_a_list_that_only_the_other_path_has_put_away(convert):
    """On one path a loop leaves the list inside of another one: on the other it may still be changed."""

    @convert
    def f(x, n):
        found = [x]
        if n > 0:
            kept = []
            for _ in range(n):
                kept.append(found)
            return len(kept)
        found.append(x * 2)
        return found[1]

    assert f(leaf(1.5), d2s.to_tensor(2)) == 2
    assert f(leaf(1.5), d2s.to_tensor(0)).tolist() == [3.0]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_tensor_that_nobody_holds_any_more(first):
    """`d` was joined to what it may be when that was alive: it is so too when the code is followed again."""

    class Kept:
        last = None

    def f(x, w, c, n, kept):
        t = x * w
        d = w * 0.5 + x
        u = t * 3
        if n > 1:
            if c > 0:
                d = w
            elif d[0] < t[1]:
                return d
            kept.last = d
        return t, u

    def seen_of(f):
        x, w, kept, seen = leaf(0.5, -1.0), d2s.to_tensor([0.75, 0.5]), Kept(), []
        calls = ((1.0, 2), (-1.0, 0), (-1.0, 2), (1.0, 2))
        for c, n in calls[first:] + calls[:first]:
            found = f(x, w, d2s.to_tensor(c), d2s.to_tensor(n), kept)
            parts = found if isinstance(found, tuple) else (found,)
            sum(part.sum() for part in parts).backward()
            seen += [*(part.tolist() for part in parts), x.grad.tolist()]
            if kept.last is not None:
                seen += [kept.last is w, kept.last.tolist()]
        return seen

    assert seen_of(d2s.to_static(f)) == seen_of(f)


@both_modes
def test_a_cell_that_only_the_other_path_has_made(convert):
    """When `grad` walks, the hook that is made behind it is not there yet, also when this is traced again."""
    log = []

    @convert
    def f(x, w, n):
        k = 1
        t = x * w
        loss = (t * t).mean()
        if n > 0:
            (g,) = d2s.grad(loss, [w], create_graph=True, allow_unused=True)
            if g is not None:
                loss = loss + g.sum()
            t.register_hook(lambda g: log.append((k, (g * g).tolist())))
        k = 2
        return t, loss

    for n in (2, 0, 1):
        x = leaf(0.5, 2.0)
        t, loss = f(x, leaf(1.0, 3.0), d2s.to_tensor(n))
        (t.sum() + loss).backward()
        log.append(x.grad.tolist())
    assert [entry[0] for entry in log if isinstance(entry, tuple)] == [2, 2]
    assert (log[0], log[1]) == (log[3], log[4])


@both_modes
@pytest.mark.parametrize("turns", [0, 1, 2])
def test_a_hook_registered_in_turns_or_a_branch_sees_what_is_stored_behind(convert, turns):
    log = []

    @convert
    def f(x, n):
        factors, count = [1.0], 0

        def scaled(g):
            nonlocal count
            count += 1
            log.append(count)
            return g * sum(factors) + count

        y = x * x
        for _ in range(n):
            y.register_hook(scaled)
        if n > 1:
            x.register_hook(scaled)
        factors.append(4.0)
        count += 10
        y.sum().backward()
        return count

    x = leaf(0.5, 2.0)
    assert f(x, d2s.to_tensor(turns)) == 10 + turns + (turns > 1)
    first = {0: [1.0, 4.0], 1: [16.0, 64.0], 2: [92.0, 368.0]}[turns]
    assert log == [11 + call for call in range(turns + (turns > 1))]
    assert x.grad.tolist() == ([value * 5 + 13 for value in first] if turns > 1 else first)
