"""Views that branches and turns have made, and views of views, when other code gets them and writes in place."""

from __future__ import annotations

import pytest

import d2s

PROGRAMS = {}
# Where only the run knew how a tensor shares values, a write to it is an error.
REFUSED = {
    "given_from_branch", "given_from_turn", "given_and_detached_in_branch", "given_and_detached_in_turn",
    "given_from_branch_of_made", "given_from_turn_of_made",
}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@d2s.jit.not_to_static
def write(t):
    with d2s.no_grad():
        t.multiply_(d2s.full([3], 1.5))


@program
def from_branch(x, w, c, n):
    t = x
    if c > 0:
        t = w.reshape([3])
    return t


@program
def detached_in_branch(x, w, c, n):
    t = x
    if c > 0:
        t = w.detach()
    return t


@program
def from_turn(x, w, c, n):
    t = x
    for _ in range(n):
        t = w.reshape([3])
    return t


@program
def detached_in_turn(x, w, c, n):
    t = x
    for _ in range(n):
        t = w.detach()
    return t


@program
def from_branch_beside_what_it_shows(x, w, c, n):
    m, t = w * 2.0, x
    if c > 0:
        t = m.reshape([3])
    return m, t


@program
def given_from_branch(x, w, c, n):
    t = x
    if c > 0:
        t = w.reshape([3])
    write(t)
    return t, w * 1.0


@program
def given_and_detached_in_branch(x, w, c, n):
    t = x
    if c > 0:
        t = w.detach()
    write(t)
    return t, w * 1.0


@program
def given_from_turn(x, w, c, n):
    t = x
    for _ in range(n):
        t = w.reshape([3])
    write(t)
    return t, w * 1.0


@program
def given_and_detached_in_turn(x, w, c, n):
    t = x
    for _ in range(n):
        t = w.detach()
    write(t)
    return t, w * 1.0


@program
def given_from_branch_of_made(x, w, c, n):
    m, t = w * 2.0, x
    if c > 0:
        t = m.reshape([3])
    write(t)
    return t, m * 1.0


@program
def given_from_turn_of_made(x, w, c, n):
    m, t = w * 2.0, x
    for _ in range(n):
        t = m.reshape([3])
    write(t)
    return t, m * 1.0


@program
def view_of_view(x, w, c, n):
    m = w * 2.0
    t = m.reshape([3, 1]).reshape([3])
    write(t)
    return t, m


@program
def view_of_chosen(x, w, c, n):
    m = w * 2.0
    z = m if c > 0 else x
    t = z.reshape([3])
    write(t)
    return z, m, t


@program
def detached_of_chosen(x, w, c, n):
    m = w * 2.0
    z = m if c > 0 else x
    t = z.detach()
    write(t)
    return z, m, t


@program
def one_tensor_behind_an_inner_loop(x, w, c, n):
    t, u = w * 2.0, x * 0.5
    for _ in range(n):
        u.add_(w)
        for _ in range(n):
            u = t + x
            t = u
    return t + u * x


def seen(static, function, c, n):
    x, w, found = d2s.to_tensor([0.3, -0.7, 1.1]), d2s.to_tensor([0.9, 0.4, -0.6]), []
    f = static(function)
    for _ in range(2):
        results = f(x, w, d2s.to_tensor(c), d2s.to_tensor(n))
        results = results if isinstance(results, tuple) else (results,)
        found.append([t.tolist() for t in (*results, x, w)])
        try:
            with d2s.no_grad():
                results[-1].add_(d2s.full([3], 0.5))
        except d2s.GradientError as error:
            found.append(error.kind)
        found.append([t.tolist() for t in (*results, x, w)])
    return found


@pytest.mark.parametrize(("c", "n"), [(1.0, 2), (-1.0, 0)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_reach_all_or_are_refused(name, c, n):
    eager = seen(lambda function: function, PROGRAMS[name], c, n)
    if name in REFUSED and c > 0:
        with pytest.raises(d2s.GradientError) as caught:
            seen(d2s.to_static, PROGRAMS[name], c, n)
        assert caught.value.kind == "G17"
        return
    static = seen(d2s.to_static, PROGRAMS[name], c, n)
    if "G17" in static:
        assert static[:2] == [eager[0], "G17"]
        assert static[2] == eager[0], "nothing is written"
    else:
        assert static == eager


def test_what_is_shown_cannot_be_written_either():
    """By the tensor that the view shows: what was given would not see it."""
    w = d2s.to_tensor([0.9, 0.4, -0.6])
    given = d2s.to_static(PROGRAMS["from_turn"])(d2s.ones([3]), w, d2s.to_tensor(1.0), d2s.to_tensor(2))
    with pytest.raises(d2s.GradientError) as caught:
        w.add_(d2s.ones([3]))
    assert caught.value.kind == "G17"
    del given
    w.add_(d2s.ones([3]))


def leaf_written_in_turns_behind_turns_that_read_it_again(x, w, c, n):
    t, u = (w - x).tanh(), x + 1.0
    if c > 0:
        t = x
    for _ in range(n):
        look(t)
        if c > 0:
            u = (x - t).tanh()
    for _ in range(n):
        t.add_(t)
    return t * x, u


def named_anew_by_turns_and_written(x, w, c, n):
    t, u = (w - x.detach()).tanh(), x * 0.5
    for _ in range(n):
        u = t
    write(u)
    return x * t


def view_of_branch_behind_a_write(x, w, c, n):
    u = x * 2.0
    if c < 0:
        u = w.reshape([3])
        write(w)
    return w * x * u


def written_in_turns_behind_branches_that_log(x, w, c, n):
    t, u = w * 2.0, x.detach() * 1.5
    if c > 0:
        u = u * t
    u.add_(w)
    if c > 0:
        t = [u, u][int(n) - int(n)]
        look(t)
    return t + u * x


def view_of_view_in_branch_behind_a_write(x, w, c, n):
    t, u = w + x, x * 0.5
    if c > 0:
        u = t.reshape([3, 1]).reshape([3])
    t.multiply_(u)
    return (w + u) * t


def view_of_view_in_branch_written(x, w, c, n):
    t, u = w * 1.5, w * 2.0
    if c > 0:
        t = u.reshape([3, 1]).reshape([3])
    if c > 0:
        u.add_(t)
    return t * x, u


@d2s.jit.not_to_static
def look(t):
    t.tolist()


@pytest.mark.parametrize(("c", "n"), [(1.0, 2), (-1.0, 0), (-1.0, 2)])
@pytest.mark.parametrize("function", [
    leaf_written_in_turns_behind_turns_that_read_it_again, named_anew_by_turns_and_written,
    view_of_branch_behind_a_write, written_in_turns_behind_branches_that_log, view_of_view_in_branch_behind_a_write,
    view_of_view_in_branch_written])
def test_the_same_or_said(function, c, n):
    """Where the run would go on with old values, it says so."""

    def play(static):
        x, w = d2s.to_tensor([0.3, -0.7, 1.1], stop_gradient=False), d2s.to_tensor([0.9, 0.4, -0.6])
        try:
            results = static(function)(x, w, d2s.to_tensor(c), d2s.to_tensor(n))
        except d2s.D2SError as error:
            return error.kind
        results = results if isinstance(results, tuple) else (results,)
        return [t.tolist() for t in (*results, x, w)]

    eager, static = play(lambda function: function), play(d2s.to_static)
    assert static in (eager, "X12")
    if n == 0:
        assert static == eager or function is view_of_branch_behind_a_write


def copied_from_branch(w, c, n):
    t = w.reshape([6]) * 1.0
    if c > 0:
        t = w.t().reshape([6])
    return t


def shown_from_turn(w, c, n):
    t = w.t() * 1.0
    for _ in range(n):
        t = w.t()
        bump()
    return t


def shown_from_inner_turns(w, c, n):
    t = w[0] * 1.0
    for _ in range(n):
        for _ in range(n):
            t = w[0]
        if c > 0:
            bump()
    return t


def shown_from_branch_of_turns(w, c, n):
    t = w[:, 1] * 1.0
    for _ in range(n):
        bump()
        if c > 0:
            t = w[:, 1]
        bump()
    return t


def taken_behind_the_write(w, c, n):
    t = w[0] * 1.0
    for _ in range(n):
        bump()
        t = w[0]
    return t


BUMPED = []


@d2s.jit.not_to_static
def bump():
    with d2s.no_grad():
        BUMPED[-1].add_(d2s.full([2, 3], 0.5))


@pytest.mark.parametrize(("c", "n"), [(1.0, 2), (-1.0, 2), (-1.0, 0)])
@pytest.mark.parametrize("function", [
    copied_from_branch, shown_from_turn, shown_from_inner_turns, shown_from_branch_of_turns, taken_behind_the_write])
@pytest.mark.parametrize("bumps", [0, 1])
def test_views_of_what_was_read_inside_are_current_or_it_is_said(function, bumps, c, n):
    """Also of versions that only a turn or a branch has read, and where showing it has taken a copy."""

    def play(static):
        def run(w, c, n):
            t = function(w, c, n)
            if bumps:
                bump()
            return t * 2.0

        w = d2s.to_tensor([[0.9, 0.4, -0.6], [0.1, 0.2, 0.3]])
        BUMPED[:] = [w]
        try:
            return static(run)(w, d2s.to_tensor(c), d2s.to_tensor(n)).tolist()
        except d2s.D2SError as error:
            return error.kind

    eager, static = play(lambda function: function), play(d2s.to_static)
    if function is copied_from_branch:
        # Where it may be a copy, nobody can tell whether it is one of old values.
        is_old = bumps
    elif function is shown_from_turn:
        is_old = n
    else:
        is_inside = function in (shown_from_inner_turns, shown_from_branch_of_turns) and c > 0
        is_old = n and (is_inside or (bumps and not (function is shown_from_branch_of_turns and c < 0)))
    assert static == ("X12" if is_old else eager)


def test_a_tensor_read_again_on_both_paths_through_a_turn_is_still_that_tensor():
    """A write to what is returned as its view reaches it."""

    def play(static):
        def f(x, v, n):
            t = x * x
            look(v)
            for _ in range(n):
                t.register_hook(lambda g: g * g + 1.0) if not t.stop_gradient else None
                t = v[:]
            return t * x, v[:]

        x, v = d2s.to_tensor([1.0, 2.0, 3.0], stop_gradient=False), d2s.to_tensor([1.0, 2.0, 3.0])
        y, u = static(f)(x, v, d2s.to_tensor(2))
        with d2s.no_grad():
            u.add_(d2s.full([3], 0.5))
        with pytest.raises(d2s.GradientError) as refused:
            y.sum().backward()
        return v.tolist(), refused.value.kind

    assert play(d2s.to_static) == play(lambda function: function)


def written_in_branch_behind_a_rule(x, w, c, n):
    t = w * 2.0
    u = t * x
    if c > 0:
        write(t)
    return u


def written_in_branch_that_reads(x, w, c, n):
    t = w * 2.0
    u = x * 1.0
    if c > 0:
        u = t * x
        write(t)
    return u


def part_written_in_branch(x, w, c, n):
    t = w * 2.0
    u = t * x
    if c > 0:
        write(t[:])
    return u


def written_in_turns_behind_a_rule(x, w, c, n):
    t = w * 2.0
    u = t * x
    for _ in range(n):
        write(t)
    return u


def written_in_branch_of_turns(x, w, c, n):
    u = x * 1.0
    for _ in range(n):
        t = w * 2.0
        u = t * u
        if c > 0:
            write(t)
    return u


def only_looked_at_in_branch(x, w, c, n):
    t = w * 2.0
    u = t * x
    if c > 0:
        look(t)
    return u


@pytest.mark.parametrize(("c", "n"), [(1.0, 2), (-1.0, 0), (-1.0, 2)])
@pytest.mark.parametrize("function", [
    written_in_branch_behind_a_rule, written_in_branch_that_reads, part_written_in_branch,
    written_in_turns_behind_a_rule, written_in_branch_of_turns, only_looked_at_in_branch])
def test_gradients_see_what_branches_and_turns_let_be_written(function, c, n):
    """A tensor without gradient, made before the branch, of which a rule has read the values."""

    def play(static):
        x, w = d2s.to_tensor([0.3, -0.7, 1.1], stop_gradient=False), d2s.to_tensor([0.9, 0.4, -0.6])
        y = static(function)(x, w, d2s.to_tensor(c), d2s.to_tensor(n))
        try:
            y.sum().backward()
        except d2s.D2SError as error:
            return y.tolist(), error.kind
        return y.tolist(), x.grad.tolist()

    assert play(d2s.to_static) == play(lambda function: function)
