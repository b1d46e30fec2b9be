"""Results of in-place methods that do not fit into their tensor: cast or refused, in both modes."""

from __future__ import annotations

import pytest

import d2s


def broadcast(p, x):
    p.multiply_(x)


def added(p, x):
    p.add_(x)


def root_of_whole_numbers(p, x):
    whole = p.astype("int64")
    whole.exp_()
    return whole


def clipped(p, x):
    whole = p.astype("int64")
    whole.clip_(0.5, 0.7)
    return whole


def powered(p, x):
    p.pow_(x)


def compared(p, x):
    p.logical_and_(x)


def wider(p, x):
    y = p * 1.0
    y.add_(x.astype("float64"))
    return y


def reshaped(p, x):
    y = p * 1.0
    y.reshape_([3, 1])
    return y


@pytest.mark.parametrize("shape", [[2, 3], [3], [1]])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("function", [
    broadcast, added, root_of_whole_numbers, clipped, powered, compared, wider, reshaped])
def test_both_modes(function, dtype, shape):
    def play(static):
        p, log = d2s.create_parameter([3], "float32"), []
        p.set_value(d2s.to_tensor([1.0, 2.0, 3.0]))

        def f(x):
            with d2s.no_grad():
                y = function(p, x)
            return p * 1.0 if y is None else y

        try:
            y = static(f)(d2s.full(shape, 2, dtype))
            log.append((y.tolist(), y.dtype.name, y.shape))
        except d2s.D2SError as error:
            log.append((type(error).__name__, error.kind))
        return log, p.tolist(), p.dtype.name, p.shape

    assert play(d2s.to_static) == play(lambda f: f)
