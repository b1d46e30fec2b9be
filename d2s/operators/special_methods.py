"""Built-in functions that ask an object for a number, a text or an order: special methods of the user's classes are
traced."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from d2s.core.interpreter import TensorBase
from d2s.operators import access, native, users_code
from d2s.operators.asked_numbers import check_answer, number_said
from d2s.operators.late_call import late_call
from d2s.operators.raw_containers import held_in
from d2s.operators.symbols import holds_symbols
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable
from d2s.transpiler.interface import format_value


def users(tracer: Tracer, thing: Any, *names: str) -> Any:
    """The first of these methods that the user's class of `thing` defines; None if there is none."""
    if isinstance(thing, TensorBase | ObjectVariable | type):
        return None
    return next(_defined(tracer, thing, names), (None, ""))[0]


def _defined(tracer: Tracer, thing: Any, names: Iterable[str]) -> Iterator[tuple[Any, str]]:
    for name in names:
        method = access.special(tracer, thing, name)
        if method is not None:
            yield method, name


def asking(*names: str, kind: type | None = None, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """What a built-in function does that asks its first argument by one of these methods; it gives a `kind`."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        method = users(tracer, args[0], *names) if args and not kwargs else None
        if method is None:
            kwargs = {name: number_said(tracer, value) for name, value in kwargs.items()}
            return otherwise(tracer, *args[:1], *(number_said(tracer, arg) for arg in args[1:]), **kwargs)
        result = late_call(method, *args[1:])
        return result if kind is None else _as_asked(tracer, args[0], names, result, kind)

    return traced


# What Python takes from a method, where it makes something else of that.
_ANSWERS: dict[str, type] = {"__index__": int, "__float__": float, "__trunc__": int}


def _as_asked(tracer: Tracer, thing: Any, names: tuple[str, ...], result: Any, kind: type) -> Any:
    """What a special method has given, as the `kind` of the built-in function that asked for it."""
    name = next(_defined(tracer, thing, names))[1]
    answer = _ANSWERS.get(name, kind)
    check_answer(thing, name, result, answer)
    if answer is kind:
        return result
    return tracer.python_call(kind, (result,), kind=kind) if isinstance(result, ObjectVariable) else kind(result)


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A built-in function of plain values and tensors."""
    from d2s.operators.libraries import call_builtin

    return lambda tracer, *args, **kwargs: call_builtin(tracer, function, args, kwargs)


# --- text -----------------------------------------------------------------------------------------------------------


def text_later(tracer: Tracer, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A text that is made when the Program runs."""
    with users_code.watched(tracer, function, args, kwargs):
        return tracer.python_call(function, args, kwargs, kind=str, effect=True)


def as_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """str, repr, format: what an older object or a symbol says of itself is asked for when the Program runs."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        if any(native.tells_later(tracer, arg) for arg in args):
            return text_later(tracer, function, args, kwargs)
        return function(*args, **kwargs)

    return traced


to_str = asking("__str__", "__repr__", kind=str, otherwise=as_text(str))
to_repr = asking("__repr__", kind=str, otherwise=as_text(repr))


def to_ascii(tracer: Tracer, *args: Any) -> Any:
    """``ascii(value)``."""
    return to_repr(tracer, *args).encode("ascii", "backslashreplace").decode("ascii")


_CONVERSIONS: dict[str, Callable[..., Any]] = {"s": to_str, "r": to_repr, "a": to_ascii}


def formatted(tracer: Tracer, value: Any, conversion: str | None, spec: Any) -> Any:
    """``{value!conversion:spec}`` in an f-string."""
    if conversion is not None:
        value, conversion = _CONVERSIONS[conversion](tracer, value), None
    method = users(tracer, value, "__format__")
    if method is not None:
        result = late_call(method, spec)
        if not isinstance(result, str | ObjectVariable):
            raise TypeError(f"__format__ must return a str, not {type(result).__name__}")
        return result
    if isinstance(spec, str) and not spec and users(tracer, value, "__str__", "__repr__"):
        return to_str(tracer, value)
    if native.tells_later(tracer, value) or isinstance(spec, TensorBase | ObjectVariable):
        return text_later(tracer, format_value, (value, None, spec), {})
    return format_value(value, None, spec)


def to_format(tracer: Tracer, value: Any, spec: Any = "") -> Any:
    """``format(value, spec)``."""
    return formatted(tracer, value, None, spec)


# --- equality -------------------------------------------------------------------------------------------------------


def compares(tracer: Tracer, thing: Any) -> bool:
    """True if `thing`, or something in a container, is compared by a method of the user."""
    return _defines(tracer, thing, ("__eq__",))


def orders(tracer: Tracer, thing: Any) -> bool:
    """The same of its place before or behind others."""
    return _defines(tracer, thing, ("__lt__", "__gt__"))


def _defines(tracer: Tracer, thing: Any, names: tuple[str, ...]) -> bool:
    if isinstance(thing, native.CONTAINERS):
        return any(_defines(tracer, part, names) for part in held_in(thing))
    return not native.is_plain(thing) and users(tracer, thing, *names) is not None


def by_parts(tracer: Tracer, name: str, left: Any, right: Any) -> Any:
    """``left < right`` and its like of lists or tuples that hold objects of the user: the first difference decides."""
    left, right = tracer.snapshot(left), tracer.snapshot(right)
    for pair in zip(left, right, strict=False):
        if not equal(tracer, *pair):
            return native.binary(tracer, name, *pair)
    return getattr(operator, name)(len(left), len(right))


def equal(tracer: Tracer, left: Any, right: Any) -> bool:
    """``left is right or left == right``, as containers compare what they hold."""
    if left is right:
        return True
    left, right = tracer.snapshot(left), tracer.snapshot(right)
    if isinstance(left, list | tuple | deque) and isinstance(right, type(left)):
        return len(left) == len(right) and all(equal(tracer, *pair) for pair in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(tracer, part, right[key]) for key, part in left.items())
    return bool(native.truth(tracer, native.binary(tracer, "eq", left, right)))


def search(tracer: Tracer, parts: Any, name: str, wanted: Any) -> Any:
    """``index``, ``count`` or ``remove`` of a list, or ``__contains__``."""
    found = (number for number, part in enumerate(parts) if equal(tracer, part, wanted))
    if name == "count":
        return sum(1 for _ in found)
    first = next(found, None)
    if name == "__contains__":
        return first is not None
    if first is None:
        kind = next(kind for kind in (list, tuple, deque) if isinstance(parts, kind))
        if not holds_symbols(wanted):
            # In the words of Python.
            getattr(kind(), name)(wanted)
        raise ValueError(f"{kind.__name__}.{name}(x): x not in {kind.__name__}")
    if name == "remove":
        del parts[first]
        return None
    return first


# --- order ----------------------------------------------------------------------------------------------------------


class _Ordered:
    """Stands for an object of the user while things are put in order: its comparisons are traced."""

    def __init__(self, tracer: Tracer, value: Any) -> None:
        self.tracer, self.value = tracer, value

    def __lt__(self, other: object) -> bool:
        return self._is("lt", other)

    def __gt__(self, other: object) -> bool:
        return self._is("gt", other)

    def _is(self, name: str, other: Any) -> bool:
        return bool(native.truth(self.tracer, native.binary(self.tracer, name, self.value, other.value)))


def order_key(tracer: Tracer, parts: Iterable[Any], key: Any) -> Any:
    """The key by which `parts` are put in order; objects of the user's classes are compared through the trace."""
    if key is not None or not any(orders(tracer, part) for part in parts):
        return key
    return lambda part: _Ordered(tracer, part)


def in_heap(tracer: Tracer, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A function of `heapq` or `bisect` on a list: objects of the user are compared as above."""
    held = args[0]
    key = order_key(tracer, (*held, *args[1:2]), None)
    if key is None:
        return function(*args)
    parts = [key(part) for part in held]
    result = function(parts, *map(key, args[1:2]), *args[2:])
    held[:] = [part.value for part in parts]
    return result.value if isinstance(result, _Ordered) else result


def comparison_key(tracer: Tracer, compare: Any) -> Any:
    """``functools.cmp_to_key(compare)``."""

    class Key:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __lt__(self, other: Key) -> bool:
            found = late_call(compare, self.value, other.value)
            return bool(native.truth(tracer, native.binary(tracer, "lt", found, 0)))

        def __gt__(self, other: Key) -> bool:
            found = late_call(compare, self.value, other.value)
            return bool(native.truth(tracer, native.binary(tracer, "gt", found, 0)))

    return Key


__all__ = [
    "asking", "compares", "comparison_key", "equal", "formatted", "order_key", "search",
    "text_later", "to_ascii", "to_format", "to_repr", "to_str", "untraced", "users",
]
