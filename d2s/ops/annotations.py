"""Names for the types that appear in the signatures of ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from d2s.core.interpreter import TensorBase

# An eager Tensor or a static Variable: what it is depends on the interpreter, so nothing more can be said of it here.
Tensor: TypeAlias = Any
Array: TypeAlias = np.ndarray[Any, Any]
# An axis, several, or None for all of them.
Axis: TypeAlias = int | Sequence[int] | None


def is_tensor(value: Any) -> bool:
    """True for a Tensor or a Variable.  To a type checker `value` stays what it was: it knows no methods of either."""
    return isinstance(value, TensorBase)


# NumPy's stubs know `keepdims` of a reduction as a literal only.
add_reduce: Any = np.add.reduce
multiply_reduce: Any = np.multiply.reduce
maximum_reduce: Any = np.maximum.reduce
minimum_reduce: Any = np.minimum.reduce
