"""Every situation of the contract, in every mode."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import d2s

from . import situations
from .modes import LEFT_OUT, MODES
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


def test_every_row_is_there_or_left_out_for_a_reason():
    assert set(ROWS) - set(SITUATIONS) == set(LEFT_OUT)

