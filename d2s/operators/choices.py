"""Tensors that control flow chose among several: after ``y = a if c else b`` a write to `y` is one to `a` or to `b`.

Reading is right without more ado, see `d2s.static.aliases`.  A write reaches whoever else holds the tensor chosen:
each of them becomes what is written, if it is the same tensor in the run.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from d2s.core.spec import Dim, Shape, TensorSpec
from d2s.static.program import Value
from d2s.static.variable import Variable

_ONE = "_d2s_one"
_SHARING = "_d2s_chosen"
_VIEWS = "_d2s_chosen_views"
_DETACHED = "_d2s_chosen_detached"
_DETACHED_SOURCES = "_d2s_chosen_detached_sources"
_ALTERNATIVES = "_d2s_alternatives"


def note(chosen: Variable, source: Variable, kin: Iterable[Variable] = (), is_view: bool = False) -> None:
    """Note that `chosen` may be `source` when the Program runs, which shares values with `kin`, and may be a view.

    Only views are kept alive: by them something else can be written to, even if nobody else has the view itself.
    """
    _join(chosen, source, _ONE)
    for relative in (source, *kin):
        _join(chosen, relative, _SHARING)
        for view in views_of(relative):
            chosen.__dict__.setdefault(_VIEWS, {})[id(view)] = view
    if is_view:
        chosen.__dict__.setdefault(_VIEWS, {})[id(source)] = source


class Origin:
    """A tensor that was not chosen itself, and all that may be that tensor, or share its values.

    Each is held here once, whatever else it may be: where turns are traced again and again there are many.
    """

    __slots__ = ("_members",)

    def __init__(self, tensor: Variable) -> None:
        self._members = {id(tensor): weakref.ref(tensor)}

    def join(self, chosen: Variable) -> None:
        self._members[id(chosen)] = weakref.ref(chosen)

    def members(self) -> dict[int, Variable]:
        """Those still in use, by identity."""
        return _alive(self._members)


@dataclass
class _Origins:
    """What a tensor is the origin of, if it is one, and which origins it has."""

    own: Origin | None = None
    others: dict[int, Origin] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Origin]:
        if self.own is not None:
            yield self.own
        yield from self.others.values()


def _join(chosen: Variable, source: Variable, kind: str) -> None:
    """Let `chosen` have the origins that `source` has, or is."""
    known = source.__dict__.setdefault(kind, _Origins())
    if known.own is None and not known.others:
        known.own = Origin(source)
    mine = chosen.__dict__.setdefault(kind, _Origins())
    for origin in tuple(known):
        if origin is not mine.own and id(origin) not in mine.others:
            mine.others[id(origin)] = origin
            origin.join(chosen)


def origins_of(variable: Variable) -> Iterator[Origin]:
    """What tensors `variable` may be, or share values with, and who else may: all of `may_be`, and itself."""
    yield from variable.__dict__.get(_SHARING, ())


def _others(variable: Variable, kind: str) -> list[Variable]:
    """Those still in use that have an origin of `variable`, or are one."""
    found: dict[int, Variable] = {}
    for origin in variable.__dict__.get(kind, ()):
        found.update(origin.members())
    found.pop(id(variable), None)
    return list(found.values())


def _link(chosen: Variable, other: Variable) -> None:
    if other is not chosen:
        chosen.__dict__.setdefault(_DETACHED, {})[id(other)] = weakref.ref(other)
        other.__dict__.setdefault(_DETACHED, {})[id(chosen)] = weakref.ref(chosen)


def note_detached(chosen: Variable, source: Variable, kin: Collection[Variable]) -> None:
    """Note that `chosen`, which may be `source`, shares values and no history with the `kin` of that."""
    for relative in kin:
        for other in (relative, *may_be_one(relative)):
            _link(chosen, other)
    for other in may_be_detached(source):
        _link(chosen, other)
    sources = chosen.__dict__.setdefault(_DETACHED_SOURCES, {})
    sources.update(source.__dict__.get(_DETACHED_SOURCES, {}))
    if kin:
        sources[id(source)] = source


def may_be_detached(variable: Variable) -> list[Variable]:
    """Those still in use of which it has been noted."""
    return list(_alive(variable.__dict__.get(_DETACHED, {})).values())


def may_be_one(variable: Variable) -> list[Variable]:
    """Those still in use that may be the same tensor as `variable`."""
    return _others(variable, _ONE)


def may_be(variable: Variable) -> list[Variable]:
    """Those still in use that may be the same tensor as `variable`, or share values with it."""
    return _others(variable, _SHARING)


def _alive(links: dict[int, weakref.ref[Variable]]) -> dict[int, Variable]:
    """Those still in use; the others are forgotten."""
    found: dict[int, Variable] = {}
    gone = []
    for key, reference in links.items():
        other = reference()
        if other is None:
            gone.append(key)
        else:
            found[key] = other
    for key in gone:
        del links[key]
    return found


def views_of(chosen: Variable) -> Collection[Variable]:
    """The views that `chosen` may be."""
    found: dict[int, Variable] = chosen.__dict__.get(_VIEWS, {})
    return found.values()


def hidden_sources(chosen: Variable) -> Collection[Variable]:
    """What `chosen` may be that shares values with other tensors: where it is known, a write to it reaches these."""
    return [*views_of(chosen), *chosen.__dict__.get(_DETACHED_SOURCES, {}).values()]


def note_alternatives(chosen: Variable, sources: list[Variable]) -> None:
    """Note that `chosen` is one of `sources`, of which some are views, and nothing else: all are kept alive."""
    chosen.__dict__[_ALTERNATIVES] = sources


def alternatives_of(chosen: Variable) -> list[Variable]:
    """All that `chosen` may be, if that has been noted."""
    found: list[Variable] = chosen.__dict__.get(_ALTERNATIVES, [])
    return found


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
    "Origin",
    "alternatives_of",
    "hidden_sources",
    "joined_spec",
    "may_be",
    "may_be_detached",
    "may_be_one",
    "may_replace",
    "note",
    "note_alternatives",
    "note_detached",
    "origins_of",
    "views_of",
]
