"""Tensors of what is no symbol of a tensor: objects of the run, numbers, lists and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.interpreter import state
from d2s.core.op import Op
from d2s.core.spec import Dim, TensorSpec, is_floating, spec_of
from d2s.errors import TracingError, user_location
from d2s.operators.containers import ContainerReader
from d2s.operators.late_arrays import LateArrays
from d2s.operators.run_time import checked_number, spread_to
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable, Variable


class TensorsOfObjects(ContainerReader):
    """Makes tensors of them.

    Attributes
    ----------
    late_arrays : LateArrays
        The arrays of which the content is known only when the Program runs.
    object_specs : dict of Value to TensorSpec
        Objects of the run that are Tensors of which it is known what they are: gradients, and multiples of them.
    taken_values : set of Value
        Values read from containers of the run: what else they are is not known.
    """

    late_arrays: LateArrays
    object_specs: dict[Value, TensorSpec]
    taken_values: set[Value]

    # --- tensors that are objects of the run ---------------------------------------------------------------------

    def taken(
        self, thing: ObjectVariable, spec: TensorSpec, stop_gradient: bool, may_stop: bool = False
    ) -> Variable:
        """The values of a Tensor that the run has in a container, with its history.

        With `may_stop`, only the run knows whether it has a gradient.
        """
        made = self.new_value("element", spec, stop_gradient)
        reference = self.new_value("place", None)
        made = self.emit("taken", (thing.value,), (made, reference), {"spec": spec}, effect=True).outputs[0]
        self._materialised[made] = self.hook_points[made] = thing.value
        self.taken_values.add(made)
        if may_stop:
            self.may_stop.add(made)
        return Variable(self, made)

    def taken_together(
        self, op: Op, things: Any, attrs: dict[str, Any], spec: TensorSpec, stop_gradient: bool
    ) -> Variable:
        """What `op` makes of all Tensors in a list of the run."""
        stops = stop_gradient or not state.grad_enabled or not is_floating(spec.dtype)
        made, references = self.new_value(op.name, spec, stops), self.new_value("places", None)
        made = self.emit(
            "taken_all", (self.lower(things),), (made, references), {"op": op, "attrs": attrs}, effect=True).outputs[0]
        return Variable(self, made)

    # --- tensors of numbers and arrays ---------------------------------------------------------------------------

    def tensor_of_number(self, number: ObjectVariable, dtype: Any, beside: Any = None) -> Variable:
        kind = number.value.kind
        spec = self.object_specs.get(number.value)
        if spec is not None:
            # A gradient is a tensor like others: with `stop_gradient` as the run has set it, or not.
            return self.taken(number, spec, not state.grad_enabled, may_stop=True)
        if number.value in self.elements and isinstance(beside, Variable) and is_floating(dtype):
            return self._like(number, beside, TensorSpec(beside.spec.shape, dtype))
        self.refuse_element(number.value)
        if kind is None and is_floating(dtype):
            # Whatever number it is, the result has the dtype of the tensor.
            number = self.python_call(checked_number, (number,), kind=float, effect=True)
        elif kind not in (int, float, bool, complex):
            raise _unknown(number)
        return super().tensor_of_number(number, dtype, beside)

    def _like(self, thing: ObjectVariable, beside: Variable, spec: TensorSpec) -> Variable:
        """A number or tensor that only the run knows, in the shape of the tensor `beside`: they are combined."""
        shape = spec.shape if spec.is_static else self.python_call(getattr, (beside, "shape"))
        spread = self.python_call(spread_to, (thing, shape, spec.dtype), effect=True)
        return self.taken(spread, spec, not state.grad_enabled, may_stop=True)

    def tensor_of_array(self, array: ObjectVariable) -> Variable | None:
        sample = self.late_arrays.array(array)
        return None if sample is None else Variable(self, self.late_arrays.value_of(array, spec_of(sample)))

    def to_tensor(self, data: Any, dtype: Any, stop_gradient: bool) -> Variable:
        spec = self.late_arrays.spec(data, dtype)
        if spec is not None:
            made = Variable(self, self.late_arrays.value_of(data, spec, dtype))
            return made if stop_gradient else self.make_leaf(made)
        if isinstance(data, ObjectVariable) and data.value.kind not in (int, float, bool, complex):
            raise _unknown(data)
        return super().to_tensor(data, dtype, stop_gradient)

    def _constant_tensor(self, data: Any, dtype: Any) -> Variable:
        if self.late_arrays.has_older(data):
            # The caller's array: its content is read on each call.
            return Variable(self, self.late_arrays.value_of(data, spec_of(as_array(data, dtype)), dtype))
        return super()._constant_tensor(self.snapshot_deeply(data), dtype)

    def value_of(self, arg: Any) -> Value:
        if isinstance(arg, np.ndarray) and self.is_outer(arg):
            # The caller's array: its content is read on each call.
            return self.late_arrays.value_of(arg, spec_of(arg))
        return super().value_of(arg)

    def tensor_of_list(self, data: Any, dtype: Any, spec: TensorSpec) -> Variable:
        """The tensor of a list of numbers of the run; `spec` is what it would be for one of them."""
        return Variable(self, self.late_arrays.value_of(data, TensorSpec((Dim(),), spec.dtype), dtype))

    def array_of(self, value: Value) -> Value:
        """The NumPy array of a value as Python object."""
        out = self.new_value("array", None, kind=np.ndarray)
        return self.emit("array_of", (value,), (out,)).outputs[0]


def _unknown(symbol: ObjectVariable) -> TracingError:
    return TracingError(
        f"a tensor of a value that is known only when the Program runs ({symbol.value.name}): its shape and dtype are "
        "not known", user_location(), "Make the tensor outside, or use the random ops of d2s.", kind="T04")
