"""A plugin of pytest, found by its entry point once d2s is installed (else ``-p d2s.testing.pytest_plugin``).

* fixture ``both_modes``: `assert_same_in_both_modes`
* marker ``@pytest.mark.both_modes``: the test runs twice, with static functions run eagerly and as Programs; the
  fixture ``d2s_mode`` says which ("eager", "static"); fixtures of function scope run in the mode too
* fixture ``golden``: ``golden(value)`` compares with ``golden/<test>.txt`` beside the test file
* option ``--d2s-update-golden``: write golden files
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.unittest import TestCaseFunction

# d2s itself is imported where it is needed: a session of pytest that does not use it does not wait for it.


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("d2s")
    group.addoption(
        "--d2s-update-golden", action="store_true", help="write golden files in place of comparing with them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "both_modes: run the test twice, with static functions run eagerly and as Programs")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("both_modes") is not None:
        # First, so that the fixtures of the test run in its mode.
        if "d2s_mode" in metafunc.fixturenames:
            metafunc.fixturenames.remove("d2s_mode")
        metafunc.fixturenames.insert(0, "d2s_mode")
        metafunc.parametrize("d2s_mode", ["eager", "static"], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, TestCaseFunction) and item.get_closest_marker("both_modes") is not None:
            raise pytest.UsageError(
                f"{item.nodeid}: the marker both_modes does nothing to a test of unittest.TestCase; "
                "decorate it with d2s.testing.both_modes")


@pytest.fixture
def d2s_mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """The mode that a test marked ``both_modes`` runs in."""
    mode = getattr(request, "param", None)
    if mode is None:
        raise pytest.UsageError("the fixture d2s_mode needs the marker @pytest.mark.both_modes")
    from d2s.jit.function import static_mode

    with static_mode(mode == "static"):
        yield mode


@pytest.fixture
def both_modes() -> Callable[..., None]:
    """`assert_same_in_both_modes`."""
    from d2s.testing import assert_same_in_both_modes

    return assert_same_in_both_modes


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """``golden(value)``, or ``golden(value, "name")`` for a second one in the same test."""
    from d2s.testing.golden import assert_golden, is_updating, set_updating

    before = is_updating()
    set_updating(bool(before or request.config.getoption("--d2s-update-golden")))
    folder = Path(request.path).parent / "golden"

    def check(value: Any, name: str | None = None) -> None:
        parts = [request.node.name, *([name] if name else [])]
        assert_golden(value, folder / (re.sub(r"[^\w.-]+", "_", "-".join(parts)).strip("_") + ".txt"))

    yield check
    set_updating(before)
