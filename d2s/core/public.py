"""The mark of the functions that users call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from d2s.caller import HANDS, PUBLIC, Found
from d2s.core.interpreter import TensorBase
from d2s.errors import DTypeError

_Function = TypeVar("_Function", bound=Callable[..., Any])


def public(**also: str | tuple[str, ...]) -> Callable[[_Function], _Function]:
    """
    Mark a function that users call: errors name it, and say what it takes if a call does not fit.

    Parameters
    ----------
    **also : str or tuple of str
        Other names of its parameters, which Paddle knows too: ``@public(x="input", axis="dim")``.
    """
    others = {
        other: name for name, given in also.items() for other in ((given,) if isinstance(given, str) else given)}

    def mark(function: _Function) -> _Function:
        PUBLIC[function.__code__] = function.__name__

        @functools.wraps(function)
        def entry(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                trace = error.__traceback__
                if trace is None or trace.tb_next is not None:
                    raise
                # The function has not begun: the call does not fit it.
                refused = str(error)
            return _called_otherwise(function, others, args, kwargs, refused)

        entry.__dict__["other_names"] = others
        return cast("_Function", entry)

    return mark


def public_classes(names: Mapping[str, Any], owner: str) -> None:
    """Let the classes of d2s among `names`, those of the modules below `owner`, say what they take, as functions do.

    Classes of users below them are left alone.
    """
    for made in list(names.values()):
        if isinstance(made, type) and f"{made.__module__}.".startswith(f"{owner}.") and "__init__" in vars(made):
            made.__init__ = _constructor(made)  # type: ignore[misc]


def _constructor(made: type) -> Callable[..., None]:
    init: Callable[..., None] = vars(made)["__init__"]
    if hasattr(init, "other_names"):
        return init

    @functools.wraps(init)
    def entry(*args: Any, **kwargs: Any) -> None:
        try:
            init(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise
            refused = str(error)
        else:
            return
        takes = [name for name in inspect.signature(init).parameters if name != "self"]
        raise DTypeError(refused, advice=f"It takes {', '.join(takes) or 'nothing'}.", kind="D06")

    entry.__dict__["other_names"] = {}
    return entry


def acts_for(function: Callable[..., Any], describe: Callable[[Mapping[str, Any]], Found]) -> None:
    """Let errors call `function` what `describe` makes of its local variables."""
    HANDS[function.__code__] = describe


def sizes_one_by_one(place: int) -> Callable[[_Function], _Function]:
    """Mark a function of which the sizes, its argument at `place`, may be arguments of their own: ``zeros(2, 3)``."""

    def mark(function: _Function) -> _Function:
        @functools.wraps(function)
        def entry(*args: Any, **kwargs: Any) -> Any:
            if len(args) > place + 1 and all(map(_may_be_size, args[place : place + 2])):
                args = (*args[:place], args[place:])
            return function(*args, **kwargs)

        return cast("_Function", entry)

    return mark


def _may_be_size(thing: Any) -> bool:
    if isinstance(thing, TensorBase):
        return not getattr(thing, "ndim", 1)
    return (isinstance(thing, int) and not isinstance(thing, bool)) or getattr(type(thing), "is_symbolic_size", False)


def _called_otherwise(
    function: Callable[..., Any],
    others: Mapping[str, str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    refused: str,
) -> Any:
    """The same call by the names of the function itself, if it fits then."""
    signature = inspect.signature(function)
    own: dict[str, Any] = {}
    for name, value in kwargs.items():
        known = name if name in signature.parameters else others.get(name, name)
        if known in own or (known != name and list(signature.parameters).index(known) < len(args)):
            raise DTypeError(f"{function.__name__}() got {known!r} twice: one name of it is {name!r}", kind="D06")
        own[known] = value
    try:
        signature.bind(*args, **own)
    except TypeError:
        takes = ", ".join(
            f"{name} (or {', '.join(more)})" if (more := [other for other, is_of in others.items() if is_of == name])
            else name for name in signature.parameters)
        raise DTypeError(refused, advice=f"It takes {takes}.", kind="D06") from None
    return function(*args, **own)
