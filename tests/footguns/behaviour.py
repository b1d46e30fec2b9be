"""What classes, functions and libraries of Python do otherwise after the trace, in programs of other kinds."""

from __future__ import annotations

import abc
import asyncio
import collections
import collections.abc
import contextvars
import dataclasses
import enum
import functools
import inspect
import io
import itertools
import logging
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time
import types
import typing
import warnings
import weakref

import numpy as np

from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


@footgun
def descriptors_that_know_their_name():
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner):
            return getattr(instance, self.name) * self.factor

        def __set__(self, instance, value):
            print("set", self.name, value)
            setattr(instance, self.name, abs(value))

        factor = 1.0

    class Thing:
        k = Positive()

    thing = Thing()
    vars(thing)["_k"] = 2.0

    def f(z):
        thing.k = thing.k + 1
        return z * thing.k

    yield f
    yield f
    vars(thing)["_k"] = 10.0
    yield f
    Positive.factor = 3.0
    yield f
    vars(Thing)["k"].name = "other"
    thing.other = 7.0
    yield f


@footgun
def properties_that_are_deleted():
    class Thing:
        _k = 2.0

        @property
        def k(self):
            return self._k

        @k.deleter
        def k(self):
            print("deleted")
            self._k = 0.0

    thing = Thing()

    def f(z):
        z = z * thing.k
        del thing.k
        return z + thing.k

    yield f
    yield f
    thing._k = 5.0
    yield f


@footgun
def slots_that_are_deleted_and_set():
    class Thing:
        __slots__ = ("k", "n")

    thing = Thing()
    thing.k = 2.0

    def f(z):
        thing.n = getattr(thing, "n", 0) + 1
        return z * thing.k + thing.n

    yield f
    thing.k = 3.0
    yield f
    del thing.n
    yield f
    del thing.k
    yield f


@footgun
def static_and_class_methods_replaced():
    class Thing:
        base = 2.0

        @staticmethod
        def one(z):
            return z * 2

        @classmethod
        def two(cls, z):
            return z * cls.base

    thing = Thing()

    def f(z):
        return thing.one(z) + Thing.two(z)

    yield f
    Thing.base = 5.0
    yield f
    Thing.one = staticmethod(lambda z: z * 7)
    yield f
    Thing.two = classmethod(lambda cls, z: z - cls.base)
    yield f
    thing.one = lambda z: z * 0
    yield f


@footgun
def special_methods_of_a_class_replaced():
    class Number:
        def __init__(self, k):
            self.k = k

        def __add__(self, other):
            return other + self.k

        def __radd__(self, other):
            return other + self.k * 10

        def __matmul__(self, other):
            return other * self.k

        def __contains__(self, thing):
            return thing > self.k

        def __call__(self, z):
            return z - self.k

    number = Number(2.0)

    def f(z):
        return (number @ z) + number(z) + (5.0 if 3 in number else 6.0) + (number + 1) + (1 + number)

    yield f
    number.k = 4.0
    yield f
    Number.__matmul__ = lambda self, other: other * 100
    yield f
    Number.__call__ = lambda self, z: z * 0
    Number.__radd__ = lambda self, other: 9.0
    yield f
    del Number.__contains__
    yield f


@footgun
def comparisons_that_change():
    class Ranked:
        key = "a"

        def __init__(self, **ranks):
            self.__dict__.update(ranks)

        def __lt__(self, other):
            return getattr(self, self.key) < getattr(other, other.key)

    things = [Ranked(a=1, b=5), Ranked(a=2, b=4), Ranked(a=3, b=3)]

    def f(z):
        return z * sorted(things)[0].b + max(things).a + min(things).b

    yield f
    Ranked.key = "b"
    yield f
    things[0].b = 0
    yield f
    Ranked.__lt__ = lambda self, other: self.a * self.b < other.a * other.b
    yield f


@footgun
def flags_of_an_enum():
    class Mode(enum.Flag):
        FAST = enum.auto()
        LOUD = enum.auto()

    box = Box(mode=Mode.FAST)

    def f(z):
        if Mode.LOUD in box.mode:
            print("loud")
        return z * (2.0 if box.mode & Mode.FAST else 3.0) + len(Mode)

    yield f
    box.mode |= Mode.LOUD
    yield f
    box.mode ^= Mode.FAST
    yield f
    box.mode = Mode(0)
    yield f


@footgun
def enums_with_values_that_change():
    class Op(enum.Enum):
        SCALE = [2.0]
        SHIFT = [3.0]

        @property
        def first(self):
            return self.value[0]

    box = Box(op=Op.SCALE)

    def f(z):
        return z * box.op.first + (1.0 if box.op is Op.SCALE else 2.0) + len(box.op.name)

    yield f
    Op.SCALE.value.insert(0, 7.0)
    yield f
    box.op = Op["SHIFT"]
    yield f
    Op.first = property(lambda self: self.value[-1] * 10)
    yield f


@footgun
def dataclasses_that_are_replaced_and_compared():
    @dataclasses.dataclass(frozen=True, order=True)
    class Config:
        scale: float
        names: tuple = ()
        hidden: int = dataclasses.field(default=0, compare=False)

        def __post_init__(self):
            print("made", self.scale)

    box = Box(config=Config(2.0))
    base = Config(1.5, ("a",))

    def f(z):
        other = dataclasses.replace(box.config, scale=box.config.scale + 1)
        return z * other.scale + (1.0 if other > base else 2.0) + len(dataclasses.astuple(other))

    yield f
    box.config = Config(0.25, ("b", "c"), 5)
    yield f
    object.__setattr__(box.config, "scale", 9.0)
    yield f


@footgun
def fields_with_factories():
    made = []

    @dataclasses.dataclass
    class Record:
        items: list = dataclasses.field(default_factory=lambda: made.append(1) or [1.0])
        k: float = 2.0

    def f(z):
        record = Record()
        record.items.append(record.k)
        return z * sum(record.items) + len(made)

    yield f
    yield f
    Record.__dataclass_fields__["k"].default = 9.0
    yield f
    Record.__init__.__defaults__ = (Record.__init__.__defaults__[0], 5.0)
    yield f


@footgun
def named_tuples_by_defaults_and_methods():
    class Point(typing.NamedTuple):
        a: float
        b: float = 3.0

        def both(self):
            return self.a + self.b

    box = Box(point=Point(2.0))

    def f(z):
        moved = box.point._replace(a=box.point.a * 2)
        return z * moved.both() + moved._asdict()["b"] + len(Point._fields)

    yield f
    box.point = Point(1.0, 7.0)
    yield f
    Point.both = lambda self: self.a - self.b
    yield f
    Point.__new__.__defaults__ = (100.0,)
    box.point = Point(1.0)
    yield f


@footgun
def dispatch_by_type_of_an_attribute():
    @functools.singledispatch
    def scale_of(thing):
        return 1.0

    @scale_of.register
    def _(thing: int):
        return thing * 2.0

    box = Box(thing=3)

    def f(z):
        return z * scale_of(box.thing)

    yield f
    box.thing = "abc"
    yield f
    scale_of.register(str, lambda thing: float(len(thing)))
    yield f
    box.thing = True
    yield f
    scale_of.register(bool, lambda thing: 50.0)
    yield f


@footgun
def methods_dispatched_by_type():
    class Scaler:
        k = 2.0

        @functools.singledispatchmethod
        def scaled(self, by, z):
            return z

        @scaled.register
        def _(self, by: int, z):
            return z * by * self.k

    scaler, box = Scaler(), Box(by=3)

    def f(z):
        return scaler.scaled(box.by, z)

    yield f
    scaler.k = 5.0
    yield f
    box.by = "x"
    yield f
    Scaler.scaled.register(str, lambda self, by, z: z - len(by))
    yield f


@footgun
def abstract_classes_and_their_children():
    class Base(abc.ABC):
        @abc.abstractmethod
        def scale(self): ...

        def use(self, z):
            return z * self.scale()

    class One(Base):
        k = 2.0

        def scale(self):
            return self.k

    box = Box(thing=One())

    def f(z):
        return box.thing.use(z) + (1.0 if isinstance(box.thing, Base) else 0.0)

    yield f
    One.k = 3.0
    yield f
    box.thing = type("Two", (One,), {"scale": lambda self: super(type(self), self).scale() * 10})()
    yield f
    Base.use = lambda self, z: z - self.scale()
    yield f


@footgun
def weak_methods():
    class Thing:
        k = 2.0

        def scaled(self, z):
            return z * self.k

    thing = Thing()
    method = weakref.WeakMethod(thing.scaled)

    def f(z):
        found = method()
        return z - 1 if found is None else found(z)

    yield f
    thing.k = 5.0
    yield f
    del thing
    yield f


@footgun
def generators_that_are_sent_to():
    def running(total=0.0):
        while True:
            total += yield total

    def f(z):
        total = running(box.start)
        next(total)
        for number in box.numbers:
            z = z + total.send(number)
        return z

    box = Box(start=1.0, numbers=[1.0, 2.0])
    yield f
    box.numbers.append(10.0)
    yield f
    box.start = -5.0
    yield f


@refused("a loop until a sentinel on what only the run knows: each turn may be the last")
def calls_until_a_sentinel(stage):
    numbers = [1.0, 2.0, -1.0, 3.0, -1.0, -2.0]

    def f(z):
        for number in iter(lambda: numbers.pop(0), -1.0):
            z = z + number
        return z * len(numbers)

    f = stage.static(f)
    stage(f, x())


@footgun
def closures_of_closures():
    k = 2.0

    def outer():
        n = 1.0

        def inner(z):
            nonlocal n
            n += k
            return z * n

        def reset():
            nonlocal n
            n = 0.0

        return inner, reset

    inner, reset = outer()

    def f(z):
        return inner(z) + k

    yield f
    k = 5.0
    yield f
    reset()
    yield f


@footgun
def late_binding_in_lists_of_functions():
    functions = [lambda z: z * number for number in (2.0, 3.0)]
    early = [lambda z, number=number: z * number for number in (2.0, 3.0)]

    def f(z):
        for function in (*functions, *early):
            z = function(z) + 1
        return z

    yield f
    functions.append(lambda z: z - 1)
    yield f
    early[0].__defaults__ = (10.0,)
    yield f
    functions[0].__closure__[0].cell_contents = 0.5
    yield f


@footgun
def signatures_that_are_asked_for():
    def helper(z, k=2.0, *more, name="a"):
        return z * k

    def f(z):
        parameters = inspect.signature(helper).parameters
        return helper(z) + parameters["k"].default + len(parameters)

    yield f
    helper.__defaults__ = (5.0,)
    yield f
    helper.__kwdefaults__ = {"name": "long"}
    yield f


@footgun
def classes_made_by_calls_of_type():
    fields = {"k": 2.0, "scaled": lambda self, z: z * self.k}

    def f(z):
        made = type("Made", (), dict(fields))()
        return made.scaled(z) + len(type(made).__name__)

    yield f
    fields["k"] = 4.0
    yield f
    fields["scaled"] = lambda self, z: z - self.k
    yield f


@footgun
def modules_made_by_hand():
    module = types.ModuleType("made_by_hand")
    module.k = 2.0
    module.scaled = lambda z: z * module.k

    def f(z):
        return module.scaled(z) + module.k

    yield f
    module.k = 3.0
    yield f
    module.scaled = lambda z: z + 100
    yield f
    del module.k
    yield f


@footgun
def random_objects_of_their_own():
    dice = random.Random(3)

    def f(z):
        return z * dice.random() + dice.choice([1.0, 2.0, 3.0])

    yield f
    yield f
    state = dice.getstate()
    yield f
    dice.setstate(state)
    yield f
    dice.seed(9)
    yield f


@footgun
def generators_of_numpy_by_bits():
    box = Box(dice=np.random.Generator(np.random.PCG64(4)))

    def f(z):
        return z * box.dice.integers(1, 9).item() + box.dice.permutation(3)[0].item()

    yield f
    yield f
    box.dice = np.random.default_rng(8)
    yield f


@footgun
def clocks_that_are_kept():
    box = Box(clock=lambda: 1.0)

    def f(z):
        begin = box.clock()
        return z * 2 + (box.clock() - begin) + (0.0 if time.monotonic() > 0 else 1.0)

    ticks = itertools.count()
    yield f
    box.clock = lambda: float(next(ticks))
    yield f
    yield f
    next(ticks)
    yield f


@footgun
def files_that_grow():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.txt")

        def f(z):
            pathlib.Path(path).write_text("x" * 3)
            return z * os.path.getsize(path) + len(os.listdir(folder))

        yield f
        yield f
        pathlib.Path(path + "2").write_text("more")
        yield f


@footgun
def texts_in_memory_that_are_written():
    file = io.StringIO()

    def f(z):
        file.write("ab")
        print("cd", file=file)
        return z * file.tell()

    yield f
    yield f
    file.seek(0)
    file.truncate()
    yield f
    yield lambda z: z * len(file.getvalue())


@footgun
def loggers_of_records_with_extras():
    logger = logging.getLogger("footguns")
    box = Box(level=logging.WARNING, extra="a")

    def f(z):
        logger.log(box.level, "at %s", box.extra, extra={"who": box.extra})
        return z * 2

    yield f
    box.extra = "b"
    yield f
    box.level = logging.ERROR
    yield f
    logger.disabled = True
    yield f
    logger.disabled = False
    yield f


@footgun
def warnings_of_classes_of_the_user():
    class Odd(UserWarning):
        pass

    box = Box(kind=Odd, text="odd")

    def f(z):
        warnings.warn(box.text, box.kind, stacklevel=1)
        warnings.warn(box.kind("again"), stacklevel=1)
        return z * 2

    yield f
    box.text = "even"
    yield f
    box.kind = RuntimeWarning
    yield f


@footgun
def environment_read_in_other_ways():
    def f(z):
        home = os.environ.get("FOOTGUN_KIND", "none")
        return z * len(home) + ("FOOTGUN_KIND" in os.environ) + len(os.path.expandvars("$FOOTGUN_KIND"))

    os.environ.pop("FOOTGUN_KIND", None)
    yield f
    os.environ["FOOTGUN_KIND"] = "ab"
    yield f
    os.environ["FOOTGUN_KIND"] += "cdef"
    yield f
    del os.environ["FOOTGUN_KIND"]
    yield f


@footgun
def cached_functions_with_other_limits():
    box = Box(k=2.0)

    def scale(n):
        print("computed", n)
        return n * box.k

    cached = Box(of=functools.lru_cache(maxsize=1)(scale))

    def f(z):
        return z * cached.of(box.n) + cached.of.cache_info().misses

    for box.n in (1, 1, 2, 1):
        yield f
    box.k = 9.0
    yield f
    cached.of = functools.lru_cache(maxsize=None)(scale)
    yield f
    cached.of.cache_clear()
    yield f


@footgun
def thread_locals_of_a_class():
    class State(threading.local):
        scale = 2.0

        def __init__(self):
            self.calls = 0

    state = State()

    def f(z):
        state.calls += 1
        return z * state.scale + state.calls

    yield f
    state.scale = 5.0
    yield f
    State.scale = 9.0
    del state.scale
    yield f


@footgun
def locks_that_are_asked():
    lock, box = threading.Lock(), Box(n=0)

    def f(z):
        free = lock.acquire(blocking=False)
        box.n += 1
        if free:
            lock.release()
        return z * box.n + (1.0 if free else 2.0)

    yield f
    lock.acquire()
    yield f
    box.n = 10
    lock.release()
    yield f


@footgun
def contexts_that_are_copied():
    scale = contextvars.ContextVar("scale", default=2.0)

    def f(z):
        token = scale.set(scale.get() + 1)
        try:
            return z * scale.get()
        finally:
            scale.reset(token)

    context = contextvars.copy_context()
    context.run(scale.set, 50.0)
    yield f
    scale.set(7.0)
    yield f
    yield lambda z: z * context[scale]


@footgun
def patterns_kept_and_replaced():
    box = Box(pattern=re.compile(r"(?P<n>\d+)"), text="a12b3")

    def f(z):
        found = box.pattern.search(box.text)
        if found is None:
            return z
        return z * int(found["n"]) + found.start() + len(box.pattern.findall(box.text))

    yield f
    box.text = "x7"
    yield f
    box.pattern = re.compile(r"(?P<n>-?\d)")
    box.text = "-12"
    yield f
    box.text = "none"
    yield f


@footgun
def substitutions_by_a_method():
    class Counter:
        def __init__(self):
            self.n = 0

        def next(self, match):
            self.n += 1
            return f"{match[0]}{self.n}"

    counter = Counter()

    def f(z):
        text = re.sub("[ab]", counter.next, "cab")
        print(text)
        return z * counter.n + len(text)

    yield f
    yield f
    counter.n = 99
    yield f
    Counter.next = lambda self, match: ""
    yield f


@footgun
def exceptions_with_notes_and_causes():
    class Failure(Exception):
        scale = 2.0

    box = Box(fail=True)

    def f(z):
        try:
            if box.fail:
                raise Failure("a", 3.0) from ValueError("cause")
        except Failure as error:
            return z * error.args[1] * error.scale + len(str(error.__cause__))
        else:
            return z
        finally:
            print("done")

    yield f
    Failure.scale = 5.0
    yield f
    box.fail = False
    yield f


@footgun
def groups_of_exceptions():
    box = Box(kinds=[ValueError, TypeError])

    def f(z):
        try:
            raise ExceptionGroup("several", [kind("x") for kind in box.kinds])
        except* ValueError as group:
            print("values", len(group.exceptions))
        except* TypeError as group:
            print("types", len(group.exceptions))
        return z * 2

    yield f
    box.kinds.append(ValueError)
    yield f
    box.kinds[:] = [TypeError]
    yield f


@footgun
def coroutines_run_to_their_end():
    box = Box(k=2.0, log=[])

    async def part(z):
        box.log.append("part")
        return z * box.k

    async def whole(z):
        first = await part(z)
        return first + await part(first)

    def f(z):
        return asyncio.run(whole(z)) * len(box.log)

    yield f
    box.k = 3.0
    yield f


@footgun
def sizes_and_counts_of_references():
    table = [1.0, 2.0]

    def f(z):
        return z * (2.0 if sys.getsizeof(table) > 0 else 3.0) + (1.0 if sys.getrefcount(table) > 0 else 2.0)

    yield f
    table.extend([1.0] * 100)
    yield f


@footgun
def getitem_of_classes():
    class Table:
        held = {"a": 2.0}

        def __class_getitem__(cls, name):
            return cls.held[name]

    box = Box(name="a")

    def f(z):
        return z * Table[box.name]

    yield f
    Table.held["a"] = 3.0
    yield f
    Table.held["b"] = 4.0
    box.name = "b"
    yield f
    Table.__class_getitem__ = classmethod(lambda cls, name: 50.0)
    yield f


@footgun
def context_managers_that_swallow():
    class Guard:
        swallows = True

        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            print("left", kind and kind.__name__)
            return self.swallows

    guard, box = Guard(), Box(bad=True)

    def f(z):
        with guard:
            if box.bad:
                raise ValueError("bad")
            z = z * 2
        return z + 1

    yield f
    box.bad = False
    yield f
    box.bad = True
    Guard.swallows = False
    yield f
    guard.swallows = True
    yield f


class Settings:
    """A mapping as Python takes them apart: keys and items."""

    def __init__(self, **held):
        self.held = held

    def keys(self):
        print("keys")
        return list(self.held)

    def __getitem__(self, key):
        print("item", key)
        return self.held[key]


class Listed(collections.abc.Mapping):
    """A mapping by the abstract class of the standard library."""

    def __init__(self, **held):
        self.held = held

    def __iter__(self):
        print("iter")
        return iter(list(self.held))

    def __len__(self):
        return len(self.held)

    def __getitem__(self, key):
        print("item", key)
        return self.held[key]


class Loud(dict):
    """A dict whose class has its own way to give items and to run over them."""

    @property
    def held(self):
        return self

    def __iter__(self):
        print("iter")
        return iter(list(dict.keys(self)))

    def __getitem__(self, key):
        print("item", key)
        return super().__getitem__(key)


def taking_apart(cls):
    """A scenario: a mapping of this class is given as keywords, copied, and put into dicts."""

    def play():
        settings = cls(k=2.0, shift=1.0)

        def scaled(z, k, shift):
            return z * k + shift

        def f(z):
            filled = {"k": 0.0}
            filled.update(settings)
            z = scaled(z, **settings) + len({**settings}) + sum(dict(settings).values()) + filled["k"]
            return z + collections.OrderedDict(settings)["k"] + len("{k}".format(**settings))

        yield f
        dict.__setitem__(settings.held, "k", 7.0)
        yield f
        dict.__setitem__(settings.held, "more", 1.0)
        yield f

    play.__name__, play.__module__ = f"mappings_taken_apart_{cls.__name__.lower()}", __name__
    return footgun(play)


for mapping in (Settings, Listed, Loud):
    taking_apart(mapping)


@footgun
def views_of_a_dict_of_a_loud_class():
    table = Loud(k=2.0, n=3.0)

    def f(z):
        total = sum(value for _, value in table.items()) + sum(table.values()) + len(list(table.keys()))
        return z * total + len(list(table)) + table.get("k", 1.0) + len("%(k)s" % table) + len(str(table))

    yield f
    dict.__setitem__(table, "k", 7.5)
    yield f
    dict.__setitem__(table, "more", 1.0)
    yield f


@footgun
def arguments_checked_by_a_decorator():
    calls = []

    def checked(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            calls.append(len(args))
            if wrapper.limit and len(calls) > wrapper.limit:
                raise RuntimeError("called too often")
            return function(*args, **kwargs)

        wrapper.limit = 0
        return wrapper

    @checked
    def scaled(z, k=2.0):
        return z * k

    def f(z):
        return scaled(z) + scaled(z, 3.0) + scaled(z, k=constant(1.0, 1.0, 1.0))

    yield f
    scaled.__wrapped__.__defaults__ = (10.0,)
    yield f
    scaled.limit = 8
    yield f
