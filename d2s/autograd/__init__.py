"""Gradients on demand: `backward`, `grad`, grad mode, and ops with a gradient of the user's own."""

from d2s.autograd.anomaly import detect_anomaly
from d2s.autograd.checkpoint import recompute
from d2s.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from d2s.autograd.jacobians import Hessian, Jacobian, hessian, jacobian
from d2s.autograd.py_layer import PyLayer, PyLayerContext
from d2s.eager.backward import backward, grad

__all__ = [
    "Hessian",
    "Jacobian",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "hessian",
    "is_grad_enabled",
    "jacobian",
    "no_grad",
    "recompute",
    "set_grad_enabled",
]
