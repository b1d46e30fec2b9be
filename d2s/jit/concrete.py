"""One compiled Program of a function, and when it may run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from d2s.core.locks import free_in_forks
from d2s.core.spec import default_dtype
from d2s.core.structure import STRUCTURE
from d2s.jit.entry import Entry, entry_of
from d2s.jit.trace import Traced
from d2s.static.executor import Compiled
from d2s.static.program import Program
from d2s.transpiler.convert import Prepared
from d2s.words import counted


class ConcreteProgram:
    """One compiled Program of a function: for one structure of arguments and one state of what it read.

    Attributes
    ----------
    main_program : Program
    inputs, outputs, parameters : list
        What the Program reads and returns.
    number : int
        Of its trace among those of the function, counted from 1; 0 until a cache holds it.
    """

    def __init__(self, traced: Traced, grad_mode: bool) -> None:
        self.traced = traced
        self.guards = traced.guards
        self.grad_mode = grad_mode
        self.dtype = default_dtype()
        # Of the Layers when their structure was looked at last.
        self.structure_version = -1
        self.number = 0

    def __repr__(self) -> str:
        program = self.main_program
        inputs = ", ".join(f"{value.name}: {value.spec}" for value in program.inputs if value.is_tensor)
        return f"<ConcreteProgram {program.name}({inputs}): {counted(len(program.operators), 'operator')}>"

    def _repr_html_(self) -> str:
        return self.main_program._repr_html_()

    _repr_svg_ = _repr_html_

    @property
    def main_program(self) -> Program:
        """The Program, printable."""
        return self.traced.compiled.program

    @property
    def inputs(self) -> list[Any]:
        """Inputs of the Program, captured tensors included."""
        return list(self.main_program.inputs)

    @property
    def outputs(self) -> list[Any]:
        """Tensors that leave the Program and can be differentiated."""
        return list(self.main_program.outputs)

    @property
    def parameters(self) -> list[Any]:
        """Tensors from outside that the Program reads and that require a gradient."""
        return [tensor for tensor in self.traced.fetch_captured({}) if not tensor.stop_gradient]

    @functools.cached_property
    def _check(self) -> Callable[[dict[str, Any]], bool]:
        return self.guards.live_check(self.grad_mode)

    @functools.cached_property
    def _check_structure(self) -> Callable[[dict[str, Any]], bool]:
        return self.guards.structural_check()

    def matches(self, args: dict[str, Any]) -> bool:
        """True if this Program may run for these arguments."""
        if not self._check(args):
            return False
        version = STRUCTURE.version
        if version != self.structure_version:
            # Which objects the Layers hold now is part of the other check.
            if not self._check_structure(args) or not self._check(args):
                return False
            self.structure_version = version
        return True

    @functools.cached_property
    def enter(self) -> Entry:
        """``enter(args)`` runs the Program; MISSED if it is not for these arguments."""
        return entry_of(self, self.traced.compiled)

    @functools.cached_property
    def enter_checked(self) -> Entry:
        """The same for the Program that looks for NaN."""
        return entry_of(self, self.traced.compiled.checked)

    def run(self, args: dict[str, Any]) -> Any:
        """Run the Program."""
        return self.enter(args, True)


free_in_forks(ConcreteProgram, Compiled, Prepared)
