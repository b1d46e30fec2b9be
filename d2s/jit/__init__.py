"""Static mode: `to_static` and what belongs to it."""

from d2s.jit.concrete import ConcreteProgram
from d2s.jit.function import StaticFunction, enable_to_static, not_to_static, to_static
from d2s.jit.loaded import LoadedLayer
from d2s.jit.save_load import load, save
from d2s.operators.policy import ignore_module

__all__ = [
    "ConcreteProgram",
    "LoadedLayer",
    "StaticFunction",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "to_static",
]
