"""Gradients on demand: `backward`, `grad`, grad mode, and ops with a gradient of the user's own."""

from d2s.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from d2s.autograd.py_layer import PyLayer, PyLayerContext
from d2s.eager.backward import backward, grad

__all__ = [
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
