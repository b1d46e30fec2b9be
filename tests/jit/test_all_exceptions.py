"""Exceptions that are no `Exception`, and what `with` statements are told, as in eager mode."""

from __future__ import annotations

import contextlib
import sys

import pytest

import d2s

LOG: list[object] = []
# What the hook raises.
RAISED: list[BaseException | None] = [None]


class Own(BaseException):
    """An exception of the user."""


class OwnError(KeyError):
    """Another one."""


class Manager:
    """Notes what it is told, and swallows some exceptions."""

    def __init__(self, *swallowed):
        self.swallowed = swallowed

    def __enter__(self):
        LOG.append("enter")

    def __exit__(self, kind, value, trace):
        LOG.append(("exit", None if kind is None else kind.__name__, str(value)))
        return kind is not None and issubclass(kind, self.swallowed)


@contextlib.contextmanager
def generator():
    LOG.append("in")
    try:
        yield
    except KeyError as error:
        LOG.append(str(error))
    finally:
        LOG.append("out")


def hook(g):
    raised = RAISED[0]
    if isinstance(raised, Own | OwnError | KeyboardInterrupt | SystemExit):
        raise raised
    if raised is not None:
        raise raised
    return g + 1


def hooked(x):
    y = x * x
    y.register_hook(hook)
    return y.sum()


def with_finally(x):
    try:
        hooked(x).backward()
    finally:
        LOG.append("finally")
    return x * 2


def with_finally_in_turns(x):
    i = 0
    while i < x * 0 + 2:
        try:
            hooked(x).backward()
        finally:
            LOG.append("finally")
        i = i + 1
    return x * 2


def with_manager(x):
    with Manager():
        hooked(x).backward()
    return x * 2


def with_manager_that_swallows(x):
    with Manager(Own, KeyError):
        hooked(x).backward()
        LOG.append("done")
    return x * 2


def with_generator(x):
    with generator():
        hooked(x).backward()
        LOG.append("done")
    return x * 2


def with_suppress(x):
    with contextlib.suppress(ValueError, Own):
        hooked(x).backward()
        LOG.append("done")
    return x * 2


def catching_all(x):
    try:
        hooked(x).backward()
    except:  # noqa: E722
        LOG.append("caught")
        return x * 3
    return x * 2


def catching_all_by_name(x):
    try:
        hooked(x).backward()
    except BaseException as error:
        LOG.append((type(error).__name__, str(error)))
        raise
    else:
        LOG.append("else")
    return x * 2


def catching_others_first(x):
    try:
        try:
            hooked(x).backward()
        except Exception:
            LOG.append("an Exception")
    except Own as error:
        LOG.append(str(error))
    return x * 4


FUNCTIONS = [
    with_finally, with_finally_in_turns, with_manager, with_manager_that_swallows, with_generator, with_suppress,
    catching_all, catching_all_by_name, catching_others_first]
EXCEPTIONS = [
    None, ValueError("v"), KeyError("k"), OwnError("e"), Own("o"), KeyboardInterrupt("i"), SystemExit(3), None]


def told(function, exceptions):
    """What is logged, returned and raised, and the gradient, for each exception of the hook."""
    LOG.clear()
    for RAISED[0] in exceptions:
        x = d2s.to_tensor([1.5], stop_gradient=False)
        try:
            LOG.append(function(x).tolist())
        except BaseException as error:
            LOG.append((type(error), str(error), error is RAISED[0]))
        LOG.append(None if x.grad is None else x.grad.tolist())
    return list(LOG)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_a_hook_raises(function):
    assert told(d2s.to_static(function), EXCEPTIONS) == told(function, EXCEPTIONS)


def raising_on_one_path(x):
    LOG.append("before")
    try:
        if x.sum() > 0:
            raise SystemExit(3)
    finally:
        LOG.append("finally")
    return x * 2


def leaving_on_one_path(x):
    if x.sum() > 0:
        sys.exit(4)
    LOG.append("after")
    return x * 2


def raising_one_of_several(x):
    try:
        if x.sum() > 0:
            raise Own("a", 1)
        if x.sum() < -5:
            raise KeyboardInterrupt
    except Own as error:
        LOG.append(error.args)
        return x * 3
    except BaseException:
        LOG.append("base")
        raise
    return x * 2


def raising_in_a_python_turn(x):
    for k in range(3):
        if x.sum() > 2:
            raise Own(k)
        x = x + 1
    return x


def raising_in_a_tensor_turn(x):
    i = 0
    while x.abs().sum() < 10:
        x = x * 2
        if x.sum() > 7:
            LOG.append("raising")
            raise KeyboardInterrupt("loop")
        i = i + 1
    return x


@pytest.mark.parametrize("function", [
    raising_on_one_path, leaving_on_one_path, raising_one_of_several, raising_in_a_python_turn,
    raising_in_a_tensor_turn], ids=lambda function: function.__name__)
def test_what_a_statement_raises(function):
    """Only on its path, behind what has happened before; other calls are not disturbed."""

    def log(function):
        LOG.clear()
        for value in (-1.0, 1.0, -9.0, 1.0):
            try:
                LOG.append(function(d2s.to_tensor([value])).tolist())
            except BaseException as error:
                LOG.append((type(error), str(error)))
        return list(LOG)

    assert log(d2s.to_static(function)) == log(function)
