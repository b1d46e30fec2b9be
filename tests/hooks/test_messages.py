"""What is wrong with a registration is said in the same words in both modes."""

from __future__ import annotations

import pytest

import d2s as paddle
from d2s.jit import to_static

WRONG = (
    lambda x, y: x.detach()._register_backward_hook(lambda: 1),
    lambda x, y: y.detach()._register_backward_hook(lambda: 1),
    lambda x, y: y._register_backward_hook(lambda: 1),
    lambda x, y: x._register_backward_hook(3),
    lambda x, y: x._register_backward_hook(),
    lambda x, y: y.register_hook(),
    lambda x, y: y.register_hook(3),
    lambda x, y: y.register_hook(lambda g: g, 2),
    lambda x, y: y.detach().register_hook(lambda g: g),
    lambda x, y: y.retain_grads(1),
)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors(number):
    wrong = WRONG[number]

    def f(x):
        try:
            wrong(x, x * 2)
        except (TypeError, ValueError, RuntimeError) as error:
            return str(error)

    x = paddle.to_tensor([1.0], stop_gradient=False)
    assert f(x) is not None
    assert to_static(f)(x) == f(x)


def test_handles_are_known_to_be_handles():
    @to_static
    def f(x):
        handle = (x * 2).register_hook(lambda g: g)
        return isinstance(handle, paddle.Tensor), type(handle).__name__, isinstance(handle, type(handle))

    assert f(paddle.to_tensor([1.0], stop_gradient=False)) == (False, "RemovableHandle", True)
