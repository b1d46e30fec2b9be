"""Names for the types that appear in the signatures of ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

# An eager Tensor or a static Variable: what it is depends on the interpreter, so nothing more can be said of it here.
Tensor: TypeAlias = Any
Array: TypeAlias = np.ndarray[Any, Any]
# An axis, several, or None for all of them.
Axis: TypeAlias = int | Sequence[int] | None

# NumPy's stubs know `keepdims` of a reduction as a literal only.
add_reduce: Any = np.add.reduce
multiply_reduce: Any = np.multiply.reduce
maximum_reduce: Any = np.maximum.reduce
minimum_reduce: Any = np.minimum.reduce
