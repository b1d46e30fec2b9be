"""`to_static` and `not_to_static`: which functions become static, and which never do."""

from __future__ import annotations

import functools
import inspect
from types import FunctionType, MethodType
from typing import Any

from d2s.errors import D2SError, DTypeError, Location, SourceError, UnsupportedSyntaxError
from d2s.jit.fallback import tell
from d2s.jit.function import StaticFunction, plain_function
from d2s.nn.layer import Layer
from d2s.operators import policy
from d2s.operators.guards import lookup
from d2s.transpiler.source import read_function


def bound_again(name: str, instance: Any, options: dict[str, Any], place: str | None = None) -> Any:
    """A pickled method."""
    function = getattr(type(instance), place or name)
    if isinstance(function, StaticFunction):
        return function.__get__(instance)
    found = to_static(MethodType(function, instance), **options)
    return found._looked_up_as(place) if place else found


def static_again(function: Any, options: dict[str, Any]) -> StaticFunction:
    """A pickled function."""
    return _made(function, options)


def to_static(
    function: Any = None, input_spec: Any = None, build_strategy: Any = None, backend: Any = None, *,
    full_graph: bool = True, property: bool = False,
) -> Any:
    """Convert a function, method or Layer to static mode; also a decorator, bare or called.

    Parameters
    ----------
    function : callable or Layer
        A Python function or method, `functools.partial` of one, or a Layer (its `forward` is converted in place).
    input_spec : list of InputSpec, optional
        What the arguments must be like.
    build_strategy : BuildStrategy, optional
        How Programs are compiled.
    backend, property : optional
        Accepted for compatibility; there is one backend.
    full_graph : bool
        True: all of it becomes one graph, or a clear error.  False: calls that cannot become a graph run eagerly, with
        one RuntimeWarning for each place that is the reason.

    Returns
    -------
    StaticFunction, or the Layer itself

    Raises
    ------
    SourceError
        If the source of the function cannot be found.
    """
    options = {"input_spec": input_spec, "build_strategy": build_strategy, "full_graph": full_graph}
    if function is None:
        return functools.partial(to_static, **options)
    if isinstance(function, StaticFunction):
        return function
    if isinstance(function, Layer):
        if not isinstance(function.forward, StaticFunction):
            converted = to_static(function.forward, **options)
            if "forward" not in function.__dict__ and isinstance(converted, StaticFunction):
                converted._looked_up_as("forward")
            function.forward = converted  # type: ignore[method-assign]
        return function
    if isinstance(function, classmethod | staticmethod):
        return type(function)(to_static(function.__func__, **options))
    if isinstance(function, MethodType):
        return _made(function.__func__, options)._bound_to(function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(to_static(function.func, **options), *function.args, **function.keywords)
    if isinstance(function, FunctionType):
        return _made(function, options)
    method = None if isinstance(function, type) else lookup(type(function), "__call__")
    if isinstance(method, FunctionType):
        return _made(method, options)._bound_to(function)._looked_up_as("__call__")
    raise SourceError(
        f"to_static needs a Python function, method, partial or Layer, got {type(function).__name__}: {function!r}",
        kind="F02",
    )


def _made(function: Any, options: dict[str, Any]) -> StaticFunction:
    refusal: D2SError | None = None
    try:
        function = _with_source(function)
    except UnsupportedSyntaxError as error:
        if options["full_graph"] or not isinstance(function, FunctionType):
            raise
        refusal = error
        tell(function.__qualname__, error)
    made = StaticFunction(function, **options)
    made.refusal = refusal
    return made


def _with_source(function: Any) -> FunctionType:
    """`function`, once it is sure that its source can be read."""
    plain = plain_function(function)
    if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        raise UnsupportedSyntaxError(
            f"`async def {plain.__name__}` cannot become a graph",
            Location(plain.__code__.co_filename, plain.__code__.co_firstlineno),
            "Convert a plain function that it calls.",
            kind="U27",
        )
    # Only looked up: nothing is converted before the first call.
    read_function(plain)
    return plain


def not_to_static(func: Any = None) -> Any:
    """Keep a function eager: when a static function calls it, it runs as it is, on every run."""
    if func is None:
        return not_to_static
    if isinstance(func, FunctionType):
        policy.keep_eager(func)
        return func
    if isinstance(func, MethodType):
        policy.keep_eager(func.__func__)  # type: ignore[arg-type]
        return func
    raise DTypeError(f"not_to_static needs a function, got {type(func).__name__}")
