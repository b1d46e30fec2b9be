"""Functions and calls that cannot become a graph: refused at once, by name."""

from __future__ import annotations

import itertools
import tempfile
import textwrap
import threading
import warnings

import pytest

import d2s
from d2s.errors import SourceError, TracingError, UnsupportedSyntaxError


def leaf(value):
    return d2s.to_tensor([value], stop_gradient=False)


def test_an_async_function_is_refused_where_it_is_converted():
    async def f(x):
        return 2 * x

    with pytest.raises(UnsupportedSyntaxError, match="async def f"):
        d2s.to_static(f)


def test_a_range_of_a_length_known_at_run_time_cannot_be_spread():
    @d2s.to_static
    def f(x):
        return bytes(range(int(x.sum())))

    with pytest.raises(TracingError, match="range whose length"):
        f(leaf(3.0))


def test_an_iterator_that_is_not_told_by_a_number_does_not_go_on_behind_a_loop_of_the_run():
    @d2s.to_static
    def f(x):
        numbers = itertools.chain(range(9), range(9))
        for i in numbers:
            x = x + i
            if x.sum() > 10:
                break
        return x * next(numbers)

    with pytest.raises(UnsupportedSyntaxError, match="an iterator goes on"):
        f(leaf(3.0))


LOCK = threading.Lock()


@pytest.mark.parametrize("manager", [lambda: LOCK, warnings.catch_warnings, tempfile.TemporaryDirectory])
def test_managers_of_libraries_are_not_entered_while_tracing(manager):
    @d2s.to_static
    def f(x):
        with entered:
            return 2 * x

    entered = manager()
    with pytest.raises(UnsupportedSyntaxError, match="would act only while the function is traced"):
        f(leaf(3.0))
    if hasattr(entered, "cleanup"):
        entered.cleanup()
    assert not LOCK.locked()


@pytest.mark.parametrize("use", [
    lambda parts, x: (lambda *given: given)(*parts), lambda parts, x: list(zip(parts, parts, strict=True)),
    lambda parts, x: list(zip(parts, iter([x, x]), strict=False)),
])
def test_what_needs_a_list_at_once_that_only_the_run_knows(use):
    @d2s.to_static
    def f(x):
        parts = []
        for _ in range(int(x.sum())):
            parts.append(x)
        return use(parts, x)

    with pytest.raises(UnsupportedSyntaxError, match="whose length only the run knows"):
        f(leaf(3.0))


def test_refusals_are_of_one_class():
    assert issubclass(TracingError, UnsupportedSyntaxError)
    assert issubclass(UnsupportedSyntaxError, NotImplementedError)


def test_a_recursion_that_a_tensor_ends_is_refused():
    @d2s.to_static
    def f(x):
        if x.sum() > 10:
            return x
        return f(x * 2)

    with pytest.raises(UnsupportedSyntaxError, match="recursion"):
        f(leaf(1.0))


def test_a_recursion_by_a_number_that_keeps_changing_is_followed():
    @d2s.to_static
    def f(x, n):
        return x if n == 0 else f(x + 1, n - 1)

    assert [f(leaf(1.0), n).item() for n in (1, 2, 3, 4)] == [2.0, 3.0, 4.0, 5.0]


def test_a_function_of_another_text_with_the_same_file_name_is_not_converted():
    namespace: dict[str, object] = {}
    exec(compile(textwrap.dedent("def f(x):\n    return x + 1\n"), "<string>", "exec"), namespace)
    with pytest.raises(SourceError, match="cannot read the source"):
        d2s.to_static(namespace["f"])


def _with_an_attribute(before):
    class State:
        pass

    def f(x, n):
        state, total = State(), x
        state.kept = x
        if before is not None:
            state.best = before(x)
        for _ in range(n):
            if total.sum() > 1:
                state.best = total
            total = total + state.kept
        return total

    return f


def test_an_attribute_that_only_some_turns_set_is_named_with_what_to_do():
    args = leaf(0.7), d2s.to_tensor(3)
    said = "has the attribute 'best' on one path only: give it a value of the same kind before"
    with pytest.raises(UnsupportedSyntaxError, match=said) as refused:
        d2s.to_static(_with_an_attribute(None))(*args)
    assert refused.value.id == "D2S-U21"
    for before in (lambda x: x * 0.0, lambda x: None):
        function = _with_an_attribute(before)
        assert d2s.to_static(function)(*args).numpy() == function(*args).numpy()
