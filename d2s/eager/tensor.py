"""The eager Tensor, and the interpreter that computes ops at once."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.hooks import RemovableHandle
from d2s.core.interpreter import (
    TensorBase,
    current_interpreter,
    register_wrapping,
    set_default_interpreter,
    state,
)
from d2s.core.op import Op
from d2s.core.spec import DType, TensorSpec, as_dtype, default_dtype, is_floating, spec_of
from d2s.eager.tape import Edge, InteriorNode, LeafNode, OpNode, Walk
from d2s.errors import DTypeError, GradientError, HookError, ShapeError
from d2s.ops.methods import TensorMethods


class EagerInterpreter:
    """Computes each op at once and, if a gradient may be wanted, leaves a node on the tape."""

    priority = 0

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        arrays = [arg.data if isinstance(arg, Tensor) else arg for arg in args]
        try:
            result = _quiet.context.run(op.forward, *arrays, **attrs)
        except Exception as error:
            raise _explained(op, arrays, attrs, error) from None
        if state.grad_enabled and op.is_differentiable:
            for arg in args:
                if isinstance(arg, Tensor) and not arg._stop_gradient:
                    return self._recorded(op, args, attrs, result)
        if type(result) is tuple:
            return tuple(Tensor(np.asarray(part)) for part in result)
        return Tensor(result if type(result) is np.ndarray else np.asarray(result))

    def _recorded(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any], result: Any) -> Any:
        edges: list[Edge | None] = []
        inputs: list[Any] = []
        versions: list[int] = []
        any_edge = False
        for index, arg in enumerate(args):
            if isinstance(arg, Tensor):
                edge = None if arg._stop_gradient or not op.differentiates(index) else arg.edge()
                any_edge = any_edge or edge is not None
                edges.append(edge)
                if op.saves_input(index):
                    inputs.append(arg)
                    versions.append(arg.version)
                else:
                    inputs.append(TensorSpec(arg.data.shape, arg.data.dtype))
                    versions.append(-1)
            else:
                edges.append(None)
                inputs.append(arg)
                versions.append(-1)
        if type(result) is tuple:
            parts = tuple(np.asarray(part) for part in result)
            if not any_edge:
                return tuple(Tensor(part) for part in parts)
            node = OpNode(op, attrs, tuple(inputs), tuple(versions), edges, [spec_of(part) for part in parts],
                          parts if op.saves_out else None)
            return tuple(
                Tensor(part, False, node, index) if is_floating(part.dtype) else Tensor(part)
                for index, part in enumerate(parts)
            )
        data = result if type(result) is np.ndarray else np.asarray(result)
        if not any_edge or not is_floating(data.dtype):
            return Tensor(data)
        node = OpNode(op, attrs, tuple(inputs), tuple(versions), edges, (TensorSpec(data.shape, data.dtype),),
                      data if op.saves_out else None)
        return Tensor(data, False, node, 0)


class _Quiet(threading.local):
    """A context in which NumPy computes inf and nan without warning, as tensor libraries do."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")


_quiet = _Quiet()


def _explained(op: Op, arrays: Sequence[Any], attrs: dict[str, Any], error: Exception) -> Exception:
    """The error to show for a forward that failed: what `infer` says about the shapes, else `error` itself."""
    try:
        op.infer(*[spec_of(np.asarray(array)) for array in arrays], **attrs)
    except Exception as better:
        return better
    return error


class Tensor(TensorBase, TensorMethods):
    """A multi-dimensional array that knows how it was computed.

    Made by `d2s.to_tensor`, by creation functions and by ops.  `stop_gradient=True`, the default of `to_tensor`,
    means that no gradient is wanted.
    """

    __slots__ = ("__dict__", "__weakref__", "_index", "_leaf", "_node", "_stop_gradient", "data", "version")

    interpreter = EagerInterpreter()

    def __init__(self, data: Any, stop_gradient: bool = True, node: Any = None, index: int = 0) -> None:
        self.data: np.ndarray[Any, Any] = data
        self._stop_gradient = stop_gradient
        self._node = node
        self._index = index
        self._leaf: LeafNode | None = None
        self.version = 0

    # --- what it is -------------------------------------------------------------------------------------------

    @property
    def shape(self) -> list[int]:
        """Sizes of the axes, as a list."""
        return list(self.data.shape)

    @property
    def dtype(self) -> DType:
        """Element type, a NumPy dtype."""
        return self.data.dtype

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype."""
        return TensorSpec(self.data.shape, self.data.dtype)

    @property
    def place(self) -> str:
        """Where the data is: always the CPU."""
        return "Place(cpu)"

    @property
    def is_leaf(self) -> bool:
        """True if the tensor was made by the user, not by a recorded op."""
        return self._node is None

    @property
    def stop_gradient(self) -> bool:  # type: ignore[override]
        """True if no gradient flows into this tensor.  Read when an op runs; setting it later changes no graph."""
        return self._stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        value = bool(value)
        if not value and not is_floating(self.data.dtype):
            raise DTypeError(
                f"only floating point and complex tensors can require gradients, got {self.data.dtype.name}",
                advice="Cast it first: x.astype('float32').",
            )
        self._stop_gradient = value

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
        other = Tensor(self.data, self._stop_gradient, self._node, self._index)
        other._leaf = self._leaf
        other.version = self.version
        return other

    # --- values -----------------------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy of the values as NumPy array."""
        return self.data.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.data, dtype=dtype)

    def item(self, *index: int) -> Any:
        """The single element (or the one at `index`) as Python number.

        Raises
        ------
        ShapeError
            If there is more than one element and no `index`.
        """
        if not index and self.data.size != 1:
            raise ShapeError(f"item() needs a tensor of one element, got shape {self.shape}")
        return self.data.item(*index)

    def tolist(self) -> Any:
        """The values as nested Python lists."""
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
        if self.data.dtype.kind not in "iub":
            raise DTypeError(f"only an integer tensor can be an index, got {self.data.dtype.name}")
        return int(self._single("an index"))

    def _single(self, use: str) -> Any:
        if self.data.size != 1:
            raise ShapeError(f"{use} of a tensor needs exactly one element, got shape {self.shape}")
        return self.data.item()

    def __len__(self) -> int:
        if self.data.ndim == 0:
            raise DTypeError("a 0-d tensor has no len()")
        return len(self.data)

    def __format__(self, format_spec: str) -> str:
        if self.data.size == 1 and format_spec:
            return format(self.data.item(), format_spec)
        return format(str(self), format_spec)

    def __repr__(self) -> str:
        values = np.array2string(self.data, separator=", ", precision=8, threshold=1000, prefix=" " * 7)
        shown = ", ".join(map(str, self.data.shape))
        return (
            f"Tensor(shape=[{shown}], dtype={self.data.dtype.name}, place={self.place}, "
            f"stop_gradient={self._stop_gradient},\n       {values})"
        )

    def __copy__(self) -> Tensor:
        return self.alias()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A leaf with a copy of the data; tensor and reduce hooks are not copied."""
        other = type(self).__new__(type(self))
        Tensor.__init__(other, self.data.copy(), self._stop_gradient)
        other.__dict__.update(self.__dict__)
        memo[id(self)] = other
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
                raise DTypeError(f"grad must be a Tensor or None, got {type(value).__name__}")
            if value.shape != self.shape or value.dtype != self.dtype:
                raise ShapeError(
                    f"grad must have shape {self.shape} and dtype {self.dtype.name}, "
                    f"got {value.shape} and {value.dtype.name}"
                )
            value = Tensor(value.data, False)
        node, index = self.graph_edge()
        node.set_grad(index, value)

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Set the gradient to zero, or to None with ``set_to_zero=False``.  A gradient of None stays None."""
        node, index = self.graph_edge()
        present = node.grad_of(index) is not None
        node.set_grad(index, None, zero=set_to_zero and present)

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
        backward([self], [grad_tensor], retain_graph)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook` with the complete gradient of this tensor in every backward; it may return a new gradient.

        Raises
        ------
        HookError
            If the tensor stops gradients (also a RuntimeError).
        TypeError
            If `hook` cannot be called.
        """
        if self._stop_gradient:
            raise HookError("Cannot register hook on a tensor that stop gradient.")
        node, index = self.graph_edge()
        return node.hook_list(index).add(hook)

    def _register_backward_hook(self, hook: Callable[[], Any]) -> RemovableHandle:
        """Call `hook`, without arguments, each time the gradient of this leaf has been added to `.grad`.

        Raises
        ------
        ValueError
            If the tensor is no leaf, or stops gradients.
        """
        if not self.is_leaf:
            raise ValueError("Only can register backward hook for leaf Tensor.")
        if self._stop_gradient:
            raise ValueError("Cannot register backward hook on a Tensor that stop gradient.")
        leaf = self.graph_edge()[0]
        assert isinstance(leaf, LeafNode)
        return leaf.reduce_hook_list().add(hook)

    def _apply_backward_hook(self) -> None:
        """Call the reduce hooks now."""
        if self._leaf is not None:
            self._leaf.run_reduce_hooks()

    def retain_grads(self) -> None:
        """Keep `.grad` of an intermediate tensor too, as it is after the hooks registered so far."""
        node = self._node
        if isinstance(node, InteriorNode) and not self._stop_gradient and not node.is_retaining(self._index):
            node.retain(self._index)

    def detach(self) -> Tensor:
        """The same data without history, with ``stop_gradient=True``."""
        from d2s.ops.creation import detach

        found: Tensor = detach(self)
        return found

    def _assign_version(self, new: Tensor) -> Tensor:
        """Make this tensor name `new`, the result of an op on it: an in-place write.

        The value before keeps its hooks; graphs that saved it notice the write.
        """
        if self._node is None and not self._stop_gradient:
            if state.grad_enabled:
                raise ValueError(
                    f"Leaf Tensor ({self.name}) that doesn't stop gradient can't use inplace strategy."
                )
            self.data = new.data
        elif new._node is None and not state.grad_enabled and not self._stop_gradient:
            self.data = new.data
        else:
            before = self.alias()
            node = new._node
            if isinstance(node, OpNode):
                node.inputs = tuple(before if value is self else value for value in node.inputs)
            self.data, self._node, self._index = new.data, new._node, new._index
            self._stop_gradient = new._stop_gradient
        self.version += 1
        return self

    def set_value(self, value: Any) -> None:
        """Replace the values; shape must be the same, other dtypes are cast.  Hooks and `.grad` stay."""
        data = value.data if isinstance(value, Tensor) else np.asarray(value)
        if data.shape != self.data.shape:
            raise ShapeError(f"set_value needs shape {self.shape}, got {list(data.shape)}")
        self.data = np.array(data, dtype=self.data.dtype)
        self.version += 1


def _rebuild(cls: type[Tensor], data: np.ndarray[Any, Any], stop_gradient: bool, extra: dict[str, Any]) -> Tensor:
    tensor = cls.__new__(cls)
    Tensor.__init__(tensor, data, stop_gradient)
    tensor.__dict__.update(extra)
    return tensor


set_default_interpreter(Tensor.interpreter)
register_wrapping(Tensor, lambda tensor: tensor.data)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Any:
    """Make a tensor of a number, nested lists, a NumPy array or a Tensor; the data is copied.

    Parameters
    ----------
    data : number, bool, sequence, ndarray or Tensor
        Python floats become the default dtype (float32), ints int64; NumPy arrays keep their dtype.
    dtype : dtype or str, optional
        Element type of the result.
    place : optional
        Ignored: there is only the CPU.
    stop_gradient : bool
        False if gradients are wanted (then the dtype must be floating point or complex).

    Returns
    -------
    Tensor
        A leaf.

    Raises
    ------
    DTypeError
        If `data` is no array of numbers, or an integer tensor should require gradients.
    """
    interpreter = current_interpreter()
    stage = getattr(interpreter, "to_tensor", None)
    if stage is not None:
        return stage(data, dtype, stop_gradient)
    tensor = Tensor(as_array(data, dtype))
    tensor.stop_gradient = stop_gradient
    return tensor


def as_array(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """A new array of `data` by the rules of `to_tensor`."""
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Tensor):
        return np.array(data.data, dtype=wanted)
    if isinstance(data, np.ndarray | np.generic):
        array = np.array(data)
    else:
        if isinstance(data, list | tuple):
            data = _plain(data)
        try:
            array = np.array(data)
        except ValueError:
            raise ShapeError("to_tensor needs nested sequences of equal lengths") from None
        if wanted is None:
            if array.dtype.kind == "f":
                wanted = default_dtype()
            elif array.dtype.kind == "c":
                wanted = np.dtype("complex64")
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"to_tensor cannot make a tensor of {type(data).__name__} ({array.dtype.name})")
    return array if wanted is None else array.astype(wanted, copy=False)


def _plain(data: Any) -> Any:
    """Nested sequences with tensors in them as nested sequences of arrays."""
    if isinstance(data, list | tuple):
        return [_plain(part) for part in data]
    return data.data if isinstance(data, Tensor) else data


def backward(tensors: Sequence[Tensor], grad_tensors: Sequence[Any] | None = None, retain_graph: bool = False) -> None:
    """Compute gradients of several tensors at once, and add them to `.grad` of the leaves.

    Parameters
    ----------
    tensors : sequence of Tensor
        The roots.
    grad_tensors : sequence of Tensor or None, optional
        Gradient of the final value with respect to each root.
    retain_graph : bool
        Keep what is needed to call backward again.

    Raises
    ------
    GradientError
        If a root stops gradients, or has several elements and no gradient is given, or its graph was used up.
    """
    Walk(retain_graph=retain_graph).run(_roots(tensors, grad_tensors))


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """Gradients of `outputs` with respect to `inputs`; fills no `.grad`.

    Tensor hooks on the way run, on inputs, intermediates and outputs; reduce hooks do not.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
    grad_outputs : Tensor, sequence of Tensor or None
        Gradient of the final value with respect to each output; ones if left out.
    retain_graph : bool, optional
        Keep the graph; by default as `create_graph`.
    create_graph : bool
        Record the computation of the gradients, so that they can be differentiated.
    only_inputs : bool
        Must be True.
    allow_unused : bool
        Give None for an input that the outputs do not depend on, instead of raising.
    no_grad_vars : Tensor or sequence of Tensor, optional
        Tensors that no gradient passes.

    Raises
    ------
    GradientError
        If an input is not part of the graph and `allow_unused` is False.
    """
    if not only_inputs:
        raise GradientError("grad() supports only_inputs=True only")
    outputs, inputs = _listed(outputs), _listed(inputs)
    blocked = [tensor.graph_edge() for tensor in _listed(no_grad_vars)]
    for tensor in inputs:
        if tensor.stop_gradient:
            raise GradientError("an input of grad() stops gradients", advice="Set stop_gradient=False before its use.")
    edges = [tensor.graph_edge() for tensor in inputs]
    keep = create_graph if retain_graph is None else retain_graph
    grads = [None] * len(outputs) if grad_outputs is None else _listed(grad_outputs)
    grads = [
        Tensor(np.ones_like(out.data)) if given is None else given for out, given in zip(outputs, grads, strict=True)
    ]
    walk = Walk(keep, create_graph, edges, blocked)
    walk.run(_roots(outputs, grads))
    assert walk.captured is not None
    result: list[Tensor | None] = []
    for position, edge in enumerate(edges):
        found = walk.captured[edge]
        if found is None and not allow_unused:
            raise GradientError(
                f"input {position} of grad() is not used to compute the outputs",
                advice="Pass allow_unused=True to get None for it.",
            )
        if found is not None:
            found = found.alias() if create_graph else Tensor(found.data, False)
        result.append(found)
    return result


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _roots(tensors: Sequence[Tensor], grads: Sequence[Any] | None) -> list[tuple[Edge, Tensor]]:
    roots: list[tuple[Edge, Tensor]] = []
    given = [None] * len(tensors) if grads is None else grads
    if len(given) != len(tensors):
        raise GradientError(f"got {len(tensors)} tensors but {len(given)} gradients")
    for tensor, grad_tensor in zip(tensors, given, strict=True):
        edge = tensor.edge()
        if edge is None:
            raise GradientError("backward() on a tensor that stops gradients: nothing to differentiate")
        if grad_tensor is None:
            if tensor.data.size != 1:
                raise GradientError(
                    f"backward() without grad_tensor needs a tensor of one element, got shape {tensor.shape}",
                    advice="Reduce it first (loss.sum()), or pass grad_tensor.",
                )
            seed = Tensor(np.ones_like(tensor.data))
        else:
            if not isinstance(grad_tensor, Tensor):
                raise DTypeError(f"grad_tensor must be a Tensor or None, got {type(grad_tensor).__name__}")
            if grad_tensor.shape != tensor.shape:
                raise ShapeError(f"grad_tensor has shape {grad_tensor.shape}, expected {tensor.shape}")
            if grad_tensor.dtype != tensor.dtype:
                raise DTypeError(f"grad_tensor has dtype {grad_tensor.dtype.name}, expected {tensor.dtype.name}")
            seed = grad_tensor
        roots.append((edge, seed))
    return roots
