"""What `load` gives: a Layer that runs saved Programs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from d2s.core.interpreter import current_interpreter, state
from d2s.core.spec import TensorSpec
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import DTypeError, ExecutionError, GuardError, ProgramError, UnsupportedSyntaxError, user_location
from d2s.jit.plain_run import Run
from d2s.jit.reading import Reader
from d2s.jit.run_program import CallNode
from d2s.jit.trace import leaving
from d2s.nn.layer import Layer
from d2s.nn.parameter import Parameter
from d2s.static.builder import StaticInterpreter
from d2s.static.executor import Compiled
from d2s.static.failures import called
from d2s.static.graph import spec_text
from d2s.static.numeric_errors import SILENT
from d2s.static.verify import verify

MISSING = object()
# How deep a tensor may lie in the Layers of a file.
MAX_NESTING = 100


class LoadedLayer(Layer):
    """
    A Layer read from a file.

    Parameters and buffers have the names they had in the Layer that was saved (tensors that its function took from
    elsewhere are called ``captured_0``, ...), so `state_dict()` fits that Layer.
    """

    def __init__(self, described: dict[str, Any], reader: Reader) -> None:
        super().__init__(name_scope=described["name"])
        self._tensors = [_tensor(entry, reader) for entry in described["state"]]
        for entry, tensor in zip(described["state"], self._tensors, strict=True):
            for name in entry["names"]:
                _register(self, name, tensor, entry["persistable"])
        self._arguments = [(kind, name, _spec_tree(tree, reader)) for kind, name, tree in described["arguments"]]
        self._signature = inspect.Signature([
            inspect.Parameter(name, getattr(inspect.Parameter, kind), default=default)
            for (kind, name, _), default in zip(self._arguments, _defaults(self._arguments), strict=True)
        ])
        given = {leaf.number: leaf.spec for _, _, tree in self._arguments for leaf in _tensor_arguments(tree)}
        self._modes = {
            name: _Mode(described["modes"][name], reader, given, self._tensors) for name in ("eval", "train")}
        self.eval()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Program of the present mode."""
        if isinstance(state.current, StaticInterpreter):
            raise UnsupportedSyntaxError(
                "a loaded Layer cannot become part of another Program", user_location(),
                "Call it outside of the static function.",
                kind="U26",
            )
        given = self._given(args, kwargs)
        mode = self._modes["train" if self.training else "eval"]
        return mode.run(given, self._tensors)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, Tensor]:
        """The tensors of a call by number, checked."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if value is _REQUIRED:
                raise DTypeError(f"missing a required argument: {name!r}")
        given: dict[int, Tensor] = {}
        for _, name, tree in self._arguments:
            _collect(tree, bound.arguments[name], name, given)
        return given


class _Mode:
    """The Program of one mode; compiled on its first run."""

    def __init__(
        self, described: dict[str, Any], reader: Reader, given: dict[int, TensorSpec], tensors: list[Tensor]
    ) -> None:
        self._error: str | None = described.get("error")
        self._compiled: Compiled | None = None
        if self._error is None:
            self._program = reader.program(described["program"])
            verify(self._program)
            self._inputs = [(kind, number) for entry in described["inputs"] for kind, number in entry.items()]
            for value, (kind, number) in zip(self._program.inputs, self._inputs, strict=True):
                found = given[number] if kind == "argument" else tensors[number].spec
                if value.spec is None or spec_text(value.spec) != spec_text(found):
                    raise ProgramError(f"{value.name} is {value.spec}, and gets {found}", kind="P01")

    def run(self, given: dict[int, Tensor], tensors: list[Tensor]) -> Any:
        """Run with the arguments `given` and the state `tensors`."""
        if self._error is not None:
            raise ExecutionError(
                f"this Layer was saved for evaluation only: {self._error}", advice="Call eval() first.", kind="X09")
        compiled = self._compiled
        if compiled is None:
            program = self._program
            program.block.outputs = leaving(program)
            edges = [value for value in program.inputs if not value.stop_gradient]
            compiled = self._compiled = Compiled(program, program.inputs, edges, {})
        if current_interpreter().checks_nan:
            compiled = compiled.checked
        read = [given[number] if kind == "argument" else tensors[number] for kind, number in self._inputs]
        wanted = state.grad_enabled and any(not read[i].stop_gradient for i in compiled.edge_positions)
        run = CallNode(compiled, read) if wanted and compiled.is_differentiable else Run(read)
        with SILENT:
            return called(compiled.forward, run)


# --- state -----------------------------------------------------------------------------------------------------


def _tensor(entry: dict[str, Any], reader: Reader) -> Tensor:
    array, stop_gradient = reader.arrays[entry["array"]], entry["stop_gradient"]
    if entry["is_parameter"]:
        return Parameter(array, trainable=not stop_gradient, name=entry["tensor_name"])
    tensor = tensor_of(array, stop_gradient)
    if entry["tensor_name"] is not None:
        tensor.name = entry["tensor_name"]
    return tensor


def _register(layer: Layer, path: str, tensor: Tensor, persistable: bool) -> None:
    """Register a tensor under a dotted name; Layers on the way are made."""
    *above, name = path.split(".")
    if len(above) > MAX_NESTING:
        raise ProgramError(f"a tensor lies below {len(above)} layers", kind="P01")
    for part in above:
        if part not in layer._sub_layers:
            layer.add_sublayer(part, Layer())
        below = layer._sub_layers[part]
        assert below is not None
        layer = below
    if isinstance(tensor, Parameter):
        layer.add_parameter(name, tensor)
    else:
        layer.register_buffer(name, tensor, persistable)


# --- arguments ---------------------------------------------------------------------------------------------------


def _spec_tree(data: dict[str, Any], reader: Reader) -> Any:
    """An argument: a pair of number and spec for a tensor, a _Constant for anything else, in containers."""
    (tag, held), = data.items()
    if tag == "tensor":
        return _TensorArgument(held[0], reader.spec(held[1]))
    if tag == "sequence":
        return [_spec_tree(part, reader) for part in held]
    if tag == "mapping":
        return {reader.tree(key): _spec_tree(part, reader) for key, part in held}
    return _Constant(reader.tree(held))


def _tensor_arguments(tree: Any) -> Iterator[_TensorArgument]:
    if isinstance(tree, _TensorArgument):
        yield tree
    elif isinstance(tree, list | dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _tensor_arguments(part)


class _TensorArgument:
    """A tensor that a call has to bring."""

    def __init__(self, number: int, spec: TensorSpec) -> None:
        self.number = number
        self.spec = spec


class _Constant:
    """A Python value with which the function was traced: a call may bring no other."""

    def __init__(self, value: Any) -> None:
        self.value = value


# In the place of a default: of an argument that a call has to bring, behind one that it may leave out.
_REQUIRED = object()


def _defaults(arguments: list[tuple[str, str, Any]]) -> Iterator[Any]:
    """Default values of the arguments: constants may be left out."""
    otherwise: Any = inspect.Parameter.empty
    for kind, _, tree in arguments:
        if kind in ("VAR_POSITIONAL", "VAR_KEYWORD"):
            yield inspect.Parameter.empty
        elif isinstance(tree, _Constant):
            yield tree.value
            otherwise = _REQUIRED
        else:
            yield otherwise


def _collect(tree: Any, value: Any, place: str, given: dict[int, Tensor]) -> None:
    if isinstance(tree, _TensorArgument):
        if isinstance(value, np.ndarray):
            value = tensor_of(value)
        if not isinstance(value, Tensor) or not tree.spec.admits(value.data):
            shown = value.spec if isinstance(value, Tensor) else repr(value)
            raise GuardError(f"{place} is {shown}, but the Layer was saved for {spec_text(tree.spec)}", kind="C03")
        given[tree.number] = value
    elif isinstance(tree, _Constant):
        if type(value) is not type(tree.value) or value != tree.value:
            raise GuardError(f"{place} is {value!r}, but the Layer was saved for {tree.value!r}", kind="C03")
    elif isinstance(tree, dict):
        if not isinstance(value, dict) or value.keys() != tree.keys():
            raise GuardError(f"{place} must be a dict with the keys {', '.join(map(repr, tree))}", kind="C03")
        for key, part in tree.items():
            _collect(part, value[key], f"{place}[{key!r}]", given)
    else:
        if not isinstance(value, list | tuple) or len(value) != len(tree):
            raise GuardError(f"{place} must be a list or tuple of {len(tree)}", kind="C03")
        for number, part in enumerate(tree):
            _collect(part, value[number], f"{place}[{number}]", given)
