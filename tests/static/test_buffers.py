"""Results are written into the buffers of earlier runs, and nobody can see it."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import d2s
from d2s.static.passes import buffers
from d2s.static.passes.buffers import plan_buffers

SIDE = 200


def square(seed, order="C"):
    return np.asarray(np.random.default_rng(seed).standard_normal((SIDE, SIDE)), "float32", order=order)


def chain(x, w):
    a = x * w
    b = d2s.tanh(a + 1.5) * x
    c = d2s.exp(b * 0.1) - d2s.nn.functional.sigmoid(a)
    return d2s.matmul(c, w) * c


def tensors(*seeds, order="C"):
    return [d2s.to_tensor(square(seed, order), stop_gradient=False) for seed in seeds]


def plan_of(function):
    return function.concrete_program.traced.compiled._forward_plan[1]


def assert_like_eager(static, function, x, w):
    """The same bits of the result and the gradients."""
    found = []
    for call in (function, static):
        result = call(x, w)
        result.sum().backward()
        found.append([result.numpy(), x.grad.numpy(), w.grad.numpy()])
        x.clear_grad(set_to_zero=False)
        w.clear_grad(set_to_zero=False)
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_run_writes_into_the_buffers_of_the_run_before():
    static = d2s.to_static(chain)
    x, w = tensors(1, 2)
    assert_like_eager(static, chain, x, w)
    assert plan_of(static).specs
    grown = []
    for call in (chain, static):
        tracemalloc.start()
        try:
            for _ in range(3):
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                call(x, w).sum().backward()
                x.clear_grad(set_to_zero=False)
                w.clear_grad(set_to_zero=False)
            grown.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
    # There is more than that which is not planned: what the walk adds up.
    assert grown[1] < grown[0] / 2


def test_results_of_earlier_calls_stay():
    static = d2s.to_static(chain)
    pairs = [tensors(seed, seed + 1) for seed in range(4)]
    results = [static(x, w) for x, w in pairs]
    copies = [result.numpy() for result in results]
    for (x, w), result, copy in zip(pairs, results, copies, strict=True):
        np.testing.assert_array_equal(result.numpy(), copy)
        np.testing.assert_array_equal(copy, chain(x, w).numpy())


def test_several_runs_wait_for_backward():
    static = d2s.to_static(chain)
    found = []
    for call in (chain, static):
        x, w = tensors(1, 2)
        y, v = tensors(3, 4)
        first, second = call(x, w), call(y, v)
        third = call(first, second)
        (third + first).sum().backward()
        found.append([t.grad.numpy().tobytes() for t in (x, w, y, v)])
    assert found[0] == found[1]


def test_gradients_that_somebody_holds_stay():
    static = d2s.to_static(chain)
    x, w = tensors(1, 2)
    static(x, w).sum().backward()
    held, copy = x.grad, x.grad.numpy()
    view = x.grad[0]
    x.clear_grad(set_to_zero=False)
    for seed in range(3):
        static(*tensors(seed, seed + 1)).sum().backward()
    np.testing.assert_array_equal(held.numpy(), copy)
    del held
    for seed in range(3):
        static(*tensors(seed, seed + 1)).sum().backward()
    np.testing.assert_array_equal(view.numpy(), copy[0])


def test_what_hooks_keep_stays():
    kept = []

    def function(x, w):
        a = x * w
        a.register_hook(lambda g: kept.append((g, g.numpy())))
        return d2s.tanh(a) * x

    static = d2s.to_static(function)
    for seed in range(4):
        static(*tensors(seed, seed + 1)).sum().backward()
    for gradient, copy in kept:
        np.testing.assert_array_equal(gradient.numpy(), copy)


def test_retained_graphs_and_second_backwards():
    static = d2s.to_static(chain)
    found = []
    for call in (chain, static):
        x, w = tensors(1, 2)
        result = call(x, w)
        result.sum().backward(retain_graph=True)
        call(*tensors(5, 6)).sum().backward()
        result.sum().backward()
        found.append([t.grad.numpy().tobytes() for t in (x, w)])
    assert found[0] == found[1]


@pytest.mark.parametrize("order", ["F", "C"])
def test_other_orders_in_memory_keep_their_bits(order):
    """Sums are rounded in the order of memory, so buffers may not change how a result lies there."""
    def function(x, w):
        a = d2s.tanh(x * w) + x
        return (a * w).sum(0) * a.mean() + (a * 3).sum(1)

    static = d2s.to_static(function)
    x, w = tensors(1, 2)
    for _ in range(2):
        assert_like_eager(static, function, x, w)
    x, w = tensors(3, 4, order=order)
    for _ in range(2):
        assert_like_eager(static, function, x, w)
    for _ in range(2):
        assert_like_eager(static, function, *tensors(1, 2))


def test_transposed_values_and_gradients_of_any_order():
    def function(x, w):
        a = d2s.transpose(x, [1, 0]) * 2
        return d2s.exp(a * 0.1) * w

    static = d2s.to_static(function)
    for order in ("C", "F", "C"):
        found = []
        for call in (function, static, static):
            x, w = tensors(1, 2)
            call(x, w).backward(d2s.to_tensor(square(9, order)))
            found.append((x.grad.sum(0).numpy().tobytes(), w.grad.sum().numpy().tobytes()))
        assert found[0] == found[1] == found[2]


def test_hooks_that_change_the_order_in_memory():
    orders = []

    def reorder(g):
        return d2s.to_tensor(np.asarray(g.numpy(), order=orders[-1]))

    def function(x, w):
        a = x * w
        a.register_hook(reorder)
        return d2s.tanh(a) * x

    static = d2s.to_static(function)
    for order in "CFFC":
        orders.append(order)
        found = []
        for call in (function, static):
            x, w = tensors(1, 2)
            call(x, w).sum().backward()
            found.append((x.grad.numpy().strides, x.grad.sum(1).numpy().tobytes(), w.grad.sum().numpy().tobytes()))
        assert found[0] == found[1]


def test_a_hook_that_calls_the_function_again():
    depth = []

    def function(x, w):
        return d2s.tanh(x * w) * x + w

    static = d2s.to_static(function)

    def again(g):
        if len(depth) < 2:
            depth.append(1)
            static(*tensors(7, 8))

    x, w = tensors(1, 2)
    x.register_hook(again)
    for _ in range(2):
        depth.clear()
        assert_like_eager(static, function, x, w)


def test_threads():
    static = d2s.to_static(chain)
    data = [tensors(seed, seed + 1) for seed in range(4)]
    expected = [chain(x, w).numpy() for x, w in data]
    wrong = []

    def work(number):
        for _ in range(10):
            if not np.array_equal(static(*data[number]).numpy(), expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_buffers_go_with_the_function():
    static = d2s.to_static(chain)
    static(*tensors(1, 2)).sum().backward()
    pool = static.concrete_program.traced.compiled.forward.__globals__["pool"]
    arrays = [weakref.ref(buffer) for buffer in pool._free[0]]
    assert any(array() is not None for array in arrays)
    del pool, static
    gc.collect()
    assert all(array() is None for array in arrays)


def test_memory_of_a_step_is_not_more_than_in_eager_mode():
    """The most that is held at a time, without parameters and data; after warming up."""
    def make(static):
        x, w = tensors(1, 2)

        def step():
            loss = chain(x, w).sum()
            loss.backward()
            x.clear_grad(set_to_zero=False)
            w.clear_grad(set_to_zero=False)

        return d2s.to_static(step) if static else step

    peaks = []
    for static in (False, True):
        step = make(static)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        try:
            step()
            step()
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            for _ in range(5):
                step()
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] - held < 3000
        finally:
            tracemalloc.stop()
    assert peaks[1] <= peaks[0] * 1.05


# --- the plan --------------------------------------------------------------------------------------------------------


def test_values_that_live_together_have_buffers_of_their_own():
    static = d2s.to_static(chain)
    static(*tensors(1, 2))
    compiled = static.concrete_program.traced.compiled
    program, plan = compiled._forward_plan
    kept = set(compiled.saved[compiled.program.block])
    last = {}
    for position, operator in enumerate(program.operators):
        last.update(dict.fromkeys(operator.reads(), position))
    holders = {}
    for position, operator in enumerate(program.operators):
        for value in operator.outputs:
            number = plan.buffers.get(value)
            if number is None:
                continue
            before = holders.get(number)
            if before is not None:
                assert before not in kept
                assert last[before] <= position
                if last[before] == position:
                    assert operator.op.out == "in place"
            holders[number] = value
    assert len(holders) < len(plan.buffers)


def test_values_in_another_order_are_computed_in_place_with_numbers_only():
    def function(x, w):
        a = x.transpose([1, 0]) * 2.0
        b = d2s.exp(d2s.nn.functional.relu(a) * 0.5)
        return (b + w).sum(1)

    with d2s.no_grad():
        static = d2s.to_static(function)
        for _ in range(3):
            assert static(*tensors(1, 2)).numpy().tobytes() == function(*tensors(1, 2)).numpy().tobytes()
    compiled = static.concrete_program.traced.compiled
    program, plan = compiled._forward_plan
    numbers = {operator.kind: plan.buffers.get(operator.outputs[0]) for operator in program.operators if operator.op}
    assert numbers["multiply"] == numbers["relu"] == numbers["exp"] != numbers["add"]
    assert not plan.specs[numbers["exp"]][1]
    static = d2s.to_static(function)
    assert_like_eager(static, function, *tensors(3, 4))
    assert_like_eager(static, function, *tensors(3, 4))


def test_small_arrays_and_unknown_sizes_have_no_buffers():
    static = d2s.to_static(lambda x: d2s.tanh(x[x > 0]) * 2)
    static(d2s.to_tensor(np.ones((1000, 1000), "float32")))
    assert [spec.dtype for spec, _ in plan_of(static).specs] == [np.dtype(bool)]
    static = d2s.to_static(lambda x: d2s.tanh(x[x[0, 0].astype("int64").item() :]) * 2)
    static(d2s.to_tensor(np.ones((1000, 1000), "float32")))
    assert not plan_of(static).specs
    static = d2s.to_static(lambda x: d2s.tanh(x) * 2)
    static(d2s.to_tensor(np.zeros(100, "float32")))
    assert not plan_of(static).specs


def test_nothing_is_planned_for_what_a_branch_reads_and_gives():
    def function(x, w):
        a = x * w
        if a.sum() > 0:
            b = a + 1
        else:
            b = a
        return b * 2

    static = d2s.to_static(function)
    static(*tensors(1, 2))
    plan = plan_of(static)
    assert len(set(plan.buffers.values())) == len(plan.buffers)
    for _ in range(2):
        assert_like_eager(static, function, *tensors(3, 4))


def test_references_are_counted_as_the_pool_expects(monkeypatch):
    monkeypatch.setattr(buffers, "SMALLEST", 1)
    static = d2s.to_static(lambda x: d2s.tanh(x) * 2 + 1)
    x = d2s.to_tensor([1.0, 2.0])
    static(x)
    program, plan = static.concrete_program.traced.compiled._forward_plan
    pool = static.concrete_program.traced.compiled.forward.__globals__["pool"]
    given = pool._free[0]
    taken = pool.take((x.data,))
    assert all(one is other for one, other in zip(given, taken, strict=True))
    pool.give(taken, taken)
    holder = taken[0]
    del given, taken
    assert pool.take((x.data,))[0] is not holder
    assert sys.getrefcount(holder)
    assert plan_buffers(program.block, program.inputs).buffers == plan.buffers
