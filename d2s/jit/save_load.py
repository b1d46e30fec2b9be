"""`save` and `load`: a trained model as one file that runs without its class.

The file is a zip archive: ``program.json`` holds the traced Programs, the ``.npy`` entries their constants and the
parameters and buffers.  Loading runs no code of the file.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from d2s.errors import ArgumentError, D2SError, DTypeError, GuardError, ProgramError
from d2s.jit.function import StaticFunction
from d2s.jit.loaded import LoadedLayer
from d2s.jit.pruning import without_hooks
from d2s.jit.reading import Reader
from d2s.jit.symbolic_call import Symbol, SymbolicCall
from d2s.jit.trace import leaving, record
from d2s.jit.writing import Writer
from d2s.nn.layer import Layer
from d2s.nn.parameter import Parameter
from d2s.static.program import Program, Value

SUFFIX = ".d2s"
FORMAT = "d2s program 1"


def save(layer: Any, path: str | os.PathLike[str], input_spec: Sequence[Any] | None = None, **ignored: Any) -> None:
    """
    Write a Layer or function, with its parameters and buffers as they are now, to ``path.d2s``.

    A Layer is traced in evaluation and in training mode; its own mode, its gradients and the specs are left as they
    are.  Gradient hooks and the forward hooks of the Layer itself are not saved.  Python code is not saved either:
    Python values that `forward` reads become constants.

    Parameters
    ----------
    layer : Layer or callable
        Eager or converted by `to_static`.
    path : path
        Without the suffix; directories that are missing are made.
    input_spec : sequence, optional
        One entry per argument: an `InputSpec`, a Tensor or array as example, a Python value, or a list, tuple or
        dict of these.  May be left out if `to_static` was given one.

    Raises
    ------
    GuardError
        If `input_spec` is missing or does not fit the arguments.
    ProgramError
        If the function has effects or returns objects that cannot be saved.
    """
    function, instance = _function_of(layer)
    specs = _specs_of(layer if not isinstance(layer, Layer) else layer.forward, input_spec)
    writer = Writer()
    module = layer if isinstance(layer, Layer) else instance if isinstance(instance, Layer) else None
    state = _State(module, writer)
    modes: dict[str, Any] = {}
    signature = inspect.signature(function)
    for mode in ("eval", "train"):
        with _in_mode(module, mode == "train"):
            arguments = SymbolicCall(signature, specs, instance, function.__name__)
            try:
                modes[mode] = _saved(writer, state, function, signature, arguments)
            except D2SError as error:
                if mode == "eval":
                    raise
                modes[mode] = {"error": f"{error.message} ({error.location})"}
        if module is None:
            modes["train"] = modes["eval"]
            break
    described = {
        "format": FORMAT, "name": function.__name__, "arguments": arguments.described(writer), "modes": modes,
        "state": state.entries,
    }
    _write(os.fspath(path) + SUFFIX, described, writer.arrays)


def load(path: str | os.PathLike[str]) -> LoadedLayer:
    """
    Read what `save` has written.

    Parameters
    ----------
    path : path
        As given to `save`.

    Returns
    -------
    LoadedLayer
        A Layer with the parameters and buffers under the names they had; it starts in evaluation mode, can be
        called, differentiated and trained.

    Raises
    ------
    ValueError
        If the file was not written by `save`, or is damaged.
    """
    name = os.fspath(path)
    name = name if name.endswith(SUFFIX) else name + SUFFIX
    with open(name, "rb") as file:
        try:
            with zipfile.ZipFile(file) as opened:
                archive = _Archive(opened, os.fstat(file.fileno()).st_size)
                described = json.loads(archive.read("program.json"))
                if described["format"] != FORMAT:
                    raise ArgumentError(
                        f"{name} has the format {described['format']!r}, expected {FORMAT!r}", kind="A02")
                arrays = [archive.array(number) for number in range(described["arrays"])]
            return LoadedLayer(described, Reader(arrays))
        except (ArgumentError, MemoryError):
            raise
        except Exception as error:
            # Whatever it is, it comes from what the file says.
            raise ArgumentError(
                f"{name} was not written by d2s.jit.save, or is damaged: {error}",
                kind="A02") from error


# --- what to trace -------------------------------------------------------------------------------------------------


def _function_of(layer: Any) -> tuple[FunctionType, Any]:
    """The Python function behind what is to be saved, and the object it is a method of."""
    found: Any = layer.forward if isinstance(layer, Layer) else layer
    if isinstance(found, StaticFunction):
        found = found.dygraph_function
    instance = None
    if isinstance(found, MethodType):
        found, instance = found.__func__, found.__self__
    if isinstance(found, StaticFunction):
        found = found.dygraph_function
    if not isinstance(found, FunctionType):
        raise DTypeError(f"save() needs a Layer or a function, got {type(layer).__name__}")
    return found, instance


def _specs_of(function: Any, given: Sequence[Any] | None) -> list[Any]:
    if given is None and isinstance(function, StaticFunction):
        given = function._input_spec
    if given is None:
        raise GuardError(
            "save() needs input_spec: one InputSpec per argument", advice="An example will do: input_spec=[x].",
            kind="C04")
    return list(given) if isinstance(given, list | tuple) else [given]


# --- tracing -------------------------------------------------------------------------------------------------------


class _State:
    """The tensors that a saved Program reads from outside, by name; each is stored once."""

    def __init__(self, module: Layer | None, writer: Writer) -> None:
        self.entries: list[dict[str, Any]] = []
        self._writer = writer
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []
        if module is not None:
            persistent = module.state_dict()
            for name, tensor in persistent.items():
                self.number_of(tensor, name)
            for name, tensor in module.named_buffers():
                if name not in persistent:
                    self.entries[self.number_of(tensor, name)]["persistable"] = False

    def number_of(self, tensor: Any, name: str | None = None) -> int:
        """The number of a tensor; entered if it is new, with one more name if it is known by another."""
        number = self._numbers.get(id(tensor))
        if number is None:
            number = self._numbers[id(tensor)] = len(self.entries)
            self._kept.append(tensor)
            self.entries.append({
                "names": [], "array": self._writer.array(tensor.data), "stop_gradient": tensor.stop_gradient,
                "is_parameter": isinstance(tensor, Parameter), "persistable": True,
                "tensor_name": tensor.__dict__.get("name"),
            })
        names = self.entries[number]["names"]
        if name is not None:
            names.append(name)
        elif not names:
            names.append(f"captured_{number}")
        return number


def _saved(
    writer: Writer, state: _State, function: Callable[..., Any], signature: inspect.Signature, arguments: SymbolicCall
) -> dict[str, Any]:
    """One mode: its Program, and what each input is."""
    tracer = record(function, signature, arguments.bound, function.__name__)
    program = tracer.program
    without_hooks(program)
    program.block.outputs = leaving(program)
    inputs: list[Any] = []
    tensors = {value: tensor for tensor, value in tracer.captured.values()}
    read = _read(program)
    used = tuple(value for value in program.inputs if value in read)
    for value in used:
        tensor = tensors.get(value)
        if tensor is None:
            raise ProgramError(
                f"{function.__name__} reads {tracer.sources[value]} when it runs, which cannot be saved",
                advice="Pass it as an argument, or make it a constant of forward().",
                kind="P08",
            )
        if isinstance(tensor, Symbol):
            inputs.append({"argument": arguments.symbols.index(tensor)})
        else:
            inputs.append({"state": state.number_of(tensor)})
    program.block.inputs = used
    return {"program": writer.program(program), "inputs": inputs}


def _read(program: Program) -> set[Value]:
    found: set[Value] = set()
    for operator in program.all_operators():
        found.update(operator.reads())
        for block in operator.blocks:
            found.update(block.outputs)
    return found


@contextmanager
def _in_mode(module: Layer | None, training: bool) -> Iterator[None]:
    """Put a tree of Layers in one mode, and each Layer back into its own."""
    layers = [] if module is None else module.sublayers(include_self=True)
    before = [layer.training for layer in layers]
    for layer in layers:
        layer.training = training
    try:
        yield
    finally:
        for layer, was in zip(layers, before, strict=True):
            layer.training = was


# --- files ---------------------------------------------------------------------------------------------------------


def _write(path: str, described: dict[str, Any], arrays: list[Any]) -> None:
    """Write the archive; an existing file is replaced only when the new one is complete."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr("program.json", json.dumps({**described, "arrays": len(arrays)}, indent=1))
            for number, array in enumerate(arrays):
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, array, allow_pickle=False)
                archive.writestr(f"arrays/{number}.npy", buffer.getvalue())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


class _Archive:
    """The entries of a file, which hold no more than the file does: they are not compressed, and do not overlap."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._left = size

    def read(self, name: str) -> bytes:
        """What an entry holds."""
        entry = self._archive.getinfo(name)
        self._left -= entry.file_size
        if entry.compress_type != zipfile.ZIP_STORED or self._left < 0:
            raise ValueError(f"{name} holds more than the file")
        return self._archive.read(entry)

    def array(self, number: int) -> Any:
        """The array with this number."""
        data = self.read(f"arrays/{number}.npy")
        buffer = io.BytesIO(data)
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(buffer)](buffer)
        # Checked first: room is made for what the header says.
        if dtype.kind not in "biufc" or math.prod(shape) * dtype.itemsize != len(data) - buffer.tell():
            raise ValueError(f"array {number} is not of {dtype}{list(shape)}")
        buffer.seek(0)
        return np.lib.format.read_array(buffer, allow_pickle=False)


_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
