"""Functions and calls that cannot become a graph: refused at once, by name."""

from __future__ import annotations

import textwrap

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


@pytest.mark.parametrize("spread", [lambda n: {i for i in range(n)}, lambda n: [*range(n)]])  # noqa: C416
def test_a_range_of_a_length_known_at_run_time_cannot_be_spread(spread):
    @d2s.to_static
    def f(x):
        return spread(int(x.sum()))

    with pytest.raises(TracingError, match="range whose length"):
        f(leaf(3.0))


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
