"""Ops whose result shows (part of) their first argument: a write in place to one is seen in the other."""

from __future__ import annotations

# These move elements without dropping any: the gradient rule of such an op is its inverse.
REARRANGING = frozenset({"reshape", "transpose"})
# These show a part; it can be put back only for `getitem`, by `setitem`.
SELECTING = frozenset({"getitem", "split", "unbind"})
VIEW_OPS = REARRANGING | SELECTING | {"detach"}


def gives_view(name: str, operands: int) -> bool:
    """True if the op `name` of this many operands gives a view; index tensors and masks pick elements: a copy."""
    return name in VIEW_OPS and (name != "getitem" or operands == 1)
