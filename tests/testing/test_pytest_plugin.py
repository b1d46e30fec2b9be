"""The plugin in sessions of pytest of its own; golden files."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import unittest
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import d2s

# All that the inner sessions use: what they were the first to import would go with them.
from d2s.testing import assert_golden, golden_text, modes, pytest_plugin, same  # noqa: F401

ROOT = Path(__file__).parent.parent.parent

pytest_plugins = ["pytester"]

TESTS = """
import pytest, d2s

@d2s.to_static
def f(x):
    return x * 2

@pytest.mark.both_modes
@pytest.mark.parametrize("n", [1, 2])
def test_marked(n, d2s_mode):
    f.program_cache.__init__()
    f(d2s.to_tensor([1.0] * n))
    assert len(f.program_cache) == (d2s_mode == "static")

@pytest.mark.both_modes
def test_marked_without_fixture():
    assert f(d2s.to_tensor([1.0])).item() == 2.0

def traces():
    f.program_cache.__init__()
    f(d2s.to_tensor([1.0]))
    return len(f.program_cache)

@pytest.fixture
def early():
    return traces()

@pytest.fixture(autouse=True)
def always(request):
    request.node.traced = traces()

@pytest.mark.both_modes
def test_fixtures_run_in_the_mode(early, request, d2s_mode):
    assert early == request.node.traced == (d2s_mode == "static")

def test_fixture(both_modes):
    both_modes(f, d2s.to_tensor([1.0], stop_gradient=False))

def test_golden(golden):
    golden(f(d2s.to_tensor([1.0, 2.0])))
    golden(f.code, "code")
"""


def session(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    # Where d2s is installed, its entry point has loaded the plugin already.
    is_installed = any(found.name == "d2s" for found in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "d2s.testing.pytest_plugin"]
    return pytester.runpytest_inprocess(
        *plugin, "-p", "no:cacheprovider", "-p", "no:xdist", "--strict-markers", *options)


def run(pytester: pytest.Pytester, *options: str) -> str:
    return str(session(pytester, *options).stdout)


def test_marker_fixtures_and_golden_files(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    missing = run(pytester)
    assert "there is no golden file" in missing
    assert "1 failed, 9 passed" in missing
    assert "10 passed" in run(pytester, "--d2s-update-golden")
    folder = pytester.path / "golden"
    assert (folder / "test_golden.txt").read_text() == "float32[2]\n  2.0, 4.0\n"
    assert "return x * 2" in (folder / "test_golden-code.txt").read_text()
    assert "10 passed" in run(pytester)
    (folder / "test_golden.txt").write_text("float32[2]\n  2.0, 5.0\n")
    wrong = run(pytester)
    assert "-  2.0, 5.0" in wrong
    assert "+  2.0, 4.0" in wrong


def test_the_entry_point_leads_to_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = import_module(project["entry-points"]["pytest11"]["d2s"])
    assert hasattr(module, "pytest_addoption")


def test_the_plugin_does_not_import_d2s_by_itself() -> None:
    # Every session of pytest in that environment loads it.
    program = "import sys, d2s.testing.pytest_plugin; print('d2s.static' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout == "False\n"


def test_golden_text_is_exact() -> None:
    value = {"a": d2s.to_tensor([[0.1, 2.0]]), "b": [np.float64(0.1), None, "x"], "c": np.array(3)}
    assert golden_text(value).splitlines() == [
        "dict of 3", "['a']: float32[1, 2]", "  0.10000000149011612, 2.0", "['b']: list of 3", "['b'][0]: float64[]",
        "  0.1", "['b'][1]: None", "['b'][2]: 'x'", "['c']: int64[]", "  3",
    ]


def test_golden_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "deep" / "program.txt"
    static = d2s.to_static(lambda x: x + 1)
    static(d2s.to_tensor([1.0]))
    with pytest.raises(AssertionError, match="no golden file"):
        assert_golden(static.main_program, file)
    monkeypatch.setenv("D2S_UPDATE_GOLDEN", "1")
    assert_golden(static.main_program, file)
    monkeypatch.delenv("D2S_UPDATE_GOLDEN")
    assert_golden(static.main_program, file)
    assert file.read_text().startswith("program <lambda>")


def test_tests_of_unittest_are_not_lost(pytester: pytest.Pytester) -> None:
    with pytest.raises(d2s.ArgumentError, match="got the class K"):
        modes.both_modes(type("K", (unittest.TestCase,), {}))
    pytester.makepyfile("""
        import pytest, unittest

        class K(unittest.TestCase):
            @pytest.mark.both_modes
            def test_a(self):
                pass
    """)
    found = session(pytester)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["*test_a: the marker both_modes does nothing to a test of unittest.TestCase*"])
