"""Functions of d2s and of Python that are replaced between calls, and objects that they ask untraced."""

from __future__ import annotations

import math
from typing import NamedTuple
from unittest import mock

import numpy as np

import d2s
from tests.footguns.stage import footgun, refused
from tests.footguns.things import x


class Around(d2s.nn.Layer):
    """A Layer of the user with one of d2s in it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, z):
        return self.inner(z) * 2


def _replaced(target, new, layer):
    """A scenario: a Layer alone and in another one, before, while and after something is replaced."""

    def play(stage):
        for wrap in (lambda inner: inner, Around):
            d2s.seed(0)
            function = stage.static(wrap(layer()))
            stage(function, x())
            with mock.patch(target, new):
                stage(function, x())
            stage(function, x())

    return play


def _sequential():
    return d2s.nn.Sequential(d2s.nn.Linear(3, 3), d2s.nn.ReLU(), d2s.nn.Dropout(0.0))


_call = d2s.nn.Layer.__call__
_scales = [3.0]
_REPLACED = {
    "functional_linear": (
        "d2s.nn.functional.linear", lambda z, weight, bias=None: z @ weight * _scales[0], _sequential),
    "functional_dropout": ("d2s.nn.functional.dropout", lambda z, **settings: z * 3, _sequential),
    "forward_of_linear": ("d2s.nn.Linear.forward", lambda self, z: z @ self.weight * 2, _sequential),
    "call_of_layers": (
        "d2s.nn.Layer.__call__", lambda self, *args: _call(self, *args) * 2, _sequential),
}
for _name, _case in _REPLACED.items():
    _play = _replaced(*_case)
    _play.__name__ = f"replaced_{_name}"
    footgun(_play)


@footgun
def functions_given_to_layers(stage):
    class Scale:
        k = 2.0

        def __call__(self, z):
            return z * self.k

        def method(self, z):
            return z * self.k

    scale, factor = Scale(), [2.0]
    d2s.seed(0)
    layer = d2s.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    function = stage.static(lambda z: layer(z.reshape([1, 1, 3]) @ d2s.ones([3, 4])))
    for given in (lambda z: z * factor[0], scale, scale.method, d2s.tanh):
        layer.activation = given
        for factor[0], scale.k in ((2.0, 2.0), (3.0, 5.0)):
            stage(function, x())


@footgun
def settings_that_a_class_computes(stage):
    class Fading(d2s.nn.Dropout):
        @property
        def p(self):
            return self.now

        @p.setter
        def p(self, value):
            self.now = value

    class Encoder(d2s.nn.TransformerEncoderLayer):
        k = 2.0

        def _feed_forward(self, z):
            return z * self.k

    d2s.seed(0)
    fading, encoder = Fading(0.5), Encoder(4, 2, 8, dropout=0.0)
    function = stage.static(lambda z: fading(encoder(z.reshape([1, 1, 3]) @ d2s.ones([3, 4]))))
    for now, k in ((0.0, 2.0), (0.0, 3.0), (1.0, 3.0), (0.0, 3.0)):
        vars(fading)["now"], vars(encoder)["k"] = now, k
        d2s.seed(0)
        stage(function, x())


@footgun
def replaced_functions(stage):
    calls = {
        "math.sqrt": (lambda value: 7.0, lambda z: z * math.sqrt(4.0)),
        "numpy.sin": (lambda value: 0.5, lambda z: z * float(np.sin(1.0))),
        "builtins.abs": (lambda value: 9.0, lambda z: z * abs(-2.0)),
        "d2s.tanh": (lambda value: value * 5, lambda z: d2s.tanh(z)),
        "d2s.Tensor.__mul__": (lambda left, right: left + right, lambda z: z * 2),
    }
    for target, (new, call) in calls.items():
        function = stage.static(call)
        stage(function, x())
        with mock.patch(target, new):
            stage(function, x())
        stage(function, x())


@footgun
def objects_behind_static_functions(stage):
    class Scale:
        k = 2.0

        def __call__(self, z):
            return z * self.k

        def method(self, z):
            return z + self.k

    scale = Scale()
    called, method = stage.static(scale), stage.static(scale.method)
    outer = stage.static(lambda z: called(z) + method(z))
    stage(outer, x())
    scale.k = 4.0
    stage(outer, x())
    del scale.k
    Scale.k = 9.0
    stage(outer, x())
    Scale.method = None
    stage(outer, x())


@footgun
def defaults_of_a_named_tuple(stage):
    class Scale(NamedTuple):
        k: float = 2.0

    function = stage.static(lambda z: z * Scale().k)
    stage(function, x())
    Scale.__new__.__defaults__ = (9.0,)
    stage(function, x())


@footgun
def index_by_an_object(stage):
    class Axis:
        k = 0

        def __index__(self):
            return self.k

    axis = Axis()
    function = stage.static(lambda z: d2s.ones([2, 3]).sum(axis) * d2s.ones([axis, 1]).sum() + z.sum())
    stage(function, x())
    axis.k = 1
    stage(function, x())


@footgun
def divmod_of_an_object(stage):
    class Number:
        k = 1.0

        def __divmod__(self, other):
            return self.k, other

        def __rdivmod__(self, other):
            return other, self.k

    number = Number()
    function = stage.static(lambda z: z * divmod(number, 2)[0] + divmod(3, number)[1])
    stage(function, x())
    number.k = 2.0
    stage(function, x())


_ASKED = "a function of d2s would ask it while tracing"


@refused(_ASKED)
def array_of_an_object(stage):
    class Reading:
        k = 1.0

        def __array__(self, dtype=None, copy=None):
            return np.full(3, self.k, dtype="float32")

    reading = Reading()
    function = stage.static(lambda z: z * d2s.to_tensor(reading))
    stage(function, x())


@refused(_ASKED)
def sequence_of_the_user(stage):
    class Sizes:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return (3, 1)[index]

    function = stage.static(lambda z: d2s.reshape(z, Sizes()))
    stage(function, x())


@footgun
def functions_that_numpy_calls(stage):
    scale = [2.0]
    vectorized = np.vectorize(lambda value: value * scale[0])
    made = np.frompyfunc(lambda value: value * scale[0], 1, 1)
    function = stage.static(lambda z: z * float(vectorized(2.0)) + float(made(3.0)))
    stage(function, x())
    scale[0] = 3.0
    stage(function, x())


@footgun
def evaluated_text(stage):
    scale = [2.0]
    globals()["_FACTOR"] = 2.0

    def f(z):
        return z * eval("scale[0] * 2", {"scale": scale}) + eval("_FACTOR", globals())

    f = stage.static(f)
    stage(f, x())
    scale[0], globals()["_FACTOR"] = 3.0, 5.0
    stage(f, x())


@refused("what `eval` runs may look at all names of the function")
def evaluated_in_the_frame(stage):
    scale = 2.0  # noqa: F841

    def f(z):
        stage.log.append("called")
        return z * eval("len('ab')")

    stage(stage.static(f), x())


@footgun
def initializers_for_all(stage):
    function = stage.static(lambda z: d2s.nn.Linear(3, 3)(z))
    for initializer in (None, d2s.nn.initializer.Constant(1.0), None):
        d2s.nn.initializer.set_global_initializer(initializer)
        d2s.seed(0)
        stage(function, x())
