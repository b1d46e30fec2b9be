"""d2s against PyTorch and PaddlePaddle: random programs with hooks, in eager and in static mode."""

from __future__ import annotations

import importlib
import sys
import warnings

import pytest
from hypothesis import HealthCheck, event, given, note, settings

import d2s

from . import on_d2s
from .exclusions import excluded, only_one_misses_a_saved_value
from .observe import assert_alike, run
from .programs import programs

INSTALL = {"torch": "torch==2.13.*", "paddle": "paddlepaddle==3.3.1"}
relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def peers():
    """Adapters of the libraries that can be imported, by name."""
    found = {}
    for name in INSTALL:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = importlib.import_module(f"{__package__}.on_{name}")
            except ImportError:
                sys.modules.pop(f"{__package__}.on_{name}", None)
    return found


@relaxed
@given(text=programs())
def test_static_is_eager(text):
    note(text)
    eager = run(text, on_d2s)
    static = run(text, on_d2s, d2s.to_static)
    assert_alike(static, eager, with_order=True)


@pytest.mark.parametrize("peer", sorted(INSTALL))
@relaxed
@given(text=programs())
def test_eager_is_the_peer(peers, peer, text):
    if peer not in peers:
        pytest.skip(f"pip install {INSTALL[peer]}")
    note(text)
    reasons = excluded(text, peer)
    event("left out: " + "; ".join(entry.rows for entry in reasons) if reasons else "compared")
    if not reasons:
        expected = run(text, peers[peer])
        got = run(text, on_d2s)
        if peer == "paddle" and only_one_misses_a_saved_value(text, got, expected):
            event("left out: E13")
        else:
            # Rule 6: the order between tensors is PyTorch's.
            assert_alike(got, expected, with_order=peer == "torch")
