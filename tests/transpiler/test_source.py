"""From a function to its tree: the right definition is found wherever and however it is written."""

from __future__ import annotations

import ast
import functools
import linecache
import warnings

import gast
import pytest

from d2s.errors import SourceError
from d2s.transpiler import convert, transpile
from d2s.transpiler.source import read_function, to_text


def body_of(fn):
    return gast.unparse(read_function(fn)[0]).strip()


def decorate(*_):
    return lambda fn: fn


@decorate(
    "several",
    "lines",
)
@functools.lru_cache
def decorated(x):
    return x


class Holder:
    def method(self):
        return self.__hidden

    @staticmethod
    def static(x):
        return x or 1

    @property
    def prop(self):
        return 1 if self else 2


# fmt: off
add, mul = (lambda x: x + 1), (lambda x: x * 10)
nested = lambda x: (lambda x: x - 1)  # noqa: E731
same_text = [lambda x: x for _ in range(2)] + [lambda x: x]
if True:
  def low_indent(x):
        """Doc	with tab
 and low lines."""
        y = x + \
 1
        return (y and
    x)
# fmt: on


def test_decorated_functions_are_found_by_their_first_decorator():
    assert body_of(decorated.__wrapped__).endswith("return x")
    assert transpile(decorated.__wrapped__)(3) == 3


def test_lambdas_on_one_line_are_told_apart():
    assert [body_of(f) for f in (add, mul)] == ["lambda x: x + 1", "lambda x: x * 10"]
    assert body_of(nested) == "lambda x: lambda x: x - 1"
    assert body_of(nested(0)) == "lambda x: x - 1"
    assert [transpile(f)(7) for f in (add, mul, *same_text)] == [8, 70, 7, 7, 7]


def test_indents_tabs_and_continuation_lines():
    assert transpile(low_indent)(2) == 2
    assert transpile(low_indent).__doc__ == low_indent.__doc__


def test_methods_know_their_private_names():
    assert "self._Holder__hidden" in body_of(Holder.method)
    holder = Holder()
    holder._Holder__hidden = 5
    assert transpile(Holder.method)(holder) == 5
    assert transpile(holder.method)() == 5
    assert transpile(Holder.static)(0) == 1
    assert transpile(Holder.prop.fget)(holder) == 1


def test_source_info_points_into_the_file():
    source = convert(Holder.method).source
    assert source.file == __file__
    assert source.lines[0].strip() == "def method(self):"
    assert source.location(source.first_line + 1).text.strip() == "return self.__hidden"


def test_function_without_source_is_refused_with_the_reason():
    scope = {}
    exec("def made(x): return x", scope)
    with pytest.raises(SourceError, match=r"cannot read the source of 'made': it was made by exec") as caught:
        transpile(scope["made"])
    assert isinstance(caught.value, OSError)


def test_builtins_are_refused():
    with pytest.raises(TypeError, match="got builtin_function_or_method"):
        transpile(len)


def test_changed_file_is_refused(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("def first(x):\n    return x\n")
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    file.write_text("\n\ndef first(x):\n    return x\n")
    with pytest.raises(SourceError, match="is not the one that was loaded"):
        transpile(scope["first"])
    file.write_text("def first(x:\n")
    with pytest.raises(SourceError, match="no longer parses"):
        transpile(scope["first"])


def test_source_known_only_to_linecache():
    text = "def typed(x):\n    return x and 1\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
    scope = {}
    exec(compile(text, "<cell 1>", "exec"), scope)
    assert transpile(scope["typed"])(5) == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = -1 ** 2\ny = (-1) ** 2\nz = 1e400\nw = -0.0\n",
        "f'{a!r:>{b}} {c + 1:x} {{}}'\n",
        "match v:\n    case {'k': [1, *r], **o} if r:\n        pass\n",
        "try:\n    pass\nexcept* ValueError:\n    pass\n",
        "d = {**(a or b), 1: 2}\n",
        "f'{ {1: 2}[1] }'\n",
        "x = '''a\nb'''\ny = 'tab\\t\\\\ \\u2022'\nz = b'\\x00'\n",
        "async def f():\n    async with a as b, c:\n        await d\n",
        "def f(a, /, b=1, *c, d, e=2, **g) -> int:\n    return (yield)\n",
    ],
)
def test_printed_text_is_the_tree(text):
    tree = gast.parse(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        printed = to_text(tree)
    assert ast.dump(ast.parse(printed)) == ast.dump(ast.parse(text))
