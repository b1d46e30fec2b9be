"""`backward` and `grad` inside of `try`: what their hooks raise comes to the handlers, as in eager mode."""

from __future__ import annotations

import traceback

import pytest

import d2s
from d2s.errors import GradientError, UnsupportedSyntaxError
from tests.jit.both import both_modes, leaf

LOG: list = []
# What the hook raises, if anything.
RAISED: list = []


def boom(g):
    LOG.append(g.tolist())
    if RAISED:
        raise RAISED[0]
    return g * g + 1


def with_all_parts(x):
    y = x * x
    y.register_hook(boom)
    try:
        y.sum().backward()
    except (KeyError, ValueError):
        LOG.append("caught")
        y = x
    else:
        LOG.append("else")
    finally:
        LOG.append("finally")
    return y * x


def naming_what_it_catches(x):
    y = x * x
    y.register_hook(boom)
    try:
        y.sum().backward()
    except Exception as error:
        LOG.append((type(error).__name__, str(error)))
        y = x
    return y * x


def in_a_finally(x):
    y = x * x
    y.register_hook(boom)
    try:
        (g,) = d2s.grad(y.sum(), [x])
    finally:
        LOG.append("finally")
    return x * g


def around_each_other(x):
    y = x * x
    y.register_hook(boom)
    try:
        try:
            (g,) = d2s.grad(y.sum(), [x], create_graph=True)
        except (KeyError, IndexError):
            g = x * 10
        except LookupError:
            g = x * 20
    except ValueError:
        g = x * 30
    return g * x


def raising_again(x):
    y = x * x
    y.register_hook(boom)
    try:
        y.sum().backward()
    except KeyError:
        LOG.append("again")
        raise
    return x * 2


def raising_another(x):
    y = x * x
    y.register_hook(boom)
    try:
        y.sum().backward()
    except KeyError as error:
        raise TypeError("another") from error
    return x * 2


def in_turns(x):
    total, n = x, 0
    while n < 3:
        y = total * x
        y.register_hook(boom)
        try:
            total = total + d2s.grad(y.sum(), [x], retain_graph=True)[0]
        except KeyError:
            total = total * 2
        n = n + d2s.ones([], "int64")
    return total


def used_up(x):
    y = x * x
    y.sum().backward()
    try:
        y.sum().backward()
    except GradientError as error:
        LOG.append(error.kind)
    try:
        y.sum().backward()
    except RuntimeError as error:
        LOG.append(type(error).__name__)
    return x * 2


def of_what_is_left(x):
    a = x * 2
    a.register_hook(boom)
    b = a * x
    try:
        b.sum().backward()
    except KeyError:
        # The leaf has got no gradient then.
        return x * 3
    return x + x.grad


def of_what_hooks_have_done(x):
    y, count = x * x, 0

    def counting(g):
        nonlocal count
        count += 1
        raise KeyError(count)

    y.register_hook(counting)
    try:
        y.sum().backward()
    except KeyError:
        return x * count
    return x


def seen(function, error):
    """What is seen of two calls and a backward each, in which hooks raise `error`."""
    LOG.clear()
    x = leaf(1.5)
    for _ in range(2):
        RAISED[:] = [] if error is None else [error]
        try:
            result = function(x)
            RAISED.clear()
            LOG.append(result.tolist())
            result.sum().backward()
        except Exception as found:
            frames = [frame.name for frame in traceback.extract_tb(found.__traceback__)]
            behind = found.__cause__
            LOG.append((
                found is error, type(found), str(found), "boom" in frames, behind is error, type(behind),
                type(found.__context__)))
        LOG.append(None if x.grad is None else x.grad.tolist())
    return LOG[:]


ERRORS = [None, KeyError("k"), IndexError("i"), LookupError("l"), ValueError("v"), RuntimeError("r"), TypeError("t")]


FUNCTIONS = [
    with_all_parts, naming_what_it_catches, in_a_finally, around_each_other, raising_again, raising_another, in_turns,
    used_up, of_what_is_left, of_what_hooks_have_done,
]
# Not among the exceptions that are known before the run, where the handler names what it catches.
UNKNOWN = [error for error in ERRORS if isinstance(error, LookupError) and not isinstance(error, KeyError)]


@pytest.mark.parametrize(("function", "error"), [
    (function, error) for function in FUNCTIONS for error in ERRORS
    if function is not naming_what_it_catches or error not in UNKNOWN
], ids=lambda part: getattr(part, "__name__", repr(part)))
def test_static_is_eager(function, error):
    assert seen(d2s.to_static(function), error) == seen(function, error)


@pytest.mark.parametrize("error", UNKNOWN, ids=repr)
def test_a_handler_that_may_see_an_exception_that_is_not_known_is_refused(error):
    told = seen(d2s.to_static(naming_what_it_catches), error)[1]
    assert told[1] is d2s.UnsupportedSyntaxError
    assert "[D2S-U06]" in told[2]
    assert "test_walks_in_try.py" in told[2]


@both_modes
def test_the_handler_that_matches(convert):
    RAISED[:] = [LookupError("l")]
    assert convert(around_each_other)(leaf(1.5)).tolist() == [1.5 * 20 * 1.5]


class Own(KeyError):
    """An error of the user."""


def test_a_type_that_only_the_run_knows():
    """A handler that names what it has caught may look at its type; one that does not cannot."""
    RAISED[:] = [Own("k", 2)]
    assert d2s.to_static(with_all_parts)(leaf(1.5)).tolist() == [1.5 * 1.5]
    with pytest.raises(UnsupportedSyntaxError) as caught:
        d2s.to_static(naming_what_it_catches)(leaf(1.5))
    assert caught.value.kind == "U06"
    assert isinstance(caught.value.__cause__, Own)
