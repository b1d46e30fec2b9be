"""Gradients clipped in place, parameters as one vector, and weights computed from other parameters."""

from d2s.nn.utils.gradients import clip_grad_norm_, clip_grad_value_
from d2s.nn.utils.reparametrization import remove_weight_norm, spectral_norm, weight_norm
from d2s.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "remove_weight_norm",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
