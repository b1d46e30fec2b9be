"""A few of the programs of `random_programs`, of which the command runs thousands."""

from __future__ import annotations

from tests.transpiler.random_programs import differences


def test_random_programs_do_the_same():
    compared, told = differences(60, seed=0)
    assert compared == 60
    assert not told
