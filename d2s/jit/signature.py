"""Arguments against the specs that were given for them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.errors import GuardError
from d2s.operators.sources import Argument, Item, Source
from d2s.static.input_spec import InputSpec
from d2s.words import counted


def flat_binding(signature: inspect.Signature) -> tuple[Callable[..., dict[str, Any]], int, int]:
    """A function that gives arguments by parameter name, for calls by position with all of them there.

    Returns
    -------
    callable, int, int
        The function, and how many arguments it takes at least and at most; none, where there are parameters that can
        be given by keyword only.
    """
    parameters = signature.parameters.values()
    if any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters):
        return dict, 1, 0
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    count = len(parameters) - rest
    names = [f"p{number}" for number in range(count)]
    pairs = [f"{p.name!r}: {name}" for p, name in zip(parameters, [*names, *["rest"] * rest], strict=True)]
    taken = ", ".join([*names, *["*rest"] * rest])
    bind: Callable[..., dict[str, Any]] = eval(f"lambda {taken}: {{{', '.join(pairs)}}}")
    return bind, count, sys.maxsize if rest else count


def specified(
    specs: Sequence[Any], signature: inspect.Signature, bound: dict[str, Any], is_method: bool, name: str
) -> Iterator[tuple[str, Any, Any]]:
    """Pair specs with arguments: (name of the argument, its spec, its value), the object of a method left out.

    Raises
    ------
    GuardError
        If there are more specs than arguments.
    """
    arguments: list[tuple[str, Any]] = []
    for parameter in list(signature.parameters.values())[is_method:]:
        value = bound[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments += [(f"{parameter.name}[{number}]", part) for number, part in enumerate(value)]
        elif parameter.kind is parameter.VAR_KEYWORD:
            arguments += value.items()
        else:
            arguments.append((parameter.name, value))
    if len(specs) > len(arguments):
        raise GuardError(
            f"input_spec of {name} has {counted(len(specs), 'entry', 'entries')}, "
            f"but the call has {counted(len(arguments), 'argument')}",
            kind="C01",
        )
    for (argument, value), spec in zip(arguments, specs, strict=False):
        yield argument, spec, value


def check_arguments(
    specs: Any, signature: inspect.Signature, bound: dict[str, Any], is_method: bool, name: str
) -> None:
    """Check a call of `name` against its `input_spec`; arguments beyond the specs are free.

    Raises
    ------
    GuardError
        If an argument does not fit; also a ValueError.
    """
    listed = list(specs) if isinstance(specs, list | tuple) else [specs]
    for argument, spec, value in specified(listed, signature, bound, is_method, name):
        _check(spec, value, argument, name)


def open_sizes(specs: Any, signature: inspect.Signature, is_method: bool) -> Iterator[tuple[Source, int]]:
    """The sizes that an `input_spec` leaves open: where the tensor is found, and the axis."""
    rest = list(specs) if isinstance(specs, list | tuple) else [specs]
    for parameter in list(signature.parameters.values())[is_method:]:
        source = Argument(parameter.name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            for number, spec in enumerate(rest):
                yield from _open(spec, Item(source, number))
            return
        if rest:
            yield from _open(rest.pop(0), source)


def _open(spec: Any, source: Source) -> Iterator[tuple[Source, int]]:
    if isinstance(spec, InputSpec):
        yield from ((source, axis) for axis, size in enumerate(spec.shape) if size == -1)
    elif isinstance(spec, list | tuple | dict):
        for key, part in spec.items() if isinstance(spec, dict) else enumerate(spec):
            yield from _open(part, Item(source, key))


def _check(spec: Any, value: Any, place: str, name: str) -> None:
    if isinstance(spec, TensorBase):
        spec = InputSpec.from_tensor(spec)
    elif isinstance(spec, np.ndarray):
        spec = InputSpec.from_numpy(spec)
    if isinstance(spec, InputSpec):
        if not spec.admits(value):
            raise _misfit(spec, value, place, name)
    elif isinstance(spec, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(spec):
            raise _misfit(spec, value, place, name)
        for number, (part, held) in enumerate(zip(spec, value, strict=True)):
            _check(part, held, f"{place}[{number}]", name)
    elif isinstance(spec, dict):
        if not isinstance(value, dict) or value.keys() != spec.keys():
            raise _misfit(spec, value, place, name)
        for key, part in spec.items():
            _check(part, value[key], f"{place}[{key!r}]", name)
    elif type(spec) is not type(value) or spec != value:
        raise _misfit(spec, value, place, name)


def _misfit(spec: Any, value: Any, place: str, name: str) -> GuardError:
    return GuardError(
        f"{place} of {name} does not fit its input_spec: got {_shown(value)}, expected {_shown(spec)}",
        kind="C02",
    )


def _shown(thing: Any) -> str:
    """Tensors and arrays by shape and dtype, other things by type and value."""
    if isinstance(thing, TensorBase | np.ndarray):
        kind = "array" if isinstance(thing, np.ndarray) else "tensor"
        return f"a {kind} of shape {list(thing.shape)}, dtype {thing.dtype.name}"  # type: ignore[union-attr]
    if isinstance(thing, list | tuple):
        return f"a {type(thing).__name__} of {len(thing)}"
    if isinstance(thing, dict):
        return f"a dict with keys {', '.join(map(repr, thing))}"
    return repr(thing)
