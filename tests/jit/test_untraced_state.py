"""Globals that an untraced call changes: read after it in the same run, they are never what they were."""

from __future__ import annotations

import contextlib

import pytest

import d2s
from tests.footguns.things import Box

count = 0


@d2s.jit.not_to_static
def step():
    global count
    count += 1


def scaled(x):
    step()
    return x * count


def test_a_global_read_after_an_untraced_call_is_not_stale():
    global count
    count = 0
    static = d2s.to_static(scaled)
    with pytest.raises(d2s.ExecutionError, match="global count was changed by a call that is not traced"):
        static(d2s.ones([1]))
    assert count == 1


def test_a_global_read_after_an_untraced_call_that_leaves_it_alone(monkeypatch):
    monkeypatch.setitem(globals(), "count", 3)

    def harmless():
        return None

    d2s.jit.not_to_static(harmless)

    def f(x):
        harmless()
        return x * count

    static = d2s.to_static(f)
    assert [static(d2s.ones([1])).item() for _ in range(2)] == [3.0, 3.0]
    monkeypatch.setitem(globals(), "count", 4)
    assert static(d2s.ones([1])).item() == 4.0


def first(z):
    return z * 2


def second(z):
    return z * 3


class Thing:
    def method(self, z):
        return z * 2


def other_method(self, z):
    return z * 5


def test_what_the_call_did_before_that_line_is_what_eager_mode_does_up_to_there(capsys):
    def seen_of(convert):
        log, kept, box = [], [], Box(n=1.0, calls=0)

        @d2s.jit.not_to_static
        def change(y):
            log.append(y.tolist())
            box.n += 1

        def f(z):
            kept.append(z * 2)
            box.calls += 1
            print("before", box.calls)
            z.register_hook(log.append)
            change(z)
            log.append("behind")
            z = z * box.n
            log.append("after")
            return z

        f, z = convert(f), d2s.ones([1])
        z.stop_gradient = False
        for _ in range(2):
            with contextlib.suppress(d2s.ExecutionError):
                f(z)
        return log, [part.tolist() for part in kept], box.n, box.calls, capsys.readouterr().out

    eager, static = seen_of(lambda function: function), seen_of(d2s.to_static)
    assert [entry for entry in eager[0] if entry != "after"] == static[0]
    assert static[1:] == eager[1:]


CHANGES = {
    "a function in an object": (Box, lambda box: setattr(box, "g", second), lambda z, box: box.g(z), {"g": first}),
    "the code of a function": (
        lambda: lambda z: z * 2, lambda g: setattr(g, "__code__", (lambda z: z * 3).__code__), lambda z, g: g(z), {}),
    "a method of a class": (
        lambda: type("Sub", (Thing,), {})(), lambda thing: setattr(type(thing), "method", other_method),
        lambda z, thing: thing.method(z), {}),
    "a sublayer": (
        lambda: d2s.nn.Sequential(d2s.nn.Tanh()), lambda net: net.__setitem__(0, d2s.nn.ReLU()),
        lambda z, net: net(z), {}),
    "a hook of a Layer": (
        d2s.nn.Tanh, lambda net: net.register_forward_post_hook(lambda layer, inputs, out: out * 2),
        lambda z, net: net(z), {}),
    "the mode of a Layer": (d2s.nn.Dropout, lambda net: net.eval(), lambda z, net: net(z), {}),
    "a parameter": (
        lambda: d2s.nn.Linear(1, 1), lambda net: setattr(net, "weight", d2s.nn.Parameter([[2.0]])),
        lambda z, net: net(z), {}),
    "a length": (list, lambda kept: kept.append(1), lambda z, kept: z * len(kept), {}),
    "keys": (dict, lambda kept: kept.update(a=1), lambda z, kept: z * len(list(kept)), {}),
    "members": (set, lambda kept: kept.add(1), lambda z, kept: z * (1 in kept), {}),
    "an element": (lambda: [1.0], lambda kept: kept.__setitem__(0, 7.0), lambda z, kept: z * kept[0], {}),
    "whether there is an attribute": (
        Box, lambda box: setattr(box, "k", 5.0), lambda z, box: z * getattr(box, "k", 1.0), {}),
    "the type of an attribute": (
        Box, lambda box: setattr(box, "k", "a"), lambda z, box: z * (2 if isinstance(box.k, int) else 3), {"k": 1}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_an_untraced_call_changes_is_never_read_as_it_was(name):
    make, change, use, fields = CHANGES[name]
    thing = make(**fields)

    @d2s.jit.not_to_static
    def act(changing):
        if changing:
            change(thing)

    def f(z, changing):
        y = use(z, thing)
        act(changing)
        return y, use(z, thing)

    static, z = d2s.to_static(f), d2s.ones([1, 1])
    d2s.seed(0)
    assert [part.shape for part in static(z, False)] == [[1, 1], [1, 1]]
    with pytest.raises(d2s.ExecutionError, match=r"(was|were) changed by a call that is not traced") as caught:
        static(z, True)
    assert caught.value.location.file == __file__
