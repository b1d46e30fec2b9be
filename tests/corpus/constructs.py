"""Constructs of Python around conditions and loops on tensors, as bug reports about such tools describe them."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator
import typing

import d2s
from tests.corpus.register import LOG, made, program

# --- exits of loops, nested ------------------------------------------------------------


@program
def return_from_the_innermost_of_three_loops(x, c, n):
    for i in range(3):
        for j in range(2):
            while x.sum() < 5:
                x = x + 1
                if x.sum() > c + 3:
                    return x * (i + j + 1)
        x = x * 0.5
    return x - n


@program
def else_of_nested_loops(x, c, n):
    for i in range(2):
        for j in range(3):
            if j > c:
                LOG.append(("inner break", i, j))
                break
            x = x * 1.5
        else:
            LOG.append(("inner else", i))
            continue
        x = x - 1
        if i > n:
            break
    else:
        x = x + 100
    return x


@program
def continue_in_the_else_of_a_loop(x, c):
    total = x * 0
    for i in range(3):
        for j in range(2):
            if c > j:
                break
        else:
            continue
        total = total + x * i
    return total


@program
def break_of_the_outer_loop_in_the_else_of_the_inner(x, n):
    k = n * 0
    while k < 5:
        for j in range(3):
            if j > n:
                break
        else:
            break
        k = k + 1
        x = x * 1.1
    return x, k


@program
def while_else_with_return(x, c):
    turns = 0
    while turns < 3:
        if c > 2:
            return x * 7
        turns += 1
    else:
        x = x + 0.5
    return x * turns


@program
def return_in_finally_after_a_tensor_condition(x, c):
    try:
        if c > 0:
            return x
        LOG.append("past")
    finally:
        LOG.append("finally")
    return x * 2


@program
def loop_in_try_in_loop(x, n):
    for i in range(3):
        try:
            for j in range(2):
                if j + i > n:
                    raise ValueError(i)
                x = x * 1.25
        except ValueError as error:
            LOG.append(error.args)
            if i == 1:
                break
            continue
        else:
            x = x + 1
        finally:
            LOG.append(("finally", i))
    return x


@program
def break_in_with_in_a_loop(x, c):
    @contextlib.contextmanager
    def noted(name):
        LOG.append(("in", name))
        try:
            yield name
        finally:
            LOG.append(("out", name))

    for i in range(3):
        with noted(i) as k, noted("b"):
            if c > k:
                x = x * 2
                continue
            if c < -1:
                break
            x = x - 1
    return x


@program
def return_through_two_withs(x, c):
    class Manager:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            LOG.append(f"enter {self.name}")
            return self

        def __exit__(self, *error):
            LOG.append(f"exit {self.name} {error[0]}")

    with Manager("a"):
        with Manager("b") as b:
            if c > 0:
                return x * 2
            LOG.append(b.name)
    return x


@program
def while_true_with_two_breaks(x, c, n):
    k = 0
    while True:
        k += 1
        if k > 4:
            break
        x = x * 1.5
        if x.sum() > c + 2:
            break
        if n > 2:
            x = x + 1
            continue
        x = x - 0.25
    return x


@program
def loop_with_unreachable_rest(x, c):
    for i in range(3):
        if c > i:
            return x * i
        else:
            break
        x = x + 1000
    return x


@program
def break_only_on_tensor_in_a_loop_over_strings(x, c):
    for letter in "abc":
        if c > 1 and letter == "b":
            break
        x = x + ord(letter)
    return x, letter


# --- conditions ------------------------------------------------------------


@program
def chain_of_four_with_calls(x, c, n):
    def told(v, name):
        LOG.append(name)
        return v

    if told(-1, "a") < told(c, "b") <= told(n, "c") != told(3, "d"):
        return x * 2
    return x


@program
def membership_and_identity(x, c, n):
    a = x
    if a is x and c is not None and n not in (7, 8):
        return x + 1
    return x


@program
def ternaries_in_arguments_and_indices(x, c, n):
    parts = [x, x * 2, x * 3]
    f = (lambda z: z + 1) if c is not None else (lambda z: z)
    return f(parts[1 if x.ndim else 0] if c > 0 else parts[-1])


@program
def condition_is_a_tensor_of_one_element(x, c):
    if x[0:1]:
        x = x * 2
    if not x[1]:
        x = x - 1
    return x


@program
def boolean_expressions_as_values(x, c, n):
    a = c > 0 and n > 1
    b = c > 0 or n > 1
    d = not (c > 0)
    k = 0
    if a:
        k = k + 1
    if b:
        k = k + 2
    if d:
        k = k + 4
    return x * k


@program
def conditions_on_strings_and_containers(x, c):
    names = {"a": 1}
    if "a" in names and names["a"] == 1 and not [] and "":
        x = x * 100
    elif names and c > 0:
        x = x * 3
    return x


@program
def walrus_chain(x, c):
    if (a := c + 1) > 0 and (b := a * 2) > 3:
        return x * a + b
    return x * a


@program
def walrus_in_while(x, n):
    total = x * 0
    while (n := n - 1) >= 0:
        total = total + x * n
    return total


@program
def ternary_with_side_effects(x, c):
    def told(name, v):
        LOG.append(name)
        return v

    y = told("then", x * 2) if told("test", c) > 0 else told("else", x * 3)
    return y + (told("t2", 1) if c < 0 else told("e2", 2))


@program
def nested_functions_with_branches(x, c, n):
    def outer(z):
        def inner(u):
            if n > 1:
                return u * z
            return u - z

        if c > 0:
            return inner(z + 1)
        return inner(z * 2)

    return outer(x) + outer(x * 0.5)


# --- match ------------------------------------------------------------


@dataclasses.dataclass
class Point:
    a: typing.Any
    b: typing.Any


@program
def match_on_structure_with_guards(x, c, n):
    def area(shape):
        match shape:
            case ("circle", r) if c > 1:
                return r * r * 3
            case ("circle", r):
                return r * r
            case {"kind": "square", "side": s, **rest}:
                LOG.append(sorted(rest))
                return s * s
            case Point(a, b=b) if n > 1:
                return a * b
            case [first, *others] if len(others) == 2:
                return first + sum(others)
            case _:
                return x * 0

    shapes = [("circle", x), {"kind": "square", "side": x + 1, "z": 1}, Point(x, x * 2), [x, x, 2.0], None, "text"]
    total = x * 0
    for shape in shapes:
        total = total + area(shape)
    return total


@program
def match_with_break_and_continue(x, c):
    for command in ["skip", "add", "mul", "stop", "add"]:
        match command:
            case "skip":
                continue
            case "add" | "plus":
                if c > 0:
                    x = x + 1
            case "mul":
                x = x * 2
                if c > 2:
                    break
            case "stop":
                break
    return x


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@program
def match_on_enum_values(x, c):
    colour = Colour.RED if x.ndim == 1 else Colour.BLUE
    match colour:
        case Colour.RED:
            return x * 2 if c > 0 else x
        case Colour.BLUE:
            return x


# --- functions ------------------------------------------------------------


@program
def arguments_of_all_kinds(x, y, c):
    def f(a, b=2, /, k=3, *rest, key, other=4, **more):
        if c > 0:
            return a * b + k + sum(rest) + key * other + sum(more.values())
        return a - b

    return f(x, key=y) + f(x, 1, 2, 3.0, 4.0, key=y, other=1, z=5.0) + f(*[x, y], **{"key": 1.0, "q": x})


@program
def default_bound_at_definition(x, c):
    k = 2

    def f(z, factor=k, shifts=[]):
        shifts.append(len(shifts))
        if c > 0:
            return z * factor + sum(shifts)
        return z

    k = 10
    return f(x) + f(x) * k


@program
def decorators_stacked(x, c):
    def twice(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            LOG.append(f"twice {f.__name__}")
            return f(*args, **kwargs) + f(*args, **kwargs)

        return inner

    def scaled(by):
        def decorator(f):
            @functools.wraps(f)
            def inner(*args):
                if c > 0:
                    return f(*args) * by
                return f(*args)

            return inner

        return decorator

    @twice
    @scaled(by=3)
    def base(z):
        return z * z

    return base(x)


@program
def recursion_over_a_tree(x, c):
    tree = {"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}

    def walk(node, depth):
        total = x * node["v"]
        if c > depth:
            total = total * 2
        for kid in node["kids"]:
            total = total + walk(kid, depth + 1)
        return total

    return walk(tree, 0)


@program
def mutual_recursion(x, c):
    def even(k, z):
        return z if k == 0 else odd(k - 1, z * 2)

    def odd(k, z):
        if c > 0:
            z = z + 1
        return -z if k == 0 else even(k - 1, z)

    return even(4, x) + odd(3, x)


@program
def function_with_attributes(x, c):
    def f(z):
        f.calls += 1
        return z * f.calls

    f.calls = 0
    if c > 0:
        x = f(x)
    return f(x), f.calls


@program
def lambdas_in_containers(x, c, n):
    table = {"double": lambda z: z * 2, "square": lambda z: z * z, "id": (lambda z: z)}
    for name in ("double", "square"):
        if c > 0:
            x = table[name](x)
    return functools.reduce(lambda a, f: f(a), [table["id"], lambda z: z + n], x)


@program
def partials_and_operators(x, y, c):
    add = functools.partial(operator.add, x)
    pick = operator.itemgetter(0)
    if c > 0:
        return add(y) * pick([x, y])
    return operator.mul(x, y) - operator.attrgetter("shape")(x)[0]


@program
def starred_everywhere(x, y, c):
    first, *middle, last = [x, y, x * 2, y * 2]
    (a, (b, *d)), e = (x, (y, 1, 2)), 3
    values = [*middle, *d, *(z for z in (e,))]
    merged = {**{"p": x}, "q": y, **{"p": last}}
    if c > 0:
        first, last = last, first
    return first - last + a * b + sum(v for v in values if not isinstance(v, int)) + merged["p"] + len(values)


@program
def generator_with_send(x, c):
    def running():
        total = 0
        while True:
            got = yield total
            if got is None:
                return
            total = total + got

    g = running()
    next(g)
    for k in range(3):
        x = x + g.send(k)
    if c > 0:
        x = x * 2
    return x


@program
def yield_from_and_islice(x, c):
    def numbers():
        yield from range(2)
        yield from (k * k for k in itertools.count(3))

    total = x
    for k in itertools.islice(numbers(), 5):
        if c > k:
            total = total + k
        else:
            total = total * 1.1
    return total


@program
def itertools_over_tensors(x, y, c):
    total = x * 0
    for a, b in itertools.product([x, y], repeat=2):
        total = total + a * b
    for a, b in itertools.pairwise([x, y, x * y]):
        if c > 0:
            total = total - a / (b * b + 1)
    for k, z in zip(itertools.cycle([1, 2]), [x, y, x], strict=False):
        total = total + k * z
    for z in itertools.chain([x], (y,)):
        total = total + z
    return total


# --- comprehensions and scopes ------------------------------------------------------------


@program
def comprehension_scopes(x, c):
    k = 10
    a = [k + 0 for k in range(3)]
    fs = [lambda: k for k in range(3)]
    b = {k + k: v for k, v in zip("ab", [x, x * 2], strict=True)}
    if c > 0:
        d = [z * k for z in b.values() if k > 5]
    else:
        d = [+z for z in b.values()]
    return d[0] + d[1] + sum(a) + sum(f() for f in fs) + k


@program
def comprehension_in_class_body(x, c):
    class Table:
        size = 3
        rows = tuple(i * 2 for i in range(3))
        if size > 2:
            extra = size + 1
        for _i in range(2):
            size += _i

        def value(self, z):
            return z * self.size + sum(self.rows) + self.extra

    t = Table()
    return t.value(x) if c > 0 else t.value(-x)


@program
def tensor_conditions_in_comprehensions(x, c, n):
    a = [(k if c > k else -k) for k in range(3)]
    b = {k: (x * k if n > k else x) for k in range(3)}
    d = sum((x if c > 0 else -x) * k for k in (1, 2))
    e = {(k, m) for k in range(2) for m in range(k)}
    return d + b[0] + b[1] + b[2] + sum(a) + len(e)


@program
def walrus_leaks_from_comprehension(x, c):
    parts = [(last := x * k) for k in range(1, 4)]
    if any((hit := k) > 1 for k in range(4)):
        x = x + hit
    return parts[0] + last * 2 if c > 0 else last - x


@program
def nested_comprehension_with_closure(x, c):
    grid = [[x * (i + 1) * (j + 1) for j in range(i + 1)] for i in range(3)]
    flat = [cell for row in grid for cell in row]
    if c > 0:
        flat = flat[::-1]
    return flat[0] - flat[-1] + sum(flat)


# --- classes ------------------------------------------------------------


class Base:
    scale = 2.0

    def __init__(self, k):
        self.k = k

    def step(self, x, c):
        if c > 0:
            return x * self.k
        return x * self.scale

    @property
    def twice(self):
        return self.k * 2

    @twice.setter
    def twice(self, v):
        LOG.append(("set", v))
        self.k = v / 2

    def __getitem__(self, i):
        return self.k + i

    def __call__(self, x):
        return x + self.k

    def __len__(self):
        return 3

    def __contains__(self, v):
        return v == 1

    def __iter__(self):
        yield 1
        yield 2

    def __eq__(self, other):
        return isinstance(other, Base) and self.k == other.k

    __hash__ = None


class Middle(Base):
    def step(self, x, c):
        y = super().step(x, c)
        if c > 1:
            y = super(Middle, self).step(y, c)
        return y + 1


class Leaf(Middle):
    def step(self, x, c):
        def again():
            return super(Leaf, self).step(x, c)

        return super().step(x, c) + again()


@program
def super_in_three_levels(x, c):
    return Leaf(3.0).step(x, c)


@program
def properties_and_special_methods(x, c):
    b = Base(1.5)
    if c > 0:
        b.twice = 8.0
    b.twice += 1
    total = b(x) + b[2] + len(b)
    if 1 in b and 5 not in b:
        total = total * b.twice
    for k in b:
        total = total + k
    return total if b == Base(b.k) else x


@program
def class_defined_inside(x, c):
    class Counter:
        count = 0

        def __init__(self):
            type(self).count += 1
            self.values = []

        def add(self, v):
            self.values.append(v)
            return self

        @classmethod
        def made(cls):
            return cls.count

        @staticmethod
        def shift(v):
            return v + 1 if c > 0 else v

    counter = Counter().add(x).add(x * 2)
    Counter()
    return Counter.shift(sum(counter.values)) * Counter.made()


@program
def dataclass_fields_in_a_loop(x, n):
    @dataclasses.dataclass
    class State:
        total: typing.Any
        turns: typing.Any = 0
        seen: list = dataclasses.field(default_factory=list)

    s = State(x * 0)
    i = n * 0
    while i < n:
        s.total = s.total + x * i
        s.turns += 1
        i = i + 1
    s.seen.append(s.total)
    other = dataclasses.replace(s, total=s.total * 2)
    return s.seen[0] + other.total


@program
def namedtuple_through_a_loop(x, n):
    Pair = collections.namedtuple("Pair", "a b")
    p = Pair(x, x * 2)
    i = 0
    while i < n:
        p = p._replace(a=p.b, b=p.a + 1)
        i = i + 1
    return p.a - p.b


@program
def slots_and_getattr(x, c):
    class Slotted:
        __slots__ = ("a",)

        def __init__(self, a):
            self.a = a

        def __getattr__(self, name):
            return f"no {name}"

    s = Slotted(x)
    if c > 0:
        s.a = s.a * 3
    return s.a, s.b, getattr(s, "c", None)


# --- state ------------------------------------------------------------


@program
def augmented_targets(x, c, n):
    box = {"a": x, "l": [x, x]}
    k = [0]

    def index():
        LOG.append("index")
        k[0] += 1
        return 0

    box["l"][index()] += x * 2
    box["a"] *= 3
    if c > 0:
        box["l"][index()] -= n
        box["a"] += 1
    return box["l"][0] + box["a"] * k[0]


@program
def del_of_names_items_and_attributes(x, c):
    d = {"a": x, "b": x * 2}
    items = [x, x + 1, x + 2]
    y = d["a"]
    del d["a"], items[0]
    if c > 0:
        z = x * 5
        y = y + z
        del z
    else:
        del items[0]
    return y + len(d) + sum(items[:1])


@program
def deleted_name_is_unbound(x, c):
    y = x * 2
    if c > 1:
        del y
    try:
        return y
    except UnboundLocalError as error:
        LOG.append(str(error))
        return x


@program
def swap_of_attributes_and_items(x, y, c):
    class Box:
        pass

    b, items = Box(), [x, y]
    b.u, b.v = x, y
    if c > 0:
        b.u, b.v = b.v, b.u
        items[0], items[1] = items[1], items[0]
    return b.u * 2 - b.v + items[0] / 2


@made
def nonlocal_through_three_levels():
    total = 0

    def outer(x, c):
        nonlocal total

        def middle():
            def inner(v):
                nonlocal total
                if c > 0:
                    total = total + v
                else:
                    total -= v
                return total

            return inner(1) + inner(2)

        k = middle()
        total += 10
        return x * k, total

    return outer


COUNT = 0


@program
def global_counter(x, c):
    global COUNT
    before = COUNT
    if c > 0:
        COUNT += 1
    else:
        COUNT = 0
    LOG.append(COUNT - before if c > 0 else COUNT)
    COUNT = 0
    return x * 2


@made
def mutable_default_across_calls():
    def f(x, c, seen=[]):
        seen.append(len(seen))
        if c > 0:
            seen.append("big")
        LOG.append(list(seen))
        return x

    return lambda x, c: f(x, c)


@program
def dict_methods(x, c):
    d = collections.defaultdict(list)
    d["a"].append(x)
    d["b"].append(x * 2)
    if c > 0:
        d.setdefault("z", []).append(x * 3)
        d.update(b=[x])
    total = x * 0
    for key, values in sorted(d.items()):
        for v in values:
            total = total + v * len(key)
    return total + d.get("q", 5) + len(d)


@program
def deque_and_counter(x, c):
    q = collections.deque([x, x * 2], maxlen=3)
    q.appendleft(x * 3)
    q.append(x * 4)
    counted = collections.Counter("abca")
    if c > 0:
        q.rotate(1)
    return q[0] + q[-1] * counted["a"] + len(q)


# --- tensors as Python sees them ------------------------------------------------------------


@program
def shapes_steer_python(x, y, c):
    rows = d2s.stack([x, y])
    for i in range(rows.shape[0]):
        for j in range(len(rows[i])):
            if rows[i, j] > c:
                rows = rows * 1.5
    k, m = rows.shape
    return rows.reshape([k * m])[: m - 1]


@program
def slices_with_numbers_of_the_run(x, y, n):
    k = n % 3
    z = d2s.concat([x, y])
    return z[k:], z[:k].sum(), z[k : k + 2], z[-1 - k]


@program
def while_that_halves_the_shape(x, y, c):
    z = d2s.concat([x, y, x, y])
    while z.shape[0] > 2:
        h = z.shape[0] // 2
        z = z[:h] + z[z.shape[0] - h :]
    return z * c


@program
def shape_changes_until_a_tensor_stops_it(x, n):
    z = x
    while n > 0:
        z = d2s.concat([z, z[-1:] * 2])
        n = n - 1
    return z, z.shape[0]


@program
def enumerate_over_rows_with_break(x, y, c):
    for i, row in enumerate(d2s.stack([x, y, x * y]), start=1):
        if row.sum() > c + 2:
            break
        x = x + row * i
    return x, i


@program
def reversed_zip_and_sorted(x, y, c):
    total = x * 0
    for a, b in reversed(list(zip([x, y], [1, 2], strict=True))):
        total = total * 2 + a * b
    for k in sorted({3, 1, 2}, reverse=True):
        if c > k:
            total = total + k
    return total


@program
def min_max_and_abs_of_mixed(x, c, n):
    k = max(1, min(n, 3))
    m = abs(c)
    return x * k + m + max([1, 5, 2], key=lambda v: -v)


@program
def numbers_formatted(x, c, n):
    LOG.append(f"{c:.3f}|{n:>4}|{n!r:>6}|{x.shape}" if isinstance(c, float) else f"{float(c):.3f}")
    LOG.append("%d and %s" % (int(n), "text"))
    LOG.append(f"{int(n):+d}")
    return x


@program
def int_float_bool_of_conditions(x, c, n):
    k = int(c > 0) + int(n > 1) * 2
    s = float(n) / 2
    flag = bool(n)
    return x * k + s + (1 if flag else 0)


@program
def divmod_pow_and_shift(x, n):
    q, r = divmod(7, 3)
    k = int(n)
    return x * q + r + k**2 + (k << 2) - (k | 8) + (k & 1) + (k ^ 3) + ~k


@program
def math_functions(x, c):
    return x * math.floor(float(c)) + math.sqrt(abs(float(c))) + math.pi


@program
def unpacking_a_tensor(x, y, c):
    a, b, d = x
    (e, f), g = (y[0], y[1]), y[2]
    if c > 0:
        a, b = b, a
    return a - b * d + e * f - g


@program
def tensor_in_boolean_context_of_all_and_any(x, c):
    flags = [v > c for v in x]
    LOG.append(any(flags))
    LOG.append(all(flags))
    return x * sum(1 if f else 0 for f in flags)


# --- errors ------------------------------------------------------------


class Specific(ValueError):
    def __init__(self, code, *, detail=None):
        super().__init__(f"code {code}")
        self.code, self.detail = code, detail


@program
def own_exception_with_keywords(x, c):
    try:
        if c > 0:
            raise Specific(3, detail="d")
        x = x * 2
    except Specific as error:
        LOG.append((error.code, error.detail, str(error)))
        if error.code > 2:
            x = x * error.code
    return x


@program
def error_in_else_and_finally(x, c):
    try:
        try:
            y = x * 2
        except ValueError:
            y = x
        else:
            if c > 0:
                raise KeyError("else")
        finally:
            LOG.append("finally")
    except KeyError as error:
        LOG.append(repr(error))
        y = x * 3
    return y


@program
def reraised(x, c):
    try:
        if c > 0:
            raise ValueError("a")
    except ValueError:
        LOG.append("seen")
        raise
    return x


@program
def exception_groups(x, c):
    try:
        if c > 0:
            raise ExceptionGroup("g", [ValueError("v"), KeyError("k")])
    except* ValueError as group:
        LOG.append(len(group.exceptions))
        x = x * 2
    except* KeyError:
        x = x + 1
    return x


@program
def exception_name_is_deleted(x, c):
    error = 5
    try:
        if c > 0:
            raise ValueError("a")
    except ValueError as error:  # noqa: F841
        pass
    try:
        return x * error
    except UnboundLocalError:
        return -x


@program
def suppressed_error(x, c):
    with contextlib.suppress(ValueError):
        x = x * 2
        if c > 0:
            raise ValueError("gone")
        x = x + 100
    return x


@program
def exit_stack(x, c):
    with contextlib.ExitStack() as stack:
        stack.callback(LOG.append, "last")
        stack.enter_context(contextlib.nullcontext())
        if c > 0:
            stack.callback(lambda: LOG.append("first"))
            return x * 2
        x = x + 1
    return x


@program
def manager_that_swallows_on_a_condition(x, c):
    class Swallow:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            LOG.append(kind)
            return kind is ValueError

    with Swallow():
        if c > 0:
            raise ValueError
        x = x * 2
    with Swallow():
        if c > 2:
            raise KeyError("through")
        x = x - 1
    return x


@program
def assert_with_call_in_message(x, c):
    def text():
        LOG.append("text")
        return "message"

    assert c < 2, text()
    assert x.shape == [3], "shape"
    return x


@program
def stop_iteration_of_next(x, c):
    it = iter([1, 2])
    total = x
    for _ in range(4):
        k = next(it, None)
        if k is None:
            break
        total = total * k
    if c > 0:
        total = total + 1
    return total


@program
def error_in_a_called_helper_in_a_loop(x, n):
    def checked(v, k):
        if k > 1:
            raise LookupError(f"turn {k}")
        return v * 2

    done = []
    try:
        for k in range(4):
            if n > k:
                x = checked(x, k)
                done.append(k)
    except LookupError as error:
        LOG.append(str(error))
    return x + len(done)


@program
def conditional_import_and_assertion(x, c):
    import math as m

    if c > 0:
        from math import sqrt as root
    else:
        root = m.fabs
    return x * root(4.0)


@program
def string_building(x, c):
    words = []
    for i, word in enumerate("a b c".split()):
        if i % 2 == 0 and c > 0:
            words.append(word.upper())
        else:
            words.append(word * 2)
    LOG.append("-".join(words))
    return x * len(words)


@program
def bytes_sets_and_complex(x, c):
    s = {1, 2} | {3}
    s.discard(2)
    b = b"ab" + bytes([65])
    z = (1 + 2j) * 1j
    if c > 0:
        s.add(9)
    return x * len(s) + len(b) + z.real


@program
def annotated_assignments(x, c):
    y: d2s.Tensor = x * 2
    k: int
    if c > 0:
        k = 3
    else:
        k = 4
    z: typing.Any = y * k
    return z


@program
def pass_and_ellipsis(x, c):
    if c > 0:
        pass
    elif c < -1:
        ...
    else:
        x = x[..., :2]
    for _ in range(2):
        pass
    while False:
        x = x * 100
    return x


@program
def global_functions_by_name(x, c):
    name = "exp" if c is None else "abs"
    return getattr(d2s, name)(x) if c > 0 else getattr(x, name)()


@program
def sliced_assignment_of_lists(x, c):
    items = [x, x * 2, x * 3, x * 4]
    items[1:3] = [x * 5]
    if c > 0:
        items[0:1] = []
    items *= 2
    return items[0] + items[-1] * len(items)


@program
def global_made_and_deleted(x, c):
    global TEMPORARY
    TEMPORARY = x * 2
    y = TEMPORARY + 1
    if c > 0:
        TEMPORARY = y
    z = TEMPORARY
    del TEMPORARY
    try:
        TEMPORARY
    except NameError as error:
        LOG.append(str(error))
    return z


@program
def global_deleted_twice(x, c):
    global TEMPORARY
    TEMPORARY = 1
    del TEMPORARY
    if c > 0:
        del TEMPORARY  # noqa: F821
    return x


@made
def nonlocal_deleted():
    held = 1.0

    def f(x, c):
        nonlocal held
        try:
            x = x * held
        except NameError as error:
            LOG.append(str(error))
            held = 3.0
            return x
        if c > 0:
            del held
        return x

    return f


@program
def none_or_number_in_a_tensor_loop(x, n):
    i = n * 0
    state = None
    while i < n:
        for k in range(5):
            if x[k % 3] > i:
                state = k
            if x[0] > k and state is not None and state > 2:
                x = x + 1
        i = i + 1
    return x


@program
def mixed_operands_that_are_only_tested(x, c, n):
    flag, name = True, "a"
    for k in range(4):
        if (c > k and flag and name) or (n > 2 and not flag) or (k == 3 and c < 0):
            x = x * 2
            flag = not flag
        assert x.sum() > -1000 or flag
        x = x + (1 if c > 0 and flag else 2)
    return x
