"""The mark of the functions that users call."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from traceback import walk_tb
from types import CodeType
from typing import Any, TypeVar, cast

import numpy as np

from d2s.caller import HANDS, PUBLIC, Found
from d2s.core.interpreter import TensorBase
from d2s.errors import D2SError, DTypeError, is_user_code

_NUMPY = os.path.dirname(np.__file__) + os.sep
# Marks errors of public functions inside of others: those name their own arguments.
_INNER = "_of_public_function"
# What Python and NumPy raise if something is not of the kind that they need.
_OF_WRONG_KINDS = (TypeError, AttributeError, IndexError, ValueError)

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
            except _OF_WRONG_KINDS as error:
                trace = error.__traceback__
                if trace is None or trace.tb_next is not None or not isinstance(error, TypeError):
                    wrong = _no_tensor_in(function, args, kwargs, error)
                    if wrong is None:
                        raise
                    raise wrong from None
                # The function has not begun: the call does not fit it.
                refused = str(error)
            return _called_otherwise(function, others, args, kwargs, refused)

        entry.__dict__["other_names"] = others
        return cast("_Function", entry)

    return mark


def _no_tensor_in(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> DTypeError | None:
    """In place of an error of Python, or NumPy, inside of `function`: which argument is not of the kind that it takes.

    None if code of the user has raised it, or d2s has with better words.
    """
    name = function.__name__
    if isinstance(error, D2SError) and _INNER not in error.__dict__:
        return None
    if any(map(_is_foreign, (frame.f_code for frame, _ in walk_tb(error.__traceback__)))):
        return None
    signature = inspect.signature(function)
    made = None
    for argument, value in signature.bind(*args, **kwargs).arguments.items():
        parameter = signature.parameters[argument]
        takes, words = _KINDS.get(parameter.annotation, (None, ""))
        values = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
        if takes is not None and not all(map(takes, values)):
            made = DTypeError(f"{name}: {argument} is {_kind_of(value)}, expected {words}")
            break
    else:
        if isinstance(error, TypeError | AttributeError) and not isinstance(error, D2SError):
            made = DTypeError(f"{name}: an argument is not of the kind that it takes: {error}")
    if made is not None:
        made.__dict__[_INNER] = name
    return made


def _is_foreign(code: CodeType) -> bool:
    return is_user_code(code) and not code.co_filename.startswith(_NUMPY)


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "ndim")


# What values have to be, by the annotations of parameters, and how it is called.
_KINDS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    "Tensor": (_is_tensor, "a Tensor"),
    "Sequence[Tensor]": (lambda value: isinstance(value, list | tuple) and all(map(_is_tensor, value)),
                         "a list of Tensors"),
    "str": (lambda value: isinstance(value, str), "a str"),
}


def _kind_of(value: Any) -> str:
    if isinstance(value, list | tuple):
        parts = dict.fromkeys(type(part).__name__ for part in value)
        return f"a {type(value).__name__} of {', '.join(parts) or 'nothing'}"
    return "None" if value is None else f"of type {type(value).__name__}"


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
