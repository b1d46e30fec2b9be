"""Special methods that give what Python does not take, and modules that make up their attributes."""

from __future__ import annotations

import sys
import types

from tests.footguns.stage import footgun
from tests.footguns.things import Box, constant, x


class Answering:
    """Its special methods give what `answers` holds under their names."""

    answers: dict = {}


def _special(name):
    def method(self, *args):
        print(name, len(args))
        return self.answers[name]

    return method


for _name in (
    "__bool__", "__len__", "__str__", "__repr__", "__format__", "__index__", "__int__", "__float__", "__iter__",
    "__contains__", "__hash__", "__eq__", "__lt__", "__exit__", "__enter__", "__getitem__", "__call__", "__abs__",
    "__reversed__", "__bytes__", "__complex__", "__round__",
):
    setattr(Answering, _name, _special(_name))


def asked(name, use, *answers):
    """A scenario: `use` asks an object, which gives one answer after the other."""

    def play(stage):
        one = Answering()
        f = stage.static(lambda z: use(z, one))
        for answer in answers:
            Answering.answers = {name: answer}
            stage(f, x())

    play.__name__ = "answers_of_" + name.strip("_") + "_" + use.__name__.strip("_")
    return footgun(play)


def conditions(z, one):
    if one:
        z = z + 1
    return z * 2 if not one else z


def conversions(z, one):
    return z * (2.0 if bool(one) else 3.0)


def lengths(z, one):
    return z * len(one)


def texts(z, one):
    return z * len(str(one))


def shown(z, one):
    return z * len(repr(one))


def formatted(z, one):
    return z * len(f"{one:>3}")


def places(z, one):
    return z * [1.0, 2.0, 3.0][one]


def whole_numbers(z, one):
    return z * int(one)


def numbers(z, one):
    return z * float(one)


def loops(z, one):
    for part in one:
        z = z * part
    return z


def members(z, one):
    return z * (2.0 if 3 in one else 5.0)


def comparisons(z, one):
    return z * (2.0 if one == 3 else 5.0) + (one < 2)


def items(z, one):
    return z * one[1]


def calls(z, one):
    return z * one(1)


def sizes(z, one):
    return z * abs(one)


class Doubt:
    """Says of itself that it is false."""

    def __bool__(self):
        print("doubt")
        return False


asked("__bool__", conditions, True, False, 1, None, "a", True)
asked("__bool__", conversions, True, 0, False, 2.0, constant(1.0))
asked("__len__", lengths, 2, 0, -1, True, "a", 2.0, None, 3)
asked("__str__", texts, "ab", "c", 3, None, "abc")
asked("__repr__", shown, "ab", 3, "abc")
asked("__format__", formatted, "ab", 3, "abc")
asked("__index__", places, 1, -1, 5, "a", 1.0)
asked("__int__", whole_numbers, 1, 2.0, "a")
asked("__float__", numbers, 1.0, 2, float("nan"), "a", True)
asked("__iter__", loops, iter(()), [1.0], 3, None)
asked("__contains__", members, True, False, 1, 0, "", "a", None, Doubt())
asked("__eq__", comparisons, True, False)
asked("__getitem__", items, 2.0, 3, None, constant())
asked("__call__", calls, 2.0, None, constant())
asked("__abs__", sizes, 2.0, constant(), None)


@footgun
def answers_of_managers(stage):
    box = Box(answer=None)

    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *details):
            return box.answer

    manager = Manager()

    def f(z):
        with manager:
            raise ValueError("planned")
        return z * 2

    f = stage.static(f)
    for answer in (None, True, 1, 0, "", "a", Doubt(), [], [0]):
        box.answer = answer
        stage(f, x())


@footgun
def constructors_that_give_something(stage):
    box = Box(answer=None)

    class Made:
        def __init__(self, k):
            self.k = k
            return box.answer

    def f(z):
        return z * Made(2.0).k

    f = stage.static(f)
    for answer in (None, 3, None):
        box.answer = answer
        stage(f, x())


@footgun
def constructors_that_give_others(stage):
    box = Box(other=None)

    class Made:
        k = 1.0

        def __new__(cls, k):
            return object.__new__(cls) if box.other is None else box.other

        def __init__(self, k):
            self.k = k

    def f(z):
        return z * Made(2.0).k

    f = stage.static(f)
    for other in (None, Box(k=5.0), None, Made(7.0)):
        box.other = other
        stage(f, x())
        stage.note(None if other is None else other.k)


@footgun
def modules_that_make_up_their_attributes():
    module = types.ModuleType("footgun_lazy")
    module.values = {"scale": 2.0}

    def made(name):
        print("asked for", name)
        return module.values[name]

    module.__getattr__ = made

    def f(z):
        return z * module.scale + module.scale

    yield f
    yield f
    module.values["scale"] = 3.0
    yield f
    module.scale = 4.0
    yield f
    del module.scale, module.values["scale"]
    yield f


@footgun
def modules_that_remember_what_they_made_up():
    module = types.ModuleType("footgun_lazy")

    def made(name):
        print("asked for", name)
        value = len(name) / 2
        setattr(module, name, value)
        return value

    module.__getattr__ = made

    def f(z):
        return z * module.scale

    yield f
    yield f
    del module.scale
    yield f


@footgun
def modules_of_a_class_of_the_user():
    class Lazy(types.ModuleType):
        k = 2.0

        @property
        def scale(self):
            print("scale")
            return self.k

        @scale.setter
        def scale(self, value):
            print("set")
            self.k = value

    module = Lazy("footgun_class")
    sys.modules["footgun_class"] = module

    def f(z):
        import footgun_class

        module.scale = module.scale + 1
        return z * footgun_class.scale

    try:
        yield f
        yield f
        module.k = 7.0
        yield f
        Lazy.scale = 9.0
        yield f
    finally:
        del sys.modules["footgun_class"]


@footgun
def modules_that_change_their_class():
    class Lazy(types.ModuleType):
        @property
        def scale(self):
            return 11.0

    module = types.ModuleType("footgun_class")
    module.scale = 2.0

    def f(z):
        return z * module.scale

    yield f
    module.__class__ = Lazy
    yield f
    module.__class__ = types.ModuleType
    yield f
