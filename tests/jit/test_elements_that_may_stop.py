"""Elements of lists of the run of which some require gradients and others do not: only the run knows which."""

from __future__ import annotations

import pytest

import d2s

LOG = []


def rec(g):
    LOG.append(g.tolist())
    return g * g + 1.0


def asked_behind_turns(x, w, n):
    parts = [x * w]
    for _ in range(n):
        parts.append(w)
    last = parts[-1]
    if not last.stop_gradient:
        last.register_hook(rec)
    return last * x


def asked_in_turns(x, w, n):
    parts = [x * w]
    for i in range(n):
        parts.append(w * 2.0 if i == 0 else parts[0] * w)
        if not parts[-1].stop_gradient:
            parts[-1].register_hook(rec)
    return parts[-1] * x + parts[0]


def asked_of_results(x, w, n):
    parts = [w * 1.0]
    for i in range(n):
        parts.append(x * 2.0 if i == 1 else w)
    y = parts[-1] * w
    return y * 3.0 if y.stop_gradient else y * x


def in_dict(x, w, n):
    parts = {0: x * w}
    for i in range(n):
        parts[i + 1] = w
    last = parts[len(parts) - 1]
    return last * 2.0 if last.stop_gradient else last * x


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("function", [asked_behind_turns, asked_in_turns, asked_of_results, in_dict])
def test_both_modes(function, n):
    def play(static):
        LOG.clear()
        x, w = d2s.to_tensor([1.0, 2.0], stop_gradient=False), d2s.to_tensor([3.0, 4.0])
        y = static(function)(x, w, d2s.to_tensor(n))
        if not y.stop_gradient:
            y.sum().backward()
        return y.tolist(), y.stop_gradient, None if x.grad is None else x.grad.tolist(), list(LOG)

    assert play(d2s.to_static) == play(lambda function: function)
