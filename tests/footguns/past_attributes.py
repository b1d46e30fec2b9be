"""Objects and Layers that are changed past their attributes, and objects that become something else."""

from __future__ import annotations

import typing

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import x


@footgun
def mro(stage):

    class A:
        k = 1.0

    a = A()

    def f(z):
        return z * len(type(a).__mro__) + (10 if type(a) is A else 20)

    f = stage.static(f)
    stage(f, x())
    a.__class__ = type("D", (A,), {})
    stage(f, x())


@footgun
def class_name(stage):

    class A:
        k = 1.0

    a = A()

    def f(z):
        return z * len(type(a).__name__) + len(a.__class__.__qualname__)

    f = stage.static(f)
    stage(f, x())
    a.__class__ = type("Dxxxx", (A,), {})
    stage(f, x())
    A.__name__ = "AA"
    stage(f, x())
    type(a).__name__ = "Bbbbbb"
    stage(f, x())
    type(a).__qualname__ = "Q"
    stage(f, x())


@footgun
def class_swapped_repr(stage):

    class A:
        k = 1.0

    a = A()

    def f(z):
        return z * (2.0 if isinstance(a, A) else 3.0)

    f = stage.static(f)
    stage(f, x())
    a.__class__ = type("Dxxxx", (), {})
    stage(f, x())


@footgun
def protocol(stage):

    class A:
        pass

    a = A()

    @typing.runtime_checkable
    class HasQ(typing.Protocol):
        q: float

    def f(z):
        return z * 3 if isinstance(a, HasQ) else z * 2

    f = stage.static(f)
    stage(f, x())
    a.q = 1
    stage(f, x())
    del a.q
    stage(f, x())


@footgun
def protocol_method(stage):

    class A:
        pass

    a = A()

    @typing.runtime_checkable
    class HasM(typing.Protocol):
        def m(self): ...

    def f(z):
        if issubclass(type(a), HasM):
            z = z + 1
        return z * 3 if isinstance(a, HasM) else z * 2

    f = stage.static(f)
    stage(f, x())
    A.m = lambda s: 1
    stage(f, x())
    del A.m
    stage(f, x())
    a.m = 1
    stage(f, x())


@footgun
def layer_dict_write(stage):

    class W(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = 1.0
            self.l = d2s.nn.Linear(3, 3)

        def forward(self, z):
            return self.l(z) * self.a

    d2s.seed(0)
    w = W()
    s = stage.static(w)
    stage(s, x())
    stage(s, x())
    w.__dict__["a"] = 5.0
    stage(s, x())
    vars(w)["a"] = 6.0
    stage(s, x())


@footgun
def methods_put_into_layers(stage):
    class Net(d2s.nn.Layer):
        def forward(self, z):
            return self.scaled(z)

        def scaled(self, z):
            return z * 2

    net = Net()
    s = stage.static(net)
    stage(s, x())
    stage(s, x())
    net.__dict__["scaled"] = lambda z: z * 7
    stage(s, x())
    object.__setattr__(net, "scaled", lambda z: z - 7)
    stage(s, x())
    del net.__dict__["scaled"]
    stage(s, x())


@footgun
def layer_object_setattr(stage):

    class W(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = 1.0

        def forward(self, z):
            return z * self.a

    w = W()
    s = stage.static(w)
    stage(s, x())
    stage(s, x())
    object.__setattr__(w, "a", 5.0)
    stage(s, x())


@footgun
def layer_registry_write(stage):
    d2s.seed(0)
    w = d2s.nn.Linear(3, 3)
    s = stage.static(w)
    stage(s, x())
    stage(s, x())
    w._parameters["bias"] = None
    stage(s, x())


@footgun
def layer_registry_write2(stage):

    class W(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.l = d2s.nn.Linear(3, 3)
            self.register_buffer("b", d2s.ones([3]))

        def forward(self, z):
            return self.l(z) * self.b

    d2s.seed(0)
    w = W()
    s = stage.static(w)
    stage(s, x())
    stage(s, x())
    w._sub_layers["l"] = d2s.nn.ReLU()
    stage(s, x())
    stage(s, x())
    w._buffers["b"] = d2s.to_tensor([1.0, 2.0, 3.0])
    stage(s, x())
    stage(s, x())
    w._buffers["b"] = d2s.to_tensor([1, 2, 3])
    stage(s, x())
    w._sub_layers.update(l=d2s.nn.Tanh())
    stage(s, x())


@footgun
def layer_hooks_table_write(stage):
    d2s.seed(0)
    w = d2s.nn.Linear(3, 3)
    s = stage.static(w)
    w.register_forward_post_hook(lambda parts, i, o: o * 3)
    stage(s, x())
    stage(s, x())
    w._forward_post_hooks.clear()
    stage(s, x())


@footgun
def container_private(stage):
    d2s.seed(0)
    w = d2s.nn.Sequential(d2s.nn.Linear(3, 3), d2s.nn.ReLU())
    s = stage.static(w)
    stage(s, x())
    stage(s, x())
    w._sub_layers.pop("1")
    stage(s, x())
    stage(s, x())
    w[0]._parameters["weight"] = d2s.nn.Linear(3, 3).weight
    stage(s, x())


@footgun
def shadow(stage):

    class D:
        def __get__(self, o, t=None):
            return 2.0

    class A:
        s = D()

    a = A()

    def f(z):
        return z * a.s

    f = stage.static(f)
    stage(f, x())
    a.__dict__["s"] = 3.0
    stage(f, x())


@footgun
def shadow_attr_of_class(stage):

    class A:
        s = 2.0
        parts = [1.0]

        def m(self):
            return 3.0

        @staticmethod
        def st():
            return 4.0

        @classmethod
        def cm(cls):
            return 5.0

    a = A()

    def f(z):
        return z * a.s + a.l[0] + a.m() + a.st() + a.cm()

    f = stage.static(f)
    stage(f, x())
    a.s = 9.0
    stage(f, x())
    a.l = [2.0]
    stage(f, x())
    a.m = lambda: 7.0
    stage(f, x())
    a.st = lambda: 8.0
    stage(f, x())
    a.cm = lambda: 80.0
    stage(f, x())


@footgun
def getattr_then_own(stage):

    class A:
        def __getattr__(self, n):
            return 2.0

    a = A()

    def f(z):
        return z * a.s

    f = stage.static(f)
    stage(f, x())
    a.s = 3.0
    stage(f, x())
    del a.s
    stage(f, x())
    A.s = 6.0
    stage(f, x())


@footgun
def vars_of_object(stage):

    class A:
        def __init__(self):
            self.q = 1.0

        def f(self, z):
            return z * self.q

    A.f = stage.static(A.f)
    a = A()
    stage(a.f, x())
    stage.note(list(vars(a)), len(a.__dict__), repr(sorted(a.__dict__)))


@footgun
def vars_in_method(stage):

    class A:
        def __init__(self):
            self.q = 1.0
            self.r = 2.0

        def f(self, z):
            for k, v in vars(self).items():
                z = z * v + len(k)
            return (
                z
                + len(self.__dict__)
                + sum(self.__dict__.values())
                + ("q" in vars(self))
                + list(self.__dict__)[-1].count("r")
            )

    A.f = stage.static(A.f)
    a = A()
    stage(a.f, x())
    a.s = 5.0
    stage(a.f, x())
    del a.q
    stage(a.f, x())


@footgun
def repr_from_vars_in_method(stage):

    class A:
        def __init__(self):
            self.q = 1.0

        def __repr__(self):
            return f"A({self.__dict__})"

        def __eq__(self, o):
            return vars(self) == vars(o)

        __hash__ = None

        def f(self, z):
            return (z, repr(self), self == self, str(vars(self)))

    A.f = stage.static(A.f)
    a = A()
    stage(a.f, x())
    stage(a.f, x())


@footgun
def spectral_setattr_hook(stage):
    d2s.seed(0)
    parts = d2s.nn.Linear(3, 3)
    v = parts.weight
    del parts.weight
    parts.v = v
    parts.weight = v * 2

    def pre(layer, inputs):
        object.__setattr__(layer, "weight", layer.v / layer.v.norm())

    parts.register_forward_pre_hook(pre)
    s = stage.static(parts)
    stage.watch(v)
    stage(s, x())
    stage(s, x())
    v.set_value(d2s.ones([3, 3]))
    stage(s, x())


@refused("a table of a Layer changed by hand: its attributes would have to show it in the same call")
def layer_registries_in_forward(stage):
    d2s.seed(0)

    class N(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([3])
            self.register_buffer("b", d2s.ones([3]))
            self.l = d2s.nn.ReLU()

        def forward(self, z):
            for k, v in self._parameters.items():
                z = z * v
            self._buffers["b"] = self._buffers["b"] + 1
            for parts in self._sub_layers.values():
                z = parts(z)
            return z * self._buffers["b"] + self.b + self._parameters["w"] + ("w" in self._parameters)

    n = N()
    s = stage.static(n)
    stage.watch(n._buffers["b"])
    stage(s, x())
    stage(s, x())
    n._sub_layers["m"] = d2s.nn.Tanh()
    stage(s, x())
    stage.note(n.b)


@footgun
def instance_attr_shadows_nondata_descriptor(stage):

    class D:
        def __get__(self, o, t=None):
            return 2.0

    class A:
        s = D()

    a = A()

    def f(z):
        return z * a.s

    f = stage.static(f)
    stage(f, x())
    a.__dict__["s"] = 3.0
    stage(f, x())
    del a.__dict__["s"]
    stage(f, x())
    D.__set__ = lambda s, o, v: None
    a.__dict__["s"] = 9.0
    stage(f, x())


@footgun
def metaclass_attribute(stage):

    class M(type):
        @property
        def scale(cls):
            return cls._s * 2

        def __getitem__(cls, i):
            return cls._s + i

        def __len__(cls):
            return int(cls._s)

        def __iter__(cls):
            return iter([cls._s, 1.0])

        def __contains__(cls, v):
            return v == cls._s

        def __bool__(cls):
            return cls._s > 2

    class A(metaclass=M):
        _s = 2.0

    def f(z):
        r = z * A.scale + A[1] + len(A) + sum(A)
        if 2.0 in A:
            r = r * 3
        if A:
            r = r - 1
        return r

    f = stage.static(f)
    for A._s in (2.0, 3.0, 2.0, 5.0):
        stage(f, x())
    M.__getitem__ = lambda cls, i: 100 * i
    stage(f, x())
    M.scale = property(lambda cls: 7.0)
    stage(f, x())
