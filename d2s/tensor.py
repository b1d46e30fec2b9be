"""The functions on tensors once more, and those that Paddle has in `paddle.tensor` only."""

from d2s.ops import *  # noqa: F403
from d2s.ops import __all__ as _functions
from d2s.ops.creation import fill_constant
from d2s.ops.queries import shape_of as shape
from d2s.ops.tensor_lists import array_length, array_read, array_write, create_array

__all__ = ["array_length", "array_read", "array_write", "create_array", "fill_constant", "shape"]
__all__ += _functions
