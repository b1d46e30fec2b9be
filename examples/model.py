"""A function and a Layer to look at: the examples of ``d2s --help`` are about this file.

    d2s show model.py:step
    d2s check model.py:step --input 'float32[8,4]' --input 'float32[4,1]'
"""

import d2s as paddle


def step(x, w):
    y = x @ w
    h = paddle.tanh(y)
    y.register_hook(print_norm)
    for _ in range(2):
        h = h * y
    z = 3 * h
    h.register_hook(lambda g: g * 2 + 1)
    loss = (z * z).mean()
    if loss > 0.5:
        loss = loss * 0.5
    return loss


def print_norm(g):
    print("norm", (g * g).sum().item())


net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 1))
