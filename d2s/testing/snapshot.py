"""The content of everything in reach of a function, to be put back."""

from __future__ import annotations

import collections
import functools
import inspect
import operator
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.structure import STRUCTURE
from d2s.eager.tensor import Tensor
from d2s.eager.views import Sharing
from d2s.jit import StaticFunction
from d2s.testing.reach import LAYER_PARTS, Reach, is_closed, read_slot, slots_of, values_of_class
from d2s.testing.surroundings import SURROUNDINGS
from d2s.testing.variables import bind_variable, is_users_class, is_users_file, read_variable, variables_of

_CONTAINERS = (list, dict, set, collections.deque, bytearray)


class Snapshot:
    """The content of everything in reach, to be put back."""

    def __init__(self, reach: Reach) -> None:
        self._restores: list[Callable[[], object]] = []
        for _, thing in reach.objects():
            self._save(thing)
        for surrounding in SURROUNDINGS:
            self._restores.append(functools.partial(surrounding.write, surrounding.read()))

    def restore(self) -> None:
        """Put everything back as it was."""
        for restore in self._restores:
            restore()
        STRUCTURE.changed()

    def _save(self, thing: Any) -> None:
        if isinstance(thing, Tensor):
            self._save_tensor(thing)
        elif isinstance(thing, np.ndarray):
            if thing.flags.writeable:
                values = thing.copy()
                self._restores.append(lambda: thing.__setitem__(..., values))
        elif isinstance(thing, np.random.Generator):
            state = thing.bit_generator.state
            self._restores.append(lambda: setattr(thing.bit_generator, "state", state))
        elif isinstance(thing, np.random.RandomState):
            numpy_state = thing.get_state()
            self._restores.append(lambda: thing.set_state(numpy_state))
        elif isinstance(thing, random.Random):
            python_state = thing.getstate()
            self._restores.append(lambda: thing.setstate(python_state))
        elif isinstance(thing, types.FunctionType):
            if is_users_file(thing.__code__.co_filename):
                for _, keeper, key in variables_of(thing):
                    self._save_variable(keeper, key)
        elif isinstance(thing, type):
            self._save_class(thing)
        elif isinstance(thing, _CONTAINERS):
            self._save_container(thing)
        elif not is_closed(thing) and not isinstance(thing, StaticFunction):
            self._save_object(thing)

    def _save_variable(self, keeper: Any, key: str | None) -> None:
        value = read_variable(keeper, key)

        def restore() -> None:
            if read_variable(keeper, key) is not value:
                bind_variable(keeper, key, value)

        self._restores.append(restore)

    def _save_class(self, kind: type) -> None:
        if not is_users_class(kind):
            return
        values = values_of_class(kind)

        def restore() -> None:
            now = values_of_class(kind)
            # Whatever the class of the class says of attributes.
            for name in now.keys() - values.keys():
                type.__delattr__(kind, name)
            for name, value in values.items():
                if name not in now or now[name] is not value:
                    type.__setattr__(kind, name, value)

        self._restores.append(restore)

    def _save_object(self, thing: Any) -> None:
        attributes = getattr(thing, "__dict__", None)
        if isinstance(attributes, dict):
            self._save_container(attributes)
            for name in LAYER_PARTS:
                if isinstance(attributes.get(name), dict):
                    self._save_container(attributes[name])
        for _, slot in slots_of(type(thing)):
            self._save_slot(slot, thing)

    def _save_slot(self, slot: types.MemberDescriptorType, thing: Any) -> None:
        value = read_slot(slot, thing)

        def restore() -> None:
            if read_slot(slot, thing) is value:
                return
            if value is inspect.Parameter.empty:
                slot.__delete__(thing)
            else:
                slot.__set__(thing, value)

        self._restores.append(restore)

    def _save_container(self, held: Any) -> None:
        if isinstance(held, bytearray):
            content = held[:]
            self._restores.append(lambda: held.__setitem__(slice(None), content))
            return
        is_dict = isinstance(held, dict)
        members = list(held.items() if is_dict else held)

        def restore() -> None:
            # What has not changed is left alone: others may be looking at it.
            now = list(held.items() if is_dict else held)
            if len(now) == len(members) and all(map(_is_same_member, now, members)):
                return
            held.clear()
            held.update(members) if isinstance(held, dict | set) else held.extend(members)

        self._restores.append(restore)

    def _save_tensor(self, tensor: Tensor) -> None:
        self._save_container(tensor.__dict__)
        self._save_slots(tensor, ("data", "_stop_gradient", "_node", "_index", "_leaf", "_sharing", "version"))
        if tensor._leaf is not None:
            self._save_slots(tensor._leaf, ("grad", "zero_grad", "hooks", "reduce_hooks"))
            for hooks in (tensor._leaf.hooks, tensor._leaf.reduce_hooks):
                if isinstance(hooks, HookList):
                    self._save_container(hooks.hooks)
                    self._save_slots(hooks, ("keep",))
        if isinstance(tensor._sharing, Sharing):
            self._save_slots(tensor._sharing, ("view",))
            self._save_container(tensor._sharing.views)
            self._save_container(tensor._sharing.peers)
            self._save_container(tensor._sharing.others)

    def _save_slots(self, thing: Any, names: tuple[str, ...]) -> None:
        values = [(name, getattr(thing, name)) for name in names]

        def restore() -> None:
            for name, value in values:
                setattr(thing, name, value)

        self._restores.append(restore)


def _is_same_member(one: Any, other: Any) -> bool:
    if type(one) is tuple and type(other) is tuple:
        # An item of a dict, made anew each time.
        return len(one) == len(other) and all(map(operator.is_, one, other))
    return one is other
