"""d2s against PyTorch and PaddlePaddle: random programs with hooks, in eager and in static mode."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, note, settings

import d2s

from . import on_d2s
from .exclusions import excluded, only_one_misses_a_saved_value
from .observe import assert_alike, run
from .peers import INSTALL, peer_named
from .programs import programs

# What static mode does not do (docs/limitations.md).
REFUSED = "an in-place write to a tensor that is one of several"

relaxed = settings(suppress_health_check=[HealthCheck.too_slow])


@relaxed
@given(text=programs())
def test_static_is_eager(text):
    note(text)
    eager = run(text, on_d2s)
    static = run(text, on_d2s, d2s.to_static)
    if isinstance(static.error, d2s.UnsupportedSyntaxError) and REFUSED in str(static.error):
        event("refused")
    else:
        assert_alike(static, eager, with_order=True)


@pytest.mark.parametrize("peer", sorted(INSTALL))
def test_eager_is_the_peer(peer):
    op = peer_named(peer)

    @relaxed
    @given(text=programs())
    def compare(text):
        note(text)
        reasons = excluded(text, peer)
        if reasons:
            event(f"left out: {reasons[0].rows}")
            return
        expected, got = run(text, op), run(text, on_d2s)
        if peer == "paddle" and only_one_misses_a_saved_value(text, got, expected):
            event("left out: E13")
        else:
            # Rule 6: the order between tensors is PyTorch's.
            assert_alike(got, expected, with_order=peer == "torch")

    compare()
