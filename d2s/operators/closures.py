"""Lowering: what a Program makes anew on each run - functions with run-time cells, containers, objects.

A function that outlives its statement (a hook, a lambda kept in a list) is made from the user's own code object, with
cells that the Program writes: when it is made, and again at the end of the block that owns the variable, so it sees
what the variable holds then, as in Python.
"""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from types import (
    AsyncGeneratorType,
    BuiltinMethodType,
    CellType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.op import OP_TABLE
from d2s.eager.views import share, share_unknown
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import coroutines, made_once, views
from d2s.operators.attempts import as_raised
from d2s.operators.converted import is_converted, is_loaded, nested_in
from d2s.operators.guards import lookup
from d2s.operators.heap import CONTAINERS, Fields, Heap, container_class, content_of, fields_of, is_user_object, restore
from d2s.operators.open_items import OpenItems, TableView, is_open, refuse
from d2s.operators.symbols import SymbolicRange
from d2s.static.builder import StaticInterpreter
from d2s.static.program import Block, Operator, Value, values_in
from d2s.static.runtime import MISSING, copy_of_error
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


@dataclass
class _Made:
    """An object that the Program makes: what it is while tracing, its Value, its block, what it was filled with."""

    thing: Any
    value: Value
    block: Block
    template: Any = None
    # Made with all that it holds.
    is_whole: bool = False


class Lowering:
    """Lowers the objects of one trace."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.made: dict[int, _Made] = {}
        self._shared: dict[tuple[Value, Value], Value] = {}
        self.regions: list[tuple[Heap, Block]] = []
        # True while what the function gives is lowered: nothing comes after it.
        self.is_last = False
        # Arrays that the function gives, each with what stands for it.
        self._results: dict[int, tuple[Any, Value]] = {}

    def __call__(self, tree: Any) -> Any:
        """A template of Values and constants from which the Program makes `tree` when it runs."""
        tracer = self.tracer
        if isinstance(tree, Variable):
            return self._tensor(tree)
        if isinstance(tree, OpenItems):
            refuse()
        made_once.check(tracer, tree)
        if isinstance(tree, TableView):
            return tracer.object_value(tree.of_run())
        if isinstance(tree, ObjectVariable):
            return tracer.object_value(tree)
        if isinstance(tree, TensorBase):
            return tracer.materialise(tracer.lift(tree).value)
        if isinstance(tree, FunctionType):
            return self._function(tree)
        if isinstance(tree, MethodType):
            return self._method(tree)
        if isinstance(tree, SymbolicRange):
            return self._call(range, *map(self, (tree.start, tree.stop, tree.step)))
        if isinstance(tree, BuiltinMethodType) and not isinstance(tree.__self__, ModuleType | type | None):
            return self._builtin_method(tree)
        if tracer.is_outer(tree):
            return tracer.object_input(tree)
        if isinstance(tree, functools.partial):
            return self._partial(tree)
        if isinstance(tree, BaseException):
            return self._exception(tree)
        again = made_once.remade(tree)
        if again is not None:
            return self._once(tree, again[0], *again[1])
        if isinstance(tree, tuple):
            parts = [self(part) for part in tree]
            return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
        if isinstance(tree, slice):
            return slice(self(tree.start), self(tree.stop), self(tree.step))
        if isinstance(tree, np.ndarray):
            return self._array(tree)
        if isinstance(tree, (*CONTAINERS, SimpleNamespace)) or tracer.is_made(tree):
            return self._built(tree)
        if _is_plain_instance(tree):
            raise UnsupportedSyntaxError(
                f"a {type(tree).__name__} comes from code that is not traced, so it cannot be told whether this "
                "call has made it", user_location(), "Make it outside, or by calling its class.",
                kind="U19",
            )
        if isinstance(tree, CoroutineType | AsyncGeneratorType):
            raise coroutines.refusal(f"a {type(tree).__name__} made inside is given to code that is not traced")
        if isinstance(tree, GeneratorType | Iterator):
            raise UnsupportedSyntaxError(
                f"a {type(tree).__name__} made inside cannot leave the function or be kept for later", user_location(),
                "Make a list of it.",
                kind="U20",
            )
        return tree

    def _call(self, function: Callable[..., Any], *template: Any) -> Value:
        """Emit a call on lowered arguments."""
        out = self.tracer.new_value(function.__name__.strip("_"), None)
        return self.tracer.emit("python", (), (out,), {"call": (function, template, {})}, effect=True).outputs[0]

    def _tensor(self, variable: Variable) -> Value:
        """The Tensor object of a Variable, which goes on sharing values with those that it is a view of."""
        tracer = self.tracer
        value = tracer.named(variable)
        if self.is_last:
            # It is known to be bound from here on, so that there is one Tensor of it.
            variable.value = value
        tensor = tracer.materialise(value)
        for view, parent, how in views.leave(tracer, variable, self.is_last):
            pair = tracer.materialise(view), tracer.materialise(parent)
            if how is None:
                self._join(pair, share, OP_TABLE["detach"], *pair, (), {}, None)
            else:
                # Nothing is made for them, so that a replay has nothing to pass over when this is known.
                rest, attrs = (StaticInterpreter.lower(tracer, part) for part in (how.rest, how.attrs))
                self._join(pair, share, how.op, *pair, rest, attrs, how.output)
        for other in views.unknown_relatives(tracer, variable, self.is_last):
            pair = tensor, tracer.materialise(other)
            self._join(pair, _share_if_bound, *pair)
        return tensor

    def _join(self, pair: tuple[Value, Value], function: Callable[..., Any], *template: Any) -> None:
        """Let two Tensors share values, unless they do so here."""
        known = self._shared.get(pair)
        if known is not None and self.tracer.in_scope(known):
            self.tracer.recall(known)
        else:
            self._shared[pair] = self._call(function, *template)

    def _array(self, array: np.ndarray[Any, Any]) -> Value:
        """An array that the traced code has made, handed over as it is now."""
        late_arrays = self.tracer.late_arrays
        if array.base is not None or not (self.is_last or late_arrays.is_only_read):
            # What is written to it by either side, or to what it shows a part of, is seen by the other.
            late_arrays.need()
        if not self.is_last:
            return self._call(_copy_of, array)
        if id(array) not in self._results:
            self._results[id(array)] = array, self._call(_copy_of, array)
        return self._results[id(array)][1]

    # --- functions ---------------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Any:
        mark = nested_in(function)
        if mark is None:
            if is_loaded(function):
                return function.__wrapped__  # type: ignore[attr-defined]
            if self.tracer.is_outer(function):
                return self.tracer.object_input(function)
            if not any(map(_holds_converted, function.__closure__ or ())):
                return function
        known = self._known(function)
        if known is not None:
            return known.value
        outside = {id(cell) for cell in (mark[0].__closure__ if mark else None) or ()}
        # The wrapper that code which is not traced has made around a function of the trace is copied as it is.
        code, names = (mark[1].code, mark[1].freevars) if mark else (function.__code__, function.__code__.co_freevars)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        fresh = [cells[name] for name in names if id(cells[name]) not in outside]
        closure = tuple(cells[name] if id(cells[name]) in outside else self.cell(cells[name]) for name in names)
        defaults = self(function.__defaults__) if function.__defaults__ else None
        named = tuple((name, self(value)) for name, value in (function.__kwdefaults__ or {}).items())
        value = self._call(
            _make_function, code, _Same(function.__globals__), defaults, named, closure,
            _Same(_Look(function)))
        self.made[id(function)] = _Made(function, value, self._block_of(value), is_whole=True)
        for cell in fresh:
            self._fill(self.made[id(cell)])
        return value

    def cell(self, cell: CellType) -> Value:
        """The cell that the run has in place of one of the trace."""
        known = self._known(cell)
        if known is None:
            known = self._make(cell, _new_cell, (), self._birth(cell))
        return known.value

    def _method(self, method: MethodType) -> Any:
        if isinstance(method.__self__, Variable):
            return self._call(getattr, self(method.__self__), method.__func__.__name__)
        owner, function = self(method.__self__), self(method.__func__)
        if owner is method.__self__ and function is method.__func__:
            return method
        return self._call(MethodType, function, owner)

    def _builtin_method(self, method: Any) -> Any:
        """A method of a container: of the one that this run has in its place."""
        owner = self(method.__self__)
        return method if owner is method.__self__ else self._call(getattr, owner, method.__name__)

    def raised(self, error: BaseException) -> Any:
        """An exception that ends the run; if it tells nothing of the run, itself: it is copied where it is raised."""
        if self.tracer.is_outer(error):
            return self._call(_itself, _Same(error))
        return self._exception(error, as_it_is=True)

    def _exception(self, error: BaseException, as_it_is: bool = False) -> Any:
        """An exception of this run."""
        before = (self(error.__cause__), self(error.__context__))
        known = self.tracer.errors_of_run.get(id(error))
        if known is not None:
            return self._call(as_raised, known[1], _Same(error), before)
        args, fields = self(error.args), {name: self(value) for name, value in error.__dict__.items()}
        if as_it_is and next(values_in((args, fields, before)), None) is None:
            return error
        return self._once(error, _with_args, _Same(error), args, fields, before)

    def _partial(self, partial: functools.partial[Any]) -> Any:
        called = tuple(map(self, (partial.func, *partial.args)))
        named = tuple(map(self, partial.keywords.values()))
        return self._once(partial, _make_partial, called, tuple(partial.keywords), named)

    def _once(self, thing: Any, function: Callable[..., Any], *template: Any) -> Value:
        """What the run has in place of an object that does not change: made where the traced code has made it.

        Where it holds values of the run, it is made where it is first needed.
        """
        known = self._known(thing)
        if known is None:
            block = self.tracer.block
            if next(values_in(template), None) is None:
                _, born = self.tracer.born.get(id(thing), (None, block))
                block = born if any(born is around for _, around in self.regions) else block
            known = self._make(thing, function, template, block)
            known.is_whole = True
        return known.value

    # --- containers and objects --------------------------------------------------------------------------------

    def _built(self, thing: Any) -> Value:
        is_of_run = is_open(thing)
        known = self._known(thing)
        if known is None:
            if is_of_run:
                refuse("a container of the run is used outside of the branch or turn that made it")
            known = self._make(thing, _maker_of(thing), (), self._birth(thing))
        self._fill(known)
        return known.value

    def container_of_run(self, thing: Any) -> Value:
        """What stands for a container at the end of a turn."""
        return self.made[id(thing)].value if is_open(thing) else self._built(thing)

    def adopt(self, thing: Any, value: Value) -> None:
        """Take note that `value` is what stands for `thing` in the run."""
        self.made[id(thing)] = _Made(thing, value, self.tracer.block)

    def _known(self, thing: Any) -> _Made | None:
        found = self.made.get(id(thing))
        if found is None or not self.tracer.in_scope(found.value):
            return None
        self.tracer.recall(found.value)
        return found

    def forget(self, blocks: list[Block]) -> None:
        """Forget the objects that were made in these blocks."""
        forgotten = set(map(id, blocks))
        self.made = {key: made for key, made in self.made.items() if id(made.block) not in forgotten}

    def forget_given_up(self, known: Collection[int], are_merged: bool) -> None:
        """Forget all but the objects `known` and those of the blocks that are open.

        If paths `are_merged` later, what stands for a container of the run is asked then.
        """
        blocks = set(map(id, self.tracer.open_blocks()))
        self.made = {
            key: made for key, made in self.made.items()
            if key in known or id(made.block) in blocks or (are_merged and is_open(made.thing))}

    def filled(self) -> dict[int, Any]:
        """What each object was filled with last."""
        return {key: made.template for key, made in self.made.items() if made.template is not None}

    def set_filled(self, templates: dict[int, Any]) -> None:
        """Go back to an earlier `filled`."""
        for key, made in self.made.items():
            made.template = templates.get(key)

    def doubt(self, templates: dict[int, Any]) -> bool:
        """Note that a turn has filled objects with these, so only the run knows with what; True if that is news."""
        news = False
        for key, template in templates.items():
            made = self.made.get(key)
            if made is not None and not any(made.template is known for known in (None, template, _PENDING)):
                made.template, news = _PENDING, True
        return news

    def _make(self, thing: Any, maker: Callable[..., Any], template: tuple[Any, ...], block: Block) -> _Made:
        """Emit the creation of an object in a block, that in which the traced code made it."""
        out = self.tracer.new_value(type(thing).__name__, None)
        attrs: dict[str, Any] = {"call": (maker, template, {})}
        if block is self.tracer.block:
            # The traced code has made it without an exception.  At the end of a turn no handler is there to be told.
            with self.tracer.unguarded():
                out = self.tracer.emit("python", (), (out,), attrs, effect=True).outputs[0]
        else:
            operator = Operator("python", (), (out,), attrs, effect=True, location=user_location())
            out = self.tracer.emit_into(block, operator).outputs[0]
        found = self.made[id(thing)] = _Made(thing, out, block)
        return found

    def _birth(self, thing: Any) -> Block:
        """The block to which `thing` belongs: outside of every region that found it when it began."""
        for heap, block in self.regions:
            if heap.holds(thing):
                return block
        return self.tracer.block

    def _block_of(self, value: Value) -> Block:
        return self.tracer.definitions[value][1]

    def _fill(self, made: _Made) -> None:
        """Emit what an object holds now, if that is not what it was filled with last."""
        if is_open(made.thing):
            # Filled by the run itself.
            return
        content = content_of(made.thing)
        if content is MISSING:
            made.template = made.template or _UNBOUND
            return
        before, made.template = made.template, _PENDING
        template = self._content_template(made.thing, content)
        if before is not None and before is not _PENDING and _same_template(before, template):
            made.template = before
            return
        made.template = template
        if isinstance(made.thing, CONTAINERS) and type(made.thing) not in CONTAINERS:
            fields = self._content_template(made.thing, fields_of(made.thing))
            if fields:
                self._call(_fill_fields, made.value, fields)
        self._call(_fill, made.value, template)

    def _content_template(self, thing: Any, content: Any) -> Any:
        if isinstance(thing, CellType):
            return (self._unchecked(content),)
        if isinstance(content, dict):
            return tuple((key, self(part)) for key, part in content.items())
        return tuple(self(part) for part in content)

    def _unchecked(self, content: Any) -> Any:
        """What a cell holds; a name that may be unbound is none the worse for being captured."""
        if isinstance(content, Variable) and content.value.maybe_missing:
            return self.tracer.materialise(content.value)
        return content.value if isinstance(content, ObjectVariable) else self(content)

    def given_away(self) -> dict[Value, Any]:
        """What traced code has made, by what the run has, here, in its place."""
        return {
            made.value: made.thing for made in self.made.values()
            if made.template is not None and not made.is_whole and self.tracer.in_scope(made.value)}

    def refresh(self) -> None:
        """Before code that is not traced runs: what it can see in cells, containers and objects is what they hold."""
        tracer = self.tracer
        # In a replay there is what is made behind this place too.
        there = tracer.as_found("refreshed", lambda: {
            made.value for made in self.made.values() if tracer.in_scope(made.value)})
        for made in list(self.made.values()):
            if made.value in there and not made.is_whole:
                self._fill(made)

    def settle(self, blocks: list[Block]) -> None:
        """At the end of blocks: objects that belong to them get what they hold at last."""
        settled = set(map(id, blocks))
        for made in list(self.made.values()):
            if id(made.block) in settled and not made.is_whole and self.tracer.in_scope(made.value):
                self._fill(made)


_PENDING = object()
# Of a variable that holds nothing yet.
_UNBOUND = object()


class _Same:
    """A constant that is handed over as it is, whatever it holds."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing


def _itself(constant: _Same) -> Any:
    return constant.thing


def _holds_converted(cell: CellType) -> bool:
    """True for a cell with a function that this trace has made."""
    content = content_of(cell)
    return isinstance(content, FunctionType) and is_converted(content)


class _Look:
    """Names and documentation of a function."""

    def __init__(self, function: FunctionType) -> None:
        self.name, self.qualname = function.__name__, function.__qualname__
        self.doc, self.module = function.__doc__, function.__module__


def _same_template(first: Any, second: Any) -> bool:
    if type(first) is tuple and type(second) is tuple:
        return len(first) == len(second) and all(map(_same_template, first, second))
    return first is second or (type(first) is type(second) and type(first) in (int, str) and first == second)


def _is_plain_instance(thing: Any) -> bool:
    """True for an object of a user's class, made while tracing."""
    cls = type(thing)
    module = cls.__module__
    if callable(thing) and not isinstance(lookup(cls, "__call__"), FunctionType):
        return False
    return (
        is_user_object(thing)
        and cls.__flags__ & (1 << 9) != 0
        and lookup(cls, "__new__") is lookup(object, "__new__")
        and not module.startswith("d2s.")
        and module.partition(".")[0] not in ("builtins", "numpy", "logging", "threading", "types")
        and not callable(getattr(thing, "__next__", None))
    )


def _maker_of(thing: Any) -> Any:
    cls: Any = type(thing)
    if cls is defaultdict:
        return functools.partial(defaultdict, thing.default_factory)
    if isinstance(thing, deque):
        return functools.partial(cls, (), thing.maxlen)
    if cls in (*CONTAINERS, SimpleNamespace):
        return cls
    maker: Any = container_class(thing) or object
    return functools.partial(maker.__new__, cls)


def _copy_of(array: Any) -> Any:
    return array.copy()


def _share_if_bound(tensor: Any, other: Any) -> None:
    """Note that a Tensor may share values with another, if there is such."""
    if other is not MISSING:
        share_unknown(tensor, other)


def _new_cell() -> CellType:
    return CellType()


def _fill(thing: Any, template: tuple[Any, ...]) -> None:
    """Give a cell, container or object its content."""
    if isinstance(thing, CellType):
        restore(thing, template[0])
    else:
        restore(thing, dict(template) if isinstance(thing, dict) or not isinstance(thing, CONTAINERS) else template)


def _fill_fields(thing: Any, template: tuple[Any, ...]) -> None:
    """Give a container its attributes."""
    restore(Fields(thing), dict(template))


def _with_args(
    error: _Same, args: tuple[Any, ...], fields: dict[str, Any], before: tuple[BaseException | None, ...]
) -> BaseException:
    """A copy of an exception, with what it says and holds in this run, and what led to it."""
    made = copy_of_error(error.thing, args)
    made.__dict__.update(fields)
    return as_raised(made, error, before)


def _make_partial(called: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return functools.partial(*called, **dict(zip(names, values, strict=True)))


def _make_function(
    code: Any, namespace: _Same, defaults: Any, named: tuple[Any, ...], closure: tuple[CellType, ...], look: _Same,
) -> FunctionType:
    """The user's function as Python would have made it in this run."""
    shown: _Look = look.thing
    made = FunctionType(code, namespace.thing, shown.name, defaults, closure)
    if named:
        made.__kwdefaults__ = dict(named)
    made.__qualname__, made.__doc__, made.__module__ = shown.qualname, shown.doc, shown.module
    return made


