"""Where the ops ran that are differentiated inside of `detect_anomaly`."""

from __future__ import annotations

import weakref

from d2s.eager.tape import InteriorNode
from d2s.errors import AnomalyError, Location, user_location

_lines: weakref.WeakKeyDictionary[InteriorNode, Location] = weakref.WeakKeyDictionary()


def note_line(node: InteriorNode | None) -> None:
    """Take note that the op of `node` ran at the user's line that is executed now."""
    place = user_location()
    if node is not None and place is not None:
        _lines.setdefault(node, place)


def explain_in_backward(error: AnomalyError, node: InteriorNode) -> None:
    """Say of a NaN that came up while `node` was differentiated where its op ran; in a hook, it is the hook's."""
    if error.location is not None and error.location == user_location():
        error.place_at(_lines.get(node) or node.location or error.location, "in backward, ")
