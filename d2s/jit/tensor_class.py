"""What the user replaces in the class of tensors is replaced in all that was, or will be, traced.

A trace has called the methods of Tensor by what they were: it is dropped.  Symbols have the methods that they share
with Tensors in a class of their own, where d2s itself calls them as well: there they are replaced too.
"""

from __future__ import annotations

from typing import Any

from d2s.core import watched_class
from d2s.eager.tensor import Tensor
from d2s.jit.cache import drop_all
from d2s.operators.guards import ABSENT, lookup
from d2s.static.variable import Variable

# What both classes have from their bases.
_shared: dict[str, Any] = {
    name: found for name in dir(Variable)
    if name not in Variable.__dict__ and (found := lookup(Variable, name)) is lookup(Tensor, name)}


def _changed(cls: type, name: str) -> None:
    drop_all(f"{name} of the class {cls.__name__} was changed")
    if cls is not Tensor:
        return
    if name not in _shared and hasattr(object, name):
        return
    now = lookup(Tensor, name)
    if now is not _shared.get(name, ABSENT):
        # Methods that are new are found in the class of Tensors itself; for operators Python asks that of the symbol.
        if name in _shared or name.startswith("__"):
            setattr(Variable, name, now)
    elif name in Variable.__dict__:
        delattr(Variable, name)


watched_class.listeners.append(_changed)
