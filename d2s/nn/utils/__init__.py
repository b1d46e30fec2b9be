"""Gradients clipped in place, and parameters as one vector."""

from d2s.nn.utils.gradients import clip_grad_norm_, clip_grad_value_
from d2s.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"]
