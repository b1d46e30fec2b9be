"""Dispatch: who evaluates an op.  `bind` is the only place that looks at the mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from d2s.core.op import Op


class Interpreter(Protocol):
    """Gives an op its meaning: the eager one computes it, the static one records it."""

    priority: int
    # True: a NaN in a result is an error.
    checks_nan: bool

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Evaluate or record one op; returns a tensor of this interpreter, or a tuple of them."""


class TensorBase:
    """What the eager Tensor and the static Variable have in common: an interpreter that owns them."""

    __slots__ = ()

    interpreter: Interpreter
    stop_gradient: bool


class _ThreadState(threading.local):
    """Per thread: the stack of interpreters and the grad mode."""

    def __init__(self) -> None:
        self.stack: list[Interpreter] = [_default[0]] if _default else []
        self.current: Interpreter | None = self.stack[0] if self.stack else None
        self.grad_enabled = True


_default: list[Interpreter] = []
state = _ThreadState()


def set_default_interpreter(interpreter: Interpreter) -> None:
    """Register the interpreter at the bottom of every thread's stack (done once, by the eager mode)."""
    _default[:] = [interpreter]
    state.stack[:] = [interpreter]
    state.current = interpreter


def default_interpreter() -> Interpreter:
    """The interpreter at the bottom of every thread's stack: the one that computes at once."""
    return _default[0]


def current_interpreter() -> Interpreter:
    """The interpreter on top of this thread's stack."""
    assert state.current is not None, "no interpreter is registered"
    return state.current


@contextmanager
def use_interpreter(interpreter: Interpreter) -> Iterator[None]:
    """Make `interpreter` the current one of this thread."""
    push_interpreter(interpreter)
    try:
        yield
    finally:
        pop_interpreter()


def push_interpreter(interpreter: Interpreter) -> None:
    state.stack.append(interpreter)
    state.current = interpreter


def pop_interpreter() -> None:
    state.stack.pop()
    state.current = state.stack[-1]


_Function = TypeVar("_Function", bound=Callable[..., Any])


def traced_as_written(function: _Function) -> _Function:
    """Mark a function of d2s that changes what is older than a call: a trace has to see what it does, line by line."""
    function.__d2s_traced_as_written__ = True  # type: ignore[attr-defined]
    return function


def bind(op: Op, *args: Any, **attrs: Any) -> Any:
    """Hand `op` to whoever owns its arguments, else to the current interpreter.

    While a function is traced the tracing interpreter has the higher priority, so ops on eager tensors that the
    function captured are staged too.
    """
    owner: Any = state.current
    for arg in args:
        if isinstance(arg, TensorBase):
            other = arg.interpreter
            if other is not owner and other.priority > owner.priority:
                owner = other
    return owner.process(op, args, attrs)


def grad_enabled() -> bool:
    """True if ops of this thread record what backward needs."""
    return state.grad_enabled


def set_grad_mode(enabled: bool) -> bool:
    """Switch recording on or off for this thread; returns the mode before."""
    before = state.grad_enabled
    state.grad_enabled = enabled
    return before


class GradModeBlock:
    """Sets the grad mode for the body of one ``with`` statement."""

    __slots__ = ("before", "enabled")

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.before = state.grad_enabled
        state.grad_enabled = self.enabled

    def __exit__(self, *details: Any) -> None:
        state.grad_enabled = self.before


def called_in_mode(enabled: bool, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call `function` with the grad mode."""
    with GradModeBlock(enabled):
        return function(*args, **kwargs)


def driven_in_mode(generator: Generator[Any, Any, Any], enabled: bool) -> Generator[Any, Any, Any]:
    """Pass everything between `generator` and its caller, with the grad mode while its code runs."""
    step: Callable[[], Any] = partial(next, generator)
    while True:
        try:
            with GradModeBlock(enabled):
                value = step()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield value
        except BaseException as error:
            step = partial(generator.throw, error)
        else:
            step = partial(generator.send, sent)


# The eager mode registers these, so that static code can hand a Tensor to a hook without importing eager.
wrap: Callable[..., Any]
unwrap: Callable[[Any], Any]


def register_wrapping(wrap_array: Callable[..., Any], unwrap_tensor: Callable[[Any], Any]) -> None:
    """Register how an array becomes a Tensor (``wrap(array, stop_gradient=True)``) and how it is taken out again."""
    global wrap, unwrap
    wrap, unwrap = wrap_array, unwrap_tensor
