"""Classes: how they make objects, what they inherit, what they are asked, and how calls are dispatched by them."""

from __future__ import annotations

import abc
import contextlib
import copy
import dataclasses
import functools
import sys
import types

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, x

factor = 2.0
made = []


# --- how objects are made -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Post:
    a: float
    b: float = 0.0
    log: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.b = self.a * factor
        self.log.append("post")
        made.append("made")


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    scale: dataclasses.InitVar[float] = 1.0
    b: object = dataclasses.field(init=False, default=0.0)

    def __post_init__(self, scale):
        object.__setattr__(self, "b", self.a * scale)


@dataclasses.dataclass(slots=True)
class Slotted:
    a: object
    b: float = dataclasses.field(init=False, default=3.0)


@footgun
def post_init(stage):
    global factor
    made.clear()
    stage.watch(made)

    def f(z, k):
        post = Post(k)
        if z.sum() > 0:
            return Post(post.b, log=["x"]).b * z, post.log
        return z * post.b, post.log

    f = stage.static(f)
    for factor, k in ((2.0, 1.0), (2.0, 1.0), (5.0, 1.0), (5.0, 3.0)):
        for value in (1.0, -1.0):
            stage(f, x(value), k)
    stage(f, x(), x(2.0).sum())
    factor = 2.0


@footgun
def frozen_and_slotted_dataclasses(stage):
    def f(z, k):
        first = Frozen(z, k)
        return first.b, dataclasses.replace(first, a=z * 2, scale=k).b, Slotted(z).b * z, Frozen(z).b

    f = stage.static(f)
    for k in (1.0, 2.0, 2.0, 3.0):
        stage(f, x(), k)


@footgun
def post_init_replaced(stage):
    @dataclasses.dataclass
    class Thing:
        a: object

        def __post_init__(self):
            self.c = self.a * 2

    stage.around(
        lambda z: Thing(z).c,
        lambda: setattr(Thing, "__post_init__", lambda self: setattr(self, "c", self.a - 1)),
        lambda: setattr(Thing, "__post_init__", lambda self: setattr(self, "c", self.a - 3)))


@footgun
def default_factory_with_state(stage):
    seen = []

    def factory():
        seen.append(1)
        return [len(seen)]

    @dataclasses.dataclass
    class Thing:
        a: object
        b: list = dataclasses.field(default_factory=factory)

    def f(z):
        thing = Thing(z)
        return thing.a * thing.b[0]

    stage.watch(seen)
    stage.around(f, lambda: None, lambda: None)


@footgun
def wrong_arguments_of_a_dataclass(stage):
    f = stage.static(lambda z, count: Post(*[z] * count).a)
    for count in (1, 0, 5):
        stage(f, x(), count)


@footgun
def metaclass_call(stage):
    seen = []

    class Meta(type):
        def __call__(cls, *args):
            seen.append(cls.__name__)
            return super().__call__(*args)

    class Thing(metaclass=Meta):
        def __init__(self, k):
            self.k = k

    stage.watch(seen)
    stage.around(
        lambda z: z * Thing(3.0).k, lambda: None, lambda: setattr(Meta, "__call__", lambda cls, k: Box(k=k * 5)))


@footgun
def singletons_and_counters_in_new(stage):
    class One:
        one = None

        def __new__(cls):
            if cls.one is None:
                cls.one = super().__new__(cls)
                cls.one.n = 0
            return cls.one

    class Counted:
        made = 0

        def __new__(cls, k):
            cls.made += 1
            return super().__new__(cls)

        def __init__(self, k):
            self.k = k

    def f(z):
        one = One()
        one.n += 1
        return z * one.n * Counted(3.0).k + Counted.made

    stage.around(f, lambda: None, lambda: None, lambda: setattr(One, "one", None))


@refused("a class made inside, from a base that acts when a class is made from it")
def init_subclass(stage):
    seen = []

    class Base:
        def __init_subclass__(cls):
            seen.append(cls.__name__)

    def f(z):
        class Derived(Base):
            k = 2.0

        return z * Derived.k

    stage.watch(seen)
    stage(stage.static(f), x())


@footgun
def decorators_inside(stage):
    seen = []

    def register(thing):
        seen.append(thing.__name__)
        if isinstance(thing, type):
            thing.k = len(seen)
            return thing

        @functools.wraps(thing)
        def doubled(*args):
            return thing(*args) * 2

        return doubled

    def f(z):
        @register
        class Thing:
            pass

        @register
        def g(y):
            return y + Thing.k

        return g(z)

    stage.watch(seen)
    stage.around(f, lambda: None, lambda: None)


# --- what they inherit, and what they are asked -----------------------------------------------------------------------


@footgun
def bases_changed(stage):
    class First:
        def g(self, z):
            return z * 2

    class Second:
        def g(self, z):
            return z * 3

    class Direct(First):
        pass

    class BySuper(First):
        def g(self, z):
            return super().g(z) + 1

    things = Direct(), BySuper()

    def rebase(base):
        Direct.__bases__ = BySuper.__bases__ = (base,)

    stage.around(
        lambda z: things[0].g(z) + things[1].g(z), lambda: setattr(First, "g", lambda self, z: z * 7),
        lambda: rebase(Second), lambda: setattr(Second, "g", lambda self, z: z * 11), lambda: rebase(First))


@footgun
def getattr_until_there_is_one(stage):
    class Thing:
        def __getattr__(self, name):
            return 5.0

    thing = Thing()
    stage.around(
        lambda z: z * thing.k, lambda: setattr(thing, "k", 3.0), lambda: delattr(thing, "k"),
        lambda: setattr(Thing, "k", 9.0), lambda: delattr(Thing, "k"))


@footgun
def abstract_class_registered(stage):
    class Abstract(abc.ABC):
        pass

    class Thing:
        pass

    class Other:
        pass

    thing = Thing()

    def f(z):
        z = z * 2 if isinstance(thing, Abstract) else z * 3
        return z + issubclass(Other, Abstract) + isinstance(z, Abstract) * 10

    stage.around(
        f, lambda: Abstract.register(Thing), lambda: Abstract.register(Other), lambda: Abstract.register(d2s.Tensor))


@footgun
def instance_check_of_a_metaclass(stage):
    box = Box(flag=True)

    class Meta(type):
        def __instancecheck__(cls, thing):
            stage.log.append("asked")
            return box.flag

    class Thing(metaclass=Meta):
        pass

    stage.around(
        lambda z: z * 2 if isinstance(z, Thing) or isinstance(3, (str, Thing)) else z * 3,
        lambda: setattr(box, "flag", False))


@footgun
def class_becomes_a_subclass(stage):
    class First:
        pass

    class Second:
        pass

    class Thing(Second):
        pass

    thing = Thing()

    def f(z):
        return z * issubclass(Thing, First) + isinstance(thing, First | int)

    stage.around(f, lambda: setattr(Thing, "__bases__", (First,)))


@footgun
def class_comes_to_define_methods(stage):
    class Thing:
        def __init__(self, k):
            self.k = k

    first, second = Thing(1), Thing(1)

    def f(z):
        z = first(z) if callable(first) else z * 3
        return z * 2 if first == second else z * 5

    stage.around(
        f, lambda: setattr(Thing, "__call__", lambda self, z: z * 9),
        lambda: setattr(Thing, "__call__", lambda self, z: z * 8), lambda: delattr(Thing, "__call__"),
        lambda: setattr(Thing, "__eq__", lambda self, other: self.k == other.k), lambda: setattr(second, "k", 2))


# --- dispatch, imports, copies ----------------------------------------------------------------------------------------


@footgun
def single_dispatch(stage):
    @functools.singledispatch
    def g(k):
        return 1

    class Thing:
        @functools.singledispatchmethod
        def h(self, k):
            return 2

        @h.register
        def _(self, k: int):
            stage.log.append("int")
            return 3

    thing = Thing()
    f = stage.static(lambda z, k: g(z) * g(k) + thing.h(k))
    stage(f, x(), 1)
    g.register(int, lambda k: k * 5)
    for k in (1, 2, "a"):
        stage(f, x(), k)
    g.register(d2s.Tensor, lambda k: stage.log.append("tensor") or k * 2)
    stage(f, x(), 1)


@footgun
def import_inside(stage):
    name = "a_module_of_the_footguns"

    def put(k):
        module = types.ModuleType(name)
        module.k = k
        sys.modules[name] = module

    def f(z):
        import a_module_of_the_footguns as module
        from a_module_of_the_footguns import k

        return z * k + module.k

    put(2.0)
    stage.around(
        f, lambda: setattr(sys.modules[name], "k", 3.0), lambda: put(7.0), lambda: setattr(sys.modules[name], "k", x()),
        lambda: sys.modules.pop(name))


@footgun
def shallow_copy_of_a_layer(stage):
    class Net(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.weight = d2s.nn.Parameter([1.0, 2.0, 3.0])
            self.k = 2.0

        def forward(self, z):
            return z * self.weight * self.k

    net = stage.static(Net())
    stage(net, x())
    other = copy.copy(net)
    other.k = 7.0
    for found in (net, other):
        stage(found, x())
    net.weight.set_value([3.0, 2.0, 1.0])
    for found in (net, other):
        stage(found, x())


@footgun
def methods_added_to_tensors():
    def f(z):
        y = z * 2
        if hasattr(y, "twice"):
            y = y.twice() + y.half
        return y + d2s.Tensor.twice(z) if hasattr(d2s.Tensor, "twice") else y

    yield f
    d2s.Tensor.half = property(lambda self: self * 0.5)
    try:
        for factor in (2.0, 3.0):
            d2s.Tensor.twice = lambda self, factor=factor: self * factor
            yield f
    finally:
        del d2s.Tensor.twice, d2s.Tensor.half
    yield f


@contextlib.contextmanager
def replaced(name, function):
    """Another attribute of the class of tensors, which has none of that name itself."""
    assert name not in vars(d2s.Tensor)
    setattr(d2s.Tensor, name, function)
    try:
        yield
    finally:
        delattr(d2s.Tensor, name)


@footgun
def method_of_tensors_replaced(stage):
    @stage.static
    def f(z):
        return (z * 2).sum() + d2s.nn.functional.softmax(z).max()

    stage(f, x())
    kept = d2s.Tensor.sum
    for factor in (7.0, 9.0):
        with replaced("sum", lambda self, factor=factor: kept(self) * factor):
            stage(f, x())
            d2s.Tensor.sum = kept
            stage(f, x())
        stage(f, x())


@footgun
def operators_of_tensors_replaced(stage):
    @stage.static
    def f(z):
        return z @ z + 1.0 if hasattr(z, "__matmul__") else z

    @stage.static
    def shifted(z):
        return (z >> 3) * 2.0

    stage(f, x())
    kept = d2s.Tensor.__matmul__
    with replaced("__matmul__", lambda self, other: kept(self, other) * 3.0):
        stage(f, x())
    stage(f, x())
    with contextlib.suppress(TypeError):
        stage(shifted, x())
    with replaced("__rshift__", lambda self, number: self * number):
        stage(shifted, x())
    stage(f, x())


@footgun
def method_of_tensors_replaced_by_one_with_branches(stage):
    @stage.static
    def f(z):
        return z.abs() + 1.0

    def absolute(self):
        return self if self.sum() > 0 else -self

    stage(f, x())
    with replaced("abs", absolute):
        stage(f, x())
        stage(f, -x())
    stage(f, -x())
