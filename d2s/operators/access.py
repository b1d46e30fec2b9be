"""Reading and writing attributes, items and names while a function is traced."""

from __future__ import annotations

import functools
import operator
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.policy import is_convertible
from d2s.operators.sources import Attribute, Cell, Constant, Global, Guard
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable, Variable

# Modules whose attributes are taken as they are.
_SETTLED_MODULES = ("d2s", "numpy", "builtins", "math")


def attr(tracer: Tracer, value: Any, name: str) -> Any:
    """``value.name``."""
    if isinstance(value, Variable | ObjectVariable):
        return _variable_attribute(tracer, value, name)
    if isinstance(value, TensorBase):
        return _variable_attribute(tracer, tracer.lift(value), name)
    if tracer.pending:
        pending = tracer.pending.get((id(value), "attr", name))
        if pending is not None:
            return pending[0]
    if isinstance(value, ModuleType):
        return _module_attribute(tracer, value, name)
    found = _property_of(value, name)
    if found is not None:
        from d2s.operators.calls import call

        return call(found, value)
    source = tracer.source_of(value)
    if source is None:
        return _inner_attribute(tracer, value, name)
    if id(value) in tracer.dirty and not callable(getattr(type(value), name, None)):
        return tracer.python_call(getattr, (value, name), effect=True)
    result = getattr(value, name)
    if isinstance(result, MethodType) and result.__self__ is value:
        _guard_method(tracer, value, name, result)
        return result
    if _is_builtin_method(result, value):
        return result
    return tracer.read(Attribute(source, name), result)


def _variable_attribute(tracer: Tracer, value: Any, name: str) -> Any:
    """Attribute of a symbol; what a Variable does not have is asked of the caller's Tensor."""
    if isinstance(value, Variable):
        tensor = tracer.outer_tensor(value)
        if tensor is not None and not hasattr(type(value), name) and name not in value.__dict__:
            return getattr(tensor, name)
    return getattr(value, name)


def _module_attribute(tracer: Tracer, module: ModuleType, name: str) -> Any:
    result = getattr(module, name)
    if module.__name__.partition(".")[0] in _SETTLED_MODULES:
        return result
    return tracer.read(Attribute(Constant(module), name), result)


def _inner_attribute(tracer: Tracer, value: Any, name: str) -> Any:
    """Attribute of an object made inside; what it shares with older ones (its class) is guarded there."""
    result = getattr(value, name)
    if isinstance(value, type):
        return tracer.read(Attribute(Constant(value), name), result) if _is_data(result) else result
    if not isinstance(result, TensorBase):
        return result
    return result if isinstance(result, Variable) else tracer.lift(result)


def _is_data(thing: Any) -> bool:
    return not callable(thing) and not isinstance(thing, property | classmethod | staticmethod)


def _property_of(value: Any, name: str) -> FunctionType | None:
    """The user's getter if ``value.name`` is a property of its class."""
    for cls in type(value).__mro__:
        found = cls.__dict__.get(name)
        if found is None:
            continue
        if isinstance(found, property) and isinstance(found.fget, FunctionType) and is_convertible(found.fget):
            return found.fget
        if isinstance(found, functools.cached_property) and name not in value.__dict__:
            raise UnsupportedSyntaxError(
                f"the cached property `{name}` is computed while tracing", user_location(),
                "Read it once before the first static call.",
            )
        return None
    return None


def _guard_method(tracer: Tracer, value: Any, name: str, method: MethodType) -> None:
    """A method found through the class is that of the class as long as neither replaces it."""
    source = tracer.source_of(value)
    if source is not None and name in getattr(value, "__dict__", {}):
        tracer.read(Attribute(source, name), method)
        return
    if source is not None and hasattr(value, "__dict__"):
        tracer.guards.add(Guard(source, repr(name) + " not in {v}.__dict__", (), f"without an own {name}"))
    for cls in type(value).__mro__:
        if name in cls.__dict__:
            if cls.__module__.partition(".")[0] not in _SETTLED_MODULES:
                tracer.read(Attribute(Constant(cls), name), getattr(cls, name))
            return


def _is_builtin_method(thing: Any, owner: Any) -> bool:
    return isinstance(thing, _BUILTIN_METHODS) and getattr(thing, "__self__", None) is owner


_BUILTIN_METHODS = (type([].append), type(object().__str__))


def item(tracer: Tracer, value: Any, index: Any) -> Any:
    """``value[index]``."""
    if isinstance(value, TensorBase):
        target = value if isinstance(value, Variable) else tracer.lift(value)
        return target[_index(tracer, index)]
    if isinstance(value, ObjectVariable):
        return value[index]
    source = tracer.source_of(value)
    if source is None:
        if hasattr(type(value), "__getitem__") and isinstance(type(value).__getitem__, FunctionType):
            from d2s.operators.calls import call

            return call(type(value).__getitem__, value, index)
        return value[index]
    if tracer.pending:
        from d2s.operators.tracer import _key_of

        pending = tracer.pending.get((id(value), "item", _key_of(index)))
        if pending is not None:
            return pending[0]
    if id(value) in tracer.dirty:
        return tracer.python_call(operator.getitem, (value, index), effect=True)
    if isinstance(value, np.ndarray):
        return tracer.python_call(operator.getitem, (value, index), effect=True)
    if isinstance(value, list | tuple | dict) and not isinstance(index, slice):
        return tracer.read_item(value, index, source)
    getter = type(value).__getitem__ if hasattr(type(value), "__getitem__") else None
    if isinstance(getter, FunctionType):
        from d2s.operators.calls import call

        return call(getter, value, index)
    return tracer.snapshot(value)[index]


def _index(tracer: Tracer, index: Any) -> Any:
    """An index of a tensor: older arrays and lists in it are read through the trace."""
    if isinstance(index, tuple):
        return tuple(_index(tracer, part) for part in index)
    if isinstance(index, TensorBase) and not isinstance(index, Variable):
        return tracer.lift(index)
    return tracer.snapshot(index) if isinstance(index, list) else index


def store_attr(tracer: Tracer, target: Any, name: str, value: Any) -> None:
    """``target.name = value``."""
    if isinstance(target, TensorBase):
        variable = target if isinstance(target, Variable) else tracer.lift(target)
        tensor = tracer.outer_tensor(variable)
        if tensor is not None:
            tracer.effect(setattr, variable, name, value)
            if name == "stop_gradient":
                tracer.set_stop_gradient(variable, bool(value))
            return
        setattr(variable, name, value)
    elif isinstance(target, ObjectVariable):
        tracer.effect(setattr, target, name, value)
    elif tracer.is_outer(target) or isinstance(target, ModuleType | type):
        setter = _setter_of(target, name)
        if setter is not None:
            from d2s.operators.calls import call

            call(setter, target, value)
            return
        tracer.store_attribute(target, name, value)
    else:
        setattr(target, name, value)


def _setter_of(value: Any, name: str) -> FunctionType | None:
    found = getattr(type(value), name, None)
    if isinstance(found, property) and isinstance(found.fset, FunctionType) and is_convertible(found.fset):
        return found.fset
    return None


def store_item(tracer: Tracer, target: Any, index: Any, value: Any) -> None:
    """``target[index] = value``."""
    if isinstance(target, TensorBase):
        variable = target if isinstance(target, Variable) else tracer.lift(target)
        variable[_index(tracer, index)] = value
    elif isinstance(target, ObjectVariable):
        tracer.effect(operator.setitem, target, index, value)
    elif tracer.is_outer(target):
        tracer.store_item(target, index, value)
    else:
        target[index] = value


def delete_attr(tracer: Tracer, target: Any, name: str) -> None:
    """``del target.name``."""
    if tracer.is_outer(target) or isinstance(target, ObjectVariable):
        tracer.effect(delattr, target, name)
        tracer.dirty[id(target)] = target
        tracer.pending.pop((id(target), "attr", name), None)
    else:
        delattr(target, name)


def delete_item(tracer: Tracer, target: Any, index: Any) -> None:
    """``del target[index]``."""
    if tracer.is_outer(target) or isinstance(target, ObjectVariable):
        tracer.effect(operator.delitem, target, index)
        tracer.dirty[id(target)] = target
    else:
        del target[index]


def augmented(tracer: Tracer, name: str, target: Any, value: Any) -> Any:
    """``target += value`` and its like; gives what is bound again."""
    function = getattr(operator, name)
    if isinstance(target, TensorBase) and not isinstance(target, Variable):
        target = tracer.lift(target)
    if isinstance(target, list | dict | set | np.ndarray) and tracer.is_outer(target):
        tracer.effect(function, target, value)
        tracer.dirty[id(target)] = target
        return target
    return function(target, value)


def contains(tracer: Tracer, container: Any, element: Any) -> Any:
    """``element in container``."""
    if isinstance(container, ObjectVariable) or isinstance(element, ObjectVariable) or id(container) in tracer.dirty:
        return tracer.python_call(operator.contains, (container, element), kind=bool, effect=True)
    source = tracer.source_of(container)
    if source is not None and isinstance(container, dict) and not isinstance(element, TensorBase):
        present = element in container
        tracer.guards.add(Guard(source, "({k0} in {v}) is " + repr(present), (element,), f"{element!r}: {present}"))
        return present
    method = getattr(type(container), "__contains__", None)
    if isinstance(method, FunctionType):
        from d2s.operators.calls import call

        return call(method, container, element)
    return element in tracer.snapshot(container)


class Names:
    """Names that a converted function reads and writes outside of itself: its globals and its cells."""

    def __init__(self, fn: FunctionType) -> None:
        self.fn = fn
        self.cells: dict[str, CellType] = dict(
            zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def load_global(self, tracer: Tracer, name: str, value: Any) -> Any:
        namespace = self.fn.__globals__
        if name not in namespace:
            return value
        if tracer.pending:
            pending = tracer.pending.get((id(namespace), "item", name))
            if pending is not None:
                return pending[0]
        return tracer.read(Global(namespace, name), value)

    def load_free(self, tracer: Tracer, name: str, value: Any) -> Any:
        cell = self.cells[name]
        tracer.outside_cells.setdefault(id(cell), cell)
        if tracer.pending:
            pending = tracer.pending.get((id(cell), "cell", name))
            if pending is not None:
                return pending[0]
        return tracer.read(Cell(cell, name), value)

    def store_global(self, tracer: Tracer, name: str, value: Any) -> None:
        namespace = self.fn.__globals__
        tracer.remember(namespace, Constant(namespace))
        tracer.effect(operator.setitem, namespace, name, value)
        tracer.pending[(id(namespace), "item", name)] = (value, namespace)

    def store_free(self, tracer: Tracer, name: str, value: Any) -> None:
        cell = self.cells[name]
        tracer.effect(setattr, cell, "cell_contents", value)
        tracer.pending[(id(cell), "cell", name)] = (value, cell)


