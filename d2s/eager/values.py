"""What a Tensor says of itself, and how it turns into NumPy arrays, Python numbers and text."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import element_of, several_elements
from d2s.core.interpreter import state
from d2s.core.spec import DType, TensorSpec
from d2s.device import CPUPlace
from d2s.eager.printing import shown
from d2s.errors import ArgumentError, DTypeError, ShapeError, TracingError, user_location


class TensorValues:
    """The part of Tensor that gives its values away: always copies, never the array itself."""

    __slots__ = ()

    data: np.ndarray[Any, Any]
    _stop_gradient: bool

    # --- what it is -------------------------------------------------------------------------------------------

    @property
    def shape(self) -> list[int]:
        """Sizes of the axes, as a list."""
        return list(self.data.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.data.ndim

    @property
    def dtype(self) -> DType:
        """Element type, a NumPy dtype."""
        found: DType = self.data.dtype
        return found

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype."""
        return TensorSpec(self.data.shape, self.data.dtype)

    @property
    def place(self) -> CPUPlace:
        """Where the data is: always the CPU."""
        return CPUPlace()

    # --- what it turns into -----------------------------------------------------------------------------------

    def _check_readable(self, use: str) -> None:
        """Refuse to give values to code that is not traced while a function is: the Program would keep them."""
        if state.current is not state.stack[0] and getattr(state.current, "reads_later", False):
            raise TracingError(
                f"{use} of a tensor from outside while a function is traced, by code that is not: its values are "
                "known only when the Program runs", user_location(),
                "Pass the tensor as it is, or keep this function eager with @d2s.jit.not_to_static.",
                kind="T09",
            )

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy of the values as NumPy array."""
        self._check_readable("numpy()")
        return self.data.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self._check_readable("an array")
        if copy is False and dtype not in (None, self.data.dtype):
            raise ArgumentError("an array of another dtype cannot be made without a copy")
        if copy is False:
            # Nobody may write to what the Tensor holds.
            shown = self.data.view()
            shown.flags.writeable = False
            return shown
        return np.array(self.data, dtype=dtype)

    def __dlpack__(self, **kwargs: Any) -> Any:
        """A DLPack capsule with a copy of the values, on the CPU."""
        self._check_readable("DLPack")
        if not self._stop_gradient:
            raise DTypeError("a tensor that requires a gradient cannot be exported", advice="Use detach() first.")
        return self.data.copy().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU."""
        return (1, 0)

    def item(self, *index: int) -> Any:
        """The single element (or the one at `index`) as Python number.

        Raises
        ------
        ShapeError
            If there is more than one element and no `index`.
        IndexOutOfRangeError
            If there is no element at `index`.
        """
        self._check_readable("item()")
        return element_of(self.data, index)

    def known_value(self) -> np.ndarray[Any, Any]:
        """The values, for what must be decided now."""
        return self.numpy()

    def tolist(self) -> Any:
        """The values as nested Python lists."""
        self._check_readable("tolist()")
        return self.data.tolist()

    def __bool__(self) -> bool:
        return bool(self._single("bool()"))

    def __int__(self) -> int:
        return int(self._single("int()"))

    def __float__(self) -> float:
        return float(self._single("float()"))

    def __complex__(self) -> complex:
        return complex(self._single("complex()"))

    def __index__(self) -> int:
        self._check_readable("an index")
        if self.data.dtype.kind not in "iub":
            raise DTypeError(f"only an integer tensor can be an index, got {self.data.dtype.name}")
        return int(self._single("an index"))

    def _single(self, use: str) -> Any:
        self._check_readable(use)
        return element_of(self.data, use=use)

    def __len__(self) -> int:
        if self.data.ndim == 0:
            raise DTypeError("a 0-d tensor has no len()")
        return len(self.data)

    def __format__(self, format_spec: str) -> str:
        self._check_readable("text")
        if self.data.size == 1 and format_spec:
            return format(self.data.item(), format_spec)
        if format_spec.rstrip("s<>^0123456789 "):
            raise ShapeError(several_elements(self.data.shape, f"the format {format_spec!r}"), kind="S02")
        return format(str(self), format_spec)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.data.shape))
        return (
            f"Tensor(shape=[{shape}], dtype={self.data.dtype.name}, place={self.place}, "
            f"stop_gradient={self._stop_gradient},\n       {shown(self.data, 7)})"
        )
