"""Gradient hooks through control flow: where and how often they are registered, what they see, in which order."""

from __future__ import annotations

import d2s
from tests.corpus.register import LOG, made, program, record


def plus_one(g):
    return g + 1


def square(g):
    return g * g


@program
def on_an_argument(x, c):
    z = x * 3
    x.register_hook(record("x", plus_one))
    return z * c


@program
def after_use(x, c):
    z = x + 4
    u = z * z
    z.register_hook(record("z", square))
    return u * c


@program
def in_a_branch_on_an_inner_value(x, c):
    if c > 0:
        z = x * x
        z.register_hook(record("z", plus_one))
    else:
        z = x * 3
    return z * z


@program
def in_a_branch_on_an_outer_value(x, c):
    z = x * x
    u = z * 2
    if c > 0:
        z.register_hook(record("z", plus_one))
    return u + z * z


@program
def in_a_branch_on_an_argument(x, c):
    if c > 0:
        x.register_hook(record("x", square))
    return x * x


@program
def in_a_python_loop(x, c):
    z = x * x
    for i in range(3):
        z.register_hook(record(i, plus_one))
    return z * z * c


@program
def in_a_tensor_loop_on_an_outer_value(x, n):
    z = x * x
    for i in range(n):
        z.register_hook(record("turn", plus_one))
    return z * z


@program
def in_a_tensor_loop_on_an_argument(x, n):
    for i in range(n):
        x.register_hook(record("turn", plus_one))
    return x * x


@program
def in_a_tensor_loop_on_a_value_of_the_turn(x, n):
    z = x
    for i in range(n):
        part = z * x
        part.register_hook(record("part", plus_one))
        z = part + x
    return z


@program
def on_a_carried_value(x, n):
    z = x * 2
    for i in range(n):
        z = z * x
        z.register_hook(record("z", plus_one))
    return z


@program
def on_a_carried_value_at_the_start_of_a_turn(x, n):
    z = x * 2
    for i in range(n):
        z.register_hook(record("z", plus_one))
        z = z * x
    return z


@program
def on_the_result_of_a_loop(x, n):
    z = x * 2
    for i in range(n):
        z = z * x
    z.register_hook(record("z", square))
    return z + x


@program
def on_a_merged_value_that_is_an_argument(x, y, c):
    z = x if c > 0 else y
    u = x * y
    z.register_hook(record("z", plus_one))
    return z * u


@program
def on_a_merged_value_that_is_an_inner_one(x, y, c):
    a, b = x * 2, y * 3
    z = a if c > 0 else b
    z.register_hook(record("z", plus_one))
    a.register_hook(record("a", square))
    return z * a + b


@program
def on_the_result_of_no_turns(x, n):
    a = x * 2
    z = a
    for i in range(n):
        z = z * x
    z.register_hook(record("z", plus_one))
    return z * a


@program
def on_an_output(x, c):
    z = x * c
    z.register_hook(record("z", plus_one))
    return z


@program
def on_two_outputs(x, y, c):
    z = x * y
    u = z * z
    u.register_hook(record("u", plus_one))
    z.register_hook(record("z", square))
    if c > 0:
        return z, u
    return u


@program
def several_in_order(x, c):
    z = x * 2
    z.register_hook(record("first", plus_one))
    if c > 0:
        z.register_hook(record("second", square))
    z.register_hook(record("third", plus_one))
    return z * x


@program
def closing_over_a_value_of_this_call(x, c):
    z = x * x
    scale = x * c
    z.register_hook(lambda g: g * scale)
    return z * 3


@program
def closing_over_a_later_binding(x, c):
    z = x * x
    scale = 2.0
    z.register_hook(lambda g: g * scale + 1)
    if c > 0:
        scale = 5.0
    return z


@program
def closing_over_a_loop_variable(x, c):
    z = x * c
    for i in range(3):
        z.register_hook(lambda g: g + i)
    return z * z


@program
def closing_over_a_tensor_loop_variable(x, n):
    z = x * 2
    for i in range(n):
        z.register_hook(lambda g: g * g + i)
    return z * z


@program
def closing_over_a_list(x, c):
    seen = []
    z = x * x
    z.register_hook(lambda g: seen.append(g) or g + len(seen))
    if c > 0:
        seen.append("before")
    return z, seen


@program
def hook_that_raises(x, y, c):
    def refuse(g):
        raise ValueError("refused")

    z = x * y
    if c > 0:
        z.register_hook(refuse)
    return z * y


@program
def hook_of_another_shape(x, c):
    z = x * c
    z.register_hook(lambda g: g.sum())
    return z


@program
def hook_that_is_no_function(x, c):
    z = x * x
    if c > 0:
        z.register_hook(3)
    return z


@program
def hook_on_a_stopped_tensor(x, c):
    z = x.detach()
    if c > 0:
        z.register_hook(plus_one)
    return z * x


@program
def handle_removed_in_a_branch(x, c):
    z = x * x
    handle = z.register_hook(record("z", plus_one))
    if c > 0:
        handle.remove()
    return z * z


@program
def handle_kept_and_removed_later(x, c):
    z = x * x
    handles = [z.register_hook(record(i, plus_one)) for i in range(3)]
    handles[1].remove()
    return z * c


@program
def in_a_helper(x, c):
    def watched(z, name):
        z.register_hook(record(name, plus_one))
        return z

    z = watched(x * x, "first")
    if c > 0:
        z = watched(z, "second") * 2
    return watched(z, "third")


@program
def by_a_stored_method(x, c):
    z = x * x
    register = z.register_hook
    if c > 0:
        register(record("z", plus_one))
    return z * z


@program
def in_a_comprehension(x, c):
    parts = [x * i for i in range(3)]
    [part.register_hook(record(i, plus_one)) for i, part in enumerate(parts)]
    return sum(parts) * c


@program
def on_an_element_of_a_list(x, c):
    parts = [x * 2, x * x]
    parts[1].register_hook(record("second", square))
    if c > 0:
        parts[0].register_hook(record("first", plus_one))
    return parts[0] * parts[1]


@program
def in_try_and_with(x, c):
    z = x * x
    try:
        with d2s.enable_grad():
            z.register_hook(record("z", plus_one))
        if c > 0:
            raise ValueError
    except ValueError:
        z.register_hook(record("caught", square))
    return z * z


@program
def before_and_after_a_write(x, c):
    z = x * 2
    z.register_hook(record("before", plus_one))
    z[0] = c
    z.register_hook(record("after", square))
    return z * z


@program
def on_a_view(x, c):
    z = x * 2
    u = z[1:]
    u.register_hook(record("u", plus_one))
    return z.sum() + (u * u).sum() * c


@program
def on_a_value_nobody_uses(x, c):
    z = x * x
    z.register_hook(record("z", plus_one))
    return x * 2


@program
def used_in_the_untaken_branch_only(x, y, c):
    z = y * y
    z.register_hook(record("z", plus_one))
    if c > 0:
        return x * 2
    return x * z


@program
def order_of_interior_tensors(x, y, c):
    a = x * 2
    b = y * 3
    a.register_hook(record("a", plus_one))
    b.register_hook(record("b", plus_one))
    d = a * b
    d.register_hook(record("d", plus_one))
    if c > 0:
        e = d * a
        e.register_hook(record("e", plus_one))
        return e * b
    return d + b


@program
def order_of_leaves(x, y, w, c):
    x.register_hook(record("x"))
    y.register_hook(record("y"))
    w.register_hook(record("w"))
    z = x * w
    if c > 0:
        z = z * y
    u = z * x
    return u + w


@program
def order_of_leaves_in_a_loop(x, y, w, n):
    x.register_hook(record("x"))
    y.register_hook(record("y"))
    w.register_hook(record("w"))
    z = y * 2
    z.register_hook(record("z"))
    for i in range(n):
        z = z * x
        z = z + w
    return z * w


@program
def reduce_hooks(x, y, w, c):
    x._register_backward_hook(lambda: LOG.append(("x", x.grad)))
    y._register_backward_hook(lambda: LOG.append(("y", y.grad)))
    y.register_hook(record("y", plus_one))
    z = x * y
    z.register_hook(record("z"))
    if c > 0:
        z = z * x
    return z * w


@program
def leaf_made_inside(x, c):
    w = d2s.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    w.register_hook(record("w", plus_one))
    x.register_hook(record("x"))
    z = x * w
    z.register_hook(record("z"))
    u = z * w
    if c > 0:
        u = u * w
    return u * x, w


@program
def leaf_made_inside_a_branch(x, c):
    z = x * 2
    if c > 0:
        w = d2s.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
        w.register_hook(record("w", plus_one))
        z = z * w * w
    return z


@program
def leaf_made_inside_a_loop(x, n):
    z = x * 2
    for i in range(n):
        w = d2s.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
        w.register_hook(record("w", plus_one))
        z = z * w + w
    return z


@program
def retained_gradient(x, c):
    z = x * x
    z.retain_grads()
    u = z * 2
    if c > 0:
        u = u * z
    return u, z


@made
def on_an_outer_tensor():
    weight = d2s.to_tensor([1.0, -1.0, 2.0], stop_gradient=False)

    def f(x, c):
        weight.register_hook(record("weight", plus_one))
        if c > 0:
            return x * weight
        return x * x

    return f


@program
def values_seen_by_hooks_after_branches(x, y, c, n):
    z = x * y
    z.register_hook(record("z", square))
    for i in range(n):
        if c > 0:
            z = z * y
            z.register_hook(record("up", plus_one))
        else:
            z = z + x
    z.register_hook(record("last", plus_one))
    return z


@program
def gradient_of_a_hook_through_item(x, c):
    z = x * x
    limit = z.sum().item()
    z.register_hook(lambda g: g * limit + 1)
    if limit > 6:
        return z * c
    return z


@program
def on_swapped_values(x, y, n):
    u = x + y
    for i in range(n):
        x, y = y, x
        y.register_hook(record("turn", plus_one))
        LOG.append(x)
    x.register_hook(record("after", square))
    return u * x


@program
def closing_over_a_value_of_the_turn(x, y, n):
    z = y * 2
    for i in range(n):
        z = z * x
        z.register_hook(lambda g: g + z.detach())
    return z, z * y


@program
def a_handle_is_true(x, c):
    z = x * 2
    handle = z.register_hook(record("z", square))
    kept = handle or c
    LOG.append((bool(handle), not handle, 1 if handle else 2, kept is handle))
    assert handle
    if handle and c > 0:
        handle.remove()
    return z * z


@program
def registered_in_the_test_of_a_loop(x, c):
    while (z := x * x).sum() < 200 and z.register_hook(record("z", plus_one)):
        x = z
    return x * z + c


@program
def registered_by_a_hook_of_a_layer(x, c):
    layer = d2s.nn.ReLU()
    layer.register_forward_post_hook(lambda layer, inputs, out: out.register_hook(record("out", square)) and None)
    return layer(x) * c
