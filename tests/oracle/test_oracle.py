"""d2s against PyTorch and PaddlePaddle: random programs with hooks, in eager and in static mode."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, event, given, note, settings

import d2s
from d2s.operators import conversion
from d2s.transpiler.passes import hook_placement

from . import on_d2s
from .exclusions import excluded, only_one_misses_a_saved_value
from .observe import assert_alike, load, run
from .peers import INSTALL, peer_named
from .programs import LIVE, SHARED, programs, text_of
from .reduce import reduced

# Writes to what turns have taken of tensors that are gone, and to what turns have detached (docs/limitations.md).
REFUSED = ("U12", "U23")

WITHOUT_MOVES = tuple(found for found in conversion.JIT_PASSES if found is not hook_placement.run)

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


@pytest.mark.parametrize(
    ("texts", "share_refused"), [(programs(), 0.01), (programs((SHARED,)), 0.1), (programs((LIVE,)), 0.01)],
    ids=["all", SHARED, LIVE])
def test_static_is_eager(texts, share_refused):
    tried, refused = [], set()

    def compare(text):
        tried.append(text)
        static = run(text, on_d2s, d2s.to_static)
        if isinstance(static.error, d2s.UnsupportedSyntaxError) and static.error.kind in REFUSED:
            refused.add(text)
        else:
            assert_alike(static, run(text, on_d2s), with_order=True)

    @relaxed
    @given(text=texts)
    def search(text):
        check(text, compare)

    search()
    # Programs are found by changing one another: a few of one kind may come together.
    assert len(refused) <= 2 + share_refused * len(tried), "\n".join(refused)


@relaxed
@given(text=programs())
def test_hooks_that_stay_where_they_are_written_do_the_same(text):
    """With the pass switched off that moves registrations behind definitions."""

    def compare(text):
        moved = run(text, on_d2s, d2s.to_static)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(conversion, "JIT_PASSES", WITHOUT_MOVES)
            left = run(text, on_d2s, d2s.to_static)
        assert_alike(left, moved, with_order=True)

    check(text, compare)


def test_the_pass_that_moves_hooks_is_switched_off():
    text = text_of("u = z + y\nz.register_hook(plus)", "pass")

    def moved_by(passes):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(conversion, "JIT_PASSES", passes)
            prepared = conversion.prepared_for_tracing(load(text, on_d2s).f)
        return [entry.moved_to is not None for entry in prepared.hook_report]

    assert moved_by(conversion.JIT_PASSES) == [True]
    assert moved_by(WITHOUT_MOVES) == []


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

    def shown(text):
        return text.partition("def f(")[2]

    small = shown(reduced(text, lambda other: "register_hook" in shown(other)))

    assert small.count("register_hook") == 1
    assert "u = " not in small
    assert "if " not in small
