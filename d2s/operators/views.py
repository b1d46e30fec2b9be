"""In-place writes to tensors of a trace, and to the tensors that share values with them.

The rules are those of eager mode (`d2s.eager.views`): a write to a view becomes a write to its root, by the view op
run backwards, and every live view is derived anew from what the root is then.  All of it is recorded as operators, so
gradients through it are right; hooks stay with the values before the write.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from d2s.core.interpreter import state
from d2s.core.op import Op
from d2s.errors import LeafError, UnsupportedSyntaxError, user_location
from d2s.operators.following import check_written, follow
from d2s.operators.sharing import (
    View,
    alive,
    chosen_relatives,
    family_of,
    is_here,
    is_view,
    join_view,
    peers_of,
    relatives,
    root_of,
    share_nothing,
    sharing_of,
)
from d2s.ops.indexing import with_item
from d2s.static.builder import StaticInterpreter
from d2s.static.program import Operator, Value
from d2s.static.runtime import check_no_leaf
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


class _Held(NamedTuple):
    """A Variable and its value at a place of the trace: in a replay it may be another one, or gone.

    It is not kept alive: what writes reach must not depend on what the trace has noted.
    """

    variable: weakref.ref[Variable]
    value: Value

    def named(self, tracer: Tracer) -> Value:
        """The value, to be used as a Tensor."""
        return tracer.named(self._current(tracer))

    def joined(self, tracer: Tracer) -> Value:
        """The same of what shares values with something that is one by now: what may have been written is known."""
        return StaticInterpreter.bound(tracer, self._current(tracer))

    def _current(self, tracer: Tracer) -> Variable:
        variable = self.variable()
        return variable if variable is not None and variable.value is self.value else Variable(tracer, self.value)


def _held(variable: Variable) -> _Held:
    return _Held(weakref.ref(variable), variable.value)


class _How(NamedTuple):
    """How a view is made of its parent, as `View` says."""

    op: Op
    rest: tuple[Any, ...]
    attrs: dict[str, Any]
    output: int | None


_Step = tuple[_Held, _Held, _How | None]


class _Member(NamedTuple):
    """What shares values with a tensor that is written to, as it was found: by its value, and how it is a view."""

    value: Value
    parent: Value | None
    how: _How | None


def _member(variable: Variable) -> _Member:
    shared = sharing_of(variable)
    view = None if shared is None else shared.view
    if view is None:
        return _Member(variable.value, None, None)
    return _Member(variable.value, view.parent.value, _how(view))


def _how(view: View) -> _How:
    return _How(view.op, view.rest, view.attrs, view.index)


def in_use(tracer: Tracer, variable: Variable) -> list[Variable]:
    """What shares values with a tensor that is no view, and itself; each before the views taken of it.

    The same each time that the trace comes here, whatever Python has collected so far: what is gone in a replay has
    another Variable in its place.
    """
    family = [member for peer in peers_of(tracer, variable) for member in family_of(tracer, peer)]
    found = tracer.as_found(f"family of {variable.value.name}", lambda: [_member(member) for member in family])
    alive_now: dict[Value, list[Variable]] = {}
    for variable in family:
        alive_now.setdefault(variable.value, []).append(variable)
    members: list[Variable] = []
    by_value: dict[Value, Variable] = {}
    for known in found:
        same = alive_now.get(known.value)
        member = same.pop(0) if same else Variable(tracer, known.value)
        if not is_view(member) and known.parent is not None and known.how is not None:
            join_view(member, View(by_value[known.parent], *known.how))
        by_value.setdefault(known.value, member)
        members.append(member)
    return members


def leave(tracer: Tracer, variable: Variable, is_last: bool) -> Iterator[tuple[Value, Value, _How | None]]:
    """What `variable`, which becomes a Tensor, has to share values with.

    Parameters
    ----------
    is_last : bool
        True if nothing can be written any more in this call.

    Yields
    ------
    (view, parent, how) and, after them, (detached, tensor, None)
        The steps that join it to Tensors of the caller and to those that have left the Program before.
    """
    if sharing_of(variable) is None:
        return
    # The same each time that the trace comes here, whatever Python has collected so far.
    sources, steps = tracer.as_found(
        f"shared by {variable.value.name}", lambda: _joining(tracer, variable, is_last))
    for source in sources:
        tracer.materialise(source.joined(tracer))
    for view, parent, how in steps:
        yield view.joined(tracer), parent.joined(tracer), how


def _joining(tracer: Tracer, variable: Variable, is_last: bool) -> tuple[list[_Held], list[_Step]]:
    """What has to become a Tensor with `variable`, and the steps of `leave`."""
    steps: list[_Step] = []
    # A later write to one of them, which may be the only one that the trace knows then, reaches the other.
    sources = [] if is_last else _sources(tracer, variable)
    new = {id(source) for source in sources if not tracer.is_tensor_of_run(source)}
    # Behind a relative that is a Tensor already nothing is to be done, but for what becomes one only now: it was joined
    # to the others when it became one.
    reached: dict[int, tuple[Variable, Variable]] = {id(variable): (variable, variable)}
    joined = {id(variable)}
    queue = [variable]
    for member in queue:
        for relative in relatives(member):
            if id(relative) in reached or not is_here(tracer, relative):
                continue
            reached[id(relative)] = relative, member
            is_tensor = tracer.is_tensor_of_run(relative)
            if new or not is_tensor:
                queue.append(relative)
            if not is_tensor and id(relative) not in new:
                continue
            found = relative
            while id(found) not in joined:
                joined.add(id(found))
                nearer = reached[id(found)][1]
                steps.append(_step(nearer, found) or _step(found, nearer) or (_held(nearer), _held(found), None))
                found = nearer
    return [*map(_held, sources)], sorted(steps, key=lambda step: step[2] is None)


def unknown_relatives(tracer: Tracer, variable: Variable, is_last: bool) -> Iterator[Value]:
    """With whom `variable`, which becomes a Tensor, may share values as only the run knows; arguments as in `leave`.

    It may be a view or a detached tensor that a branch or an earlier turn has made.
    """
    def find() -> list[_Held]:
        found: dict[int, Variable] = {}
        own = root_of(variable)
        for other in chosen_relatives(variable):
            root = root_of(other)
            if root is not own and is_here(tracer, root):
                found[id(root)] = root
        if not is_last:
            return [_held(root) for root in found.values()]
        # Of those that share the values of a tensor, each may be a Tensor in other runs.
        groups = [
            [one for peer in peers_of(tracer, root) for one in family_of(tracer, peer)] for root in found.values()]
        return [_held(one) for group in groups for one in filter(tracer.is_tensor_of_run, group)]

    for root in tracer.as_found(f"related to {variable.value.name}", find):
        # What may be unbound is related to nothing if it is.
        yield root.value if root.value.maybe_missing is not None else root.named(tracer)


def _sources(tracer: Tracer, variable: Variable) -> list[Variable]:
    """What `variable` is a view of, or detached from, and so on."""
    found: list[Variable] = []
    seen = {id(variable)}
    queue = [variable]
    for member in queue:
        shared = sharing_of(member)
        if shared is None:
            continue
        sources = [] if shared.view is None else [shared.view.parent]
        for source in (*sources, *alive(shared.detached)):
            if id(source) in seen or not is_here(tracer, source):
                continue
            seen.add(id(source))
            queue.append(source)
            found.append(source)
    return found


def _step(variable: Variable, parent: Variable) -> _Step | None:
    shared = sharing_of(variable)
    view = None if shared is None else shared.view
    if view is None or view.parent is not parent:
        return None
    return _held(variable), _held(parent), _how(view)


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
    before = {id(member): (member, member.value) for member in in_use(tracer, variable)}
    tracer.check_writable(member for member, _ in before.values())
    check_written(tracer, [member for member, _ in before.values()])
    peers = [member for member, _ in before.values() if member is not variable and not is_view(member)]
    _write_roots(tracer, variable, peers, value, data_only, (kept, through))
    for member, _ in before.values():
        if is_view(member):
            _refresh(tracer, member, data_only or root_of(member) is not variable)
    follow(tracer, before, data_only)


def _write_roots(
    tracer: Tracer, root: Variable, peers: list[Variable], value: Variable, data_only: bool,
    kept: tuple[Value | None, Operator | None],
) -> None:
    """Write `value` to a tensor that is no view, and its values to those that share these and no history."""
    # Whoever else has one of them may write to it: the others are known to show what is written to that one.
    all_of_them = [root, *peers]
    before = [(member, member.value) for member in all_of_them]
    outer = [peer for peer in all_of_them if peer.value in tracer.tensors]
    shown = [*outer, *filter(tracer.is_tensor_of_run, all_of_them), root][0]
    if shown is not root:
        _write_root(tracer, shown, value, data_only=True)
        value = Variable(tracer, tracer.replaced(tracer.value_of(value), shown.value, is_view=True))
    _write_root(tracer, root, value, data_only)
    for peer in peers:
        if peer is not shown:
            _replace(tracer, peer, Variable(tracer, shown.value), is_view=True)
    for member, old in before:
        tracer.note_write(old, member.value, *kept)


def _write_root(tracer: Tracer, variable: Variable, value: Variable, data_only: bool) -> None:
    tensor = tracer.tensors.get(variable.value)
    if tensor is not None:
        _write_outer(tracer, tensor, variable, value, data_only)
    elif data_only:
        _replace(tracer, variable, value)
    else:
        if variable.value in tracer.may_be_outer and not variable.stop_gradient:
            # Control flow has chosen it: a leaf in some runs.
            point = ObjectVariable(tracer, tracer.hook_point(variable.value))
            tracer.python_call(check_no_leaf, (point,), effect=True)
        tracer.rebind_version(variable, value)


def _write_outer(tracer: Tracer, tensor: Any, variable: Variable, value: Variable, data_only: bool) -> None:
    """Write to a tensor from outside: on every run now, and for the rest of this trace."""
    if not data_only:
        if not variable.stop_gradient and tracer.is_outer_leaf(tensor):
            raise LeafError.of_write(tensor.name)
        raise UnsupportedSyntaxError(
            "an in-place write with a gradient to a tensor from outside cannot become a graph", user_location(),
            "Write to a clone of it.",
            kind="U24",
        )
    tracer.record_write(tensor, variable, tracer.value_of(value))


def _refresh(tracer: Tracer, variable: Variable, data_only: bool) -> None:
    """Derive the view `variable` anew; with `data_only`, its history stays as it is."""
    shared = sharing_of(variable)
    assert shared is not None and shared.view is not None
    fresh = shared.view.of_parent(tracer)
    # The fresh result is no view of its own: `variable` is.
    share_nothing(fresh)
    if data_only:
        _replace(tracer, variable, fresh, is_view=True)
    else:
        tracer.rebind_version(variable, fresh)


def _replace(tracer: Tracer, variable: Variable, data: Variable, is_view: bool = False) -> None:
    """Give a tensor of the run other values, those of `data`; its history and hooks stay.

    If it `is_view`, it goes on sharing them with what `data` is a view of.
    """
    old = variable.value
    tracer.rebind(variable, tracer.replaced(old, tracer.value_of(data), is_view))
    tracer.rewrite_tensor(old, variable.value, data_only=True)


__all__ = ["assign", "in_use", "leave", "unknown_relatives", "write"]
