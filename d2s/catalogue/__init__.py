"""The kinds of failure that d2s reports, by the id that ends the first line of a message.

    >>> find("D2S-H01").title
    'A hook on a tensor that stops gradients'
    >>> find("g05").fix
    'Reduce the tensor (`sum`, `mean`), or pass `grad_tensor`.'
"""

from d2s.catalogue import control_flow, failed_tests, gradients, objects, operands, programs, runs, states, tracing
from d2s.catalogue.kind import Kind

__all__ = ["KINDS", "Kind", "find"]

_PARTS = (operands, gradients, states, tracing, control_flow, objects, programs, runs, failed_tests)
# Classes in this order, and each in the order of its ids.
_BY_CLASS: dict[str, list[Kind]] = {}
for _part in _PARTS:
    for _kind in _part.KINDS:
        _BY_CLASS.setdefault(_kind.error, []).append(_kind)
KINDS = {kind.id: kind for kinds in _BY_CLASS.values() for kind in sorted(kinds, key=lambda kind: kind.name)}


def find(id: str) -> Kind:
    """The entry of an id, with or without ``D2S-``, in large or small letters.

    Raises
    ------
    KeyError
        If no kind of failure has this id.
    """
    return KINDS["D2S-" + id.upper().removeprefix("D2S-")]
