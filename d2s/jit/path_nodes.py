"""What values are in one run of a Program, and the tape's node of one of its operators."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.spec import TensorSpec, spec_of
from d2s.eager.interpreter import compute
from d2s.eager.tape import Edge, LeafNode, OpNode
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import Location
from d2s.static.program import Operator

if TYPE_CHECKING:
    from d2s.eager.walk import Walk

_keys = itertools.count()


def next_place(met: dict[int, int], number: int) -> tuple[int, int]:
    """The place `number` where turns make Tensors, and how often the run had come to it; `met` takes note."""
    times = met.get(number, 0)
    met[number] = times + 1
    return number, times


class Storage:
    """Values that one write in place changes together: a tensor and its views.

    Attributes
    ----------
    tensor : Tensor or None
        The tensor of the caller whose values these are.
    version : int
        Its version while these were its values.
    is_guess : bool
        True if the version is taken to be the next one: a write may reach a tensor by several ways.
    readers : list of (node, int, TensorSpec)
        Nodes whose rules read them: the key of the place that was read as first operand, else -1; and its spec.
    """

    __slots__ = ("is_guess", "readers", "tensor", "version")

    def __init__(self, tensor: Any = None, version: int = 0, is_guess: bool = False) -> None:
        self.tensor = tensor
        self.version = version
        self.is_guess = is_guess
        self.readers: list[tuple[PathNode, int, TensorSpec]] = []

    def written(self) -> None:
        """Let the gradients that read these values refuse: they have been written over."""
        for node, _, spec in self.readers:
            node.written = spec


class Place:
    """What a value is in one run.

    Attributes
    ----------
    edge : (node, index) or None
        Where its gradient goes.
    spec : TensorSpec
    storage : Storage
    key : int
        Different for each place.
    """

    __slots__ = ("_data", "_made_by", "_tensor", "edge", "key", "spec", "storage")

    def __init__(
        self, spec: TensorSpec, edge: Edge | None = None, storage: Storage | None = None, data: Any = None,
        made_by: tuple[Step, int] | None = None, tensor: Any = None,
    ) -> None:
        self.key = next(_keys)
        self.spec = spec
        self.edge = edge
        self.storage = Storage() if storage is None else storage
        self._data = data
        self._made_by = made_by
        self._tensor = tensor

    @property
    def data(self) -> Any:
        """The values."""
        if self._data is None:
            if self._made_by is not None:
                step, position = self._made_by
                self._data = step.results()[position]
            else:
                assert self._tensor is not None, "a run keeps what its gradients need"
                self._data = self._tensor.data
        return self._data

    def known_spec(self) -> TensorSpec:
        """Shape and dtype in this run; with sizes of the Program where nobody has needed to know more."""
        return self.spec if self.spec.is_static or self._data is None else spec_of(np.asarray(self._data))

    def tensor(self) -> Any:
        """The values as a Tensor at this place of the graph: that of the caller, if it is one."""
        if self._tensor is not None:
            return self._tensor
        array = np.asarray(self.data)
        if self.edge is None:
            return tensor_of(array)
        node, index = self.edge
        if not isinstance(node, LeafNode):
            return tensor_of(array, False, node, index)
        tensor = tensor_of(array, False)
        tensor._leaf = node
        return tensor


    def forget_tensor(self) -> None:
        """Go on with the values, if they are kept: the Tensor is written over."""
        if self._data is not None:
            self._tensor = None


class Step:
    """One operator of the path with its operands: it can be computed again."""

    __slots__ = ("_results", "attrs", "operands", "operator")

    def __init__(self, operator: Operator, operands: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.operator = operator
        self.operands = operands
        self.attrs = attrs
        self._results: tuple[Any, ...] | None = None

    def results(self) -> tuple[Any, ...]:
        """What the operator gives."""
        if self._results is None:
            assert self.operator.op is not None
            arrays = [operand.data if isinstance(operand, Place) else operand for operand in self.operands]
            found = compute(self.operator.op, arrays, self.attrs)
            self._results = tuple(found) if self.operator.several else (found,)
        return self._results


class PathNode(OpNode):
    """One op of the path.

    Attributes
    ----------
    operator : Operator
    watched : list of (Tensor, int, TensorSpec)
        Tensors of the caller of which the rules read a part, with their versions at that time.
    is_filled : bool
        True once it holds what its rules read.
    """

    __slots__ = ("is_filled", "operator", "watched")

    def __init__(
        self, operator: Operator, attrs: dict[str, Any], edges: list[Edge | None], specs: Sequence[TensorSpec]
    ) -> None:
        assert operator.op is not None
        super().__init__(operator.op, attrs, (), (), edges, specs, None)
        self.operator = operator
        self.watched: list[tuple[Any, int, TensorSpec]] = []
        self.is_filled = False

    @property
    def location(self) -> Location | None:
        return self.operator.location

    def read(self) -> tuple[tuple[bool, ...], bool]:
        """Of which inputs, and whether of its outputs, the rules read the values."""
        return self.op.reads_for(tuple(edge is not None for edge in self.edges))

    def fill(self, operands: Sequence[Any], places: Sequence[Place]) -> None:
        """Take over what the rules read."""
        read, reads_out = self.read()
        inputs: list[Any] = []
        versions: list[int] = []
        for operand, is_read in zip(operands, read, strict=True):
            held, version = operand, -1
            if isinstance(operand, Place):
                if is_read:
                    held = operand.tensor()
                    version = operand.storage.version if held is operand.storage.tensor else held.version
                else:
                    held = operand.known_spec()
            inputs.append(held)
            versions.append(version)
        self.inputs, self.versions = tuple(inputs), tuple(versions)
        self.specs = [place.known_spec() for place in places]
        if reads_out:
            out_data = tuple(np.asarray(place.data) for place in places)
            self.out_data = out_data if self.operator.several else out_data[0]
        self.is_filled = True

    def visit(self, walk: Walk, grads: list[Tensor | None]) -> None:
        if not all(spec.is_static for spec in self.specs):
            self._find_sizes(grads)
        super().visit(walk, grads)

    def _find_sizes(self, grads: Sequence[Tensor | None]) -> None:
        """The sizes that the gradients show are those of the outputs, and of inputs that share them."""
        sizes: dict[Any, int] = {}
        for spec, grad in zip(self.specs, grads, strict=True):
            if grad is not None:
                sizes.update(zip(spec.shape, grad.data.shape, strict=True))
        self.specs = [_with_sizes(spec, sizes) for spec in self.specs]
        self.inputs = tuple(_with_sizes(held, sizes) if isinstance(held, TensorSpec) else held for held in self.inputs)

    def check_usable(self) -> None:
        super().check_usable()
        for tensor, version, spec in self.watched:
            if tensor.version != version:
                self._refuse(spec)

    def release(self) -> None:
        super().release()
        self.watched = []


def _with_sizes(spec: TensorSpec, sizes: dict[Any, int]) -> TensorSpec:
    return TensorSpec(tuple(sizes.get(size, size) for size in spec.shape), spec.dtype)
