"""Reduce hooks of tensors that turns carry or branches choose: whether one is a leaf, only the run knows."""

from __future__ import annotations

import pytest

import d2s
from tests.jit.both import leaf

LOG: list = []


def in_turns_with_backward(x, n):
    i = 0
    while i < n:
        x._register_backward_hook(lambda: LOG.append(x.grad.tolist()))
        (x * x).sum().backward()
        i = i + 1
    return x * 1.0


def of_what_a_branch_chooses(x, n):
    y = x if n > 1 else x * 2
    y._register_backward_hook(lambda: LOG.append("chosen"))
    return y * y


def of_what_turns_carry(x, n):
    y, i = x, 0
    while i < n:
        y._register_backward_hook(lambda: LOG.append("turn"))
        y = y * x
        i = i + 1
    return y


def of_a_result(x, n):
    y = x * x
    y._register_backward_hook(lambda: LOG.append("never"))
    return y


def seen(function, n):
    LOG.clear()
    x = leaf(1.5)
    try:
        function(x, d2s.to_tensor(n)).sum().backward()
    except d2s.LeafError as error:
        LOG.append((error.kind, error.message))
    return [*LOG, None if x.grad is None else x.grad.tolist()]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("function", [
    in_turns_with_backward, of_what_a_branch_chooses, of_what_turns_carry, of_a_result,
], ids=lambda function: function.__name__)
def test_static_is_eager(function, n):
    assert seen(d2s.to_static(function), n) == seen(function, n)
