"""Static mode: `to_static` and what belongs to it."""

from d2s.jit.concrete import ConcreteProgram
from d2s.jit.function import StaticFunction, enable_to_static, not_to_static, to_static
from d2s.operators.policy import ignore_module

__all__ = ["ConcreteProgram", "StaticFunction", "enable_to_static", "ignore_module", "not_to_static", "to_static"]
