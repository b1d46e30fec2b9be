"""What is around a program while it runs: settings of the process are guarded, frames are not to be looked at."""

from __future__ import annotations

from typing import Any

from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators import policy
from d2s.operators.guards import Guard
from d2s.operators.sources import Constant
from d2s.operators.tracer import Tracer


def note_decimals(tracer: Tracer) -> None:
    """Note that the trace depends on how decimal numbers are rounded."""
    import decimal

    tracer.guards.add(Guard(
        Constant(decimal.getcontext), "{k0}({v}()) == {k1}", (_settings, _settings(decimal.getcontext())),
        "decimal context"))


def refuse_context(name: str) -> None:
    """Refuse to ask for the decimal context in traced code: what is computed there has been rounded by then."""
    if name in ("getcontext", "setcontext"):
        raise UnsupportedSyntaxError(
            f"decimal.{name}() in a static function: decimal numbers are computed while it is traced, and raise no "
            "flags in the run", user_location(), "Ask for the context, and set it, outside of the static function.",
            kind="U25")


def _settings(context: Any) -> tuple[Any, ...]:
    return (
        context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, str(context.traps))


# What looks at the frames of the program, or at the exception that is being handled: a Program has others.
_LOOK_AROUND = frozenset({
    ("sys", "_getframe"), ("inspect", "currentframe"), ("inspect", "stack"), ("inspect", "trace"),
    ("traceback", "format_exc"), ("traceback", "print_exc"), ("traceback", "print_last"),
    ("traceback", "extract_stack"), ("traceback", "format_stack"), ("traceback", "print_stack"),
})


def refuse_looking_around(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse functions that ask for frames, or for the exception that is being handled."""
    if func in (eval, exec) and len(args) + len(kwargs) < 2:
        raise UnsupportedSyntaxError(
            f"what {func.__name__} runs may look at all names of this function, and is not traced", user_location(),
            "Give it what it needs: eval(text, {'name': value}).", kind="U31")
    name, module = getattr(func, "__name__", ""), policy.module_of(func)
    logs_error = module == "logging" and (name == "exception" or kwargs.get("exc_info") is True)
    if (module, name) in _LOOK_AROUND or logs_error:
        raise UnsupportedSyntaxError(
            f"{module}.{name} looks at the frames of the program or at the exception that is being handled: those of a "
            "Program are others", user_location(), "Use the exception itself: except ... as error.", kind="U31")
