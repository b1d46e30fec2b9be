"""The Executor: runs a Program that was built by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.hooks import HookList
from d2s.core.interpreter import (
    GradModeBlock,
    TensorBase,
    current_interpreter,
    default_interpreter,
    unwrap,
    use_interpreter,
    wrap,
)
from d2s.core.spec import spec_of
from d2s.errors import DTypeError, ExecutionError, ShapeError
from d2s.static.codegen import FunctionWriter
from d2s.static.declaration import is_initialized
from d2s.static.default_programs import default_main_program
from d2s.static.executor import load
from d2s.static.failures import called
from d2s.static.graph import GraphInterpreter, spec_text
from d2s.static.keeping import records_read, saved_values
from d2s.static.program import Block, Operator, Program, Value
from d2s.static.taped_hooks import Tape
from d2s.static.variable import Variable


class Executor:
    """
    Runs Programs.

    Parameters
    ----------
    place : CPUPlace, optional
        Where to run; there is only the CPU.
    """

    def __init__(self, place: Any = None) -> None:
        self.place = place

    def run(
        self, program: Program | None = None, feed: dict[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None, feed_var_name: str = "feed", fetch_var_name: str = "fetch",
        scope: Any = None, return_numpy: bool = True, use_program_cache: bool = False, use_prune: bool = False,
    ) -> list[Any]:
        """
        Run a Program: what `fetch_list` needs of it, and everything that has effects.

        Parameters
        ----------
        program : Program, optional
            By default the default main Program.
        feed : dict of str to array or Tensor
            Values of the inputs, by name.
        fetch_list : sequence of Variable, Parameter or str
            What to return; a gradient is named ``"x@GRAD"``.  A parameter is what `minimize` has made of it.
        return_numpy : bool
            False: give Tensors instead of arrays.
        feed_var_name, fetch_var_name, scope, use_program_cache, use_prune : optional
            Ignored: values belong to their Program, and only what is needed runs.

        Returns
        -------
        list of ndarray, Tensor or None
            None for a gradient that no path taken in this run leads to.

        Raises
        ------
        ExecutionError
            If an input is not fed, a name is unknown, or a parameter has no values yet.
        ShapeError, DTypeError
            If a value that is fed does not fit its variable.
        """
        program = default_main_program() if program is None else program
        if not isinstance(program, Program):
            raise DTypeError(f"Executor.run needs a Program, got {type(program).__name__}")
        if program.recorder is None:
            if not program.operators:
                return [_fetched(program, None, item) for item in fetch_list or ()]
            raise ExecutionError(f"{program.name} was traced from a function: call that function to run it", kind="X03")
        recorder: GraphInterpreter = program.recorder
        wanted = tuple(_fetched(program, recorder, item) for item in fetch_list or ())
        plan = _plan(recorder, wanted)
        results = plan(_fed(recorder, plan.inputs, feed or {}))
        convert: Callable[[Any], Any] = np.array if return_numpy else lambda array: wrap(np.asarray(array))
        return [None if array is None else convert(array) for array in results]

    def close(self) -> None:
        """Nothing to do: an Executor holds no resources."""


def _fetched(program: Program, recorder: GraphInterpreter | None, item: Any) -> Value:
    """The value that an item of a fetch list names."""
    value = None
    if isinstance(item, Variable):
        value = item.value if item.interpreter is recorder else None
    elif isinstance(item, str) and recorder is not None:
        value = recorder.find(item)
    elif isinstance(item, TensorBase):
        variable = None if recorder is None else recorder.outer_variable(item)
        value = None if variable is None else variable.value
    elif not isinstance(item, str):
        raise DTypeError(f"a fetch must be a Variable, a Parameter or a name, got {type(item).__name__}")
    if value is None:
        name = item if isinstance(item, str) else item.name
        raise ExecutionError(f"{name} cannot be fetched: {program.name} has no such variable", kind="X04")
    if recorder is not None and not recorder.in_scope(value):
        raise ExecutionError(f"{value.name} cannot be fetched: no operator of {program.name} defines it", kind="X04")
    return value


def _fed(recorder: GraphInterpreter, needed: Sequence[Value], feed: dict[str, Any]) -> list[Any]:
    """The arrays of the inputs in order: fed ones checked, those of outer tensors read."""
    for name in feed:
        if name not in recorder.feeds:
            known = ", ".join(recorder.feeds) or "none"
            raise ExecutionError(
                f"{name!r} is fed, but {recorder.program.name} has no such input; its inputs: {known}",
                kind="X05",
            )
    tensors = {value: tensor for tensor, value in recorder.captured.values()}
    arrays = []
    for value in needed:
        if value in tensors:
            if not is_initialized(tensors[value]):
                raise ExecutionError(
                    f"{value.name} has no values yet", advice="Run the startup Program first.",
                    kind="X06",
                )
            arrays.append(unwrap(tensors[value]))
        elif value.name not in feed:
            given = ", ".join(feed) or "nothing"
            raise ExecutionError(f"{value.name} ({_shown(value)}) is not fed; fed: {given}", kind="X05")
        else:
            arrays.append(_checked(value, feed[value.name]))
    return arrays


def _checked(value: Value, given: Any) -> Any:
    spec = value.spec
    assert spec is not None
    if isinstance(given, TensorBase):
        array = unwrap(given)
    elif isinstance(given, np.ndarray | np.generic):
        array = np.asarray(given)
    else:
        # Python numbers have no dtype of their own, except that fractions do not fit integers.
        array = np.asarray(given)
        if np.can_cast(array.dtype, spec.dtype, "same_kind"):
            array = array.astype(spec.dtype)
    if array.dtype != spec.dtype:
        raise DTypeError(f"{value.name} is fed {spec_text(spec_of(array))}, expected {_shown(value)}")
    if not spec.admits(array):
        raise ShapeError(f"{value.name} is fed {spec_text(spec_of(array))}, expected {_shown(value)}")
    return array


def _shown(value: Value) -> str:
    assert value.spec is not None
    return spec_text(value.spec)


# --- compiling -------------------------------------------------------------------------------------------------


class _Plan:
    """What a Program does for one fetch list, as a function.

    Attributes
    ----------
    inputs : tuple of Value
        The inputs that it reads.
    """

    def __init__(self, recorder: GraphInterpreter, wanted: tuple[Value, ...], checks: bool) -> None:
        program = recorder.program
        block = _pruned(program.block, wanted)
        read = set(wanted).union(*(_read_inside(operator) for operator in block.operators))
        self.inputs = tuple(value for value in program.block.inputs if value in read)
        tensors = {value: tensor for tensor, value in recorder.captured.values()}
        outer = [value for value in self.inputs if value in tensors]
        self._tensors = [tensors[value] for value in outer]
        self._function = _function(program, block, self.inputs, outer, wanted, checks)

    def __call__(self, arrays: list[Any]) -> tuple[Any, ...]:
        run = _GraphRun(self._tensors)
        # Python functions and hooks called on the way compute at once, also while a Program is being built.
        with GradModeBlock(False), use_interpreter(default_interpreter()), np.errstate(all="ignore"):
            found: tuple[Any, ...] = called(self._function, run, run, *arrays)
        return found


def _plan(recorder: GraphInterpreter, wanted: tuple[Value, ...]) -> _Plan:
    checks = current_interpreter().checks_nan
    key = (len(recorder.program.operators), len(recorder.program.inputs), wanted, checks)
    found: _Plan | None = recorder.plans.get(key)
    if found is None:
        found = recorder.plans[key] = _Plan(recorder, wanted, checks)
    return found


def _pruned(block: Block, wanted: Sequence[Value]) -> Block:
    """The operators that have effects or lead to `wanted`."""
    live, kept = set(wanted), list[Operator]()
    for operator in reversed(block.operators):
        if operator.effect or live.intersection(operator.outputs):
            live.update(_read_inside(operator))
            kept.append(operator)
    return Block((), kept[::-1])


def _read_inside(operator: Operator) -> set[Value]:
    found = set(operator.reads())
    for block in operator.blocks:
        found.update(block.outputs, *(_read_inside(inner) for inner in block.operators))
    return found


def _function(
    program: Program, block: Block, inputs: Sequence[Value], tensors: Sequence[Value], wanted: tuple[Value, ...],
    checks: bool,
) -> Callable[..., Any]:
    """``program(run, walk, *inputs)``: gives the wanted values."""
    whole = Program(program.name, block)
    records = frozenset(records_read(whole))
    writer = FunctionWriter("program", saved_values(whole, whole), records, (), tensors, checks=checks)
    names = [writer.name(value) for value in inputs]
    writer.results = frozenset(wanted)
    writer.source.lines.append(f"def program({', '.join(['run', 'walk', *names])}):")
    writer.block(block)
    writer.line(f"return {writer.pack(wanted)}")
    return load(writer.source, program.name)


class _GraphRun:
    """One run: what generated code calls for Tensors and hooks."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = tensors

    def tensor(self, data: Any, number: int | None, stop_gradient: bool, hooks: Any) -> Any:
        """The Tensor that Python functions get for a value."""
        return wrap(np.asarray(data))

    def call_hooks(self, walk: Any, grad: Any, point: Any, number: int | None) -> Any:
        """A complete gradient after the hooks of this run, or of a tensor from outside; None if there is none."""
        if grad is None:
            return None
        hooks = _hooks_at(point)
        if hooks is None:
            return grad
        return unwrap(hooks.run(wrap(np.asarray(grad), False), _detached))


    def taped_hooks(self, grad: Any, point: Any) -> tuple[Any, Tape]:
        """The same, with what is needed to differentiate what the hooks have done."""
        if grad is None:
            return None, Tape([None], [None])
        given = out = wrap(np.asarray(grad), False)
        hooks = _hooks_at(point)
        if hooks is not None:
            with GradModeBlock(True):
                # Not the leaf itself: hooks may write to it.
                out = hooks.run(given.clone(), _alias)
        return unwrap(out), Tape([given], [out])


def _hooks_at(point: Any) -> HookList | None:
    hooks = point if isinstance(point, HookList) else point.graph_edge()[0].hooks
    return hooks if isinstance(hooks, HookList) and hooks else None


def _detached(gradient: Any) -> Any:
    return wrap(unwrap(gradient), False)


def _alias(gradient: Any) -> Any:
    return gradient.alias()
