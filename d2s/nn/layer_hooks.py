"""Hooks around the forward of a Layer.  (Gradient hooks belong to tensors: see `Tensor.register_hook`.)"""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from d2s.core.interpreter import current_interpreter
from d2s.errors import DTypeError, HookError

if TYPE_CHECKING:
    from d2s.nn.layer import Layer

_ids = itertools.count()


@dataclass(frozen=True, slots=True)
class ForwardHook:
    """A registered function and how it wants to be called."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


ForwardHooks: TypeAlias = "OrderedDict[int, ForwardHook]"


class LayerHookHandle:
    """What the registration of a layer hook returns: removes exactly that hook."""

    __slots__ = ("_hook_id", "_hooks")
    # Also in traced code: whoever traces sees to it.
    __d2s_acts_at_once__ = True

    def __init__(self, hooks: ForwardHooks, hook_id: int) -> None:
        self._hooks = hooks
        self._hook_id = hook_id

    def remove(self) -> None:
        """Remove the hook; does nothing if it has been removed already."""
        stage = getattr(current_interpreter(), "remove_layer_hook", None)
        if stage is not None and stage(self, self._hooks, self._hook_id):
            return
        self._hooks.pop(self._hook_id, None)


def register(
    layer: Layer, hooks: ForwardHooks, hook: ForwardHook, prepend: bool, again: Callable[..., Any],
    options: dict[str, bool],
) -> LayerHookHandle:
    """Register `hook` on `layer`, or let whoever traces do so by ``again(layer, function, prepend=..., **options)``.

    Raises
    ------
    TypeError
        If its function cannot be called.
    """
    stage = getattr(current_interpreter(), "add_layer_hook", None)
    if stage is not None and callable(hook.function):
        handle: LayerHookHandle | None = stage(layer, hooks, again, hook, {**options, "prepend": prepend})
        if handle is not None:
            return handle
    return add_hook(hooks, hook, prepend)


def add_hook(hooks: ForwardHooks, hook: ForwardHook, prepend: bool) -> LayerHookHandle:
    """Register `hook`, as the first one if `prepend`.

    Raises
    ------
    TypeError
        If its function cannot be called.
    """
    if not callable(hook.function):
        raise DTypeError(f"a layer hook must be callable, got {type(hook.function).__name__}")
    hook_id = next(_ids)
    hooks[hook_id] = hook
    if prepend:
        hooks.move_to_end(hook_id, last=False)
    return LayerHookHandle(hooks, hook_id)


def call_directly(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``."""
    return function(*args)


def items_of(hooks: ForwardHooks) -> list[tuple[Any, ForwardHook]]:
    """The hooks of a table as they are now."""
    return list(hooks.items())


def call_with_hooks(
    layer: Layer,
    forward: Callable[..., Any],
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    call: Callable[..., Any] = call_directly,
    held: Callable[[ForwardHooks], Iterable[tuple[Any, ForwardHook]]] = items_of,
) -> Any:
    """Run the pre hooks of `layer`, `forward`, and the post hooks.

    The hooks are those registered when the call, or its second half, begins: a hook added or removed while hooks
    run counts from the next call on.  If anything raises, the post hooks registered with ``always_call=True`` that
    have not begun still run, with the outputs so far; what they raise becomes a warning.  `call` is how the hooks
    are called, `held` tells which there are.
    """
    begun: set[Any] = set()
    outputs: Any = None
    try:
        for _, hook in held(layer._forward_pre_hooks):
            inputs, kwargs = _after_pre_hook(call, hook, layer, inputs, kwargs)
        outputs = forward(*inputs, **kwargs)
        for hook_id, hook in held(layer._forward_post_hooks):
            begun.add(hook_id)
            outputs = _after_post_hook(call, hook, layer, inputs, kwargs, outputs)
        return outputs
    except Exception:
        for hook_id, hook in held(layer._forward_post_hooks):
            if hook.always_call and hook_id not in begun:
                try:
                    outputs = _after_post_hook(call, hook, layer, inputs, kwargs, outputs)
                except Exception as error:
                    warnings.warn(
                        f"a layer hook with always_call=True raised {error!r} while another error was raised",
                        RuntimeWarning,
                        stacklevel=3,
                    )
        raise


def _after_pre_hook(
    call: Callable[..., Any], hook: ForwardHook, layer: Layer, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not hook.with_kwargs:
        result = call(hook.function, layer, inputs)
        if result is not None:
            inputs = result if isinstance(result, tuple) else (result,)
        return inputs, kwargs
    result = call(hook.function, layer, inputs, kwargs)
    if result is None:
        return inputs, kwargs
    if not isinstance(result, tuple) or len(result) != 2:
        raise HookError(
            f"a forward pre hook with_kwargs must return None or (args, kwargs), got {type(result).__name__}",
            kind="H05")
    return result


def _after_post_hook(
    call: Callable[..., Any],
    hook: ForwardHook,
    layer: Layer,
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    outputs: Any,
) -> Any:
    if hook.with_kwargs:
        result = call(hook.function, layer, inputs, kwargs, outputs)
    else:
        result = call(hook.function, layer, inputs, outputs)
    return outputs if result is None else result
