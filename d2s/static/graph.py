"""What records a Program that is built by hand: its variables have names, shapes may have unknown sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from d2s.core.spec import Dim, TensorSpec, as_dtype, is_floating
from d2s.errors import (
    DTypeError,
    HookError,
    ProgramError,
    ShapeError,
    TracingError,
    UnsupportedSyntaxError,
    user_location,
)
from d2s.static.builder import StaticInterpreter
from d2s.static.program import Operator, Program, Value
from d2s.static.variable import ObjectVariable, Variable


class GraphInterpreter(StaticInterpreter):
    """Records ops into a Program that the user builds by hand, and knows its variables by name.

    It is also what `Program.global_block()` gives: there is one block that users add variables to.

    Attributes
    ----------
    feeds : dict of str to Value
        The inputs made by `data`.
    gradients : dict of str to Value
        Gradients by the name of their variable, ``x@GRAD``.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.feeds: dict[str, Value] = {}
        self.gradients: dict[str, Value] = {}
        self._named: dict[str, Variable] = {}
        self.differentiated: set[Value] = set()
        self.plans: dict[Any, Any] = {}
        # What parameters are after the step of an optimizer.
        self.stepped: set[Value] = set()

    advice = (
        "Fetch it: Executor().run(program, feed, fetch_list) gives its values; or let the Program compute with it, by "
        "operators, static.nn.cond, static.nn.while_loop or static.py_func.")

    def value_needed(self, error: TracingError) -> ProgramError:
        # No TypeError: in the place of such an error `"%d" % v` and its like raise one of their own, in other words.
        return ProgramError(error.message, error.location, self.advice, kind="P11")

    def check_readable(self, variable: Variable, use: str) -> None:
        raise variable._concrete(use)

    def known_if_possible(self, size: Any) -> None:
        """Nothing: no size of a Program that is built by hand becomes known."""

    def while_loop(self, cond: Any, body: Any, loop_vars: Sequence[Any]) -> list[Any]:
        """``static.nn.while_loop(...)`` for code of d2s that records."""
        from d2s.static import regions

        return regions.loop(self, cond, body, loop_vars)

    def method_call(self, variable: Variable, name: str, *args: Any) -> Any:
        if name in ("retain_grads", "_register_backward_hook"):
            return super().method_call(variable, name, *args)
        shown = "grad" if name.startswith("__") else f"{name}()"
        raise UnsupportedSyntaxError(
            f"{shown} of {variable.name}, a variable of a Program that is built by hand: nothing has been computed yet",
            user_location(), "static.append_backward(loss) and static.gradients(targets, inputs) give gradients as "
            "variables, which can be fetched.", kind="U01")

    # --- variables ---------------------------------------------------------------------------------------------

    def add_input(self, name: str, spec: TensorSpec, stop_gradient: bool) -> Variable:
        """A new input of the Program under exactly this name."""
        if name in self._named or self.names.fresh(name) != name:
            raise ProgramError(
                f"{self.program.name} has a variable named {name!r} already", user_location(),
                kind="P03",
            )
        variable = self._named[name] = Variable(self, Value(name, spec, stop_gradient))
        self.program.block.inputs += (variable.value,)
        return variable

    def create_var(
        self, name: str | None = None, shape: Sequence[Any] = (), dtype: Any = "float32", stop_gradient: bool = False,
        **ignored: Any,
    ) -> Variable:
        """Declare a variable that an operator will define later: a result of `py_func`."""
        spec = TensorSpec(sizes_of(shape), as_dtype(dtype))
        value = self.new_value(name or "variable", spec, stop_gradient)
        return self._named.setdefault(value.name, Variable(self, value))

    def lift(self, tensor: Any) -> Variable:
        found = self.captured.get(id(tensor))
        if found is not None:
            return self._named[found[1].name]
        return self.capture(tensor, self.names.fresh(self.name_of_capture(tensor)))

    def capture(self, tensor: Any, name: str) -> Variable:
        """The variable for a tensor that lives outside: each run reads its values."""
        value = Value(name, tensor.spec, tensor.stop_gradient)
        self.captured[id(tensor)] = (tensor, value)
        self.program.block.inputs += (value,)
        variable = self._named[name] = Variable(self, value)
        return variable

    def var(self, name: str) -> Variable:
        """The variable named `name`.

        Raises
        ------
        ProgramError
            If there is none.
        """
        found = self.find(name)
        if found is None:
            raise ProgramError(f"{self.program.name} has no variable named {name!r}", kind="P03")
        return self._named[name] if name in self._named else Variable(self, found)

    def find(self, name: str) -> Value | None:
        """The value of a variable, of a gradient, or of any tensor that an operator gives."""
        if name in self._named:
            return self._named[name].value
        if name in self.gradients:
            return self.gradients[name]
        outputs = (value for operator in self.program.operators for value in operator.outputs)
        return next((value for value in outputs if value.is_tensor and value.name == name), None)

    def variables(self) -> list[Variable]:
        """The variables of all tensors in the outermost block, in order."""
        results = (value for operator in self.program.operators for value in operator.outputs)
        values = dict.fromkeys(value for value in (*self.program.inputs, *results) if value.is_tensor)
        return [self._named.get(value.name, Variable(self, value)) for value in values]

    def all_parameters(self) -> list[Variable]:
        """Variables of the tensors from outside that require a gradient."""
        return [self._named[value.name] for _, value in self.captured.values() if not value.stop_gradient]

    def outer_tensor(self, given: Any) -> Any:
        """The tensor from outside that `given`, a variable for one or itself one, stands for; None if there is none."""
        if not isinstance(given, Variable):
            return given
        known = (tensor for tensor, value in self.captured.values() if self._named[value.name] is given)
        return next(known, None)

    def outer_variable(self, tensor: Any) -> Variable | None:
        """The variable for a tensor from outside, if the Program uses that tensor."""
        found = self.captured.get(id(tensor))
        return None if found is None else self._named[found[1].name]

    def minimize(
        self, optimizer: Any, loss: Variable, parameters: Any, no_grad_set: Any
    ) -> list[tuple[Variable, Variable]]:
        """Record the gradients of `loss`, and a step of `optimizer` with them; the parameters and their gradients."""
        # It needs what records gradients, which needs this module.
        from d2s.static.minimizing import minimized

        return minimized(self, optimizer, loss, parameters, no_grad_set)

    def bound(self, variable: Variable) -> Value:
        self.check_not_stepped(variable)
        return super().bound(variable)

    def check_not_stepped(self, variable: Variable) -> None:
        """Refuse to compute with a parameter behind the step of an optimizer: its gradient would not be whole."""
        if variable.value in self.stepped:
            raise ProgramError(
                f"{variable.value.name} is used behind minimize(), which changes it", user_location(),
                "Record everything that uses the parameters before minimize().", kind="P04")

    def trainable_tensors(self) -> list[Any]:
        """The tensors from outside that require a gradient."""
        return [tensor for tensor, value in self.captured.values() if not value.stop_gradient]

    def in_scope(self, value: Value) -> bool:
        return value in self.program.block.inputs or super().in_scope(value)

    def rebind(self, variable: Variable, value: Value) -> None:
        defined = self.definitions.get(variable.value)
        # What is only declared is defined now, where it is needed.
        if self.is_nested and self.in_scope(variable.value) and variable.value not in self.block.inputs and (
                defined is None or defined[1] is not self.block):
            raise ProgramError(
                f"{variable.name} is written in place inside of a branch or loop, and was made outside of it",
                user_location(), "Return the new value from the function instead.", kind="P10",
            )
        super().rebind(variable, value)

    def size_of(self, value: Value, axis: int) -> ObjectVariable:
        return UnknownSize(self, value, axis)

    def set_stop_gradient(self, variable: Variable, flag: bool) -> None:
        value = variable.value
        if flag == value.stop_gradient or value not in self.program.block.inputs:
            super().set_stop_gradient(variable, flag)
            return
        if any(value in operator.reads() for operator in self.program.all_operators()):
            raise ProgramError(
                f"stop_gradient of {value.name} cannot change once an operator has used it", user_location(),
                "Set it directly after the variable is made.",
                kind="P04",
            )
        if not flag and not is_floating(variable.dtype):
            raise DTypeError(f"{variable.dtype.name} cannot require gradients ({value.name})", user_location())
        new = dataclasses.replace(value, stop_gradient=flag)
        inputs = self.program.block.inputs
        self.program.block.inputs = tuple(new if held is value else held for held in inputs)
        self.feeds = {name: new if held is value else held for name, held in self.feeds.items()}
        self.captured = {
            key: (tensor, new if held is value else held) for key, (tensor, held) in self.captured.items()
        }
        variable.value = self._named[value.name].value = new

    # --- hooks -------------------------------------------------------------------------------------------------

    def register_hook(self, variable: Variable, hook: Any) -> ObjectVariable:
        if variable.value in self.differentiated:
            raise HookError(
                f"a hook on {variable.name} comes too late: the gradient of {variable.name} is computed above",
                user_location(), "Register it before append_backward() or gradients().",
                kind="H02",
            )
        return super().register_hook(variable, hook)

    def _hook_point_of_input(self, value: Value, point: Value) -> Value:
        # Hooks belong to the run: registered anew in each, they never pile up on a tensor from outside.
        added = Operator("hook_point", (value,), (point,), effect=True)
        top = self.program.block
        top.operators.insert(0, added)
        self.definitions[point] = (added, top)
        self.hook_points[value] = point
        return point


class UnknownSize(ObjectVariable):
    """A size that is known only when the Program runs; it looks like -1, and computes with the real one."""

    __slots__ = ("_axis", "_of")

    def __init__(self, interpreter: StaticInterpreter, of: Value, axis: int) -> None:
        self.interpreter = interpreter
        self._of = of
        self._axis = axis

    @property
    def value(self) -> Value:  # type: ignore[override]
        """The size as a value of the Program; read where it is used."""
        return StaticInterpreter.size_of(self.interpreter, self._of, self._axis).value

    def __eq__(self, other: object) -> Any:
        if type(other) is int:
            return other == -1
        return super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        if type(other) is int:
            return other != -1
        return super().__ne__(other)

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return "-1"

    __repr__ = __str__


def sizes_of(shape: Sequence[Any]) -> tuple[int | Dim, ...]:
    """A shape in which None and -1 stand for any size, as sizes of a spec."""
    sizes: list[int | Dim] = []
    for size in shape:
        if size is None or isinstance(size, UnknownSize) or size == -1:
            sizes.append(Dim())
        elif type(size) is int and size >= 0:
            sizes.append(size)
        else:
            raise ShapeError(f"a size must be a number from 0 on, or None or -1 for any, got {list(shape)}")
    return tuple(sizes)


def spec_text(spec: TensorSpec) -> str:
    """A spec in which -1 stands for any size."""
    sizes = ", ".join(str(size) if isinstance(size, int) else "-1" for size in spec.shape)
    return f"{spec.dtype.name}[{sizes}]"


def recorder_of(program: Program) -> GraphInterpreter:
    """What records into a Program that is built by hand.

    Raises
    ------
    ProgramError
        If the Program was traced.
    """
    if program.recorder is None:
        if program.operators or program.inputs:
            raise ProgramError(
                f"{program.name} was traced from a function: nothing can be added to it by hand",
                kind="P05",
            )
        program.recorder = GraphInterpreter(program)
    found: GraphInterpreter = program.recorder
    return found
