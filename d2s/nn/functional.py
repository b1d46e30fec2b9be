"""The functions that layers are made of; their parameters are described where they are defined."""

from d2s.ops.activation import relu, sigmoid, tanh
from d2s.ops.encoding import one_hot
from d2s.ops.logits import log_softmax, softmax
from d2s.ops.loss import cross_entropy, l1_loss, mse_loss, softmax_with_cross_entropy, square_error_cost
from d2s.ops.products import linear
from d2s.ops.shape import flatten

__all__ = [
    "cross_entropy",
    "flatten",
    "l1_loss",
    "linear",
    "log_softmax",
    "mse_loss",
    "one_hot",
    "relu",
    "sigmoid",
    "softmax",
    "softmax_with_cross_entropy",
    "square_error_cost",
    "tanh",
]
