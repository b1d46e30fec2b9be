"""Control flow by functions: `cond`, `while_loop`, `case`, `switch_case`.

On tensors with values they do at once what they say.  In a function that is traced, and in a Program that is built by
hand, they become part of the Program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from d2s.errors import DTypeError, ProgramError
from d2s.static import regions

__all__ = ["case", "cond", "switch_case", "while_loop"]


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
    return_names: Any = None,
) -> Any:
    """
    What `true_fn` returns if `pred` is true, else what `false_fn` returns.

    Parameters
    ----------
    pred : Tensor of one element, or bool
    true_fn, false_fn : callable, optional
        Functions without arguments.  In a Program both return the same structure of tensors, with equal dtypes.

    Returns
    -------
    Any
        None if there is no function for the way taken.
    """
    recorder = regions.recorder_of(pred)
    if recorder is not None:
        return regions.branch(recorder, pred, true_fn, false_fn)
    if pred:
        return None if true_fn is None else true_fn()
    return None if false_fn is None else false_fn()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    is_test: bool = False,
    name: str | None = None,
) -> list[Any]:
    """
    Call `body` as long as `cond` says so.

    Parameters
    ----------
    cond : callable
        Gets the loop variables; returns a tensor of one element, or a bool.
    body : callable
        Gets the loop variables; returns them for the next turn, a list or tuple of the same length.
    loop_vars : sequence of Tensor

    Returns
    -------
    list
        The loop variables when `cond` is false.
    """
    if not loop_vars:
        raise ProgramError("while_loop needs loop variables", kind="P09")
    recorder = regions.first_recorder(loop_vars)
    if recorder is not None:
        return regions.loop(recorder, cond, body, loop_vars)
    carried = list(loop_vars)
    while cond(*carried):
        following = body(*carried)
        carried = list(following) if isinstance(following, list | tuple) else [following]
    return carried


def case(
    pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """
    What the function returns that belongs to the first condition that is true.

    Parameters
    ----------
    pred_fn_pairs : sequence of (Tensor or bool, callable)
    default : callable, optional
        Called if no condition is true; by default the last function.
    """
    if not isinstance(pred_fn_pairs, list | tuple) or not pred_fn_pairs:
        raise DTypeError("case needs a list of pairs (condition, function)")
    return _first_true(list(pred_fn_pairs), pred_fn_pairs[-1][1] if default is None else default)


def _first_true(pairs: list[Any], default: Callable[[], Any]) -> Any:
    if not pairs:
        return default()
    test, function = pairs[0]
    return cond(test, function, lambda: _first_true(pairs[1:], default))


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str | None = None
) -> Any:
    """
    What the function with the number `branch_index` returns.

    Parameters
    ----------
    branch_index : integer Tensor of one element, or int
    branch_fns : dict, or sequence of (int, callable), or sequence of callable
        Functions by number.
    default : callable, optional
        Called for any other number; by default the function with the largest number.
    """
    numbered = regions.numbered(branch_fns)
    fallback = numbered[-1][1] if default is None else default
    return _first_true([(branch_index == number, function) for number, function in numbered], fallback)
