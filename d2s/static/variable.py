"""What user code holds while a Program is built: symbolic tensors and symbolic Python objects."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core.interpreter import TensorBase, bind
from d2s.core.public import public
from d2s.core.spec import Dim, DType, TensorSpec, check_fits
from d2s.device import CPUPlace
from d2s.errors import D2SError, DTypeError, HookError, LeafError, TracingError, user_location
from d2s.ops.casting import fit_op
from d2s.ops.methods import TensorMethods
from d2s.static.program import Value

if TYPE_CHECKING:
    from d2s.static.builder import StaticInterpreter


class Variable(TensorBase, TensorMethods):
    """A tensor of a Program under construction.

    It has the methods of a Tensor; each records an operator.  `value` is the version that the variable names now:
    an in-place write makes it name another.
    """

    __slots__ = ("__dict__", "__weakref__", "interpreter", "made_in", "value")

    interpreter: StaticInterpreter

    def __init__(self, interpreter: StaticInterpreter, value: Value) -> None:
        self.interpreter = interpreter
        self.made_in = interpreter.run
        self.value = value

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype."""
        spec = self.value.spec
        assert spec is not None
        return spec

    @property
    def shape(self) -> list[Any]:
        """Sizes of the axes; a size that is not known yet is a symbolic Python int."""
        return [
            size if isinstance(size, int) else self.interpreter.size_of(self.value, axis)
            for axis, size in enumerate(self.spec.shape)
        ]

    @property
    def dtype(self) -> DType:
        """Element type, a NumPy dtype."""
        return self.spec.dtype

    @property
    def place(self) -> CPUPlace:
        """Where the data will be: always the CPU."""
        return CPUPlace()

    @property
    def name(self) -> str:
        """Name of the value in the Program."""
        return self.value.name

    @property
    def is_leaf(self) -> bool:
        """True if no operator of the Program computes it, or none through which gradients flow."""
        return self.interpreter.has_no_history(self.value)

    @property
    def stop_gradient(self) -> bool:
        """True if no gradient flows through it."""
        return self.value.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, flag: bool) -> None:
        self.interpreter.set_stop_gradient(self, bool(flag))

    def alias(self) -> Variable:
        """Another Variable for the same value."""
        return Variable(self.interpreter, self.value)

    def _assign_version(self, new: Variable) -> Variable:
        """Make this variable name `new`, the result of an op on it: an in-place write.

        Raises
        ------
        ShapeError, DTypeError
            If `new` has another number of elements, or a dtype of another kind.
        """
        if new.spec != self.spec:
            check_fits(self.spec, new.spec)
            if not (self.spec.is_static and new.spec.is_static) and new.spec.shape != self.spec.shape:
                new = bind(fit_op, new, self, whole=False)
            if new.dtype != self.dtype:
                new = new.cast(self.dtype)
        self.interpreter.assign_version(self, new)
        return self

    # --- values: known when the Program runs -------------------------------------------------------------------

    def item(self, *index: int) -> Any:
        """The single element, as a symbolic Python number."""
        return self.interpreter.scalar_of(self, "item", *index)

    def numpy(self) -> Any:
        """The values as a symbolic NumPy array."""
        self.interpreter.check_readable(self, "numpy()")
        return self.interpreter.python_call(_numpy_of, (self,), kind=np.ndarray)

    @property
    def data(self) -> Any:
        """The array that will hold the values, as a symbolic NumPy array."""
        self.interpreter.check_readable(self, "data")
        return self.interpreter.python_call(getattr, (self, "data"), kind=np.ndarray)

    def known_value(self) -> Any:
        """The values: now, if they are made of constants of the Program only, else as a symbolic NumPy array."""
        found: np.ndarray[Any, Any] | None = self.interpreter.known_value(self.value)
        if found is None:
            self.interpreter.check_readable(self, "a place in a Python list")
            return self.numpy()
        return found

    def tolist(self) -> Any:
        """The values as a symbolic nested list."""
        self.interpreter.check_readable(self, "tolist()")
        return self.interpreter.list_of_values(self)

    def __bool__(self) -> bool:
        return self.interpreter.decide(self)

    def __int__(self) -> int:
        raise self._concrete("int()")

    def __float__(self) -> float:
        raise self._concrete("float()")

    def __complex__(self) -> complex:
        raise self._concrete("complex()")

    def __index__(self) -> int:
        raise self._concrete("an index")

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise self._concrete("DLPack")

    def __dlpack_device__(self) -> tuple[int, int]:
        raise self._concrete("DLPack")

    def __copy__(self) -> Variable:
        return self.alias()

    def __reduce__(self) -> Any:
        raise self._concrete("pickling")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise self._concrete("a NumPy array")

    def __str__(self) -> str:
        raise self._concrete("str()")

    def __format__(self, format_spec: str) -> str:
        raise self._concrete("format()")

    def _concrete(self, use: str) -> D2SError:
        return self.interpreter.value_needed(TracingError(
            f"{use} needs the values of a tensor, which are known only when the Program runs "
            f"({self.value.name}: {self.value.spec})",
            user_location(), "Keep it a tensor, or keep this function eager with @d2s.jit.not_to_static.",
            kind="T01"))

    def __bytes__(self) -> bytes:
        raise self._concrete("bytes()")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """``array + self`` and its like are operators of d2s; functions of NumPy need values."""
        name = _OPERATORS.get(ufunc)
        if name is None or method != "__call__" or options:
            raise self._concrete(f"np.{ufunc.__name__}")
        first, second = inputs
        if isinstance(first, TensorBase):
            return getattr(first, name)(second)
        return getattr(second, _reflection(name))(first)

    def __len__(self) -> int:
        if not self.spec.shape:
            raise DTypeError("a 0-d tensor has no len()")
        return self._length("len()")

    def __iter__(self) -> Iterator[Any]:
        if self.spec.shape:
            self._length("a loop over a tensor")
        return super().__iter__()

    def __contains__(self, item: Any) -> bool:
        return any(row is item or row == item for row in self)

    def _length(self, use: str) -> int:
        """The first size, which Python needs for `use`."""
        size = self.spec.shape[0]
        if not isinstance(size, int):
            self.interpreter.needed_by_python(*self.shape)
            raise self._concrete(use)
        return size

    # --- gradients ---------------------------------------------------------------------------------------------

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call `hook` with the complete gradient of this value, in every backward of this run."""
        if self.stop_gradient:
            raise HookError("Cannot register hook on a tensor that stop gradient.", kind="H01")
        return self.interpreter.register_hook(self, hook)

    def _register_backward_hook(self, hook: Callable[[], Any]) -> Any:
        """Call `hook`, without arguments, each time the gradient of this leaf has been added to `.grad`."""
        if self.stop_gradient:
            raise LeafError("Cannot register backward hook on a Tensor that stop gradient.", kind="L01")
        if self.interpreter.is_computed(self.value):
            raise LeafError("Only can register backward hook for leaf Tensor.", kind="L01")
        if not callable(hook):
            raise DTypeError(f"a gradient hook must be callable, got {type(hook).__name__}")
        return self.interpreter.method_call(self, "_register_backward_hook", hook)

    def retain_grads(self) -> None:
        """Keep `.grad` of this value."""
        self.interpreter.method_call(self, "retain_grads")

    def backward(self, grad_tensor: Any = None, retain_graph: bool = False) -> None:
        """Run backward at this place of the Program."""
        self.interpreter.method_call(self, "backward", grad_tensor, retain_graph)

    @property
    def grad(self) -> Any:
        """The gradient accumulated so far, as it is when the Program runs this line."""
        return self.interpreter.method_call(self, "__getattribute__", "grad")

    @grad.setter
    def grad(self, value: Any) -> None:
        self.interpreter.method_call(self, "__setattr__", "grad", value)

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Set the gradient to zero (or None) when the Program runs this line."""
        self.interpreter.method_call(self, "clear_gradient", set_to_zero)

    clear_grad = clear_gradient

    def detach(self) -> Any:
        """The same data without history, with ``stop_gradient=True``."""
        from d2s.ops.creation import detach

        return detach(self)

    @public()
    def set_value(self, value: Any) -> None:
        """Replace the values in place, keeping dtype."""
        self.interpreter.set_value(self, value)

    def __repr__(self) -> str:
        return f"Variable({self.value.name}: {self.spec}, stop_gradient={self.stop_gradient})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        from d2s.ops.creation import assign

        copied = assign(self.detach())
        copied.stop_gradient = self.stop_gradient
        memo[id(self)] = copied
        return copied


# The methods of operators by the functions of NumPy that its arrays call for them.
_OPERATORS: dict[np.ufunc, str] = {
    np.add: "__add__", np.subtract: "__sub__", np.multiply: "__mul__", np.true_divide: "__truediv__",
    np.floor_divide: "__floordiv__", np.remainder: "__mod__", np.divmod: "__divmod__", np.power: "__pow__",
    np.matmul: "__matmul__", np.bitwise_and: "__and__", np.bitwise_or: "__or__", np.bitwise_xor: "__xor__",
    np.left_shift: "__lshift__", np.right_shift: "__rshift__", np.equal: "__eq__", np.not_equal: "__ne__",
    np.less: "__lt__", np.less_equal: "__le__", np.greater: "__gt__", np.greater_equal: "__ge__",
}
_MIRRORED = {"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__", "__eq__": "__eq__",
             "__ne__": "__ne__"}


def _reflection(name: str) -> str:
    """The method of the right operand."""
    return _MIRRORED.get(name) or f"__r{name.removeprefix('__')}"


# What Python says of operands ("unsupported operand type(s) for *: 'Tensor' and 'NoneType'") is what it says in
# eager mode.
Variable.__name__ = "Tensor"
# And of arguments that are missing.
for _member in vars(Variable).values():
    if isinstance(_member, FunctionType):
        _member.__qualname__ = f"Tensor.{_member.__name__}"


def _numpy_of(tensor: Any) -> Any:
    return tensor.numpy()


def _binary(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def method(self: ObjectVariable, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return NotImplemented
        return self.interpreter.python_call(function, (self, other), kind=_kind_after(name, self, other))

    return method


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def method(self: ObjectVariable, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return NotImplemented
        return self.interpreter.python_call(function, (other, self), kind=_kind_after(name, other, self))

    return method


# What these change makes a new object.
_UNCHANGING = (int, float, bool, complex, str, bytes, tuple, frozenset)


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, f"i{name.strip('_')}")

    def method(self: ObjectVariable, other: Any) -> Any:
        if isinstance(other, TensorBase) or self.value.kind in _UNCHANGING:
            return NotImplemented
        return self.interpreter.python_call(function, (self, other), kind=self.value.kind, effect=True)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(operator, name)

    def method(self: ObjectVariable) -> Any:
        return self.interpreter.python_call(function, (self,), kind=self.value.kind)

    return method


def _divmod(self: ObjectVariable, other: Any) -> Any:
    if isinstance(other, TensorBase):
        return NotImplemented
    return self // other, self % other


def _rdivmod(self: ObjectVariable, other: Any) -> Any:
    if isinstance(other, TensorBase):
        return NotImplemented
    return other // self, other % self


def _round(self: ObjectVariable, digits: int | None = None) -> Any:
    kind = int if digits is None else self.value.kind
    return self.interpreter.python_call(round, (self, digits), kind=kind)


_COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")


def _kind_after(name: str, first: Any, second: Any) -> type | None:
    """Type of the result of a Python operator on numbers, where the types of both operands are known."""
    kinds = [part.value.kind if isinstance(part, ObjectVariable) else type(part) for part in (first, second)]
    if name in _COMPARISONS:
        return bool
    if any(kind not in (int, float, bool) for kind in kinds):
        return None
    if float in kinds or name == "truediv":
        return float
    if name == "pow":
        return None
    return bool if kinds == [bool, bool] and name in ("and_", "or_", "xor") else int


class ObjectVariable:
    """A Python object that exists only when the Program runs: `.item()`, a handle, a size, the result of a call.

    Arithmetic, comparison, attribute and item access and calls on it record operators; it is never differentiated.
    """

    __slots__ = ("interpreter", "value")

    is_symbolic_size = True
    # Operators of arrays leave it to this class.
    __array_ufunc__ = None

    def __init__(self, interpreter: StaticInterpreter, value: Value) -> None:
        self.interpreter = interpreter
        self.value = value

    def __d2s_array__(self) -> Any:
        """The tensor of the NumPy array that this is; itself if it is not known to be one."""
        found = self.interpreter.tensor_of_array(self)
        return self if found is None else found

    @property
    def __d2s_kind__(self) -> type | None:
        """The type of the object, if it is known."""
        return self.value.kind

    def __d2s_operand__(self, dtype: Any, beside: Any = None) -> Variable:
        """This number as a 0-d tensor of `dtype`, for arithmetic with the tensor `beside`."""
        return self.interpreter.tensor_of_number(self, dtype, beside)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self.interpreter.python_call(getattr, (self, name), effect=True)

    def __getitem__(self, index: Any) -> Any:
        return self.interpreter.python_call(operator.getitem, (self, index), effect=True)

    def __setitem__(self, index: Any, item: Any) -> None:
        self.interpreter.python_call(operator.setitem, (self, index, item), effect=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.interpreter.python_call(self, args, kwargs, effect=True)

    @property
    def is_true(self) -> bool:
        """True for objects that Python takes for true whatever they hold, like the handle of a hook."""
        kind = self.value.kind
        return kind is not None and self.value.maybe_missing is None and not (
            hasattr(kind, "__bool__") or hasattr(kind, "__len__"))

    def __bool__(self) -> bool:
        return self.is_true or self.interpreter.decide(self)

    def __int__(self) -> int:
        raise self._concrete("int()")

    def __float__(self) -> float:
        raise self._concrete("float()")

    def __index__(self) -> int:
        raise self._concrete("an index")

    def __iter__(self) -> Any:
        raise self._concrete("a Python loop")

    def __await__(self) -> Any:
        raise self._concrete("await")

    def __aiter__(self) -> Any:
        raise self._concrete("async for")

    def __aenter__(self) -> Any:
        raise self._concrete("async with")

    __aexit__ = __aenter__

    def __len__(self) -> int:
        raise self._concrete("len()")

    def __format__(self, format_spec: str) -> str:
        raise self._concrete("an f-string")

    def __str__(self) -> str:
        raise self._concrete("str()")

    def _concrete(self, use: str) -> D2SError:
        self.interpreter.needed_by_python(self)
        self.interpreter.take_apart(self.value)
        return self.interpreter.value_needed(TracingError(
            f"{use} needs a Python value that is known only when the Program runs ({self.value.name})",
            user_location(), "Keep this function eager with @d2s.jit.not_to_static.",
            kind="T02"))

    def __bytes__(self) -> bytes:
        raise self._concrete("bytes()")

    def __repr__(self) -> str:
        kind = self.value.kind.__name__ if self.value.kind else "object"
        return f"ObjectVariable({self.value.name}: {kind})"

    def __hash__(self) -> int:
        raise self._concrete("a dict key or member of a set")

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __truediv__, __rtruediv__ = _binary("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _binary("mod"), _reflected("mod")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __lshift__, __rlshift__ = _binary("lshift"), _reflected("lshift")
    __rshift__, __rrshift__ = _binary("rshift"), _reflected("rshift")
    __divmod__, __rdivmod__ = _divmod, _rdivmod
    __round__ = _round
    __and__, __rand__ = _binary("and_"), _reflected("and_")
    __or__, __ror__ = _binary("or_"), _reflected("or_")
    __xor__, __rxor__ = _binary("xor"), _reflected("xor")
    __iadd__, __isub__, __imul__, __imatmul__ = map(_in_place, ("add", "sub", "mul", "matmul"))
    __itruediv__, __ifloordiv__, __imod__, __ipow__ = map(_in_place, ("truediv", "floordiv", "mod", "pow"))
    __ilshift__, __irshift__ = map(_in_place, ("lshift", "rshift"))
    __iand__, __ior__, __ixor__ = map(_in_place, ("and_", "or_", "xor"))
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __eq__, __ne__ = _binary("eq"), _binary("ne")
    __neg__, __pos__, __abs__, __invert__ = _unary("neg"), _unary("pos"), _unary("abs"), _unary("invert")


def dim_of(value: Value) -> Dim:
    """The size that stands for a run-time int in specs: one per value."""
    return Dim(value.name)
