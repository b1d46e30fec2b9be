"""What a Layer consists of: parameters, sublayers and buffers by name, and the walks over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.nn.parameter import Parameter
from d2s.nn.structure import STRUCTURE

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor
    from d2s.nn.layer import Layer

_REGISTRIES = ("_parameters", "_sub_layers", "_buffers")


class LayerTree:
    """The registries of a Layer.

    Assigning a `Parameter` or a `Layer` to an attribute registers it; assigning a tensor to the name of a buffer
    replaces that buffer; anything else is an ordinary attribute.
    """

    _parameters: dict[str, Parameter | None]
    _sub_layers: dict[str, Layer | None]
    _buffers: dict[str, Tensor | None]
    _non_persistable_buffers: set[str]

    def __init__(self) -> None:
        self.__dict__.update(_parameters={}, _sub_layers={}, _buffers={}, _non_persistable_buffers=set())
        STRUCTURE.changed()

    # --- attributes -------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if "_parameters" not in fields:
            raise AttributeError(f"{type(self).__name__} must call super().__init__() before it sets {name!r}")
        if isinstance(value, Parameter):
            self._register("_parameters", name, value)
        elif isinstance(value, LayerTree):
            self._register("_sub_layers", name, value)
        elif name in fields["_buffers"]:
            self._replace("_buffers", name, value, TensorBase, "buffer", "a Tensor")
        elif name in fields["_parameters"]:
            self._replace("_parameters", name, value, Parameter, "parameter", "a Parameter")
        elif name in fields["_sub_layers"]:
            self._replace("_sub_layers", name, value, LayerTree, "sublayer", "a Layer")
        else:
            object.__setattr__(self, name, value)
            STRUCTURE.changed()

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        for registry in _REGISTRIES:
            found = fields.get(registry)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for registry in _REGISTRIES:
            if name in self.__dict__[registry]:
                del self.__dict__[registry][name]
                self._non_persistable_buffers.discard(name)
                break
        else:
            object.__delattr__(self, name)
        STRUCTURE.changed()

    def __dir__(self) -> list[str]:
        names = set(super().__dir__())
        for registry in _REGISTRIES:
            names.update(self.__dict__[registry])
        return sorted(names)

    def _register(self, registry: str, name: str, value: Any) -> None:
        """Enter `value` under `name`, which then means nothing else."""
        self.__dict__.pop(name, None)
        for other in _REGISTRIES:
            if other != registry:
                self.__dict__[other].pop(name, None)
        if registry != "_buffers":
            self._non_persistable_buffers.discard(name)
        self.__dict__[registry][name] = value
        STRUCTURE.changed()

    def _replace(self, registry: str, name: str, value: Any, kind: type, what: str, wanted: str) -> None:
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{what} {name!r} can be set to {wanted} or None, not to {type(value).__name__}")
        self.__dict__[registry][name] = value
        STRUCTURE.changed()

    def _check_name(self, name: str, registry: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name must be a string, got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"the name must not be empty or contain a dot, got {name!r}")
        if name not in self.__dict__[registry] and hasattr(self, name):
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already")

    # --- walks ------------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """The direct sublayers with their names, each once."""
        seen: set[int] = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def children(self) -> Iterator[Layer]:
        """The direct sublayers, each once."""
        return (layer for _, layer in self.named_children())

    def named_sublayers(
        self, prefix: str = "", include_self: bool = False, layers_set: set[Any] | None = None
    ) -> Iterator[tuple[str, Layer]]:
        """All layers below this one with their dotted names, parents first, each once.

        Parameters
        ----------
        prefix : str
            Put before the names.
        include_self : bool
            Begin with this layer, under the name `prefix`.
        layers_set : set, optional
            Layers to leave out; those given are added to it.
        """
        seen: set[Any] = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            seen.add(self)
            yield prefix, self  # type: ignore[misc]
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                yield from layer.named_sublayers(_join(prefix, name), True, seen)

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """All layers below this one, parents first, each once."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names; a parameter that several layers share comes once."""
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        """The parameters; one that several layers share comes once."""
        return [parameter for _, parameter in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names, each once."""
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """The buffers, each once."""
        return [buffer for _, buffer in self.named_buffers(include_sublayers=include_sublayers)]

    def _named(self, registry: str, prefix: str, include_sublayers: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        own = iter([(prefix, self)])
        for path, layer in self.named_sublayers(prefix, include_self=True) if include_sublayers else own:
            for name, value in layer.__dict__[registry].items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield _join(path, name), value


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
