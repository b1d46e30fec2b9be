"""The eager Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.arrays import as_array, fitting
from d2s.core.hooks import RemovableHandle
from d2s.core.interpreter import TensorBase, state
from d2s.core.public import public
from d2s.core.spec import is_floating
from d2s.core.watched_class import WatchedClass
from d2s.eager import views
from d2s.eager.construction import data_and_dtype
from d2s.eager.tape import Edge, InteriorNode, LeafNode
from d2s.eager.values import TensorValues
from d2s.errors import DTypeError, HookError, LeafError, ShapeError
from d2s.ops.creation import detach
from d2s.ops.indexing import with_item
from d2s.ops.methods import TensorMethods

if TYPE_CHECKING:
    from d2s.eager.interpreter import EagerInterpreter

_new = object.__new__


class Tensor(TensorValues, TensorMethods, TensorBase, metaclass=WatchedClass):
    """A multi-dimensional array that knows how it was computed.

    Made by `d2s.to_tensor`, by creation functions and by ops.  `stop_gradient=True`, the default of `to_tensor`,
    means that no gradient is wanted.

    Parameters
    ----------
    value : list, tuple, ndarray or Tensor, or any number of int
        Data, which is copied: lists become float32, whatever is in them, the others keep their dtype.  Or the sizes
        of a float32 tensor whose values will be written later; without any it has no elements.
    name : str, optional
        Its name.
    stop_gradient : bool
        False if gradients are wanted.
    named
        ``data=``, in place of `value`, always becomes float32.  ``place="cpu"`` and ``device="cpu"`` say what is the
        case anyway; ``persistable`` and ``zero_copy`` are ignored.

    Raises
    ------
    DTypeError
        If the data is something else: numbers need `to_tensor`.
    """

    interpreter: EagerInterpreter
    # In `d2s.eager.backward`, which needs this class.
    _backward: Callable[..., None]
    _contributions: Callable[..., Any]

    data: np.ndarray[Any, Any]
    version: int
    _index: int
    _kind: Any
    _leaf: LeafNode | None
    _node: InteriorNode | None
    _sharing: views.Sharing | None
    _stop_gradient: bool

    __slots__ = (
        "__dict__", "__weakref__", "_index", "_kind", "_leaf", "_node", "_sharing", "_stop_gradient", "data", "version",
    )

    def __init__(self, *value: Any, name: str | None = None, stop_gradient: bool = True, **named: Any) -> None:
        data, dtype, shape = data_and_dtype(value, named)
        if isinstance(data, TensorBase) and not isinstance(data, Tensor):
            # Of a Program under construction: it says what to do.
            data = np.asarray(data)
        tensor_of(as_array(data, dtype) if shape is None else np.zeros(shape, dtype), into=self)
        self.stop_gradient = stop_gradient
        if name is not None:
            self.name = name

    # --- what it is -------------------------------------------------------------------------------------------

    @property
    def is_leaf(self) -> bool:
        """True if the tensor was made by the user, not by a recorded op."""
        return self._node is None

    @property
    def stop_gradient(self) -> bool:
        """True if no gradient flows into this tensor.  Read when an op runs; setting it later changes no graph."""
        return self._stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        value = bool(value)
        if not value and not is_floating(self.data.dtype):
            raise DTypeError(
                f"only floating point and complex tensors can require gradients, got {self.data.dtype.name}",
                advice="Cast it first: x.astype('float32').",
                kind="D02",
            )
        self._set_stop_gradient(value)

    def _set_stop_gradient(self, value: bool) -> None:
        self._stop_gradient = value
        self._kind = None

    @property
    def name(self) -> str:
        """Name given by the user, else one made from the identity of the tensor."""
        found: str = self.__dict__.get("name") or f"tensor_{id(self):x}"
        return found

    @name.setter
    def name(self, value: str) -> None:
        self.__dict__["name"] = value

    def edge(self) -> Edge | None:
        """Where gradients of this tensor go, or None if it stops them."""
        if self._stop_gradient:
            return None
        return self.graph_edge()

    def graph_edge(self) -> Edge:
        """The value this tensor names, whether or not gradients are stopped now."""
        if self._node is not None:
            return (self._node, self._index)
        if self._leaf is None:
            self._leaf = LeafNode(self.spec)
        return (self._leaf, 0)

    def alias(self) -> Tensor:
        """Another Tensor object for the same value: same data, same place in the graph, same hooks."""
        if self._node is None and not self._stop_gradient:
            self.graph_edge()
        other = tensor_of(self.data, self._stop_gradient, self._node, self._index)
        other._leaf = self._leaf
        other.version = self.version
        return other

    def __copy__(self) -> Tensor:
        return self.alias()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A leaf with a copy of the data; tensor and reduce hooks are not copied."""
        other = tensor_of(self.data.copy(), self._stop_gradient, into=type(self).__new__(type(self)))
        other.__dict__.update(self.__dict__)
        memo[id(self)] = other
        note = getattr(state.current, "note_copy", None)
        if note is not None:
            note(self, other)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.data, self._stop_gradient, dict(self.__dict__))

    # --- gradients --------------------------------------------------------------------------------------------

    @property
    def grad(self) -> Tensor | None:
        """Accumulated gradient; None if there is none (not zero: that is a gradient too)."""
        if self._node is not None:
            found: Tensor | None = self._node.grad_of(self._index)
            return found
        return None if self._leaf is None else self._leaf.grad_of(0)

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise DTypeError(f"grad must be a Tensor or None, got {type(value).__name__}", kind="D04")
            if value.shape != self.shape or value.dtype != self.dtype:
                raise ShapeError(
                    f"grad must have shape {self.shape} and dtype {self.dtype.name}, "
                    f"got {value.shape} and {value.dtype.name}",
                    kind="S04",
                )
            value = tensor_of(value.data, False)
        node, index = self.graph_edge()
        node.set_grad(index, value)

    def gradient(self) -> Any:
        """A copy of the accumulated gradient as NumPy array; None if there is none."""
        found = self.grad
        return None if found is None else found.numpy()

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Set the gradient to zero, or to None with ``set_to_zero=False``.  A gradient of None stays None."""
        node = self._node
        if node is not None:
            node.set_grad(self._index, None, zero=set_to_zero and node.grad_of(self._index) is not None)
        elif self._leaf is not None:
            self._leaf.clear(set_to_zero)

    clear_grad = clear_gradient

    def backward(self, grad_tensor: Any = None, retain_graph: bool = False) -> None:
        """Compute the gradients of this tensor with respect to the leaves, and add them to their `.grad`.

        Parameters
        ----------
        grad_tensor : Tensor, optional
            Gradient of the final value with respect to this tensor, of its shape.  May be left out for a tensor of
            one element: then it is 1.
        retain_graph : bool
            Keep what is needed to call backward again.
        """
        self._backward(grad_tensor, retain_graph)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook` with the complete gradient of this tensor in every backward; it may return a new gradient.

        Raises
        ------
        HookError
            If the tensor stops gradients (also a RuntimeError).
        DTypeError
            If `hook` cannot be called (also a TypeError).
        """
        if self._stop_gradient:
            raise HookError("Cannot register hook on a tensor that stop gradient.", kind="H01")
        node, index = self.graph_edge()
        return node.hook_list(index).add(hook)

    def _register_backward_hook(self, hook: Callable[[], Any]) -> RemovableHandle:
        """Call `hook`, without arguments, each time the gradient of this leaf has been added to `.grad`.

        Raises
        ------
        LeafError
            If the tensor is no leaf, or stops gradients (also a ValueError).
        """
        if not self.is_leaf:
            raise LeafError("Only can register backward hook for leaf Tensor.", kind="L01")
        if self._stop_gradient:
            raise LeafError("Cannot register backward hook on a Tensor that stop gradient.", kind="L01")
        leaf = self.graph_edge()[0]
        assert isinstance(leaf, LeafNode)
        return leaf.reduce_hook_list().add(hook)

    def _apply_backward_hook(self) -> None:
        """Call the reduce hooks now."""
        if self._leaf is not None:
            self._leaf.run_reduce_hooks()

    def retain_grads(self) -> None:
        """Keep `.grad` of an intermediate tensor too, as it is after all its hooks; it accumulates."""
        node = self._node
        if node is not None and not self._stop_gradient:
            node.retain(self._index)

    def detach(self) -> Tensor:
        """The same values without history, with ``stop_gradient=True``; a write to one is seen in the other."""
        found: Tensor = detach(self)
        return found

    # --- writes -----------------------------------------------------------------------------------------------

    def _assign_version(self, new: Tensor) -> Tensor:
        """Make this tensor name `new`, the result of an op on it: an in-place write.

        Hooks stay with the value before, and graphs that saved it notice the write.  Without grad mode only the
        values change.

        Raises
        ------
        LeafError
            If the tensor is a leaf that requires a gradient, and grad mode is on.
        ShapeError, DTypeError
            If `new` has another number of elements, or a dtype of another kind.
        """
        if not isinstance(new, Tensor):
            # Inside a function that is being traced: the write becomes part of its Program.
            new.interpreter.lift(self)._assign_version(new)
            return self
        if new.data.dtype != self.data.dtype or new.data.shape != self.data.shape:
            new = views.fitted(self, new)
        if not state.grad_enabled or (self._stop_gradient and new._stop_gradient):
            views.write_data(self, new.data)
        elif new._stop_gradient:
            # Nothing of the value before is left: the gradient that reaches it is zero.
            views.write(self, with_item(self, ..., new))
        else:
            views.write(self, new)
        return self

    @public()
    def set_value(self, value: Any) -> None:
        """Replace the values; the shape must be the same, other dtypes are cast.  Hooks and `.grad` stay."""
        if isinstance(value, TensorBase) and not isinstance(value, Tensor):
            value.interpreter.lift(self).set_value(value)  # type: ignore[attr-defined]
            return
        array = as_array(value)
        if array.shape != self.data.shape:
            raise ShapeError(f"set_value needs shape {self.shape}, got {list(array.shape)}", kind="S04")
        is_of_numbers = isinstance(value, int | float | list | tuple)
        new = fitting(array, self.data.dtype) if is_of_numbers else array.astype(self.data.dtype, copy=False)
        views.write_data(self, new)


def tensor_of(
    data: np.ndarray[Any, Any],
    stop_gradient: bool = True,
    node: InteriorNode | None = None,
    index: int = 0,
    into: Tensor | None = None,
) -> Tensor:
    """A Tensor that holds this very array, the result `index` of `node` if there is one; `into`: which is to be it."""
    tensor: Tensor = _new(Tensor) if into is None else into
    # Never written to: an in-place write puts another array here, so arrays may be shared freely.
    tensor.data = data
    tensor._stop_gradient = stop_gradient
    tensor._node = node
    tensor._index = index
    tensor._leaf = None
    tensor._sharing = None
    tensor.version = 0
    # What guards of compiled calls have found it to be; None again when shape, dtype or flag change.
    tensor._kind = None
    return tensor


def _rebuild(cls: type[Tensor], data: np.ndarray[Any, Any], stop_gradient: bool, extra: dict[str, Any]) -> Tensor:
    tensor = tensor_of(data, stop_gradient, into=cls.__new__(cls))
    tensor.__dict__.update(extra)
    return tensor
