"""Loops of many turns keep the same amount in each."""

from __future__ import annotations

import d2s
from benchmarks.turns import kept, loop


def test_memory_is_linear_in_the_turns():
    static = d2s.jit.to_static(loop)
    x = d2s.to_tensor(1.0, stop_gradient=False)
    static(x, d2s.to_tensor(3)).backward()
    sizes = [kept(static, x, d2s.to_tensor(turns)) for turns in (500, 1000, 2000)]
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert 50_000 < first < 200_000
    assert 1.6 < second / first < 2.4
