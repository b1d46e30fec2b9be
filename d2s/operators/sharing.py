"""Which tensors of a trace share values: views, what they are views of, what is detached, and what may be one of these.

This is what is known while tracing; what a write makes of it stands in `d2s.operators.views`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from d2s.core.interpreter import TensorBase, state
from d2s.core.op import OP_TABLE, Op
from d2s.errors import GradientError
from d2s.operators.choices import (
    alternatives_of,
    may_be,
    may_be_detached,
    note,
    note_alternatives,
    note_detached,
    views_of,
)
from d2s.operators.symbols import is_symbol
from d2s.ops.sharing import REARRANGING
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

    def is_same(self, other: View) -> bool:
        """True if both show the same part of one tensor."""
        return (
            self.parent is other.parent and self.op is other.op and self.index == other.index
            and _are_alike((self.rest, self.attrs), (other.rest, other.attrs)))

    def of_parent(self, tracer: Tracer) -> Variable:
        """The view as an op on what its parent is now."""
        found = tracer.process(self.op, (self.parent, *self.rest), self.attrs)
        view: Variable = found if self.index is None else found[self.index]
        return view

    def into_parent(self, tracer: Tracer, value: Variable) -> Variable:
        """What the parent becomes when the view becomes `value`."""
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
        yield from alive(shared.views)
        yield from alive(shared.detached)


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
    for view in () if shared is None else alive(shared.views):
        yield from _views_in(view)


def note_chosen(chosen: Variable, sources: Iterable[Variable]) -> None:
    """Note that `chosen` is one of `sources` when the Program runs."""
    tracer: Any = chosen.interpreter
    tracer.may_choose = True
    for source in sources:
        note(chosen, source, _kin(source), is_view(source))
        note_detached(chosen, source, _detached_kin(source, detached_here))


def note_all_sources(chosen: Variable, sources: list[Variable]) -> None:
    """The same where there are no others: `chosen` may be one view, whichever of them it is."""
    view = _one_view(sources)
    if view is None:
        note_chosen(chosen, sources)
        if any(views_of(source) or is_view(source) for source in sources):
            note_alternatives(chosen, sources)
    else:
        join_view(chosen, view)


def _one_view(sources: list[Variable]) -> View | None:
    """What all of `sources` are, if it is one and the same view of a tensor that there is here."""
    views = [shared.view if (shared := sharing_of(source)) is not None else None for source in sources]
    first = views[0] if views else None
    if first is None or not all(view is not None and view.is_same(first) for view in views):
        return None
    tracer: Any = first.parent.interpreter
    return first if is_here(tracer, first.parent) else None


@dataclass(frozen=True)
class HiddenView:
    """What a chosen tensor is in runs in which it is none of `others`, which there are here: a view that is gone."""

    view: View
    others: tuple[Variable, ...]


def hidden_view(tracer: Tracer, chosen: Variable) -> HiddenView | None:
    """The view made in a branch or an earlier turn that `chosen` may be, if the run can tell, and take it anew."""
    others: list[Variable] = []
    views: list[View] = []
    queue = list(alternatives_of(chosen))
    for source in queue:
        if is_here(tracer, source):
            others.append(source)
        elif alternatives_of(source):
            queue += [one for one in alternatives_of(source) if not any(one is other for other in queue)]
        elif (shared := sharing_of(source)) is not None and shared.view is not None and _is_known(tracer, shared.view):
            views.append(shared.view)
        else:
            return None
    if not views or not all(view.is_same(views[0]) for view in views):
        return None
    return HiddenView(views[0], tuple(others))


def _is_known(tracer: Tracer, view: View) -> bool:
    """True if the view can be taken here as well: of a tensor that there is here, at places known here."""
    return is_here(tracer, view.parent) and not any(map(is_symbol, _leaves((view.rest, view.attrs))))


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple | list):
        for part in tree:
            yield from _leaves(part)
    elif isinstance(tree, dict):
        yield from _leaves(tuple(tree.values()))
    elif isinstance(tree, slice):
        yield from (tree.start, tree.stop, tree.step)
    else:
        yield tree


def taken_anew(hidden: HiddenView, chosen: Variable) -> Variable:
    """Another name of `chosen` as the view that it may be."""
    made = Variable(chosen.interpreter, chosen.value)
    join_view(made, hidden.view)
    return made


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
        _join_detached(parent, result, tracer)
        return
    if not state.grad_enabled and not parent.stop_gradient:
        parent = _detached(parent, tracer)
    parts = list(enumerate(result)) if isinstance(result, tuple) else [(None, result)]
    for index, part in parts:
        join_view(part, View(parent, op, args[1:], attrs, index))


def join_view(variable: Variable, view: View) -> None:
    """Note that `variable` is this view."""
    _ensure(variable).view = view
    _ensure(view.parent).views.append(weakref.ref(variable))


def _join_detached(parent: Variable, result: Variable, tracer: Tracer) -> None:
    """Note that `result` is detached from `parent`: from a view, it is the same view of what is detached."""
    tracer.detaches = True
    view = _ensure(parent).view
    if view is None:
        _ensure(parent).detached.append(weakref.ref(result))
        _ensure(result).detached.append(weakref.ref(parent))
        # If nobody else holds it, it still joins what else is detached from it.
        _ensure(result).source = parent
    else:
        join_view(result, View(_detached(view.parent, tracer), view.op, view.rest, view.attrs, view.index))


def _detached(variable: Variable, tracer: Tracer) -> Variable:
    """A tensor that shares the values of `variable`, and has nothing of its history."""
    found: Variable = tracer.process(OP_TABLE["detach"], (variable,), {})
    return found


def chosen_relatives(variable: Variable) -> list[Variable]:
    """What `variable` may share values with, other than by being the same tensor, as control flow has chosen it.

    Or as it has chosen what is known to share values with `variable`.
    """
    tracer: Any = variable.interpreter
    if not tracer.may_choose:
        return []
    # Of its views, what is chosen is a relative of the tensor itself too.
    known = {id(one): one for one in (*_shown_by(variable), *_detached_kin(variable, detached_here))}
    found: dict[int, Variable] = {}
    for member in known.values():
        is_shared = _may_share(member)
        others = [other for other in may_be(member) if is_shared or _may_share(other)]
        others += (*views_of(member), *may_be_detached(member))
        found.update((id(other), other) for other in others if id(other) not in known)
    return list(found.values())


def _may_share(variable: Variable) -> bool:
    return sharing_of(variable) is not None or len(views_of(variable)) > 0


def _ensure(variable: Variable) -> Sharing:
    found: Sharing = variable.__dict__.setdefault(_SHARING, Sharing())
    return found


def alive(references: list[weakref.ref[Variable]]) -> Iterator[Variable]:
    for reference in tuple(references):
        variable = reference()
        if variable is not None:
            yield variable


def is_given_up(variable: Variable) -> bool:
    """True for what was made on another path, and is still held, because that path waits to be merged, say."""
    run = variable.made_in
    return run is not None and bool(run.is_given_up)


def is_here(tracer: Tracer, variable: Variable) -> bool:
    """False for what was made on another path, or in another block."""
    value = variable.value
    if is_given_up(variable):
        return False
    return value in tracer.tensors or tracer.in_scope(value) or any(value in inputs for inputs in tracer.turn_inputs)


def _detached_from(variable: Variable) -> list[Variable]:
    """What is, or may be, detached from `variable`, or it from them."""
    return [*detached_here(variable), *may_be_detached(variable)]


def detached_here(variable: Variable) -> Iterator[Variable]:
    """What is detached from `variable`, or it from them, other than as control flow has chosen it."""
    shared = sharing_of(variable)
    if shared is not None:
        yield from alive(shared.detached)


def peers_of(tracer: Tracer, root: Variable) -> list[Variable]:
    """A tensor that is no view, and those that share its values and no history."""
    found = {id(root): root}
    queue = [root]
    for member in queue:
        for other in detached_here(member):
            if id(other) not in found and is_here(tracer, other):
                found[id(other)] = other
                queue.append(other)
    return queue


def family_of(tracer: Tracer, root: Variable) -> Iterator[Variable]:
    """A tensor that is no view, and its views, each before those taken of it."""
    yield root
    shared = sharing_of(root)
    if shared is not None:
        for view in alive(shared.views):
            if is_here(tracer, view):
                yield from family_of(tracer, view)


def root_of(variable: Variable) -> Variable:
    while (shared := sharing_of(variable)) is not None and shared.view is not None:
        variable = shared.view.parent
    return variable


def share_nothing(variable: Variable) -> None:
    """Let a tensor share values with none: it stands for another one's values only for now."""
    variable.__dict__.pop(_SHARING, None)


__all__ = [
    "HiddenView", "Sharing", "View", "alive", "chosen_relatives", "detached_here", "family_of", "hidden_view",
    "is_given_up", "is_here", "is_view", "join_view", "link", "note_all_sources", "note_chosen", "peers_of",
    "relatives", "root_of", "share_nothing", "sharing_of", "taken_anew",
]
