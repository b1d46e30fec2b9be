"""The reference: it is what the docstrings make, and every public name has one."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType

import numpy as np
import pytest

import d2s
from d2s import ops
from tests.docs import reference
from tests.docs.numpydoc import to_markdown
from tests.docs.shapes import NOT_ON_TENSORS, call_of, result_of

EVERYTHING = [(f"{place}.{name}", found) for page in reference.PAGES for place, name, found in reference.names_of(page)]


def test_the_pages_are_what_the_docstrings_make() -> None:
    made = reference.pages()
    assert {path.name for path in reference.FOLDER.iterdir()} == made.keys()
    for name, text in made.items():
        assert text == (reference.FOLDER / name).read_text(encoding="utf-8"), f"{name}: run `python -m tests.docs`"


def test_every_public_name_is_documented() -> None:
    assert [name for name, found in EVERYTHING if not reference.docstring_of(found)] == []
    members = [
        f"{name}.{member}" for name, found in [*EVERYTHING, ("d2s.Tensor", d2s.Tensor)] if isinstance(found, type)
        for member, plain in reference.members_of(found) if not inspect.getdoc(plain)
    ]
    assert members == []


def test_no_public_module_is_forgotten() -> None:
    pages = {place for places, _ in reference.PAGES.values() for place in places}
    names = [name for name in d2s.__all__ if isinstance(getattr(d2s, name), ModuleType)]
    inner = ["nn.functional", "nn.initializer", "optimizer.lr"]
    assert {f"d2s.{name}" for name in [*names, *inner]} - pages == set()


OF_NUMBERS = (*d2s.constants.__all__, *d2s.dtypes.__all__)


def test_every_public_name_is_on_a_page() -> None:
    listed = {found for _, found in EVERYTHING if callable(found)}
    for name in d2s.__all__:
        found = getattr(d2s, name)
        if not isinstance(found, ModuleType | np.dtype) and found is not d2s.Tensor and name not in OF_NUMBERS:
            assert found in listed, name


@pytest.mark.parametrize("name", ["d2s.nn.functional.relu", "d2s.sum"])
def test_shapes_are_shown(name: str) -> None:
    module, _, function = name.rpartition(".")
    found = getattr(importlib.import_module(module), function)
    assert f"For example `{call_of(function)}` gives `{result_of(call_of(function), found)}`." in reference.entry(
        module, function, found)


def test_the_shapes_of_an_example_are_those_of_the_call() -> None:
    assert result_of("matmul(float32[5, 2, 3], float32[3, 4])", ops.matmul) == "float32[5, 2, 4]"
    assert set(ops.__all__) >= NOT_ON_TENSORS


def test_sections_become_markdown() -> None:
    text = """What it is.

    Parameters
    ----------
    x, y : Tensor
        The ``first``
        and second.
    rest

    Raises
    ------
    ShapeError
        If so.

    Examples
    --------
    >>> 1 + 1
    2
    """
    assert to_markdown(text).splitlines() == [
        "What it is.", "", "**Parameters**", "", "* `x, y`: Tensor. The `first` and second.", "* `rest`", "",
        "**Raises**", "", "* `ShapeError`. If so.", "", "**Examples**", "", "```pycon", ">>> 1 + 1", "2", "```",
    ]
