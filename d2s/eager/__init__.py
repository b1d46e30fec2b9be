"""Eager mode: tensors that compute at once, and the tape that differentiates them."""

from d2s.core.memory import keep_freed_memory
from d2s.eager.backward import backward, grad
from d2s.eager.creation import to_tensor
from d2s.eager.interpreter import EagerInterpreter
from d2s.eager.tensor import Tensor

__all__ = ["EagerInterpreter", "Tensor", "backward", "grad", "to_tensor"]

keep_freed_memory()
