"""Gradients that a traced function asks for, recorded as the operators that compute them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from d2s.core.interpreter import GradModeBlock, use_interpreter
from d2s.static.backward import Backward
from d2s.static.backward_regions import Gradient
from d2s.static.builder import StaticInterpreter
from d2s.static.program import Block, Operator, Program, Value
from d2s.static.variable import Variable


class InnerGradients(Backward):
    """Derives gradients like `Backward`, but into the Program itself, where neither hooks nor regions are on the way.

    They can be differentiated in their turn, as the operators of a function of the user.

    Parameters
    ----------
    record : StaticInterpreter
    path : sequence of Operator
        The ops on the way, in the order of the Program.
    wanted : iterable of Value
    """

    may_follow = True

    def __init__(self, record: StaticInterpreter, path: Sequence[Operator], wanted: Iterable[Value]) -> None:
        wanted = tuple(wanted)
        # Nothing else is looked at: a function may ask for many gradients.
        super().__init__(Program(record.program.name, Block((), list(path))), Program(), wanted, range(len(wanted)))
        self.record = record
        # Contributions are summed up here, at inputs as at any other value.
        self.edges = {}
        self.requested = wanted
        self.found: dict[Value, Gradient] = {}

    def derive(
        self, targets: Sequence[Variable], seeds: Sequence[Variable], with_history: bool
    ) -> dict[Value, Value]:
        """Record the gradients of the wanted values.

        Parameters
        ----------
        targets, seeds : sequence of Variable
            Where to start, with the gradients there.
        with_history : bool
            True if the gradients are to be differentiated.
        """
        grads: dict[Value, Gradient] = {}
        with GradModeBlock(with_history), use_interpreter(self.record):
            for target, seed in zip(targets, seeds, strict=True):
                self.accumulate(grads, target.value, Gradient(self.record.value_of(seed)))
            for operator in reversed(self.forward.operators):
                location = operator.location
                with self.record.at(None if location is None else replace(location, of_gradient=True)):
                    self.operator(operator, grads)
        found = {value: grads[value] for value in self.requested if value in grads} | self.found
        return {value: gradient.value for value, gradient in found.items()}

    def hooked(self, value: Value, g: Gradient | None, operator: Operator) -> Gradient | None:
        if g is not None and value in self.requested:
            self.found[value] = g
        return g
