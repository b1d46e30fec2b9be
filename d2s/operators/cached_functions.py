"""Functions behind `functools.lru_cache`: they run on their first call with some arguments only, in both modes.

One that only computes is asked before the Program runs, as if its results were in a table: it gives what it has kept,
whatever has changed since, and what has been dropped is computed again.  Any other is called by the run, at its place.
"""

from __future__ import annotations

from typing import Any

from d2s.core.interpreter import TensorBase, default_interpreter, use_interpreter
from d2s.errors import UnsupportedSyntaxError, pardoned_refusals, user_location
from d2s.operators import keys, libraries
from d2s.operators.choices import may_be
from d2s.operators.equality import is_plain
from d2s.operators.heap import Heap
from d2s.operators.region import REFUSALS, trace_branch
from d2s.operators.sources import Called, Constant
from d2s.operators.tracer import Tracer
from d2s.static.program import Block
from d2s.static.variable import Variable


def call_cached(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``func(*args, **kwargs)``."""
    from d2s.operators.calls import call

    given = (*args, *kwargs.values())
    keys.key(tracer, given)
    tensors = [part for part in given if isinstance(part, TensorBase)]
    if any(_is_from_outside(tracer, tensor) for tensor in tensors):
        raise UnsupportedSyntaxError(
            f"{getattr(func, '__name__', 'a function')} is cached by which object a tensor is, and is given one from "
            "outside: it gives what it gave before, also when the values have changed", user_location(),
            "Call it outside the static function, or call what is cached: its __wrapped__.", kind="U13")
    if tensors:
        # Made anew in each call: none of them has been met before.
        return call(func.__wrapped__, *args, **kwargs)
    if not _only_computes(tracer, func, args, kwargs):
        return libraries.call_unknown(tracer, func, args, kwargs)
    path = tracer.path
    is_first = not tracer.effects and tracer.block is tracer.program.block and (path is None or not path.choices)
    if not is_first or not all(_is_known(tracer, part) for part in given):
        return libraries.run_later(tracer, func, args, kwargs)
    with use_interpreter(default_interpreter()):
        result = func(*args, **kwargs)
    return tracer.read(Called(func, args, kwargs), result)


def _is_from_outside(tracer: Tracer, tensor: Any) -> bool:
    return not isinstance(tensor, Variable) or any(
        tracer.is_outer(other.value) for other in (tensor, *may_be(tensor)) if isinstance(other, Variable))


def _is_known(tracer: Tracer, part: Any) -> bool:
    """True for an argument that is the same in each call for which the Program is used."""
    source = tracer.source_of(part)
    return is_plain(part) or isinstance(source, Constant)


def _only_computes(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """True if what is cached has no effects; found by tracing it once for nothing but that."""
    from d2s.operators.calls import call

    effects = tracer.effects
    counted: list[int] = []

    def run() -> None:
        try:
            call(func.__wrapped__, *args, **kwargs)
        except REFUSALS:
            raise
        except Exception:
            # It may not come so far: what it has kept does not depend on what holds now.
            pass
        finally:
            counted.append(tracer.effects)

    try:
        with pardoned_refusals():
            before = Heap([func.__wrapped__, *args, *kwargs.values()], tracer.is_outer)
            block, outcome = trace_branch(tracer, run, before)
    except REFUSALS:
        return False
    return all(count == effects for count in counted) and not outcome.changes and not _draws(block)


def _draws(block: Block) -> bool:
    """True if there are operators that draw random numbers."""
    return any(
        (operator.op is not None and operator.op.random) or any(map(_draws, operator.blocks))
        for operator in block.operators)
