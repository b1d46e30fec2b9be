"""Each pass on small functions: the text it makes, and that it does what the original does."""

from __future__ import annotations

import doctest
import importlib
import itertools
import linecache
import pkgutil
from pathlib import Path

import gast
import pytest

import d2s.transpiler
import d2s.transpiler.passes
from d2s.errors import ProgramError
from d2s.transpiler import DEFAULT_PASSES, PythonOperators, transpile_source
from d2s.transpiler.context import new_context
from d2s.transpiler.interface import find_operator
from d2s.transpiler.source import to_text

GOLDEN = Path(__file__).parents[1] / "golden"
# For each pass, and whole functions.
FILES = sorted([*(GOLDEN / "passes").glob("*.txt"), *(GOLDEN / "functions").glob("*.txt")])
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


def after(names, text, times):
    """The text after the passes, each run so many times."""
    tree = gast.parse(text)
    ctx = new_context(tree)
    for transform in passes_of(names):
        for _ in range(times):
            tree = transform(tree, ctx)
    return to_text(tree)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_passes_are_idempotent(file):
    names, before, _ = parts(file)
    if "instrument" in names.split():
        names = names.replace("instrument", "")
    assert after(names, before, 2) == after(names, before, 1)


def test_every_pass_has_a_golden_file():
    used = {name for file in FILES for name in parts(file)[0].split()}
    written = {m.rpartition(".")[2] for m in modules() if hasattr(importlib.import_module(m), "run")}
    # `lifetimes` only makes notes; its doctest shows what comes of them.  Hooks have a folder of their own.
    assert used >= {name for name in written if importlib.import_module(f"d2s.transpiler.passes.{name}").run} - {
        "lifetimes", "hook_placement"} or "all" in used


def breaks_the_tree(tree, ctx):
    tree.body[0].body = []
    return tree


def loses_places(tree, ctx):
    statement = gast.Pass()
    tree.body[0].body.append(statement)
    return tree


def leaves_a_nonlocal(tree, ctx):
    tree.body[0].body.insert(0, gast.copy_location(gast.Nonlocal(names=["nobody"]), tree.body[0]))
    return tree


@pytest.mark.parametrize("bad", [breaks_the_tree, loses_places, leaves_a_nonlocal])
def test_the_check_between_passes_names_the_pass(bad):
    with pytest.raises(ProgramError, match="the pass test_passes made a"):
        transpile_source("def f(x):\n    return x\n", [DEFAULT_PASSES[0], bad, *DEFAULT_PASSES[1:]])
