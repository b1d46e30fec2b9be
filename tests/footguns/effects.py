"""Effects: on every call, in order, with the values of that call, also on hits, in branches, loops and helpers."""


from __future__ import annotations

import contextlib
import functools
import heapq
import io
import logging
import operator
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np

import d2s
from tests.footguns.stage import differs, footgun
from tests.footguns.things import Box, constant, x

count = 0


@footgun
def appends(stage):
    kept = stage.watch([])

    def f(z, k):
        kept.append(k)
        kept.extend([k, z.sum().item()])
        kept.insert(0, "first")
        return z * len(kept)

    f = stage.static(f)
    for k in (1, 2, 1, 3, 4):
        stage(f, x(), k)


@footgun
def list_methods(stage):
    kept = stage.watch([3, 1, 2])

    def f(z):
        last = kept.pop()
        kept.sort()
        kept.reverse()
        kept.append(last + 1)
        kept.remove(3) if 3 in kept else None
        return z * last

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())


@footgun
def list_statements(stage):
    kept = stage.watch([1.0, 2.0, 3.0])

    def f(z):
        nonlocal kept
        kept[0] = kept[1]
        kept[1] += 1
        kept += [kept[0]]
        del kept[0]
        kept *= 1
        return z * kept[0]

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def dict_methods(stage):
    kept = stage.watch({"n": 0})

    def f(z, k):
        kept["n"] += 1
        kept[k] = z.sum().item()
        kept.update({"last": k})
        kept |= {"or": k}
        kept.setdefault("first", k)
        return z * kept["n"]

    def g(z, k):
        kept["n"] += 1
        kept[k] = z.sum().item()
        kept.update({"last": k})
        kept.setdefault("first", k)
        return z * kept["n"]

    stage(stage.static(f), x(), "a")
    g = stage.static(g)
    for k in ("a", "b", "a"):
        stage(g, x(), k)


@footgun
def set_methods(stage):
    kept = stage.watch(set())

    def f(z, k):
        kept.add(k)
        kept.update([k + 1])
        kept.discard(2)
        return z * k

    f = stage.static(f)
    for k in (1, 2, 1, 5):
        stage(f, x(), k)


@footgun
def set_operators(stage):
    box = Box(kept={1})
    stage.watch(box)

    def f(z, k):
        box.kept |= {k}
        box.kept -= {0}
        return z * k

    f = stage.static(f)
    for k in (1, 0, 1, 5):
        stage(f, x(), k)


@footgun
def deque_counter_defaultdict_ordered_dict(stage):
    last, counts, groups, order = deque(maxlen=2), Counter(), defaultdict(list), OrderedDict(a=1, b=2)
    for thing in (last, counts, groups, order):
        stage.watch(thing)

    def f(z, k):
        last.append(k)
        counts[k] += 1
        counts.update([k])
        groups[k].append(z.sum().item())
        order.move_to_end("a")
        return z * 2

    f = stage.static(f)
    for k in ("a", "b", "a"):
        stage(f, x(), k)


@footgun
def attributes(stage):
    box = stage.watch(Box(n=0, inner=Box(m=1.0)))

    def f(z):
        box.n += 1
        box.inner.m = box.inner.m * 2
        box.last = z
        box.new = box.n
        return z * box.n * box.inner.m

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())
    box.n = 10
    stage(f, x())


@footgun
def attribute_deleted(stage):
    box = stage.watch(Box(a=1.0))

    def f(z):
        if hasattr(box, "a"):
            del box.a
            return z
        box.a = 2.0
        return z * box.a

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())


@footgun
def class_attributes(stage):
    class Thing:
        made = 0
        names = []

        def __init__(self, name):
            Thing.made += 1
            self.names.append(name)
            self.name = name

    stage.watch(Thing.names)

    def f(z):
        thing = Thing("a")
        other = Thing(f"b{Thing.made}")
        return z * Thing.made, thing.name, other.name

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
    stage.note(Thing.made)


@footgun
def globals_written(stage):
    global count
    count = 0

    def f(z):
        global count
        count += 1
        count = count * 2
        return z * count

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
        stage.note(count)
    count = 5
    stage(f, x())


@footgun
def nonlocals_written(stage):
    total, calls = 0.0, 0

    def f(z):
        nonlocal total, calls
        calls += 1
        total = total + z.sum()
        return total * calls

    f = stage.static(f)
    for _ in range(3):
        stage(f, constant())
        stage.note(total, calls)


@footgun
def printing(stage):
    def f(z, k):
        print("start", k, sep="|", end="!\n")
        print(f"{k:>5} {z.sum().item():.2f} {k!r}")
        print("%d %s" % (k, z.shape))
        print("{} {k}".format(k, k=k + 1))
        print(z)
        return z * k

    f = stage.static(f)
    for k in (1, 2, 3, 4, 1):
        stage(f, x(), k)


@footgun
def printing_to_a_file(stage):
    file = io.StringIO()

    def f(z, k):
        print("a", k, file=file)
        file.write(f"{k}\n")
        return z * k

    f = stage.static(f)
    for k in (1, 2, 1):
        stage(f, x(), k)
        stage.note(file.getvalue())


@footgun
def printing_with_percent_of_tensors(stage):
    def f(z):
        print("%.3f %s" % (z.sum(), "a"))
        print("value: {:.3f}".format(z.sum()))
        print(str(z.sum().item()) + "!")
        return z * 2

    f = stage.static(f)
    stage(f, x())
    stage(f, x(1.0, 2.0, 3.0))


@footgun
def standard_streams(stage):
    def f(z):
        sys.stdout.write("written\n")
        return z * 2

    f = stage.static(f)
    stage(f, x())
    stage(f, x())


@footgun
def logging_calls(stage):
    logger = logging.getLogger("footguns")

    def f(z, k):
        logger.warning("k is %s", k)
        logger.error("sum %.2f", z.sum().item())
        return z * k

    f = stage.static(f)
    for k in (1, 2, 1):
        stage(f, x(), k)


@footgun
def warning_calls(stage):
    def f(z, k):
        warnings.warn(f"k is {k}", RuntimeWarning, stacklevel=1)
        return z * k

    f = stage.static(f)
    for k in (1, 2, 1):
        stage(f, x(), k)


@footgun
def file_written(stage):
    import os
    import tempfile

    handle, path = tempfile.mkstemp()
    os.close(handle)

    def g(z, k):
        file = open(path, "a")
        file.write(f"{k}\n")
        file.close()
        return z * k

    g = stage.static(g)
    try:
        for k in (1, 2, 1):
            stage(g, x(), k)
            with open(path) as file:
                stage.note(file.read())
    finally:
        os.remove(path)


@footgun
def python_random(stage):
    def f(z):
        return z * random.random(), random.randint(0, 10)

    random.seed(3)
    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def random_that_chooses(stage):
    def f(z):
        if random.random() > 0.5:
            stage.log.append("high")
            return z * 2
        stage.log.append("low")
        return z * 3

    random.seed(3)
    f = stage.static(f)
    for _ in range(8):
        stage(f, x())


@footgun
def numpy_random(stage):
    generator = np.random.default_rng(3)

    def f(z):
        noise = np.random.rand()
        more = generator.normal(size=3)
        return z * noise, float(more[0]), np.random.permutation(3)

    np.random.seed(3)
    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def random_ops(stage):
    def f(z):
        return z * d2s.rand([3]), d2s.nn.functional.dropout(z, 0.5)

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
    d2s.seed(0)
    stage(f, x())


@footgun
def clock(stage):
    def f(z):
        return z, time.perf_counter()

    f = stage.static(f)
    times = [f(x())[1] for _ in range(3)]
    stage.note(times == sorted(set(times)))


@footgun
def context_managers(stage):
    class Managed:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            stage.log.append(("enter", self.name))
            return self.name

        def __exit__(self, kind, value, traceback):
            stage.log.append(("exit", self.name, kind and kind.__name__))
            return kind is KeyError

    @contextlib.contextmanager
    def noted(name):
        stage.log.append(("begin", name))
        try:
            yield name
        finally:
            stage.log.append(("end", name))

    outer = Managed("outer")

    def f(z, k):
        with outer as name, Managed("inner"), noted("c"):
            stage.log.append(name)
            if k > 1:
                raise KeyError("swallowed")
            z = z * 2
        return z * k

    f = stage.static(f)
    for k in (1, 2, 0, x(3.0)):
        stage(f, x(), k)


@footgun
def decorator_with_state(stage):
    calls = Box(n=0)
    stage.watch(calls)

    def counted(function):
        @functools.wraps(function)
        def wrapper(*args):
            calls.n += 1
            stage.log.append((function.__name__, calls.n))
            return function(*args)

        return wrapper

    @counted
    def helper(z):
        return z * 2

    def f(z):
        return helper(helper(z))

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def memo_of_the_user(stage):
    memo = stage.watch({})

    def scale(k):
        if k not in memo:
            stage.log.append(("computed", k))
            memo[k] = k * 2.0
        return memo[k]

    def f(z, k):
        return z * scale(k)

    f = stage.static(f)
    for k in (1, 1, 2, 1, 2):
        stage(f, x(), k)


@footgun
def callbacks(stage):
    callbacks = [lambda value: stage.log.append(("first", value))]

    def f(z, k):
        for callback in callbacks:
            callback(k)
        return z * k

    f = stage.static(f)
    stage(f, x(), 1)
    callbacks.append(lambda value: stage.log.append(("second", value)))
    stage(f, x(), 1)
    callbacks.pop(0)
    stage(f, x(), 1)


@footgun
def special_methods_with_effects(stage):
    class Loud:
        def __init__(self):
            object.__setattr__(self, "fields", {})

        def __setattr__(self, name, value):
            stage.log.append(("set", name))
            self.fields[name] = value

        def __getitem__(self, key):
            stage.log.append(("get", key))
            return 2.0

        def __setitem__(self, key, value):
            stage.log.append(("put", key, value))

        def __delitem__(self, key):
            stage.log.append(("del", key))

        def __call__(self, z):
            stage.log.append("called")
            return z * 2

        def __iter__(self):
            stage.log.append("iterated")
            return iter([1.0, 2.0])

        def __add__(self, other):
            stage.log.append("added")
            return other + 1

        def __radd__(self, other):
            stage.log.append("radded")
            return other + 2

        def __iadd__(self, other):
            stage.log.append("iadded")
            return self

        def __len__(self):
            stage.log.append("len")
            return 2

        def __contains__(self, key):
            stage.log.append(("contains", key))
            return True

        def __eq__(self, other):
            stage.log.append("eq")
            return True

        def __lt__(self, other):
            stage.log.append("lt")
            return False

        def __bool__(self):
            stage.log.append("bool")
            return True

        def __neg__(self):
            stage.log.append("neg")
            return 3.0

        __hash__ = None

    loud = Loud()

    def f(z, k):
        nonlocal loud
        loud.value = k
        loud[k] = k
        z = loud(z) * loud[k]
        del loud[k]
        for part in loud:
            z = z * part
        z = loud + z
        z = z + loud if k > 1 else z
        loud += 1
        if k in loud and loud == 3 and not loud < 2:
            z = z * len(loud)
        if loud:
            z = z * -loud
        return z

    f = stage.static(f)
    for k in (1, 2, 1):
        stage(f, x(), k)


@footgun
def setattr_of_an_object_made_inside(stage):
    class Loud:
        def __setattr__(self, name, value):
            stage.log.append(("set", name))
            object.__setattr__(self, name, value)

    def f(z, k):
        loud = Loud()
        loud.scale = k
        return z * loud.scale

    f = stage.static(f)
    for k in (1, 2, 1):
        stage(f, x(), k)


@footgun
def exception_after_effects(stage):
    kept = stage.watch([])

    def f(z, k):
        kept.append(k)
        print("before")
        if k > 1:
            raise ValueError(f"too big: {k}")
        kept.append("after")
        return z * k

    f = stage.static(f)
    for k in (1, 2, 1, 3, 4, 0, x(2.0), x(1.0)):
        stage(f, x(), k)


@footgun
def library_error_after_effects(stage):
    kept = stage.watch([])

    def f(z, k):
        kept.append("before")
        value = {"a": 1}[k]
        kept.append("after")
        return z * value

    f = stage.static(f)
    for k in ("a", "b", "a"):
        stage(f, x(), k)


@footgun
def op_error_after_effects(stage):
    kept = stage.watch([])

    def f(z, k):
        kept.append(k)
        return z.reshape([k, -1])

    f = stage.static(f)
    for k in (1, 2, 3, 2):
        stage(f, x(), k)


@footgun
def effects_in_tensor_branches(stage):
    kept = stage.watch([])

    def f(z, k):
        if z.sum() > k:
            kept.append("greater")
            print("greater", k)
        else:
            kept.append("smaller")
        kept.append("both")
        return z * k

    f = stage.static(f)
    for k in (0.0, 5.0, 1.0, 0.5):
        stage(f, x(), constant(k))


@footgun
def effects_in_tensor_loops(stage):
    kept = stage.watch([])

    def f(z, n):
        i = d2s.to_tensor(0)
        while i < n:
            kept.append(i.item())
            print("turn", i.item())
            z = z * 2
            i = i + 1
        print("done", len(kept))
        return z

    f = stage.static(f)
    for n in (0, 1, 3, 2):
        stage(f, x(), d2s.to_tensor(n))


@footgun
def writes_to_outer_state_in_tensor_loops(stage):
    box = stage.watch(Box(n=0))

    def f(z, n):
        for _ in range(n):
            box.n += 1
            z = z * box.n
        return z

    f = stage.static(f)
    for n in (0, 1, 3, 2):
        stage(f, x(), d2s.to_tensor(n))


@footgun
def conditional_write_to_outer_state(stage):
    box = stage.watch(Box(n=0, best=0.0))

    def f(z):
        total = z.sum().item()
        if total > box.best:
            box.best = total
        box.n += 1
        return z * box.best

    f = stage.static(f)
    for data in ((1.0, 2.0), (0.5, 0.5), (4.0, 1.0)):
        stage(f, x(*data))


@footgun
def effects_in_helpers_methods_properties_comprehensions(stage):
    class Thing:
        @property
        def scale(self):
            stage.log.append("property")
            return 2.0

        def method(self, k):
            stage.log.append(("method", k))
            return k

        @staticmethod
        def fixed(k):
            stage.log.append(("static", k))
            return k

        @classmethod
        def of_class(cls, k):
            stage.log.append((cls.__name__, k))
            return k

    thing = Thing()

    def helper(k):
        stage.log.append(("helper", k))
        return k

    def f(z, k):
        parts = [helper(i) for i in range(k)]
        total = sum(thing.method(part) for part in parts)
        names = {i: thing.fixed(i) for i in parts}
        return z * total * thing.scale + len(names) + Thing.of_class(k)

    f = stage.static(f)
    for k in (1, 3, 1):
        stage(f, x(), k)


@footgun
def effects_in_library_callbacks(stage):
    def noted(value):
        stage.log.append(value)
        return -value

    def f(z, k):
        ordered = sorted([k, 3, 1], key=noted)
        mapped = list(map(noted, ordered))
        kept = list(filter(lambda value: noted(value) < 0, mapped))
        total = functools.reduce(lambda a, b: noted(a + b), ordered)
        biggest = max(ordered, key=noted)
        return z * total + biggest + len(kept)

    f = stage.static(f)
    for k in (1, 2, 1):
        stage(f, x(), k)


@footgun
def outer_state_in_library_callbacks(stage):
    box = stage.watch(Box(scale=2.0, n=0))

    def scaled(a, b):
        box.n += 1
        return a + b * box.scale

    def f(z, k):
        parts = sorted([3, 1, 2], key=lambda value: value * box.scale)
        return z * functools.reduce(scaled, parts)

    f = stage.static(f)
    stage(f, x(), 1)
    box.scale = -3.0
    stage(f, x(), 1)


@footgun
def partial_and_reduce_over_tensors(stage):
    weight = [2.0]

    def step(a, b):
        stage.log.append("step")
        return a * b * weight[0]

    def f(z):
        return functools.reduce(functools.partial(step), [z, z * 2, z * 3])

    f = stage.static(f)
    stage(f, x())
    weight[0] = 5.0
    stage(f, x())


@footgun
def heap_and_operator_module(stage):
    heap = stage.watch([1, 5, 3])
    kept = stage.watch({"a": 1})

    def f(z, k):
        heapq.heappush(heap, k)
        smallest = heapq.heappop(heap)
        operator.setitem(kept, "a", k)
        return z * smallest

    f = stage.static(f)
    for k in (2, 0, 2):
        stage(f, x(), k)


@footgun
def sorted_list_in_place_with_key(stage):
    kept = stage.watch([3, 1, 2])
    sign = [1]

    def f(z):
        kept.sort(key=lambda value: value * sign[0])
        kept.append(len(kept))
        return z * 2

    f = stage.static(f)
    stage(f, x())
    sign[0] = -1
    stage(f, x())


@footgun
def results_of_effects_steer_python(stage):
    kept = stage.watch([3.0, 2.0, 1.0])

    def f(z):
        last = kept.pop()
        if last > 1.5:
            z = z * last
        return z + last

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())


@footgun
def loop_over_a_container_it_changes_later(stage):
    kept = stage.watch([1.0])

    def f(z):
        for part in kept:
            z = z * part
        kept.append(2.0)
        return z

    f = stage.static(f)
    for _ in range(4):
        stage(f, x())


@footgun
def copy_of_changed_state(stage):
    kept = stage.watch([1])

    def f(z):
        before = list(kept)
        kept.append(2)
        return z, before, kept[:1]

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def generator_with_effects(stage):
    def parts(k):
        for i in range(k):
            stage.log.append(("yield", i))
            yield i + 1.0
        stage.log.append("exhausted")

    def f(z, k):
        for part in parts(k):
            stage.log.append(("used", part))
            z = z * part
        return z

    f = stage.static(f)
    for k in (1, 3, 0):
        stage(f, x(), k)


@footgun
def effects_of_argument_evaluation_in_order(stage):
    def noted(value):
        stage.log.append(value)
        return value

    def f(z, k):
        values = [noted(1), noted(2)]
        table = {noted("a"): noted(3), noted("b"): noted(4)}
        values[noted(0)] = noted(5)
        ok = noted(0) or noted(6)
        return z * values[0] * table["b"] + max(noted(k), noted(ok))

    f = stage.static(f)
    for k in (1, 9):
        stage(f, x(), k)


@footgun
def finally_and_except_effects(stage):
    def f(z, k):
        try:
            stage.log.append("try")
            if k > 1:
                raise ValueError(k)
            z = z * 2
        except ValueError as error:
            stage.log.append(("except", str(error)))
            z = z * 3
        else:
            stage.log.append("else")
        finally:
            stage.log.append("finally")
        return z

    f = stage.static(f)
    for k in (1, 2, 1, x(2.0), x(0.0)):
        stage(f, x(), k)


@footgun
def tensors_written_by_effects(stage):
    weight = stage.watch(constant())

    @d2s.jit.not_to_static
    def step(k):
        weight.set_value(weight.numpy() + k)

    def f(z):
        before = z * weight
        step(1.0)
        return before, z * weight

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@differs("state that an untraced call changed, read after it in the same run, is an ExecutionError at that place")
def eager_function_with_state(stage):
    box = stage.watch(Box(n=0))

    @d2s.jit.not_to_static
    def counted(z):
        box.n += 1
        stage.log.append(box.n)
        return z * box.n

    def f(z):
        return counted(z) + box.n

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def seed_inside(stage):
    @stage.static
    def f(z):
        d2s.seed(3)
        return z + d2s.rand([1])

    for _ in range(3):
        stage(f, x())


@footgun
def state_of_the_generator(stage):
    @stage.static
    def f(z):
        state = d2s.get_rng_state()
        first = d2s.rand([1])
        d2s.set_rng_state(state)
        return z + first, d2s.rand([1])

    for _ in range(3):
        stage(f, x())


@footgun
def file_written_inside(stage):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "state")

    @stage.static
    def f(z, k):
        d2s.save({"z": z * k}, path)
        return d2s.load(path)["z"] * 2

    try:
        for k in (1, 2, 3, 2):
            stage(f, x(), k)
            stage(lambda: d2s.load(path)["z"])
    finally:
        shutil.rmtree(folder)


@footgun
def backward_in_a_tensor_loop(stage):
    weight = x()

    def f(z, n):
        for _ in range(n):
            (z * weight).sum().backward()
        return z

    stage(stage.static(f), x(), d2s.to_tensor(2))


@footgun
def tensors_written_by_unknown_calls_in_tensor_loops(stage):
    weight = stage.watch(constant())

    @d2s.jit.not_to_static
    def step():
        weight.set_value(weight.numpy() + 1)

    def f(z, n):
        for _ in range(n):
            step()
            z = z * weight
        return z

    stage(stage.static(f), x(), d2s.to_tensor(2))
