"""Each pass on small functions: the text it makes, and that it does what the original does."""

from __future__ import annotations

import doctest
import importlib
import itertools
import linecache
import pkgutil
from pathlib import Path

import pytest

import d2s.transpiler
import d2s.transpiler.passes
from d2s.transpiler import DEFAULT_PASSES, PythonOperators, transpile_source
from d2s.transpiler.interface import find_operator

FILES = sorted((Path(__file__).parents[1] / "golden" / "passes").glob("*.txt"))
_numbers = itertools.count()


def parts(file):
    before, after = file.read_text().split("# becomes\n")
    header, before = before.split("\n", 1)
    return header.removeprefix("# passes: "), before, after


def passes_of(names):
    if names == "all":
        return DEFAULT_PASSES
    return [importlib.import_module(f"d2s.transpiler.passes.{name}").run for name in names.split()]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden(file):
    names, before, after = parts(file)
    assert transpile_source(before, passes_of(names)) == after


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("x", [0, 1, 2, 3, 7])
def test_golden_does_the_same(file, x):
    _, before, after = parts(file)
    assert run(after, x) == run(before, x)


class Box:
    def __init__(self, value, cells):
        self.value, self.cells = value, cells


def run(text, x):
    """The value or the error of the function ``f`` in the text."""
    scope = {"Box": Box, "slice_": slice}
    file = f"<golden {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    fn = scope["f"]
    operators = PythonOperators(fn)
    scope.update({name: find_operator(operators, name) for name in dir(operators) if not name.startswith("_")})
    try:
        return fn(x)
    except Exception as error:
        return type(error), str(error)


def modules():
    for package in (d2s.transpiler, d2s.transpiler.passes):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            yield module.name


@pytest.mark.parametrize("name", list(modules()))
def test_doctests(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", [m for m in modules() if ".passes." in m])
def test_every_pass_shows_what_it_does(name):
    module = importlib.import_module(name)
    if hasattr(module, "run"):
        assert ">>>" in module.run.__doc__
