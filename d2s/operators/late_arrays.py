"""Arrays of NumPy that the run computes: what is known of them while a function is traced.

Code that is not traced reads an array of the caller, or computes with one, when the Program runs.  Shape and dtype of
what it gives are needed before, where it becomes a tensor.  Those of the functions listed here follow from the shapes
and dtypes of their arguments: they are called while tracing too, on samples, for nothing but these.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinMethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.arrays import as_array
from d2s.core.interpreter import TensorBase
from d2s.core.spec import TensorSpec, spec_of
from d2s.errors import ExecutionError
from d2s.operators import policy
from d2s.operators.guards import ABSENT
from d2s.operators.older_arrays import arrays_in
from d2s.operators.restarts import ArraysOfTheRun
from d2s.operators.run_time import check_unchanged
from d2s.static.program import Value
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

_OPERATORS = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt,
    operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.neg, operator.pos, operator.abs,
    operator.invert,
})
_IN_PLACE = frozenset({
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow,
    operator.imatmul, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
})
_METHODS = frozenset({
    "copy", "astype", "reshape", "transpose", "swapaxes", "ravel", "flatten", "squeeze", "sum", "mean", "max", "min",
    "prod", "std", "var", "cumsum", "cumprod", "argmax", "argmin", "argsort", "any", "all", "clip", "round", "dot",
    "trace", "diagonal", "conj", "tolist",
})
_FUNCTIONS = frozenset(getattr(np, name) for name in (
    *sorted(_METHODS - {"astype", "flatten", "conj", "tolist"}), "array", "asarray", "ascontiguousarray", "average",
    "broadcast_to", "column_stack", "concatenate", "cross", "diag", "dstack", "einsum", "expand_dims", "flip",
    "full_like", "hstack", "inner", "isin", "median", "moveaxis", "nan_to_num", "ones_like", "outer", "pad", "roll",
    "sort", "stack", "tensordot", "tile", "tril", "triu", "vstack", "where", "zeros_like",
))
# They make an array of numbers; these and operators look at nothing else of a number than its type.
_MAKE = frozenset({np.array, np.asarray, np.stack, np.hstack, np.concatenate})
_COMPUTE = frozenset({*_OPERATORS, *_MAKE, np.where, np.clip})
_OF_SPEC = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes"})
# They raise for reasons of shape, not of content.
_CHECKED = _OPERATORS - {operator.pow} | {operator.getitem, operator.setitem}
_KNOWN = _OPERATORS | _FUNCTIONS
_ATTRIBUTES = frozenset({"T", "real", "imag", *_METHODS})


def element(array: Any, index: int) -> Any:
    """One part of an array, for a loop over it."""
    return array[index]


class LateArrays:
    """What is known of the arrays of one trace: a sample of each, of the same shape and dtype."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._samples: dict[Any, Any] = {}
        # Older arrays that have become operands of the Program, by identity.
        self.operands: dict[int, np.ndarray] = {}
        # True while arguments are handed to something that neither keeps nor changes them.
        self.is_only_read = False

    @property
    def are_all_late(self) -> bool:
        """True if the run makes the arrays that the traced code makes."""
        return ArraysOfTheRun in self._tracer.learned

    @contextlib.contextmanager
    def handed_to(self, function: Any, args: Sequence[Any]) -> Iterator[None]:
        """While the arguments of a call that the run does are handed over."""
        self._check(function, args)
        before = self.is_only_read
        self.is_only_read = isinstance(function, np.ufunc) or _is_one_of(function, _KNOWN | _IN_PLACE) or (
            policy.module_of(function) == "numpy")
        try:
            yield
        finally:
            self.is_only_read = before

    def need(self) -> None:
        """Begin the trace anew, with arrays that the run makes."""
        if not self.are_all_late:
            raise ArraysOfTheRun

    def is_fresh(self, thing: Any) -> bool:
        """True for an array that the traced code has made, and lists with some."""
        if isinstance(thing, list | tuple):
            return any(map(self.is_fresh, thing))
        return isinstance(thing, np.ndarray) and not self._tracer.is_outer(thing)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A pure function of NumPy on what is known: the run calls it if it gives an array and all are made there.

        The run calls it, too, where it divides by zero or the like: NumPy is set to warn then, or to raise.
        """
        try:
            with np.errstate(all="raise"):
                result, is_told = function(*args, **kwargs), False
        except FloatingPointError:
            self.need()
            with np.errstate(all="ignore"):
                result, is_told = function(*args, **kwargs), True
        if not is_told and not (self.are_all_late and _is_of_numbers(result) and isinstance(result, np.ndarray)):
            return result
        later = self._tracer.python_call(function, args, kwargs, effect=True)
        self._samples[later.value] = result
        return later

    def attribute(self, thing: ObjectVariable, name: str) -> Any:
        """What an array of the run says of its shape and dtype; ABSENT if it is asked something else."""
        found = self.array(thing) if name in _OF_SPEC else None
        return ABSENT if found is None else getattr(found, name)

    def _check(self, function: Any, args: Sequence[Any]) -> None:
        """Raise what the run would: an index out of bounds, or shapes that do not fit."""
        if not args or not _is_one_of(function, _CHECKED) or not self.may_change(args):
            return
        if function is not operator.getitem and function is not operator.setitem:
            given = [self.sample(arg, True) for arg in args]
        elif self.array(args[0]) is None or _holds_array(args[1]):
            return
        else:
            function, given = operator.getitem, [self.array(args[0]), self._index(args[1])]
        if not any(part is ABSENT for part in given):
            with np.errstate(all="ignore"):
                function(*given)

    def note(self, result: ObjectVariable, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take note of what a call that the run does will give."""
        if result.value.kind is np.ndarray and len(args) == 1 and isinstance(args[0], Variable):
            # ``tensor.numpy()``.
            spec = args[0].spec
            if spec.is_static:
                self._samples[result.value] = np.zeros(spec.shape, spec.dtype)
            return
        if function is check_unchanged or not any(
                self._matters(part, function) for part in (function, *args, *kwargs.values())):
            return
        if _is_one_of(function, _IN_PLACE):
            self._samples[result.value] = self.sample(args[0])
            return
        called = self._function(function, args)
        if called is None:
            return
        is_content = _is_one_of(called, _COMPUTE) or isinstance(called, np.ufunc)
        given = [self.sample(arg, is_content) for arg in args]
        named = {name: self.sample(arg) for name, arg in kwargs.items()}
        if called is operator.getitem:
            given[1:] = [self._index(args[1])]
        if any(part is ABSENT for part in (*given, *named.values())):
            return
        try:
            with np.errstate(all="ignore"):
                found = called(*given, **named)
        except Exception:
            # The run will say so.
            return
        if _is_of_numbers(found) or isinstance(found, BuiltinMethodType | list):
            self._samples[result.value] = found

    def sample(self, thing: Any, is_content: bool = False) -> Any:
        """What `thing` is like when the Program runs, in shape and dtype; ABSENT if that is not known.

        With `is_content` any number of its type will do for a number.
        """
        if isinstance(thing, ObjectVariable):
            kind = thing.value.kind
            any_number = kind(1) if is_content and kind in (int, float, bool, complex) else ABSENT
            return self._samples.get(thing.value, any_number)
        if isinstance(thing, np.ndarray):
            # What writes to it fails.
            thing = thing.view()
            thing.flags.writeable = False
            return thing
        if isinstance(thing, list | tuple):
            parts = [self.sample(part, is_content) for part in thing]
            return ABSENT if any(part is ABSENT for part in parts) else type(thing)(parts)
        return ABSENT if isinstance(thing, TensorBase) else thing

    def array(self, thing: Any) -> Any:
        """A sample of the array that `thing`, a symbol, is; None if it is none, or not known."""
        found = self._samples.get(thing.value) if isinstance(thing, ObjectVariable) else None
        return found if isinstance(found, np.ndarray) else None

    def may_change(self, things: Sequence[Any]) -> bool:
        """True if there is an array among them: what it holds may be another thing from one line to the next."""
        return any(self.array(thing) is not None for thing in things)

    def parts(self, thing: Any) -> list[Any] | None:
        """What a loop over an array runs over; None if it is not known to be one."""
        found = self.array(thing)
        if found is None or not found.ndim:
            return None
        return [self._tracer.python_call(element, (thing, index), effect=True) for index in range(len(found))]

    def spec(self, data: Any, dtype: Any) -> TensorSpec | None:
        """The spec of the tensor that is made of symbols, or of a list of some; None if it is not known."""
        if not any(isinstance(part, ObjectVariable) for part in _leaves(data)):
            return None
        found = self.sample(data, True)
        if found is ABSENT or isinstance(found, BuiltinMethodType):
            return None
        return spec_of(as_array(found, dtype))

    def has_older(self, data: Any) -> bool:
        """True for an array of the caller, and a list with one in it."""
        return next(arrays_in(self._tracer, data), None) is not None

    def value_of(self, data: Any, spec: TensorSpec, dtype: Any = None) -> Value:
        """The tensor that each run makes of what its arrays hold then."""
        tracer = self._tracer
        self.operands.update((id(array), array) for array in arrays_in(tracer, data))
        call: tuple[Any, ...] = (_array_like, (tracer.lower(data), dtype, spec), {})
        return tracer.emit("python", (), (tracer.new_value("array", spec),), {"call": call}, effect=True).outputs[0]

    def _matters(self, thing: Any, function: Any) -> bool:
        """True for an array of the caller, one of the run, a number of the run, and what holds or belongs to one."""
        if isinstance(thing, list | tuple):
            return any(self._matters(part, function) for part in thing)
        if isinstance(thing, ObjectVariable):
            return thing.value in self._samples or _is_one_of(function, _MAKE)
        if isinstance(thing, BuiltinMethodType):
            thing = thing.__self__
        return self.has_older(thing)

    def _function(self, function: Any, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """What to call on samples."""
        if isinstance(function, ObjectVariable):
            return self._samples.get(function.value)
        if function is element or function is operator.getitem:
            return operator.getitem
        if function is getattr:
            return getattr if args[1] in _ATTRIBUTES else None
        if isinstance(function, np.ufunc):
            return function
        if isinstance(function, BuiltinMethodType) and isinstance(function.__self__, np.ndarray):
            return function if function.__name__ in _METHODS else None
        if function is np.where and len(args) != 3:
            # Its shape depends on what the array holds.
            return None
        return function if _is_one_of(function, _KNOWN) else None

    def _index(self, index: Any) -> Any:
        if isinstance(index, tuple):
            parts = tuple(map(self._index, index))
            return ABSENT if any(part is ABSENT for part in parts) else parts
        if isinstance(index, slice):
            return ABSENT if any(
                isinstance(part, ObjectVariable) for part in (index.start, index.stop, index.step)) else index
        if isinstance(index, ObjectVariable) and index.value.kind is int:
            return 0
        found = self.sample(index)
        # How many are chosen depends on what a mask holds.
        return ABSENT if isinstance(found, np.ndarray) and found.dtype == bool else found


def _holds_array(index: Any) -> bool:
    """True if an index is made of more than numbers that are known."""
    if isinstance(index, tuple):
        return any(map(_holds_array, index))
    return isinstance(index, np.ndarray | list | ObjectVariable)


def _is_one_of(function: Any, functions: frozenset[Any]) -> bool:
    """True for one of these functions, which are written in C; things of other types may have a hash of their own."""
    return isinstance(function, type(operator.add) | type(np.sum)) and function in functions


def _is_of_numbers(thing: Any) -> bool:
    return isinstance(thing, np.ndarray | np.generic) and thing.dtype.kind in "biufc"


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, list | tuple):
        for part in tree:
            yield from _leaves(part)
    else:
        yield tree


def _array_like(data: Any, dtype: Any, spec: TensorSpec) -> Any:
    """The array of a tensor made in the run, which must be as it was expected to be."""
    array = as_array(data, dtype)
    if not spec.admits(array):
        raise ExecutionError(
            f"an array that is computed in the run is {spec_of(array)}, and was {spec} when the function was traced",
            advice="Make the tensor outside and pass it in.",
            kind="X11",
        )
    return array
