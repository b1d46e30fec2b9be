"""An op that fails when the Program runs: the class, the words and the line are those of eager mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import d2s
from d2s.errors import D2SError, DTypeError, IndexOutOfRangeError, LeafError, ShapeError

PROGRAMS: list[tuple[type[D2SError], Callable[..., Any]]] = []


def fails_with(error: type[D2SError]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a program of `x` (4 ones that require gradients) and `k` (the number 2), which fails only when it runs."""

    def enter(program: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((error, program))
        return program

    return enter


@fails_with(ShapeError)
def add(x: Any, k: Any) -> Any:
    found = x[x > k * 0]
    return found + d2s.ones([3])


@fails_with(ShapeError)
def matmul(x: Any, k: Any) -> Any:
    found = x[x > 0]
    found = found * 2
    return d2s.ones([3, 3]) @ found


@fails_with(ShapeError)
def largest_of_nothing(x: Any, k: Any) -> Any:
    return x[x > k].max()


@fails_with(ShapeError)
def place_of_nothing(x: Any, k: Any) -> Any:
    return x[x > k].argmax()


@fails_with(ShapeError)
def in_a_branch(x: Any, k: Any) -> Any:
    if k > 1:
        y = x[x > 0].reshape([3, -1])
    else:
        y = x
    return y * 2


@fails_with(ShapeError)
def in_a_loop(x: Any, k: Any) -> Any:
    y = x
    while k > 0:
        k = k - 1
        y = y[1:] + y[:-1] if k > 1 else y[x > 0] + d2s.ones([2])
    return y


@fails_with(ShapeError)
def bool_of_several(x: Any, k: Any) -> Any:
    return 1 if x[x > 0] else 2


@fails_with(ShapeError)
def int_of_several(x: Any, k: Any) -> Any:
    return int(x[x > 0])


@fails_with(ShapeError)
def float_of_two(x: Any, k: Any) -> Any:
    return float(x[:2])


@fails_with(ShapeError)
def item_of_none(x: Any, k: Any) -> Any:
    return x[x > k].item()


@fails_with(IndexOutOfRangeError)
def item_too_far(x: Any, k: Any) -> Any:
    return x.item(7)


@fails_with(IndexOutOfRangeError)
def index_too_far(x: Any, k: Any) -> Any:
    place = d2s.cast(k * 4, "int64")
    return x[place]


@fails_with(IndexOutOfRangeError)
def gather_too_far(x: Any, k: Any) -> Any:
    return d2s.gather(x, d2s.cast(k.reshape([1]) * 4, "int64"))


@fails_with(DTypeError)
def none(x: Any, k: Any) -> Any:
    return x + None


@fails_with(DTypeError)
def less_than_none(x: Any, k: Any) -> Any:
    return x < None


@fails_with(DTypeError)
def less_than_text(x: Any, k: Any) -> Any:
    return x < "a"


@fails_with(DTypeError)
def remainder_by_text(x: Any, k: Any) -> Any:
    return x % "a"


@fails_with(DTypeError)
def hook_that_cannot_be_called(x: Any, k: Any) -> Any:
    y = x * 2
    return y.register_hook(3)


@fails_with(DTypeError)
def hook_on_an_argument(x: Any, k: Any) -> Any:
    y = x * 2
    x.register_hook(3)
    return y


@fails_with(LeafError)
def reduce_hook_on_no_leaf(x: Any, k: Any) -> Any:
    y = x * 2
    return y._register_backward_hook(print)


@fails_with(LeafError)
def write_to_a_leaf(x: Any, k: Any) -> Any:
    x[0] = 3
    return x


def failure(function: Callable[..., Any]) -> D2SError:
    x, k = d2s.ones([4]), d2s.to_tensor(2.0)
    x.stop_gradient = False
    with pytest.raises(D2SError) as caught:
        function(x, k)
    return caught.value


def nameless(error: D2SError) -> str:
    """The message without the name of a leaf."""
    return re.sub(r"Leaf Tensor \(\w+\)", "Leaf Tensor", error.message)


@pytest.mark.parametrize(("error", "program"), PROGRAMS, ids=lambda part: part.__name__)
def test_both_modes_fail_alike(error: type[D2SError], program: Callable[..., Any]) -> None:
    eager, static = failure(program), failure(d2s.jit.to_static(program))
    assert type(eager) is type(static) is error
    assert nameless(eager) == nameless(static)
    lines = program.__code__
    assert eager.location is not None
    assert static.location is not None
    assert lines.co_firstlineno < eager.location.line
    assert (static.location.file, static.location.line) == (lines.co_filename, eager.location.line)


def test_the_error_of_numpy_is_the_cause() -> None:
    assert isinstance(failure(d2s.jit.to_static(add)).__cause__, ValueError)


def test_an_error_of_the_users_own_code_is_left_alone() -> None:
    @d2s.jit.not_to_static
    def refuse(y: Any) -> None:
        raise ShapeError("my words")

    def program(x: Any, k: Any) -> Any:
        refuse(x)
        return x

    found = failure(d2s.jit.to_static(program))
    assert found.location is not None
    assert found.location.line == refuse.__code__.co_firstlineno + 2


def test_a_program_built_by_hand() -> None:
    program = d2s.static.Program()
    with d2s.static.program_guard(program):
        x = d2s.static.data("x", [None])
        y = x + d2s.static.data("y", [None])
    with pytest.raises(ShapeError, match=r"operands of add of shapes \[2\] and \[3\]") as caught:
        d2s.static.Executor().run(program, {"x": d2s.ones([2]).numpy(), "y": d2s.ones([3]).numpy()}, [y])
    assert caught.value.location is not None
    assert "y = x +" in str(caught.value)
