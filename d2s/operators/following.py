"""In-place writes followed to what control flow may have chosen: each becomes what was written, in runs in which it is.

Which tensor a branch or the turns of a loop have chosen, only the run knows: it is asked whether two values are one
tensor.  From each that is one the write goes on as from the tensor itself, to what that is a view of, to views, to what
is detached, and to what may be one of these.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.choices import hidden_sources, may_be, may_be_detached, may_be_one, may_replace
from d2s.operators.sharing import (
    HiddenView,
    family_of,
    hidden_view,
    is_here,
    is_view,
    peers_of,
    root_of,
    share_nothing,
    sharing_of,
    taken_anew,
)
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

MAX_STEPS = 64


class _Changed(NamedTuple):
    """A tensor that the write has reached, and in which runs (None: all); `seen`: by way of which others."""

    member: Variable
    runs: ObjectVariable | None
    seen: frozenset[int]


def follow(tracer: Tracer, before: dict[int, tuple[Variable, Value]], data_only: bool) -> None:
    """Let the write that has changed the tensors `before` reach those that may be one of them.

    `before` has what each was before the write; with `data_only` history stays as it is.
    """
    _Following(tracer, before, data_only).run()


class _Following:
    """One write."""

    def __init__(self, tracer: Tracer, before: dict[int, tuple[Variable, Value]], data_only: bool) -> None:
        self.tracer = tracer
        self.data_only = data_only
        self.was = {number: value for number, (_, value) in before.items()}
        self.always = frozenset(before)
        # The runs in which the write has come to a tensor, by the root of that.
        self.done: dict[int, ObjectVariable] = {}
        self.queue = [_Changed(member, None, frozenset((number,))) for number, (member, _) in before.items()]

    def run(self) -> None:
        for changed in self.queue:
            self.reach_hidden(changed)
            for other in self.candidates(changed):
                self.reach(changed, other, self.tracer.are_one(self.was[id(changed.member)], self.was_of(other)))
            self.show_in_hidden_views(changed)

    def was_of(self, other: Variable) -> Value:
        """What a tensor was before the write."""
        return self.was.setdefault(id(other), other.value)

    def is_hidden(self, hidden: HiddenView, chosen: Variable) -> ObjectVariable:
        """True in runs in which `chosen` is the view that is not here: it is none of the others."""
        was, found = self.was_of(chosen), None
        for other in hidden.others:
            same = self.tracer.are_one(was, self.was_of(other))
            found = same if found is None else self.tracer.python_call(operator.or_, (found, same), kind=bool)
        if found is None:
            return self.tracer.python_call(bool, (True,), kind=bool)
        return self.tracer.python_call(operator.not_, (found,), kind=bool)

    def show_in_hidden_views(self, changed: _Changed) -> None:
        """Derive anew what was chosen and may be a view, not here, of the tensor that has changed."""
        tracer, member = self.tracer, changed.member
        found = [
            other for other in may_be(member)
            if id(other) not in self.always and id(other) not in changed.seen and is_here(tracer, other)
            and (hidden := hidden_view(tracer, other)) is not None and hidden.view.parent is member]
        in_use = tracer.as_found(f"hidden views of {self.was[id(member)].name}", lambda: {one.value for one in found})
        for other in found:
            hidden = hidden_view(tracer, other)
            if other.value not in in_use or hidden is None:
                continue
            group = self.group_of(other)
            same = self.of_the_runs(changed, other, self.is_hidden(hidden, other))
            shown = taken_anew(hidden, other)
            self.derive([shown], same, self.data_only)
            self.write(other, other, shown, same, is_hidden=True)
            seen = changed.seen | {id(other)}
            self.queue += [_Changed(one, same, seen | {id(one)}) for one in group]

    def candidates(self, changed: _Changed) -> list[Variable]:
        """What may be the tensor that has changed."""
        tracer, first = self.tracer, self.was[id(changed.member)]
        found = [
            other for other in may_be_one(changed.member)
            if id(other) not in self.always and id(other) not in changed.seen and is_here(tracer, other)
            and may_replace(first, self.was.get(id(other), other.value))]
        # The same each time that the trace comes here, whatever Python has collected so far.
        in_use = tracer.as_found(f"followed from {first.name}", lambda: {other.value for other in found})
        return [other for other in found if other.value in in_use]

    def reach(self, changed: _Changed, other: Variable, same: ObjectVariable) -> None:
        """Let the write reach `other`, in the runs `same`, in which it is the tensor that has changed."""
        tracer, member = self.tracer, changed.member
        root = root_of(other)
        if id(root) in self.always:
            # The member may be a view of it, and has changed with it.
            return
        group = self.group_of(root)
        check_followed(tracer, group, [self.was[id(member)]])
        same = self.of_the_runs(changed, root, same)
        self.write(root, other, member, same)
        if root is not other:
            # The member is a view, derived anew from what its root is now, and its views with it.
            tracer.rebind_chosen(member, same, other)
            self.derive(list(family_of(tracer, member))[1:], same, self.data_only)
        seen = changed.seen | {id(other)}
        if root is other:
            self.reach_hidden(_Changed(other, same, seen))
        # What else may be `other` may be the member too, and is asked that.
        self.queue += [_Changed(one, same, seen | {id(one)}) for one in group if one is not other]

    def reach_hidden(self, changed: _Changed) -> None:
        """Let the write reach what a chosen tensor is a view of, in the runs in which it is one that is not here."""
        hidden = hidden_view(self.tracer, changed.member)
        if hidden is not None and not is_view(changed.member):
            self.reach(changed, taken_anew(hidden, changed.member), self.is_hidden(hidden, changed.member))

    def group_of(self, root: Variable) -> list[Variable]:
        """All that is known to share the values of a tensor."""
        group = [one for peer in peers_of(self.tracer, root) for one in family_of(self.tracer, peer)]
        for one in group:
            self.was_of(one)
        return group

    def of_the_runs(self, changed: _Changed, root: Variable, same: ObjectVariable) -> ObjectVariable:
        """Those among the runs `same` in which the write has changed a tensor, but has not come to `root` so far."""
        tracer = self.tracer
        if len(self.queue) > MAX_STEPS:
            raise UnsupportedSyntaxError(
                "an in-place write may reach too many tensors that branches and turns have chosen", user_location(),
                "Write to a clone of it.", kind="U12")
        if changed.runs is not None:
            same = self.both(changed.runs, same)
        done = self.done.get(id(root))
        if done is not None:
            same = self.both(same, tracer.python_call(operator.not_, (done,), kind=bool))
        self.done[id(root)] = same if done is None else tracer.python_call(operator.or_, (done, same), kind=bool)
        return same

    def write(
        self, root: Variable, other: Variable, member: Variable, same: ObjectVariable, is_hidden: bool = False
    ) -> None:
        """Write what `member` has become to `other`, of which `root` is the tensor, in the runs `same`.

        They are one tensor, unless `other` is a view that is not here (`is_hidden`) and `member` that view anew.
        """
        tracer = self.tracer
        value, tensor = Variable(tracer, member.value), other
        with tracer.new_block() if root is not other else nullcontext() as only_then:
            while (shared := sharing_of(tensor)) is not None and shared.view is not None:
                value, tensor = shared.view.into_parent(tracer, value), shared.view.parent
            if self.data_only and root is not other:
                value = Variable(tracer, tracer.replaced(root.value, tracer.value_of(value)))
        # Of what is one tensor with the member, the Tensor object has been written with that of the member.
        tracer.rebind_chosen(
            root, same, value, None if root is other and not is_hidden else self.data_only,
            # Of other runs not even the sizes need fit.
            () if only_then is None else only_then.operators)
        self.derive(list(family_of(tracer, root))[1:], same, self.data_only)
        for peer in peers_of(tracer, root)[1:]:
            shown = Variable(tracer, tracer.replaced(peer.value, root.value, is_view=True))
            tracer.rebind_chosen(peer, same, shown, True)
            self.derive(list(family_of(tracer, peer))[1:], same, True)

    def derive(self, views: Iterable[Variable], same: ObjectVariable, data_only: bool) -> None:
        """Derive views anew from what their tensors are now, in the runs `same`."""
        tracer = self.tracer
        for view in views:
            shared = sharing_of(view)
            assert shared is not None and shared.view is not None
            fresh = shared.view.of_parent(tracer)
            share_nothing(fresh)
            if data_only:
                fresh = Variable(tracer, tracer.replaced(view.value, tracer.value_of(fresh), is_view=True))
            tracer.rebind_chosen(view, same, fresh, data_only)

    def both(self, first: ObjectVariable, second: ObjectVariable) -> ObjectVariable:
        found: ObjectVariable = self.tracer.python_call(operator.and_, (first, second), kind=bool)
        return found


def check_followed(tracer: Tracer, members: Iterable[Variable], written: Iterable[Value]) -> None:
    """Refuse a write to `members` of one tensor that cannot be followed, as one to what may be `written`.

    That is if what shares their values was chosen among views or detached tensors that are not here any more, or if
    they are from outside.
    """
    for member in members:
        _check_nothing_hidden(tracer, member)
        if member.value in tracer.tensors or tracer.is_outer(member.value) or tracer.is_leaf(member.value):
            for value in (*written, member.value):
                tracer.take_apart(value)
            raise UnsupportedSyntaxError(
                "an in-place write to a tensor that may be one from outside, known only when the Program runs, cannot "
                "become a graph", user_location(), "Write to a clone of it.", kind="U12",
            )


def check_written(tracer: Tracer, members: Iterable[Variable]) -> None:
    """The same of the tensor that is written itself, which may be from outside."""
    for member in members:
        _check_nothing_hidden(tracer, member)


def _check_nothing_hidden(tracer: Tracer, member: Variable) -> None:
    """Refuse a write to `member` if what it may share values with cannot be named: a turn or a branch has made that."""
    for other in (member, *may_be(member), *may_be_detached(member)):
        if not is_here(tracer, other):
            continue
        for source in hidden_sources(other):
            if not is_here(tracer, source):
                # Behind a branch each path knows it.
                for value in (member.value, other.value):
                    tracer.take_apart(value)
                if not is_view(source) or hidden_view(tracer, other) is None:
                    _refuse(is_view(source))


def _refuse(is_of_view: bool) -> NoReturn:
    if is_of_view:
        raise UnsupportedSyntaxError(
            "an in-place write to what may be a view that a branch or an earlier turn of a loop has made cannot "
            "become a graph", user_location(), "Take the view before, or write to the tensor itself.", kind="U12",
        )
    raise UnsupportedSyntaxError(
        "an in-place write to what may be a tensor of which a detached one is in use, known only when the "
        "Program runs, cannot become a graph", user_location(),
        "Clone what is detached: x.detach().clone().", kind="U23",
    )


__all__ = ["check_followed", "check_written", "follow"]
