"""A call without values: symbols in the place of tensors, by which a function is traced to be saved."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.spec import DType, TensorSpec
from d2s.eager.tensor import Tensor
from d2s.errors import GuardError
from d2s.jit.writing import Writer
from d2s.static.input_spec import InputSpec
from d2s.words import counted


class Symbol(TensorBase):
    """Stands for an argument while a function is traced to be saved: a tensor of which only the spec is known."""

    is_leaf = True

    def __init__(self, spec: TensorSpec, stop_gradient: bool, name: str | None) -> None:
        self.spec = spec
        self.stop_gradient = stop_gradient
        self.name = name

    @property
    def shape(self) -> list[Any]:
        """Sizes and Dims."""
        return list(self.spec.shape)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.spec.dtype


class SymbolicCall:
    """The arguments of a call that fits some specs: symbols in the place of tensors."""

    def __init__(
        self, signature: inspect.Signature, specs: Sequence[Any], instance: Any, name: str,
        named: dict[str, Any] | None = None,
    ) -> None:
        self.symbols: list[Symbol] = []
        parameters = list(signature.parameters.values())
        self._first = 0 if instance is None else 1
        self._trees: list[tuple[str, Any]] = []
        args = [self._symbolic(spec) for spec in specs]
        try:
            keywords = {key: self._symbolic(spec) for key, spec in (named or {}).items()}
            found = signature.bind(*([] if instance is None else [instance]), *args, **keywords)
        except TypeError as error:
            raise GuardError(
                f"input_spec has {counted(len(specs), 'entry', 'entries')}, "
                f"which does not fit {name}{signature}: {error}",
                kind="C01") from error
        found.apply_defaults()
        self.bound: dict[str, Any] = found.arguments
        for parameter in parameters[self._first :]:
            if parameter.kind is parameter.VAR_KEYWORD and not self.bound[parameter.name]:
                continue
            self._trees.append((parameter.kind.name, parameter.name))

    def _symbolic(self, spec: Any) -> Any:
        if isinstance(spec, Tensor):
            spec = InputSpec.from_tensor(spec)
        elif isinstance(spec, np.ndarray):
            spec = InputSpec.from_numpy(spec)
        if isinstance(spec, InputSpec):
            self.symbols.append(Symbol(spec.to_spec(), spec.stop_gradient, spec.name))
            return self.symbols[-1]
        if isinstance(spec, list | tuple):
            return type(spec)(self._symbolic(part) for part in spec)
        if isinstance(spec, dict):
            return {key: self._symbolic(part) for key, part in spec.items()}
        return spec

    def described(self, writer: Writer) -> list[Any]:
        """What a loaded Layer needs to bind and check a call."""

        def tree(thing: Any) -> Any:
            if isinstance(thing, Symbol):
                return {"tensor": [self.symbols.index(thing), writer.spec(thing.spec)]}
            if isinstance(thing, list | tuple):
                return {"sequence": [tree(part) for part in thing]}
            if isinstance(thing, dict):
                return {"mapping": [[writer.tree(key), tree(part)] for key, part in thing.items()]}
            return {"constant": writer.tree(thing)}

        return [[kind, name, tree(self.bound[name])] for kind, name in self._trees]
