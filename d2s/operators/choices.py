"""Tensors that control flow chose among several: after ``y = a if c else b`` a write to `y` is one to `a` or to `b`.

Reading is right without more ado, see `d2s.static.aliases`.  A write reaches whoever else holds the tensor chosen:
each of them becomes what is written, if it is the same tensor in the run.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator

from d2s.core.spec import Dim, Shape, TensorSpec
from d2s.static.program import Value
from d2s.static.variable import Variable

_LINKS = "_d2s_chosen"
_KEPT = "_d2s_chosen_of"


def note(chosen: Variable, sources: Iterable[Variable]) -> None:
    """Note that `chosen` is, or shares values with, one of `sources` when the Program runs."""
    sources = list(sources)
    # A view by which something else can be written to, even if nobody else has the view itself.
    chosen.__dict__.setdefault(_KEPT, []).extend(sources)
    for source in sources:
        for other in (source, *_alive(source)):
            if other is not chosen:
                # By identity, each once: what is chosen among chosen ones shares their sources.
                chosen.__dict__.setdefault(_LINKS, {})[id(other)] = weakref.ref(other)
                other.__dict__.setdefault(_LINKS, {})[id(chosen)] = weakref.ref(chosen)


def _alive(variable: Variable) -> Iterator[Variable]:
    for reference in list(variable.__dict__.get(_LINKS, {}).values()):
        other = reference()
        if other is not None:
            yield other


def may_be(variable: Variable) -> list[Variable]:
    """Those still in use that may be the same tensor as `variable`, or share values with it."""
    return list(_alive(variable))


def sources_of(chosen: Variable) -> Iterator[Variable]:
    """What `chosen` may be, as far as it was given: sources of sources too."""
    seen = {id(chosen)}
    stack = [chosen]
    while stack:
        for source in stack.pop().__dict__.get(_KEPT, ()):
            if id(source) not in seen:
                seen.add(id(source))
                stack.append(source)
                yield source


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


__all__ = ["joined_spec", "may_be", "may_replace", "note", "sources_of"]
