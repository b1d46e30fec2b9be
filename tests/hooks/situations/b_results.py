"""B: what a hook may return, errors raised in hooks, and who shares memory with whom."""

from __future__ import annotations

import traceback

import numpy as np

from ..register import leaf, named, outcome, plus_one, recorder, situation, val


def returned(row, make, expected):
    """A situation in which the hook of a leaf of two elements returns ``make(paddle, g)``."""

    @situation(row, expected)
    def program(paddle, to_static):
        @to_static
        def f(x):
            x.register_hook(lambda g: make(paddle, g))
            return (3 * x).sum()

        x = leaf(paddle, 1.0, 2.0)
        error = outcome(lambda: f(x).backward(), "hook")
        return error, val(x.grad)

    return program


KEPT = ("no error", [3.0, 3.0])
REFUSED = ("RuntimeError", None)
NO_TENSOR = ("TypeError", None)

returned("B01", lambda paddle, g: None, KEPT)
returned("B02", lambda paddle, g: g + 1, ("no error", [4.0, 4.0]))
returned("B03", lambda paddle, g: paddle.to_tensor([3.0]), REFUSED)
returned("B04", lambda paddle, g: paddle.to_tensor([1.0, 2.0, 3.0]), REFUSED)
returned("B04b", lambda paddle, g: paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]), REFUSED)
returned("B04c", lambda paddle, g: g.sum(), REFUSED)
returned("B05", lambda paddle, g: g.astype("float64"), REFUSED)
returned("B05b", lambda paddle, g: g.astype("int64"), REFUSED)
returned("B06", lambda paddle, g: 2.0, NO_TENSOR)
returned("B07", lambda paddle, g: g.numpy(), NO_TENSOR)
returned("B08b", lambda paddle, g: (g,), NO_TENSOR)
returned("B20_float", lambda paddle, g: 1.5, NO_TENSOR)
returned("B20_int", lambda paddle, g: 1, NO_TENSOR)
returned("B20_str", lambda paddle, g: "g", NO_TENSOR)
returned("B20_list", lambda paddle, g: [1.0, 2.0], NO_TENSOR)
returned("B20_True", lambda paddle, g: True, NO_TENSOR)
returned("B20_False", lambda paddle, g: False, NO_TENSOR)
returned("B20_ndarray", lambda paddle, g: np.ones(2, "float32"), NO_TENSOR)
returned("B20_tuple", lambda paddle, g: (), NO_TENSOR)


def several_returned(row, results):
    """A situation in which each of `results` is refused, and the name of its type said."""

    @situation(row, [("TypeError", None)] * len(results))
    def program(paddle, to_static):
        @to_static
        def f(x):
            return (3 * x).sum()

        seen = []
        for result in results:
            x = leaf(paddle, 1.0, 2.0)
            x.register_hook(lambda g, result=result: result)
            seen.append((outcome(lambda x=x: f(x).backward(), repr(type(result).__name__)), val(x.grad)))
        return seen

    return program


several_returned("B08", [1, "g", (1.0,), [1.0], True])
several_returned("B08c", [False, 0])


@situation("B09", ["TypeError", "TypeError", None])
def wrong_arity_on_leaf(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x, w = leaf(paddle, 2.0), leaf(paddle, 2.0)
    x.register_hook(lambda: None)
    w.register_hook(lambda a, b: None)
    return [
        outcome(lambda: f(x).backward(), "takes 0 positional arguments but 1 was given"),
        outcome(lambda: f(w).backward(), "missing 1 required positional argument: 'b'"),
        val(x.grad),
    ]


@situation("B09c", ["TypeError", "TypeError"])
def wrong_arity_on_intermediate(paddle, to_static):
    def f(x, hook):
        y = x * 2
        y.register_hook(hook)
        return 3 * y

    f = to_static(f)
    return [
        outcome(lambda: f(leaf(paddle, 2.0), lambda: None).backward(), "takes 0 positional arguments"),
        outcome(lambda: f(leaf(paddle, 2.0), lambda a, b: None).backward(), "missing 1 required positional"),
    ]


def boom(g):
    raise ValueError("boom")


@situation("B10", [("ValueError", None, [2.0]), ("ValueError", None, None)])
def leaf_hook_raises(paddle, to_static):
    """z = w*x sends to its first argument first: w is done before x raises, or not yet."""

    @to_static
    def product(a, b):
        return a * b

    seen = []
    for x_is_last in (True, False):
        x, w = leaf(paddle, 2.0), leaf(paddle, 5.0)
        x.register_hook(boom)
        z = product(w, x) if x_is_last else product(x, w)
        seen.append((outcome(lambda z=z: z.backward(), "boom"), val(x.grad), val(w.grad)))
    return seen


@situation("B11", ("ValueError", None, [1.0], "RuntimeError"))
def intermediate_hook_raises(paddle, to_static):
    @to_static
    def f(a, c):
        y = a * 2
        y.register_hook(boom)
        return y * y + c

    a, c = leaf(paddle, 2.0), leaf(paddle, 1.0)
    z = f(a, c)
    first = outcome(lambda: z.backward(), "boom")
    return first, val(a.grad), val(c.grad), outcome(lambda: z.backward(), "second time")


@situation("B11b", ([(1, [3.0])], "KeyError", [7.0]))
def second_hook_raises(paddle, to_static):
    log = []

    def fail(g):
        raise KeyError("k")

    @to_static
    def f(x):
        x.register_hook(recorder(log, 1, plus_one))
        x.register_hook(fail)
        return 3 * x

    x = leaf(paddle, 2.0)
    x.grad = paddle.to_tensor([7.0])
    return log, outcome(lambda: f(x).backward()), val(x.grad)


class OwnError(Exception):
    """Of the user."""


@situation("B11c", [True] * 5)
def the_very_exception(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    def raises_the_same(error):
        def fail(g):
            raise error

        x = leaf(paddle, 2.0)
        x.register_hook(fail)
        try:
            f(x).backward()
        except BaseException as caught:
            return caught is error
        return False

    errors = [KeyboardInterrupt("q"), SystemExit("q"), StopIteration("q"), OwnError("q"), AssertionError("q")]
    return [raises_the_same(error) for error in errors]


@situation("B11d", True)
def traceback_shows_the_hook(paddle, to_static):
    @to_static
    def f(x):
        x.register_hook(boom)
        return 3 * x

    try:
        f(leaf(paddle, 2.0)).backward()
    except ValueError as error:
        return "boom" in [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    return False


@situation("B12", [([10.0], [1.0]), ([1.0], [10.0])])
def leaf_hook_writes_in_place(paddle, to_static):
    """The other operand of the sum got the same gradient, and must not see the write."""

    def in_place(g):
        g.multiply_(paddle.to_tensor(10.0))

    @to_static
    def f(x, w):
        return x + w

    seen = []
    for hooked_first in (True, False):
        x, w = leaf(paddle, 2.0), leaf(paddle, 2.0)
        (x if hooked_first else w).register_hook(in_place)
        f(x, w).backward()
        seen.append((val(x.grad), val(w.grad)))
    return seen


@situation("B12b", ([("b", [1.0])], [12.0]))
def intermediate_hook_writes_in_place(paddle, to_static):
    log = []

    def in_place(g):
        g.multiply_(paddle.to_tensor(10.0))

    @to_static
    def f(x):
        a = x * 1
        b = x * 2
        a.register_hook(in_place)
        b.register_hook(recorder(log, "b"))
        return a + b

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("B12c", ([("y", [[1.0], [1.0]]), ("y", [[10.0], [10.0]])], [10.0, 10.0]))
def first_hook_writes_in_place(paddle, to_static):
    log = []

    def in_place(g):
        g.multiply_(paddle.to_tensor(10.0))

    @to_static
    def f(x):
        y = x.reshape([2, 1])
        y.register_hook(recorder(log, "y", in_place))
        y.register_hook(recorder(log, "y"))
        return y.sum()

    x = leaf(paddle, 1.0, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("B13", ([3.0], [3.0], [8.0]))
def kept_gradient_does_not_change(paddle, to_static):
    kept = []

    @to_static
    def f(x, k):
        return x * k

    x = leaf(paddle, 2.0)
    x.register_hook(lambda g: kept.append(g))
    f(x, paddle.to_tensor([3.0])).backward()
    before = val(kept[0])
    f(x, paddle.to_tensor([5.0])).backward()
    return before, val(kept[0]), val(x.grad)


@situation("B13b", ([300.0], [3.0]))
def writing_to_a_kept_gradient(paddle, to_static):
    kept = []

    @to_static
    def f(x):
        x.register_hook(lambda g: kept.append(g))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    with paddle.no_grad():
        kept[0].multiply_(paddle.to_tensor(100.0))
    return val(kept[0]), val(x.grad)


@situation("B13c", ([4.0], [8.0]))
def returned_tensor_is_never_written(paddle, to_static):
    constant = paddle.to_tensor([4.0])

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(lambda g: constant)
    f(x).backward()
    f(x).backward()
    return val(constant), val(x.grad)


@situation("B14", ([2.0], False, [2.0]))
def hook_returns_the_leaf(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(lambda g: x)
    f(x).backward()
    return val(x.grad), x.grad is x, val(x)


@situation("B15", [7.0])
def hook_detaches(paddle, to_static):
    def change(g):
        g.stop_gradient = True
        return (g * 2 + 1).detach()

    @to_static
    def f(x):
        x.register_hook(change)
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(x.grad)


@situation("B16", [10.0])
def hook_goes_through_numpy(paddle, to_static):
    @to_static
    def f(x):
        x.register_hook(lambda g: paddle.to_tensor(g.numpy() ** 2 + 1))
        return 3 * x

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(x.grad)


@situation("X05", ("RuntimeError", "RuntimeError", None))
def wrong_shape_twice(paddle, to_static):
    @to_static
    def f(x):
        return (3 * x).sum()

    x = leaf(paddle, 1.0, 2.0)
    x.register_hook(lambda g: g.sum())
    return outcome(lambda: f(x).backward()), outcome(lambda: f(x).backward()), val(x.grad)


@situation("X14", ("ValueError", [6.0], ["w"]))
def later_runs_work_after_an_error(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    handle = x.register_hook(boom)
    error = outcome(lambda: f(x).backward(), "boom")
    handle.remove()
    x.register_hook(named(log, "w"))
    x.register_hook(lambda g: g + 3)
    f(x).backward()
    return error, val(x.grad), log
