"""Some turns of a tensor loop store something in objects from outside, which held nothing there before."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import leaf


@d2s.jit.not_to_static
def outside(s):
    s.kept = s.kept * 2 + 1


BEST: dict[str, d2s.Tensor] = {}


class State(d2s.nn.Layer):
    def __init__(self):
        super().__init__()
        self.box = {}
        self.kept = d2s.ones([2])


def item_is_read_behind(s, x, n):
    for i in range(n):
        if x.sum() > i:
            s.box["k"] = x * i
    return s.box["k"] * x if "k" in s.box else x * 3


def item_has_a_hook(s, x, n):
    for i in range(n):
        if x.sum() > i:
            s.box["k"] = x * i
            s.box["k"].register_hook(lambda g: g * g + 1)
    return s.box.get("k", x) * 2


def item_is_asked_for_by_later_turns(s, x, n):
    for i in range(n):
        if "k" in s.box:
            x = x * 1.5
        if x.sum() > i:
            s.box["k"] = x * i
    return s.box.get("k", x)


def item_of_inner_loops(s, x, n):
    for i in range(n):
        for j in range(n):
            if x.sum() > i + j:
                s.box["k"] = x * i
                break
        if "k" in s.box:
            x = x + s.box["k"]
    return x


def numbers_and_texts_are_stored(s, x, n):
    for i in range(n):
        if x.sum() > i:
            s.last = i
            s.box["text"] = "a"
    return x * getattr(s, "last", 7) * (len(s.box) + 1)


def global_decides_the_next_turn(s, x, n):
    for i in range(n):
        if x.sum() > i:
            BEST["k"] = x * i
        if "k" in BEST and BEST["k"].sum() > 0.5:
            break
        x = x * 1.5
    return x


def attribute_beside_a_variable(s, x, n):
    best = x * 0
    for i in range(n):
        if x.sum() > i:
            best = s.best = x * i
    return best


PROGRAMS = [
    item_is_read_behind, item_has_a_hook, item_is_asked_for_by_later_turns, item_of_inner_loops,
    numbers_and_texts_are_stored, global_decides_the_next_turn, attribute_beside_a_variable]


def plain(held):
    return {
        name: (one.tolist(), one.stop_gradient) if isinstance(one, d2s.Tensor) else one for name, one in held.items()}


def seen(convert, function, of_tensor):
    found, state, f = [], State(), convert(function)
    BEST.clear()
    for turns in (0, 3, 2, 0, 1):
        x = leaf(1.0, 0.5)
        result = f(state, x, d2s.to_tensor(turns) if of_tensor else turns)
        result.sum().backward()
        stored = {name: held for name, held in vars(state).items() if name in ("last", "best")}
        found.append((result.tolist(), x.grad.tolist(), plain(state.box), plain(BEST), plain(stored)))
        if turns == 2:
            state.box.clear()
            BEST.clear()
    return found


@pytest.mark.parametrize("of_tensor", [True, False], ids=["tensor", "python"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_static_is_eager(function, of_tensor):
    assert seen(d2s.to_static, function, of_tensor) == seen(lambda f: f, function, of_tensor)


def in_turns(s, x, n):
    for _ in range(n):
        s.kept = s.kept * 0.9 + x
        outside(s)
    return x


def in_turns_and_read_first(s, x, n):
    for _ in range(n):
        x = x + s.kept
        s.kept = x * 2
        outside(s)
    return x


def behind_turns(s, x, n):
    for _ in range(n):
        s.kept = x * 2
    outside(s)
    return s.kept * x


@pytest.mark.parametrize("function", [in_turns, in_turns_and_read_first, behind_turns], ids=lambda f: f.__name__)
def test_what_untraced_calls_store_in_its_place_is_noticed(function):
    with pytest.raises(d2s.errors.ExecutionError, match="what was stored at 'kept' was changed") as raised:
        d2s.to_static(function)(State(), leaf(1.0, 0.5), d2s.to_tensor(2))
    assert raised.value.location.file == __file__
