"""Grad mode in static functions: decorators, managers and switches act as in eager mode, and never leak."""

from __future__ import annotations

import contextlib
import functools

import pytest

import d2s as paddle
from d2s.jit import not_to_static, to_static

CASES = {}


def case(make):
    """Enter a maker of programs: it gets `to_static` or a stand-in for it and returns a function of one tensor."""
    CASES[make.__name__] = make
    return make


@paddle.no_grad()
def double(t):
    return t * 2


@paddle.enable_grad
def recorded(t):
    return t * 3


def told(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args) + 1

    return call


@case
def a_helper(static):
    return static(lambda x: (x * double(x), double(x), paddle.is_grad_enabled()))


@case
def enabled_inside(static):
    def f(x):
        with paddle.no_grad():
            h, k = recorded(x), x * 3
        return h, k, paddle.is_grad_enabled()

    return static(f)


@case
def a_switch_as_decorator(static):
    @paddle.set_grad_enabled(False)
    def off(t):
        return t * 2

    return static(lambda x: (x + off(x), paddle.is_grad_enabled()))


@case
def static_above(static):
    @static
    @paddle.no_grad()
    def f(x):
        return x * 2

    return f


@case
def static_below(static):
    @paddle.no_grad()
    @static
    def f(x):
        return x * 2

    return f


@case
def static_inside_of_static(static):
    inner = static(double)
    return static(lambda x: x * inner(x))


@case
def two_decorators(static):
    on, off = paddle.no_grad()(recorded), paddle.enable_grad()(double)
    return static(lambda x: (on(x) * off(x), on(x), off(x)))


@case
def decorators_of_the_user(static):
    above, below = told(double), paddle.no_grad(told(lambda t: t * 2))
    return static(lambda x: x * above(x) * below(x))


@case
def made_inside(static):
    def f(x):
        @paddle.no_grad()
        def inner(t):
            return t * x

        return x * inner(x), paddle.no_grad()(lambda t: t * x)(x)

    return static(f)


class Thing:
    @paddle.no_grad()
    def method(self, t):
        return t * 2

    @staticmethod
    @paddle.no_grad()
    def plain(t):
        return t * 3

    @classmethod
    @paddle.no_grad()
    def of_class(cls, t):
        return t * 4

    @paddle.no_grad()
    def __call__(self, t):
        return t * 5

    @paddle.no_grad()
    def __mul__(self, t):
        return t * 6


@case
def methods(static):
    thing = Thing()
    return static(lambda x: x + thing.method(x) * thing.plain(x) * Thing.of_class(x) * thing(x) * (thing * x))


@case
def a_layer(static):
    class Net(paddle.nn.Layer):
        @paddle.no_grad()
        def forward(self, t):
            return t * 2

    net = Net()
    wrapped = paddle.no_grad()(paddle.nn.ReLU())
    return static(lambda x: x * net(x) + wrapped(x))


@case
def map_and_partial(static):
    return static(lambda x: x * next(map(double, [x])) * functools.partial(double, x)())


@paddle.no_grad()
def turns(t):
    for factor in range(3):
        sent = yield t * factor
        t = t if sent is None else sent
        yield paddle.is_grad_enabled()


@case
def a_generator(static):
    def f(x):
        generator = turns(x)
        first, mode = next(generator), generator.send(x * 5)
        return x + first, next(generator), mode, paddle.is_grad_enabled()

    return static(f)


@case
def a_generator_that_is_thrown_into(static):
    @paddle.no_grad()
    def values(t):
        try:
            yield t
        except ValueError:
            yield t * 100

    def f(x):
        generator = values(x)
        a = next(generator)
        return x * a + x * generator.throw(ValueError()), paddle.is_grad_enabled()

    return static(f)


@case
def a_generator_in_a_generator(static):
    @paddle.enable_grad()
    def outer(t):
        inside = yield from turns(t)
        yield t * 2
        return inside

    return static(lambda x: [part if part in (True, False) else part * x for part in [*outer(x)][1::2]])


@case
def a_branch_inside(static):
    @paddle.no_grad()
    def signed(t):
        if t.sum() > 0:
            return t * 2
        return t * 5

    return static(lambda x: (x * signed(x), signed(x)))


@case
def a_loop_inside(static):
    @paddle.no_grad()
    def grown(t):
        while t.sum() < 5:
            t = t + t * t + 1
        return t

    return static(lambda x: (x * grown(x), grown(x)))


@case
def a_recursion(static):
    @paddle.no_grad()
    def power(n, t):
        return t if n == 0 else power(n - 1, t * t)

    return static(lambda x: x * power(3, x))


@case
def in_a_branch(static):
    def f(x):
        y = double(x) if x.sum() > 0 else recorded(x)
        return x * y, paddle.is_grad_enabled()

    return static(f)


@case
def an_exception(static):
    @paddle.no_grad()
    def positive(t):
        if t.sum() < 0:
            raise ValueError("negative")
        return t * 2

    def f(x):
        try:
            y = positive(x)
        except ValueError:
            y = x * 7
        return x * y, paddle.is_grad_enabled()

    return static(f)


@case
def an_exception_that_leaves(static):
    @paddle.no_grad()
    def positive(t):
        if t.sum() < 0:
            raise ValueError("negative")
        return t * 2

    return static(lambda x: x * positive(x))


@case
def hooks(static):
    @told
    def plain(g):
        return g * g

    def f(x):
        y = x * 2
        made = told(lambda g: g + y)
        y.register_hook(paddle.enable_grad()(lambda g: g * g + double(y)))
        y.register_hook(paddle.no_grad()(lambda g: g + 1))
        y.register_hook(made)
        y.register_hook(plain)
        return y * y

    return static(f)


@case
def registered_inside(static):
    @paddle.no_grad()
    def hooked(t):
        t.register_hook(lambda g: g + 1)
        t.register_hook(lambda g: g * g)
        return t * 2

    def f(x):
        y = x * 3
        return y * y * hooked(y)

    return static(f)


@case
def a_manager_from_outside(static):
    off = paddle.no_grad()
    decorated = off(lambda t: t * 4)

    def f(x):
        with off:
            a = x * 2
            with off:
                b = x * 3
        with contextlib.ExitStack() as stack:
            stack.enter_context(off)
            c = x * 3
        off.__enter__()
        d = x * 3
        off.__exit__(None, None, None)
        return x * a, b, c, d, decorated(x), paddle.is_grad_enabled()

    return static(f)


@case
def another_manager_each_time(static):
    holder = [paddle.no_grad(), paddle.enable_grad()]

    def f(x):
        with holder[0]:
            a = x * 2
        return x * a, a

    converted = static(f)

    def call(x):
        holder.reverse()
        return converted(x)

    return call


@case
def switched(static):
    def f(x):
        paddle.set_grad_enabled(False)
        a = x * 2
        paddle.set_grad_enabled(True)
        return x * a, a

    return static(f)


@case
def switched_for_good(static):
    def f(x):
        a = x * 2
        paddle.set_grad_enabled(False)
        return a, x * 3

    return static(f)


@case
def switched_in_a_branch(static):
    def f(x):
        if x.sum() > 0:
            paddle.set_grad_enabled(False)
        a = x * 2
        mode = paddle.is_grad_enabled()
        paddle.set_grad_enabled(True)
        return x * a, a, mode

    return static(f)


@case
def switched_in_a_loop(static):
    def f(x):
        s = x
        while s.sum() < 10:
            s = s + s * s + 1
            paddle.set_grad_enabled(False)
        paddle.set_grad_enabled(True)
        return s * x

    return static(f)


@case
def switched_before_an_exception(static):
    def f(x):
        paddle.set_grad_enabled(False)
        if x.sum() < 0:
            raise ValueError("negative")
        raise KeyError("positive")

    return static(f)


@case
def code_that_is_not_traced(static):
    @not_to_static
    def looks(t):
        return [paddle.is_grad_enabled(), (t * 2).stop_gradient]

    @paddle.no_grad()
    def quiet(t):
        return looks(t)

    inside, above = paddle.no_grad()(looks), not_to_static(paddle.no_grad(looks))

    def f(x):
        with paddle.no_grad():
            a = looks(x)
        return a, looks(x), quiet(x), inside(x), above(x)

    return static(f)


@case
def called_without_gradients(static):
    converted = static(lambda x: (recorded(x), x * 2, paddle.is_grad_enabled()))

    def call(x):
        with paddle.no_grad():
            first = converted(x)
        return first, converted(x)

    return call


def seen(thing):
    if isinstance(thing, list | tuple):
        return [seen(part) for part in thing]
    return (thing.tolist(), thing.stop_gradient) if isinstance(thing, paddle.Tensor) else thing


def observed(make, static):
    """What three calls return, the gradient of the first result, and the grad mode that each call leaves."""
    function, log = make(static), []
    for value in (1.0, -2.0, 3.0):
        x = paddle.to_tensor([value], stop_gradient=False)
        try:
            result = function(x)
        except (ValueError, KeyError) as error:
            log.append(repr(error))
        else:
            log.append(seen(result))
            first = result[0] if isinstance(result, list | tuple) else result
            if isinstance(first, paddle.Tensor) and not first.stop_gradient:
                first.backward()
                log.append(x.grad.tolist())
        log.append(paddle.is_grad_enabled())
        paddle.set_grad_enabled(True)
    return log


@pytest.mark.parametrize("name", CASES)
def test_static_is_as_eager(name):
    assert observed(CASES[name], to_static) == observed(CASES[name], lambda function: function)


def test_a_refusal_leaves_the_grad_mode_as_it_was():
    @to_static
    @paddle.no_grad()
    def f(x):
        paddle.set_grad_enabled(False)
        return (1, 2)[:: int(x)]

    with pytest.raises(paddle.errors.TracingError):
        f(paddle.ones([1]))
    assert paddle.is_grad_enabled()
