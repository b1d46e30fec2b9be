"""Gradients in a Program that is built by hand: recorded into the Program itself, as Variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from d2s.core.interpreter import GradModeBlock, TensorBase, use_interpreter
from d2s.errors import GradientError, ProgramError, ShapeError, user_location
from d2s.ops.creation import ones_like
from d2s.static.backward import Backward
from d2s.static.backward_regions import Gradient
from d2s.static.graph import GraphInterpreter, recorder_of
from d2s.static.program import Operator, Program, Value, walk_operators
from d2s.static.variable import Variable
from d2s.words import counted


def append_backward(
    loss: Variable, parameter_list: Sequence[Any] | None = None, no_grad_set: Iterable[Any] | None = None,
    callbacks: Any = None, checkpoints: Sequence[Any] | None = None, distop_context: Any = None,
) -> list[tuple[Variable, Variable]]:
    """
    Add the gradients of `loss` to its Program.

    Hooks registered on variables run in it, each once, on the complete gradient of its variable.

    Parameters
    ----------
    loss : Variable
        One element.
    parameter_list : sequence of Variable, Parameter or str, optional
        The parameters to give the gradients of; by default all that require one and that `loss` depends on.
    no_grad_set : set of Variable, Parameter or str, optional
        Variables through which no gradient passes.
    callbacks, distop_context : None
        Not supported.
    checkpoints : sequence of Variable or str, optional
        What is to be kept for backward.  No result depends on it, and d2s keeps what backward reads in any case.

    Returns
    -------
    list of (parameter, gradient)
        The gradient of any input `x` that requires one can also be fetched as ``"x@GRAD"``.

    Raises
    ------
    ShapeError
        If `loss` is not known to have one element.
    GradientError
        If `loss` stops gradients.
    """
    recorder = _recorder(loss)
    for name, given in (("callbacks", callbacks), ("distop_context", distop_context)):
        if given is not None:
            raise ProgramError(f"append_backward does not support {name}", user_location(), kind="P07")
    for kept in checkpoints or ():
        _variable(recorder, kept)
    if any(size != 1 for size in loss.spec.shape):
        raise ShapeError(f"the loss must have one element, {loss.name} is {loss.spec}", user_location(),
                         "Reduce it first (loss.mean()), or use gradients().", kind="S02")
    if loss.stop_gradient:
        raise GradientError(
            f"{loss.name} stops gradients: nothing it depends on requires one", user_location(),
            kind="G03",
        )
    leaves = [value for value in recorder.program.inputs if not value.stop_gradient]
    found = _derive(recorder, [loss], [None], leaves, no_grad_set)
    if parameter_list is None:
        parameters = recorder.all_parameters()
    else:
        parameters = [_variable(recorder, given) for given in parameter_list]
    return [(parameter, found[parameter.value]) for parameter in parameters if parameter.value in found]


def gradients(
    targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Iterable[Any] | None = None
) -> list[Variable | None]:
    """
    Add the gradients of the sum of `targets` with respect to `inputs` to their Program.

    Parameters
    ----------
    targets : Variable or sequence of Variable
    inputs : Variable, Parameter or name, or a sequence of them
    target_gradients : Variable or sequence of Variable or None, optional
        Gradient of the final value with respect to each target; ones by default.
    no_grad_set : set of Variable, Parameter or str, optional
        Variables through which no gradient passes.

    Returns
    -------
    list of Variable or None
        One per input; None where `targets` do not depend on it, or it stops gradients.
    """
    targets, inputs = _listed(targets), _listed(inputs)
    seeds = [None] * len(targets) if target_gradients is None else _listed(target_gradients)
    if len(seeds) != len(targets):
        raise GradientError(
            f"got {counted(len(targets), 'target')} but {len(seeds)} target_gradients", user_location(),
            kind="G06",
        )
    for target, seed in zip(targets, seeds, strict=True):
        if seed is not None and not _may_be_same(seed, target):
            raise ShapeError(
                f"the gradient of {target.name} is {seed.spec}, expected {target.spec}", user_location(),
                kind="S04",
            )
    if not targets or not inputs:
        return [None] * len(inputs)
    recorder = _recorder(targets[0])
    wanted = [_wanted(recorder, given) for given in inputs]
    found = _derive(recorder, targets, seeds, [value for value in wanted if value is not None], no_grad_set)
    return [None if value is None else found.get(value) for value in wanted]


def _wanted(recorder: GraphInterpreter, given: Any) -> Value | None:
    """The value of an input of `gradients`; None for a tensor that the Program does not use."""
    if isinstance(given, TensorBase) and not isinstance(given, Variable):
        found = recorder.outer_variable(given)
        if found is None:
            return None
        given = found
    variable = _variable(recorder, given)
    recorder.check_not_stepped(variable)
    return variable.value


def _may_be_same(first: Variable, second: Variable) -> bool:
    sizes = zip(first.spec.shape, second.spec.shape, strict=False)
    return first.spec.ndim == second.spec.ndim and first.dtype == second.dtype and all(
        a == b or not (isinstance(a, int) and isinstance(b, int)) for a, b in sizes)


def _derive(
    recorder: GraphInterpreter, targets: Sequence[Variable], seeds: Sequence[Variable | None],
    wanted: Sequence[Value], no_grad_set: Iterable[Any] | None,
) -> dict[Value, Variable]:
    blocked = {_variable(recorder, given).value for given in no_grad_set or ()}
    return _GradientsInPlace(recorder, wanted, blocked).derive(targets, seeds)


class _GradientsInPlace(Backward):
    """Derives gradients like `Backward`, but into the Program itself: no gradient leaves it on the way."""

    record: GraphInterpreter
    may_follow = True

    def __init__(self, recorder: GraphInterpreter, wanted: Sequence[Value], blocked: set[Value]) -> None:
        program = recorder.program
        super().__init__(program, Program(), wanted, range(len(wanted)))
        self.record = recorder
        self.requested = list(dict.fromkeys(wanted))
        self.blocked = blocked
        self.found: dict[Value, Variable] = {}
        self.ending: dict[Operator | None, list[Value]] = {}
        self.reached: set[Operator] = set()
        # Contributions are summed up here, at inputs as at any other value.
        self.edges = {}
        captured = self._captured()
        for operator in program.all_operators():
            if operator.kind == "call_hooks":
                # Hooks may use any tensor from outside, also those that have come to the Program since.
                operator.inputs = (*operator.inputs[:2], *captured)
            elif operator.kind == "through_hooks":
                _check_known(operator, [value for value in captured if value in self.requested])

    def _captured(self) -> tuple[Value, ...]:
        """The tensors from outside that require a gradient."""
        return tuple(value for _, value in self.record.captured.values() if not value.stop_gradient)

    def derive(self, targets: Sequence[Variable], seeds: Sequence[Variable | None]) -> dict[Value, Variable]:
        """Record the gradients; those of the requested values."""
        recorder, grads = self.record, dict[Value, Gradient]()
        # Not the gradients that are recorded now.
        operators = tuple(self.forward.operators)
        self.ending = self._ends(operators, [target.value for target in targets])
        with GradModeBlock(True), use_interpreter(recorder):
            for target, seed in zip(targets, seeds, strict=True):
                given = ones_like(target) if seed is None else seed
                self.accumulate(grads, target.value, Gradient(recorder.value_of(given)))
            self._finish_inputs(None, grads)
            for operator in reversed(operators):
                with recorder.at(operator.location):
                    if operator in self.reached:
                        self.operator(operator, grads)
                    self._finish_inputs(operator, grads)
        recorder.gradients.update((f"{value.name}@GRAD", gradient.value) for value, gradient in self.found.items())
        return self.found

    def _ends(
        self, operators: Sequence[Operator], targets: Sequence[Value]
    ) -> dict[Operator | None, list[Value]]:
        """The inputs whose gradient is complete once an operator has been visited; None: before the first."""
        last: dict[Value, Operator | None] = dict.fromkeys(targets)
        for operator in reversed(operators):
            if any(out in last for one in _all_in(operator) for out in one.outputs):
                self.reached.add(operator)
                # The first argument is finished first.
                for value in dict.fromkeys(self._sources(operator)):
                    last.pop(value, None)
                    last[value] = operator
        found: dict[Operator | None, list[Value]] = {}
        made = {out for operator in operators for out in operator.outputs}
        for value, ending in last.items():
            if value in self.requested and value not in made:
                found.setdefault(ending, []).append(value)
        return found

    def _sources(self, operator: Operator) -> Iterator[Value]:
        """Values to which an operator may contribute."""
        for one in _all_in(operator):
            for index, value in enumerate(one.inputs):
                if self.needs(value) and (one.op is None or one.op.differentiates(index)):
                    yield value
            for block in one.blocks:
                yield from filter(self.needs, block.outputs)

    def _finish_inputs(self, operator: Operator | None, grads: dict[Value, Gradient]) -> None:
        """The inputs to which `operator` was the last to contribute."""
        for value in self.ending.get(operator, ()):
            if value in grads:
                self._finish_input(value, grads.pop(value))

    def add(self, grads: dict[Value, Gradient], value: Value, g: Gradient) -> None:
        assert value not in self.found, f"a contribution to {value.name} after its hooks"
        super().add(grads, value, g)

    def _finish_input(self, value: Value, g: Gradient) -> None:
        """The complete gradient of an input: its hooks, and those that a tensor from outside has of its own."""
        tensor = next((held for held, known in self.record.captured.values() if known is value), None)
        if tensor is not None:
            g = self._call_hooks(value, g, self.record.materialise(value))
        self.hooked(value, g, None)

    def hooked(self, value: Value, g: Gradient | None, operator: Operator | None) -> Gradient | None:
        point = self.hook_points.get(value)
        if point is not None and operator is not None and len(operator.outputs) > 1 and not value.stop_gradient:
            # The operator was reached: hooks of an output that received nothing see zeros.
            g = Gradient((self.zeros_like(value) if g is None else self.or_zeros(g, value)).value)
        if g is None:
            return None
        self.record.differentiated.add(value)
        if point is not None:
            g = self._call_hooks(value, g, point)
        if value in self.requested:
            self.found[value] = Variable(self.record, g.value)
        return g

    def _call_hooks(self, value: Value, g: Gradient, point: Value) -> Gradient:
        # What hooks make of a gradient may depend on tensors from outside.
        out = self.record.new_value(f"{value.name}@GRAD", value.spec, False)
        attrs = {"output": None, "name": value.name}
        self.record.emit("call_hooks", (g.value, point), (out,), attrs, effect=True)
        return Gradient(out, g.certain)


    def propagate(self, operator: Operator, grads: dict[Value, Gradient]) -> None:
        is_of_user = operator.kind == "py_func" and "backward" not in operator.attrs
        if operator.kind == "reversed_turns" or is_of_user:
            what = "been computed by the backward function of a py_func" if is_of_user else "gone back through a loop"
            raise GradientError(
                f"a gradient that has {what} cannot be differentiated in a Program that is built by hand",
                operator.location, "Use to_static and grad(..., create_graph=True).", kind="G10")
        super().propagate(operator, grads)


def _check_known(operator: Operator, tensors: Sequence[Value]) -> None:
    """Refuse to differentiate what has been differentiated through hooks with respect to tensors that came later."""
    missing = next((value for value in tensors if value not in operator.inputs), None)
    if missing is not None:
        raise GradientError(
            f"{missing.name} has come to the Program after gradients were taken through hooks, which may use it",
            user_location(), "Use it in the Program before.", kind="G10")


def _all_in(operator: Operator) -> Iterator[Operator]:
    """An operator and those inside of it: earlier gradients may have read what these have computed."""
    yield operator
    for block in operator.blocks:
        yield from walk_operators(block)


def _recorder(variable: Any) -> GraphInterpreter:
    if not isinstance(variable, Variable):
        raise GradientError(
            f"expected a Variable of a Program, got {type(variable).__name__}", user_location(),
            kind="G11",
        )
    return recorder_of(variable.interpreter.program)


def _variable(recorder: GraphInterpreter, given: Any) -> Variable:
    """A variable given as itself, by its name, or as the tensor from outside that it stands for."""
    if isinstance(given, Variable):
        return given
    if isinstance(given, TensorBase):
        return recorder.lift(given)
    if not isinstance(given, str):
        raise GradientError(
            f"expected a Variable of a Program, a Parameter or a name, got {type(given).__name__}", user_location(),
            kind="G11")
    return recorder.var(given)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]
