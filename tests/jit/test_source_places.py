"""Functions from notebooks, doctests, interactive prompts and files with odd text."""

from __future__ import annotations

import ast
import doctest
import importlib
import linecache
import subprocess
import sys
import textwrap
import types

import pytest

import d2s

X = d2s.ones([2])
# The package has a function of that name too.
conversion = importlib.import_module("d2s.transpiler.convert")

CELL = """
import d2s
@d2s.jit.to_static
def f(x):
    if x.sum() > 0:
        return x * {factor}
    return x
g = d2s.jit.to_static(lambda x: x + {factor})
"""


def run_cell(number, text, namespace):
    """Run a cell as IPython does: its text is known to linecache under a name of its own, without a time."""
    name = f"/tmp/ipykernel_1/{number}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), namespace)


def test_cells_of_a_notebook_also_run_again():
    namespace = {}
    for number, factor in ((1, 2.0), (2, 3.0)):
        run_cell(number, CELL.format(factor=factor), namespace)
        assert namespace["f"](X).numpy().tolist() == [factor] * 2
        assert namespace["g"](X).numpy().tolist() == [1 + factor] * 2


def test_error_in_a_cell_names_the_cell():
    namespace = {}
    run_cell(7, "import d2s\n@d2s.jit.to_static\ndef f(x):\n    return (1, 2)[:: int(x.sum())]\n", namespace)
    with pytest.raises(d2s.TracingError, match=r"ipykernel_1/7\.py:4\n +return \(1, 2\)\[:: int"):
        namespace["f"](X)


def test_ipython(tmp_path):
    pytest.importorskip("IPython")
    script = tmp_path / "cells.py"
    script.write_text(textwrap.dedent("""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        for cell in ("import d2s", "@d2s.jit.to_static\\ndef f(x):\\n    return x * 2 if x.sum() > 0 else x",
                     "print(f(d2s.ones([1])).item())"):
            shell.run_cell(cell).raise_error()
    """))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("2.0")


def test_doctests():
    module = types.ModuleType("documented")
    module.__doc__ = """
    >>> import d2s
    >>> @d2s.jit.to_static
    ... def f(x):
    ...     if x.sum() > 0:
    ...         return x * 2
    ...     return x
    >>> f(d2s.ones([1])).item()
    2.0
    >>> d2s.jit.to_static(lambda x: x.sum() and x + 1)(d2s.ones([1])).item()
    2.0
    """
    assert doctest.testmod(module).failed == 0


def load(tmp_path, text, name="written"):
    file = tmp_path / f"{name}.py"
    file.write_text(text)
    module = types.ModuleType(name)
    module.__file__ = str(file)
    exec(compile(text, file, "exec"), vars(module))
    return module, file


def test_tabs_low_docstrings_and_continuation_lines(tmp_path):
    text = (
        "import d2s\n"
        "class Outer:\n"
        "\tclass Inner:\n"
        "\t\t@d2s.jit.to_static\n"
        "\t\tdef f(self, x,\n"
        "y=2.0):\n"
        "\t\t\t'''low\n"
        "docstring'''\n"
        "\t\t\tif x.sum() > \\\n"
        "0:\n"
        "\t\t\t\treturn x * y; x = 1\n"
        "\t\t\treturn (\n"
        "x)\n"
    )
    module, _ = load(tmp_path, text)
    assert module.Outer.Inner().f(X).numpy().tolist() == [2.0, 2.0]


def test_a_file_that_was_edited_is_told(tmp_path):
    module, file = load(tmp_path, "def f(x):\n    return x * 2\n")
    file.write_text("# edited\n\n\ndef g(x):\n    return x\n")
    with pytest.raises(d2s.SourceError, match=r"(?s)is not the one that was loaded.*start Python again"):
        d2s.jit.to_static(module.f)


@pytest.mark.parametrize("how", ["-c", "stdin"])
def test_without_source_it_says_why(how):
    text = (
        "import d2s\ndef f(x): return x\n"
        "try: d2s.jit.to_static(f)\n"
        "except d2s.SourceError as error: print(error)\n"
    )
    given = {"args": [sys.executable, "-c", text]} if how == "-c" else {"args": [sys.executable, "-"], "input": text}
    done = subprocess.run(**given, capture_output=True, text=True, check=True)
    if sys.version_info < (3, 13):  # newer ones keep the text
        assert "typed at a prompt that keeps no source" in done.stdout
        assert "Put it into a file." in done.stdout


def test_nothing_is_converted_before_the_first_call(monkeypatch):
    def f(x):
        return x + 1

    converted = []
    original = conversion._prepare
    monkeypatch.setattr(conversion, "_prepare", lambda fn, *args: (converted.append(fn), original(fn, *args))[1])
    static = d2s.jit.to_static(f)
    assert not converted
    static(X)
    static(d2s.ones([3]))
    assert converted == [f]


def test_functions_of_one_code_object_are_converted_once(monkeypatch):
    def make(k):
        def f(x):
            return x * k

        return f

    converted = []
    original = conversion._prepare
    monkeypatch.setattr(conversion, "_prepare", lambda fn, *args: (converted.append(fn), original(fn, *args))[1])
    found = [d2s.jit.to_static(make(k))(X).numpy().tolist() for k in (2.0, 3.0)]
    assert found == [[2.0, 2.0], [3.0, 3.0]]
    assert len(converted) == 1


def test_shown_code_is_python():
    ast.parse(d2s.jit.to_static(load).code)
