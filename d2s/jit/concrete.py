"""One compiled Program of a function, and when it may run."""

from __future__ import annotations

from typing import Any

from d2s.core.interpreter import state
from d2s.core.spec import default_dtype
from d2s.core.structure import STRUCTURE
from d2s.jit.run_program import CallNode, Run
from d2s.jit.step_run import step_run
from d2s.jit.trace import Traced
from d2s.static.failures import in_the_users_terms
from d2s.static.numeric_errors import silently
from d2s.static.program import Program
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
        self._check = traced.guards.live_check(grad_mode)
        self._check_structure = traced.guards.structural_check()
        self._structure_version = -1
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

    def matches(self, args: dict[str, Any]) -> bool:
        """True if this Program may run for these arguments."""
        if not self._check(args):
            return False
        version = STRUCTURE.version
        if version != self._structure_version:
            # Which objects the Layers hold now is part of the other check.
            if not self._check_structure(args) or not self._check(args):
                return False
            self._structure_version = version
        return True

    def run(self, args: dict[str, Any]) -> Any:
        """Run the Program."""
        traced = self.traced
        compiled = traced.compiled.checked if state.current.checks_nan else traced.compiled  # type: ignore[union-attr]
        tensors = traced.fetch(args)
        objects = () if traced.fetch_objects is None else traced.fetch_objects(args)
        step = compiled.step
        run: Run | CallNode | None = None if step is None else step_run(compiled, step, tensors)
        function = compiled.forward if run is None or step is None else step.run
        if run is None:
            run = CallNode(compiled, tensors) if compiled.is_differentiable else Run(tensors)
        try:
            return silently(function, run, *objects)
        except Exception as error:
            explained = in_the_users_terms(error, function)
            if explained is error:
                raise
            raise explained.with_traceback(error.__traceback__) from error
