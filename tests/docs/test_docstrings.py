"""The examples in docstrings are run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import d2s

PACKAGE = Path(d2s.__file__).parent


def modules_with_examples() -> list[str]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            found.append(".".join(part for part in parts if part != "__init__"))
    return found


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    # The public names of d2s are known in all of them.
    public = {public: getattr(d2s, public) for public in d2s.__all__ if public not in vars(module)}
    result = doctest.testmod(module, extraglobs=public)
    assert result.attempted > 0
    assert result.failed == 0


def test_some_modules_have_examples() -> None:
    assert {"d2s.transpiler.passes.hook_placement", "d2s.static.printer"} <= set(modules_with_examples())
