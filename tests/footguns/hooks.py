"""Gradient hooks: what they close over, when, and how often they are called."""

from __future__ import annotations

import threading

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, x


@footgun
def hook_closes_over_a_value_of_the_call(stage):
    def f(z, k):
        y = z * k
        scale = y.sum()
        y.register_hook(lambda g: g * scale + k)
        return y * y

    f = stage.static(f)
    for k in (1.0, 2.0, 1.0, 3.0, 4.0):
        stage(f, x(), k)


@footgun
def hook_closes_over_a_variable_changed_later(stage):
    def f(z):
        scale = 1.0
        y = z * 2
        y.register_hook(lambda g: g * scale)
        scale = 5.0
        y = y * y
        scale = scale + 1
        return y

    f = stage.static(f)
    stage(f, x())
    stage(f, x())


@footgun
def hook_closes_over_an_outer_variable(stage):
    scale = 1.0

    def f(z):
        y = z * 2
        y.register_hook(lambda g: g * scale + 1)
        return y * y

    f = stage.static(f)
    for scale in (1.0, 3.0, -1, -2):
        stage(f, x())
    y = f(x())
    scale = 100.0
    one = x()
    y = f(one)
    scale = 7.0
    y.sum().backward()
    stage.note(one.grad)


@footgun
def hook_changes_outer_state(stage):
    calls = 0

    def f(z):
        def hook(g):
            nonlocal calls
            calls += 1
            return g * calls

        y = z * 2
        y.register_hook(hook)
        return y * calls

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        stage.note(calls)


@footgun
def hook_reads_a_global_list(stage):
    scales = [2.0]

    def hook(g):
        stage.log.append(g.tolist())
        return g * scales[0] + 1

    def f(z):
        y = z * 3
        y.register_hook(hook)
        return y * y

    f = stage.static(f)
    for scales[0] in (2.0, 3.0, 0.0):
        stage(f, x())


@footgun
def hook_function_replaced(stage):
    hooks = Box(hook=lambda g: g + 1)

    def f(z):
        y = z * 3
        y.register_hook(hooks.hook)
        return y * y

    f = stage.static(f)
    stage(f, x())
    hooks.hook = lambda g: g * g
    stage(f, x())


@footgun
def handle_kept_outside(stage):
    handles = []

    def f(z):
        y = z * 3
        handles.append(y.register_hook(lambda g: g + 1))
        return y * y

    f = stage.static(f)
    one = x()
    y = f(one)
    handles[-1].remove()
    y.sum().backward()
    stage.note(one.grad, len(handles))
    one.clear_grad()
    f(one).sum().backward()
    stage.note(one.grad, len(handles))


@footgun
def handle_returned(stage):
    def f(z):
        y = z * 3
        return y * y, y.register_hook(lambda g: g + 1)

    f = stage.static(f)
    one = x()
    for remove in (False, True, False):
        one.clear_grad()
        y, handle = f(one)
        if remove:
            handle.remove()
        y.sum().backward()
        stage.note(one.grad)


@footgun
def handle_removed_inside(stage):
    def f(z, k):
        y = z * 3
        handle = y.register_hook(lambda g: g + 1)
        if k > 1:
            handle.remove()
        return y * y

    f = stage.static(f)
    for k in (1, 2, 1, x(2.0), x(0.0)):
        stage(f, x(), k)


@footgun
def hook_on_an_argument_again_and_again(stage):
    def f(z):
        z.register_hook(lambda g: g + 1)
        return z * 2

    f = stage.static(f)
    one = x()
    for _ in range(3):
        stage(f, one)
    stage(f, x())


@footgun
def hook_on_a_parameter_again_and_again(stage):
    weight = stage.watch(x(2.0))

    def f(z):
        weight.register_hook(lambda g: g * 2 + 1)
        return z * weight

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def hook_added_outside_between_calls(stage):
    weight = stage.watch(x(2.0))

    def f(z):
        return z * weight

    f = stage.static(f)
    stage(f, x())
    handle = weight.register_hook(lambda g: g * 10 + 1)
    stage(f, x())
    handle.remove()
    stage(f, x())


@footgun
def hook_added_to_the_result(stage):
    def f(z):
        y = z * 3
        return y, y * y

    f = stage.static(f)
    one = x()
    y, w = f(one)
    y.register_hook(lambda g: g + 1)
    w.sum().backward()
    stage.note(one.grad)


@footgun
def hook_raises(stage):
    fail = [True]

    def hook(g):
        if fail[0]:
            raise ValueError("from the hook")
        return g + 1

    def f(z):
        y = z * 3
        y.register_hook(hook)
        return y * y

    f = stage.static(f)
    for fail[0] in (True, False, True, False):
        stage(f, x())


@footgun
def static_function_called_in_a_hook(stage):
    @stage.static
    def doubled(g):
        return g * 2 + 1

    @stage.static
    def f(z):
        y = z * 3
        y.register_hook(lambda g: doubled(g))
        return y * y

    stage(f, x())
    stage(f, x(1.0, 2.0))
    stage(f, x())


@footgun
def same_static_function_called_in_its_hook(stage):
    depth = [0]

    @stage.static
    def f(z):
        y = z * 3
        y.register_hook(hook)
        return y * y

    def hook(g):
        if depth[0] > 1:
            return g + 1
        depth[0] += 1
        inner = x()
        f(inner).sum().backward()
        depth[0] -= 1
        return g + inner.grad

    stage(f, x())
    stage(f, x())


@footgun
def function_returned_that_closes_over_a_tensor(stage):
    def f(z, k):
        y = z * k
        return lambda w: w * y + k

    f = stage.static(f)
    one, two = x(), x(1.0, 1.0, 1.0)
    first, second = f(one, 2.0), f(one, 3.0)
    (first(two) + second(two)).sum().backward()
    stage.note(first(two), second(two), one.grad, two.grad)


@footgun
def function_stored_that_closes_over_a_tensor(stage):
    stored = []

    def f(z):
        y = z * 2
        stored.append(lambda: y)
        y = y + 1
        return y

    f = stage.static(f)
    stage(f, x())
    stage(f, x(1.0, 2.0))
    stage.note([function() for function in stored])


@footgun
def object_stored_that_holds_a_tensor(stage):
    kept = stage.watch([])

    def f(z):
        box = Box()
        box.y = z * 2
        kept.append(box)
        box.y = box.y + 1
        return box

    f = stage.static(f)
    first = stage(f, x())
    stage(f, x())
    stage.note(first is kept[0], kept[0] is kept[1])


@footgun
def hook_that_counts_by_a_default(stage):
    def f(z):
        y = z
        for k in range(3):
            y = y * 2
            y.register_hook(lambda g, k=k, seen=[]: stage.log.append((k, len(seen), seen.append(k))))
        return y

    f = stage.static(f)
    stage(f, x())
    stage(f, x())


@footgun
def hooks_in_branches_and_loops(stage):
    def f(z, k, n):
        y = z * 2
        if k > 0:
            y.register_hook(lambda g: g + k)
        for i in range(n):
            y = y * 1.5
            y.register_hook(lambda g, i=i: stage.log.append(("turn", i)))
        return y * y

    f = stage.static(f)
    for k, n in ((1.0, 2), (-1.0, 0), (2.0, 1)):
        stage(f, x(), x(k), d2s.to_tensor(n))


@footgun
def reduce_hook_inside(stage):
    weight = stage.watch(x(2.0))

    def f(z):
        weight._register_backward_hook(lambda: stage.log.append("accumulated"))
        return z * weight

    f = stage.static(f)
    stage(f, x())
    stage(f, x())


@footgun
def retained_gradients(stage):
    kept = []

    def f(z):
        y = z * 3
        y.retain_grads()
        kept.append(y)
        return y * y

    f = stage.static(f)
    for _ in range(2):
        stage(f, x())
        stage.note(kept[-1].grad)


@footgun
def hook_in_another_thread(stage):
    def f(z):
        y = z * 3
        y.register_hook(lambda g: g + 1)
        return y * y

    f = stage.static(f)
    grads = []

    def work():
        one = x()
        f(one).sum().backward()
        grads.append(one.grad.tolist())

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    stage.note(grads)
