"""Layers and parameters in sequences and dicts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from d2s.errors import DTypeError, IndexOutOfRangeError
from d2s.nn.layer import Layer
from d2s.nn.parameter import Parameter
from d2s.words import counted

__all__ = ["LayerDict", "LayerList", "ParameterDict", "ParameterList", "Sequential"]


def _position(index: int, length: int, extra: int = 0) -> int:
    """`index`, counted from the end if negative, as a place among `length` (and `extra` more behind them)."""
    found = index + length if index < 0 else index
    if not 0 <= found < length + extra:
        raise IndexOutOfRangeError(
            f"index {index} is out of range for {counted(length, 'entry', 'entries')}", kind="I04")
    return found


class Sequential(Layer):
    """Layers called one after the other, each on the output of the one before.

    Parameters
    ----------
    *layers : Layer, or tuple (name, Layer)
        A single list of these, or one OrderedDict, will do too.
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], OrderedDict):
            layers = tuple(layers[0].items())
        elif len(layers) == 1 and isinstance(layers[0], list):
            layers = tuple(layers[0])
        for index, layer in enumerate(layers):
            name, layer = layer if isinstance(layer, tuple | list) else (str(index), layer)
            self.add_sublayer(str(name), layer)

    def forward(self, input: Any) -> Any:
        for layer in self._sub_layers.values():
            assert layer is not None
            input = layer(input)
        return input

    # It knows nothing of its layers, which are traced for themselves.
    forward.__d2s_only_calls__ = True  # type: ignore[attr-defined]

    def _name(self, key: int | str) -> str:
        return key if isinstance(key, str) else list(self._sub_layers)[_position(key, len(self))]

    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, slice):
            return type(self)(*list(self._sub_layers.items())[key])
        return self._sub_layers[self._name(key)]

    def __setitem__(self, key: int | str, layer: Layer) -> None:
        setattr(self, self._name(key), layer)

    def __delitem__(self, key: int | str) -> None:
        delattr(self, self._name(key))

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sub_layers.values())


class LayerList(Layer):
    """A list of layers that are registered; it has no forward of its own."""

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        self.extend(sublayers or ())

    def __getitem__(self, index: int | slice) -> Any:
        layers = list(self._sub_layers.values())
        return type(self)(layers[index]) if isinstance(index, slice) else layers[_position(index, len(layers))]  # type: ignore[arg-type]

    def __setitem__(self, index: int, layer: Layer) -> None:
        setattr(self, str(_position(index, len(self))), layer)

    def __delitem__(self, index: int | slice) -> None:
        layers = list(self._sub_layers.values())
        del layers[index if isinstance(index, slice) else _position(index, len(layers))]
        self._refill(layers)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sub_layers.values())

    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Add several layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Put a layer before the one at `index`."""
        if not isinstance(sublayer, Layer):
            raise DTypeError(f"a LayerList holds Layers, got {type(sublayer).__name__}")
        layers: list[Any] = list(self._sub_layers.values())
        layers.insert(_position(index, len(layers), extra=1), sublayer)
        self._refill(layers)

    def pop(self, key: int = -1) -> Any:
        """Remove the layer at place `key` and return it."""
        layer = self[key]
        del self[key]
        return layer

    def _refill(self, layers: list[Any]) -> None:
        self._sub_layers.clear()
        self._sub_layers.update((str(index), layer) for index, layer in enumerate(layers))


class LayerDict(Layer):
    """Layers by name; it has no forward of its own."""

    def __init__(self, sublayers: Mapping[str, Layer] | Iterable[tuple[str, Layer]] | None = None) -> None:
        super().__init__()
        self.update(sublayers or {})

    def __getitem__(self, key: str) -> Any:
        return self._sub_layers[key]

    def __setitem__(self, key: str, sublayer: Layer) -> None:
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key: str) -> None:
        del self._sub_layers[key]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def __contains__(self, key: object) -> bool:
        return key in self._sub_layers

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._sub_layers.keys()

    def values(self) -> Iterable[Any]:
        """The layers."""
        return self._sub_layers.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and layers."""
        return self._sub_layers.items()

    def pop(self, key: str) -> Any:
        """Take a layer out and return it."""
        layer = self._sub_layers.pop(key)
        return layer

    def clear(self) -> None:
        """Take all layers out."""
        self._sub_layers.clear()

    def update(self, sublayers: Mapping[str, Layer] | Iterable[tuple[str, Layer]]) -> None:
        """Put layers in, over those of the same names."""
        for name, layer in sublayers.items() if isinstance(sublayers, Mapping) else sublayers:
            self[name] = layer


class ParameterList(Layer):
    """A list of parameters that are registered."""

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def __getitem__(self, index: int) -> Any:
        return self._parameters[str(_position(index, len(self)))]

    def __setitem__(self, index: int, parameter: Parameter) -> None:
        setattr(self, str(_position(index, len(self))), parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def append(self, parameter: Parameter) -> ParameterList:
        """Add a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self

    def extend(self, parameters: Iterable[Parameter]) -> ParameterList:
        """Add several parameters at the end."""
        for parameter in parameters:
            self.append(parameter)
        return self


class ParameterDict(Layer):
    """Parameters by name that are registered."""

    def __init__(self, parameters: Mapping[str, Parameter] | Iterable[tuple[str, Parameter]] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, parameter: Parameter) -> None:
        self.add_parameter(key, parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._parameters.keys()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and parameters."""
        return self._parameters.items()

    def update(self, parameters: Mapping[str, Parameter] | Iterable[tuple[str, Parameter]]) -> None:
        """Put parameters in, over those of the same names."""
        for name, parameter in parameters.items() if isinstance(parameters, Mapping) else parameters:
            self[name] = parameter
