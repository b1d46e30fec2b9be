"""Optimizers, and schedules of their learning rates in `d2s.optimizer.lr`."""

from d2s.core.public import public_classes
from d2s.optimizer import lr
from d2s.optimizer.adam import Adam, AdamW
from d2s.optimizer.adaptive import Adadelta, Adagrad, Adamax, Lamb, RMSProp
from d2s.optimizer.optimizer import Optimizer
from d2s.optimizer.sgd import SGD, Momentum

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lamb",
    "Momentum",
    "Optimizer",
    "RMSProp",
    "lr",
]

public_classes(globals(), "d2s.optimizer")
