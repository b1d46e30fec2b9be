"""Every exclusion is needed: a small program on which that library differs from d2s; and the oracle sees faults."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import d2s
from d2s.core.hooks import HookList
from d2s.eager.walk import Walk

from . import on_d2s
from .exclusions import EXCLUSIONS, excluded
from .observe import assert_alike, run
from .peers import INSTALL, importable, peer_named
from .programs import programs, text_of

BACKWARD = "op.backward([z0 * u0], [[1.0, 0.5, -0.3, 0.7]], False)"
# (peer, rows) of an exclusion -> body of the function, and what is done with its results.
EXAMPLES = {
    ("paddle", "E05c X01"): (
        "h = z.register_hook(record('@', plus))\nop.add_(z, x)\nz.register_hook(record('@', plus))\nh.remove()",
        BACKWARD),
    ("paddle", "E11 E11b"): ("p = z[1:3]\nop.add_(p, p.detach())\nop.multiply_(p, x[0:2])", BACKWARD),
    ("paddle", "M01 X02"): ("z = op.cube(z)\nz.register_hook(record('@', plus))", BACKWARD),
    ("paddle", "H01 H01b H05 H06b"): (
        "x.register_hook(record('@', plus))", "for g in op.grad((z0 * u0).sum(), [x, y], False): show('g', g)"),
    ("paddle", "K01 K02b K04 K05 K07"): ("op.retain(z)\nz.register_hook(record('@', plus))", BACKWARD),
    ("torch", "E14c E14d"): (
        "u = z + y\nz.register_hook(record('@', stretch))\ny.register_hook(record('@', plus))\nz = u", BACKWARD),
}
# Here the library ends the process.
CRASHES = {("torch", "E11b"): ("p = z[1:3]\nop.add_(z, x)\np.register_hook(record('@', plus))", BACKWARD)}


def test_every_exclusion_has_an_example():
    assert {(entry.peer, entry.rows) for entry in EXCLUSIONS} == EXAMPLES.keys() | CRASHES.keys()


@pytest.mark.parametrize(("peer", "rows"), list(EXAMPLES))
def test_the_library_differs(peer, rows):
    text = text_of(*EXAMPLES[peer, rows])
    assert rows in [entry.rows for entry in excluded(text, peer)]
    with pytest.raises(AssertionError):
        assert_alike(run(text, on_d2s), run(text, peer_named(peer)), with_order=False)


@pytest.mark.parametrize(("peer", "rows"), list(CRASHES))
def test_the_library_crashes(peer, rows, tmp_path):
    text = text_of(*CRASHES[peer, rows])
    assert rows in [entry.rows for entry in excluded(text, peer)]
    if not importable(peer):
        pytest.skip(f"pip install {INSTALL[peer]}")
    script = tmp_path / "crash.py"
    script.write_text(f"from tests.oracle import on_{peer} as op\n{text}\ndrive(f)\n", encoding="utf-8")
    assert subprocess.run([sys.executable, str(script)], capture_output=True, env={"PYTHONPATH": "."}).returncode < 0


def newest_first(self):
    """Planted: hooks in the wrong order."""
    return list(reversed(self.hooks.values()))


def unhooked(self, hooks, grad):
    """Planted: what hooks return is ignored."""
    if hooks:
        hooks.run(self.own(grad), self.own)
    return grad


@pytest.mark.parametrize(("owner", "name", "fault"), [(HookList, "live", newest_first), (Walk, "hooked", unhooked)])
def test_planted_faults_are_noticed(monkeypatch, owner, name, fault):
    few = settings(max_examples=200, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    right = {}

    @few
    @given(text=programs())
    def observe(text):
        right[text] = run(text, on_d2s)

    observe()
    monkeypatch.setattr(owner, name, fault)
    caught = 0
    for text, expected in right.items():
        try:
            assert_alike(run(text, on_d2s), expected, with_order=True)
        except AssertionError:
            caught += 1
    assert caught > len(right) / 10


def test_a_hook_on_the_wrong_value_is_noticed():
    text = text_of("z.register_hook(record('@', plus))", BACKWARD)
    with pytest.raises(AssertionError):
        assert_alike(run(text.replace("z.register", "u.register"), on_d2s, d2s.to_static), run(text, on_d2s), True)
