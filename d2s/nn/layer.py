"""Layer: the base of everything with parameters."""

from __future__ import annotations

import re
import textwrap
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from d2s.core.interpreter import current_interpreter, traced_as_written
from d2s.core.spec import as_dtype, default_dtype, is_floating
from d2s.device import check_device
from d2s.eager.tensor import Tensor
from d2s.errors import DTypeError, NotSupportedError
from d2s.nn import layer_state
from d2s.nn.layer_hooks import ForwardHook, ForwardHooks, LayerHookHandle, call_with_hooks, register
from d2s.nn.structure import STRUCTURE, Names, Table, unique_name
from d2s.nn.tree import LayerTree

__all__ = ["STRUCTURE", "Layer"]

Self = TypeVar("Self", bound="Layer")


class Layer(LayerTree):
    """A function with parameters: subclass it, make the parameters in `__init__`, compute in `forward`.

    Parameters
    ----------
    name_scope : str, optional
        Begins the names of the layer and its parameters; by default the class name (``Linear`` gives ``linear``).
    dtype : dtype or str, optional
        Element type of the parameters; by default the default dtype (float32).

    Attributes
    ----------
    training : bool
        Set by `train` and `eval`; dropout and batch normalisation look at it.
    """

    training: bool
    _forward_pre_hooks: ForwardHooks
    _forward_post_hooks: ForwardHooks

    def __init__(self, name_scope: str | None = None, dtype: Any = None) -> None:
        super().__init__()
        scope = name_scope or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        self.__dict__.update(
            training=True,
            _names=Names(unique_name(scope)),
            _dtype=default_dtype() if dtype is None else as_dtype(dtype),
            _forward_pre_hooks=Table(),
            _forward_post_hooks=Table(),
            # What `jit` has compiled for this object.
            __d2s_programs__=None,
        )

    def __copy__(self) -> Layer:
        """Another Layer with the same parameters, buffers, sublayers and hooks; converted methods become its own."""
        other = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            # By what `jit` has left in the object: methods that know it, and what they have compiled for it.
            bind = getattr(type(value), "__d2s_copied__", None)
            other.__dict__[name] = value if bind is None else bind(value, self, other)
        return other

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Compute the outputs; every subclass defines this."""
        raise NotSupportedError(f"{type(self).__name__} does not define forward()", kind="N02")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        stage = getattr(current_interpreter(), "call_layer", None)
        if stage is not None:
            return stage(self, inputs, kwargs)
        if not self._forward_pre_hooks and not self._forward_post_hooks:
            return self.forward(*inputs, **kwargs)
        return call_with_hooks(self, self.forward, inputs, kwargs)

    def call_traced(
        self, call: Callable[..., Any], held: Callable[..., Any], inputs: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call the layer while a function is traced: `call` calls (and converts) `forward` and the hooks.

        `held` gives the hooks of a table as the trace knows them.
        """

        def forward(*args: Any, **named: Any) -> Any:
            return call(self.forward, *args, **named)

        return call_with_hooks(self, forward, inputs, kwargs, call, held)

    # --- hooks --------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> LayerHookHandle:
        """Call ``hook(layer, inputs)`` before every forward; what it returns, if not None, replaces the inputs.

        Parameters
        ----------
        hook : callable
            Gets the positional arguments as tuple; a result that is no tuple counts as the only argument.
        prepend : bool
            Run before the hooks registered so far.
        with_kwargs : bool
            Call ``hook(layer, inputs, kwargs)`` instead; it returns None or ``(inputs, kwargs)``.
        """
        options = {"with_kwargs": with_kwargs}
        added = ForwardHook(hook, with_kwargs)
        return register(self, self._forward_pre_hooks, added, prepend, Layer.register_forward_pre_hook, options)

    def register_forward_post_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> LayerHookHandle:
        """Call ``hook(layer, inputs, outputs)`` after every forward; a result other than None replaces the outputs.

        Parameters
        ----------
        hook : callable
            Gets the positional arguments as tuple, and the outputs as forward returned them.
        prepend : bool
            Run before the hooks registered so far.
        with_kwargs : bool
            Call ``hook(layer, inputs, kwargs, outputs)`` instead.
        always_call : bool
            Run also if the forward, or another hook, raises.
        """
        options = {"with_kwargs": with_kwargs, "always_call": always_call}
        added = ForwardHook(hook, with_kwargs, always_call)
        return register(self, self._forward_post_hooks, added, prepend, Layer.register_forward_post_hook, options)

    register_forward_hook = register_forward_post_hook

    # --- modes, types, gradients --------------------------------------------------------------------------------

    @traced_as_written
    def train(self: Self, mode: bool = True) -> Self:
        """Put this layer and all below it into training mode (or, with ``mode=False``, evaluation mode)."""
        for layer in self.sublayers(include_self=True):
            layer.training = bool(mode)
        return self

    @traced_as_written
    def eval(self: Self) -> Self:
        """Put this layer and all below it into evaluation mode."""
        return self.train(False)

    @traced_as_written
    def apply(self: Self, fn: Callable[[Layer], Any]) -> Self:
        """Call `fn` on every layer of the tree, this one last."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    @traced_as_written
    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Set the gradients of all parameters to zero, or to None."""
        for parameter in self.parameters():
            if parameter.trainable:
                parameter.clear_gradient(set_to_zero)

    def to(
        self: Self, device: Any = None, dtype: Any = None, blocking: bool | None = None,
        non_blocking: bool | None = None,
    ) -> Self:
        """Change the element type of all floating point parameters and buffers, in place; gradient hooks stay.

        `device` must be the CPU; `blocking` and `non_blocking` are ignored.
        """
        if device is not None:
            check_device(device)
        return self if dtype is None else self.astype(dtype)

    def astype(self: Self, dtype: Any) -> Self:
        """Change the element type of all floating point parameters and buffers, in place; gradient hooks stay.

        Raises
        ------
        DTypeError
            If `dtype` is not floating point or complex.
        """
        wanted = as_dtype(dtype)
        if not is_floating(wanted):
            raise DTypeError(f"a layer can be cast to floating point dtypes only, got {wanted.name}")
        for parameter in self.parameters():
            parameter.cast_(wanted)
        for layer in self.sublayers(include_self=True):
            layer.__dict__["_dtype"] = wanted
            for name, buffer in layer._buffers.items():
                if buffer is not None and is_floating(buffer.dtype):
                    layer._buffers[name] = buffer.astype(wanted)
        STRUCTURE.changed()
        return self

    def float(self: Self) -> Self:
        """``astype("float32")``."""
        return self.astype("float32")

    def double(self: Self) -> Self:
        """``astype("float64")``."""
        return self.astype("float64")

    def half(self: Self) -> Self:
        """``astype("float16")``."""
        return self.astype("float16")

    def cpu(self: Self) -> Self:
        """The layer itself: everything is on the CPU."""
        return self

    @traced_as_written
    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Let all parameters be trained, or none."""
        for parameter in self.parameters():
            parameter.stop_gradient = not requires_grad
        return self

    @traced_as_written
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero with ``set_to_none=False``."""
        self.clear_gradients(set_to_zero=not set_to_none)

    def state_dict(
        self,
        destination: dict[str, Tensor] | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
    ) -> dict[str, Tensor]:
        """The parameters and persistable buffers by dotted name: the tensors themselves, not copies.

        Parameters
        ----------
        destination : dict, optional
            Filled and returned in place of a new one.
        include_sublayers : bool
            False: only what this layer holds directly.
        structured_name_prefix : str
            Put before every name.
        """
        destination = OrderedDict() if destination is None else destination
        return layer_state.collect(self, destination, include_sublayers, structured_name_prefix)

    def set_state_dict(
        self, state_dict: dict[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Set the values of parameters and persistable buffers; tensors, gradients and hooks stay.

        Parameters
        ----------
        state_dict : dict of str to Tensor or ndarray
            As given by `state_dict`.
        use_structured_name : bool
            False: the keys are the names of the tensors instead of their places in the layer.

        Returns
        -------
        missing, unexpected : list of str
            Names without a value, and keys without a tensor; if there are any, a UserWarning lists them too.

        Raises
        ------
        ShapeError
            If a value has another shape than its tensor; then nothing is changed.
        """
        return layer_state.assign(self, state_dict, use_structured_name)

    load_dict = set_dict = set_state_dict

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """`set_state_dict`, but names that do not fit are an error, or with ``strict=False`` not even a warning.

        Raises
        ------
        RuntimeError
            If `strict`, and a value is missing or has no tensor; then nothing is changed.
        """
        return layer_state.assign(self, state_dict, True, "error" if strict else "ignore")

    # --- text -------------------------------------------------------------------------------------------------

    def full_name(self) -> str:
        """Name of the layer, different from that of every other: ``linear_0``."""
        return self._names.layer

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        below = [f"({name}): {layer!r}" for name, layer in self._sub_layers.items()]
        if not below:
            return f"{type(self).__name__}({extra})"
        body = textwrap.indent("\n".join([extra, *below] if extra else below), "  ")
        return f"{type(self).__name__}(\n{body}\n)"
