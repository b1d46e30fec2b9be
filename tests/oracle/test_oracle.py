"""d2s against PyTorch and PaddlePaddle: random programs with hooks, in eager and in static mode."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, event, given, note, settings

import d2s

from . import on_d2s
from .exclusions import excluded, only_one_misses_a_saved_value
from .observe import assert_alike, run
from .peers import INSTALL, peer_named
from .programs import programs, text_of
from .reduce import reduced

# What static mode does not do (docs/limitations.md), and in how many of the programs at most.
REFUSED = "U12"
SHARE_REFUSED = 0.04

# Programs are made small by `reduced`, which knows what a statement is and takes seconds.
relaxed = settings(
    suppress_health_check=[HealthCheck.too_slow], phases=[Phase.explicit, Phase.reuse, Phase.generate],
    report_multiple_bugs=False,
)


def check(text, compare):
    """Assert that `compare` finds no difference; else show a small program on which it does."""

    def fails(other):
        try:
            compare(other)
        except AssertionError:
            return True
        return False

    if fails(text):
        small = reduced(text, fails)
        note(small)
        compare(small)


def is_static_like_eager(text):
    """Compare the two modes; False if static mode refuses the program."""
    eager = run(text, on_d2s)
    static = run(text, on_d2s, d2s.to_static)
    if isinstance(static.error, d2s.UnsupportedSyntaxError) and static.error.kind == REFUSED:
        return False
    assert_alike(static, eager, with_order=True)
    return True


def test_static_is_eager():
    tried, refused = [], set()

    def compare(text):
        tried.append(text)
        if not is_static_like_eager(text):
            refused.add(text)

    @relaxed
    @given(text=programs())
    def search(text):
        check(text, compare)

    search()
    # Programs are found by changing one another: a few of one kind may come together.
    assert len(refused) <= 2 + SHARE_REFUSED * len(tried), "\n".join(refused)


@pytest.mark.parametrize("peer", sorted(INSTALL))
def test_eager_is_the_peer(peer):
    op = peer_named(peer)

    def eager_with_peer(text):
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

    @relaxed
    @given(text=programs())
    def compare(text):
        check(text, eager_with_peer)

    compare()


def test_a_failing_program_is_made_small():
    text = text_of("if c > 0:\n    u = z * y\n    z.register_hook(record('@', plus))\nu = u + z", "loss = z0 * u0")

    small = reduced(text, lambda other: "register_hook" in other)

    assert small.count("register_hook") == 1
    assert "u = " not in small
    assert "if " not in small
