"""Source to source: a function becomes one whose control flow goes through named operators.

A library of its own: tree in, tree out.  It knows no runtime; what the operators mean is supplied when the function is
loaded.  Under `PythonOperators` a converted function does exactly what the original does, except that

* ``__bool__`` of a Python object may be asked more often (``a and b`` as a condition is asked for its truth again);
* code that looks at frames from inside a branch or loop body (``warnings`` with a stack level, `inspect.stack`) sees
  the operators' frames, and a level of recursion inside a branch takes three frames instead of one;
* after a ``with`` whose manager swallowed an exception, a name that stayed unbound may raise NameError instead of its
  child UnboundLocalError.

Functions with ``yield`` or ``await``, and those that call ``locals()``, ``eval`` or ``exec``, keep their control flow.
"""

from d2s.transpiler.convert import (
    DEFAULT_PASSES,
    JIT_PASSES,
    Converted,
    convert,
    transpile,
    transpile_source,
)
from d2s.transpiler.interface import Operators, PythonOperators
from d2s.transpiler.source import SourceInfo

__all__ = [
    "DEFAULT_PASSES",
    "JIT_PASSES",
    "Converted",
    "Operators",
    "PythonOperators",
    "SourceInfo",
    "convert",
    "transpile",
    "transpile_source",
]
