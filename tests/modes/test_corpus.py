"""The other programs of the corpus do the same in both modes, on tensors and on Python values."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tests import corpus
from tests.corpus.register import PROGRAMS
from tests.corpus.table import CONSTRUCTS
from tests.modes.harness import assert_refused, assert_same

for module in pkgutil.iter_modules(corpus.__path__):
    importlib.import_module(f"{corpus.__name__}.{module.name}")

# The programs of the table run in `test_constructs`.
IN_THE_TABLE = {name for held in CONSTRUCTS.values() for names in held.values() for name in names.split()}


@pytest.mark.parametrize("kind", ["tensor", "python"])
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - IN_THE_TABLE))
def test_program(name, kind):
    found = PROGRAMS[name]
    if found.is_refused and kind == "tensor":
        assert_refused(found.make(), found.calls(kind)[0])
        return
    assert_same(found.make, found.calls(kind))
