"""From a list of examples to a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from d2s.core.spec import default_dtype
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import DTypeError, ShapeError


def default_collate_fn(examples: list[Any]) -> Any:
    """Stack the examples of a batch.

    Arrays, tensors and numbers become one array with a new first axis; tuples, lists and dicts are stacked field
    by field; strings stay lists.  Python floats become the default dtype, ints int64.

    Parameters
    ----------
    examples : list
        At least one example; all of the same structure.

    Returns
    -------
    ndarray, list or dict
        Arrays, which `DataLoader` turns into tensors.

    Raises
    ------
    ShapeError
        If arrays differ in shape, or sequences in length.
    DTypeError
        If an example is of a kind that cannot be stacked.
    """
    first = examples[0]
    if isinstance(first, Tensor):
        return _stacked([example.data for example in examples])
    if isinstance(first, np.ndarray | np.generic):
        return _stacked(examples)
    if isinstance(first, bool | int):
        return np.array(examples)
    if isinstance(first, float):
        return np.array(examples, dtype=default_dtype())
    if isinstance(first, str | bytes):
        return list(examples)
    if isinstance(first, Mapping):
        return {key: default_collate_fn([example[key] for example in examples]) for key in first}
    if isinstance(first, tuple | list):
        if any(len(example) != len(first) for example in examples):
            raise ShapeError(
                f"examples of one batch differ in length: {sorted({len(e) for e in examples})}",
                kind="S03",
            )
        return [default_collate_fn(list(field)) for field in zip(*examples, strict=True)]
    raise DTypeError(
        f"cannot make a batch of {type(first).__name__}",
        advice="Return arrays, tensors, numbers, strings or containers of them, or pass collate_fn.",
    )


def default_convert_fn(example: Any) -> Any:
    """An example as it is, but tuples in it as lists.  What `DataLoader` does to examples that get into no batch.

    Parameters
    ----------
    example : Any
        Arrays, which `DataLoader` turns into tensors, numbers, strings, or tuples, lists and dicts of such.
    """
    if isinstance(example, Mapping):
        return {key: default_convert_fn(value) for key, value in example.items()}
    if isinstance(example, tuple) and hasattr(example, "_fields"):
        return type(example)(*map(default_convert_fn, example))
    if isinstance(example, tuple | list):
        return [default_convert_fn(part) for part in example]
    return example


class Single:
    """Applies a function to the only example of a batch."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, examples: list[Any]) -> Any:
        return self.function(examples[0])


def _stacked(arrays: list[Any]) -> np.ndarray[Any, Any]:
    shapes = {np.shape(array) for array in arrays}
    if len(shapes) > 1:
        raise ShapeError(
            f"examples of one batch differ in shape: {', '.join(str(list(shape)) for shape in sorted(shapes))}",
            advice="Pad them, or pass collate_fn.",
            kind="S03",
        )
    return np.stack(arrays)


def to_tensors(batch: Any) -> Any:
    """`batch` with its arrays and NumPy scalars as tensors; tuples stay tuples, lists lists."""
    if isinstance(batch, np.ndarray | np.generic):
        return tensor_of(np.asarray(batch)) if batch.dtype.kind in "biufc" else batch
    if isinstance(batch, dict):
        return {key: to_tensors(value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(to_tensors, batch))
    if isinstance(batch, tuple | list):
        return type(batch)(map(to_tensors, batch))
    return batch
