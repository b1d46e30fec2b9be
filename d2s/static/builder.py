"""The static interpreter: ops are recorded as operators of a Program under construction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from d2s.core.arrays import as_array, fitting, no_operand, several_elements
from d2s.core.interpreter import TensorBase, bind, state
from d2s.core.op import Op
from d2s.core.spec import TensorSpec, as_dtype, check_same_shape, is_floating, spec_of
from d2s.errors import (
    D2SError,
    DTypeError,
    LeafError,
    Location,
    ShapeError,
    TracingError,
    UnsupportedSyntaxError,
    operator_location,
    user_location,
)
from d2s.ops.casting import cast_op, fit_op
from d2s.ops.promotion import dtype_with_number
from d2s.static.program import Block, Names, Operator, Program, Value, Write, map_values, values_in
from d2s.static.tensor_objects import TensorObjects
from d2s.static.variable import ObjectVariable, Variable, dim_of


class StaticInterpreter(TensorObjects):
    """Records ops into the blocks of one Program.

    Attributes
    ----------
    program : Program
    captured : dict
        Eager tensors that became inputs, by identity, with their Value.
    """

    priority = 10
    checks_nan = False
    # What to do where Python needs a value; None: what a function that is traced may do.
    advice: str | None = None
    # True if code is followed on each path where Python needs to know what only the run knows.
    follows_decisions = False
    # Which time of following code this is, where code is followed several times.
    run: Any = None

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = Names()
        self.captured: dict[int, tuple[Any, Value]] = {}
        self.may_stop: set[Value] = set()
        self.may_be_outer: set[Value] = set()
        self.definitions: dict[Value, tuple[Operator, Block]] = {}
        self._blocks: list[Block] = [program.block]
        self._materialised: dict[Value, Value] = {}
        # Values that have, or may have, become Tensor objects.
        self.left: set[Value] = set()
        self.hook_points: dict[Value, Value] = {}
        # What the turns being recorded begin with, one set for each loop around.
        self.turn_inputs: list[set[Value]] = []
        self._known_location: Location | None = None

    # --- values and blocks -------------------------------------------------------------------------------------

    @property
    def block(self) -> Block:
        """The block that operators go to now."""
        if not self._blocks:
            raise TracingError(
                "a symbolic tensor is used when the Program runs: an object that the trace has made holds it",
                user_location(), "Make the object outside of the function.", kind="T03")
        return self._blocks[-1]

    @property
    def is_nested(self) -> bool:
        """True inside of blocks."""
        return len(self._blocks) > 1

    @contextmanager
    def new_block(self, inputs: tuple[Value, ...] = ()) -> Iterator[Block]:
        """Collect the operators recorded inside in a block of their own."""
        block = Block(inputs)
        self._blocks.append(block)
        try:
            yield block
        finally:
            self._blocks.pop()

    def in_scope(self, value: Value) -> bool:
        """True if `value` is defined in a block around the current place."""
        if value.is_constant:
            return True
        found = self.definitions.get(value)
        if found is not None:
            return any(found[1] is block for block in self._blocks)
        return any(value in block.inputs for block in self._blocks) or any(
            value in inputs for inputs in self.turn_inputs)

    def new_value(
        self, base: str, spec: TensorSpec | None, stop_gradient: bool = True, kind: type | None = None,
        maybe_missing: str | None = None,
    ) -> Value:
        """A Value with a fresh name."""
        return Value(self.names.fresh(base), spec, stop_gradient, kind=kind, maybe_missing=maybe_missing)

    def constant(self, value: Any) -> Value:
        """A Value known while the Program is built."""
        spec = spec_of(value) if isinstance(value, np.ndarray | np.generic) else None
        return Value(self.names.fresh("c"), spec, True, value, True, type(value))

    def emit(
        self,
        kind: str,
        inputs: tuple[Value, ...],
        outputs: tuple[Value, ...],
        attrs: dict[str, Any] | None = None,
        op: Op | None = None,
        effect: bool = False,
        blocks: tuple[Block, ...] = (),
    ) -> Operator:
        """Append an operator to the current block."""
        location = self._known_location or operator_location()
        found = Operator(kind, inputs, outputs, attrs or {}, op, effect, blocks, location)
        self.block.operators.append(found)
        for output in outputs:
            self.definitions[output] = (found, self.block)
        return found

    @contextmanager
    def recording_into(self, block: Block) -> Iterator[None]:
        """Append what is recorded inside to an existing block."""
        self._blocks.append(block)
        try:
            yield
        finally:
            self._blocks.pop()

    @contextmanager
    def at(self, location: Location | None) -> Iterator[None]:
        """Give operators recorded inside this location (gradient operators carry that of the op they belong to)."""
        if location is not None and location.called is not None:
            # What rules call is not what the user has called.
            location = replace(location, called=None)
        before, self._known_location = self._known_location, location
        try:
            yield
        finally:
            self._known_location = before

    def value_of(self, arg: Any) -> Value:
        """The Value that an argument of an op stands for."""
        if isinstance(arg, Variable):
            if arg.interpreter is not self:
                raise TracingError(
                    f"{arg!r} belongs to another Program: a symbolic tensor was kept after its function was traced",
                    user_location(),
                    kind="T03",
                )
            return self.bound(arg)
        if isinstance(arg, TensorBase):
            return self.bound(self.lift(arg))
        if isinstance(arg, np.ndarray | np.generic):
            return self.constant(arg)
        if isinstance(arg, ObjectVariable):
            return self.object_value(arg)
        if isinstance(arg, bool | int | float | complex):
            return self.constant(np.asarray(arg)[()])
        raise no_operand(arg)

    def bound(self, variable: Variable) -> Value:
        """The value of `variable`, checked at run time if some path leaves its name unbound."""
        value = variable.value
        if value.maybe_missing is not None:
            checked = self.new_value(value.name, value.spec, value.stop_gradient)
            value = self.emit(
                "check_bound", (value,), (checked,), {"name": value.maybe_missing}, effect=True
            ).outputs[0]
            self.note_chosen(value, (variable.value,))
        return value

    def object_value(self, symbol: ObjectVariable) -> Value:
        """The value of a symbolic object, checked as in `bound`."""
        value = symbol.value
        if value.maybe_missing is None:
            return value
        checked = self.new_value(value.name, None, kind=value.kind)
        return self.emit("check_bound", (value,), (checked,), {"name": value.maybe_missing}, effect=True).outputs[0]

    def lift(self, tensor: Any) -> Variable:
        """The Variable for an eager tensor that the graph uses: an input."""
        found = self.captured.get(id(tensor))
        if found is None:
            value = self.new_value(self.name_of_capture(tensor), tensor.spec, tensor.stop_gradient)
            self.captured[id(tensor)] = found = (tensor, value)
        return Variable(self, found[1])

    def name_of_capture(self, tensor: Any) -> str:
        """How a captured tensor is called in the Program."""
        name = tensor.__dict__.get("name") if hasattr(tensor, "__dict__") else None
        return str(name).replace(".", "_") if name else "captured"

    def is_leaf(self, value: Value) -> bool:
        """True if no operator computes `value`."""
        found = self.definitions.get(value)
        if found is None:
            return not any(value in inputs for inputs in self.turn_inputs)
        return found[0].kind == "leaf"

    def is_computed(self, value: Value) -> bool:
        """True if an op computes `value`.  Of what turns carry and branches choose only the run knows."""
        found = self.definitions.get(value)
        return found is not None and found[0].op is not None

    def has_no_history(self, value: Value) -> bool:
        """True if its tensor is a leaf: nothing computes it, or nothing through which gradients flow."""
        found = self.definitions.get(value)
        while found is not None and found[0].kind == "stop_gradient":
            value = found[0].inputs[0]
            found = self.definitions.get(value)
        return value.stop_gradient or self.is_leaf(value)

    # --- ops ---------------------------------------------------------------------------------------------------

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Record one op; its result is known by shape and dtype."""
        inputs = tuple(self.value_of(arg) for arg in args)
        if any(isinstance(value.kind, type) and not value.is_tensor for value in inputs):
            raise DTypeError(f"{op.name} needs tensors", user_location())
        attrs = {name: self._attribute(value) for name, value in attrs.items()}
        shown = {name: map_values(value, dim_of) for name, value in attrs.items()}
        specs = op.infer(*[value.spec for value in inputs], **shown)
        several = isinstance(specs, tuple)
        needs_grad = (
            state.grad_enabled
            and op.is_differentiable
            and any(not value.stop_gradient and op.differentiates(index) for index, value in enumerate(inputs))
        )
        outputs = tuple(
            self.new_value(op.name, spec, not (needs_grad and is_floating(spec.dtype)))
            for spec in (specs if several else (specs,))
        )
        emitted = self.emit(op.name, inputs, outputs, attrs, op, effect=op.random)
        emitted.several = several
        if self.may_stop and all(
            value.stop_gradient or value in self.may_stop for i, value in enumerate(inputs) if op.differentiates(i)
        ):
            self.may_stop.update(out for out in emitted.outputs if not out.stop_gradient)
        variables = tuple(Variable(self, value) for value in emitted.outputs)
        return variables if several else variables[0]

    def _attribute(self, tree: Any) -> Any:
        """An attribute with Values in place of symbolic numbers."""
        if isinstance(tree, ObjectVariable):
            return self.object_value(tree)
        if isinstance(tree, Variable):
            return self.item_value(tree)
        if isinstance(tree, list | tuple) and not hasattr(tree, "_fields"):
            return type(tree)(self._attribute(part) for part in tree)
        if isinstance(tree, slice):
            return slice(self._attribute(tree.start), self._attribute(tree.stop), self._attribute(tree.step))
        return tree

    def to_tensor(self, data: Any, dtype: Any, stop_gradient: bool) -> Variable:
        """`d2s.to_tensor` while a Program is built: a constant, or a copy of a symbolic value."""
        from d2s.ops.creation import assign
        from d2s.ops.joining import stack

        if isinstance(data, ObjectVariable):
            found = self.tensor_of_number(data, as_dtype(dtype or data.value.kind or float))
        elif isinstance(data, TensorBase):
            found = assign(data.detach())  # type: ignore[attr-defined]
        elif isinstance(data, list | tuple) and _holds_symbolic(data):
            parts = [self.to_tensor(part, dtype, True) for part in data]
            found = stack(parts)
        else:
            found = self._constant_tensor(data, dtype)
        if dtype is not None and found.dtype != as_dtype(dtype):
            found = found.astype(dtype)
        return found if stop_gradient else self.make_leaf(found)

    def _constant_tensor(self, data: Any, dtype: Any) -> Variable:
        array = as_array(data, dtype)
        value = self.new_value("constant", spec_of(array))
        return Variable(self, self.emit("constant", (self.constant(array),), (value,)).outputs[0])

    def make_leaf(self, variable: Variable) -> Variable:
        """A leaf that is made anew on each run from the values of `variable`, and wants a gradient."""
        if not is_floating(variable.dtype):
            raise DTypeError(
                f"only floating point and complex tensors can require gradients, got {variable.dtype.name}",
                advice="Cast it first: x.astype('float32').",
                kind="D02",
            )
        leaf = self.new_value("leaf", variable.spec, False)
        tensor = self.new_value(f"{leaf.name}@TENSOR", None, kind=TensorBase)
        leaf, tensor = self.emit("leaf", (self.bound(variable),), (leaf, tensor), effect=True).outputs
        self._materialised[leaf] = tensor
        return Variable(self, leaf)

    def set_stop_gradient(self, variable: Variable, flag: bool) -> None:
        """Set the flag of a variable; later uses see it, earlier ones do not."""
        if flag == variable.stop_gradient:
            return
        if not flag:
            defined = self.definitions.get(variable.value)
            if defined is not None and defined[0].kind == "stop_gradient":
                # What it was before, with its history.
                self.rebind(variable, defined[0].inputs[0])
                return
            leaf = self.make_leaf(variable)
            self.rebind(variable, leaf.value)
            return
        stopped = self.new_value(variable.value.name, variable.spec, True)
        self.rebind(variable, self.emit("stop_gradient", (self.bound(variable),), (stopped,)).outputs[0])

    def rebind(self, variable: Variable, value: Value) -> None:
        """Make `variable` name another value."""
        variable.value = value

    def assign_version(self, variable: Variable, new: Variable) -> None:
        """An in-place write to `variable`, whose result is `new`."""
        self.check_no_leaf(variable)
        self.note_write(variable.value, new.value, variable.value, self.maker(new.value))
        self.rebind(variable, new.value)

    def check_no_leaf(self, variable: Variable) -> None:
        """Raise ValueError if a write in place would give history to a leaf that requires a gradient."""
        if self.is_leaf(variable.value) and not variable.stop_gradient and state.grad_enabled:
            raise LeafError.of_write(variable.name)

    def note_write(
        self, old: Value, new: Value, kept: Value | None = None, through: Operator | None = None
    ) -> None:
        """Note that the operator that has just made `new` writes over `old`; the rest as in `Write`."""
        found = self.definitions.get(new)
        if found is not None:
            self.program.writes[found[0]] = Write(old, kept, through)

    def maker(self, value: Value) -> Operator | None:
        """The op that made `value`, behind casts and checks of its shape."""
        found = self.definitions.get(value)
        while found is not None and found[0].op in (cast_op, fit_op):
            found = self.definitions.get(found[0].inputs[0])
        return None if found is None else found[0]

    def set_value(self, variable: Variable, value: Any) -> None:
        """`variable.set_value(value)`."""
        from d2s.ops.creation import assign

        new = self.tensor_to_write(value, variable)
        written = assign(self.fitting(new.detach(), variable)).astype(variable.dtype)
        self.rebind(variable, self.value_of(written))

    def tensor_to_write(self, value: Any, variable: Variable) -> Any:
        """What `set_value` is given as a tensor; Python numbers that are known must fit the dtype of `variable`."""
        if isinstance(value, TensorBase):
            return value
        new = self._constant_tensor(value, None)
        check_same_shape(variable.spec, new.spec)
        known = self.known_value(new.value) if isinstance(value, int | float | list | tuple) else None
        if known is not None:
            fitting(known, variable.dtype)
        return new

    def fitting(self, value: Any, variable: Variable) -> Any:
        """`value`, whose shape must be that of `variable`; where only the run knows, it sees."""
        check_same_shape(variable.spec, value.spec)
        if value.spec.shape == variable.spec.shape:
            return value
        return bind(fit_op, value, variable, whole=True)

    def known_value(self, value: Value) -> Any:
        """The array of a value that is computed from constants only, or None."""
        if value.is_constant:
            return np.asarray(value.constant)
        found = self.definitions.get(value)
        if found is None:
            return None
        operator, arrays = found[0], [self.known_value(one) for one in found[0].inputs]
        if operator.kind in ("constant", "replace"):
            return arrays[-1]
        if operator.op is None or operator.op.random or operator.several or (
                any(one is None for one in arrays) or next(values_in(operator.attrs), None) is not None):
            return None
        return operator.op.forward(*arrays, **operator.attrs)

    # --- Python objects ----------------------------------------------------------------------------------------

    def size_of(self, value: Value, axis: int) -> ObjectVariable:
        """Size of one axis, read when the Program runs."""
        out = self.new_value("size", None, kind=int)
        return ObjectVariable(self, self.emit("size", (value,), (out,), {"axis": axis}).outputs[0])

    def item_value(self, variable: Variable, *index: int, use: str = "item()") -> Value:
        """The single element of a tensor as Python number, for `use`."""
        shape = variable.spec.shape
        if not index and math.prod(size for size in shape if isinstance(size, int)) != 1:
            raise ShapeError(several_elements(shape, use), kind="S02")
        kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[variable.dtype.kind]
        out = self.new_value("item", None, kind=kind)
        return self.emit("item", (self.bound(variable),), (out,), {"index": index, "use": use}).outputs[0]

    def truth_of(self, symbol: Variable | ObjectVariable, use: str = "bool()") -> Value:
        """What a condition on `symbol` tests: a Python object; of a tensor, its one element."""
        return self.object_value(symbol) if isinstance(symbol, ObjectVariable) else self.item_value(symbol, use=use)

    def scalar_of(self, variable: Variable, name: str, *index: int) -> ObjectVariable:
        """`variable.item()` as symbolic number."""
        return ObjectVariable(self, self.item_value(variable, *index))

    def tensor_of_array(self, array: ObjectVariable) -> Variable | None:
        """A symbolic NumPy array as tensor; None if the symbol is not known to be one."""
        return None

    def tensor_of_number(self, number: ObjectVariable, dtype: Any, beside: Any = None) -> Variable:
        """A symbolic Python number as 0-d tensor."""
        sample = (number.value.kind or float)() if number.value.kind in (int, float, bool, None) else 0.0
        wanted = dtype_with_number(np.dtype(dtype), sample)
        out = self.new_value("number", TensorSpec((), wanted))
        return Variable(self, self.emit("to_array", (self.object_value(number),), (out,), {"dtype": wanted}).outputs[0])

    def python_call(
        self,
        function: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        kind: type | None = None,
        effect: bool = False,
    ) -> ObjectVariable:
        """Call a Python function when the Program runs; tensors among the arguments are handed over as Tensors."""
        lowered = tuple(self.lower(arg) for arg in args)
        named = {name: self.lower(arg) for name, arg in (kwargs or {}).items()}
        template = (self.lower(function), lowered, named)
        out = self.new_value(_call_name(function), None, kind=kind)
        return ObjectVariable(self, self.emit("python", (), (out,), {"call": template}, effect=effect).outputs[0])

    def computed(self, function: Callable[[list[Any]], list[Any]], tensors: Sequence[Any]) -> list[Variable]:
        """What a function of arrays makes of tensors when the Program runs, of their forms; no gradient passes."""
        given = tuple(self.value_of(tensor) for tensor in tensors)
        out = tuple(self.new_value(value.name, value.spec, True) for value in given)

        def on_tensors(*found: Any) -> list[Any]:
            return function([tensor.data for tensor in found])

        self.emit("py_func", given, out, {"function": on_tensors, "backward": None, "skip": ()}, effect=True)
        return [Variable(self, value) for value in out]

    def check_readable(self, variable: Variable, use: str) -> None:
        """Called before the values of a tensor are read as something else, for `use`."""

    def list_of_values(self, variable: Variable) -> Any:
        """``variable.tolist()``."""
        return self.method_call(variable, "tolist")

    def method_call(self, variable: Variable, name: str, *args: Any) -> Any:
        """Call a method of the Tensor that `variable` stands for, when the Program runs."""
        return self.python_call(_call_method, (variable, name, *args), effect=True)

    def walk_from(self, function: Any, tensors: list[Any], **options: Any) -> Any:
        """Call `function` of d2s, which walks back from tensors, when the Program runs."""
        raise UnsupportedSyntaxError(
            f"{function.__name__}() of variables of a Program that is built by hand is not supported", user_location(),
            "Use static.append_backward or static.gradients.",
            kind="U03",
        )

    def gradients_of(self, function: Any, outputs: list[Any], inputs: list[Any], **options: Any) -> list[Any]:
        """The gradients that `function` gives for each of `inputs`."""
        found: list[Any] = self.walk_from(function, outputs, inputs=inputs, **options)
        return found

    def decide(self, symbol: Variable | ObjectVariable) -> bool:
        """`bool(symbol)` where Python needs the answer now."""
        raise self.value_needed(TracingError(
            f"Python needs the truth value of {symbol!r}, which is known only when the Program runs",
            user_location(), "Use tensor operators, or keep this function eager with @d2s.jit.not_to_static.",
            kind="T01"))

    def value_needed(self, error: TracingError) -> D2SError:
        """The error that says that Python needs a value while the Program is made, as it is said of this Program."""
        return error

    def needed_by_python(self, *symbols: Any) -> None:
        """Called before an error says that Python needs these values now."""

    def take_apart(self, value: Value) -> None:
        """Called before an error says that Python needs a value now: it may be known on each path by itself."""

    def register_hook(self, variable: Variable, hook: Any) -> ObjectVariable:
        """``variable.register_hook(hook)``."""
        return ObjectVariable(self, self.registration(variable, hook))


def _holds_symbolic(data: Any) -> bool:
    if isinstance(data, list | tuple):
        return any(_holds_symbolic(part) for part in data)
    return isinstance(data, TensorBase | ObjectVariable)


def _call_method(tensor: Any, name: str, *args: Any) -> Any:
    return getattr(tensor, name)(*args)


def _call_name(function: Callable[..., Any] | Any) -> str:
    name = getattr(function, "__name__", "call")
    return name.strip("_") if name.isidentifier() and name.strip("_") else "call"


