"""Built-in functions that look at their arguments, as they are meant in traced code."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import itertools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.eager.tensor import Tensor
from d2s.operators import (
    access,
    asked_numbers,
    changed_lists,
    classes,
    copies,
    items,
    keys,
    native,
    open_functions,
    open_iterators,
    open_lists,
    open_tables,
    places,
    special_methods,
)
from d2s.operators.carried import ANYTHING
from d2s.operators.control_flow import either, for_loop, length_of_range, not_
from d2s.operators.guards import ABSENT
from d2s.operators.late_call import late_call
from d2s.operators.libraries import call_builtin, call_unknown, run_later
from d2s.operators.libraries import traced as traced_call
from d2s.operators.older_arrays import index_of, know
from d2s.operators.open_items import TableView, elements_of, is_open, is_open_table, refuse
from d2s.operators.sorting import in_order
from d2s.operators.special_methods import asking, untraced
from d2s.operators.symbols import SymbolicRange, holds_objects, is_symbol, symbol_of
from d2s.operators.tensors_made import tensor_made
from d2s.operators.tracer import Tracer
from d2s.operators.turns import Turns
from d2s.static.variable import ObjectVariable, Variable


def _iterable(tracer: Tracer, iterable: Any) -> Any:
    from d2s.operators.protocols import iterable_of

    return iterable_of(tracer, iterable)


def _len(tracer: Tracer, thing: Any) -> Any:
    if isinstance(thing, Variable) and thing.spec.shape and not isinstance(thing.spec.shape[0], int):
        return thing.shape[0]
    if isinstance(thing, TableView | SymbolicRange | open_lists.Rows):
        return _length_of(tracer, thing)
    tracer.check_untouched(thing)
    shape = tracer.late_arrays.attribute(thing, "shape")
    if shape is not ABSENT and shape:
        return shape[0]
    if isinstance(thing, ObjectVariable) or is_open(thing) or tracer.is_unknown(thing):
        return tracer.python_call(len, (thing,), kind=int, effect=True)
    method = None if isinstance(thing, TensorBase) else access.special(tracer, thing, "__len__")
    if method is not None:
        return native.checked_length(late_call(method))
    source = tracer.source_of(thing) if type(thing) is dict and tracer.stored_keys(thing) else None
    if source is not None:
        return len(tracer.keys_of(thing, source))
    tracer.guard_length(thing)
    return len(thing)


def _length_of(tracer: Tracer, thing: Any) -> Any:
    if isinstance(thing, SymbolicRange):
        bounds = (thing.start, thing.stop, thing.step)
        return tracer.python_call(length_of_range, bounds, kind=int, effect=True)
    return _len(tracer, thing.table if isinstance(thing, TableView) else thing.tensor)


def _getattr(tracer: Tracer, thing: Any, name: str, *default: Any) -> Any:
    if default and access.runs_code(tracer, thing, name):
        # Asked once: it may have effects.
        try:
            return access.attr(tracer, thing, name)
        except AttributeError:
            return default[0]
    if default and not access.has_attr(tracer, thing, name):
        return default[0]
    return access.attr(tracer, thing, name)


def _setattr(tracer: Tracer, thing: Any, name: str, value: Any) -> None:
    access.store_attr(tracer, thing, name, value)


def _delattr(tracer: Tracer, thing: Any, name: str) -> None:
    access.delete_attr(tracer, thing, name)


def _counted(tracer: Tracer, arg: Any) -> Any:
    return index_of(tracer, arg) if special_methods.users(tracer, arg, "__index__") is None else _index(tracer, arg)


def _range(tracer: Tracer, *args: Any) -> Any:
    args = tuple(symbol_of(tracer, _counted(tracer, arg)) for arg in args)
    if not any(map(is_symbol, args)):
        return range(*args)
    numbers = [ObjectVariable(tracer, tracer.truth_of(arg)) if isinstance(arg, Variable) else arg for arg in args]
    if any(isinstance(number, ObjectVariable) and number.value.kind is float for number in numbers):
        # In the words of Python.
        operator.index(0.0)  # type: ignore[arg-type]
    tracer.needed_by_python(*numbers)
    if len(numbers) == 1:
        return SymbolicRange(0, numbers[0], 1)
    return SymbolicRange(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 1)


def _number(kind: type) -> Callable[..., Any]:
    def convert(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        if kind is bool and len(args) == 1:
            args = (native.truth(tracer, args[0]),)
        if len(args) == 1 and is_symbol(symbol_of(tracer, args[0])):
            thing = symbol_of(tracer, args[0])
            if isinstance(thing, Variable):
                thing = ObjectVariable(tracer, tracer.truth_of(thing, f"{kind.__name__}()"))
            return thing if thing.value.kind is kind else tracer.python_call(kind, (thing,), kind=kind)
        if any(is_symbol(symbol_of(tracer, arg)) for arg in (*args, *kwargs.values())):
            # The base of a text, the imaginary part.
            return tracer.python_call(kind, args, kwargs, kind=kind, effect=True)
        if args and native.tells_other_things(tracer, args[0]):
            if kind is float or not isinstance(args[0], np.ndarray) or tracer.is_unknown(args[0]):
                return tracer.python_call(kind, args, kwargs, kind=kind, effect=True)
            know(tracer, args[0])
        return kind(*args, **kwargs)

    return convert


def _truth(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
    if not args or kwargs or special_methods.users(tracer, args[0], "__bool__", "__len__") is None:
        return _number(bool)(tracer, *args, **kwargs)
    found = native.truth(tracer, args[0])
    return found if is_symbol(found) else bool(found)


def _identity(tracer: Tracer, thing: Any) -> Any:
    """id(): of what stands for something else while tracing, and of objects made inside, it is another in each run."""
    if isinstance(thing, TensorBase | ObjectVariable) or not tracer.is_outer(thing):
        return tracer.python_call(id, (thing,), kind=int, effect=True)
    return run_later(tracer, id, (thing,), {})


def _hash(tracer: Tracer, thing: Any) -> Any:
    method = None if isinstance(thing, TensorBase | ObjectVariable) else access.special(tracer, thing, "__hash__")
    if method is not None:
        return keys.as_hash(late_call(method))
    if type(thing) is tuple:
        keys.key(tracer, thing)
    if keys.is_hashed_by_value(thing):
        return hash(thing)
    return tracer.python_call(hash, (thing,), kind=int, effect=True)


def _drawn(tracer: Tracer, function: Any, args: tuple[Any, ...]) -> Any:
    """``iter(loader)``, and ``next`` of that: code of a data set, of which only the run knows what it gives."""
    result = call_unknown(tracer, function, args, {})
    tracer.foreign_results.add(result)
    return result


def _next(tracer: Tracer, iterator: Any, *default: Any) -> Any:
    if isinstance(iterator, ObjectVariable):
        return _drawn(tracer, next, (iterator, *default))
    if tracer.is_outer(iterator) and type(iterator).__module__ == "itertools" and (default or not tracer.attempts):
        # One item is taken in each run; whether there is one, the handlers of a `try` would have to know before.
        item = run_later(tracer, next, (iterator, *default), {})
        if type(iterator) is not itertools.count:
            # It may run over a generator of the user.
            tracer.anything_may_change()
        return item
    native.refuse_outer_iterator(tracer, iterator)
    if isinstance(iterator, Turns):
        open_iterators.open_all(tracer)
    if isinstance(iterator, open_iterators.OpenIterator):
        return iterator.take(*default)
    method = access.special(tracer, iterator, "__next__")
    if method is None:
        return next(iterator, *default)
    try:
        return late_call(method)
    except StopIteration:
        if not default:
            raise
    return default[0]


def _iter(tracer: Tracer, *args: Any) -> Any:
    method = access.special(tracer, args[0], "__iter__") if len(args) == 1 else None
    # What it gives is the user's object, which may be asked for more than items.
    return _over(iter)(tracer, *args) if method is None else late_call(method)


def _vars(tracer: Tracer, *things: Any) -> Any:
    return access.attr(tracer, things[0], "__dict__") if things else vars()


def _super(tracer: Tracer, *args: Any) -> Any:
    return super(*args)


def _sum(tracer: Tracer, iterable: Any, *start: Any, **named: Any) -> Any:
    total = start[0] if start else named.get("start", 0)

    def add(part: Any) -> None:
        nonlocal total
        total = native.binary(tracer, "add", total, part)

    for_loop(tracer, _iterable(tracer, iterable), add, None)
    return total


def _any(tracer: Tracer, iterable: Any) -> Any:
    parts = _iterable(tracer, iterable)
    if isinstance(parts, Turns):
        return _found(tracer, parts, True)
    return any(native.truth(tracer, symbol_of(tracer, part)) for part in parts)


def _all(tracer: Tracer, iterable: Any) -> Any:
    parts = _iterable(tracer, iterable)
    if isinstance(parts, Turns):
        return not_(tracer, _found(tracer, parts, False))
    return all(native.truth(tracer, symbol_of(tracer, part)) for part in parts)


def _found(tracer: Tracer, parts: Turns, wanted: bool) -> Any:
    """True if the truth of one of the parts is this; those behind it are not asked for."""
    found: Any = False

    def look(part: Any) -> None:
        nonlocal found
        found = either(tracer, part, lambda: False) if wanted else not_(tracer, part)

    for_loop(tracer, parts, look, lambda: found)
    return found


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """map, filter, sorted, min, max: the function they call is traced."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        def wrapped(inner: Any) -> Any:
            return None if inner is None else traced_call(inner)

        args = tuple(changed_lists.as_read(tracer, arg) for arg in args)

        if function in (map, filter):
            # Without a function, `filter` asks whether each is true.
            inner = bool if function is filter and args[0] is None else args[0]
            return _over_each(tracer, function, wrapped(inner), args[1:])
        key = kwargs.get("key")
        if len(args) == 1:
            whole = open_functions.as_open_list(tracer, args[0])
            args = args if whole is None else (whole,)
        if len(args) == 1 and is_open(args[0]) and key is not None:
            if function is sorted:
                return open_functions.ordered(tracer, args[0], wrapped(key), kwargs.get("reverse", False))
            if set(kwargs) == {"key"}:
                return open_functions.best(tracer, function, args[0], wrapped(key))
        if len(args) == 1 and is_open(args[0]) and key is None:
            if function is sorted:
                return open_lists.copied(tracer, sorted, args[0], **kwargs)
            return open_functions.smallest(tracer, function, args[0], **kwargs)
        if kwargs.get("key") is not None:
            kwargs["key"] = wrapped(kwargs["key"])
        if holds_objects(args) and not kwargs:
            kind = _common_kind(args[0] if len(args) == 1 and function in (min, max) else args)
            return tracer.python_call(function, args, kind=kind)
        if len(args) != 1:
            if kwargs.get("key") is None:
                know(tracer, *args)
            return function(*args, **_in_order(tracer, args, kwargs))
        parts = _iterable(tracer, args[0])
        if not isinstance(parts, TensorBase | ObjectVariable):
            parts = list(parts)
            if function is sorted:
                found = in_order(tracer, parts, kwargs.get("key"), kwargs.get("reverse", False))
                if found is not None:
                    return found
            if kwargs.get("key") is None:
                know(tracer, parts)
        return function(parts, **_in_order(tracer, parts, kwargs))

    return traced


def _over_each(tracer: Tracer, function: Any, called: Any, things: tuple[Any, ...]) -> Any:
    """``map(called, *things)``, ``filter(called, *things)``."""
    turns = open_lists.parts_of(tracer, things)
    if turns is None:
        return function(called, *(_iterable(tracer, part) for part in things))
    if function is map:
        several = len(things) > 1
        return open_lists.Generated(tracer, turns, (lambda part: called(*part)) if several else called, None)
    return open_lists.Generated(tracer, turns, None, called or (lambda part: part))


def _in_order(tracer: Tracer, parts: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    key = special_methods.order_key(tracer, parts, kwargs.get("key"))
    return kwargs if key is None else {**kwargs, "key": key}


def _common_kind(args: Any) -> type | None:
    if not isinstance(args, list | tuple):
        return None
    kinds = {part.value.kind if isinstance(part, ObjectVariable) else type(part) for part in args}
    return kinds.pop() if len(kinds) == 1 else None


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    """zip, enumerate, list, ...: what they run over is read through the trace."""

    def traced(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        args = tuple(changed_lists.as_read(tracer, arg) for arg in args)
        args, kwargs = asked_numbers.in_call(tracer, function, args, kwargs)
        if function is dict:
            args = tuple(items.of_the_user(tracer, arg) for arg in args)
        if function is iter and native.draws(tracer, args[0]):
            return _drawn(tracer, iter, args)
        if function in (zip, enumerate):
            args = tuple(open_lists.rows_of(tracer, arg) for arg in args)
        elif function is reversed and tracer.foreign_results.is_one(args[0]):
            return tracer.python_call(list, args, effect=True)[::-1]
        if len(args) == 1 and function in (list, tuple, set, frozenset, dict):
            whole = _whole(tracer, function, args[0], kwargs)
            if whole is not None:
                return whole
        if args and isinstance(args[0], ObjectVariable):
            return tracer.python_call(function, args, kwargs, effect=True)
        if function is enumerate and len(args) + len(kwargs) == 2:
            start = symbol_of(tracer, kwargs.get("start", args[-1]))
            if is_symbol(start):
                return _counted_from(tracer, args[0], start)
        things = args if function is zip else args[:1]
        parts = None if function not in (zip, enumerate, reversed, iter) or (
            function is reversed and isinstance(args[0], SymbolicRange) and not is_symbol(args[0].step)
        ) else open_lists.parts_of(tracer, things)
        if parts is not None:
            return open_iterators.made_of_turns(tracer, _over_parts(tracer, function, parts, args[1:], **kwargs))
        if args and function in (list, tuple, dict, set, frozenset) and tracer.is_unknown(args[0]):
            # What it holds by then is known when the Program runs.
            return tracer.python_call(function, args, kwargs, kind=function, effect=True)
        if function is dict and args and tracer.is_outer(args[0]) and not isinstance(args[0], dict):
            return tracer.python_call(dict, args, kwargs, effect=True)
        seen = [_iterable(tracer, part) if isinstance(part, Iterable) else part for part in args]
        if function in (dict, set, frozenset) and len(seen) == 1:
            return keys.made(tracer, function, seen[0], kwargs)
        found = open_iterators.made(tracer, function, tuple(seen), kwargs)
        return function(*seen, **kwargs) if found is None else found

    return traced


def _whole(tracer: Tracer, function: Any, thing: Any, named: dict[str, Any]) -> Any:
    """``list(thing)`` and its like, of what only the run knows all of; None if that is known."""
    if is_open_table(thing) and isinstance(thing, dict) and function is dict:
        made = open_tables.as_dict(tracer, thing)
        open_tables.update(tracer, made, **named)
        return made
    things = open_functions.as_open_list(tracer, thing)
    if things is None:
        return None
    if function is dict and elements_of(things).form == ANYTHING:
        made = open_tables.of_pairs(tracer, things)
        open_tables.update(tracer, made, **named)
        return made
    if function in (set, frozenset, dict):
        return keys.made(tracer, function, things, named)
    if function is tuple:
        return tracer.python_call(tuple, (things,), kind=tuple, effect=True)
    return open_lists.copied(tracer, list, things) if things is thing else things


def _counted_from(tracer: Tracer, things: Any, start: Any) -> Any:
    """``enumerate(things, start)`` from a number of the run."""
    number = ObjectVariable(tracer, tracer.truth_of(start, "an index")) if isinstance(start, Variable) else start
    parts = open_lists.parts_of(tracer, (things,))
    if parts is not None:
        return open_lists.Parts(tracer, parts, start=number)
    return ((number + place, part) for place, part in enumerate(_iterable(tracer, things)))


def _over_parts(
    tracer: Tracer, function: Any, parts: Any, more: tuple[Any, ...], start: Any = 0, strict: bool = False
) -> Any:
    """The same where only the run knows how much there is."""
    if strict:
        refuse("zip(strict=True) of a list whose length only the run knows")
    if function is enumerate:
        return open_lists.Parts(tracer, parts, start=more[0] if more else start)
    if function is reversed:
        return parts.backward()
    return parts


def _divmod(tracer: Tracer, left: Any, right: Any) -> Any:
    for side, other, name in ((left, right, "__divmod__"), (right, left, "__rdivmod__")):
        method = special_methods.users(tracer, side, name)
        if method is not None:
            return late_call(method, other)
    is_refused = isinstance(left, TensorBase) or isinstance(right, TensorBase)
    if not is_refused and any(
            isinstance(part, ObjectVariable) or native.tells_other_things(tracer, part) for part in (left, right)):
        return native.binary(tracer, "floordiv", left, right), native.binary(tracer, "mod", left, right)
    return divmod(left, right)


def _reversed(tracer: Tracer, thing: Any) -> Any:
    getter, length = (special_methods.users(tracer, thing, name) for name in ("__getitem__", "__len__"))
    if getter is None or length is None:
        return _over(reversed)(tracer, thing)
    return (late_call(getter, index) for index in reversed(range(late_call(length))))


def _setattr_plainly(tracer: Tracer, thing: Any, name: str, value: Any) -> None:
    access.store_plainly(tracer, thing, name, value)


def _print(tracer: Tracer, *args: Any, **kwargs: Any) -> None:
    tracer.effects += 1
    special_methods.text_later(tracer, builtins.print, args, kwargs)


def _fromkeys(tracer: Tracer, names: Any, value: Any = None) -> Any:
    things = open_functions.as_open_list(tracer, names)
    if things is not None:
        return keys.dict_of(tracer, open_lists.list_comp(
            tracer, open_lists.Parts(tracer, things), lambda name: (name, value), None))
    given = _iterable(tracer, names)
    if isinstance(given, ObjectVariable):
        return tracer.python_call(dict.fromkeys, (given, value), effect=True)
    return keys.dict_of(tracer, ((name, value) for name in given))


def _reduce(tracer: Tracer, function: Any, things: Any, *start: Any) -> Any:
    whole = open_functions.as_open_list(tracer, things)
    if whole is None:
        return call_builtin(tracer, functools.reduce, (function, things, *start), {})
    if start:
        parts, total = open_lists.Parts(tracer, whole), start[0]
    else:
        total = open_lists.item(tracer, whole, 0)
        parts = open_lists.Parts(tracer, open_lists.item(tracer, whole, slice(1, None)))

    def join(part: Any) -> None:
        nonlocal total
        total = late_call(function, total, part)

    for_loop(tracer, parts, join, None)
    return total


def _chain(tracer: Tracer, iterables: Any) -> Iterator[Any]:
    """``itertools.chain.from_iterable(iterables)``."""
    from d2s.operators.protocols import iterable_of

    for iterable in iterable_of(tracer, iterables):
        yield from iterable_of(tracer, iterable)


_index = asking("__index__", kind=int, otherwise=untraced(operator.index))


# What stands in for each of them.
MEANING: dict[Any, Callable[..., Any]] = {
    Tensor: tensor_made,
    isinstance: classes.is_instance, issubclass: classes.is_subclass, type: classes.type_of,
    callable: classes.is_callable, len: _len, getattr: _getattr, hasattr: access.has_attr, setattr: _setattr,
    delattr: _delattr, range: _range, bool: _truth,
    int: asking("__int__", "__index__", "__trunc__", kind=int, otherwise=_number(int)),
    float: asking("__float__", "__index__", kind=float, otherwise=_number(float)),
    complex: asking("__complex__", "__float__", "__index__", kind=complex, otherwise=_number(complex)),
    abs: asking("__abs__", otherwise=untraced(abs)), round: asking("__round__", otherwise=untraced(round)),
    operator.index: _index, functools.cmp_to_key: special_methods.comparison_key, functools.reduce: _reduce,
    str: special_methods.to_str, repr: special_methods.to_repr, ascii: special_methods.to_ascii,
    format: special_methods.to_format,
    id: _identity, hash: _hash,
    super: _super, divmod: _divmod, sum: _sum, any: _any, all: _all, print: _print,
    object.__setattr__: _setattr_plainly, object.__delattr__: access.delete_plainly, next: _next, vars: _vars,
    map: _mapping(map),
    filter: _mapping(filter), sorted: _mapping(sorted), min: _mapping(min), max: _mapping(max),
    zip: _over(zip), enumerate: _over(enumerate), list: _over(list), tuple: _over(tuple), set: _over(set),
    reversed: asking("__reversed__", otherwise=_reversed), iter: _iter, dict: _over(dict),
    frozenset: _over(frozenset), dict.fromkeys: _fromkeys,
    copy.copy: copies.shallow_copy, copy.deepcopy: copies.deep_copy, dataclasses.replace: copies.replaced,
    dataclasses.fields: copies.fields, itertools.chain.from_iterable: _chain, dataclasses.asdict: copies.as_dict,
    dataclasses.astuple: copies.as_tuple,
    itertools.count: open_iterators.counter, itertools.cycle: open_iterators.cycle,
    warnings.warn: places.warn, breakpoint: places.stop_in_debugger,
}
