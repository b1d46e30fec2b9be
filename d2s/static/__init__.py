"""Static mode: Programs, how they are built, differentiated, compiled and run."""

from d2s.static import nn
from d2s.static.build_strategy import BuildStrategy
from d2s.static.declaration import create_global_var, create_parameter, data
from d2s.static.default_programs import (
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
)
from d2s.static.gradients import append_backward, gradients
from d2s.static.input_spec import InputSpec
from d2s.static.program import Program
from d2s.static.python_function import py_func
from d2s.static.run import Executor
from d2s.static.variable import Variable

__all__ = [
    "BuildStrategy",
    "Executor",
    "InputSpec",
    "Program",
    "Variable",
    "append_backward",
    "create_global_var",
    "create_parameter",
    "data",
    "default_main_program",
    "default_startup_program",
    "gradients",
    "name_scope",
    "nn",
    "program_guard",
    "py_func",
]
