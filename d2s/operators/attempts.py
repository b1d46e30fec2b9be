"""The body of a ``try`` of the user: what is raised there when the Program runs has to come to its handlers.

An exception that the traced code itself raises is caught as in Python, by following the path on which it is raised.
One that comes up inside of an operator, when the Program runs, would pass by the handler: the run tries such an
operator before it does it, and the trace follows the path on which it raises.  The exception raised there, while
tracing, stands for that of the run.
"""

from __future__ import annotations

import copy
import dis
import operator
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import BuiltinMethodType, FunctionType
from typing import TYPE_CHECKING, Any

from d2s.core.op import Op
from d2s.eager.interpreter import compute, compute_of_all
from d2s.errors import D2SError, GradientError, HookError, UnsupportedSyntaxError, note_interruption, user_location
from d2s.operators import policy
from d2s.operators.risks import Errors
from d2s.static.program import Operator, Value
from d2s.static.variable import ObjectVariable
from d2s.transpiler.interface import PythonOperators

if TYPE_CHECKING:
    from d2s.operators.recorder import PathRecorder

@dataclass(frozen=True)
class Handlers:
    """The handlers of a ``try`` around a body that is traced.

    Attributes
    ----------
    caught : callable
        Gives what they catch, one after the other: a class, a tuple of them, or None for anything.
    is_named : bool
        True if one of them gives the exception a name: then the code can see its type.
    """

    caught: Callable[[], Any]
    is_named: bool


# What hooks raise most often, in handlers that name what they catch.
_KNOWN = (KeyError, ValueError, TypeError, RuntimeError, GradientError, HookError)
_SEEN_IN_ERRORS = ("message", "id", "kind", "location", "advice")


def ends_trace(tracer: PathRecorder, error: BaseException | None) -> bool:
    """True if d2s itself raises `error` through code of the user: a refusal, or what makes a trace begin anew."""
    if not type(error).__module__.startswith("d2s.") or id(error) in tracer.errors_of_run:
        return False
    return error.is_noted if isinstance(error, UnsupportedSyntaxError) else not isinstance(error, Exception)


def note_caught(tracer: PathRecorder, error: BaseException | None) -> None:
    """Note that code of the user has caught `error` while it was traced: an interruption is no part of the program.

    Raises
    ------
    BaseException
        `error`, if it ends the trace: no handler of the user may see it, nor act on it.
    """
    if error is not None and ends_trace(tracer, error):
        raise error
    if isinstance(error, KeyboardInterrupt | MemoryError) and id(error) not in tracer.errors_of_run and (
            not _was_raised_by_statement(error)):
        note_interruption(error)


def is_of_program(tracer: PathRecorder, error: BaseException) -> bool:
    """True if the traced code raises `error`; what is no `Exception` may also interrupt the trace, or end it."""
    if isinstance(error, Exception) or id(error) in tracer.errors_of_run:
        return True
    return not type(error).__module__.startswith("d2s.") and _was_raised_by_statement(error)


def _was_raised_by_statement(error: BaseException) -> bool:
    """True if a ``raise`` statement of converted code has raised `error`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return True
    frame = trace.tb_frame
    held = (getattr(value, "__self__", None) for value in frame.f_locals.values())
    is_converted = any(isinstance(owner, PythonOperators) for owner in held)
    return is_converted and frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def refusal() -> UnsupportedSyntaxError:
    """The error for an operator of which it is not known what it may raise."""
    return UnsupportedSyntaxError(
        "what this does may raise when the Program runs, where the `try` around it cannot catch it",
        user_location(), "Do it before the `try`, or keep the function eager with @d2s.jit.not_to_static.", kind="U06")


def try_first(
    tracer: PathRecorder, kind: str, op: Op | None, inputs: tuple[Value, ...], attrs: dict[str, Any], errors: Errors
) -> None:
    """Record that the run tries an operator which may raise one of `errors`.

    Raises
    ------
    Exception
        What the operator raises, on the paths on which it does.
    """
    call: tuple[Any, ...]
    if kind == "taken_all":
        call = (_error_of_joining, (errors, attrs["op"], inputs[0], attrs["attrs"]), {})
    elif op is None:
        call = (_error_of, (errors, *attrs["call"]), {})
    else:
        arrays = tuple(_array_of(tracer, value) for value in inputs)
        call = (_error_of_op, (errors, op, arrays, attrs), {})
    raised = ObjectVariable(tracer, _recorded(tracer, call, None))
    if tracer.decide(ObjectVariable(tracer, _recorded(tracer, (_is_nothing, (raised.value,), {}), bool))):
        return
    for cls in errors[:-1]:
        if tracer.decide(ObjectVariable(tracer, _recorded(tracer, (_is_one, (raised.value, cls), {}), bool))):
            raise _standing_for(tracer, cls, raised)
    raise _standing_for(tracer, errors[-1], raised)


def _recorded(tracer: PathRecorder, call: tuple[Any, ...], kind: type | None) -> Value:
    out = tracer.new_value("raised", None, kind=kind)
    return tracer.emit("python", (), (out,), {"call": call}, effect=True).outputs[0]


def _array_of(tracer: PathRecorder, value: Value) -> Value:
    if not value.is_tensor or value.is_constant:
        return value
    return tracer.emit("array_of", (value,), (tracer.new_value("array", None),)).outputs[0]


def _standing_for(
    tracer: PathRecorder, cls: type[BaseException], raised: ObjectVariable, count: int = 1, fields: tuple[str, ...] = ()
) -> BaseException:
    """An exception for the trace in place of one that the run raises, with so many arguments and these attributes."""
    kind = str if cls is not KeyError else None
    said = tuple(
        ObjectVariable(tracer, _recorded(tracer, (_said, (raised.value, place), {}), kind)) for place in range(count))
    made = cls.__new__(cls, *said)
    made.args = said
    for name in _SEEN_IN_ERRORS if issubclass(cls, D2SError) else fields:
        made.__dict__[name] = ObjectVariable(tracer, _recorded(tracer, (getattr, (raised.value, name), {}), None))
    tracer.errors_of_run[id(made)] = made, raised.value
    return made


def done_or_raised(
    tracer: PathRecorder, found: ObjectVariable, likely: Iterable[type[BaseException]], kind: type | None = None
) -> ObjectVariable:
    """What `tried` gave, `found`, on the path on which it has raised nothing: an object of this kind.

    It may raise the `likely` ones.

    Raises
    ------
    Exception
        On the other paths: one that stands for that of the run, and that the same handlers catch.
    """
    raised = tracer.python_call(operator.getitem, (found, 1))
    if tracer.decide(_asked(tracer, _is_nothing, raised)):
        return tracer.python_call(operator.getitem, (found, 0), kind=kind)
    is_named = any(handlers.is_named for handlers in tracer.handlers if handlers is not None)
    for cls in _caught(tracer):
        if not tracer.decide(_asked(tracer, _is_of, raised, cls)):
            continue
        if not is_named:
            raise _unseen(tracer, cls, raised)
        for known in dict.fromkeys((cls, *(other for other in (*_KNOWN, *likely) if issubclass(other, cls)))):
            fields = _fields_of(known)
            for count in (1, 0, 2, 3) if policy.is_of_user(known) else (1, 0):
                if tracer.decide(_asked(tracer, _is_plainly, raised, known, count, fields)):
                    raise _standing_for(tracer, known, raised, count, fields)
        tracer.python_call(_refuse, (raised,), effect=True)
    raise _unseen(tracer, _Uncaught, raised)


def done(
    tracer: PathRecorder, out: Value, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Operator:
    """Record a call that may raise anything: what gives its result, `out`, on the path on which it raises nothing."""
    from d2s.operators.hook_effects import exceptions_named_in

    check_known(tracer)
    with tracer.unguarded():
        given = _recorded(tracer, (tried, (function, *args), kwargs), None)
        result = done_or_raised(tracer, ObjectVariable(tracer, given), exceptions_named_in([function]), out.kind)
        return tracer.definitions[result.value][0]


def check_known(tracer: PathRecorder) -> None:
    """Refuse a call that may raise anything where it is not known what the handlers around catch."""
    if tracer.path is None or any(handlers is None for handlers in tracer.handlers):
        raise refusal()


def _caught(tracer: PathRecorder) -> list[type[BaseException]]:
    """What the handlers around catch, in the order in which they are asked."""
    found: list[Any] = []
    for handlers in reversed(tracer.handlers):
        assert handlers is not None
        stack = [BaseException if cls is None else cls for cls in reversed(handlers.caught())]
        while stack:
            cls = stack.pop()
            if isinstance(cls, tuple):
                stack += reversed(cls)
            else:
                found.append(cls if isinstance(cls, type) else BaseException)
    return list(dict.fromkeys(found))


def _asked(tracer: PathRecorder, question: Any, *parts: Any) -> ObjectVariable:
    return tracer.python_call(question, parts, kind=bool)


class _Uncaught(BaseException):
    """Stands for an exception of the run that no handler catches."""


def _unseen(tracer: PathRecorder, cls: type[BaseException], raised: ObjectVariable) -> BaseException:
    """An exception for the trace in place of one of the run that the handlers do not look at."""
    made = cls.__new__(cls)
    tracer.errors_of_run[id(made)] = made, raised.value
    return made


# --- in the run -----------------------------------------------------------------------------------------------------


def _error_of(errors: Errors, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    """What a call raises; it is given copies of containers."""
    if isinstance(function, BuiltinMethodType):
        function = getattr(_spared(function.__self__), function.__name__)
    return _raised_by(errors, lambda: function(*map(_spared, args), **kwargs))


def _error_of_op(errors: Errors, op: Op, arrays: tuple[Any, ...], attrs: dict[str, Any]) -> Exception | None:
    return _raised_by(errors, lambda: compute(op, arrays, attrs))


def _error_of_joining(errors: Errors, op: Op, tensors: list[Any], attrs: dict[str, Any]) -> Exception | None:
    return _raised_by(errors, lambda: compute_of_all(op, tensors, attrs))


def _raised_by(errors: Errors, work: Any) -> Exception | None:
    try:
        work()
    except Exception as error:
        if type(error) in errors and len(error.args) == 1:
            return error.with_traceback(None)
        raise UnsupportedSyntaxError(
            f"a {type(error).__name__} came up in a `try` where none was to be expected, so that its handlers cannot "
            f"catch it: {error}", None, "Keep the function eager with @d2s.jit.not_to_static.", kind="U06") from error
    return None


def tried(function: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, BaseException | None]:
    """What `function` returns, and what it raises; one of them is None."""
    try:
        return function(*args, **kwargs), None
    except BaseException as error:
        return None, error


def _is_of(raised: BaseException, cls: type[BaseException]) -> bool:
    return isinstance(raised, cls)


def _fields_of(cls: type[BaseException]) -> tuple[str, ...]:
    """The attributes that an exception of a class of the user may have: those that its `__init__` sets."""
    codes = [
        base.__dict__["__init__"].__code__ for base in cls.__mro__
        if isinstance(base.__dict__.get("__init__"), FunctionType) and policy.is_of_user(base)]
    found = [step.argval for code in codes for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"]
    return tuple(dict.fromkeys(found))


def _is_plainly(raised: BaseException, cls: type[BaseException], count: int, fields: tuple[str, ...]) -> bool:
    known = isinstance(raised, D2SError) or tuple(vars(raised)) == fields
    return type(raised) is cls and len(raised.args) == count and known


def _refuse(raised: BaseException) -> None:
    raise UnsupportedSyntaxError(
        f"a {type(raised).__name__} came up in a `try` whose handlers name what they catch, and which may see that it "
        f"is none of the exceptions that are known before the run: {raised}", None,
        "Catch exactly this exception, or keep the function eager with @d2s.jit.not_to_static.", kind="U06") from raised


def _spared(thing: Any) -> Any:
    return copy.copy(thing) if type(thing) in (list, dict, set, deque) else thing


def _is_nothing(raised: BaseException | None) -> bool:
    return raised is None


def _is_one(raised: Exception, cls: type[Exception]) -> bool:
    return type(raised) is cls


def _said(raised: Exception, place: int) -> Any:
    return raised.args[place]


def as_raised(raised: BaseException, shown: Any, before: tuple[BaseException | None, ...]) -> BaseException:
    """The exception of the run, with what led to it, in the place of the one that stood for it."""
    error: BaseException = shown.thing
    # What came up in the run itself has frames and causes of its own; what was tried before has none.
    is_own = raised.__traceback__ is not None
    if not is_own or any(found is not None for found in before):
        raised.__cause__, raised.__context__ = before
        raised.__suppress_context__ = error.__suppress_context__
    return raised if is_own else raised.with_traceback(error.__traceback__)


__all__ = [
    "Handlers", "as_raised", "check_known", "done", "done_or_raised", "ends_trace", "is_of_program", "note_caught",
    "refusal", "tried", "try_first",
]
