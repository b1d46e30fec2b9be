"""`summary`: a table of the layers in a Layer, with shapes and numbers of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.spec import as_dtype, default_dtype
from d2s.drawing.table import table
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import ArgumentError, DTypeError
from d2s.jit.function import static_mode
from d2s.nn.layer import Layer


def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """
    Print a table of all layers: what each gives, and how many parameters it has.

    The layer is called once, on zeros, in evaluation mode and eagerly, static Layers too; afterwards it is as before.

    Parameters
    ----------
    net : Layer
    input_size : InputSpec, shape, or a list of these
        What the inputs are like.  Sizes that are left open (None or -1) count as 1.
    dtypes : dtype or list of dtype, optional
        Of inputs given by a shape alone; the default dtype if left out.
    input : Tensor or list, optional
        Inputs to call the layer with, in place of zeros.

    Returns
    -------
    dict
        ``total_params`` and ``trainable_params``.

    Raises
    ------
    TypeError
        If neither `input_size` nor `input` says what the inputs are, or a spec is none.
    ArgumentError
        If `net` is no Layer, a size is negative, or there is not one dtype for each input.
    """
    if not isinstance(net, Layer):
        raise ArgumentError(f"summary is of a Layer, got {type(net).__name__}")
    if input is not None:
        inputs = list(input) if isinstance(input, list | tuple) else [input]
    elif input_size is not None:
        specs = _specs(input_size)
        several = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes] * len(specs)
        if len(several) != len(specs):
            raise ArgumentError(f"summary got {len(specs)} inputs but {len(several)} dtypes")
        inputs = [_zeros(spec, dtype) for spec, dtype in zip(specs, several, strict=True)]
    else:
        raise ArgumentError("summary needs an input_size, or an input")
    shapes = _shapes_of(net, inputs)
    rows = [
        [name, type(part).__name__, shapes.get(id(part), "not called"), f"{own:,}"]
        for name, part, own in _layers(net)
    ]
    parameters = {id(parameter): parameter for parameter in net.parameters()}.values()
    total = sum(parameter.size for parameter in parameters)
    trainable = sum(parameter.size for parameter in parameters if parameter.trainable)
    size = sum(parameter.data.nbytes for parameter in parameters)
    print(table(["layer", "type", "output", "parameters"], rows, right=[3]))
    print(f"\nparameters: {total:,} ({size / 2**20:.2f} MiB), {trainable:,} of them trainable")
    return {"total_params": total, "trainable_params": trainable}


def _layers(layer: Layer) -> Iterator[tuple[str, Layer, int]]:
    """Each layer once: name, indented by depth, itself, and how many numbers its own parameters hold."""
    seen: set[int] = set()
    for name, part in layer.named_sublayers(include_self=True):
        depth = name.count(".") + 1 if name else 0
        shown = "  " * depth + (name.rpartition(".")[2] or "(whole)")
        own = 0
        for parameter in part.parameters(include_sublayers=False):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                own += parameter.size
        yield shown, part, own


def _shapes_of(layer: Layer, inputs: list[Any]) -> dict[int, str]:
    """What every layer gives, as text, by identity."""
    shapes: dict[int, str] = {}
    parts = layer.sublayers(include_self=True)
    modes = [part.training for part in parts]

    def note(part: Layer, given: Any, output: Any) -> None:
        shapes[id(part)] = _text(output)

    handles = [part.register_forward_post_hook(note) for part in parts]
    try:
        layer.eval()
        # In eager mode, which knows all shapes.  Not under no_grad: a forward may register hooks.
        with static_mode(False):
            layer(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode
    return shapes


def _text(output: Any) -> str:
    if isinstance(output, TensorBase):
        return f"{output.dtype.name}{output.shape}"  # type: ignore[attr-defined]
    if isinstance(output, list | tuple):
        return ", ".join(map(_text, output))
    return type(output).__name__


def _specs(given: Any) -> list[Any]:
    """A list of specs: of one spec or shape, or of several."""
    is_shape = isinstance(given, list | tuple) and all(isinstance(size, int | None) for size in given)
    if hasattr(given, "shape") or is_shape:
        return [given]
    if isinstance(given, list | tuple):
        return list(given)
    raise DTypeError(f"input_size must be an InputSpec, a shape or a list of these, got {given!r}")


def _zeros(spec: Any, dtype: Any) -> Tensor:
    shape = getattr(spec, "shape", spec)
    if not isinstance(shape, list | tuple):
        raise DTypeError(f"input_size must hold InputSpecs or shapes, got {spec!r}")
    dtype = getattr(spec, "dtype", dtype)
    sizes = [1 if size is None or size == -1 else size for size in shape]
    if not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise ArgumentError(f"the sizes in input_size must be whole numbers from 0, None or -1, got {shape!r}")
    return tensor_of(np.zeros(sizes, default_dtype() if dtype is None else as_dtype(dtype)))
