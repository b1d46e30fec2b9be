"""Gradient rules as straight code.

A gradient rule is written in ops, and for equal shapes, dtypes and attributes it always calls the same ones.  So its
ops are noted once, and written as one Python function over arrays: the same functions on the same arrays in the same
order, without a Tensor in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from d2s.core import interpreter
from d2s.core.arrays import is_in_order
from d2s.core.interpreter import Interpreter, TensorBase, default_interpreter, use_interpreter
from d2s.core.op import Op, filled, is_one_call
from d2s.core.plain_numpy import PLAIN_NUMPY
from d2s.core.spec import TensorSpec, spec_of
from d2s.ops.reduction import unbroadcast

Function = Callable[..., tuple[Any, ...]]


class Straight:
    """The gradient rules of an op as straight code.

    Attributes
    ----------
    function : callable
        ``function(*gradients, *outputs, *saved inputs)`` gives the gradients of the inputs, None where none is wanted.
    specs : list of TensorSpec or None
        Of these.
    """

    __slots__ = ("function", "specs")

    def __init__(self, function: Function, specs: list[TensorSpec | None]) -> None:
        self.function = function
        self.specs = specs

# Memory costs more than a look at the order of the elements from this many bytes on.
_LARGE = 1 << 14
_PLAIN = frozenset({int, bool, str, type(None), type(Ellipsis)})
_SCALARS = frozenset({np.dtype(code).type for code in "?bhilqBHILQefdFD"})


class NotExact(Exception):
    """A value that cannot be told apart by a key."""


def exactly(value: Any) -> Any:
    """A key that tells constants and attributes apart, to the bit."""
    kind = type(value)
    if kind in _SCALARS:
        number = value.item()
        # Real numbers other than zeros and NaN are told apart by `==`, which is faster than their bytes.
        return kind, number if number and number == number and type(number) is not complex else value.tobytes()
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, value.hex()
    if kind is tuple or kind is list:
        return kind, *[exactly(part) for part in value]
    if kind is slice:
        return kind, exactly(value.start), exactly(value.stop), exactly(value.step)
    if isinstance(value, np.dtype):
        return value
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is not None and kind.__module__.startswith("d2s.ops."):
        return kind, *[exactly(getattr(value, name)) for name in fields]
    raise NotExact


class _Notes:
    """The interpreter that computes as always and notes the ops of one rule."""

    priority = 0
    checks_nan = False
    # A rule that looks at values cannot be written as straight code.
    reads_later = True

    def __init__(self) -> None:
        self.steps: list[_Step] = []
        # The number of each array so far, by the Tensor that holds it; they are kept, so that no identity comes again.
        self.numbers: dict[int, int] = {}
        self.held: list[Any] = []
        self._inside = False

    def number(self, tensor: Any) -> int:
        number = self.numbers[id(tensor)] = len(self.held)
        self.held.append(tensor)
        return number

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        computing: Interpreter = default_interpreter()
        if self._inside:
            # Part of the forward function of another op.
            return computing.process(op, args, attrs)
        self._inside = True
        try:
            result = computing.process(op, args, attrs)
        finally:
            self._inside = False
        operands: list[Any] = []
        specs = []
        for arg in args:
            if isinstance(arg, TensorBase):
                operands.append(self.numbers[id(arg)])
                specs.append(arg.spec)  # type: ignore[attr-defined]
            else:
                exactly(arg)
                operands.append(_Constant(arg))
                specs.append(spec_of(np.asarray(arg)))
        inferred = op.infer(*specs, **attrs)
        several = type(result) is tuple
        if op.random or not all(spec.is_static for spec in (inferred if several else (inferred,))):
            raise NotExact
        outputs = [self.number(part) for part in (result if several else (result,))]
        self.steps.append(_Step(op, operands, specs, attrs, outputs, several))
        return result


class _Constant:
    """An operand that is no tensor."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Step:
    """One op of a rule: operands and outputs by number."""

    __slots__ = ("attrs", "op", "operands", "outputs", "several", "specs")

    def __init__(
        self, op: Op, operands: list[Any], specs: list[TensorSpec], attrs: dict[str, Any], outputs: list[int],
        several: bool,
    ) -> None:
        self.op = op
        self.operands = operands
        self.specs = specs
        self.attrs = attrs
        self.outputs = outputs
        self.several = several


def written(
    op: Op, attrs: dict[str, Any], needs: tuple[bool, ...], grads: Sequence[Any], inputs: Sequence[Any], out: Any
) -> Straight | None:
    """The gradient rules of an op as straight code, found by running them once; None if that cannot be.

    Parameters
    ----------
    grads : sequence of Tensor
        Of all outputs.
    inputs : sequence
        Tensors, specs of those whose values are not read, and constants.
    out : array, tuple of arrays or None
        The result, if the rules read it.
    """
    rules = op.rules if op.joint_rule is None else (op.joint_rule,)
    if not all(rule is None or getattr(rule, "__module__", "").startswith("d2s.ops.") for rule in rules):
        # A rule of the user may do something else tomorrow.
        return None
    try:
        writer = _noted(op, attrs, needs, grads, inputs, out)
    except Exception:
        # It asks for values, or fails: as ops it says so itself.
        return None
    held = writer.notes.held
    return Straight(writer.function(), [None if number is None else held[number].spec for number in writer.results])


def from_parts(rest: Op, attrs: dict[str, Any], inputs: Sequence[TensorSpec]) -> Straight:
    """The gradient of an op with respect to its first input, the only one that has any, from what `forward` has kept.

    The function gets the gradient of the result and the parts; see `Op.share`.
    """
    function, nothing = rest.forward, (None,) * (len(inputs) - 1)
    return Straight(lambda *arrays: (function(*arrays, **attrs), *nothing), [inputs[0], *nothing])


def _noted(
    op: Op, attrs: dict[str, Any], needs: tuple[bool, ...], grads: Sequence[Any], inputs: Sequence[Any], out: Any
) -> _Writer:
    notes = _Notes()

    def own(array: Any) -> Any:
        tensor = interpreter.wrap(array)
        notes.number(tensor)
        return tensor

    g = tuple(own(grad.data) for grad in grads)
    own_out = tuple(map(own, out)) if type(out) is tuple else None if out is None else own(out)
    own_inputs = [own(interpreter.unwrap(value)) if isinstance(value, TensorBase) else value for value in inputs]
    count = len(notes.held)
    results: list[int | None] = []
    with use_interpreter(notes):
        found = op.gradients(g[0] if len(g) == 1 else g, own_out, own_inputs, attrs, needs)
        for grad, value in zip(found, inputs, strict=True):
            results.append(None if grad is None else notes.numbers[id(unbroadcast(grad, tuple(value.shape)))])
    return _Writer(notes, count, results)


class _Writer:
    """Writes what was noted of one rule as a function."""

    def __init__(self, notes: _Notes, count: int, results: list[int | None]) -> None:
        self.notes = notes
        self.count = count
        self.results = results
        self.namespace: dict[str, Any] = {"np": PLAIN_NUMPY}
        self.last: dict[int, int] = {}
        for position, step in enumerate(notes.steps):
            for operand in step.operands:
                if type(operand) is int:
                    self.last[operand] = position
        self.last |= dict.fromkeys([number for number in results if number is not None], len(notes.steps))

    def function(self) -> Function:
        """The function; where arrays are large, one that writes over those that nothing reads any more."""
        plain = self._compiled(self._lines(set()))
        buffers = self._own_arrays()
        lines = self._lines(buffers)
        if not any("out=" in line for line in lines):
            return plain
        in_place = self._compiled(lines)

        def chosen(*arrays: np.ndarray[Any, Any]) -> tuple[Any, ...]:
            # A new array would lie in memory as its operands do.
            for array in arrays:
                if not (array.flags.c_contiguous or is_in_order(array)):
                    return plain(*arrays)
            return in_place(*arrays)

        return chosen

    def _own_arrays(self) -> set[int]:
        """Large arrays that the function makes, that it shows nobody, and that lie in order if what it gets does."""
        in_order, own = set(range(self.count)), set[int]()
        for step in self.notes.steps:
            operands = [operand for operand in step.operands if type(operand) is int]
            if not step.op.is_fresh:
                # What it gives may share memory with what it got.
                own.difference_update(operands)
            if step.op.in_order and in_order.issuperset(operands):
                in_order.update(step.outputs)
                if step.op.is_fresh:
                    own.update(number for number in step.outputs if _is_large(self.notes.held[number].data))
        return own

    def _lines(self, own: set[int]) -> list[str]:
        lines = [f"def gradients({', '.join(f'v{number}' for number in range(self.count))}):"]
        for position, step in enumerate(self.notes.steps):
            names = "".join(f"v{number} = " for number in step.outputs)
            if step.several:
                names = ", ".join(f"v{number}" for number in step.outputs) + ", = "
            lines.append(f"    {names}{self._call(step, self._buffer(position, step, own))}")
        shown = []
        for number in self.results:
            name = f"v{number}"
            if number is not None and number >= self.count and not self.notes.held[number].data.ndim:
                name = f"np.asarray({name})"
            shown.append("None" if number is None else name)
        lines.append(f"    return ({', '.join(shown)},)")
        return lines

    def _buffer(self, position: int, step: _Step, own: set[int]) -> int | None:
        """An array that `step` is the last to read, and may write its result to."""
        if step.op.out != "in place" or step.several or step.op.scratch:
            return None
        result = self.notes.held[step.outputs[0]].data
        for number in step.operands:
            if type(number) is int and number in own and self.last[number] == position:
                array = self.notes.held[number].data
                if array.shape == result.shape and array.dtype == result.dtype:
                    return number
        return None

    def _call(self, step: _Step, buffer: int | None) -> str:
        pattern = step.op.expression(step.specs, step.attrs)
        operands = [
            f"v{operand}" if type(operand) is int else self._constant(operand.value, pattern is not None)
            for operand in step.operands
        ]
        if pattern is not None and (buffer is None or is_one_call(pattern)):
            text = filled(pattern, operands, lambda number: self._bound(np.asarray(number, step.specs[0].dtype)))
            return text if buffer is None else f"{text[:-1]}, out=v{buffer})"
        operands += [f"{name}={self._bound(value)}" for name, value in step.attrs.items()]
        if buffer is not None:
            operands.append(f"out=v{buffer}")
        return f"{self._bound(step.op.forward)}({', '.join(operands)})"

    def _constant(self, value: Any, is_template: bool) -> str:
        # NumPy computes faster with arrays than with its scalars.
        return self._bound(np.asarray(value) if is_template and type(value) in _SCALARS else value)

    def _bound(self, thing: Any) -> str:
        if type(thing) in _PLAIN:
            return repr(thing)
        name = f"k{len(self.namespace)}"
        self.namespace[name] = thing
        return name

    def _compiled(self, lines: list[str]) -> Function:
        namespace = dict(self.namespace)
        exec(_code_of("\n".join(lines)), namespace)
        found: Function = namespace["gradients"]
        return found


def _is_large(array: np.ndarray[Any, Any]) -> bool:
    # NumPy gives scalars in place of arrays without axes: nothing can be written to them.
    return array.ndim > 0 and array.nbytes >= _LARGE


@lru_cache(maxsize=500)
def _code_of(text: str) -> CodeType:
    return compile(text, "<d2s gradient rule>", "exec")
