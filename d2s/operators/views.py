"""In-place writes to tensors of a trace, and to the tensors that share values with them.

The rules are those of eager mode (`d2s.eager.views`): a write to a view becomes a write to its root, by the view op
run backwards, and every live view is derived anew from what the root is then.  All of it is recorded as operators, so
gradients through it are right; hooks stay with the values before the write.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase, state
from d2s.core.op import OP_TABLE, Op
from d2s.errors import GradientError, LeafError, UnsupportedSyntaxError, user_location
from d2s.operators.choices import is_carried, may_be, may_be_detached, may_replace, note, note_detached, views_of
from d2s.ops.indexing import with_item
from d2s.ops.sharing import REARRANGING, VIEW_OPS
from d2s.static.program import Value
from d2s.static.variable import Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

_SHARING = "_d2s_sharing"


@dataclass(frozen=True)
class View:
    """How a view was made: output `index` of `op` on `parent` and other arguments."""

    parent: Variable
    op: Op
    rest: tuple[Any, ...]
    attrs: dict[str, Any]
    index: int | None
    recorded: bool

    def is_same(self, other: View) -> bool:
        """True if both show the same part of one tensor."""
        return (
            self.parent is other.parent and self.op is other.op and self.recorded is other.recorded
            and self.index == other.index and _are_alike((self.rest, self.attrs), (other.rest, other.attrs)))

    def of_parent(self, tracer: Tracer) -> Variable:
        """The view as an op on what its parent is now."""
        found = tracer.process(self.op, (self.parent, *self.rest), self.attrs)
        view: Variable = found if self.index is None else found[self.index]
        return view

    def into_parent(self, tracer: Tracer, value: Variable) -> Variable:
        """What the parent becomes when the view becomes `value`."""
        if not self.recorded:
            raise UnsupportedSyntaxError(
                "an in-place write to a view that was made without grad mode cannot become a graph", user_location(),
                "Write to x[...] of the tensor itself.",
                kind="U22",
            )
        if self.op.name == "getitem":
            written = tracer.process(OP_TABLE["setitem"], (self.parent, value, *self.rest), self.attrs)
        elif self.op.name in REARRANGING:
            needs = (True, *[False] * len(self.rest))
            written = self.op.gradients(value, None, (self.parent.spec, *self.rest), self.attrs, needs)[0]
        else:
            raise GradientError(
                f"an output of {self.op.name} is a view of its input and cannot be written to",
                advice="Write to a clone of it, or to x[...] of the input.",
                kind="G08",
            )
        result: Variable = written
        return result


def _are_alike(first: Any, second: Any) -> bool:
    """True if two arguments of view ops are known to be equal."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(_are_alike, first, second))
    if isinstance(first, dict):
        return list(first) == list(second) and all(_are_alike(first[key], second[key]) for key in first)
    if isinstance(first, slice):
        return _are_alike((first.start, first.stop, first.step), (second.start, second.stop, second.step))
    return isinstance(first, int | str) and first == second


@dataclass
class Sharing:
    """With whom a Variable shares values: what it is a view of, or detached from, its views, and tensors detached."""

    view: View | None = None
    source: Variable | None = None
    views: list[weakref.ref[Variable]] = field(default_factory=list)
    detached: list[weakref.ref[Variable]] = field(default_factory=list)


def sharing_of(variable: Variable) -> Sharing | None:
    """With whom `variable` shares values, if with anyone."""
    found: Sharing | None = variable.__dict__.get(_SHARING)
    return found


def relatives(variable: Variable) -> Iterator[Variable]:
    """The Variables that a write to `variable` may reach directly."""
    shared = sharing_of(variable)
    if shared is not None:
        if shared.view is not None:
            yield shared.view.parent
        yield from _alive(shared.views)
        yield from _alive(shared.detached)


def _kin(variable: Variable) -> Iterator[Variable]:
    """The same, and what shares its values by several steps: a write to one of them reaches it."""
    yield from relatives(variable)
    yield from _detached_kin(variable, _detached_from)
    yield from _shown_by(variable)


def _shown_by(variable: Variable) -> Iterator[Variable]:
    """A tensor, what it is a view of, what that is a view of, and so on."""
    yield variable
    while (shared := sharing_of(variable)) is not None and shared.view is not None:
        variable = shared.view.parent
        yield variable


def _detached_kin(variable: Variable, edges: Callable[[Variable], Iterable[Variable]]) -> list[Variable]:
    """What shares values with `variable`, but no history: what is detached, its views, what it is a view of, and so on.

    `edges` gives what is detached from a tensor.
    """
    tracer: Any = variable.interpreter
    found: dict[int, Variable] = {}
    queue = list(_views_in(root_of(variable))) if tracer.detaches else []
    for member in queue:
        for other in edges(member):
            if id(other) not in found:
                family = list(_views_in(root_of(other)))
                found.update((id(one), one) for one in (other, *family))
                queue += family
    return list(found.values())


def _views_in(root: Variable) -> Iterator[Variable]:
    """A tensor that is no view, and its views, wherever they were made."""
    yield root
    shared = sharing_of(root)
    for view in () if shared is None else _alive(shared.views):
        yield from _views_in(view)


def note_chosen(chosen: Variable, sources: Iterable[Variable]) -> None:
    """Note that `chosen` is one of `sources` when the Program runs."""
    tracer: Any = chosen.interpreter
    tracer.may_choose = True
    for source in sources:
        note(chosen, (source, *_kin(source)), [source] if is_view(source) else ())
        note_detached(chosen, _detached_kin(source, _detached_from))


def note_all_sources(chosen: Variable, sources: list[Variable]) -> None:
    """The same where there are no others: `chosen` may be one view, whichever of them it is."""
    view = _one_view(sources)
    if view is None:
        note_chosen(chosen, sources)
    else:
        _ensure(chosen).view = view
        _ensure(view.parent).views.append(weakref.ref(chosen))


def _one_view(sources: list[Variable]) -> View | None:
    """What all of `sources` are, if it is one and the same view of a tensor that there is here."""
    views = [shared.view if (shared := sharing_of(source)) is not None else None for source in sources]
    first = views[0] if views else None
    if first is None or not all(view is not None and view.is_same(first) for view in views):
        return None
    tracer: Any = first.parent.interpreter
    return first if is_here(tracer, first.parent) else None


def is_view(variable: Variable) -> bool:
    """True if a write to `variable` is one to a tensor that it is taken of."""
    shared = sharing_of(variable)
    return shared is not None and shared.view is not None


def link(op: Op, args: tuple[Any, ...], attrs: dict[str, Any], result: Any, tracer: Tracer) -> None:
    """Note that `result` (a Variable or a tuple of them) shares values with the first argument of `op`."""
    parent = args[0]
    if isinstance(parent, TensorBase) and not isinstance(parent, Variable):
        parent = tracer.lift(parent)
    if not isinstance(parent, Variable) or (op.name == "getitem" and len(args) > 1):
        # Index tensors and masks pick elements: the result is a copy.
        return
    if op.name == "detach":
        tracer.detaches = True
        _ensure(parent).detached.append(weakref.ref(result))
        _ensure(result).detached.append(weakref.ref(parent))
        # A view that nobody else holds is still where writes go through.
        _ensure(result).source = parent
        return
    recorded = state.grad_enabled or parent.stop_gradient
    parts = list(enumerate(result)) if isinstance(result, tuple) else [(None, result)]
    for index, part in parts:
        _ensure(part).view = View(parent, op, args[1:], attrs, index, recorded)
        _ensure(parent).views.append(weakref.ref(part))


def leave(tracer: Tracer, variable: Variable, is_last: bool) -> list[tuple[Variable, Variable, View | None]]:
    """What `variable`, which becomes a Tensor, has to share values with.

    Parameters
    ----------
    is_last : bool
        True if nothing can be written any more in this call.

    Returns
    -------
    list of (view, parent, how) and, after them, of (detached, tensor, None)
        The steps that join it to Tensors of the caller and to those that have left the Program before.
    """
    if sharing_of(variable) is None:
        return []
    steps: list[tuple[Variable, Variable, View | None]] = []
    # A later write to one of them, which may be the only one that the trace knows then, reaches the other.
    new = set() if is_last else _materialise_sources(tracer, variable)
    # Behind a relative that is a Tensor already nothing is to be done: it was joined to the others when it became one.
    reached: dict[int, tuple[Variable, Variable]] = {id(variable): (variable, variable)}
    joined = {id(variable)}
    queue = [variable]
    for member in queue:
        for relative in relatives(member):
            if id(relative) in reached or not is_here(tracer, relative):
                continue
            reached[id(relative)] = relative, member
            if id(relative) in new or not tracer.is_tensor_of_run(relative):
                queue.append(relative)
            if not tracer.is_tensor_of_run(relative):
                continue
            found = relative
            while id(found) not in joined:
                joined.add(id(found))
                nearer = reached[id(found)][1]
                steps.append(_step(nearer, found) or _step(found, nearer) or (nearer, found, None))
                found = nearer
    return sorted(steps, key=lambda step: step[2] is None)


def unknown_relatives(tracer: Tracer, variable: Variable, is_last: bool) -> list[Variable]:
    """With whom `variable`, which becomes a Tensor, may share values as only the run knows; arguments as in `leave`.

    It may be a view or a detached tensor that a branch or an earlier turn has made.
    """
    found: dict[int, Variable] = {}
    own = root_of(variable)
    for other in chosen_relatives(variable):
        root = root_of(other)
        if root is not own and is_here(tracer, root):
            found[id(root)] = root
    return [root for root in found.values() if not is_last or tracer.is_tensor_of_run(root)]


def chosen_relatives(variable: Variable) -> list[Variable]:
    """What `variable` may share values with, other than by being the same tensor, as control flow has chosen it.

    Or as it has chosen what is known to share values with `variable`.
    """
    tracer: Any = variable.interpreter
    if not tracer.may_choose:
        return []
    # Of its views, what is chosen is a relative of the tensor itself too.
    known = {id(one): one for one in (*_shown_by(variable), *_detached_kin(variable, _detached_here))}
    found: dict[int, Variable] = {}
    for member in known.values():
        is_shared = sharing_of(member) is not None
        others = [other for other in may_be(member) if is_shared or sharing_of(other) is not None]
        others += (*views_of(member), *may_be_detached(member))
        found.update((id(other), other) for other in others if id(other) not in known)
    return list(found.values())


def _materialise_sources(tracer: Tracer, variable: Variable) -> set[int]:
    """Let what `variable` is a view of, or detached from, become Tensors too; by identity, which have become some."""
    new: set[int] = set()
    seen = {id(variable)}
    queue = [variable]
    for member in queue:
        shared = sharing_of(member)
        if shared is None:
            continue
        sources = [] if shared.view is None else [shared.view.parent]
        for source in (*sources, *_alive(shared.detached)):
            if id(source) in seen or not is_here(tracer, source):
                continue
            seen.add(id(source))
            queue.append(source)
            if not tracer.is_tensor_of_run(source):
                new.add(id(source))
            tracer.materialise(tracer.named(source))
    return new


def _step(variable: Variable, parent: Variable) -> tuple[Variable, Variable, View | None] | None:
    shared = sharing_of(variable)
    view = None if shared is None else shared.view
    return (variable, parent, view) if view is not None and view.parent is parent else None


def _ensure(variable: Variable) -> Sharing:
    found: Sharing = variable.__dict__.setdefault(_SHARING, Sharing())
    return found


def _alive(references: list[weakref.ref[Variable]]) -> Iterator[Variable]:
    for reference in tuple(references):
        variable = reference()
        if variable is not None:
            yield variable


def assign(tracer: Tracer, variable: Variable, new: Variable) -> None:
    """Make `variable` name `new`, the result of an op on it: an in-place write."""
    if not state.grad_enabled or (variable.stop_gradient and new.stop_gradient):
        write(tracer, variable, new, data_only=True)
    elif new.stop_gradient:
        # Nothing of the value before is left: the gradient that reaches it is zero.
        write(tracer, variable, with_item(variable, ..., new), data_only=False)
    else:
        write(tracer, variable, new, data_only=False)


def write(tracer: Tracer, variable: Variable, value: Variable, data_only: bool) -> None:
    """Write `value` to `variable` and to what shares values with it; with `data_only`, history stays as it is."""
    kept, through = (None, None) if data_only else (variable.value, tracer.maker(value.value))
    while (shared := sharing_of(variable)) is not None and shared.view is not None:
        value = shared.view.into_parent(tracer, value)
        variable = shared.view.parent
    # Which views are in use is the same each time that the trace comes here, whatever Python has collected so far.
    family = list(_family(tracer, variable))
    in_use = tracer.as_found("family", lambda: {member.value for member in family})
    before = {id(member): (member, member.value) for member in family if member.value in in_use}
    tracer.check_writable(member for member, _ in before.values())
    others = {
        id(other): other for member, _ in before.values() for other in may_be(member)
        if id(other) not in before and is_here(tracer, other)}
    for member, _ in before.values():
        _check_not_detached(tracer, member)
        _check_no_hidden_view(tracer, member)
    for other in others.values():
        _check_can_follow(tracer, other, before.values())
    old = variable.value
    _write_root(tracer, variable, value, data_only)
    tracer.note_write(old, variable.value, kept, through)
    for member, was in before.values():
        if member is not variable:
            _refresh(tracer, member, data_only)
        for other in may_be(member):
            if id(other) in others and may_replace(was, other.value):
                _follow(tracer, other, member, was)


def _family(tracer: Tracer, root: Variable) -> Iterator[Variable]:
    """A tensor that is no view, and its views, each before those taken of it."""
    yield root
    shared = sharing_of(root)
    if shared is not None:
        for view in _alive(shared.views):
            if is_here(tracer, view):
                yield from _family(tracer, view)


def is_here(tracer: Tracer, variable: Variable) -> bool:
    """False for what was made on another path, and is still held because that path waits to be merged."""
    value, run = variable.value, variable.made_in
    if run is not None and run.is_given_up:
        return False
    return value in tracer.tensors or tracer.in_scope(value) or any(value in inputs for inputs in tracer.turn_inputs)


def _detached_from(variable: Variable) -> list[Variable]:
    """What is, or may be, detached from `variable`, or it from them."""
    return [*_detached_here(variable), *may_be_detached(variable)]


def _detached_here(variable: Variable) -> Iterator[Variable]:
    """What is detached from `variable`, or it from them, other than as control flow has chosen it."""
    shared = sharing_of(variable)
    if shared is not None:
        yield from _alive(shared.detached)


def _check_not_detached(tracer: Tracer, variable: Variable) -> None:
    if any(is_here(tracer, other) for other in _detached_from(variable)):
        raise UnsupportedSyntaxError(
            "an in-place write to a tensor of which a detached one is still in use cannot become a graph",
            user_location(), "Clone what is detached: x.detach().clone().", kind="U23",
        )


def root_of(variable: Variable) -> Variable:
    while (shared := sharing_of(variable)) is not None and shared.view is not None:
        variable = shared.view.parent
    return variable


def _check_can_follow(tracer: Tracer, variable: Variable, written: Iterable[tuple[Variable, Value]]) -> None:
    """Refuse a write to `written` that may be one to `variable`, if that is a tensor from outside."""
    _check_no_hidden_view(tracer, variable)
    root = root_of(variable)
    for member in _family(tracer, root):
        _check_not_detached(tracer, member)
    if root.value in tracer.tensors or tracer.is_outer(root.value) or tracer.is_leaf(root.value):
        for _, value in written:
            tracer.take_apart(value)
        tracer.take_apart(variable.value)
        raise UnsupportedSyntaxError(
            "an in-place write to a tensor that may be one from outside, known only when the Program runs, cannot "
            "become a graph", user_location(), "Write to a clone of it.", kind="U12",
        )


def _check_no_hidden_view(tracer: Tracer, variable: Variable) -> None:
    """Refuse a write to what may be a view that a branch or an earlier turn has made: nobody can name its tensor."""
    for view in views_of(variable):
        if is_carried(variable) or not is_here(tracer, view):
            tracer.take_apart(variable.value)
            raise UnsupportedSyntaxError(
                "an in-place write to what may be a view that a branch or an earlier turn of a loop has made cannot "
                "become a graph", user_location(), "Take the view before, or write to the tensor itself.", kind="U12",
            )


def _follow(tracer: Tracer, other: Variable, written: Variable, was: Value) -> None:
    """Write to `other` what was written to `written`, in runs in which they are one tensor; `was`: before the write."""
    same = tracer.are_one(was, other.value)
    value, root = Variable(tracer, written.value), other
    while (shared := sharing_of(root)) is not None and shared.view is not None:
        value = shared.view.into_parent(tracer, value)
        root = shared.view.parent
    for member in list(_family(tracer, root)):
        if member is not root:
            view = sharing_of(member)
            assert view is not None and view.view is not None
            value = view.view.of_parent(tracer)
            value.__dict__.pop(_SHARING, None)
        tracer.rebind_chosen(member, same, value)
    if root is not other:
        # It is a view, derived anew from what its root is now.
        tracer.rebind_chosen(written, same, other)


def _write_root(tracer: Tracer, variable: Variable, value: Variable, data_only: bool) -> None:
    tensor = tracer.tensors.get(variable.value)
    if tensor is not None:
        _write_outer(tracer, tensor, variable, value, data_only)
    elif data_only:
        _replace(tracer, variable, value)
    else:
        tracer.rebind_version(variable, value)


def _write_outer(tracer: Tracer, tensor: Any, variable: Variable, value: Variable, data_only: bool) -> None:
    """Write to a tensor from outside: on every run now, and for the rest of this trace."""
    if not data_only:
        if tensor.is_leaf and not variable.stop_gradient:
            raise LeafError(
                f"Leaf Tensor ({tensor.name}) that doesn't stop gradient can't use inplace strategy.", kind="L02"
            )
        raise UnsupportedSyntaxError(
            "an in-place write with a gradient to a tensor from outside cannot become a graph", user_location(),
            "Write to a clone of it.",
            kind="U24",
        )
    tracer.record_write(tensor, variable, tracer.value_of(value))


def replaced(tracer: Tracer, old: Value, data: Value, is_view: bool = False) -> Value:
    """A version of a tensor with other values and the same history and hooks; see `_replace`."""
    out = tracer.new_value(old.name, data.spec, old.stop_gradient)
    out = tracer.emit("replace", (old, data), (out,), {"is_view": is_view}).outputs[0]
    tracer.note_chosen(out, (old,))
    return out


def _refresh(tracer: Tracer, variable: Variable, data_only: bool) -> None:
    """Derive the view `variable` anew; with `data_only`, its history stays as it is."""
    shared = sharing_of(variable)
    assert shared is not None and shared.view is not None
    fresh = shared.view.of_parent(tracer)
    # The fresh result is no view of its own: `variable` is.
    fresh.__dict__.pop(_SHARING, None)
    if data_only:
        _replace(tracer, variable, fresh, is_view=True)
    else:
        tracer.rebind_version(variable, fresh)


def _replace(tracer: Tracer, variable: Variable, data: Variable, is_view: bool = False) -> None:
    """Give a tensor of the run other values, those of `data`; its history and hooks stay.

    If it `is_view`, it goes on sharing them with what `data` is a view of.
    """
    old = variable.value
    tracer.rebind(variable, replaced(tracer, old, tracer.value_of(data), is_view))
    tracer.rewrite_tensor(old, variable.value, data_only=True)


__all__ = [
    "VIEW_OPS",
    "Sharing",
    "View",
    "assign",
    "is_here",
    "is_view",
    "leave",
    "link",
    "note_all_sources",
    "note_chosen",
    "relatives",
    "replaced",
    "sharing_of",
    "write",
]
