"""Gradients of a value under two names: summed up in the order in which they come, to the last digit."""

import numpy as np
import pytest

import d2s

FUNCTIONS = []


def program(function):
    FUNCTIONS.append(function)
    return function


@program
def branch(x, c, n):
    y, z = (x * 0.3).tanh(), x * x
    if c < 0:
        z = y
    return z * x, y * 0.7, z * 1.3, z, y * y


@program
def branch_in_a_branch(x, c, n):
    y, z = (x * 0.3).tanh(), x * x
    if c < 0:
        if n > 1:
            z = y
        else:
            z = z * 2
    return z * x, y * 0.7, z * 1.3, z, y * y


@program
def branch_in_a_turn(x, c, n):
    y, z = (x * 0.3).tanh(), x * x
    k = 0
    while k < n:
        k = k + 1
        if c < 0:
            z = y
    return z * x, y * 0.7, z * 1.3, z, y * y


@program
def turn_in_a_branch(x, c, n):
    y, z = (x * 0.3).tanh(), x * x
    if c < 0:
        for _ in range(n):
            z = y
    return z * x, y * 0.7, z * 1.3, z, y * y


@program
def turn_in_a_turn(x, c, n):
    y, z = (x * 0.3).tanh(), x * x
    for i in range(n):
        for _ in range(i):
            z = y
    return z * x, y * 0.7, z * 1.3, z, y * y


@program
def argument_that_turns_may_keep(x, c, n):
    z = x
    for _ in range(n):
        if z.sum() > 100.0:
            z = z * 0.5
    return z * x, x * 0.7, z * 1.3, z * z


@program
def unrolled_choice(x, c, n):
    y, z = (x * 0.3).tanh(), x * x
    k = 0
    while k < n:
        k = k + 1
        for chosen in (z, y):
            z = chosen
            if c > 0.5:
                break
    return z * x, y * 0.7, z * 1.3, z, z * z


@program
def used_behind_the_branch_around(x, c, n):
    y = (x * 0.3).tanh()
    w = y * 0
    if c > 0:
        z = y
        if n > 2:
            z = y + 1
        w = z * x + z * 1.3
    return w, y * 0.1


@program
def used_in_later_turns(x, c, n):
    y = (x * 0.3).tanh()
    w = y * 0
    while n > 0:
        z = y
        if c < 0:
            z = y + 1
        w = w + z * x + z * 1.3 * n
        n = n - 1
    return w, x * 0.1


@program
def returned_from_an_unrolled_loop(x, c, n):
    y = (x * 0.3).tanh()
    for i in range(5):
        if n < i + c:
            return y * x, y * 1.3 + y
        y = y * 1.1
    return y, y * x


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("c", [-1.0, 1.0])
def test_the_last_digit(function, c):
    static = d2s.to_static(function)
    generator = np.random.default_rng(0)
    for n in (0, 1, 3):
        for _ in range(8):
            data = generator.normal(size=7).astype("float32")
            gradients = []
            for called in (function, static):
                x = d2s.to_tensor(data, stop_gradient=False)
                results = called(x, d2s.to_tensor(c), d2s.to_tensor(n))
                tensors = [tensor for tensor in results if not tensor.is_leaf]
                seeds = [d2s.to_tensor(np.linspace(0.1, 1.7 + k, 7, dtype="float32")) for k in range(len(tensors))]
                d2s.autograd.backward(tensors, seeds)
                gradients.append(x.grad.numpy().tobytes())
            assert gradients[0] == gradients[1]
