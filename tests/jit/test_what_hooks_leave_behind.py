"""What hooks put into containers, attributes and variables while `backward` runs inside of a function: the lines after
it see that in static mode as in eager mode, however the hooks get at it."""

from __future__ import annotations

import functools
import heapq
import inspect
import operator
from collections import Counter, defaultdict, deque
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import d2s
from d2s.errors import UnsupportedSyntaxError
from tests.jit.both import leaf

PROGRAMS = []


def program(make):
    """Enter a function that makes the function to be called."""
    PROGRAMS.append(make)
    return make


def made(function):
    """Enter a function that has nothing from outside."""
    PROGRAMS.append(lambda: function)
    PROGRAMS[-1].__name__ = function.__name__
    return function


def shown(value):
    """What a function gave, in a form that can be compared: the values, types and flags of all that is in it."""
    if isinstance(value, d2s.Tensor):
        return "tensor", value.tolist(), value.stop_gradient
    if isinstance(value, dict):
        return type(value).__name__, [(key, shown(part)) for key, part in value.items()]
    if isinstance(value, list | tuple | deque):
        return type(value).__name__, [shown(part) for part in value]
    return type(value).__name__, repr(value)


def seen(make, convert):
    function = make()
    prepare = getattr(function, "prepare", None)
    function, count = convert(function), len(inspect.signature(function).parameters)
    found = []
    for turn in range(3):
        given = [leaf(1.0 + turn, 2.0), leaf(3.0, -1.0 - turn)][:count]
        if prepare is not None:
            prepare(*given)
        found += [shown(function(*given)), [shown(tensor.grad) for tensor in given]]
    return found


class Recorder:
    def __init__(self):
        self.last, self.calls, self.all = None, 0, []

    def __call__(self, g):
        self.last, self.calls = g, self.calls + 1
        self.all.append(g)
        return g + 1

    def count(self, g):
        self.calls += 1

    def grow(self, g):
        self.calls = self.calls * 3 + 1
        return g * self.calls

    @property
    def twice(self):
        return self.calls * 2


class Slotted:
    __slots__ = ("g",)


class Shared:
    total = 0


def put_into(seen, g):
    seen.append(g)


def call(function, *args):
    function(*args)


# --- dicts and other containers -------------------------------------------------------------------------------------


@made
def a_dict_is_updated(x):
    seen = {}
    x.register_hook(lambda g: seen.update(g=g))
    (x * x).sum().backward()
    return seen["g"] * 2


@made
def an_item_is_set(x):
    seen = {"a": 1.0}
    y = x * 2

    def hook(g):
        seen["g"] = g.sum().item()

    y.register_hook(hook)
    (y * x).sum().backward()
    values = list(seen.values())
    return len(seen), sorted(seen), values, "g" in seen, seen.get("h", 5), bool(seen), sum(values) * x


@made
def a_dict_is_looped_over(x):
    seen = {}
    y = x * 2
    z = y * y
    y.register_hook(lambda g: seen.__setitem__("y", g))
    z.register_hook(lambda g: seen.__setitem__("z", g))
    z.sum().backward()
    total = 0 * x
    for _, g in seen.items():
        total = total + g
    return total


@made
def lists_in_a_dict(x):
    seen = {"y": [], "z": []}
    y = x * 2
    z = y * y
    y.register_hook(lambda g: seen["y"].append(g))
    z.register_hook(lambda g: seen["z"].append(g * g))
    z.sum().backward()
    return len(seen["y"]), seen["y"][0] * seen["z"][0], seen


@made
def a_defaultdict(x):
    seen = defaultdict(list)
    y = x * 2
    y.register_hook(lambda g: seen["y"].append(g))
    (y * y).sum().backward()
    return len(seen), seen["y"][0] * 3


@made
def norms_by_name(x, w):
    norms = {}

    def hook_of(name):
        def hook(g):
            norms[name] = (g * g).sum()

        return hook

    for name, tensor in (("x", x), ("w", w)):
        tensor.register_hook(hook_of(name))
    (x * w).sum().backward()
    return sum(norms.values()), norms["w"], {name: norm + 1 for name, norm in norms.items()}


@made
def a_set(x):
    seen = set()
    x.register_hook(lambda g: seen.add("x"))
    (x * x).sum().backward()
    return len(seen), "x" in seen, sorted(seen)


@made
def a_counter(x):
    seen = Counter()

    def hook(g):
        seen["x"] += 1

    x.register_hook(hook)
    x.register_hook(hook)
    (x * x).sum().backward()
    return seen["x"], seen


@made
def a_deque(x):
    seen = deque(maxlen=2)
    for k in range(3):
        x.register_hook(lambda g, k=k: seen.append(g + k))
    (x * x).sum().backward()
    return len(seen), seen[0] * 2


@made
def in_one_branch(x):
    seen = {}
    y = x * 2
    if x.sum() > 3.5:
        y.register_hook(lambda g: seen.update(g=g))
    (y * y).sum().backward()
    return seen["g"] * 2 if "g" in seen else x


@made
def backward_in_one_branch(x):
    seen, n, box = {}, 0, SimpleNamespace(n=0)

    def hook(g):
        nonlocal n
        n += 1
        box.n += 2
        seen["g"] = g

    y = x * 2
    y.register_hook(hook)
    if x.sum() > 3.5:
        (y * y).sum().backward()
    return len(seen), n, box.n


@made
def backward_in_turns(x):
    seen, n, box = {}, 0, SimpleNamespace(n=0, last=None)

    def hook(g):
        nonlocal n
        n += 1
        box.n, box.last = box.n + 2, g * n
        seen[len(seen)] = g

    k = d2s.zeros([])
    while k < x.sum():
        y = x * (k + 1)
        y.register_hook(hook)
        (y * y).sum().backward()
        k = k + 1
    return len(seen), n, box.n, box.last, seen[0]


# --- ways to get at them --------------------------------------------------------------------------------------------


@made
def a_method_of_the_list(x):
    seen = []
    x.register_hook(seen.append)
    (x * x).sum().backward()
    return len(seen)


@made
def a_method_of_the_list_that_a_variable_holds(x):
    seen = []
    push = seen.append
    x.register_hook(lambda g: push(g))
    (x * x).sum().backward()
    return len(seen), seen[0] + 1


@made
def a_method_of_the_list_as_default(x):
    seen = []
    x.register_hook(lambda g, put=seen.append: put(g))
    (x * x).sum().backward()
    return len(seen)


@made
def a_method_of_the_list_given_to_a_helper(x):
    seen = []
    x.register_hook(lambda g: call(seen.extend, [g, g]))
    (x * x).sum().backward()
    return len(seen)


@made
def a_partial(x):
    seen = []
    x.register_hook(functools.partial(put_into, seen))
    (x * x).sum().backward()
    return len(seen)


@made
def a_function_of_the_library(x):
    seen, heap = [0.0], []
    x.register_hook(lambda g: operator.setitem(seen, 0, g.sum().item()))
    x.register_hook(lambda g: heapq.heappush(heap, g.sum().item()))
    (x * x).sum().backward()
    return seen[0] * x, len(heap)


@made
def a_special_method_by_name(x):
    seen = []
    x.register_hook(lambda g: seen.__iadd__([g]) and None)
    (x * x).sum().backward()
    return len(seen)


@made
def a_list_under_another_name(x):
    seen = []

    def hook(g):
        same = seen
        same += [g, g]

    x.register_hook(hook)
    (x * x).sum().backward()
    return len(seen)


@made
def a_helper_that_assigns(x):
    n = 0

    def bump():
        nonlocal n
        n += 1

    x.register_hook(lambda g: bump())
    (x * x).sum().backward()
    return n, n * x


# --- attributes and variables ---------------------------------------------------------------------------------------


@made
def attributes(x):
    box = SimpleNamespace(n=0, g=None)

    def hook(g):
        box.n += 1
        box.g = g
        box.new = g * g

    x.register_hook(hook)
    (x * x).sum().backward()
    return box.n * x, box.g * 2, box.new


@made
def a_recorder(x):
    recorder = Recorder()
    x.register_hook(recorder)
    (x * x).sum().backward()
    return recorder.last * 2, recorder.calls, len(recorder.all), recorder.all[0] + 1


@made
def methods_and_properties(x):
    recorder, other = Recorder(), Recorder()
    held = {"recorder": recorder}
    x.register_hook(other.count)
    x.register_hook(lambda g: held["recorder"].grow(g))
    (x * x).sum().backward()
    return recorder.twice * x, other.calls


@made
def setattr_by_another_name(x):
    box, put = SimpleNamespace(k=1.0), setattr
    x.register_hook(lambda g: put(box, "k", g.sum().item()))
    (x * x).sum().backward()
    return box.k * x


@made
def the_table_of_attributes(x):
    box = SimpleNamespace(k=1.0)
    x.register_hook(lambda g: vars(box).__setitem__("k", 7.0))
    (x * x).sum().backward()
    return box.k * x


@made
def a_slot(x):
    box = Slotted()
    box.g = None

    def hook(g):
        box.g = g

    x.register_hook(hook)
    (x * x).sum().backward()
    return box.g * 2


@made
def numbers_that_become_others(x):
    whole, part, name, flag = 0, 0.0, "", False

    def hook(g):
        nonlocal whole, part, name, flag
        whole, part, name, flag = g.sum().item() / 4, 3, "g", True

    x.register_hook(hook)
    numbers = x.astype("int64")
    (x * x).sum().backward()
    return whole, numbers * whole, numbers + part, type(part).__name__, name + "!", flag


# --- what stays known, and what is done with it afterwards -----------------------------------------------------------


@made
def pairs_in_a_list(x):
    log = []
    y = x * 2
    z = y * x
    y.register_hook(lambda g: log.append(("y", g.sum().item())))
    z.register_hook(lambda g: log.append(("z", g.sum().item())))
    z.sum().backward()
    (first, _), (second, _) = log
    total = 0
    for _, norm in log:
        total = total + norm
    doubled = {name: norm * 2 for name, norm in log}
    return [name for name, _ in log], doubled, dict(log, k=1), dict(log)["z"], first + second, total * x


@made
def settings_beside_a_list(x):
    settings, log = {"scale": 2.0, "on": True, "name": "k"}, []
    box = SimpleNamespace(scale=0.5, names=["a", "b"])
    y = x * 2
    y.register_hook(lambda g: (log.append(g), g * settings["scale"] * box.scale)[1])
    (y * y).sum().backward()
    if settings["on"]:
        x = x * settings["scale"]
    return x, sorted(settings), box.names, len(log)


@made
def two_objects_with_one_name(x):
    one, other = SimpleNamespace(n=0), SimpleNamespace(n=5)

    def hook(g):
        one.n += 1

    x.register_hook(hook)
    x.register_hook(lambda g: g * other.n)
    (x * x).sum().backward()
    return [1, 2, 3, 4, 5, 6][other.n], one.n


@made
def changes_after_it(x):
    seen, log = {}, []
    x.register_hook(lambda g: seen.update(g=g))
    x.register_hook(lambda g: log.append(g))
    (x * x).sum().backward()
    seen["x"] = x * 5
    seen.setdefault("z", x)
    del seen["z"]
    log.append(x)
    return seen["x"] + seen["g"], list(seen), seen, log[-1] + log[0]


@made
def a_hook_that_does_not_run(x, w):
    seen, box = {}, Shared()

    def hook(g):
        seen["g"] = g
        box.total = g

    w.register_hook(hook)
    (x * x if x.sum() > 3.5 else x * w).sum().backward()
    try:
        found = seen["g"] * 2
    except KeyError:
        found = "none"
    return found, seen.get("g"), len(seen), box.total


@made
def an_object_that_keeps_the_best(x):
    box = SimpleNamespace(seen=[], best=0.0)

    def hook(g):
        norm = g.sum().item()
        box.seen.append(norm)
        box.best = max(box.best, norm)

    x.register_hook(hook)
    for k in range(3):
        (x * x * k).sum().backward()
    return box.best * x, len(box.seen), max(box.seen), sum(box.seen)


@program
def a_layer_that_counts():
    class Net(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.scale, self.calls, self.blocks = 0.5, 0, [1, 2]

        def hook(self, g):
            self.calls += 1
            return g * self.scale

        def forward(self, x):
            y = x * 3
            y.register_hook(self.hook)
            y.sum().backward()
            for block in self.blocks:
                x = x * block
            return x * self.scale, self.calls

    net = Net()
    return lambda x: net(x)


@made
def a_hook_for_a_while(x):
    y = x * 2
    log = []
    with hooked(y, lambda g: (log.append(g), g * g)[1]) as same:
        (same * same).sum().backward(retain_graph=True)
    (y * y).sum().backward()
    return len(log), x.grad * 1


@contextmanager
def hooked(tensor, hook):
    handle = tensor.register_hook(hook)
    try:
        yield tensor
    finally:
        handle.remove()


# --- what is older than the call ------------------------------------------------------------------------------------


@program
def a_list_from_outside():
    log = []

    def f(x):
        log.clear()
        y = x * 3
        y.register_hook(lambda g: log.append(g * g))
        (y * x).sum().backward()
        return log[-1] + x, len(log), sum(log), [g + 1 for g in log]

    return f


@program
def a_dict_from_outside():
    out = {"k": 1.0}

    def f(x):
        def hook(g):
            out["k"] = g

        out["k"] = x * 3
        x.register_hook(hook)
        x.register_hook(lambda g: out.update(new=g * g))
        (x * x).sum().backward()
        return out["k"] * 2, out["new"]

    return f


@program
def attributes_of_an_object_from_outside():
    box = SimpleNamespace(n=0, g=None)

    def f(x):
        def hook(g):
            box.n += 1
            box.g = g * g

        x.register_hook(hook)
        (x * x).sum().backward()
        return box.n * x, box.g * 2

    return f


@program
def variables_from_outside():
    n, last = 0, None

    def f(x):
        def hook(g):
            nonlocal n, last
            n += 1
            last = g

        x.register_hook(hook)
        (x * x).sum().backward()
        return n * x, last * 2

    return f


@program
def a_recorder_from_outside():
    recorder = Recorder()

    def f(x):
        x.register_hook(recorder)
        (x * x).sum().backward()
        return recorder.last * 2, recorder.calls, len(recorder.all), recorder.all[-1]

    return f


@program
def an_attribute_of_a_class():
    Shared.total = 0

    def f(x):
        def hook(g):
            Shared.total += 1

        x.register_hook(hook)
        (x * x).sum().backward()
        return Shared.total * x

    return f


@program
def a_helper_from_outside():
    log = []

    def note(g):
        log.append(g)

    def f(x):
        x.register_hook(lambda g: note(g))
        (x * x).sum().backward()
        return len(log)

    return f


@program
def a_hook_that_was_registered_outside():
    log = []

    def f(x):
        (x * x).sum().backward()
        return log[-1] * 2, len(log)

    f.prepare = lambda x: x.register_hook(lambda g: log.append(g))
    return f


@program
def an_object_of_this_call_that_is_stored_outside():
    holder = SimpleNamespace(state=None)

    def f(x):
        holder.state = Recorder()
        x.register_hook(lambda g: holder.state.count(g))
        (x * x).sum().backward()
        return holder.state.calls

    return f


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_static_is_eager(make):
    assert seen(make, d2s.to_static) == seen(make, lambda function: function)


def test_lists_of_the_caller_that_hooks_can_reach_stay_what_they_are_while_tracing():
    log, params = [], [leaf(1.0)]

    @d2s.to_static
    def f(x):
        x.register_hook(lambda g: log.append((g, len(params))))
        (x * x).sum().backward()
        return len(log)

    assert f(leaf(2.0)) == 1
    assert len(log) == len(params) == 1
    assert isinstance(params[0], d2s.Tensor)


class Own(dict):
    pass


@pytest.mark.parametrize("cls", [Own, bytearray])
def test_containers_that_cannot_be_of_the_run_are_refused(cls):
    @d2s.to_static
    def f(x):
        seen = cls()
        x.register_hook(lambda g: seen.update(g=g) if cls is Own else seen.append(1))
        (x * x).sum().backward()
        return len(seen)

    with pytest.raises(UnsupportedSyntaxError, match="that a hook may have changed") as caught:
        f(leaf(1.0))
    assert caught.value.kind == "U30"
