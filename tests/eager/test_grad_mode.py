"""no_grad, enable_grad, set_grad_enabled: as context managers, decorators, on generators."""

from __future__ import annotations

import pytest

import d2s
from d2s import enable_grad, is_grad_enabled, no_grad, set_grad_enabled


def test_context_managers_nest_and_restore():
    with no_grad():
        assert not is_grad_enabled()
        with enable_grad():
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_mode_is_restored_after_an_error():
    with pytest.raises(ValueError, match="x"), no_grad():
        raise ValueError("x")
    assert is_grad_enabled()


def test_one_object_may_be_entered_again():
    mode = no_grad()
    with mode, enable_grad(), mode:
        assert not is_grad_enabled()
    assert is_grad_enabled()


@pytest.mark.parametrize("decorate", [no_grad, no_grad()], ids=["bare", "called"])
def test_decorator(decorate):
    @decorate
    def mode(a, *, b):
        """Say it."""
        return a, b, is_grad_enabled()

    assert mode(1, b=2) == (1, 2, False)
    assert (mode.__name__, mode.__doc__) == ("mode", "Say it.")
    assert is_grad_enabled()


def test_generator_has_the_mode_while_its_own_code_runs():
    log = []

    @no_grad()
    def steps():
        try:
            log.append((yield is_grad_enabled()))
            yield is_grad_enabled()
        except KeyError:
            log.append(is_grad_enabled())
            yield "caught"
        finally:
            log.append(is_grad_enabled())
        return "end"

    generator = steps()
    assert next(generator) is False
    assert is_grad_enabled()
    assert generator.send("sent") is False
    assert is_grad_enabled()
    assert generator.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"
    assert log == ["sent", False, False]

    closed = steps()
    next(closed)
    closed.close()
    assert log[-1] is False
    assert is_grad_enabled()


def test_set_grad_enabled_acts_at_once_and_as_context_manager():
    set_grad_enabled(False)
    try:
        assert not is_grad_enabled()
    finally:
        set_grad_enabled(True)
    with set_grad_enabled(False):
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_set_grad_enabled_as_decorator_acts_in_the_function_only():
    @set_grad_enabled(False)
    def mode():
        return is_grad_enabled()

    assert is_grad_enabled()
    assert mode() is False


def test_nothing_is_recorded():
    x = d2s.to_tensor([1.0], stop_gradient=False)
    with no_grad():
        y = x * 2
    assert y.stop_gradient
    assert y.is_leaf
