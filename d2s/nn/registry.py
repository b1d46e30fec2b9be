"""What a Layer consists of: parameters, sublayers and buffers, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase
from d2s.core.spec import DType, as_dtype
from d2s.eager.tensor import Tensor
from d2s.errors import DTypeError, KeyNameError, MemberError
from d2s.nn.initializer import Initializer
from d2s.nn.new_parameter import parameter_by
from d2s.nn.parameter import ParamAttr, Parameter, note_new_state
from d2s.nn.structure import STRUCTURE, Members, Names

if TYPE_CHECKING:
    from d2s.nn.layer import Layer

_REGISTRIES = ("_parameters", "_sub_layers", "_buffers")


class LayerRegistry:
    """The registries of a Layer.

    Assigning a `Parameter` or a `Layer` to an attribute registers it; assigning a tensor to the name of a buffer
    replaces that buffer; anything else is an ordinary attribute.
    """

    _parameters: dict[str, Parameter | None]
    _sub_layers: dict[str, Layer | None]
    _buffers: dict[str, Tensor | None]
    _non_persistable_buffers: set[str]
    _dtype: DType
    _names: Names

    def __init__(self) -> None:
        self.__dict__.update(
            _parameters=Members(), _sub_layers=Members(), _buffers=Members(), _non_persistable_buffers=set())
        STRUCTURE.changed()

    # --- attributes -------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if "_parameters" not in fields:
            raise MemberError(
                f"{type(self).__name__} must call super().__init__() before it sets {name!r}", kind="M01")
        if isinstance(value, Parameter):
            self._register("_parameters", name, value)
        elif isinstance(value, LayerRegistry):
            self._register("_sub_layers", name, value)
        elif name in fields["_buffers"]:
            self._replace("_buffers", name, value, TensorBase, "buffer", "a Tensor")
        elif name in fields["_parameters"]:
            self._replace("_parameters", name, value, Parameter, "parameter", "a Parameter")
        elif name in fields["_sub_layers"]:
            self._replace("_sub_layers", name, value, LayerRegistry, "sublayer", "a Layer")
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
        """Enter `value` under `name`, which then means nothing else.

        Raises
        ------
        AttributeError
            If the class has an attribute of that name: it would be found in place of the entry.
        """
        if any(name in base.__dict__ for base in type(self).__mro__):
            raise MemberError(
                f"{type(self).__name__}.{name} is an attribute of the class and would hide what is registered here",
                kind="M02")
        self.__dict__.pop(name, None)
        for other in _REGISTRIES:
            if other != registry:
                self.__dict__[other].pop(name, None)
        if registry != "_buffers":
            self._non_persistable_buffers.discard(name)
        self.__dict__[registry][name] = value

    def _replace(self, registry: str, name: str, value: Any, kind: type, what: str, wanted: str) -> None:
        if value is not None and not isinstance(value, kind):
            raise DTypeError(f"{what} {name!r} can be set to {wanted} or None, not to {type(value).__name__}")
        self.__dict__[registry][name] = value

    def _check_name(self, name: str, registry: str) -> None:
        if not isinstance(name, str):
            raise DTypeError(f"the name must be a string, got {type(name).__name__}")
        if not name or "." in name:
            raise KeyNameError(f"the name must not be empty or contain a dot, got {name!r}", kind="K01")
        if name not in self.__dict__[registry] and hasattr(self, name):
            raise KeyNameError(f"{type(self).__name__} has an attribute {name!r} already", kind="K01")

    # --- registration by method ---------------------------------------------------------------------------------

    def create_parameter(
        self,
        shape: Any,
        attr: ParamAttr | Initializer | str | bool | None = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Initializer | None = None,
        device: Any = None,
    ) -> Any:
        """Make a parameter.  It is registered when it is assigned to an attribute.

        Parameters
        ----------
        shape : sequence of int
            Its sizes.
        attr : ParamAttr, Initializer, str or bool, optional
            Settings; an Initializer or a name alone stands for a ParamAttr with it; False: no parameter.
        dtype : dtype or str, optional
            By default that of the layer.
        is_bias : bool
            Changes the default of the first values from Xavier uniform to zeros, and the name from ``w`` to ``b``.
        default_initializer : Initializer, optional
            First values if neither `attr` nor `set_global_initializer` names others.
        device : optional
            Ignored.

        Returns
        -------
        Parameter or None
            None if `attr` is False.
        """
        wanted = self._dtype if dtype is None else as_dtype(dtype)
        return parameter_by(attr, shape, wanted, is_bias, default_initializer, self._names)

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Register `parameter` under `name`.

        Raises
        ------
        TypeError
            If it is no Parameter.
        KeyError
            If `name` is empty, has a dot in it, or already means something else.
        """
        self._check_name(name, "_parameters")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise DTypeError(f"parameter {name!r} must be a Parameter or None, got {type(parameter).__name__}")
        self._register("_parameters", name, parameter)
        return parameter

    def add_sublayer(self, name: str, sublayer: Layer | None) -> Layer | None:
        """Register `sublayer` under `name`; errors as `add_parameter`."""
        self._check_name(name, "_sub_layers")
        if sublayer is not None and not isinstance(sublayer, LayerRegistry):
            raise DTypeError(f"sublayer {name!r} must be a Layer or None, got {type(sublayer).__name__}")
        self._register("_sub_layers", name, sublayer)
        return sublayer

    def register_parameter(self, name: str, param: Parameter | None) -> Parameter | None:
        """`add_parameter`."""
        return self.add_parameter(name, param)

    def add_module(self, name: str, module: Layer | None) -> Layer | None:
        """`add_sublayer`."""
        return self.add_sublayer(name, module)

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Register a tensor that is state but no parameter (a running mean); errors as `add_parameter`.

        Parameters
        ----------
        name : str
            Attribute under which it is found.
        tensor : Tensor or None
            The state; None keeps the name for later.
        persistable : bool
            True puts it into `state_dict()`.
        """
        self._check_name(name, "_buffers")
        is_traced = note_new_state()
        if tensor is not None and not isinstance(tensor, TensorBase if is_traced else Tensor):
            raise DTypeError(f"buffer {name!r} must be a Tensor or None, got {type(tensor).__name__}")
        self._register("_buffers", name, tensor)
        if persistable:
            self._non_persistable_buffers.discard(name)
        else:
            self._non_persistable_buffers.add(name)
