"""Every situation of the contract, in every mode."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import d2s

from . import situations
from .modes import MODES
from .register import SITUATIONS
from .rows import ROWS

for module in pkgutil.iter_modules(situations.__path__):
    importlib.import_module(f"{situations.__name__}.{module.name}")


def cases():
    """Each situation in each mode."""
    for row in SITUATIONS:
        for mode in MODES:
            yield pytest.param(row, mode, id=f"{row}-{mode}")


@pytest.mark.parametrize(("row", "mode"), list(cases()))
def test_situation(row, mode):
    found = SITUATIONS[row].program(d2s, MODES[mode])
    assert found == SITUATIONS[row].expected


def test_every_row_is_there():
    assert len(set(ROWS)) == 276
    # What is called E11/... is more than the contract lists.
    assert {row for row in SITUATIONS if "/" not in row} == set(ROWS)

