"""Numbers that change their kind, state behind untraced calls, errors at any place, calls within calls, LRU, sizes."""

from __future__ import annotations

import contextlib
import copy
import enum
import functools
import gc
import math
import pickle
import threading
import types
import weakref

import numpy as np

import d2s
from d2s import nn
from tests.footguns.stage import footgun
from tests.footguns.things import Box, constant, x


@footgun
def counters_behind_backward(stage):
    """A number that has become an input is still what it was behind a call that may change anything."""
    weight = x(1.0, 2.0, 3.0)
    box = Box(count=0, every=2, kept=[0, 0])

    def step(z):
        loss = (z * weight).sum()
        loss.backward()
        box.count += 1
        box.kept[0] += 2
        if box.count % box.every == 0:
            loss = loss * 2
        return loss * box.kept[0]

    step = stage.static(step)
    for every in (2, 2, 2, 2, 3, 3, 3):
        box.every = every
        stage.note(step(constant()), box.count, box.kept, weight.grad)


@footgun
def counters_changed_by_hooks(stage):
    weight = x(1.0, 2.0, 3.0)
    box = Box(count=0)

    def hook(g):
        box.count = box.count * 2 + 1

    weight.register_hook(hook)

    def step(z):
        loss = (z * weight).sum()
        loss.backward()
        return loss + box.count

    step = stage.static(step)
    for _ in range(5):
        stage(step, constant())


@footgun
def numbers_that_change_their_kind():
    box = Box(k=1)

    def f(z):
        return z * box.k + (1 if isinstance(box.k, bool) else 0) + len(type(box.k).__name__)

    for k in (1, 2, 3, 4, True, 1.0, 2.5, False, 0, 0.0, -0.0, np.float32(2.0), np.int64(3), 10**30, complex(1).real):
        box.k = k
        yield f


@footgun
def numbers_that_are_not_numbers():
    box = Box(k=math.nan)

    def f(z):
        return z * (1.0 if box.k == box.k else 2.0) + (1.0 if box.k > 0 else 0.0)

    for k in (math.nan, -math.nan, math.inf, -math.inf, math.nan, 0.0, -0.0):
        box.k = k
        yield f


@footgun
def signed_zeros_that_are_inputs():
    box = Box(k=1.0)

    def f(z):
        return z / (z * 0 + box.k) + math.copysign(1.0, box.k)

    with np.errstate(divide="ignore"):
        for k in (1.0, 2.0, 3.0, 0.0, -0.0, 4.0, -0.0, 0.0):
            box.k = k
            yield f


@footgun
def numbers_in_tuples_and_keys():
    box = Box(sizes=(1, 2.0), table={1: "one", 2: "two"})

    def f(z):
        first, second = box.sizes
        return z * first + second + len(box.table[first])

    for sizes in ((1, 2.0), (2, 2.0), (1.0, 2.0), (True, 2), (1, -0.0)):
        box.sizes = sizes
        yield f
    box.table[1] = "eleven"
    box.sizes = (1, 2.0)
    yield f
    del box.table[1]
    box.table[True] = "yes"
    yield f


@footgun
def steps_that_count_up_and_are_set_back(stage):
    box = Box(step=0, warm=3)

    def f(z):
        box.step += 1
        rate = min(1.0, box.step / box.warm)
        if box.step > box.warm:
            z = z + 1
        return z * rate

    f = stage.static(f)
    for step in (None, None, None, None, None, None, 0, None, 1.0, None, True, None):
        if step is not None:
            box.step = step
        stage(f, x())
        stage.note(box.step)


@footgun
def numbers_that_become_objects():
    class Rate:
        def __rmul__(self, other):
            return other * 7

        __mul__ = __rmul__

    box = Box(k=2)

    def f(z):
        return z * box.k

    for k in (2, 3, 4, Rate(), 5, constant(), None, 6, x()):
        box.k = k
        yield f


@footgun
def numbers_of_the_command_line_as_text():
    table = {"k": "2"}

    def f(z):
        return z * int(table["k"]) + float(table["k"]) + len(table["k"])

    for k in ("2", "3", " 4 ", "0", "-0", "1_000"):
        table["k"] = k
        yield f


@footgun
def bits_of_flags():
    class Mode(enum.Flag):
        A = enum.auto()
        B = enum.auto()

    box = Box(mode=Mode.A)

    def f(z):
        if Mode.A in box.mode:
            z = z + 1
        return z * 2 if box.mode & Mode.B else z * 3

    for mode in (Mode.A, Mode.A | Mode.B, Mode.B, Mode(0), ~Mode.A):
        box.mode = mode
        yield f


@footgun
def errors_while_it_is_traced(stage):
    box = Box(fails=True, log=[])

    def helper(z):
        if box.fails:
            raise LookupError("planned")
        return z + 1

    def f(z):
        box.log.append("before")
        z = helper(z)
        box.log.append("behind")
        return z * len(box.log)

    f = stage.static(f)
    stage.watch(box.log)
    for fails in (True, True, False, True, False):
        box.fails = fails
        stage(f, x())


@footgun
def errors_of_operators_and_what_comes_then(stage):
    held = constant()

    def f(z, other):
        held.add_(d2s.ones([3]))
        y = z.matmul(other)
        held.add_(d2s.ones([3]))
        return y + held.sum()

    f = stage.static(f)
    stage.watch(held)
    for other in (d2s.ones([3]), d2s.ones([2]), d2s.ones([3]), "text", d2s.ones([3], dtype="float64"), d2s.ones([3])):
        stage(f, x(), other)


@footgun
def errors_in_conditions_of_objects(stage):
    class Doubtful:
        answers = [True, False]

        def __bool__(self):
            stage.log.append("asked")
            answer = self.answers[0]
            if answer is None:
                raise RuntimeError("no answer")
            return answer

    doubt = Doubtful()
    f = stage.static(lambda z: z * 2 if doubt else z * 3)
    for answer in (True, False, None, True, 1, False):
        Doubtful.answers[0] = answer
        stage(f, x())


@footgun
def errors_in_hooks_by_turns(stage):
    box = Box(fails=False)
    weight = x(1.0, 1.0, 1.0)

    def hook(g):
        stage.log.append(g)
        if box.fails:
            raise ArithmeticError("planned")
        return g * 2

    def f(z):
        y = z * weight
        y.register_hook(hook)
        return y * y

    f = stage.static(f)
    stage.watch(weight)
    for fails in (False, True, True, False):
        box.fails = fails
        stage(f, x())


@footgun
def errors_in_finally_and_else(stage):
    box = Box(kind=None)

    def f(z):
        try:
            if box.kind is not None:
                raise box.kind("planned")
        except KeyError:
            z = z + 1
        except (ValueError, TypeError) as error:
            z = z + len(str(error))
        else:
            z = z * 2
        finally:
            stage.log.append(str(box.kind))
        return z

    f = stage.static(f)
    for kind in (None, KeyError, ValueError, None, TypeError, OSError, KeyError, UnicodeError):
        box.kind = kind
        stage(f, x())


@footgun
def errors_that_are_kept_outside(stage):
    box = Box(error=ValueError("kept"), fails=True)

    def f(z):
        stage.log.append("begun")
        if box.fails:
            raise box.error
        return z * 2

    f = stage.static(f)
    for fails in (True, True, False, True):
        box.fails = fails
        caught = None
        try:
            f(x())
        except ValueError as error:
            caught = error
        stage.note(caught is box.error)
    box.error = KeyError("another")
    stage(f, x())


@footgun
def a_keyboard_interrupt_of_the_user(stage):
    box = Box(fails=True)

    def f(z):
        stage.log.append("begun")
        if box.fails:
            raise KeyboardInterrupt
        return z * 2

    f = stage.static(f)
    for fails in (True, False, True, False):
        box.fails = fails
        try:
            stage(f, x())
        except KeyboardInterrupt:
            stage.note("interrupted", d2s.is_grad_enabled())


@footgun
def functions_that_call_themselves(stage):
    box = Box(depth=2)

    def f(z, depth):
        if depth <= 0:
            return z * box.scale
        return f(z, depth - 1) + depth

    f = stage.static(f)
    box.scale = 2.0
    for depth in (0, 1, 2, 3, 1):
        stage(f, x(), depth)
    box.scale = 3.0
    stage(f, x(), 2)


@footgun
def functions_that_call_each_other(stage):
    box = Box(scale=2.0)

    def even(z, n):
        return z if n == 0 else odd(z * box.scale, n - 1)

    def odd(z, n):
        return z if n == 0 else even(z + 1, n - 1)

    even, odd = stage.static(even), stage.static(odd)
    for n in (0, 1, 4, 3):
        stage(even, x(), n)
        stage(odd, x(), n)
    box.scale = 5.0
    stage(even, x(), 4)
    odd = lambda z, n: z * 100  # noqa: E731
    stage(even, x(), 4)


@footgun
def functions_called_while_they_are_traced(stage):
    box = Box(function=None, count=0)

    def f(z):
        if box.count < 2:
            box.count += 1
            return box.function(z) + 1
        return z * 2

    box.function = f = stage.static(f)
    for count in (0, 1, 2, 0):
        box.count = count
        stage(f, x())
        stage.note(box.count)


@footgun
def functions_in_hooks_of_their_own_results(stage):
    box = Box(scale=2.0, depth=0)

    def f(z):
        y = z * box.scale
        if not z.stop_gradient:
            y.register_hook(lambda g: g + f(g.detach()))
        return y

    f = stage.static(f)
    stage(f, x())
    box.scale = 3.0
    stage(f, x())


@footgun
def sizes_from_none_to_many(stage):
    def f(z):
        total = z.sum(0)
        if z.shape[0] > 3:
            total = total + 1
        return total * z.shape[0] + (z.mean(0) if z.shape[0] else 0.0)

    f = stage.static(f)
    for rows in (2, 3, 4, 5, 1, 0, 7, 1, 2):
        stage(f, d2s.to_tensor(np.arange(2.0 * rows, dtype="float32").reshape(rows, 2), stop_gradient=False))


@footgun
def sizes_that_steer_python(stage):
    def f(z):
        parts = [z[i] * (i + 1) for i in range(z.shape[0])]
        return sum(parts) + len(parts) + (10 if z.shape[0] % 2 else 0)

    f = stage.static(f)
    for rows in (2, 3, 4, 5, 1, 6):
        stage(f, d2s.ones([rows, 2]))


@footgun
def sizes_of_two_arguments_that_agree_by_turns(stage):
    def f(y, z):
        return (y[:, None] * z[None, :]).sum() + (y + z if y.shape == z.shape else y).sum()

    f = stage.static(f)
    for one, two in ((2, 3), (3, 2), (4, 4), (5, 5), (1, 4), (4, 1), (1, 1), (6, 7)):
        stage(f, d2s.ones([one]), d2s.ones([two]) * 2)


@footgun
def dtypes_that_change_by_turns(stage):
    def f(z):
        return z * 2 + 1 if z.dtype == d2s.float32 else z - 1

    f = stage.static(f)
    for dtype in ("float32", "float64", "int64", "float16", "bool", "float32", "int32"):
        stage(f, d2s.ones([2]).astype(dtype) if dtype != "bool" else d2s.to_tensor([1, 0]))


@footgun
def more_programs_than_are_kept(stage):
    box = Box(k="a")

    def f(z):
        return z * len(box.k) + ord(box.k[0])

    f = stage.static(f)
    for k in [chr(97 + i) * (i % 5 + 1) for i in range(26)] + ["a", "zz", "c"]:
        box.k = k
        stage(f, x())


@footgun
def two_objects_of_one_function(stage):
    class Model:
        def __init__(self, k):
            self.k = k

        def run(self, z):
            self.k += 1
            return z * self.k

    one, two = Model(1.0), Model(10.0)
    runs = [stage.static(model.run) for model in (one, two)]
    for _ in range(3):
        for run in runs:
            stage(run, x())
    two.k = one.k
    for run in runs:
        stage(run, x())


@footgun
def copies_and_pickles_of_functions(stage):
    box = Box(scale=2.0)

    def f(z):
        return z * box.scale

    f = stage.static(f)
    other = copy.copy(f)
    third = copy.deepcopy(f)
    for scale in (2.0, 3.0, 4.0):
        box.scale = scale
        for function in (f, other, third):
            stage(function, x())


@footgun
def functions_that_die(stage):
    kept = []

    def made(scale):
        f = stage.static(lambda z: z * scale)
        kept.append(weakref.ref(f))
        return f

    for scale in (1.0, 2.0, 3.0):
        stage(made(scale), x())
    gc.collect()
    stage.note([one() is None for one in kept])


@footgun
def grad_modes_inside_and_outside(stage):
    weight = x(1.0, 2.0, 3.0)

    def f(z):
        with d2s.no_grad():
            y = z * weight
        with d2s.enable_grad():
            u = z * weight
        return y, u, d2s.is_grad_enabled()

    f = stage.static(f)
    stage(f, x())
    with d2s.no_grad():
        stage(f, x())
    stage(f, constant())
    weight.stop_gradient = True
    stage(f, constant())


@footgun
def flags_of_tensors_by_turns(stage):
    weight = x(1.0, 2.0, 3.0)
    f = stage.static(lambda z: (z * weight, (z * weight).stop_gradient))
    for z_stops, w_stops in ((False, False), (True, False), (True, True), (False, True), (False, False)):
        z = x()
        z.stop_gradient, weight.stop_gradient = z_stops, w_stops
        stage(f, z)


@footgun
def threads_with_their_own_numbers(stage):
    local = threading.local()
    results = {}

    def f(z):
        return z * local.k

    f = stage.static(f)
    local.k = 1.0
    stage(f, x())

    def work(k):
        local.k = k
        results[k] = [f(x(float(i), 1.0)).numpy() for i in range(4)]

    workers = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    stage.note(sorted((k, [one.tolist() for one in found]) for k, found in results.items()))


@footgun
def arrays_changed_in_place_and_by_shape():
    table = {"a": np.ones((2, 3), "float32")}

    def f(z):
        return z * d2s.to_tensor(table["a"]).sum(0) + float(table["a"][0, 0]) + table["a"].shape[0]

    yield f
    table["a"][0, 0] = 5.0
    yield f
    table["a"].resize((3, 3), refcheck=False)
    yield f
    table["a"] = table["a"].astype("float64")
    yield f
    table["a"] = np.asfortranarray(table["a"])
    yield f
    table["a"].flags.writeable = False
    yield f


@footgun
def arrays_that_share_memory():
    base = np.arange(6, dtype="float32")
    view = base[::2]

    def f(z):
        total = d2s.to_tensor(view)
        base[0] = base[0] + 1
        return z * total + float(view[0])

    yield f
    yield f
    base[2] = 100.0
    yield f


@footgun
def modules_with_getattr_and_changing_names():
    module = types.ModuleType("footgun_names")
    module.values = {"scale": 2.0}
    module.__getattr__ = lambda name: module.values[name]

    def f(z):
        return z * module.scale

    yield f
    module.values["scale"] = 3.0
    yield f
    module.scale = 4.0
    yield f
    del module.scale
    module.__getattr__ = lambda name: 5.0
    yield f
    del module.__getattr__
    yield f


@footgun
def metaclasses_with_properties():
    class Meta(type):
        @property
        def scale(cls):
            return cls._scale

        def __getattr__(cls, name):
            return cls.spare

    class Held(metaclass=Meta):
        _scale = 2.0
        spare = 1.0

    def f(z):
        return z * Held.scale + Held.nothing

    yield f
    Held._scale = 3.0
    yield f
    Held.spare = 4.0
    yield f
    Held.nothing = 5.0
    yield f
    Meta.scale = property(lambda cls: 6.0)
    yield f


@footgun
def slots_and_descriptors_that_change():
    class Slotted:
        __slots__ = ("a", "b")

    one = Slotted()
    one.a = 2.0

    def f(z):
        return z * one.a + getattr(one, "b", 1.0)

    yield f
    one.a = 3.0
    yield f
    one.b = 4.0
    yield f
    del one.b
    yield f
    Slotted.a = property(lambda self: 9.0)
    yield f


@footgun
def defaults_that_are_changed_in_place():
    def helper(z, scale=[2.0], *, table={"k": 1.0}):
        scale.append(scale[-1] + 1)
        return z * scale[-1] + table["k"]

    def f(z):
        return helper(z)

    yield f
    helper.__defaults__[0].append(10.0)
    yield f
    helper.__kwdefaults__["table"]["k"] = 5.0
    yield f
    helper.__kwdefaults__ = {"table": {"k": 7.0}}
    yield f


@footgun
def context_managers_of_the_user_that_change():
    class Scaled(contextlib.ContextDecorator):
        k = 2.0

        def __enter__(self):
            print("enter", self.k)
            return self.k

        def __exit__(self, kind, error, trace):
            print("exit", kind)
            return self.swallows

    scaled = Scaled()
    scaled.swallows = False
    box = Box(fails=False)

    def f(z):
        with scaled as k:
            if box.fails:
                raise ValueError("planned")
            return z * k
        return z * 100

    yield f
    scaled.k = 3.0
    yield f
    box.fails = True
    yield f
    scaled.swallows = True
    yield f
    Scaled.__enter__ = lambda self: 9.0
    box.fails = False
    yield f


@footgun
def sublists_of_arguments(stage):
    def f(tree):
        tree["new"] = tree["a"][0] + len(tree["a"])
        tree["a"].append(tree["new"] * 2)
        tree["b"]["c"] = (tree["a"][-1], tree["a"])
        return tree["b"]["c"][0]

    f = stage.static(f)
    tree = {"a": [x()], "b": {}}
    for _ in range(3):
        stage(f, tree)
    stage(f, {"a": [x(1.0)], "b": {}})
    stage(f, {"a": (x(1.0),), "b": {}})


@footgun
def arguments_that_are_one_object_by_turns(stage):
    def f(one, two, z):
        one.append(1.0)
        return z * len(two) + (1.0 if one is two else 0.0)

    f = stage.static(f)
    first, second = [1.0], [1.0]
    for one, two in ((first, second), (first, first), (second, first), (second, second), (first, second)):
        stage(f, one, two, x())


@footgun
def outputs_that_alias_by_turns(stage):
    def f(y, z, same):
        result = y if same else y * 1
        return result, y, z, (z if z is y else z * 2)

    f = stage.static(f)
    one, two = x(), x(1.0, 2.0, 3.0)
    for y, z, same in ((one, two, True), (one, one, True), (one, two, False), (two, two, False)):
        result = stage(f, y, z, same)
        stage.note(result[0] is y, result[3] is z, result[1] is result[0])


@footgun
def pickled_between_calls(stage):
    box = Box(table={"k": [1.0, 2.0]})

    def f(z):
        return z * sum(box.table["k"])

    f = stage.static(f)
    stage(f, x())
    box.table = pickle.loads(pickle.dumps(box.table))
    stage(f, x())
    box.table["k"][0] = 5.0
    stage(f, x())
    box.table = functools.reduce(lambda held, n: {**held, n: [n]}, "ab", box.table)
    stage(f, x())


@footgun
def layers_that_are_made_static_twice(stage):
    net = nn.Linear(3, 3)
    f = stage.static(stage.static(net))
    g = stage.static(lambda z: f(z) * 2)
    stage(f, x())
    stage(g, x())
    net.bias.set_value(np.ones(3, "float32"))
    stage(f, x())
    stage(g, x())
    net.bias = None
    stage(f, x())
    stage(g, x())
