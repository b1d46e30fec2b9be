"""The operators that generated code may call, and what they mean in plain Python.

`PythonOperators` is the reference: under it every converted function does exactly what the original does.  Other
runtimes (tracing to a graph) give the same names another meaning.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from types import CellType, FunctionType
from typing import Any, Protocol

Thunk = Callable[[], Any]


class Operators(Protocol):
    """Operators of converted code.  They carry the construct's name and the field names of its syntax node."""

    def if_else(self, test: Any, body: Thunk, orelse: Thunk | None) -> Any:
        """``if test: body else: orelse``; the value is that of the branch that ran (None if there is no else)."""

    def while_loop(self, test: Thunk, body: Thunk) -> None:
        """``while test: body``."""

    def for_loop(self, iterable: Iterable[Any], body: Callable[[Any], Any], stop: Thunk | None = None) -> None:
        """``for item in iterable: body(item)``; after each turn, before the next item, ask `stop` if given."""

    def if_exp(self, test: Any, body: Thunk, orelse: Thunk) -> Any:
        """``body if test else orelse``."""

    def and_(self, value: Any, rest: Thunk) -> Any:
        """``value and rest``: one of the operands, never a bool made of them."""

    def or_(self, value: Any, rest: Thunk) -> Any:
        """``value or rest``."""

    def not_(self, operand: Any) -> Any:
        """``not operand``."""

    def assert_(self, test: Any, message: Thunk | None) -> None:
        """``assert test, message``."""

    def swallowed(self, left: Thunk) -> AbstractContextManager[None]:
        """Around a ``try`` whose ``finally`` may leave: if `left` then is true, what is on its way goes no further."""

    def bound(self, name: str, value: Thunk, is_free: bool = False) -> Any:
        """Read a local name that may be unbound; UnboundLocalError if it is."""

    def attach(self, value: Any) -> None:
        """Give `value` its hook point; hooks are registered on it further down."""


class PythonOperators:
    """
    What every operator means in plain Python.

    Parameters
    ----------
    fn : function, optional
        The function whose converted form uses these operators: stores to globals and outer cells go there.
    """

    def __init__(self, fn: FunctionType | None = None) -> None:
        self._fn = fn

    # Control flow

    @staticmethod
    def if_else(test: Any, body: Thunk, orelse: Thunk | None = None) -> Any:
        """Run one branch."""
        if test:
            return body()
        return None if orelse is None else orelse()

    @staticmethod
    def while_loop(test: Thunk, body: Thunk) -> None:
        """Run `body` while `test` holds."""
        while test():
            body()

    @staticmethod
    def for_loop(iterable: Iterable[Any], body: Callable[[Any], Any], stop: Thunk | None = None) -> None:
        """Run `body` with each item."""
        for item in iterable:
            body(item)
            if stop is not None and stop():
                break

    @staticmethod
    def if_exp(test: Any, body: Thunk, orelse: Thunk) -> Any:
        """Evaluate one side."""
        return body() if test else orelse()

    @staticmethod
    def and_(value: Any, rest: Thunk) -> Any:
        """Keep `value` if it is false."""
        return value and rest()

    @staticmethod
    def or_(value: Any, rest: Thunk) -> Any:
        """Keep `value` if it is true."""
        return value or rest()

    @staticmethod
    def not_(operand: Any) -> Any:
        """Negate."""
        return not operand

    @staticmethod
    def assert_(test: Any, message: Thunk | None = None) -> None:
        """Raise AssertionError unless `test` holds."""
        if not test:
            raise AssertionError() if message is None else AssertionError(message())

    @staticmethod
    def swallowed(left: Thunk) -> AbstractContextManager[None]:
        """Swallow an exception if `left` is true when it comes."""
        return _Swallowed(left)

    @staticmethod
    def bound(name: str, value: Thunk, is_free: bool = False) -> Any:
        """Read a name; the error for an unbound one is that of a local name, as it was before it moved to a cell.

        `is_free` names are read in a comprehension with a scope of its own, to which they are free variables.
        """
        try:
            return value()
        except NameError:
            if is_free:
                raise
        raise UnboundLocalError(f"cannot access local variable {name!r} where it is not associated with a value")

    @staticmethod
    def attach(value: Any) -> None:
        """Nothing to do: in eager mode a hook finds its value by itself."""

    # Only in code that is being traced (see passes/instrument.py)

    @staticmethod
    def attr(value: Any, name: str) -> Any:
        """``value.name``."""
        return getattr(value, name)

    @staticmethod
    def item(value: Any, index: Any) -> Any:
        """``value[index]``."""
        return value[index]

    @staticmethod
    def call(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """``func(*args, **kwargs)``."""
        return func(*args, **kwargs)

    @staticmethod
    def store_attr(target: Any, name: str, value: Any) -> None:
        """``target.name = value``."""
        setattr(target, name, value)

    @staticmethod
    def store_item(target: Any, index: Any, value: Any) -> None:
        """``target[index] = value``."""
        target[index] = value

    @staticmethod
    def delete_attr(target: Any, name: str) -> None:
        """``del target.name``."""
        delattr(target, name)

    @staticmethod
    def delete_item(target: Any, index: Any) -> None:
        """``del target[index]``."""
        del target[index]

    @staticmethod
    def aug(name: str, target: Any, value: Any) -> Any:
        """``target += value`` and its like; the result is what is bound again."""
        return getattr(operator, name)(target, value)

    @staticmethod
    def load_global(name: str, value: Any) -> Any:
        """A name read from the globals or the builtins."""
        return value

    @staticmethod
    def load_free(name: str, value: Any) -> Any:
        """A name read from a cell that the converted function got from outside."""
        return value

    @staticmethod
    def load_global_pending(name: str, value: Thunk) -> Any:
        """A global that this function also writes."""
        return value()

    @staticmethod
    def load_free_pending(name: str, value: Thunk) -> Any:
        """An outer cell that this function also writes."""
        return value()

    def store_global(self, name: str, value: Any) -> None:
        """``global name; name = value``."""
        self._function().__globals__[name] = value

    def delete_global(self, name: str) -> None:
        """``global name; del name``."""
        try:
            del self._function().__globals__[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined") from None

    def store_free(self, name: str, value: Any) -> None:
        """``nonlocal name; name = value``."""
        self._cell(name).cell_contents = value

    def delete_free(self, name: str) -> None:
        """``nonlocal name; del name``."""
        try:
            del self._cell(name).cell_contents
        except ValueError:
            what = f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
            raise NameError(what) from None

    @staticmethod
    def function(index: int) -> Callable[[Any], Any]:
        """Decorator of each nested function: `index` points into ``Converted.nested``."""
        return lambda made: made

    @staticmethod
    def decorator(made: Any) -> Any:
        """What stands behind the ``@`` of a function or class."""
        return made

    @staticmethod
    def made_class() -> Callable[[Any], Any]:
        """Decorator of each class statement, applied first."""
        return lambda made: made

    @staticmethod
    def class_body() -> None:
        """The end of the body of each class statement; called there."""

    @staticmethod
    def base(cls: Any) -> Any:
        """A base or metaclass of a class statement."""
        return cls

    @staticmethod
    def imported(module: str, level: int, name: str | None, value: Any) -> Any:
        """What an import statement has bound: the module, or what it holds under `name`."""
        return value

    @staticmethod
    def iterate(iterable: Iterable[Any]) -> Iterable[Any]:
        """What a comprehension or an unconverted ``for`` runs over."""
        return iterable

    @staticmethod
    def list_comp(
        iterable: Iterable[Any], elt: Callable[[Any], Any], test: Callable[[Any], Any] | None = None
    ) -> list[Any]:
        """``[elt(item) for item in iterable if test(item)]``."""
        return [elt(item) for item in iterable if test is None or test(item)]

    @staticmethod
    def dict_of(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
        """``{key: value, ...}`` and ``{key: value for ...}``."""
        return dict(pairs)

    @staticmethod
    def set_of(parts: Iterable[Any]) -> set[Any]:
        """``{part, ...}`` and ``{part for ...}``."""
        return set(parts)

    @staticmethod
    def generator(
        is_lazy: bool, iterable: Iterable[Any], elt: Callable[[Any], Any], test: Callable[[Any], Any] | None = None
    ) -> Any:
        """``(elt(item) for item in iterable if test(item))``, for a function that takes all of it, unless `is_lazy`."""
        return (elt(item) for item in iterable if test is None or test(item))

    @staticmethod
    def nested(
        iterable: Iterable[Any], inner: Callable[[Any], Any], test: Callable[[Any], Any] | None = None
    ) -> Any:
        """``(part for item in iterable if test(item) for part in inner(item))``."""
        return (part for item in iterable if test is None or test(item) for part in inner(item))

    @staticmethod
    def parts(value: Any, count: int) -> Any:
        """The parts of what ``for a, b in ...`` takes apart."""
        try:
            iterator = iter(value)
        except TypeError:
            raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object") from None
        found = list(itertools.islice(iterator, count + 1))
        if len(found) > count:
            raise ValueError(f"too many values to unpack (expected {count})")
        if len(found) < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {len(found)})")
        return found

    @staticmethod
    def truth(value: Any) -> Any:
        """A condition that stayed in Python."""
        return value

    @staticmethod
    def binary(name: str, left: Any, right: Any) -> Any:
        """A binary operator or comparison, by its name in module `operator`."""
        return getattr(operator, name)(left, right)

    @staticmethod
    def unary(name: str, operand: Any) -> Any:
        """``-operand``, ``+operand`` or ``~operand``, by its name in module `operator`."""
        return getattr(operator, name)(operand)

    @staticmethod
    def unpack(value: Any, before: int | None = None, after: int | None = None) -> Any:
        """What a tuple of targets takes apart: `before` of them, or so many before a starred one and `after` behind."""
        return value

    @staticmethod
    def spread(value: Any) -> Any:
        """What ``*value`` in a list display or a call spreads out."""
        return value

    @staticmethod
    def varargs(given: tuple[Any, ...]) -> Any:
        """What the parameter ``*given`` of a function holds."""
        return given

    @staticmethod
    def displayed(made: Any) -> Any:
        """The list or tuple that a display with ``*`` has made."""
        return made

    @staticmethod
    def both(value: Any, rest: Thunk) -> Any:
        """``value and rest`` where only its truth is asked."""
        return value and rest()

    @staticmethod
    def either(value: Any, rest: Thunk) -> Any:
        """``value or rest`` where only its truth is asked."""
        return value or rest()

    @staticmethod
    def matched(subject: Any, types_at: str, looks_at: str) -> Any:
        """What a ``match`` statement looks at.

        `types_at` is "top" or "inside" if it has class patterns, `looks_at` if it has sequences, mappings or ``None``.
        """
        return subject

    @staticmethod
    def pattern_class(cls: Callable[[], Any], base: type = object) -> type:
        """The class of a pattern, which is read when the pattern is reached; `base` is the one that is its own part."""
        return asked_class(cls, isinstance, base)

    @staticmethod
    def mapping(value: Any) -> Any:
        """What ``**`` spreads out."""
        return value

    @staticmethod
    def contains(container: Any, element: Any) -> bool:
        """``element in container``."""
        return element in container

    @staticmethod
    def attempt(caught: Thunk | None = None, is_named: bool = False) -> AbstractContextManager[None]:
        """Around the body of a ``try``: what happens inside may be caught.

        `caught` gives what the handlers catch, one after the other (None: anything); `is_named` is True if one of them
        gives the exception a name.  Without it, nothing is known of them.
        """
        return nullcontext()

    @staticmethod
    def crossing(lines: tuple[int, ...], is_registration: bool) -> AbstractContextManager[None]:
        """Around a registration of a hook that was moved up, and around each statement between it and its old place.

        `lines` are those of the registrations.
        """
        return nullcontext()

    @staticmethod
    def caught() -> None:
        """At the beginning of each ``except`` and ``finally``."""

    @staticmethod
    def enter(manager: Any) -> Any:
        """What a ``with`` statement enters."""
        return manager

    @staticmethod
    def format_value(value: Any, conversion: str | None, spec: str) -> str:
        """``{value!conversion:spec}`` inside an f-string."""
        return format_value(value, conversion, spec)

    @staticmethod
    def join_text(*parts: str) -> str:
        """An f-string made of its parts."""
        return "".join(parts)

    def _function(self) -> FunctionType:
        if self._fn is None:
            raise TypeError("these operators were made without the function whose globals and cells they write")
        return self._fn

    def _cell(self, name: str) -> CellType:
        fn = self._function()
        return dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))[name]


class _Asked(type):
    """The class of classes that somebody else answers for."""

    def __instancecheck__(cls, thing: Any) -> bool:
        return bool(cls.__dict__["holds"](thing))


def asked_class(cls: Callable[[], Any], is_instance: Callable[[Any, Any], Any], base: type) -> type:
    """A class that has those instances which `is_instance` says that `cls` has, when it is asked."""

    def holds(thing: Any) -> Any:
        found = cls()
        if not isinstance(found, type):
            raise TypeError("called match pattern must be a type")
        return is_instance(thing, found)

    return _Asked("pattern", (int if base is bool else base,), {"holds": holds})


class _Swallowed(AbstractContextManager[None]):
    """Ends exceptions while `left` is true."""

    def __init__(self, left: Thunk) -> None:
        self._left = left

    def __exit__(self, *details: object) -> bool:
        return bool(self._left())


def format_value(value: Any, conversion: str | None, spec: str) -> str:
    """The text of a value in an f-string: converted by `str`, `repr` or `ascii` if asked for, then formatted."""
    converters: dict[str | None, Callable[[Any], Any]] = {None: lambda same: same, "s": str, "r": repr, "a": ascii}
    return format(converters[conversion](value), spec)


# Python's own machinery that instrumented code needs by a name the user cannot have rebound.
_SUPPORT: dict[str, object] = {"slice_": slice}


def find_operator(namespace: Any, name: str) -> object:
    """The operator called `name`: from the given namespace, or Python's own."""
    return _SUPPORT[name] if name in _SUPPORT else getattr(namespace, name)
