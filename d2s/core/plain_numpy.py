"""NumPy for generated code: the same functions under the same names, found at a fifth of the cost.

Python remembers where a name stands in a module, except in one that computes names on demand (``__getattr__``), as
NumPy does.  Every line of generated code looks up one.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

# Submodules that NumPy imports on demand, and that d2s has imported.
_ON_DEMAND = ("fft", "linalg", "random")


def _plain(module: ModuleType) -> ModuleType:
    plain = ModuleType(module.__name__, module.__doc__)
    plain.__dict__.update((name, thing) for name, thing in vars(module).items() if name != "__getattr__")
    plain.__dict__.update((name, getattr(module, name)) for name in _ON_DEMAND)
    return plain


PLAIN_NUMPY = _plain(np)
