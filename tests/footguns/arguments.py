"""Arguments: kinds, aliases, views, changes inside and outside, and what results share with them."""


from __future__ import annotations

import numpy as np

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, constant, x


@footgun
def order_of_keywords(stage):
    def f(z, **named):
        for name, value in named.items():
            z = z * value + len(name)
        return z, list(named)

    f = stage.static(f)
    stage(f, x(), a=1.0, bb=2.0)
    stage(f, x(), bb=2.0, a=1.0)
    stage(f, x(), a=1.0)
    stage(f, x())


@footgun
def positional_and_keyword(stage):
    def f(z, k=1.0, *, m=2.0):
        return z * k + m

    f = stage.static(f)
    stage(f, x(), 3.0)
    stage(f, x(), k=3.0)
    stage(f, z=x(), m=3.0)
    stage(f, x(), 3.0, m=x(1.0))
    stage(f, x(), j=3.0)
    stage(f)


@footgun
def star_arguments_of_changing_length(stage):
    def f(*args):
        return sum(args) * len(args)

    f = stage.static(f)
    for count in (1, 2, 3, 1, 0):
        stage(f, *(x() for _ in range(count)))
    stage(f, x(), 2.0)
    stage(f, 2.0, x())


@footgun
def same_tensor_twice(stage):
    def f(a, b):
        return a * b, a is b

    f = stage.static(f)
    one, two = x(), x(1.0, 2.0, 3.0)
    stage(f, one, two)
    stage(f, one, one)
    stage(f, two, one)
    stage(f, two, two)


@footgun
def same_tensor_in_a_list(stage):
    def f(parts):
        parts[0].register_hook(lambda g: stage.log.append(("hook", g.tolist())))
        return parts[0] * parts[1]

    f = stage.static(f)
    one, two = x(), x(1.0, 2.0, 3.0)
    for parts in ([one, two], [one, one], [two, two], [two, one]):
        stage(f, parts)


@footgun
def argument_that_is_the_captured_tensor(stage):
    weight = x(1.0, 2.0, 3.0)

    def f(z):
        return z * weight, z is weight

    f = stage.static(f)
    stage(f, x())
    stage(f, weight)
    stage(f, x())


@footgun
def write_to_one_of_two_aliases(stage):
    def f(a, b):
        a[0] = 9.0
        return a * 2, b * 2

    f = stage.static(f)
    one, two = constant(), constant()
    stage(f, one, two)
    stage(f, one, one)
    stage(f, two, one)


@footgun
def write_to_the_base_of_a_view(stage):
    def f(a, b):
        a[0] = 9.0
        return b * 2

    f = stage.static(f)
    base = constant()
    stage(f, base, base[0:2])
    stage(f, base, constant())
    stage(f, base[0:2], base)


@footgun
def views_of_one_base(stage):
    def f(a, b):
        b[0] = 7.0
        return a + b

    f = stage.static(f)
    base = constant(1.0, 2.0, 3.0, 4.0)
    stage(f, base[0:2], base[2:4])
    stage(f, base[0:2], base[0:2])
    stage(f, base[0:3], base[1:4])
    stage.note(base)


@footgun
def array_changed_between_calls(stage):
    def f(z, array):
        return z * array, array.sum(), array[0] + 1

    f = stage.static(f)
    array = np.array([1.0, 2.0, 3.0], dtype="float32")
    stage(f, x(), array)
    array[0] = 9.0
    stage(f, x(), array)
    stage(f, x(), array * 2)
    stage(f, x(), array.astype("float64"))
    stage(f, x(), array[:1])


@footgun
def array_changed_inside(stage):
    def f(z, array):
        before = z * array
        array[0] = 5.0
        array += 1
        return before, z * array

    f = stage.static(f)
    array = np.array([1.0, 2.0, 3.0], dtype="float32")
    stage(f, x(), array)
    stage(f, x(), array)
    stage(f, x(), array[::-1])


@footgun
def array_read_after_the_call(stage):
    def f(z, array):
        return d2s.to_tensor(array), z * d2s.to_tensor(array)

    f = stage.static(f)
    array = np.array([1.0, 2.0, 3.0], dtype="float32")
    kept = [stage(f, x(), array)]
    array[0] = 7.0
    kept.append(stage(f, x(), array))
    stage.note([[part.tolist() for part in pair] for pair in kept])


@footgun
def list_changed_inside(stage):
    def f(z, parts):
        parts.append(z * 2)
        parts[0] = parts[0] + 1
        return parts[0] * parts[-1], len(parts)

    f = stage.static(f)
    parts = [constant()]
    for _ in range(3):
        stage(f, x(), parts)
    stage(f, x(), [1.0])


@footgun
def dict_changed_inside(stage):
    def f(z, state):
        state["n"] = state.get("n", 0) + 1
        state["z"] = z * state["n"]
        return state["z"]

    f = stage.static(f)
    state = {}
    for _ in range(4):
        stage(f, x(), state)


@footgun
def dict_argument_popped_and_updated(stage):
    def f(z, state):
        k = state.pop("k")
        state.update(j=k + 1)
        state.setdefault("m", []).append(k)
        return z * k

    f = stage.static(f)
    for k in (1.0, 2.0, 3.0, 4.0):
        stage(f, x(), {"k": k})
    stage(f, x(), {})


@footgun
def object_changed_inside(stage):
    def f(z, box):
        box.n += 1
        box.last = z * box.n
        return box.last

    f = stage.static(f)
    box = Box(n=0)
    for _ in range(4):
        stage(f, x(), box)
    stage(f, x(), Box(n=10))


@footgun
def tensor_argument_written_to(stage):
    def f(a):
        a.add_(d2s.to_tensor(1.0))
        a[0] = 5.0
        return a * 2

    f = stage.static(f)
    one = constant()
    stage(f, one)
    stage(f, one)
    stage(f, one[1:])
    stage.note(one)


@footgun
def argument_returned(stage):
    def f(a, b):
        return a, [a, {"b": b}], b * 1

    f = stage.static(f)
    one = x()
    stage(f, one, constant())
    stage(f, one, one)


@footgun
def one_result_twice(stage):
    def f(a):
        y = a * 2
        return y, y, [y]

    f = stage.static(f)
    first = stage(f, x())
    stage.note(first[0] is first[1], first[2][0] is first[0])


@footgun
def results_kept_and_changed_by_the_caller(stage):
    def f(a):
        parts = [a * 2, a * 3]
        return parts, {"parts": parts}

    f = stage.static(f)
    first = stage(f, x())
    first[0].append("mine")
    first[0][0] = None
    second = stage(f, x())
    stage.note(first[0] is first[1]["parts"], second[0] is second[1]["parts"], len(second[0]), first[0])


@footgun
def constant_result_changed_by_the_caller(stage):
    def f(a):
        return d2s.to_tensor([1.0, 2.0]), d2s.zeros([2]), np.zeros(2), [1, 2], {"a": [3]}

    f = stage.static(f)
    first = stage(f, x())
    first[0][0] = 9.0
    first[1][0] = 9.0
    first[2][0] = 9.0
    first[3].append(3)
    first[4]["a"].append(4)
    stage(f, x())


@footgun
def result_that_shows_a_captured_tensor(stage):
    weight = stage.watch(constant())

    def f(a):
        return weight, weight[0:2], a * weight

    f = stage.static(f)
    first = stage(f, x())
    first[1][0] = 9.0
    stage(f, x())
    stage.note(first[0] is weight)


@footgun
def view_of_an_argument_returned(stage):
    def f(a):
        return a[0:2], a.reshape([3, 1])

    f = stage.static(f)
    one = constant()
    first = stage(f, one)
    first[0][0] = 9.0
    stage.note(one, first)
    stage(f, one)


@footgun
def outer_list_returned(stage):
    kept = stage.watch([1])

    def f(a):
        return kept, a * len(kept)

    f = stage.static(f)
    first = stage(f, x())
    first[0].append(2)
    stage(f, x())
    stage.note(first[0] is kept)


@footgun
def results_of_two_calls_together(stage):
    def f(a):
        return (a * a).sum()

    f = stage.static(f)
    one, two = x(), x(1.0, 2.0, 3.0)
    (f(one) * f(two) + f(one)).backward()
    stage.note(one.grad, two.grad)


@footgun
def stop_gradient_toggled(stage):
    def f(a, b):
        return a * b

    f = stage.static(f)
    one, two = x(), x(1.0, 2.0, 3.0)
    for flags in ((False, False), (True, False), (True, True), (False, True)):
        one.stop_gradient, two.stop_gradient = flags
        stage(f, one, two)


@footgun
def shapes_and_dtypes(stage):
    def f(a):
        return a * 2 + a.shape[0]

    f = stage.static(f)
    for array in (np.ones(3), np.ones(4), np.ones((3, 1)), np.ones(3, "float32"), np.ones(3, "int64"), np.ones(1),
                  np.ones(0), np.ones(5), np.ones(6)):
        stage(f, d2s.to_tensor(array))


@footgun
def non_contiguous_and_zero_stride_arrays(stage):
    def f(z, array):
        return z * d2s.to_tensor(array)

    f = stage.static(f)
    base = np.arange(6, dtype="float32")
    for array in (base[::2], base[::-2], np.broadcast_to(np.float32(2), 3), base[:3]):
        stage(f, x(), array)


@footgun
def layers_as_arguments(stage):
    def f(z, layer):
        return layer(z)

    f = stage.static(f)
    first, second = d2s.nn.Linear(3, 2), d2s.nn.Linear(3, 2)
    second.set_state_dict({name: value * 2 for name, value in first.state_dict().items()})
    first.set_state_dict({"weight": np.ones((3, 2)), "bias": np.zeros(2)})
    second.set_state_dict({"weight": np.ones((3, 2)) * 2, "bias": np.ones(2)})
    for layer in (first, second, first, d2s.nn.ReLU(), second):
        stage(f, x(), layer)


@footgun
def objects_of_one_class_as_arguments(stage):
    def f(z, box):
        return z * box.scale + box.inner.shift

    f = stage.static(f)
    for scale in (1.0, 2.0, 3.0, 4.0):
        stage(f, x(), Box(scale=scale, inner=Box(shift=-scale)))
    stage(f, x(), Box(scale=x(2.0), inner=Box(shift=1)))


@footgun
def bound_methods_as_arguments(stage):
    class Thing:
        def __init__(self, scale):
            self.scale = scale

        def scaled(self, z):
            return z * self.scale

    def f(z, method):
        return method(z)

    f = stage.static(f)
    one, two = Thing(2.0), Thing(3.0)
    for method in (one.scaled, two.scaled, one.scaled):
        stage(f, x(), method)
    one.scale = 7.0
    stage(f, x(), one.scaled)
    stage(f, x(), two.scaled)


@footgun
def iterators_as_arguments_of_inner_calls(stage):
    def total(parts):
        return sum(part * k for k, part in enumerate(parts))

    def f(a, b):
        return total(part for part in (a, b)) + total(iter([b, a])) + total(map(lambda z: z * 2, (a, b)))

    f = stage.static(f)
    stage(f, x(), x(1.0, 2.0, 3.0))
    stage(f, x(2.0), x(1.0, 2.0, 3.0))
