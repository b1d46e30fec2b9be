"""Names that a function reads outside of itself: globals, cells, defaults, code, modules."""

from __future__ import annotations

import types

import numpy as np

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import constant, x

factor = 2.0
table = {"k": 1.0}


def helper(z):
    return z * 2


def other_helper(z):
    return z - 1


@footgun
def global_number(stage):
    global factor

    def f(z):
        return z * factor

    f = stage.static(f)
    for factor in (2.0, 3.0, 2.0, -1, -2, True, 1, 1.0, 0.0, -0.0, 5.0):
        stage(f, x())
    factor = 2.0


@footgun
def global_becomes_a_tensor(stage):
    global factor

    def f(z):
        return z * factor

    f = stage.static(f)
    for factor in (2.0, x(3.0), x(4.0), 2, x(1.0, 2.0, 3.0)):
        stage(f, x())
    factor = 2.0


@footgun
def global_function_replaced(stage):
    global helper
    first = helper

    def f(z):
        return helper(z)

    f = stage.static(f)
    for helper in (first, other_helper, first, lambda z: z * z, first):
        stage(f, x())
    helper = first


@footgun
def global_added_and_deleted(stage):
    def f(z):
        return z * late_global

    f = stage.static(f)
    stage(f, x())
    globals()["late_global"] = 3.0
    stage(f, x())
    del globals()["late_global"]
    stage(f, x())


@footgun
def builtin_shadowed_later(stage):
    def f(z):
        return z * abs(-2)

    f = stage.static(f)
    stage(f, x())
    globals()["abs"] = lambda value: 10
    stage(f, x())
    del globals()["abs"]
    stage(f, x())


@footgun
def builtin_in_a_helper_shadowed_later(stage):
    def f(z):
        return z * max(2, 3)

    f = stage.static(f)
    stage(f, x())
    globals()["max"] = min
    stage(f, x())
    del globals()["max"]
    stage(f, x())


@footgun
def item_of_a_global_dict(stage):
    def f(z):
        return z * table["k"]

    f = stage.static(f)
    for table["k"] in (1.0, 2.0, 3, x(2.0), -1, -2):
        stage(f, x())
    table["k"] = 1.0


@footgun
def closure_rebound(stage):
    scale = 2.0

    def f(z):
        return z * scale

    f = stage.static(f)
    for scale in (2.0, 3.0, -1, -2, None, 2.0, x(2.0)):
        stage(f, x())


@footgun
def closure_unbound(stage):
    scale = 2.0

    def f(z):
        return z * scale

    f = stage.static(f)
    stage(f, x())
    del scale
    stage(f, x())
    scale = 3.0
    stage(f, x())


@footgun
def cell_contents_set_from_outside(stage):
    scale = 2.0

    def g(z):
        return z * scale

    f = stage.static(g)
    stage(f, x())
    g.__closure__[0].cell_contents = 4.0
    stage(f, x())


@footgun
def two_functions_with_equal_text(stage):
    def factory(k):
        def f(z):
            return z * k

        return f

    first, second = stage.static(factory(2.0)), stage.static(factory(3.0))
    for f in (first, second, first, second):
        stage(f, x())


@footgun
def defaults_of_a_helper_changed(stage):
    def scaled(z, k=2.0):
        return z * k

    def f(z):
        return scaled(z)

    f = stage.static(f)
    stage(f, x())
    scaled.__defaults__ = (3.0,)
    stage(f, x())
    scaled.__defaults__ = (x(5.0),)
    stage(f, x())


@footgun
def keyword_defaults_of_a_helper_changed(stage):
    def scaled(z, *, k=2.0):
        return z * k

    def f(z):
        return scaled(z)

    f = stage.static(f)
    stage(f, x())
    scaled.__kwdefaults__ = {"k": 3.0}
    stage(f, x())
    scaled.__kwdefaults__["k"] = 4.0
    stage(f, x())


@footgun
def own_defaults_changed(stage):
    def g(z, k=2.0, *, m=1.0):
        return z * k + m

    f = stage.static(g)
    stage(f, x())
    g.__defaults__ = (3.0,)
    stage(f, x())
    g.__kwdefaults__ = {"m": 5.0}
    stage(f, x())
    stage(f, x(), 4.0)


@footgun
def mutable_default_of_a_helper(stage):
    def collect(z, seen=[]):
        seen.append(len(seen))
        return z * len(seen)

    def f(z):
        return collect(z)

    f = stage.static(f)
    stage.watch(collect.__defaults__[0])
    for _ in range(3):
        stage(f, x())


@footgun
def code_of_a_helper_replaced(stage):
    def scaled(z):
        return z * 2

    def shifted(z):
        return z + 1

    def f(z):
        return scaled(z)

    f = stage.static(f)
    stage(f, x())
    scaled.__code__ = shifted.__code__
    stage(f, x())


@footgun
def own_code_replaced(stage):
    def g(z):
        return z * 2

    def shifted(z):
        return z + 1

    f = stage.static(g)
    stage(f, x())
    g.__code__ = shifted.__code__
    stage(f, x())


@footgun
def module_patched(stage):
    module = types.ModuleType("patched")
    module.scale = 2.0
    module.change = lambda z: z * 2

    def f(z):
        return module.change(z) * module.scale

    f = stage.static(f)
    stage(f, x())
    module.scale = 3.0
    stage(f, x())
    module.change = lambda z: z - 1
    stage(f, x())


@footgun
def function_of_d2s_patched(stage):
    def f(z):
        return d2s.nn.functional.relu(z)

    f = stage.static(f)
    stage(f, x())
    relu = d2s.nn.functional.relu
    d2s.nn.functional.relu = lambda z: z * 10
    try:
        stage(f, x())
    finally:
        d2s.nn.functional.relu = relu
    stage(f, x())


@footgun
def function_attribute(stage):
    def g(z):
        return z * g.scale

    g.scale = 2.0
    f = stage.static(g)
    for g.scale in (2.0, 3.0, 2.0):
        stage(f, x())


@footgun
def recursion_over_a_global(stage):
    depth = [3]

    def power(z, k):
        return z if k == 0 else power(z, k - 1) * z

    def f(z):
        return power(z, depth[0])

    f = stage.static(f)
    for depth[0] in (3, 1, 3, 0, 5):
        stage(f, x())


@footgun
def static_function_calls_another(stage):
    scale = [2.0]

    @stage.static
    def inner(z):
        return z * scale[0]

    @stage.static
    def outer(z):
        return inner(z) + inner(z * z)

    for scale[0] in (2.0, 3.0, 2.0):
        stage(outer, x())
        stage(inner, x())


@footgun
def static_function_replaced_in_another(stage):
    box = types.SimpleNamespace(inner=stage.static(lambda z: z * 2))

    @stage.static
    def outer(z):
        return box.inner(z)

    stage(outer, x())
    box.inner = stage.static(lambda z: z + 1)
    stage(outer, x())


@footgun
def default_dtype_changed(stage):
    def f(z):
        return z * d2s.ones([3]), d2s.to_tensor([1.0, 2.0])

    f = stage.static(f)
    try:
        for dtype in ("float32", "float64", "float32"):
            d2s.set_default_dtype(dtype)
            stage(f, x())
    finally:
        d2s.set_default_dtype("float32")


@footgun
def grad_mode_changed(stage):
    weight = stage.watch(x(2.0))

    def f(z):
        return z * weight, d2s.is_grad_enabled()

    f = stage.static(f)
    stage(f, x())
    with d2s.no_grad():
        stage(f, x())
    stage(f, x())


@footgun
def grad_mode_set_inside(stage):
    def f(z):
        d2s.autograd.set_grad_enabled(False)
        scale = z * 2
        d2s.autograd.set_grad_enabled(True)
        return z * scale

    f = stage.static(f)
    stage(f, x())
    stage(f, x())
    stage.note(d2s.is_grad_enabled())


@footgun
def attributes_of_tensors(stage):
    weight = x(1.0, 2.0, 3.0)

    def f(z):
        return z * weight.tag * getattr(z, "tag", 10.0), hasattr(z, "tag"), hasattr(weight, "other")

    f = stage.static(f)
    tagged = x()
    stage(f, tagged)
    weight.tag = 2.0
    stage(f, tagged)
    weight.tag = 3.0
    stage(f, tagged)
    tagged.tag = 4.0
    stage(f, tagged)
    stage(f, x())
    weight.other = None
    stage(f, tagged)
    weight.tag = x(1.0, 1.0, 2.0)
    stage(f, tagged)


@footgun
def attributes_of_parameters(stage):
    layer = d2s.nn.Linear(3, 3)
    layer.set_state_dict({"weight": np.eye(3), "bias": np.zeros(3)})

    def f(z):
        return layer(z) * layer.weight.scale

    f = stage.static(f)
    for layer.weight.scale in (1.0, 2.0, 2.0, 3.0):
        stage(f, x())


@footgun
def attribute_of_a_tensor_set_inside(stage):
    weight = stage.watch(x(1.0, 2.0, 3.0))
    weight.count = 0

    def f(z):
        weight.count = weight.count + 1
        weight.last = z * weight.count
        return weight.last + weight.count

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())
        stage.note(weight.count, weight.last)


@footgun
def version_and_data_of_a_tensor(stage):
    def f(z):
        return z * 2, z.version, z.data.tolist()

    f = stage.static(f)
    one = constant()
    stage(f, one)
    one[0] = 5.0
    stage(f, one)
    stage(f, constant(7.0, 8.0, 9.0))
