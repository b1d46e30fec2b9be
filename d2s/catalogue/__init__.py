"""The kinds of failure that d2s reports, by the id that ends the first line of a message.

    >>> find("D2S-H01").title
    'A hook on a tensor that stops gradients'
    >>> find("g05").fix
    'Reduce the tensor (`sum`, `mean`), or pass `grad_tensor`.'
"""

from d2s.catalogue import gradients, operands, programs, syntax, tracing
from d2s.catalogue.kind import Kind

__all__ = ["KINDS", "Kind", "find"]

KINDS = {
    kind.id: kind
    for kinds in (operands.KINDS, gradients.KINDS, tracing.KINDS, syntax.KINDS, programs.KINDS)
    for kind in kinds
}


def find(id: str) -> Kind:
    """The entry of an id, with or without ``D2S-``, in large or small letters.

    Raises
    ------
    KeyError
        If no kind of failure has this id.
    """
    return KINDS["D2S-" + id.upper().removeprefix("D2S-")]
