"""Tensors that share values, so that a write to one is seen in the others: views, and detached tensors.

Arrays are never written to; an in-place write makes a tensor name a new array.  A view therefore remembers its
parent and the op that made it.  A write to a view becomes a write to its root: the view op is run backwards, from
the view up, and gives the root a new version; then every live view is derived anew, from the root down.  Both ways
are ops, recorded like any other, so gradients through them are right.  Hooks stay with the values before the write.

A detached tensor shares values but no history, and keeps no history alive: it is a *peer* of the root.  What is
written to one peer reaches the others as plain data.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core import interpreter
from d2s.core.interpreter import GradModeBlock, TensorBase, state
from d2s.core.op import OP_TABLE, Op
from d2s.core.spec import check_fits
from d2s.eager.tape import InteriorNode, Node, OpNode
from d2s.errors import GradientError, LeafError, ShapeError
from d2s.ops.sharing import REARRANGING

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor


class View:
    """How a view was made: output `index` of `op` on `parent` and constants."""

    __slots__ = ("attrs", "index", "op", "parent", "rest")

    def __init__(self, parent: Tensor, op: Op, rest: tuple[Any, ...], attrs: dict[str, Any], index: int | None) -> None:
        self.parent = parent
        self.op = op
        self.rest = rest
        self.attrs = attrs
        self.index = index

    def of_parent(self) -> Tensor:
        """The view as an op on what its parent is now."""
        found: Any = self.parent.interpreter.evaluate(self.op, (self.parent, *self.rest), self.attrs)
        view: Tensor = found if self.index is None else found[self.index]
        return view

    def into_parent(self, value: Tensor) -> Tensor:
        """What the parent becomes when the view becomes `value`."""
        parent, op = self.parent, self.op
        if op.name == "getitem":
            back = parent.interpreter.evaluate(OP_TABLE["setitem"], (parent, value, *self.rest), self.attrs)
        elif op.name in REARRANGING:
            needs = (True, *[False] * len(self.rest))
            back = op.gradients(value, None, (parent.spec, *self.rest), self.attrs, needs)[0]
        else:
            raise GradientError(
                f"an output of {op.name} is a view of its input and cannot be written to",
                advice="Write to a clone of it, or to x[...] of the input.",
                kind="G08",
            )
        written: Tensor = back
        return written


class Sharing:
    """With whom a tensor shares values: it is a `view`, has `views`, and `peers` (itself among them).

    How it shares with `others`, nobody knows any more: a turn or a branch of a static function has made a view.
    """

    __slots__ = ("others", "peers", "view", "views")

    def __init__(self, view: View | None = None) -> None:
        self.view = view
        self.views: list[weakref.ref[Tensor]] = []
        self.peers: list[weakref.ref[Tensor]] = []
        self.others: list[weakref.ref[Tensor]] = []


def link(op: Op, args: tuple[Any, ...], attrs: dict[str, Any], result: Any) -> None:
    """Note that `result` (a Tensor or a tuple of them) shares values with the first argument of `op`."""
    parent: Tensor = args[0]
    if not isinstance(parent, TensorBase):
        # A constant: nobody can write to it.
        return
    if op.name == "detach":
        detach(parent, result)
        return
    if op.name == "getitem" and len(args) > 1:
        # Index tensors and masks pick elements: the result is a copy.
        return
    if not state.grad_enabled and not parent.stop_gradient:
        parent = detach(parent)
    if type(result) is tuple:
        for index, part in enumerate(result):
            _join_view(part, View(parent, op, args[1:], attrs, index))
    else:
        _join_view(result, View(parent, op, args[1:], attrs, None))


def detach(tensor: Tensor, result: Tensor | None = None) -> Tensor:
    """A tensor (`result` if given) that shares the values of `tensor` and holds nothing of its history."""
    own: Tensor = interpreter.wrap(tensor.data) if result is None else result
    shared = _sharing(tensor)
    view = shared.view
    if view is None:
        peers = shared.peers
        if not peers:
            _append(peers, tensor)
        _append(peers, own)
        own._sharing = Sharing()
        own._sharing.peers = peers
    else:
        _join_view(own, _detached(view))
    return own


def share(
    op: Op, tensor: Tensor, parent: Tensor, rest: tuple[Any, ...], attrs: dict[str, Any], index: int | None
) -> None:
    """Let `tensor`, which `op` has computed elsewhere from `parent`, share values with it from now on."""
    if tensor is parent:
        return
    if op.name == "detach" and _is_view(tensor):
        # Each is detached from the other.
        tensor, parent = parent, tensor
    if _is_view(tensor):
        return
    if op.name != "detach":
        _become_view(tensor, View(parent, op, rest, attrs, index))
    elif (view := _sharing(parent).view) is None:
        _join_peers(tensor, parent)
    else:
        _become_view(tensor, _detached(view))


def _is_view(tensor: Tensor) -> bool:
    shared = tensor._sharing
    return shared is not None and shared.view is not None


def _join_peers(tensor: Tensor, other: Tensor) -> None:
    """Let two tensors that are no views, with all that each shares values with, share values and no history."""
    mine, peers = _sharing(tensor), _sharing(other).peers
    if mine.peers is peers:
        return
    if not peers:
        _append(peers, other)
    for peer in list(_alive(mine.peers)) or [tensor]:
        _append(peers, peer)
        _sharing(peer).peers = peers


def _become_view(tensor: Tensor, view: View) -> None:
    """Let a tensor that is no view be one, and its peers detached from it; their own views stay theirs."""
    before = _sharing(tensor)
    peers = [peer for peer in _alive(before.peers) if peer is not tensor]
    _join_view(tensor, view)
    _sharing(tensor).views, _sharing(tensor).others = before.views, before.others
    for peer in peers:
        _sharing(peer).peers = []
        _become_view(peer, _detached(view))


def _detached(view: View) -> View:
    """How a view of the detached parent is made."""
    return View(detach(view.parent), view.op, view.rest, view.attrs, view.index)


def share_unknown(tensor: Tensor, other: Tensor) -> None:
    """Note that `tensor` shares values with `other`, if it does, in a way that is not known: neither can be written."""
    if _family_of(tensor) == _family_of(other) or not np.may_share_memory(tensor.data, other.data):
        return
    for one, two in ((tensor, other), (other, tensor)):
        _append(_sharing(one).others, two)


def _family_of(tensor: Tensor) -> int:
    """A number that is the same for all tensors that are known to share values."""
    while (shared := tensor._sharing) is not None and shared.view is not None:
        tensor = shared.view.parent
    return id(tensor) if shared is None or not shared.peers else id(shared.peers)


def _check_known(tensor: Tensor) -> None:
    """Refuse a write to `tensor`, which is no view, if it cannot reach all that share its values."""
    shared = tensor._sharing
    if shared is None:
        return
    if next(_alive(shared.others), None) is not None:
        raise GradientError(
            "a tensor is written in place that shares its values with a view, or is one, that a branch or a turn in a "
            "static function has made: how, nobody knows any more",
            advice="Write to a clone, or take the view outside of branches and loops.",
            kind="G17",
        )
    for view in _alive(shared.views):
        _check_known(view)


def _join_view(tensor: Tensor, view: View) -> None:
    tensor._sharing = Sharing(view)
    _append(_sharing(view.parent).views, tensor)


def _sharing(tensor: Tensor) -> Sharing:
    if tensor._sharing is None:
        tensor._sharing = Sharing()
    return tensor._sharing


def _append(refs: list[weakref.ref[Tensor]], tensor: Tensor) -> None:
    count = len(refs)
    if count >= 8 and count & (count - 1) == 0:
        refs[:] = [ref for ref in refs if ref() is not None]
    refs.append(weakref.ref(tensor))


def _alive(refs: list[weakref.ref[Tensor]]) -> Iterator[Tensor]:
    for ref in tuple(refs):
        tensor = ref()
        if tensor is not None:
            yield tensor


def write(tensor: Tensor, value: Tensor) -> None:
    """Make `tensor`, and what shares values with it, name the result of writing `value` (an op on `tensor`).

    Raises
    ------
    LeafError
        If the write would give history to a leaf that requires a gradient.
    """
    _keep_before(tensor, value)
    while (shared := tensor._sharing) is not None and shared.view is not None:
        value = shared.view.into_parent(value)
        tensor = shared.view.parent
    _check_known(tensor)
    if tensor._node is None and not tensor.stop_gradient:
        raise LeafError.of_write(tensor.name)
    _rebind(tensor, value)
    if shared is not None:
        for view in _alive(shared.views):
            _refresh(view)
        for peer in _alive(shared.peers):
            if peer is not tensor:
                set_data(peer, tensor.data)


def write_data(tensor: Tensor, data: np.ndarray[Any, Any]) -> None:
    """Give `tensor`, and what shares values with it, new values; their history stays."""
    if tensor._sharing is None:
        set_data(tensor, data)
        return
    with GradModeBlock(False):
        while (shared := tensor._sharing) is not None and shared.view is not None:
            data = shared.view.into_parent(interpreter.wrap(data)).data
            tensor = shared.view.parent
        for peer in _alive(shared.peers) if shared is not None and shared.peers else (tensor,):
            _check_known(peer)
        if shared is None or not shared.peers:
            set_data(tensor, data)
        else:
            for peer in _alive(shared.peers):
                set_data(peer, data)


def fitted(tensor: Tensor, value: Tensor) -> Tensor:
    """`value` in the dtype of `tensor`, into which it is to be written.

    Raises
    ------
    ShapeError, DTypeError
        If it does not fit there.
    """
    check_fits(tensor.spec, value.spec)
    if value.data.shape != tensor.data.shape and _is_shared(tensor, value):
        raise ShapeError(
            f"a tensor that shares its values with others cannot change its shape in place, from {tensor.shape} "
            f"to {value.shape}",
            advice="Use the op that gives a new tensor.",
            kind="S04",
        )
    fitting: Tensor = value.cast(tensor.dtype)
    return fitting


def _is_shared(tensor: Tensor, value: Tensor) -> bool:
    """True if others share the values of `tensor`; `value`, a reshaped `tensor` on its way into it, ceases to."""
    shared = tensor._sharing
    if shared is None:
        return False
    shared.views = [weakref.ref(view) for view in _alive(shared.views) if view is not value]
    others = [peer for peer in _alive(shared.peers) if peer is not tensor]
    return bool(shared.view or shared.views or others)


def _keep_before(tensor: Tensor, value: Tensor) -> None:
    """Let the op behind `value` go on reading the value of `tensor` that is about to be replaced."""
    node: Node | None = value._node
    while isinstance(node, OpNode) and node.op.name == "cast" and node.edges[0] is not None:
        node = node.edges[0][0]
    if isinstance(node, OpNode):
        node.saves_before(tensor, tensor.alias())


def _rebind(tensor: Tensor, value: Tensor) -> None:
    """Make `tensor` name the value of `value`, with its history."""
    if tensor._node is not None and value._node is not None:
        # `.grad` goes on showing what is kept of the version that is replaced.
        tensor._node.show_retained(tensor._index, value._node, value._index)
    if tensor._node is not None:
        tensor._node.note_write(tensor, tensor._index)
    _replace(tensor, value.data)
    tensor._node, tensor._index = value._node, value._index
    if tensor._stop_gradient is not value._stop_gradient:
        tensor._set_stop_gradient(value._stop_gradient)
    if isinstance(tensor._node, OpNode):
        tensor._node.follow(tensor, tensor._index)


def become(
    tensor: Tensor, data: np.ndarray[Any, Any], node: InteriorNode | None, index: int, stop_gradient: bool,
    data_only: bool = False,
) -> None:
    """Make `tensor`, and its views, name another value, written in place by a run that knows who reads the old one.

    With `data_only` the views keep their history.
    """
    _replace(tensor, data)
    tensor._node, tensor._index = node, index
    if tensor._stop_gradient is not stop_gradient:
        tensor._set_stop_gradient(stop_gradient)
    if tensor._sharing is not None:
        with GradModeBlock(True):
            for view in _alive(tensor._sharing.views):
                if data_only:
                    set_data(view, _view_of(view).of_parent().data)
                else:
                    made = _view_of(view).of_parent()
                    become(view, made.data, made._node, made._index, made._stop_gradient)
    _show_in_peers(tensor)


def become_data(tensor: Tensor, data: np.ndarray[Any, Any]) -> None:
    """The same of new values only: its history stays."""
    set_data(tensor, data)
    _show_in_peers(tensor)


def _show_in_peers(tensor: Tensor) -> None:
    """Give what is detached from a Tensor that a run has written to its values: of earlier turns the run does not know.

    Peers that want gradients are written by the run itself.
    """
    if tensor._sharing is not None:
        for peer in _alive(tensor._sharing.peers):
            if peer._stop_gradient and peer.data is not tensor.data:
                set_data(peer, tensor.data)


def _refresh(tensor: Tensor) -> None:
    """Derive the view `tensor`, and its views, anew."""
    _rebind(tensor, _view_of(tensor).of_parent())
    for view in _alive(_sharing(tensor).views):
        _refresh(view)


def _view_of(tensor: Tensor) -> View:
    """How `tensor`, which is a view, was made."""
    view = _sharing(tensor).view
    assert view is not None
    return view


def _replace(tensor: Tensor, data: np.ndarray[Any, Any]) -> None:
    """Put another array into `tensor`."""
    before = tensor.data
    tensor.data = data
    tensor.version += 1
    if tensor._kind is not None and (data.shape != before.shape or data.dtype != before.dtype):
        tensor._kind = None


def set_data(tensor: Tensor, data: np.ndarray[Any, Any]) -> None:
    """Give `tensor` and its views new values; their history stays."""
    if tensor._node is not None:
        tensor._node.note_write(tensor, tensor._index)
    _replace(tensor, data)
    leaf = tensor._leaf
    if leaf is not None and (leaf.spec.shape != data.shape or leaf.spec.dtype != data.dtype):
        leaf.spec = tensor.spec
    shared = tensor._sharing
    if shared is not None:
        for view in _alive(shared.views):
            set_data(view, _view_of(view).of_parent().data)
