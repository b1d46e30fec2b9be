"""State, functions and iteration around loops and conditions on tensors: more that users write."""

from __future__ import annotations

import abc
import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import operator
import typing

import numpy as np

import d2s
from tests.corpus.register import LOG, made, program


@program
def state_in_a_dict_through_a_helper(x, n):
    state = {"value": x, "turns": 0}

    def step(s):
        s["value"] = s["value"] * 1.5
        s["turns"] += 1

    i = n * 0
    while i < n:
        step(state)
        i = i + 1
    return state["value"], state["turns"]


@program
def state_in_an_object_through_methods(x, n, c):
    class Machine:
        def __init__(self, v):
            self.v = v
            self.steps = 0

        def step(self):
            if c > 0:
                self.v = self.v * 2
            else:
                self.v = self.v - 1
            self.steps += 1
            return self

        @property
        def done(self):
            return self.v.sum() > 20

    m = Machine(x)
    while not m.done and m.steps < 4:
        m.step()
    return m.v, m.steps


@program
def nested_containers_in_a_tensor_loop(x, n):
    s = {"a": [x, {"b": x * 2}], "k": (1, 2)}
    i = n * 0
    while i < n:
        s["a"][1]["b"] = s["a"][1]["b"] + s["a"][0]
        s["a"][0] = s["a"][0] * 0.5
        i = i + 1
    return s["a"][0] + s["a"][1]["b"] + s["k"][0]


@program
def closure_called_in_a_tensor_loop(x, n):
    scale = 1.0

    def apply(v):
        return v * scale + n

    i = 0
    while i < n:
        x = apply(x)
        scale = scale * 0.5
        i += 1
    return x


@program
def nonlocal_in_a_tensor_loop_in_two_functions(x, n):
    total = x * 0

    def add(v):
        nonlocal total
        total = total + v

    def double():
        nonlocal total
        total = total * 2

    for i in range(n):
        add(x * i)
        if i > 1:
            double()
    return total


@program
def try_in_a_tensor_loop(x, n):
    i = n * 0
    while i < n:
        try:
            if i > 1:
                raise ValueError("big")
            x = x * 2
        except ValueError:
            x = x + 1
        finally:
            i = i + 1
    return x


@program
def with_in_a_tensor_loop(x, n):
    class Scale:
        def __init__(self, by):
            self.by = by

        def __enter__(self):
            return self.by

        def __exit__(self, *error):
            return False

    i = n * 0
    while i < n:
        with Scale(1.5) as by:
            x = x * by
            if x.sum() > 8:
                break
        i = i + 1
    return x


@program
def raise_in_with_of_the_user(x, c):
    class Noted:
        def __enter__(self):
            LOG.append("enter")
            return self

        def __exit__(self, kind, error, trace):
            LOG.append(("exit", kind, str(error)))
            return kind is KeyError

    with Noted():
        if c > 2:
            raise KeyError("swallowed")
        if c < -1:
            raise ValueError("through")
        x = x * 2
    return x + 1


@program
def raise_in_with_in_a_tensor_loop(x, n):
    class Noted:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            return kind is KeyError

    i = n * 0
    while i < n:
        i = i + 1
        with Noted():
            if i > 1:
                raise KeyError("swallowed")
            x = x * 3
        x = x + 1
    return x


@program
def return_in_with_in_a_tensor_loop(x, n):
    for i in range(n):
        with contextlib.nullcontext(i) as k:
            x = x + k
            if x.sum() > 3:
                return x * 10
    return x


@program
def generator_over_a_tensor_with_break(x, c):
    def rows():
        for k, v in enumerate(x):
            LOG.append(k)
            yield v * 2

    total = x.sum() * 0
    for v in rows():
        if v > c + 3:
            break
        total = total + v
    else:
        total = total + 100
    return total


@program
def generator_with_return_value(x, c):
    def inner(k):
        yield x * k
        yield x + k
        return k * 10

    def outer():
        got = yield from inner(2)
        LOG.append(got)
        if c > 0:
            yield x * got

    return sum(outer())


@program
def generator_closed_early(x, c):
    def numbers():
        try:
            for k in range(5):
                yield x * k
        finally:
            LOG.append("closed")

    g = numbers()
    a = next(g)
    b = next(g)
    g.close()
    return a + b if c > 0 else a - b


@program
def lambda_default_in_a_tensor_loop(x, n):
    i = n * 0
    while i < n:
        f = lambda v, k=i: v + k
        x = f(x)
        i = i + 1
    return x


@program
def sorted_with_key_on_tensors(x, y, c):
    parts = sorted([x * 3, y, x * y], key=lambda t: float(t.sum()) if False else t.shape[0])
    return parts[0] - parts[-1] * c


@program
def accumulate_and_reduce(x, y):
    parts = list(itertools.accumulate([x, y, x * y], operator.add))
    return functools.reduce(lambda a, b: a * 0.5 + b, parts)


@program
def chained_methods_and_properties(x, c):
    class Chain:
        def __init__(self, v):
            self.v = v

        def add(self, k):
            return Chain(self.v + k)

        def when(self, test, f):
            if test:
                return f(self)
            return self

        @functools.cached_property
        def total(self):
            LOG.append("computed")
            return self.v.sum()

    z = Chain(x).add(1).when(c > 0, lambda s: s.add(10)).add(2)
    return z.total + z.total


@program
def abstract_base_and_mixin(x, c):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

        def describe(self):
            return self.area() * 2

    class Loud:
        def describe(self):
            LOG.append(type(self).__name__)
            return super().describe()

    class Square(Loud, Shape):
        def __init__(self, s):
            self.s = s

        def area(self):
            return self.s * self.s if c > 0 else self.s

    return Square(x).describe()


@program
def descriptors_of_the_user(x, c):
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, cls=None):
            return self if obj is None else getattr(obj, self.name)

        def __set__(self, obj, v):
            LOG.append(self.name)
            if c > 0:
                v = abs(v)
            setattr(obj, self.name, v)

    class Box:
        size = Positive()

    b = Box()
    b.size = x
    b.size = b.size * 2
    return b.size


@program
def metaclass_and_class_getattr(x, c):
    class Meta(type):
        def __getitem__(cls, k):
            return cls.base * k

        @property
        def doubled(cls):
            return cls.base * 2

    class Table(metaclass=Meta):
        base = 3

        def __init_subclass__(cls, **kwargs):
            cls.base = kwargs.get("base", 7)

    class Sub(Table, base=5):
        pass

    return x * Table[2] + Sub.doubled if c > 0 else x * Sub[1]


@program
def operators_of_the_user(x, c):
    class Vec:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def __add__(self, o):
            return Vec(self.a + o.a, self.b + o.b)

        def __mul__(self, k):
            return Vec(self.a * k, self.b * k)

        __rmul__ = __mul__

        def __neg__(self):
            return Vec(-self.a, -self.b)

        def __iadd__(self, o):
            self.a = self.a + o.a
            return self

        def __bool__(self):
            return c > 0 if isinstance(c, (int, float)) else bool(c > 0)

        def __lt__(self, o):
            return (self.a < o.a).all()

    v = Vec(x, x * 2)
    w = v + 2 * v * 3
    w += -v
    if v < w:
        return w.a
    return w.b


@program
def object_made_in_a_branch(x, c):
    @dataclasses.dataclass
    class Config:
        k: typing.Any = 1
        name: str = "none"

    config = Config()
    if c > 0:
        config = Config(k=3, name="big")
    elif c < -1:
        config.k = 5
    return x * config.k, config.name


@program
def dict_of_tensors_updated_in_branches(x, y, c):
    params = {"w": x, "b": y}
    if c > 0:
        params = {k: v * 2 for k, v in params.items()}
    else:
        params.update({k: v + 1 for k, v in params.items() if k == "w"})
    return params["w"] * params["b"]


@program
def list_slices_and_methods(x, c):
    items = [x * k for k in range(5)]
    items.insert(1, x)
    items.extend([x * 9])
    last = items.pop()
    items.reverse()
    if c > 0:
        del items[::2]
    else:
        items[1:3] = []
    return items[0] + items[-1] + last + len(items)


@program
def any_all_with_generators(x, c, n):
    if any(k > n for k in range(3)) and all(k >= 0 for k in range(2)):
        x = x * 2
    if not any(v > c for v in (1, 2)):
        x = x - 1
    return x


@program
def while_with_complex_condition(x, c, n):
    i = 0
    while (i < n or x.sum() < 2) and not (c < -1) and i < 4:
        x = x * 1.5
        i += 1
    return x, i


@program
def while_on_list(x, c):
    stack = [(x, 2)]
    total = x * 0
    while stack:
        v, depth = stack.pop()
        total = total + v
        if depth:
            stack.append((v * 0.5, depth - 1))
            if c > depth:
                total = total + 1
            stack.append((v * 2, depth - 1))
    return total


@program
def breadth_first_search(x, c):
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
    seen, queue = {"a"}, collections.deque(["a"])
    order = []
    while queue:
        node = queue.popleft()
        order.append(node)
        for other in graph[node]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
                if c > 0:
                    x = x * 1.1
    LOG.append("".join(order))
    return x


@program
def memo_dict_and_recursion(x, c):
    memo = {}

    def fib(k):
        if k in memo:
            return memo[k]
        r = x * k if k < 2 else fib(k - 1) + fib(k - 2)
        memo[k] = r
        return r

    return fib(6) if c > 0 else fib(3)


@program
def binary_search_on_a_value(x, c):
    low, high = 0.0, 8.0
    for _ in range(6):
        mid = (low + high) / 2
        if mid * mid < abs(c):
            low = mid
        else:
            high = mid
    return x * low


@program
def early_exits_with_flags(x, c, n):
    found = False
    where = -1
    for i in range(4):
        if not found and i > n:
            found = True
            where = i
        if found and c > 0:
            break
    return (x * where if found else x), found


@program
def two_breaks_of_different_kinds(x, c, n):
    why = "end"
    for i in range(5):
        if i == 4:
            why = "python"
            break
        if c > i:
            continue
        if i > n:
            why = "tensor"
            break
    LOG.append(why)
    return x * i


@program
def loop_variable_rebound_inside(x, c):
    for i in range(3):
        i = i * 2
        if c > i:
            i = i + 1
        x = x + i
    return x, i


@program
def same_name_for_function_and_variable(x, c):
    def f(v):
        return v * 2

    if c > 0:
        f = f(x)
    else:
        f = x
    return f


@program
def function_redefined_in_a_branch(x, c):
    if c > 0:
        def f(v):
            return v * 2
    else:
        def f(v):
            return v + 1
    return f(f(x))


@program
def name_like_generated_ones(x, c):
    body = x
    orelse = 2
    broke = 3
    returned = 4
    result = 5
    continued = 6
    for i in range(3):
        if c > i:
            body = body * orelse
            continue
        if c < -1:
            break
        body = body + broke + returned
    if body.sum() > 3:
        return body + result + continued
    return body


@program
def if_else_as_user_names(x, c):
    def if_else(a, b):
        return a - b

    while_loop, and_, not_ = 1, 2, 3
    if c > 0 and x.sum() < 10:
        return if_else(x, while_loop)
    return x + and_ + not_


@program
def deep_nesting_of_ifs(x, c, n):
    if c > -1:
        if n > 0:
            if c > 0:
                if n > 1:
                    x = x * 2
                else:
                    x = x * 3
            elif x.sum() > 0:
                x = x * 4
        else:
            x = x * 5
            if c > 1:
                return x
    else:
        if n > 3:
            x = x * 6
        x = x + 1
    return x


@program
def many_returns(x, c, n):
    if c > 2:
        return x
    if n > 2:
        x = x * 2
        if c > 0:
            return x + 1
    for i in range(2):
        if n > i + 1:
            return x * i
    while True:
        if c < 0:
            return x * 7
        return x * 8


@program
def tuple_returns_of_branches(x, c):
    def f(v):
        if c > 0:
            return v, v * 2, "big"
        return v * 3, v, "small"

    a, b, name = f(x)
    LOG.append(name)
    return a - b


@program
def dict_returns_of_branches(x, c):
    def f(v):
        if c > 0:
            return {"a": v, "b": [v * 2]}
        return {"a": v * 3, "b": [v]}

    r = f(x)
    return r["a"] + r["b"][0]


@program
def different_keys_from_branches(x, c):
    d = {"a": x} if c > 0 else {"b": x * 2}
    total = x * 0
    for k, v in d.items():
        LOG.append(k)
        total = total + v
    return total


@program
def none_checks(x, c):
    best = None
    for k in range(3):
        v = (x * k).sum()
        if best is None or v > best:
            best = v
    return best * c


@program
def maximum_by_comparison(x, y, c):
    best, where = x[0], 0
    for i in range(1, 3):
        if x[i] > best:
            best, where = x[i], i
    return best * (where + 1) + y.sum()


@program
def bubble_sort(x):
    v = [x[i] for i in range(3)]
    for i in range(3):
        for j in range(2 - i):
            if v[j] > v[j + 1]:
                v[j], v[j + 1] = v[j + 1], v[j]
    return d2s.stack(v)


@program
def power_iteration(x, y, n):
    m = x.reshape([3, 1]) * y.reshape([1, 3])
    v = m.sum(0)
    i = n * 0
    while i < n:
        v = (m * v).sum(1)
        norm = (v * v).sum().sqrt()
        if norm < 1e-3:
            break
        v = v / norm
        i = i + 1
    return v


@program
def collatz(x, n):
    k = n + 3
    steps = 0
    while k != 1 and steps < 12:
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        steps += 1
    return x * steps


@program
def gcd_of_numbers(x, n):
    a, b = 12, n + 4
    while b:
        a, b = b, a % b
    return x * a


@program
def running_statistics(x, y):
    mean, m2, count = 0.0, 0.0, 0
    for v in d2s.concat([x, y]):
        count += 1
        delta = v - mean
        mean = mean + delta / count
        m2 = m2 + delta * (v - mean)
    return mean, m2 / count


@program
def string_state_in_a_python_loop(x, c):
    state = "start"
    for k in range(4):
        match state:
            case "start":
                state = "middle" if c > k else "end"
            case "middle":
                x = x * 2
                state = "end"
            case "end":
                x = x + 1
    LOG.append(state)
    return x


@program
def numpy_beside_tensors(x, c):
    table = np.arange(6.0).reshape(2, 3)
    k = float(table.sum())
    if c > 0:
        x = x * d2s.to_tensor(table[1].astype("float32"))
    return x + k + table.shape[0]


@program
def in_place_and_augmented_mix(x, c):
    z = x * 1
    z += 1
    w = z
    if c > 0:
        z += 2
    z -= w
    z *= 2
    return z, w


@program
def assignment_chains(x, c):
    a = b = x * 2
    d = [None, None]
    d[0] = d[1] = e = a + 1
    if c > 0:
        a = b = e
    return a + b + d[0] * d[1]


@program
def conditional_expressions_nested_in_calls(x, c, n):
    return max([1, 2], key=lambda v: v if c is None else -v) * x + (x if c > 0 else -x) * (2 if n > 1 else 3)


@program
def format_of_everything(x, c, n):
    LOG.append(f"{'a' if c is not None else 'b'}{[1, 2]!r:>8}{{}}{x.shape[0]:03d}")
    LOG.append(f"{n}{n!s}{n + 1}" if isinstance(n, int) else f"{int(n)}{int(n) + 1}")
    LOG.append("{0}-{1}-{name}".format(1, 2, name="z"))
    LOG.append(f"{3.14159:.{2}f} {1000:,} {0.5:%}")
    return x


@program
def star_import_of_values(x, c):
    values = {"scale": 2.0, "shift": 1.0}

    def f(v, *, scale, shift=0.0, **rest):
        return v * scale + shift + len(rest)

    return f(x, **values) if c > 0 else f(x, **{**values, "other": 3})


@program
def functions_returned_from_functions(x, c):
    def make(k):
        if c > 0:
            def f(v):
                return v * k
        else:
            f = functools.partial(operator.add, k)
        return f

    fs = [make(k) for k in (1.0, 2.0)]
    return sum(f(x) for f in fs)


@made
def counter_in_a_closure_over_calls():
    count = 0
    history = []

    def f(x, c):
        nonlocal count
        count += 1
        if c > 0:
            history.append(count)
        return x * count, len(history)

    return f


@made
def object_shared_by_calls():
    class Model:
        def __init__(self):
            self.scale = 1.0
            self.last = None
            self.log = []

        def __call__(self, x, c):
            if c > 0:
                self.scale = self.scale + 1
            self.last = x * self.scale
            self.log.append(float(self.scale) if isinstance(self.scale, float) else "tensor")
            LOG.append(self.log[-1])
            return self.last

    model = Model()
    return lambda x, c: model(x, c)


@program
def shadowed_builtins(x, c):
    range = [1, 2]
    len = lambda v: 10
    print = LOG.append
    total = x
    for k in range:
        if c > k:
            total = total + len(range)
            print("seen")
    return total


@program
def try_else_with_loop_control(x, c):
    for i in range(4):
        try:
            if c > 2 and i == 1:
                raise ValueError
        except ValueError:
            x = x - 1
            continue
        else:
            if c < 0 and i == 2:
                break
            x = x * 1.5
        finally:
            x = x + 0.25
    return x


@program
def nested_try_with_reraise(x, c):
    def risky(v):
        if c > 0:
            raise ValueError("inner")
        return v * 2

    try:
        try:
            x = risky(x)
        except ValueError as e:
            LOG.append(str(e))
            raise RuntimeError("outer") from e
    except RuntimeError as e:
        LOG.append((str(e), type(e.__cause__).__name__))
        x = x + 1
    return x


@program
def error_message_with_values(x, n):
    if n > 2:
        raise ValueError(f"n is {int(n)}", {"k": 1})
    return x


@program
def assertion_chain(x, c, n):
    assert x.shape[0] == 3
    assert c > -10, "too small"
    for i in range(2):
        assert n >= 0, f"turn {i}"
    assert not (c > 2), ("tuple", 1)
    return x


@program
def deepcopied_state(x, c):
    state = {"v": [x, x * 2], "k": 1}
    saved = copy.deepcopy(state)
    shallow = copy.copy(state)
    state["v"][0] = x * 100
    if c > 0:
        state = saved
    return state["v"][0] + shallow["v"][1] + state["k"]


@program
def set_and_frozenset_operations(x, c):
    a = {1, 2, 3}
    b = frozenset([2, 3, 4])
    if c > 0:
        a &= b
    else:
        a |= {9}
    return x * len(a) + sum(sorted(a ^ b))


@program
def ordered_and_chain_maps(x, c):
    o = collections.OrderedDict(a=x, b=x * 2)
    o.move_to_end("a")
    if c > 0:
        o["z"] = x * 3
        o.move_to_end("z", last=False)
    m = collections.ChainMap({"q": 1}, {"r": 2})
    LOG.append(list(o))
    return sum(o.values()) * m["r"]


@program
def class_with_call_counter_in_a_branch(x, c):
    class Acc(list):
        def __init__(self):
            super().__init__()
            self.total = 0

        def append(self, v):
            self.total += 1
            super().append(v)

    acc = Acc()
    acc.append(x)
    if c > 0:
        acc.append(x * 2)
    return sum(acc) * acc.total + len(acc)


@program
def dict_subclass_with_missing(x, c):
    class Defaults(dict):
        def __missing__(self, key):
            LOG.append(key)
            self[key] = x * len(key)
            return self[key]

    d = Defaults(a=x)
    if c > 0:
        d["zz"]
    return d["a"] + d["zz"]


@program
def iterator_class(x, c):
    class Down:
        def __init__(self, k):
            self.k = k

        def __iter__(self):
            return self

        def __next__(self):
            if self.k <= 0:
                raise StopIteration
            self.k -= 1
            return self.k

    for k in Down(4):
        if c > k:
            x = x + k
    return x


@program
def zip_longest_and_groupby(x, c):
    total = x
    for a, b in itertools.zip_longest([1, 2, 3], [10], fillvalue=0):
        total = total + a * b
    for key, group in itertools.groupby("aabc"):
        k = len(list(group))
        if c > k:
            total = total * k
    return total


@program
def star_expression_in_return_and_index(x, c):
    def f():
        rest = (x * 2, x * 3)
        return x, *rest

    a, *b = f()
    z = d2s.stack([*f()])
    i = (0, slice(1, None))
    return a + b[-1], z[i], z[..., 0] if c > 0 else z[:, 1]


@program
def conditional_del_and_rebind(x, c):
    y = x * 2
    if c > 0:
        del y
        y = x * 3
    del x
    x = y
    return x


@program
def chained_attribute_assignments(x, c):
    class N:
        pass

    a = N()
    a.b = N()
    a.b.c = x
    a.b.d = a.b.e = x * 2
    if c > 0:
        a.b.c += a.b.d
        a.b = a.b
    return a.b.c * a.b.e


@program
def global_statement_in_nested_function(x, c):
    def bump():
        global COUNTER
        COUNTER = COUNTER + 1 if c is not None else 0
        return COUNTER

    before = COUNTER
    bump()
    LOG.append(COUNTER - before)
    return x


COUNTER = 0


@program
def type_checks_on_tensors(x, c):
    if isinstance(x, d2s.Tensor) and not isinstance(x, (list, tuple)):
        x = x * 2
    if type(x) is d2s.Tensor and callable(x.sum) and hasattr(x, "shape"):
        x = x + 1
    if isinstance(c, float):
        return x
    return x * 1


@program
def yield_in_a_conditional_with_tensor_after(x, c):
    def pairs(limit):
        k = 0
        while k < limit:
            if k % 2:
                k += 1
                continue
            yield k, x * k
            k += 1

    best = x * 0
    for k, v in pairs(5):
        if c > k:
            best = best + v
    return best
