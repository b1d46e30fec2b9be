"""The few functions that generated code calls by name."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from types import CellType
from typing import Any

import numpy as np

from d2s.core.arrays import check_nan, is_in_order
from d2s.core.hooks import HookList, name_of
from d2s.core.interpreter import TensorBase, unwrap, wrap
from d2s.core.spec import TensorSpec, spec_of
from d2s.errors import ExecutionError, GradientError, HookError, LeafError
from d2s.static.numeric_errors import outside
from d2s.words import counted


class HookPoint(HookList):
    """The hooks of one value of a run, and its Tensor once that is made: a value has one, whatever its names."""

    __slots__ = ("__weakref__", "_tensor", "stop_gradient")

    def __init__(self, stop_gradient: bool = False) -> None:
        super().__init__()
        self._tensor: weakref.ref[Any] | None = None
        # In this run; what control flow has chosen may stop gradients in some runs only.
        self.stop_gradient = stop_gradient

    @property
    def is_leaf(self) -> bool:
        """Of what operators compute, only what stops gradients is a leaf."""
        return self.stop_gradient

    @property
    def tensor(self) -> Any:
        """The Tensor of the value, if somebody holds it."""
        return None if self._tensor is None else self._tensor()

    @tensor.setter
    def tensor(self, made: Any) -> None:
        self._tensor = weakref.ref(made)


def is_one_tensor(first: Any, second: Any) -> bool:
    """True if two values, given by where their hooks are, are one tensor."""
    if first is second:
        return True
    tensors = [point.tensor if isinstance(point, HookPoint) else point for point in (first, second)]
    return tensors[0] is not None and tensors[0] is tensors[1]


def check_no_leaf(point: Any) -> None:
    """Refuse a write, which gives it history, to what is a leaf in this run; `point` is where its hooks are.

    Raises
    ------
    LeafError
        If it is one that requires a gradient.
    """
    tensor = point.tensor if isinstance(point, HookPoint) else point
    if tensor is not None and tensor.is_leaf and not tensor.stop_gradient:
        raise LeafError.of_write(tensor.name)


class Missing:
    """What stands for the content of a name that is not bound."""

    def __repr__(self) -> str:
        return "<unbound>"


MISSING = Missing()


def is_bound(value: Any, is_tensor: bool) -> bool:
    """True unless `value` stands for a name that is not bound."""
    return value is not (None if is_tensor else MISSING)


def check_bound(value: Any, name: str) -> Any:
    """The array of a tensor, or UnboundLocalError if the path taken left the user's variable `name` unbound."""
    if value is None:
        raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
    return value


def check_bound_object(value: Any, name: str) -> Any:
    """A Python object, checked like the tensors of `check_bound`; it may be None."""
    return check_bound(None if value is MISSING else (value,), name)[0]


def add_present(first: Any, second: Any) -> Any:
    """Sum of two gradients of which either may be absent (None)."""
    if first is None:
        return second
    return first if second is None else np.add(first, second)


def add_presence(sums: dict[int, Any], identity: int | None, is_there: Any, left: dict[int, int] | None) -> None:
    """Note that there is a gradient of the tensor with this identity; `left` counts it, if that is an edge."""
    if identity is None or not is_there:
        return
    if identity >= 0:
        sums[identity] = True
    elif left is not None:
        left[~identity] += 1


def register_hook(point: Any, hook: Callable[[Any], Any]) -> Any:
    """Register `hook` on a value of this run (a HookList) or on the caller's Tensor."""
    if not isinstance(point, HookList):
        return point.register_hook(hook)
    if point.stop_gradient:  # type: ignore[attr-defined]
        raise HookError("Cannot register hook on a tensor that stop gradient.", kind="H01")
    return point.add(hook)


def copy_of_error(error: BaseException, args: tuple[Any, ...] | None = None) -> BaseException:
    """A copy, with other `args` if they are given; made without the constructor, which may take something else."""
    args = error.args if args is None else args
    made = type(error).__new__(type(error), *args)
    made.args = args
    made.__dict__.update(error.__dict__)
    return made


def raise_again(error: BaseException) -> None:
    """Raise a copy of an error that the user's code raised while it was traced, from the user's line."""
    again = copy_of_error(error)
    again.__cause__, again.__context__ = error.__cause__, error.__context__
    again.__suppress_context__ = error.__suppress_context__
    raise again.with_traceback(error.__traceback__)


def states_of(are_read_again: tuple[bool, ...], *tensors: Any) -> tuple[Any, ...]:
    """What tells whether tensors are what they were; values that are read again may be others, names be unbound."""
    return tuple(
        None if tensor is MISSING else (
            tensor.shape, tensor.dtype, tensor.stop_gradient, None if is_read_again else tensor.version)
        for is_read_again, tensor in zip(are_read_again, tensors, strict=True))


def check_states(before: tuple[Any, ...], are_read_again: tuple[bool, ...], *tensors: Any) -> None:
    """Refuse that a hook has changed a tensor of which the trace knows what it is."""
    for was, tensor, now in zip(before, tensors, states_of(are_read_again, *tensors), strict=True):
        if was != now:
            raise ExecutionError(
                "a hook has written to a tensor, or set its stop_gradient or shape, during backward() in the static "
                f"function that has made it: shape {list(tensor.shape)}",
                advice="Let the hook return what it computes, or call backward() outside of the static function.",
                kind="X10",
            )


def content_of_cell(cell: CellType) -> Any:
    """What a variable of a function around holds now."""
    return cell.cell_contents


def contents_of(container: Any) -> list[Any]:
    """What a container holds: the members, or keys and values by turns; of another object, its attributes."""
    if isinstance(container, dict):
        return [part for item in dict.items(container) for part in item]
    if isinstance(container, CellType):
        return [content_of_cell(container)]
    kind = next((kind for kind in _CONTAINERS if isinstance(container, kind)), None)
    return contents_of(container.__dict__) if kind is None else [*kind.__iter__(container)]


_CONTAINERS: tuple[Any, ...] = (list, set, deque, bytearray)


def check_contents(container: Any, before: list[Any]) -> None:
    """Refuse that code which is not traced has changed a container of which the trace knows the content."""
    now = contents_of(container)
    if len(now) != len(before) or any(new is not old for new, old in zip(now, before, strict=True)):
        what = "variable" if isinstance(container, CellType) else type(container).__name__
        raise ExecutionError(
            f"code that is not traced has changed a {what} that the static function has made",
            advice="Let it return a new one, or do not keep it eager.",
            kind="X01",
        )


def modified_in_place(op: str, shape: tuple[Any, ...]) -> None:
    """Refuse to differentiate an op of which an input, of this shape, has been written to since."""
    raise GradientError(
        f"a tensor that the gradient of {op} needs has been modified in place: shape [{', '.join(map(str, shape))}]",
        advice="Write to a clone, or write before the tensor is used.",
        kind="G02",
    )


def check_version(read: tuple[Any, int], op: str) -> None:
    """Raise if a tensor of the caller has been written to since it was read in this version."""
    tensor, version = read
    if tensor.version != version:
        modified_in_place(op, tuple(tensor.shape))


def py_func(
    function: Callable[..., Any], arrays: tuple[Any, ...], expected: tuple[tuple[str, TensorSpec, bool], ...]
) -> Any:
    """Call a user's function on Tensors; its result as an array, or a tuple of arrays.

    Parameters
    ----------
    expected : tuple of (name, spec, needed)
        What the function has to return; None is allowed in place of a result that is not needed.
    """
    # A gradient that no path taken leads to is None.
    results = function(*[None if array is None else wrap(np.asarray(array)) for array in arrays])
    listed = list(results) if isinstance(results, list | tuple) else [results] if expected else []
    if len(listed) != len(expected):
        raise ExecutionError(
            f"{name_of(function)} returned {counted(len(listed), 'result')} to py_func, expected {len(expected)}: "
            f"{', '.join(name for name, _, _ in expected)}",
            kind="X02",
        )
    made = []
    for result, (name, spec, needed) in zip(listed, expected, strict=True):
        array = unwrap(result) if isinstance(result, TensorBase) else result
        if array is not None or needed:
            array = np.asarray(array)
            if not spec.admits(array):
                raise ExecutionError(
                    f"{name_of(function)} returned {'None' if result is None else spec_of(array)} to py_func "
                    f"for {name}, expected {spec}",
                    kind="X02",
                )
        made.append(array)
    return made[0] if len(made) == 1 else tuple(made)


def py_layer(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Run the forward of a PyLayer: its context, and the arrays of its outputs."""
    context, result = layer.run_forward(*args, **kwargs)
    parts = result if isinstance(result, tuple | list) else (result,)
    return context, *(unwrap(part) for part in parts)


def py_layer_backward(run: Any, layer: Any, context: Any, grads: list[Any]) -> tuple[Any, ...]:
    """Run the backward of a PyLayer on arrays; None where it gives no gradient."""
    given = [None if grad is None else wrap(np.asarray(grad), False) for grad in grads]
    try:
        found = layer.run_backward(context, given)
    except BaseException:
        run.failed_at = context
        raise
    return tuple(None if grad is None else unwrap(grad) for grad in found)


def product_of_rows(left: list[Any], right: list[Any]) -> Any:
    """``left[0].T @ right[0] + left[1].T @ right[1] + ...`` of matrices or single rows, as one product."""
    if not left:
        return None
    first, second = (np.concatenate(rows).reshape(-1, rows[0].shape[-1]) for rows in (left, right))
    return np.matmul(first.T, second)


def are_in_order(*arrays: Any) -> bool:
    """True if results computed from these arrays are contiguous: they are, or show one number everywhere."""
    return all(map(is_in_order, arrays))


RUNTIME: dict[str, Any] = {
    "MISSING": MISSING,
    "HookPoint": HookPoint,
    "add_presence": add_presence,
    "add_present": add_present,
    "are_in_order": are_in_order,
    "check_bound": check_bound,
    "check_bound_object": check_bound_object,
    "check_nan": check_nan,
    "modified_in_place": modified_in_place,
    "new_identity": itertools.count().__next__,
    "check_version": check_version,
    "outside": outside,
    "product_of_rows": product_of_rows,
    "py_func": py_func,
    "py_layer": py_layer,
    "py_layer_backward": py_layer_backward,
    "raise_again": raise_again,
    "register_hook": register_hook,
}
