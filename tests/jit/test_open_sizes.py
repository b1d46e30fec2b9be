"""Sizes that change from call to call: the second one opens the size, and the Program stays right for all others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import d2s
from d2s.core.interpreter import bind
from d2s.core.op import OP_TABLE
from d2s.core.spec import Dim, broadcast_sizes
from d2s.static import InputSpec
from tests.modes.harness import Leaf, assert_same, message
from tests.ops.strategies import REGISTRY, Case, inputs_of

few = settings(
    max_examples=max(3, settings.default.max_examples // 6), suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def many_traces() -> Iterator[None]:
    """More traces than are worth a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* has been traced .* times", RuntimeWarning)
        yield


def ones(*shape: int) -> Any:
    return d2s.to_tensor(np.ones(shape, "float32"), stop_gradient=False)


def traces(function: Any, *calls: tuple[Any, ...]) -> list[int]:
    """How often the function has been traced after each of these calls."""
    found = []
    for args in calls:
        function(*args)
        found.append(function.program_cache.traces)
    return found


# --- every op -------------------------------------------------------------------------------------------------------


def seen(function: Any, arrays: list[Any]) -> Any:
    """Bits of results and gradients, or the error."""
    d2s.seed(0)
    tensors = [d2s.to_tensor(array, stop_gradient=array.dtype.kind != "f") for array in arrays]
    try:
        result = function(*tensors)
        results = list(result) if isinstance(result, tuple | list) else [result]
        shown = [(part.numpy().dtype, part.shape, part.numpy().tobytes()) for part in results]
        roots = [part for part in results if not part.stop_gradient]
        if roots:
            d2s.autograd.backward(roots, [root.detach() * 0.5 + 1 for root in roots])
    except Exception as error:
        return type(error), message(error)
    return shown, [None if tensor.grad is None else tensor.grad.numpy().tobytes() for tensor in tensors]


def doubled(array: Any, size: int) -> Any:
    """The array twice along each axis of this size."""
    for axis, own in enumerate(array.shape):
        if own == size:
            array = np.concatenate([array, array], axis)
    return array


@few
@pytest.mark.parametrize("name", sorted(REGISTRY))
@given(data=st.data())
def test_every_op_with_all_its_sizes_open(name: str, data: Any) -> None:
    case: Case = data.draw(inputs_of(name))
    static = d2s.to_static(
        lambda *tensors: bind(OP_TABLE[name], *tensors, **case.attrs),
        input_spec=[InputSpec([None] * array.ndim, array.dtype) for array in case.args])

    def original(*tensors: Any) -> Any:
        return bind(OP_TABLE[name], *tensors, **case.attrs)

    sizes = sorted({size for array in case.args for size in array.shape if size > 1})
    for arrays in (case.args, *([doubled(array, size) for array in case.args] for size in sizes)):
        assert seen(static, arrays) == seen(original, arrays)


def test_what_is_known_of_broadcast_sizes() -> None:
    large, other, any_size = Dim(may_be_one=False), Dim(may_be_one=False), Dim()
    assert broadcast_sizes(large, other) is other
    assert broadcast_sizes(large, any_size) is large
    assert broadcast_sizes(any_size, large) is large
    assert broadcast_sizes(any_size, 5) == 5
    assert broadcast_sizes(any_size, 1) is any_size
    # One of them may be 1, so it is neither.
    unknown = broadcast_sizes(any_size, Dim())
    assert isinstance(unknown, Dim)
    assert unknown is not any_size


def test_a_merged_value_may_be_broadcast() -> None:
    def f(x, y, c):
        if c > 0:
            x, y = y, x
        return x * y

    assert_same(lambda: f, [
        (Leaf([1.0, 2.0, 3.0]), Leaf([2.0]), Leaf(c, True)) for c in (1.0, -1.0)])


# --- how often is traced --------------------------------------------------------------------------------------------


def test_the_second_size_opens_it() -> None:
    f = d2s.to_static(lambda x: (x * 2 + x.mean()).sum())
    assert traces(f, *((ones(n, 4),) for n in (3, 5, 7, 3, 2, 100))) == [1, 2, 2, 2, 2, 2]


def test_zero_and_one_have_programs_of_their_own() -> None:
    f = d2s.to_static(lambda x: x * 2)
    assert traces(f, *((ones(n),) for n in (3, 1, 4, 5, 0, 6, 1, 0))) == [1, 2, 3, 3, 4, 4, 4, 4]


def test_several_arguments_open_together() -> None:
    f = d2s.to_static(lambda x, parts: (x * parts["y"] + parts["z"][0]).sum())
    calls = [(ones(n, 3), {"y": ones(n, 1), "z": [ones(n, 3)]}) for n in (2, 3, 4, 5)]
    assert traces(f, *calls) == [1, 2, 2, 2]


def test_input_spec_opens_at_once() -> None:
    f = d2s.to_static(lambda x, y: (x.matmul(y["w"])).sum(), input_spec=[
        InputSpec([None, 8]), {"w": InputSpec([8, None])}])
    calls = [(ones(n, 8), {"w": ones(8, m)}) for n, m in ((2, 3), (4, 4), (5, 2))]
    assert traces(f, *calls) == [1, 1, 1]
    assert traces(f, (ones(1, 8), {"w": ones(8, 2)})) == [2]


def test_input_spec_of_variadic_arguments_and_methods() -> None:
    class Adder:
        @d2s.to_static(input_spec=[InputSpec([None]), InputSpec([None])])
        def add(self, first, *more):
            return first + sum(more)

    adder = Adder()
    assert traces(adder.add, *((ones(n), ones(n), ones(n)) for n in (2, 3))) == [1, 2]
    # The second of `more` has no spec: its size is open since it changed.
    assert traces(adder.add, (ones(4), ones(4), ones(4))) == [2]


def test_layers_serve_all_sizes() -> None:
    net = d2s.nn.Sequential(
        d2s.nn.Conv2D(1, 4, 3, padding=1), d2s.nn.BatchNorm2D(4), d2s.nn.ReLU(), d2s.nn.MaxPool2D(2),
        d2s.nn.Flatten(), d2s.nn.Linear(16, 8), d2s.nn.LayerNorm(8), d2s.nn.Dropout(0.2), d2s.nn.Linear(8, 3))

    def loss(x, y):
        return d2s.nn.functional.cross_entropy(net(x), y)

    static = d2s.to_static(loss)
    for number, n in enumerate((4, 3, 7, 2, 5)):
        found = []
        for function in (loss, static):
            d2s.seed(n)
            result = function(ones(n, 1, 4, 4), d2s.to_tensor(np.arange(n) % 3))
            result.backward()
            found.append([result.item(), *(p.grad.numpy().tobytes() for p in net.parameters())])
            net.clear_gradients(False)
        assert found[0] == found[1]
        assert static.program_cache.traces == min(number + 1, 2)


def compares(x):
    return x * 2 if x.shape[0] > 3 else x + 1


def unrolls(x):
    return sum((row * k for k, row in enumerate(x)), start=x[0] * 0)


def counts(x):
    total = x[0]
    for i in range(1, x.shape[0]):
        total = total * 0.5 + x[i]
    return total


def indexes(x):
    return x * [0.0, 1.0, 2.0, 3.0, 4.0, 5.0][x.shape[0]]


def keys(x):
    return x * {2: 1.0, 3: 2.0}.get(x.shape[0], 3.0)


def names(x):
    return {f"size {x.shape[0]}": x * 2}


def is_instance(x):
    return x * 2 if isinstance(x.shape[0], int) else x


def catches_all(x):
    try:
        n = 1 if x.shape[0] > 3 else 2
    except:  # noqa: E722
        n = 3
    return x * n


def shows(x):
    return x.shape, len(x), x.size, x.shape[0] * 2 - 1, x.reshape([-1]).shape


def scales(x):
    return x / len(x) ** 0.5 + x.shape[0] / 2


def reshapes(x):
    n, m = x.shape
    return x.reshape([m, n]).transpose([1, 0])[: n - 1] + d2s.ones([n - 1, 1]), d2s.arange(n), d2s.zeros([m, n])


def slices(x):
    return x[1:] * x[:1], x[1:] + x[:-1], x[-1], x[::2].sum(0)


def raises(x):
    if x.shape[0] == 5:
        raise ValueError(f"got {x.shape[0]}")
    return x * 2


def steps_down(x):
    n = x.shape[0]
    while n > 1:
        x = x[: n // 2]
        n //= 2
    return x


@pytest.mark.parametrize("function", [
    compares, unrolls, counts, indexes, keys, names, is_instance, catches_all, shows, scales, reshapes, slices,
    raises, steps_down], ids=lambda function: function.__name__)
def test_python_that_looks_at_sizes(function: Any) -> None:
    calls = [(Leaf(np.linspace(-1, 1, n * 3).reshape(n, 3).tolist()),) for n in (2, 3, 4, 5, 3, 2, 1, 5)]
    assert_same(lambda: function, calls)


@pytest.mark.parametrize(("function", "count"), [
    (compares, 4), (unrolls, 4), (counts, 4), (indexes, 4), (catches_all, 4), (raises, 3), (steps_down, 4),
    (keys, 2), (shows, 2), (scales, 2), (reshapes, 2), (slices, 2), (is_instance, 2)])
def test_sizes_that_steer_python_are_fixed(function: Any, count: int) -> None:
    static = d2s.to_static(function)
    for n in (2, 3, 4, 5, 4, 2):
        try:
            static(ones(n, 3))
        except ValueError:
            assert n == 5
    assert len(static.program_cache) == count


def test_an_error_of_the_user_does_not_fix_a_size() -> None:
    f = d2s.to_static(lambda x, y: x.matmul(y))
    traces(f, (ones(2, 4), ones(4, 3)), (ones(3, 4), ones(4, 3)))
    for _ in range(2):
        with pytest.raises(d2s.ShapeError, match=r"\[5, 4\]"):
            f(ones(5, 4), ones(3, 3))
    assert "read on each call: size 0 of argument x, size 0 of argument y" in f.explain()
    assert "needed by Python" not in f.explain()


def test_sizes_that_do_not_fit_raise_what_eager_raises() -> None:
    def f(x, y):
        z = x * 2
        return z + y

    static = d2s.to_static(f)
    traces(static, *((ones(n), ones(n)) for n in (2, 3)))
    for function in (f, static):
        with pytest.raises(d2s.ShapeError, match=r"\[4\] and \[5\]"):
            function(ones(4), ones(5))
    assert static.program_cache.traces == 2


def test_captured_tensors_open_too() -> None:
    class Holder:
        state = None

    def f(x):
        return x + Holder.state.sum(), Holder.state * 2

    static = d2s.to_static(f)
    for number, n in enumerate((2, 3, 4, 5)):
        Holder.state = ones(n)
        assert [part.tolist() for part in static(ones(2))] == [part.tolist() for part in f(ones(2))]
        assert static.program_cache.traces == min(number + 1, 2)


def test_hooks_and_backward_inside_with_open_sizes() -> None:
    def f(x):
        y = x * x
        y.register_hook(lambda g: g * g + y.shape[0])
        y.sum().backward()
        return x.grad * 2

    assert_same(lambda: f, [(Leaf(np.arange(float(n)).tolist()),) for n in (2, 3, 4, 1, 6)])


# --- telling, and forgetting ----------------------------------------------------------------------------------------


def test_explain_says_what_changed() -> None:
    scale = 2.0

    @d2s.to_static
    def f(x, k, flag=True):
        return x * k * scale if flag else x

    assert "traced 0 times, 0 Programs kept" in f.explain()
    f(ones(2), 1)
    assert "traced once, 1 Program kept" in f.explain()
    f(ones(3), 1)
    scale = 3.0
    f(ones(3), 1)
    f(ones(3), 1, flag=False)
    with d2s.no_grad():
        f(ones(3), 1)
    lines = f.explain().splitlines()
    assert lines[0].endswith("f: traced 5 times, 5 Programs kept")
    assert lines[1] == "1. first call"
    assert lines[2] == "2. argument x changed from float32[2] to float32[3]"
    assert lines[3] == "3. closure variable scale changed from 2.0 to 3.0"
    assert lines[4] == "4. argument flag changed from True to False"
    assert "grad mode changed from True to False" in lines[5]
    assert lines[6] == "read on each call: size 0 of argument x"


def test_a_tensor_of_another_kind_is_told_by_what_is_other():
    @d2s.to_static
    def f(x):
        return x * 2

    for x in (d2s.ones([2]), d2s.to_tensor([1.0, 2.0], stop_gradient=False), d2s.create_parameter([2], "float32")):
        f(x)
    told = f.explain().splitlines()[2:4]
    assert told == [
        "2. argument x changed from float32[2], stop_gradient=True to float32[2], stop_gradient=False",
        "3. argument x changed from Tensor float32[2] to Parameter float32[2]"]


def test_explain_says_what_python_needs() -> None:
    f = d2s.to_static(compares)
    traces(f, *((ones(n),) for n in (2, 3)))
    lines = f.explain().splitlines()
    assert lines[3] == "needed by Python, so each value has its own Program: size 0 of argument x"
    assert lines[4] == "Program of trace 1"
    assert "Program of trace 2, used last" in lines


def test_the_cache_is_bounded() -> None:
    f = d2s.to_static(lambda x, k: x * len(k))
    d2s.jit.set_cache_size(3)
    try:
        for number in range(10):
            f(ones(2), "a" * number)
        assert len(f.program_cache) == 3
        assert f.program_cache.traces == 10
        # The one used last is kept, the one used least recently goes.
        assert traces(f, (ones(2), "a" * 7), (ones(2), "b"), (ones(2), "a" * 7), (ones(2), "a" * 9)) == [10, 11, 11, 11]
        assert traces(f, (ones(2), "a" * 8)) == [12]
        with pytest.raises(ValueError, match="at least one"):
            d2s.jit.set_cache_size(0)
    finally:
        d2s.jit.set_cache_size(64)


@pytest.mark.parametrize("again", [False, True])
def test_a_py_layer_for_every_size(again: bool) -> None:
    """Its backward gets zeros of the size of this call for an output without gradient, and is held to that size."""

    class Both(d2s.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2, x * x

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            (x,) = ctx.saved_tensor()
            given.append((g.tolist(), h.tolist()))
            return g * 2 + h * 2 * x

    given: list[Any] = []

    def f(x: Any, c: Any) -> Any:
        y, z = Both.apply(x)
        return y if c > 0 else y * z

    def seen_of(function: Any) -> list[Any]:
        given.clear()
        seen = []
        for rows in (2, 3, 5, 4):
            for c in (1.0, -1.0):
                x = d2s.to_tensor(np.arange(rows * 2.0).reshape(rows, 2), stop_gradient=False)
                y = function(x, d2s.to_tensor(c))
                if again:
                    (g,) = d2s.grad((y * y).sum(), [x], create_graph=True)
                    (g * g).sum().backward()
                else:
                    y.sum().backward()
                seen.append(x.grad.tolist())
        return [seen, list(given)]

    static = d2s.to_static(f)
    assert seen_of(static) == seen_of(f)
    assert len(static.program_cache) == 2


# --- numbers of the run as values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [None, "int64", "int32", "float32", "float64", "bool"])
@pytest.mark.parametrize("data", [[16_777_217], [3], [0], [2.7], [-1], [True, False]])
def test_full_of_a_number_that_only_the_run_knows(dtype: str | None, data: list[Any]) -> None:
    def f(x: Any) -> Any:
        return d2s.full([2], x.max().item(), dtype)

    x = d2s.to_tensor(data)
    expected, found = f(x), d2s.jit.to_static(f)(x)
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
