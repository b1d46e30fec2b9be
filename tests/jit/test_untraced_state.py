"""Globals that an untraced call changes: read after it in the same run, they are never what they were."""

from __future__ import annotations

import pytest

import d2s

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
