"""What a trace reads of lists, dicts and attributes that are older than the call, with what it has itself stored there.
"""

from __future__ import annotations

import contextlib
import copy
import operator
import weakref
from collections import deque
from collections.abc import Iterable
from types import FunctionType
from typing import Any, NoReturn

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import made_once
from d2s.operators.guards import Guard, is_layer
from d2s.operators.heap import CONTAINERS
from d2s.operators.open_items import Elements, is_open, refuse
from d2s.operators.outside import OutsideReader
from d2s.operators.policy import is_of_user, is_own
from d2s.operators.raw_containers import holds_the_same, length_of, like, parts_of, raw_kind, with_items, with_parts
from d2s.operators.run_time import Expected, check_unchanged
from d2s.operators.sizes import OpenSizes
from d2s.operators.sources import Item, Source
from d2s.operators.stored import Held, Stored, content_at
from d2s.static.program import Program, Value
from d2s.static.variable import ObjectVariable, Variable
from d2s.words import counted


def plain_writer(target: Any, name: str, otherwise: Any) -> Any:
    """What sets or deletes an attribute in the run: `otherwise`, or what a method `name` of the user's class calls.

    That method is traced itself, so the run must not call it again.
    """
    methods = [base.__dict__[name] for base in type(target).__mro__ if name in base.__dict__]
    if not isinstance(methods[0], FunctionType):
        return otherwise
    own = next((found for found in methods if isinstance(found, FunctionType) and is_own(found.__code__)), None)
    if is_layer(target) and own is not None:
        return otherwise if own is methods[0] else own
    return methods[-1]



class ContainerReader(OutsideReader):
    """Reads older containers.

    Attributes
    ----------
    pending : dict
        What the trace has stored at places of older objects, by (identity, "attr" or "item", key), as (value, object).
    """

    def __init__(
        self, program: Program, numbers: frozenset[tuple[Any, ...]] = frozenset(),
        sizes: OpenSizes | None = None,
    ) -> None:
        super().__init__(program, numbers, sizes)
        self.pending: dict[tuple[int, str, Any], Any] = {}
        # Copies of older containers that libraries have been given, with these.
        self.copies: dict[int, tuple[Any, Any]] = {}
        # Older containers that were given tensors, at places that only the run knows; and objects of the run that may
        # be tensors of which nothing is known.
        self.given_tensors: dict[int, Any] = {}
        # Tensors read of older lists of which it is not known what else they are.
        self.unwritable: set[Value] = set()
        # What the trace may have put into older lists, on whatever path; None where that is not known.
        self.put_in: dict[int, Elements | None] = {}
        self.elements: set[Value] = set()
        self._viewed: dict[int, list[weakref.ref[Any]]] = {}
        self._run_over: dict[int, list[weakref.ref[Any]]] = {}
        # Objects whose `__dict__` was looked at, by their own identity and by that of the dict.
        self._tables: dict[int, Any] = {}

    # --- elements ------------------------------------------------------------------------------------------------

    def snapshot(self, thing: Any) -> Any:
        """An older container as the trace sees it: a copy with Variables for tensors, each element guarded."""
        source = self.source_of(thing)
        if is_open(thing):
            refuse()
        is_later = self.is_unknown(thing)
        if is_later and isinstance(thing, list | dict | set | deque):
            raise UnsupportedSyntaxError(
                f"a {type(thing).__name__} from outside that this function has changed is read as a whole",
                user_location(), "Read it before the change, read single elements, or keep the function eager with "
                "@d2s.jit.not_to_static.",
                kind="U04",
            )
        if source is None or is_later:
            return thing
        if isinstance(thing, tuple | list | deque):
            self.require(_length_guard(source, thing), thing)
            return with_parts(thing, [self.read_item(thing, index, source) for index in range(length_of(thing))])
        if isinstance(thing, dict | set | frozenset):
            _refuse_tensors_as_keys(thing)
            self._look_at_keys(thing)
        if isinstance(thing, dict):
            items = {key: self.read_item(thing, key, source) for key in self.keys_of(thing, source)}
            if type(thing) is dict or is_of_user(type(thing)):
                return like(thing, dict, items)
            return with_items(copy.copy(thing), items)
        if isinstance(thing, set | frozenset):
            self.require(_members_guard(source, thing), thing)
            return type(thing)(thing) if type(thing) is set else thing
        return thing

    def keys_of(self, table: Any, source: Source) -> dict[Any, None]:
        """The keys of an older dict, with those that the trace has added, in their order; guarded."""
        self.require(_keys_guard(source, table), table)
        return dict.fromkeys((*parts_of(table), *(self.stored_keys(table) or ())))

    def snapshot_deeply(self, thing: Any) -> Any:
        """An older container with everything in it guarded; other objects as they are.

        Where the trace sees something else in it than is there (Variables, what is stored in the run), it is a copy.
        """
        seen = self.snapshot(thing)
        made = self._with_parts_seen(seen)
        if made is thing or self.source_of(thing) is None:
            return made
        if holds_the_same(made, thing):
            # The thing itself: it may be handed on, and changed then.
            return thing
        self.copies[id(made)] = made, thing
        return made

    def _with_parts_seen(self, seen: Any) -> Any:
        if isinstance(seen, list | tuple | deque):
            parts = [self.snapshot_deeply(part) for part in parts_of(seen)]
            return seen if all(map(operator.is_, parts, parts_of(seen))) else with_parts(seen, parts)
        if isinstance(seen, dict):
            held = {key: self.snapshot_deeply(dict.__getitem__(seen, key)) for key in parts_of(seen)}
            if all(dict.__getitem__(seen, key) is part for key, part in held.items()):
                return seen
            if type(seen) is dict or is_of_user(type(seen)):
                return like(seen, dict, held)
            return with_items(copy.copy(seen), held)
        return seen

    def handed_back(self, result: Any) -> Any:
        """What a library has given, with the older containers themselves in the place of copies that it was given."""
        if not self.copies:
            return result
        if id(result) in self.copies:
            return self.copies[id(result)][1]
        if type(result) in (list, deque) and not self.is_outer(result):
            for index, part in enumerate(result):
                result[index] = self.handed_back(part)
        elif type(result) is dict and not self.is_outer(result):
            result.update({key: self.handed_back(part) for key, part in result.items()})
        elif isinstance(result, tuple):
            parts = [self.handed_back(part) for part in result]
            return result if all(map(operator.is_, parts, result)) else with_parts(result, parts)
        return result

    def list_of_values(self, variable: Variable) -> Any:
        from d2s.operators.open_functions import values_of_tensor

        return values_of_tensor(self, variable)  # type: ignore[arg-type]

    def guard_length(self, thing: Any) -> None:
        """Note that the trace depends on how many elements an older container has."""
        source = self.source_of(thing)
        if source is not None:
            self.require(_length_guard(source, thing), thing)

    def read_item(self, container: Any, key: Any, source: Source) -> Any:
        """`container[key]` of an older container."""
        pending = self.pending_item(container, key)
        if pending is not None:
            return pending[0]
        kind = raw_kind(container, "__getitem__")
        reader = operator.getitem if kind is None else kind.__getitem__
        try:
            value = reader(container, key)
        except LookupError:
            guard = _keys_guard if isinstance(container, dict) else _length_guard
            self.require(guard(source, container), container)
            raise
        if isinstance(value, Variable | ObjectVariable):
            return value
        return self.read(Item(source, key, kind), value, reader, container, key)

    # --- what the trace has stored -------------------------------------------------------------------------------

    def pending_item(self, thing: Any, key: Any) -> Any:
        """What this trace has stored at ``thing[key]``, as (value, thing); None if nothing that is known now."""
        if not self.pending or isinstance(key, list | dict | set):
            return None
        return self.stored((id(thing), "item", _key_of(key)), operator.getitem, thing, key)

    def note_stored(self, place: Any, value: Any, thing: Any) -> None:
        """Take note of what the trace has stored at a place."""
        pending = self.pending.get(place)
        if pending is not None and isinstance(pending[0], Held):
            pending[0].cell.cell_contents = value
        else:
            self.pending[place] = (value, thing)
        self._stored_at[place] = self.epoch

    def check_writable(self, variables: Iterable[Variable]) -> None:
        """Refuse to write to what may be any tensor from outside, and to those while there is such."""
        if self.unwritable and any(
                variable.value in self.unwritable or self.is_outer(variable.value) for variable in variables):
            raise UnsupportedSyntaxError(
                "a tensor is written in place that may be an element of a list from outside, which this function has "
                "changed and read as a whole", user_location(), "Write to a clone of it.",
                kind="U04",
            )

    def note_of_element(self, result: ObjectVariable, *things: Any) -> None:
        """What is made of something that may be a tensor may be one."""
        if self.elements and result.value.kind is None and self._holds_element(things):
            self.elements.add(result.value)

    def _holds_element(self, thing: Any) -> bool:
        if isinstance(thing, tuple):
            return any(map(self._holds_element, thing))
        return isinstance(thing, ObjectVariable) and thing.value in self.elements

    def refuse_element(self, value: Value) -> None:
        """Refuse to compute with what may be a tensor of which nothing is known."""
        if value in self.elements:
            raise UnsupportedSyntaxError(
                "what may be a tensor of any shape, read of a container from outside that this function has changed or "
                "left by a loop in which a variable is of several kinds, is combined with a tensor", user_location(),
                "Use the value that was put in, or keep the function eager with @d2s.jit.not_to_static.",
                kind="U04",
            )

    def hold(self, place: Any, value: Any, thing: Any) -> None:
        """Let a variable of the trace hold `value`, which is at a place of an older object now."""
        self.pending[place] = (Held(value), thing)
        self._stored_at.setdefault(place, self.epoch)
        if place[1] == "item" and type(thing) in (list, dict):
            self._note_key(thing, key_at(place))

    def held(self) -> list[Any]:
        """What a branch or turn may change, beside what its code names: what is stored at places of older objects."""
        return [entry[0].cell if isinstance(entry[0], Held) else entry[0] for entry in self.pending.values()]

    def note_deleted(self, place: Any, mark: Any, thing: Any) -> None:
        """Take note that the trace has deleted what is at a place; `mark` stands for that."""
        self.pending[place] = (mark, thing)
        self._stored_at.pop(place, None)

    def stored(self, place: Any, *again: Any) -> Any:
        """What the trace has stored at a place, as (value, thing), or None; checked in the run, by a function and its
        arguments that read it, if something may have changed it since."""
        found = self.pending.get(place)
        if (
            found is not None and self.may_have_changed and place in self._stored_at
            and self._stored_at[place] < self.epoch
        ):
            self._stored_at[place] = self.epoch
            value = content_at(found)
            # What this call has made is what the run has made in its place.
            is_of_run = isinstance(value, TensorBase | ObjectVariable) or (
                not self.is_outer(value) and (self.is_made(value) or isinstance(value, CONTAINERS)))
            expected = value if is_of_run else Expected(value)
            self.effect(check_unchanged, again[0], again[1:], expected, f"what was stored at {place[2]!r}")
        return None if found is None else (content_at(found), found[1])

    def is_later(self, thing: Any, kind: str, key: Any) -> bool:
        """True if what `thing` holds at `key` is known only when the Program runs."""
        return bool(self.dirty) and (id(thing) in self.dirty or (id(thing), kind, _key_of(key)) in self.dirty)

    def store_attribute(self, target: Any, name: str, value: Any) -> None:
        """``target.name = value`` on an older object."""
        self._refuse_change_of_viewed(target)
        # Where the user's class has its own way to set attributes, that is traced already.
        setter: Any = plain_writer(target, "__setattr__", setattr)
        if isinstance(target, type) and id(target) in self.of_this_call:
            # It does not leave by that.
            made_once.serve_one_call(self)  # type: ignore[arg-type]
            self.effect(made_once.Storing(setter, target), name, value)
        else:
            self.effect(setter, target, name, value)
        self.note_stored((id(target), "attr", name), value, target)

    def store_item(self, target: Any, key: Any, value: Any) -> None:
        """``target[key] = value`` on an older container."""
        self._refuse_change_of_viewed(target)
        if self._run_over:
            self.follow(target, "__setitem__", (key, value))
        self.effect(operator.setitem, target, key, value)
        if not _tells_places_apart(key):
            self.changed(target, is_followed=True)
            return
        others = [place[2] for place in self.pending if place[:2] == (id(target), "item")]
        if not all(type(other) is str if isinstance(key, str) else type(other) is tuple for other in others):
            self.changed(target, is_followed=True)
        self.note_place(target, key, value)

    def note_place(self, target: Any, key: Any, value: Any) -> None:
        """Take note of what is in an older container at a place from now on."""
        from d2s.operators.changed_lists import note_put

        self.note_stored((id(target), "item", _key_of(key)), value, target)
        self._note_key(target, key)
        if type(target) is list:
            tracer: Any = self
            note_put(tracer, target, value)

    def _note_key(self, target: Any, key: Any) -> None:
        held = self.dirty.get(id(target))
        if held is None:
            self.dirty[id(target)] = Stored(target, (key,))
        elif isinstance(held, Stored) and key not in held.keys:
            self.dirty[id(target)] = Stored(target, (*held.keys, key))

    def stored_keys(self, thing: Any) -> tuple[Any, ...] | None:
        """Where the trace has stored things in an older list or dict; None if it does not know all else of that."""
        held = self.dirty.get(id(thing))
        if not isinstance(held, Stored) or type(thing) not in (list, dict) or self.may_have_changed:
            return None
        return held.keys if all((id(thing), "item", _key_of(key)) in self.pending for key in held.keys) else None

    def is_unknown(self, thing: Any) -> bool:
        """True for a whole object of which only the run knows what is in it."""
        return id(thing) in self.dirty and self.stored_keys(thing) is None

    def place_of(self, thing: Any, key: Any) -> Any:
        """Where ``thing[key]`` is, of an older list or dict in which the trace has stored things; None if unknown."""
        stored = self.stored_keys(thing)
        if stored is None or any(type(key) is not type(other) for other in stored):
            return None
        if type(thing) is list and key < 0:
            self.guard_length(thing)
            return key + len(thing) if key + len(thing) >= 0 else None
        return key

    def changed(self, thing: Any, is_known: bool = False, is_followed: bool = False) -> None:
        """Note that an older object is changed as a whole: what it holds is known when the Program runs.

        With `is_known` it is noted elsewhere what a list is given; with `is_followed`, loops over it know of it.
        """
        self._refuse_change_of_viewed(thing)
        if self._run_over and not is_followed:
            self.follow(thing)
        if not is_known:
            self.put_in[id(thing)] = None
        self.dirty[id(thing)] = thing
        self.pending = {key: entry for key, entry in self.pending.items() if key[0] != id(thing)}

    # --- views of dicts: nothing may change under them -----------------------------------------------------------

    def view_of(self, table: Any) -> dict[Any, Any]:
        """A guarded copy of an older dict, of which ``keys()`` and the like are taken."""
        copied = _Viewed(dict.items(self.snapshot(table)))
        self._viewed.setdefault(id(table), []).append(weakref.ref(copied))
        return copied

    # --- what loops run over: it changes as the container does ----------------------------------------------------

    def run_over(self, thing: Any) -> Any:
        """A guarded copy of an older container, for a loop or an iterator."""
        copied = self.snapshot(thing)
        kind = _RUN_OVER.get(type(copied))
        if kind is None or copied is thing:
            return copied
        copied = kind(copied)
        self._run_over.setdefault(id(thing), []).append(weakref.ref(copied))
        return copied

    def follow(self, thing: Any, method: str = "", args: tuple[Any, ...] = ()) -> None:
        """Let those that run over an older container see that a method of it is called; without one, it is unknown."""
        views = [view for reference in self._run_over.get(id(thing), ()) if (view := reference()) is not None]
        if not views:
            return
        if method not in _FOLLOWED or not self.is_outermost or any(isinstance(arg, ObjectVariable) for arg in args):
            raise UnsupportedSyntaxError(
                f"a {type(thing).__name__} from outside is changed while a loop or an iterator runs over it",
                user_location(), "Run over a copy of it, list(...), or change it behind the loop.", kind="U05")
        for view in views:
            _apply(view, method, args)

    def is_changed(self, thing: Any) -> bool:
        """True if this call has changed, or may have changed, attributes of an older object."""
        places = (*self.pending, *(place for place in self.dirty if isinstance(place, tuple)))
        return id(thing) in self.dirty or any(place[:2] == (id(thing), "attr") for place in places)

    def attribute_table(self, thing: Any) -> None:
        """Note that the ``__dict__`` of an older object is looked at: it must not change in the same call."""
        if self.is_changed(thing):
            _refuse_table()
        self._tables[id(thing)] = self._tables[id(thing.__dict__)] = thing

    def _look_at_keys(self, thing: Any) -> None:
        """What a copy of a dict or set hashes anew."""
        from d2s.operators import keys

        tracer: Any = self
        keys.rehashed(tracer, thing)

    def _refuse_change_of_viewed(self, thing: Any) -> None:
        if id(thing) in self._tables:
            _refuse_table()
        if hasattr(type(thing), "are_attributes"):
            raise UnsupportedSyntaxError(
                "a table of a Layer (its parameters, buffers or sublayers) is changed by hand in this call",
                user_location(), "Assign to the attributes of the Layer.",
                kind="U09",
            )
        if any(view() is not None for view in self._viewed.get(id(thing), ())):
            raise UnsupportedSyntaxError(
                "a dict from outside is changed while keys(), values() or items() of it are in use", user_location(),
                "Take a list of them before, or ask again after the change.",
                kind="U05",
            )


class _List(list[Any]):
    """A list that can be watched."""


class _Set(set[Any]):
    """A set that can be watched."""


_FOLLOWED = frozenset({
    "append", "insert", "pop", "remove", "clear", "reverse", "appendleft", "popleft", "__setitem__", "__delitem__",
    "add", "discard", "popitem", "setdefault"})


def _apply(view: Any, method: str, args: tuple[Any, ...]) -> None:
    """Change a copy as its original is changed."""
    if method == "remove" and isinstance(view, list):
        # Tensors are told by identity.
        place = next((index for index, part in enumerate(view) if part is args[0]), None)
        if place is not None:
            del view[place]
            return
    # What does not work on the copy raises in the run.
    with contextlib.suppress(LookupError, ValueError):
        getattr(view, method)(*args)


class _Viewed(dict[Any, Any]):
    """A dict that can be watched: views of it keep it alive."""


_RUN_OVER: dict[type, Any] = {list: _List, dict: _Viewed, set: _Set, deque: copy.copy}


def _refuse_table() -> NoReturn:
    raise UnsupportedSyntaxError(
        "an object from outside is changed, and its __dict__ (or vars() of it) is used in the same call",
        user_location(), "Use the attributes by name: getattr and setattr.",
        kind="U09",
    )


def _refuse_tensors_as_keys(container: Any) -> None:
    if any(isinstance(key, TensorBase) for key in parts_of(container)):
        raise UnsupportedSyntaxError(
            "a dict or set from outside that has tensors as keys or members cannot be read in a graph",
            user_location(), "Use names or numbers as keys.",
            kind="U10",
        )


def _key_of(key: Any) -> Any:
    """A dict key that keeps 1, 1.0 and True apart."""
    if isinstance(key, slice):
        return ("slice", key.start, key.stop, key.step)
    return (type(key), key) if isinstance(key, int | float | bool) else key


def key_at(place: tuple[int, str, Any]) -> Any:
    """The key or name of a place."""
    return place[2][1] if isinstance(place[2], tuple) else place[2]


def _tells_places_apart(key: Any) -> bool:
    """True for a key that differs from others of its kind only if it means another place: no -1, no slice, no 1.0."""
    return type(key) is str or (type(key) is int and key >= 0)


def _length_guard(source: Source, thing: Any) -> Any:
    kind, length = raw_kind(thing, "__len__"), length_of(thing)
    template = "len({v}) == {k0}" if kind is None else "{k1}.__len__({v}) == {k0}"
    return Guard(source, template, (length, kind), f"length {length}")


def _keys_guard(source: Source, thing: Any) -> Any:
    kind, keys = raw_kind(thing, "__iter__"), parts_of(thing)
    template = "same_parts({v}, {k0})" if kind is None else "same_parts({k1}.__iter__({v}), {k0})"
    return Guard(source, template, (keys, kind), f"keys {list(keys)}")


def _members_guard(source: Source, thing: Any) -> Any:
    # In the order in which a loop meets them.
    return Guard(source, "same_parts({v}, {k0})", (tuple(thing),), f"{counted(len(thing), 'member')}")
