"""Tensors that control flow chose among several: after ``y = a if c else b`` a write to `y` is one to `a` or to `b`.

Reading is right without more ado, see `d2s.static.aliases`.  A write would have to reach whoever else still holds the
tensor chosen, so it is refused as long as there is somebody.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator

from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.static.variable import Variable

_LINKS = "_d2s_chosen"


def note(chosen: Variable, sources: Iterable[Variable]) -> None:
    """Note that `chosen` is, or shares values with, one of `sources` when the Program runs."""
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


def check_unshared(variable: Variable) -> None:
    """Raise if a write to `variable` may be one to another tensor that is still in use."""
    if next(_alive(variable), None) is not None:
        raise UnsupportedSyntaxError(
            "an in-place write to a tensor that is one of several, known only when the Program runs, cannot become a "
            "graph", user_location(), "Write to a clone of it.",
            kind="U12",
        )


__all__ = ["check_unshared", "note"]
