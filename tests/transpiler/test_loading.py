"""The converted function lives where the original lives."""

from __future__ import annotations

import gc
import inspect
import linecache
import pickle
import traceback
import types
import weakref

import pytest

from d2s.transpiler import JIT_PASSES, PythonOperators, convert, transpile
from d2s.transpiler.origin import clean_traceback


def make(start):
    count = start

    def bump(by=1, *, twice: bool = False) -> int:
        """Count up."""
        nonlocal count
        if twice:
            by *= 2
        count += by
        return count

    def peek():
        return count

    return bump, peek


def test_cells_are_shared_with_the_original(converted):
    bump, peek = make(10)
    new = converted(bump)
    assert (new(), new(2, twice=True), peek(), bump()) == (11, 15, 15, 16)


def test_same_text_with_other_cells():
    first, second = (transpile(make(start)[0]) for start in (0, 100))
    assert (first(), second(), first()) == (1, 101, 2)


def test_a_code_object_is_converted_once():
    """Not a text: equal functions at other places are other code objects, whose lines differ."""
    seen = []

    def note(tree, ctx):
        seen.append(tree)
        return tree

    def make(k):
        def f(x):
            return x + k if x else k
        return f

    def again(k):
        def f(x):
            return x + k if x else k
        return f

    first, second, other = (transpile(function, [note]) for function in (make(1), make(2), again(3)))
    assert first.__code__ is second.__code__
    assert len(seen) == 2
    assert [f(1) for f in (first, second, other)] == [2, 3, 4]
    assert transpile(make(5), [note, note])(1) == 6  # other passes, another form
    assert len(seen) == 4


def test_what_was_converted_goes_with_its_code_object():
    text, file = "def f(x): return x", "<for a moment>"
    linecache.cache[file] = (len(text), None, [text], file)
    scope = {}
    exec(compile(text, file, "exec"), scope)
    prepared = weakref.ref(convert(scope["f"]).prepared)
    assert prepared() is not None
    scope.clear()
    gc.collect()
    assert prepared() is None


def test_signature_and_names_are_kept():
    bump, _ = make(0)
    bump.extra = "kept"
    new = transpile(bump)
    assert inspect.signature(new) == inspect.signature(bump)
    assert (new.__name__, new.__qualname__, new.__doc__, new.__module__) == (
        bump.__name__,
        bump.__qualname__,
        bump.__doc__,
        bump.__module__,
    )
    assert new.__wrapped__ is bump
    assert new.extra == "kept"
    assert new.__annotations__ == bump.__annotations__
    assert new.__code__.co_qualname == bump.__code__.co_qualname
    assert new.__globals__ is bump.__globals__


def picklable(x):
    if x > 0:
        return x


def test_functions_can_be_found_by_pickle():
    assert pickle.loads(pickle.dumps(picklable)) is picklable


def recursive(n):
    if n == 0:
        return 0
    return 1 + recursive(n - 1)


def _given(**named):
    return named


class _Base:
    def __init_subclass__(cls, **options):
        cls.options = options


class _Private:
    def keywords(self, value):
        made = _given(__key=1)
        if value:
            made.update(__other=2)
        return made

    def of_pattern(self, value):
        match value:
            case _Private(__field=found):
                return found
            case {"key": __rest}:
                return __rest
        return None

    def of_class(self):
        class Made(_Base, __flag=True):
            pass

        return Made.options

    def parameter(self, __value=3):
        return self.parameter.__func__.__code__.co_varnames, __value


def test_names_of_keywords_are_not_mangled_in_classes(converted):
    private = _Private()
    private.__dict__.update(__field="plain", _Private__field="mangled")
    for method in (_Private.keywords, _Private.parameter):
        assert converted(method)(private, 1) == method(private, 1)
    for value in (private, {"key": 5}):
        assert converted(_Private.of_pattern)(private, value) == _Private.of_pattern(private, value)
    assert converted(_Private.of_class)(private) == {"__flag": True}
    assert converted(_Private.keywords)(private, 1) == {"__key": 1, "__other": 2}


@types.coroutine
def _pause(value):
    if value:
        return (yield value)
    return "at once"


def test_awaitable_generators_stay_awaitable(converted):
    pause = converted(_pause)

    async def waits(value):
        return await pause(value)

    with pytest.raises(StopIteration) as ended:
        waits(0).send(None)
    assert ended.value.value == "at once"
    waiting = waits(7)
    assert waiting.send(None) == 7
    with pytest.raises(StopIteration) as ended:
        waiting.send("sent")
    assert ended.value.value == "sent"


def test_recursion_finds_the_global_of_its_own_name():
    assert transpile(recursive)(5) == 5


def fails(x):
    y = x
    for i in range(3):
        if x > 1:
            y = (y + i) / (x - 2)
    return y and 1 / y


@pytest.mark.parametrize(("x", "offset"), [(2, 4), (0, None), (1, None)])
def test_clean_traceback_is_that_of_the_original(converted, x, offset):
    def frames(fn):
        try:
            return fn(x)
        except ZeroDivisionError as error:
            trace = clean_traceback(error.__traceback__)
            return [(frame.name, frame.lineno, frame.filename) for frame in traceback.extract_tb(trace)][1:]

    assert frames(converted(fails)) == frames(fails)


def test_nested_functions_keep_their_original_code():
    def outer(x):
        k = 2

        class Inner:
            __secret = 3

            def get(self):
                return self.__secret, __class__

        def inner(v, w=lambda: k):
            return v * k + w() if v else (lambda: x)()

        return inner, Inner

    nested = convert(outer, JIT_PASSES, PythonOperators, instrument=True).nested
    assert [(f.name, f.freevars) for f in nested] == [
        ("get", ("__class__",)),
        ("inner", ("k", "x")),
        ("<lambda>", ("k",)),
        ("<lambda>", ("x",)),
    ]
    inner, made = outer(5)
    assert nested[1].code == inner.__code__
    assert nested[0].code.co_consts == made.get.__code__.co_consts
    assert [f.code.co_qualname.split("<locals>.", 1)[1] for f in nested] == [
        "outer.<locals>.Inner.get",
        "outer.<locals>.inner",
        "outer.<locals>.<lambda>",
        "outer.<locals>.inner.<locals>.<lambda>",
    ]
    assert nested[1].code.co_firstlineno == inner.__code__.co_firstlineno


def test_operators_may_be_made_per_function():
    made_for = []

    def operators(fn):
        made_for.append(fn)
        return PythonOperators(fn)

    assert convert(recursive, operators=operators).function(3) == 3
    assert made_for == [recursive]


def test_nested_functions_get_their_number():
    class Counting(PythonOperators):
        @staticmethod
        def function(index):
            def mark(made):
                made.index = index
                return made

            return mark

    def outer():
        def inner():
            return 1

        return [inner, lambda: 2]

    result = convert(outer, operators=Counting, instrument=True)
    assert [(fn.index, result.nested[fn.index].name) for fn in result.function()] == [(0, "inner"), (1, "<lambda>")]


def test_text_is_shown_without_instrumentation():
    def f(x):
        return x.a[0] + len(x)

    assert convert(f, instrument=True).code == convert(f).code == "def f(x):\n    return x.a[0] + len(x)\n"


@pytest.mark.parametrize("name", ["if_else", "body", "item", "result", "returned", "value", "middle", "call", "attr"])
def test_user_names_win(name, converted, tmp_path):
    text = f"""
{name} = "global"
def f(x):
    for i in range(x):
        if i > 1:
            return {name}, 0 < abs(i) < 5, x or (y := 3)
    return {name}
"""
    file = tmp_path / "module.py"
    file.write_text(text)
    scope = {}
    exec(compile(text, str(file), "exec"), scope)
    assert converted(scope["f"])(3) == scope["f"](3)
    assert converted(scope["f"])(1) == "global"
