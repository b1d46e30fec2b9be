"""`to_static` and what it returns: a function that is traced on its first call and runs as a Program."""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any, cast

from d2s.core.interpreter import state
from d2s.core.locks import new_reentrant_lock
from d2s.core.modes import modes_now, put_back
from d2s.drawing.side_by_side import SideBySide
from d2s.errors import D2SError, SourceError, StateError
from d2s.jit.cache import ObjectCaches, ProgramCache, cache_of_layer
from d2s.jit.comparison import side_by_side
from d2s.jit.concrete import ConcreteProgram
from d2s.jit.entry import MISSED
from d2s.jit.explain import explained
from d2s.jit.fallback import EagerCall, tell
from d2s.jit.signature import check_arguments, flat_binding, open_sizes
from d2s.jit.symbolic_call import SymbolicCall
from d2s.jit.trace import Traced, trace
from d2s.jit.tracebacks import show_user_lines
from d2s.nn.layer import Layer
from d2s.operators.equality import same_parts
from d2s.operators.guards import ABSENT, GuardSet, lookup
from d2s.operators.region import REFUSALS
from d2s.operators.sizes import SizeNeeded
from d2s.operators.sources import Constant
from d2s.operators.tracer import Tracer
from d2s.static.build_strategy import BuildStrategy
from d2s.static.input_spec import InputSpec
from d2s.static.program import Program
from d2s.transpiler.context import HookReport
from d2s.transpiler.convert import JIT_PASSES, Prepared, prepare
from d2s.words import counted, times

# More traces of one function than this are worth a warning.
MAX_SILENT_TRACES = 8

logger = logging.getLogger("d2s.jit")

_enabled = True


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Switch static mode on or off for the whole process; off, converted functions run eagerly."""
    global _enabled
    _enabled = bool(enable_to_static_bool)


@contextmanager
def static_mode(is_on: bool) -> Iterator[None]:
    """Static functions run as Programs inside, or eagerly; afterwards as before."""
    before = _enabled
    enable_to_static(is_on)
    try:
        yield
    finally:
        enable_to_static(before)


class StaticFunction:
    """A function that runs as a Program: same outputs, gradients, hook calls and effects as the original.

    The first call with new kinds of arguments traces the function, later ones run the compiled Program.  Made by
    `to_static`; as attribute of a class it binds to instances like a method.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self, function: Callable[..., Any], input_spec: Any = None, instance: Any = None, full_graph: bool = True,
        build_strategy: Any = None,
    ) -> None:
        self._function = function
        self._input_spec = input_spec
        self._instance = instance
        # The name by which each call looks the function up in the class of the object, as Python does; if it does.
        self._place: str | None = None
        self._full_graph = full_graph
        # Objects of other libraries have no say here.
        self._strategy = build_strategy if isinstance(build_strategy, BuildStrategy) else BuildStrategy()
        # Why it is never traced, if so: calls run eagerly.
        self.refusal: D2SError | None = None
        self._own_cache = ProgramCache()
        self._of_objects = ObjectCaches()
        self._specified: ConcreteProgram | None = None
        self._lock = new_reentrant_lock()
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._look()

    def _look(self) -> None:
        """Take note of the parameters and defaults that the function has now."""
        function: Any = self._function
        self._code, self._defaults = function.__code__, (function.__defaults__, dict(function.__kwdefaults__ or {}))
        self._signature = inspect.signature(function, follow_wrapped=False)
        self._bind_flat, self._fewest, self._most = flat_binding(self._signature)

    # --- binding -----------------------------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: type | None = None) -> StaticFunction:
        if instance is None:
            return self
        return self._bound_to(instance)

    def _bound_to(self, instance: Any) -> StaticFunction:
        bound = copy.copy(self)
        bound._instance = instance
        if isinstance(instance, Layer):
            bound._own_cache = cache_of_layer(instance, self._function)
        else:
            bound._own_cache = self._of_objects.of(instance, self._own_cache)
        return bound

    def _looked_up_as(self, place: str) -> StaticFunction:
        """This, which from now on is what the class of its object has under the name `place`."""
        self._place = place
        return self

    def _in_place(self) -> Callable[..., Any]:
        """What the class has in the place of the function now: this, of that function, or what cannot be converted."""
        if self._place is None or getattr(type(self._instance), self._place, None) is self._function:
            return self
        found: Any = lookup(type(self._instance), self._place)
        if isinstance(found, FunctionType):
            from d2s.jit.decorators import to_static

            found = to_static(found, **self._options())
        if not isinstance(found, StaticFunction):
            # Where there is nothing, Python says what becomes of a call.
            found = self._instance if found is ABSENT else found
            bind: Any = getattr(found, "__get__", lambda *owner: found)
            return cast("Callable[..., Any]", bind(self._instance, type(self._instance)))
        if found._function is not self._function:
            self.__dict__.update(found._bound_to(self._instance)._looked_up_as(self._place).__dict__)
        return self

    @property
    def class_instance(self) -> Any:
        """The object that the function is bound to as a method, or None."""
        return self._instance

    @property
    def dygraph_function(self) -> Callable[..., Any]:
        """The original function (bound, if this is)."""
        self._in_place()
        if self._instance is not None:
            return MethodType(self._function, self._instance)
        return self._function

    def rollback(self) -> Callable[..., Any]:
        """The original function; if this is the `forward` of one Layer, it is put back there."""
        original = self.dygraph_function
        instance = self._instance
        if isinstance(instance, Layer) and instance.__dict__.get("forward") is self:
            del instance.__dict__["forward"]
        return original

    def __d2s_copied__(self, owner: Any, copied: Any) -> StaticFunction:
        """What stands for this attribute of `owner` in a copy of that."""
        return self._bound_to(copied) if self._instance is owner else self

    def __copy__(self) -> StaticFunction:
        other = StaticFunction.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticFunction:
        other = copy.copy(self)
        other._lock = new_reentrant_lock()
        other._own_cache, other._of_objects = ProgramCache(), ObjectCaches()
        memo[id(self)] = other
        if self._instance is not None:
            other._instance = copy.deepcopy(self._instance, memo)
        return other

    def __reduce__(self) -> tuple[Any, ...] | str:
        from d2s.jit.decorators import bound_again, static_again

        if getattr(sys.modules.get(self.__module__), self.__qualname__, None) is self:
            # Decorated where it is defined.
            return str(self.__qualname__)
        if self._instance is not None:
            return bound_again, (self._function.__name__, self._instance, self._options(), self._place)
        return static_again, (self._function, self._options())

    def _options(self) -> dict[str, Any]:
        return {
            "input_spec": self._input_spec, "build_strategy": self._strategy, "full_graph": self._full_graph}

    def __repr__(self) -> str:
        code: Any = self._code
        file, programs = os.path.basename(code.co_filename), counted(len(self._own_cache), "Program")
        name = f"{self._function.__qualname__}({', '.join(self._signature.parameters)})"
        return f"<StaticFunction {name} at {file}:{code.co_firstlineno}, {programs}>"

    # --- calls -------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._place is not None and (function := self._in_place()) is not self:
            return function(*args, **kwargs)
        if self._instance is not None:
            args = (self._instance, *args)
        if isinstance(state.current, Tracer):
            return self.__d2s_inline__(state.current, args, kwargs, bound=True)
        if not _enabled or self.refusal is not None:
            return self._function(*args, **kwargs)
        modes = modes_now()
        try:
            if not kwargs and self._fewest <= len(args) <= self._most and (
                self._input_spec is None and self._function.__code__ is self._code
            ):
                bound = self._bind_flat(*args)
            else:
                bound = self._arguments(args, kwargs)
            programs = self._own_cache.programs
            if programs:
                result = programs[0].enter(bound)
                if result is not MISSED:
                    return result
            program = self._own_cache.find(bound) or self._trace(bound)
            return program.run(bound)
        except BaseException as error:
            put_back(modes, error)
            show_user_lines(error)
            raise

    def __d2s_inline__(self, tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any], bound: bool = False) -> Any:
        """A call from traced code: the function becomes part of that trace."""
        from d2s.operators.calls import call

        if self._instance is not None and tracer.source_of(self._instance) is None:
            # It is as old as this.
            tracer.remember(self._instance, Constant(self._instance))
        if self._place is not None:
            function = self._in_place()
            tracer.guard_class(self._instance, self._place)
            if function is not self:
                return call(function, *args, **kwargs)
        if self._instance is not None and not bound:
            args = (self._instance, *args)
        return call(self._function, *args, **kwargs)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by parameter name, defaults filled in; checked against the specs, if there are any."""
        function: Any = self._function
        if function.__code__ is not self._code:
            self._look()
        if not same_parts(
            (function.__defaults__, *(function.__kwdefaults__ or {}).items()),
            (self._defaults[0], *self._defaults[1].items()),
        ):
            self._look()
        bound = self._bound(args, kwargs)
        if self._input_spec is not None:
            check_arguments(self._input_spec, self._signature, bound, self._instance is not None, self.__name__)
        return bound

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            found = self._signature.bind(*args, **kwargs)
        except TypeError:
            # In the words of Python.
            self._function(*args, **kwargs)
            raise
        found.apply_defaults()
        return found.arguments

    def _trace(self, bound: dict[str, Any]) -> ConcreteProgram | EagerCall:
        cache = self._own_cache
        with self._lock:
            cached = cache.find(bound)
            if cached is not None:
                return cached
            why = cache.note_retrace(bound)
            if cache.traces:
                logger.info("%s is traced again: %s", self.__qualname__, why)
            if cache.traces == MAX_SILENT_TRACES:
                warnings.warn(
                    f"{self.__qualname__} has been traced {times(cache.traces + 1)}, the last time because {why}; "
                    "pass what changes as a Tensor, or give an input_spec (explain() tells more)",
                    RuntimeWarning, stacklevel=3,
                )
            if self._input_spec is not None:
                cache.generality.leave_open(
                    open_sizes(self._input_spec, self._signature, self._instance is not None), declared=True)
            program: ConcreteProgram | EagerCall
            guards = GuardSet()
            try:
                traced = self._traced(bound, guards)
                traced.compiled.strategy = self._strategy
                program = ConcreteProgram(traced, state.grad_enabled)
            except REFUSALS as refusal:
                if self._full_graph:
                    raise
                tell(self.__qualname__, refusal)
                program = EagerCall(self._function, self._signature, guards, state.grad_enabled)
            cache.add(program, why)
            return program

    def _traced(self, bound: dict[str, Any], guards: GuardSet) -> Traced:
        """A trace that leaves open what keeps changing, except what steers Python.

        Tracing has no effects, so it may be tried: first with what has changed left open; an error may be due to that,
        then it does not come again when all is taken as it is.  That last trace fills `guards`.
        """
        generality = self._own_cache.generality
        opening = wanted = generality.opening
        arguments = (self._function, self._signature, bound, self.__name__)
        while opening:
            try:
                traced = trace(*arguments, opening.numbers, opening.sizes, opening.steering)
            except SizeNeeded as needed:
                opening = opening.narrowed(needed.places, generality.declared)
            except MemoryError:
                raise
            except Exception:
                opening = opening.narrowed(None, generality.declared)
            else:
                break
        else:
            traced = trace(*arguments, guards=guards)
        generality.fix(wanted - opening)
        return traced

    # --- looking -----------------------------------------------------------------------------------------------

    def explain(self) -> str:
        """Why the function was traced, what its Programs leave open, and what was done to each of them."""
        cache = self._own_cache
        generality = cache.generality
        kept = f"{self.__qualname__}: traced {times(cache.traces)}, {counted(len(cache), 'Program')} kept"
        lines = [kept, *cache.explained()]
        for title, names in (
            ("read on each call", generality.described(generality.opening)),
            ("needed by Python, so each value has its own Program", generality.fixed),
        ):
            if names:
                lines.append(f"{title}: {', '.join(names)}")
        return "\n".join([*lines, *explained(cache.numbered(), cache.used_last)])

    def _prepared(self) -> Prepared:
        self._in_place()
        return prepare(plain_function(self._function), JIT_PASSES)

    @property
    def code(self) -> str:
        """The source after conversion: what the user wrote, with hooks moved and control flow as operators."""
        return self._prepared().code

    def hook_report(self) -> list[HookReport]:
        """What became of each ``register_hook`` call: `line`, `target`, `moved_to` (None: it stayed) and `reason`."""
        return list(self._prepared().hook_report)

    def side_by_side(self) -> SideBySide:
        """The user's source beside `code`, hooks marked: `.text()` for terminals, `.table()` or `.html()` for pages."""
        return side_by_side(self._prepared())

    def _repr_html_(self) -> str:
        """User's source and converted code, for notebooks; and the picture of the Program, once there is one."""
        picture = self.main_program.picture().svg() if len(self._own_cache) else ""
        return f"{self.side_by_side().table()}\n{picture}"

    @property
    def program_cache(self) -> ProgramCache:
        """The compiled Programs."""
        return self._own_cache

    @property
    def concrete_program(self) -> ConcreteProgram:
        """The Program traced last; before any call that for the `input_spec`, if there is one."""
        if self._own_cache.has_programs or self._input_spec is None:
            return self._own_cache.last()
        if self._specified is None:
            specs = self._input_spec
            self._specified = self._symbolic(specs if isinstance(specs, list | tuple) else [specs], {})
        return self._specified

    @property
    def main_program(self) -> Program:
        """The Program traced last, printable, with its backward."""
        return self.concrete_program.main_program

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> ConcreteProgram:
        """The Program for these arguments; traced if need be, not run.

        With an `InputSpec` among the arguments it is a Program to look at, with the sizes that the specs leave open.

        Raises
        ------
        UnsupportedSyntaxError, TracingError
            If the function cannot become a graph.
        """
        if any(map(_holds_spec, (args, kwargs))):
            return self._symbolic(args, kwargs)
        if self._instance is not None:
            args = (self._instance, *args)
        bound = self._arguments(args, kwargs)
        program = self._own_cache.find(bound) or self._trace(bound)
        if isinstance(program, EagerCall):
            # Once more for the error that says why.
            return ConcreteProgram(self._traced(bound, GuardSet()), state.grad_enabled)
        return program

    def _symbolic(self, specs: Sequence[Any], named: dict[str, Any]) -> ConcreteProgram:
        call = SymbolicCall(self._signature, specs, self._instance, self.__name__, named)
        return ConcreteProgram(trace(self._function, self._signature, call.bound, self.__name__), state.grad_enabled)

    def train(self) -> None:
        """Training mode; it belongs to Layers, a plain function has none.

        Raises
        ------
        RuntimeError
            If this is a method of a Layer that is in the other mode: call `train()` of the Layer.
        """
        self._check_mode(True)

    def eval(self) -> None:
        """Evaluation mode; see `train`."""
        self._check_mode(False)

    def _check_mode(self, training: bool) -> None:
        instance = self._instance
        if isinstance(instance, Layer) and instance.training is not training:
            name = "train" if training else "eval"
            raise StateError(
                f"{self.__qualname__} is a method of a Layer: call {name}() of the {type(instance).__name__}",
                kind="R04")

    @property
    def inputs(self) -> list[Any]:
        """Inputs of the Program traced last."""
        return self.concrete_program.inputs

    @property
    def outputs(self) -> list[Any]:
        """Outputs of the Program traced last."""
        return self.concrete_program.outputs


def plain_function(function: Callable[..., Any]) -> FunctionType:
    """`function`, if it was made by ``def`` or ``lambda``."""
    if not isinstance(function, FunctionType):
        raise SourceError(f"{function!r} has no Python source", kind="F01")
    return function


def _holds_spec(tree: Any) -> bool:
    if isinstance(tree, list | tuple):
        return any(map(_holds_spec, tree))
    if isinstance(tree, dict):
        return any(map(_holds_spec, tree.values()))
    return isinstance(tree, InputSpec)
