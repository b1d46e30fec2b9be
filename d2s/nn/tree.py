"""Walks over a tree of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from d2s.errors import MemberError
from d2s.nn.parameter import Parameter
from d2s.nn.registry import LayerRegistry

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor
    from d2s.nn.layer import Layer


class LayerTree(LayerRegistry):
    """A registry that finds what is in it, and in the layers below."""

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
        self, prefix: str = "", include_self: bool = False, layers_set: set[Any] | None = None,
        remove_duplicate: bool = True,
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
        remove_duplicate : bool
            False: a layer that stands at several places comes under each of its names.
        """
        seen: set[Any] = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            if remove_duplicate:
                seen.add(self)
            yield prefix, self  # type: ignore[misc]
        below = self._sub_layers
        # In this way the items of an OrderedDict are met sooner.
        for name in below:
            layer = below[name]
            if layer is not None and layer not in seen:
                yield from layer.named_sublayers(_join(prefix, name), True, seen, remove_duplicate)

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """All layers below this one, parents first, each once."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def get_sublayer(self, target: str) -> Layer:
        """The layer with this dotted name; this one itself for ``""``.

        Raises
        ------
        AttributeError
            If there is no such layer.
        """
        found: Any = self
        for name in target.split(".") if target else []:
            below = getattr(found, name, None)
            if not hasattr(below, "_sub_layers"):
                raise MemberError(f"{type(found).__name__} has no sublayer {name!r}", kind="M03")
            found = below
        return found  # type: ignore[no-any-return]

    def modules(self) -> Iterator[Layer]:
        """This layer and all below it, parents first, each once."""
        return iter(self.sublayers(include_self=True))

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Layer]]:
        """This layer and all below it with their dotted names, as `named_sublayers`."""
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names; a parameter that several layers share comes once.

        With ``remove_duplicate=False`` it comes under each of its names.
        """
        return self._named("_parameters", prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        """The parameters; one that several layers share comes once."""
        return [parameter for _, parameter in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names, each once, or with ``remove_duplicate=False`` under each name."""
        return self._named("_buffers", prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """The buffers, each once."""
        return [buffer for _, buffer in self.named_buffers(include_sublayers=include_sublayers)]

    def _named(
        self, registry: str, prefix: str, include_sublayers: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        own = iter([(prefix, self)])
        below = self.named_sublayers(prefix, include_self=True, remove_duplicate=remove_duplicate)
        for path, layer in below if include_sublayers else own:
            held = layer.__dict__[registry]
            for name in held:
                value = held[name]
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield _join(path, name), value


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
