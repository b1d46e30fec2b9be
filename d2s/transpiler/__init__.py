"""Source to source: a function becomes one whose control flow goes through named operators.

A library of its own: tree in, tree out.  It knows no runtime; what the operators mean is supplied when the function is
loaded.  Under `PythonOperators` a converted function does exactly what the original does.
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
