"""In-place writes: items, slices, masks, methods; in branches and loops; with views."""

from __future__ import annotations

import d2s
from tests.corpus.register import program, record, refused


@program
def item_write(x, c):
    z = x * 2
    z[0] = c
    return z * x


@program
def write_in_a_branch(x, y, c):
    z = x * 2
    if c > 0:
        z[1] = y[0]
    return z * z


@program
def write_in_a_tensor_loop(x, y, n):
    z = x * 2
    for i in range(n):
        z[i % 3] = y[1] * i
    return z * x


@program
def slice_write(x, y, c):
    z = d2s.zeros([2, 3])
    z[0] = x
    z[1, 1:] = y[:2]
    if c > 0:
        z[:, 0] = y[2]
    return z


@program
def mask_write(x, c):
    z = x * 1
    z[z < 0] = 0.0
    return z * x + c


@program
def inplace_methods(x, y, c):
    z = x * 2
    z.add_(y)
    if c > 0:
        z.multiply_(y)
    return z * z


@program
def inplace_method_in_a_loop(x, n):
    z = x * 1
    for i in range(n):
        z.scale_(2.0)
        z.add_(x)
    return z


@program
def two_names_for_one_tensor(x, c):
    z = x * 2
    u = z
    z.add_(x)
    if c > 0:
        u.multiply_(x)
    return z + u


@program
def written_through_a_helper(x, c):
    def clear(z, i):
        z[i] = 0.0

    z = x * 2
    if c > 0:
        clear(z, 0)
    clear(z, 2)
    return z * x


@program
def view_before_a_write(x, y, c):
    z = x * 2
    u = z[0:2]
    z[0] = y[0]
    if c > 0:
        return u * u
    return u


@program
def write_through_a_view(x, y, c):
    z = x * 2
    u = z[0:2]
    u[1] = y[2]
    return z * z


@program
def reshaped_view(x, y, c):
    z = x * 2
    u = z.reshape([3, 1])
    u[0, 0] = y[0]
    z[1] = c
    return z * 3, u


@program
def view_written_in_a_branch(x, y, c):
    z = x * 2
    u = z[1:]
    if c > 0:
        u[0] = y[0]
    return z * z, u


@program
def augmented_item(x, c):
    z = x * 2
    z[0] += x[1]
    z[1] *= c
    return z


@program
def augmented_name_rebinds(x, c):
    z = x * 2
    u = z
    z += x
    if c > 0:
        z *= 2
    return z, u


@program
def write_after_use(x, c):
    z = x * 2
    u = z + 1
    z[0] = 5.0
    return u * z


@program
def write_after_saving_use(x, c):
    z = x * 2
    u = z * z
    z[0] = 5.0
    return u


@program
def write_to_an_argument(x, c):
    x[0] = 1.0
    return x * 2


@program
def write_under_no_grad(x, c):
    z = x * 2
    with d2s.no_grad():
        z[0] = c
    return z * z


@program
def written_in_a_branch_and_returned(x, c):
    z = x * 2
    if c > 0:
        z[0] = 5.0
        return z
    return x


@program
def written_in_a_branch_and_put_in_a_list(x, c):
    z = x * 2
    parts = [x]
    if c > 0:
        z.add_(x)
        parts[0] = z
    return parts[0] * x


@program
def written_in_a_turn_and_kept(x, n):
    z = x * 2
    last = x
    for i in range(n):
        z.scale_(1.5)
        last = z
    return last * x


@program
def write_after_a_branch(x, c):
    z = x * 2
    if c > 0:
        z = z * x
    z[0] = 1.0
    return z * z


@program
def write_after_a_loop(x, n):
    z = x * 2
    for i in range(n):
        z = z * 1.5
    z[0] = 1.0
    return z * z


@program
def write_to_what_a_turn_has_made(x, n):
    z = x * 2
    for i in range(n):
        z = z * 1.5
        z[0] = i
    return z * z


@program
def write_to_one_of_two(x, y, c):
    a, b = x * 2, y * 3
    z = a if c > 0 else b
    z[0] = 5.0
    return a * b * z


@program
def write_to_a_source_of_a_chosen_one(x, y, c):
    a, b = x * 2, y * 3
    z = a if c > 0 else b
    a[0] = 5.0
    return z * b


@program
def write_to_one_of_two_views(x, y, c):
    z = x * 2
    u = z[0:2] if c > 0 else z[1:3]
    u[0] = y[0]
    return z


@program
def write_before_rebinding_in_a_turn(x, n):
    z = x * 2
    u = z
    for i in range(n):
        z[0] = 1.0
        z = z * 2
    return z, u


@program
def append_to_one_of_two_lists(x, y, c):
    a, b = [x], [y]
    target = a if c > 0 else b
    target.append(x * y)
    return sum(a) * len(b)


@program
def write_to_a_carried_one_of_before(x, n):
    a = x * 1
    u = a
    for _ in range(n):
        u.multiply_(x)
        u = u * 2
    return a, u


@program
def write_to_what_a_turn_before_has_put_there(x, y, n):
    z = x * y
    u = z + 0.2
    for _ in range(n + 1):
        z[1] = x[0]
        z = u
    return z, u


@program
def write_to_what_turns_exchange(x, y, n):
    z, u = x * y, x + y
    b = u
    for _ in range(n):
        z.multiply_(x)
        z, u = u, z
    return z, u, b * x


@program
def write_to_one_of_two_and_hooks_of_all(x, c):
    a, b = x * 1, x * 2
    p = a[0:1]
    d = a if c > 0 else b
    d.register_hook(record("before", lambda g: g + 1))
    d.multiply_(x)
    d.register_hook(record("after", lambda g: g * g))
    a.register_hook(record("a", lambda g: g * 0.5))
    p.register_hook(record("p", lambda g: g + 2))
    return a, b, d, p


@program
def write_to_one_of_two_views_of_others(x, c):
    a, b = x * 1, x * 2
    p, q = a[0:1], b[1:2]
    d = p if c > 0 else q
    d.multiply_(x[0:1])
    a.register_hook(record("a", lambda g: g + 1))
    return a, b, d, p, q


@program
def view_of_before_a_branch_that_writes(x, y, c, n):
    z = x * y
    u = (z * 0.5).tanh()
    p = z[1:3]
    if not n > 1:
        z[1] = y[0]
    else:
        z.register_hook(record("z", lambda g: g + 1))
    if c > 0:
        p.register_hook(record("p", lambda g: g * g))
        p = z[1:3]
    else:
        p = z[1:3]
        z[1] = z[0]
    return z, u, p


@program
def write_in_a_branch_to_what_a_rule_has_read(x, c):
    m = x.detach() * 1
    if c > 0:
        m.add_(x.detach())
    y = x * m
    if c > 2:
        m.add_(x.detach())
    return y


@program
def write_to_a_tensor_that_a_view_was_read_of(x, w):
    q = x * 2
    r = q[0] * w
    q.add_(x)
    return r, q


@program
def two_names_for_what_a_turn_has_made(x, y, n):
    z, u = x * 1, y * 1
    for _ in range(n):
        z.multiply_(x)
        t = z + u
        z, u = t, t
    u[0] = y[1]
    return z * x, u


@program
def write_to_a_view_that_a_turn_has_made(x, y, n):
    z = x * y
    p = z[0:2]
    for _ in range(n):
        p.multiply_(y[0:2])
        p = z[1:3]
    return z, p


@refused
def write_to_a_tensor_whose_view_a_turn_has_made(x, y, n):
    z, p = x * y, y[0:1]
    for _ in range(n):
        z.multiply_(x)
        z = z + y
        p = z[0:1]
    return z, p


@program
def write_of_a_tensor_to_itself(x, y, c):
    z = x * y
    u = z
    if c > 1:
        z.multiply_(u)
    elif c > 0:
        z.divide_(u)
    elif c == 0:
        z.add_(u)
    else:
        z.multiply_(u.clone())
    return z


@program
def write_of_a_tensor_to_itself_on_all_paths(x, y):
    z = x * y
    z.multiply_(z)
    return z, z * x


@program
def write_of_a_view_to_its_tensor(x, y):
    z = x * y
    z.multiply_(z.reshape([3, 1]).reshape([3]))
    return z
