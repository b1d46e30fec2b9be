"""Static mode: `to_static` and what belongs to it."""

from d2s.jit import tensor_class as tensor_class
from d2s.jit.cache import set_cache_size
from d2s.jit.concrete import ConcreteProgram
from d2s.jit.decorators import not_to_static, to_static
from d2s.jit.function import StaticFunction, enable_to_static
from d2s.jit.loaded import LoadedLayer
from d2s.jit.save_load import load, save
from d2s.jit.settings import set_code_level, set_verbosity
from d2s.jit.tracebacks import show_internal_frames
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
    "set_cache_size",
    "set_code_level",
    "set_verbosity",
    "show_internal_frames",
    "to_static",
]
