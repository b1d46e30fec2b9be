"""CPython's own tests of some library modules, with all functions of the module converted."""

from __future__ import annotations

import pytest

from tests.transpiler.cpython_tests import QUICK, differences

pytest.importorskip("test.support", reason="this Python comes without its tests")


@pytest.mark.parametrize("name", QUICK)
def test_library_tests_end_as_without_conversion(name):
    tests, functions, told = differences(name, timeout=120)
    assert not told
    assert tests > 1
    assert functions > 1
