"""Reading and writing attributes while a function is traced.

Python looks an attribute up in the class and in the object; the trace does the same by hand, so that user code
behind it (properties, descriptors, ``__getattr__``) is traced too, and so that a change at either place is noticed.
"""

from __future__ import annotations

import functools
from types import (
    BuiltinMethodType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, TypeGuard

from d2s.core.interpreter import TensorBase
from d2s.operators.containers import plain_writer
from d2s.operators.guards import ABSENT, Guard, is_layer, lookup
from d2s.operators.heap import fields_of
from d2s.operators.late_call import late_call
from d2s.operators.layer_hooks import LayerHandle
from d2s.operators.outside import MUTABLE_CLASS
from d2s.operators.policy import is_convertible, is_of_user
from d2s.operators.sources import Attribute, Constant, Held, Source
from d2s.operators.tracer import Tracer
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable, Variable


def attr(tracer: Tracer, value: Any, name: str) -> Any:
    """``value.name``."""
    if isinstance(value, LayerHandle) and name == "remove":
        return value.remove
    if isinstance(value, ObjectVariable):
        if name.startswith("__") and name.endswith("__"):
            # Python would give that of what stands for the object.
            return tracer.python_call(getattr, (value, name), effect=True)
        return _variable_attribute(tracer, value, name)
    if isinstance(value, TensorBase):
        variable = tracer.symbol(value)
        found = _variable_attribute(tracer, variable, name)
        if name == "grad" and isinstance(found, ObjectVariable):
            # Used as a tensor, it is one like the tensor that it belongs to.
            tracer.object_specs[found.value] = variable.spec
        return found
    if id(value) in tracer.touched and name in fields_of(value):
        tracer.check_untouched(value)
    if tracer.pending:
        pending = tracer.stored((id(value), "attr", name), getattr, value, name)
        if pending is not None:
            return pending[0]
    if isinstance(value, ModuleType):
        return _module_attribute(tracer, value, name)
    if isinstance(value, type):
        return _class_attribute(tracer, value, name)
    if isinstance(value, super):
        return _super_attribute(tracer, value, name)
    return _instance_attribute(tracer, value, name)


def _module_attribute(tracer: Tracer, module: ModuleType, name: str) -> Any:
    """An attribute of a module, which may have a ``__getattr__`` for those that it does not hold."""
    source = Constant(module)
    if type(module) is not ModuleType and is_of_user(type(module)):
        tracer.remember(module, source)
        return _instance_attribute(tracer, module, name)
    held = vars(module)
    if tracer.is_later(module, "attr", name):
        return _read(tracer, source, module, name)
    if lookup(type(module), name) is not ABSENT or not _is_user_code(held.get("__getattr__")):
        return _read(tracer, source, module, name)
    # It may be another class's by then; and to ask for what is gone would run that function.
    tracer.guards.add(Guard(source, "type({v}) is {k0}", (type(module),), type(module).__name__))
    if name in held:
        return tracer.read(Held(source, name), held[name], getattr, module, name)
    absent = Guard(source, repr(name) + " not in {d}", (), f"without an own {name}", is_live=True)
    tracer.require(absent, module)
    return late_call(_read(tracer, source, module, "__getattr__"), name)


def _read(tracer: Tracer, source: Source, value: Any, name: str) -> Any:
    """An attribute that is simply there, at a path."""
    if tracer.is_later(value, "attr", name):
        return tracer.python_call(getattr, (value, name), effect=True)
    return tracer.read(Attribute(source, name), _found(tracer, source, value, name), getattr, value, name)


def _found(tracer: Tracer, source: Source | None, value: Any, name: str) -> Any:
    """``getattr``; if there is nothing, the trace depends on that."""
    try:
        return getattr(value, name)
    except AttributeError:
        if source is None:
            tracer.guard_class(value, name)
        else:
            tracer.require(Guard(source, f"not hasattr({{v}}, {name!r})", (), f"no attribute {name}"), value)
        raise


# Attributes that tell what class it is: that of tensors.
_OF_CLASS = ("__class__", "__doc__", "__module__")


def _variable_attribute(tracer: Tracer, value: Any, name: str) -> Any:
    """Attribute of a symbol; what a Variable does not have is asked of the caller's Tensor."""
    if isinstance(value, Variable):
        if name in _OF_CLASS:
            cls = late_call(type, value)
            return cls if name == "__class__" else getattr(cls, name)
        added = _added_to_tensors(tracer, value, name)
        if added is not ABSENT:
            return added
        tensor = tracer.outer_tensor(value)
        if tensor is not None and name not in value.__dict__ and (
                not hasattr(type(value), name) or _is_set_on(tensor, name)):
            return _attribute_of_tensor(tracer, value, tensor, name)
        if name in ("name", "is_leaf", "persistable") and tensor is not None:
            return _state_of_tensor(tracer, value, tensor, name)
        if name == "name":
            return tracer.python_call(getattr, (value, name), kind=str, effect=True)
        if name == "is_leaf" and _is_one_of_several(tracer, value.value):
            return tracer.python_call(getattr, (value, name), kind=bool, effect=True)
        if name == "stop_gradient" and value.value in tracer.may_stop:
            point = ObjectVariable(tracer, tracer.hook_point(value.value))
            return tracer.python_call(getattr, (point, name), kind=bool)
    elif (known := tracer.late_arrays.attribute(value, name)) is not ABSENT:
        return known
    elif name in ObjectVariable.__slots__ or name == "__dict__":
        # The object may have attributes of these names too.
        return tracer.python_call(getattr, (value, name), effect=True)
    return getattr(value, name)


def _is_one_of_several(tracer: Tracer, value: Value) -> bool:
    """True if only the run knows of which operator the tensor comes."""
    return value in tracer.may_stop or tracer.is_merged(value) or any(value in inputs for inputs in tracer.turn_inputs)


def _added_to_tensors(tracer: Tracer, variable: Variable, name: str) -> Any:
    """A method or property that the user has put into the class of Tensors; ABSENT if there is none."""
    from d2s.eager.tensor import Tensor

    found = lookup(Tensor, name)
    getter = found.fget if isinstance(found, property) else None
    for function in (found, getter):
        if _is_user_code(function):
            tracer.guard_held(Tensor, name)
            method = MethodType(function, variable)
            return method if function is found else late_call(method)
    if found is ABSENT and not hasattr(variable, name):
        tracer.guard_held(Tensor, name)
    return ABSENT


def _is_set_on(tensor: Any, name: str) -> bool:
    """True if the user has set this attribute on a Tensor, in the place of a method even."""
    return name in getattr(tensor, "__dict__", ()) and not hasattr(getattr(type(tensor), name, None), "__set__")


def _attribute_of_tensor(tracer: Tracer, variable: Variable, tensor: Any, name: str) -> Any:
    """What the caller's Tensor has and symbols have not: attributes set by the user, and its state in each run."""
    if hasattr(type(tensor), name) and not _is_set_on(tensor, name):
        return tracer.python_call(getattr, (variable, name), effect=True)
    return _state_of_tensor(tracer, variable, tensor, name)


def _state_of_tensor(tracer: Tracer, variable: Variable, tensor: Any, name: str) -> Any:
    """What the caller's Tensor has under `name` when this line runs."""
    pending = tracer.pending.get((id(tensor), "attr", name))
    if pending is not None:
        return pending[0]
    source = tracer.sources[tracer.captured[id(tensor)][1]]
    if tracer.is_later(tensor, "attr", name):
        return tracer.python_call(getattr, (variable, name), effect=True)
    return tracer.read(Attribute(source, name), _found(tracer, source, tensor, name), getattr, variable, name)


def _class_attribute(tracer: Tracer, cls: type, name: str) -> Any:
    asked = _asked_of_class(cls, name)
    if asked is not None:
        for owner in (type(cls), cls):
            tracer.guard_held(owner, name)
        return late_call(*asked)
    result = _found(tracer, Constant(cls), cls, name)
    if isinstance(result, MethodType) and result.__self__ is cls:
        tracer.remember(cls, Constant(cls))
        tracer.guard_held(cls, name)
        return result
    return _read(tracer, Constant(cls), cls, name)


def _asked_of_class(cls: type, name: str) -> tuple[Any, ...] | None:
    """The function of the user, and its arguments, that says what a class has under a name; None if there is none."""
    above = lookup(type(cls), name)
    if isinstance(above, property):
        return (above.fget, cls) if _is_user_code(above.fget) else None
    found = lookup(cls, name)
    getter = lookup(type(found), "__get__")
    return (getter, found, None, cls) if above is ABSENT and _is_user_code(getter) else None


def _super_attribute(tracer: Tracer, proxy: Any, name: str) -> Any:
    """``super().name``: found in the classes that come after."""
    owner: Any = proxy.__self__
    cls = proxy.__self_class__
    if cls.__flags__ & MUTABLE_CLASS:
        tracer.read(Attribute(Constant(cls), "__mro__"), cls.__mro__, getattr, cls, "__mro__")
    after = cls.__mro__[cls.__mro__.index(proxy.__thisclass__) + 1 :]
    for base in after:
        if name in base.__dict__:
            tracer.guard_held(base, name)
            break
    found = next((base.__dict__[name] for base in after if name in base.__dict__), None)
    if isinstance(found, property) and _is_user_code(found.fget):
        return late_call(found.fget, owner)
    return getattr(proxy, name)


def _instance_attribute(tracer: Tracer, value: Any, name: str) -> Any:
    cls = type(value)
    reader = lookup(cls, "__getattribute__")
    if _is_user_code(reader):
        tracer.guard_class(value, "__getattribute__")
        return late_call(reader, value, name)
    found = lookup(cls, name)
    own = getattr(value, "__dict__", None)
    if name == "__dict__" and own is not None and tracer.is_outer(value):
        tracer.attribute_table(value)
    is_own = own is not None and name in own
    if is_own and found is not ABSENT and is_of_user(type(found)):
        # Which of the two comes first depends on the class of what is in the class.
        for method in ("__get__", "__set__", "__delete__"):
            tracer.guard_held(type(found), method)
    if found is not ABSENT and (not is_own or hasattr(type(found), "__set__")):
        if isinstance(found, property) and _is_user_code(found.fget):
            tracer.guard_class(value, name)
            return late_call(found.fget, value)
        getter = lookup(type(found), "__get__")
        if _is_user_code(getter):
            tracer.guard_class(value, name)
            if not hasattr(type(found), "__set__"):
                _guard_absent(tracer, value, name)
            return late_call(getter, _descriptor(tracer, found), value, cls)
        if isinstance(found, functools.cached_property):
            tracer.guard_class(value, name)
            _guard_absent(tracer, value, name)
            computed = late_call(found.func, value)
            store_plainly(tracer, value, found.attrname or name, computed)
            return computed
    elif found is ABSENT and not is_own:
        reader = lookup(cls, "__getattr__")
        if _is_user_code(reader):
            tracer.guard_class(value, "__getattr__")
            tracer.guard_class(value, name)
            _guard_absent(tracer, value, name)
            return late_call(reader, value, name)
        if is_layer(value) and name in value._sub_layers:
            _guard_absent(tracer, value, name)
    return _plain_attribute(tracer, value, name, found, is_own)


def _plain_attribute(tracer: Tracer, value: Any, name: str, found: Any, is_own: bool) -> Any:
    """An attribute that is simply there."""
    source = tracer.source_of(value)
    if source is not None and is_own and isinstance(found, functools.cached_property):
        # Asked first: to look for it where it is not there yet would compute it.
        tracer.require(Guard(source, repr(name) + " in {d}", (), f"an own {name}"), value)
    if source is not None and tracer.is_later(value, "attr", name) and not callable(found):
        return tracer.python_call(getattr, (value, name), effect=True)
    result = _found(tracer, source, value, name)
    is_method = isinstance(result, MethodType | BuiltinMethodType | MethodWrapperType) and result.__self__ is value
    if not is_own and found is not ABSENT and not isinstance(found, MemberDescriptorType | GetSetDescriptorType):
        tracer.guard_class(value, name)
        if source is not None and is_method:
            _guard_absent(tracer, value, name)
        if source is None or is_method:
            # Found in the class of an object that is made inside, or a method: made anew each time.
            if is_method or (hasattr(found, "__get__") and not isinstance(found, _KEPT_IN_CLASSES)):
                return result
            return _read(tracer, Constant(type(value)), type(value), name)
    if source is not None:
        return result if is_method and not is_own else _read(tracer, source, value, name)
    return tracer.lift(result) if isinstance(result, TensorBase) and not isinstance(result, Variable) else result


def _descriptor(tracer: Tracer, found: Any) -> Any:
    """An object that a class holds, as it is given to code of the user: as old as the class."""
    if not tracer.is_outer(found) and not tracer.is_made(found):
        tracer.remember(found, Constant(found))
    return found


# What the class gives back as its instances do.
_KEPT_IN_CLASSES = (FunctionType, staticmethod, classmethod)


def _guard_absent(tracer: Tracer, value: Any, name: str) -> None:
    """Note that an object does not have an attribute of its own that would come before that of its class."""
    source = tracer.source_of(value)
    if source is not None and hasattr(value, "__dict__"):
        # What is written to its `__dict__` by hand, a Layer does not tell; of those of d2s that is compared apart.
        is_live = not is_layer(value) or is_of_user(type(value))
        guard = Guard(source, repr(name) + " not in {d}", (), f"without an own {name}", is_live=is_live)
        tracer.require(guard, value)


def _is_user_code(thing: Any) -> TypeGuard[FunctionType]:
    return isinstance(thing, FunctionType) and is_convertible(thing)


def special(tracer: Tracer, value: Any, name: str) -> MethodType | None:
    """What the user's class defines for an operator or built-in function, as a method of `value`; guarded."""
    cls = type(value)
    found = lookup(cls, name)
    if _is_user_code(found):
        tracer.guard_class(value, name)
        return MethodType(found, value)
    if is_of_user(cls):
        # It may come to define one.
        tracer.guard_class(value, name)
    return None


def has_attr(tracer: Tracer, value: Any, name: str) -> Any:
    """``hasattr(value, name)``."""
    if (id(value), "attr", name) in tracer.pending:
        return True
    if isinstance(value, ObjectVariable):
        return tracer.python_call(hasattr, (value, name), kind=bool, effect=True)
    if runs_code(tracer, value, name):
        try:
            attr(tracer, value, name)
        except AttributeError:
            return False
        return True
    source = tracer.source_of(value)
    if source is None:
        return hasattr(value, name)
    if tracer.is_later(value, "attr", name):
        return tracer.python_call(hasattr, (value, name), kind=bool, effect=True)
    present = hasattr(value, name)
    tracer.require(Guard(source, f"hasattr({{v}}, {name!r}) is {present}", (), f"hasattr {name}: {present}"), value)
    return present


def runs_code(tracer: Tracer, value: Any, name: str) -> bool:
    """True if code of the user, which is traced then, says what an attribute is, or whether there is one."""
    if isinstance(value, TensorBase):
        return True
    if isinstance(value, ObjectVariable):
        return False
    if isinstance(value, type):
        return _asked_of_class(value, name) is not None
    if tracer.source_of(value) is not None and tracer.is_later(value, "attr", name):
        return False
    if special(tracer, value, "__getattr__") is not None or special(tracer, value, "__getattribute__") is not None:
        return True
    found = lookup(type(value), name)
    return isinstance(found, property) or _is_user_code(lookup(type(found), "__get__"))


# --- writing --------------------------------------------------------------------------------------------------------


def store_attr(tracer: Tracer, target: Any, name: str, value: Any) -> None:
    """``target.name = value``."""
    if isinstance(target, TensorBase):
        _store_on_tensor(tracer, target if isinstance(target, Variable) else tracer.lift(target), name, value)
        return
    if isinstance(target, ObjectVariable):
        tracer.effect(setattr, target, name, value)
        return
    writer = None if isinstance(target, ModuleType | type) else special(tracer, target, "__setattr__")
    if writer is not None:
        late_call(writer, name, value)
        return
    found = lookup(type(target), name)
    if isinstance(found, property) and _is_user_code(found.fset):
        tracer.guard_class(target, name)
        late_call(found.fset, target, value)
        return
    setter = lookup(type(found), "__set__") if found is not ABSENT else None
    if _is_user_code(setter):
        tracer.guard_class(target, name)
        late_call(setter, _descriptor(tracer, found), target, value)
        return
    store_plainly(tracer, target, name, value)


def store_plainly(tracer: Tracer, target: Any, name: str, value: Any) -> None:
    """``object.__setattr__(target, name, value)``."""
    if tracer.is_outer(target) or isinstance(target, ModuleType | type) or is_layer(target):
        tracer.store_attribute(target, name, value)
    else:
        tracer.check_not_frozen(target)
        setattr(target, name, value) if isinstance(target, FunctionType) else object.__setattr__(target, name, value)


def _store_on_tensor(tracer: Tracer, variable: Variable, name: str, value: Any) -> None:
    tensor = tracer.outer_tensor(variable)
    if tensor is None:
        if name == "name" or not hasattr(type(variable), name):
            # Whoever gets the Tensor finds it there.
            tracer.effect(setattr, variable, name, value)
        if name != "name":
            setattr(variable, name, value)
        return
    tracer.effect(setattr, variable, name, value)
    if name == "stop_gradient":
        tracer.set_flag(variable, tensor, bool(value))
    elif name == "name" or not hasattr(type(variable), name):
        tracer.pending[(id(tensor), "attr", name)] = (value, tensor)


def delete_attr(tracer: Tracer, target: Any, name: str) -> None:
    """``del target.name``."""
    deleter = None if isinstance(target, ModuleType | type | ObjectVariable) else _deleter(tracer, target, name)
    if deleter is not None:
        late_call(*deleter)
        return
    delete_plainly(tracer, target, name)


def _deleter(tracer: Tracer, target: Any, name: str) -> tuple[Any, ...] | None:
    """What the user's class, or a property or descriptor in it, defines for ``del target.name``, with its arguments."""
    method = special(tracer, target, "__delattr__")
    if method is not None:
        return method, name
    found = lookup(type(target), name)
    if isinstance(found, property) and _is_user_code(found.fdel):
        tracer.guard_class(target, name)
        return found.fdel, target
    method = lookup(type(found), "__delete__") if found is not ABSENT else None
    if _is_user_code(method):
        tracer.guard_class(target, name)
        return method, _descriptor(tracer, found), target
    return None


def delete_plainly(tracer: Tracer, target: Any, name: str) -> None:
    """``object.__delattr__(target, name)``."""
    if isinstance(target, ObjectVariable | ModuleType | type) or tracer.is_outer(target):
        if not isinstance(target, ObjectVariable) and not has_attr(tracer, target, name):
            raise AttributeError(f"{type(target).__name__!r} object has no attribute {name!r}")
        tracer.effect(plain_writer(target, "__delattr__", delattr), target, name)
        tracer.changed(target)
    else:
        (object.__delattr__ if tracer.is_made(target) else delattr)(target, name)
