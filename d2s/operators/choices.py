"""Tensors that control flow chose among several: after ``y = a if c else b`` a write to `y` is one to `a` or to `b`.

Reading is right without more ado, see `d2s.static.aliases`.  A write reaches whoever else holds the tensor chosen:
each of them becomes what is written, if it is the same tensor in the run.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable

from d2s.core.spec import Dim, Shape, TensorSpec
from d2s.static.program import Value
from d2s.static.variable import Variable

_LINKS = "_d2s_chosen"
_VIEWS = "_d2s_chosen_views"
_DETACHED = "_d2s_chosen_detached"
_CARRIED = "_d2s_carried"


def note(chosen: Variable, sources: Iterable[Variable], views: Iterable[Variable] = ()) -> None:
    """Note that `chosen` is, or shares values with, one of `sources` when the Program runs; it may be one of `views`.

    Only views are kept alive: by them something else can be written to, even if nobody else has the view itself.
    """
    for source in sources:
        for other in (source, *may_be(source)):
            if other is not chosen:
                # By identity, each once: what is chosen among chosen ones shares their sources.
                chosen.__dict__.setdefault(_LINKS, {})[id(other)] = weakref.ref(other)
                other.__dict__.setdefault(_LINKS, {})[id(chosen)] = weakref.ref(chosen)
        for view in views_of(source):
            chosen.__dict__.setdefault(_VIEWS, {})[id(view)] = view
    for view in views:
        chosen.__dict__.setdefault(_VIEWS, {})[id(view)] = view


def note_detached(chosen: Variable, sources: Iterable[Variable]) -> None:
    """Note that `chosen` may be detached from one of `sources`, or they from it: they share values, and no more."""
    for source in sources:
        for other in (source, *may_be(source)):
            if other is not chosen:
                chosen.__dict__.setdefault(_DETACHED, {})[id(other)] = weakref.ref(other)
                other.__dict__.setdefault(_DETACHED, {})[id(chosen)] = weakref.ref(chosen)


def may_be_detached(variable: Variable) -> list[Variable]:
    """Those still in use of which it has been noted."""
    return _alive(variable.__dict__.get(_DETACHED))


def note_carried(chosen: Variable) -> None:
    """Note that turns of a loop choose `chosen`: what it is now, it may have become in an earlier turn."""
    chosen.__dict__[_CARRIED] = True


def is_carried(variable: Variable) -> bool:
    """True if turns of a loop have chosen what it is."""
    return _CARRIED in variable.__dict__


def may_be(variable: Variable) -> list[Variable]:
    """Those still in use that may be the same tensor as `variable`, or share values with it."""
    return _alive(variable.__dict__.get(_LINKS))


def _alive(links: dict[int, weakref.ref[Variable]] | None) -> list[Variable]:
    if not links:
        return []
    alive = []
    for key, reference in tuple(links.items()):
        other = reference()
        if other is None:
            del links[key]
        else:
            alive.append(other)
    return alive


def views_of(chosen: Variable) -> Collection[Variable]:
    """The views that `chosen` may be."""
    found: dict[int, Variable] = chosen.__dict__.get(_VIEWS, {})
    return found.values()


def joined_spec(first: Value, second: Value) -> TensorSpec | None:
    """What two tensors that may take one place have in common, if anything: sizes that differ become unknown."""
    assert first.spec is not None and second.spec is not None
    if first.spec == second.spec:
        return first.spec
    if first.spec.dtype != second.spec.dtype or first.spec.ndim != second.spec.ndim:
        return None
    shape: Shape = tuple(
        a if a == b else Dim() for a, b in zip(first.spec.shape, second.spec.shape, strict=True))
    return TensorSpec(shape, first.spec.dtype)


def may_replace(first: Value, second: Value) -> bool:
    """True unless it is known that two values are not one tensor."""
    assert first.spec is not None and second.spec is not None
    return first.spec.dtype == second.spec.dtype and first.spec.ndim == second.spec.ndim and all(
        a == b or not (isinstance(a, int) and isinstance(b, int))
        for a, b in zip(first.spec.shape, second.spec.shape, strict=True))


__all__ = [
    "is_carried",
    "joined_spec",
    "may_be",
    "may_be_detached",
    "may_replace",
    "note",
    "note_carried",
    "note_detached",
    "views_of",
]
