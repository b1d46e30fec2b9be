"""The record of an op: forward, infer and one gradient rule per input, each stated once for both modes."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.caller import FORWARDS, HANDS
from d2s.core.interpreter import bind
from d2s.core.spec import TensorSpec, spec_of
from d2s.errors import ArgumentError, D2SError, DTypeError, IndexOutOfRangeError

Rule = Callable[..., Any]
Template = str | Callable[..., str | None]

# What templates may name beside inputs: these numbers, in the dtype of the first input.
TEMPLATE_NUMBERS = {"zero": 0, "one": 1}

OP_TABLE: dict[str, Op] = {}

# The errors of d2s for those of NumPy.
_KINDS: dict[type[Exception], type[D2SError]] = {
    ValueError: ArgumentError, IndexError: IndexOutOfRangeError, TypeError: DTypeError}


class Op:
    """One operator.

    Parameters
    ----------
    name : str
        Unique name; the name of the operator in a Program.
    forward : callable
        NumPy arrays (positional) and attributes (keyword) to an array, or to a tuple of arrays.  Never writes to
        its arguments; may return a view of them.
    infer : callable
        The same signature on `TensorSpec`; returns the spec (or tuple of specs) of the result, or raises
        `ShapeError` or `DTypeError`.  Must agree with what `forward` accepts and gives.
    saves : tuple of str
        Names of the tensor parameters (``*tensors`` by its name), and "out", whose *values* the gradient rules read.
        Rules get a `TensorSpec` in place of every input that is not saved, and None in place of an unsaved `out`.
    kinds : str, optional
        Where `forward` would compute something for dtypes that `infer` refuses: the kinds of dtype ("f", "c", "i",
        "u", "b") that the first input may have.  Eager mode asks `infer` about any other (with "", about all).
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        infer: Callable[..., Any],
        saves: Sequence[str] = (),
        random: bool = False,
        template: Template | None = None,
        kinds: str | None = None,
        out: str | None = None,
        scratch: int = 0,
        fresh: bool = False,
        in_order: bool = False,
    ) -> None:
        signature = inspect.signature(forward).parameters.values()
        self.name = name
        self.forward = forward
        self.infer = infer
        self.parameters = tuple(p.name for p in signature if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        self.saves_out = "out" in saves
        self.saves = tuple(name in saves for name in self.parameters)
        # Of ``*tensors`` all are saved, or none.
        self.saves_rest = any(p.kind is p.VAR_POSITIONAL and p.name in saves for p in signature)
        self.random = random
        self.template = template
        self.kinds = kinds
        self.out = out
        self.scratch = scratch
        self.is_fresh = fresh or out is not None
        self.in_order = in_order or out is not None
        # How its gradient can go without computing again what `forward` has computed; see `share`.
        self.shared: Shared | None = None
        # True for an op that stands only in Programs whose backward has been derived.
        self.has_gradient_already = False
        self.rules: tuple[Rule | None, ...] = ()
        self.joint_rule: Rule | None = None
        self.is_differentiable = False
        self._reads: dict[tuple[bool, ...], tuple[tuple[bool, ...], bool]] = {}

    def expression(self, specs: Sequence[TensorSpec], attrs: dict[str, Any]) -> str | None:
        """What to write in place of a call of `forward`, with the inputs as ``{0}``, ``{1}``; None: the call."""
        if callable(self.template):
            is_known = all(spec.is_static for spec in specs)
            return self.template(*specs, **attrs) if is_known else None
        return None if attrs else self.template

    def vjp(self, *rules: Rule | None) -> None:
        """Set the gradient rules, one per tensor input: ``rule(g, out, *inputs, **attrs) -> gradient``.

        Rules are written in d2s ops, so the eager tape evaluates them and `append_backward` records them.  A rule
        may return a gradient of the broadcast shape: the walkers un-broadcast it.  For an op with several outputs
        `g` and `out` are tuples; gradients that did not arrive are zeros.  None: not differentiable there.
        """
        self.rules = rules
        self.is_differentiable = any(rule is not None for rule in rules)
        self._reads.clear()

    def share(self, gradient: Op, parts: Op, rest: Op) -> None:
        """Say that ``gradient(g, *inputs)``, which computes again what `forward` has computed, can be had from that.

        ``parts(*inputs)`` gives the result and what else is needed, ``rest(g, *parts)`` the gradient, to the bit.
        """
        self.shared = Shared(gradient, parts, rest)
        parts.has_gradient_already = True

    def vjp_all(self, rule: Rule) -> None:
        """Set one rule for all inputs: ``rule(g, out, *inputs, needs, **attrs) -> tuple``.

        `needs` holds one bool per input; where it is False, None may be returned.
        """
        self.joint_rule = rule
        self.is_differentiable = True
        self._reads.clear()

    def differentiates(self, index: int) -> bool:
        """True if there is a gradient rule for input `index`."""
        if self.joint_rule is not None:
            return True
        return index < len(self.rules) and self.rules[index] is not None

    def saves_input(self, index: int, name: str = "") -> bool:
        """True if the gradient rules read the value of input `index`."""
        return self.saves[index] if index < len(self.saves) else self.saves_rest

    def reads_for(self, wanted: tuple[bool, ...]) -> tuple[tuple[bool, ...], bool]:
        """Of which inputs, and whether of the output, the values are read when the `wanted` gradients are computed.

        Less than `saves` where only some of the inputs require a gradient: of ``x * y`` the gradient of `x` reads
        `y` alone.
        """
        found = self._reads.get(wanted)
        if found is None:
            names = set(range(len(wanted))) | {-1}
            if self.joint_rule is None:
                names = set()
                for rule, is_wanted in zip(self.rules, wanted, strict=False):
                    if is_wanted and rule is not None:
                        names |= _positions_read(rule, len(wanted))
            inputs = tuple(self.saves_input(index) and index in names for index in range(len(wanted)))
            found = self._reads[wanted] = inputs, self.saves_out and -1 in names
        return found

    def gradients(
        self, g: Any, out: Any, inputs: Sequence[Any], attrs: dict[str, Any], needs: Sequence[bool]
    ) -> list[Any]:
        """Gradients of the inputs, None where `needs` is False or the op has no rule there."""
        if self.joint_rule is not None:
            found = self.joint_rule(g, out, *inputs, needs=tuple(needs), **attrs)
            return [grad if need else None for grad, need in zip(found, needs, strict=True)]
        result: list[Any] = []
        for index, need in enumerate(needs):
            rule = self.rules[index] if need and index < len(self.rules) else None
            result.append(None if rule is None else rule(g, out, *inputs, **attrs))
        return result

    def refusal(
        self, arrays: Sequence[Any], attrs: dict[str, Any], error: Exception | None = None
    ) -> Exception | None:
        """What is wrong with operands, in the words and kind of error of d2s: `infer` says so, or `error` of NumPy."""
        try:
            self.infer(*[spec_of(np.asarray(array)) for array in arrays], **attrs)
        except Exception as better:
            return better
        kind = None if error is None else _KINDS.get(type(error))
        return None if kind is None else kind(str(error))

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        return bind(self, *args, **attrs)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _op_by_name, (self.name,)


def filled(pattern: str, inputs: Sequence[str], typed: Callable[[int], str]) -> str:
    """What `Op.expression` gave, with the inputs; `typed` names a number in the dtype of the first of them."""
    numbers = {name: typed(number) for name, number in TEMPLATE_NUMBERS.items() if f"{{{name}}}" in pattern}
    return pattern.format(*inputs, **numbers)


def is_one_call(pattern: str) -> bool:
    """True for ``np.name(...)``, to which ``out=`` can be added."""
    return re.fullmatch(r"np\.\w+\([^()]*\)", pattern) is not None


@dataclass(frozen=True)
class Shared:
    """The ops by which an op and its gradient share work."""

    gradient: Op
    parts: Op
    rest: Op


def _positions_read(rule: Rule, count: int) -> set[int]:
    """Which inputs a gradient rule reads, by position, and -1 if it reads `out`: found in its byte code."""
    everything = {-1, *range(count)}
    code = getattr(rule, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return everything
    read: set[Any] = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if "LOAD" in instruction.opname and instruction.opname != "LOAD_CONST":
            names = instruction.argval
            read.update(names if isinstance(names, tuple) else (names,))
    # A rule is called with (g, out, *inputs).
    positions = {index - 2 for index, name in enumerate(code.co_varnames[: code.co_argcount]) if name in read}
    return positions & everything


HANDS[bind.__code__] = lambda names: (names["op"].name, names["args"])
HANDS[Op.refusal.__code__] = lambda names: (names["self"].name, names["arrays"])


def _op_by_name(name: str) -> Op:
    return OP_TABLE[name]


def define_op(
    name: str,
    *,
    infer: Callable[..., TensorSpec | tuple[TensorSpec, ...]],
    saves: Sequence[str] = (),
    random: bool = False,
    template: Template | None = None,
    kinds: str | None = None,
    out: str | None = None,
    scratch: int = 0,
    fresh: bool = False,
    in_order: bool = False,
) -> Callable[[Callable[..., Any]], Op]:
    """Enter the decorated forward function into OP_TABLE under `name`; see `Op` for the parameters.

    `template` is the NumPy expression that generated code may use in place of a call of `forward`, with the inputs
    as ``{0}``, ``{1}``: it must be what `forward` computes, to the bit (``"np.multiply({0}, {1})"``).  It may be a
    function of the specs of the inputs, with known sizes, and of the attributes; None: there is no such expression.
    ``{zero}`` and ``{one}`` are these numbers in the dtype of the first input.

    `fresh` says that the result shares no memory with the inputs, `in_order` that it is contiguous (in C order) if
    all inputs are.  An op with `out` is both, and its `forward` takes ``out=`` as NumPy's functions do: "in place"
    says that `out` may also be an input of the shape and dtype of the result, "apart" that it may share memory with
    none.  Beside it, `forward` takes ``scratch=``, a tuple of so many arrays like the result to work in, or of None.
    """

    def enter(forward: Callable[..., Any]) -> Op:
        if name in OP_TABLE:
            raise ArgumentError(f"an op named {name!r} is defined already")
        op = Op(name, forward, infer, saves, random, template, kinds, out, scratch, fresh, in_order)
        OP_TABLE[name] = op
        FORWARDS[forward.__code__] = name
        return op

    return enter
