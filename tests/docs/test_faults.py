"""Faults that are known and not yet repaired: docs/limitations.md names them.  A test that passes is to be moved."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

import d2s as paddle
from d2s.errors import D2SError


def leaf(*values: float) -> Any:
    return paddle.to_tensor(list(values), dtype="float32", stop_gradient=False)


@pytest.mark.skip(reason="takes minutes before it fails")
def test_recursion_that_ends_by_the_value_of_a_tensor() -> None:
    @paddle.to_static
    def f(x):
        if x.sum() > 10:
            return x
        return f(x * 2)

    with pytest.raises(D2SError):
        f(leaf(1.0))


@pytest.mark.skip(reason="does not end")
def test_recursion_by_a_number_that_has_changed_twice() -> None:
    @paddle.to_static
    def f(x, n):
        return x if n == 0 else f(x + 1, n - 1)

    assert [f(leaf(1.0), n).item() for n in (1, 2, 3, 4)] == [2.0, 3.0, 4.0, 5.0]


@pytest.mark.xfail(reason="'SymbolicRange' object is not iterable", raises=TypeError)
@pytest.mark.parametrize("collect", [lambda n: [i for i in range(n)], lambda n: list(range(n))])  # noqa: C416
def test_a_list_of_a_range_known_at_run_time(collect: Any) -> None:
    @paddle.to_static
    def f(x):
        return collect(int(x.sum()))

    with contextlib.suppress(D2SError):
        assert f(leaf(3.0)) == [0, 1, 2]


@pytest.mark.xfail(reason="each turn doubles the ways through the loop", raises=NotImplementedError)
def test_a_list_grows_in_a_python_loop_with_a_break_on_a_tensor() -> None:
    @paddle.to_static
    def f(x):
        seen = []
        for _ in range(10):
            x = x / 2
            seen.append(x)
            if x.sum() < 1:
                break
        return seen

    assert [y.item() for y in f(leaf(8.0))] == [4.0, 2.0, 1.0, 0.5]


@pytest.mark.xfail(reason="the function counts as a variable that the loop carries", raises=NotImplementedError)
def test_a_hook_defined_in_a_loop_on_tensors() -> None:
    @paddle.to_static
    def f(x):
        while x.sum() < 5:
            y = 2 * x

            def hook(g):
                return g + 1

            y.register_hook(hook)
            x = y + 1
        return x

    x = leaf(1.0)
    f(x).backward()
    # Two turns: ((1 + 1) * 2 + 1) * 2.
    assert x.grad.item() == 10.0


@pytest.mark.xfail(reason="list index out of range", raises=IndexError)
def test_an_async_function() -> None:
    async def f(x):
        return 2 * x

    assert asyncio.run(paddle.to_static(f)(leaf(1.0))).item() == 2.0
