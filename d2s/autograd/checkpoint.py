"""`recompute`: less memory for a second forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.autograd import recomputation
from d2s.core.interpreter import current_interpreter, state


def recompute(
    function: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, use_reentrant: bool = True, **kwargs: Any
) -> Any:
    """
    Call ``function(*args, **kwargs)``, keep nothing of it for backward but its arguments, and run it again there.

    Parameters
    ----------
    function : callable
        Gives the same result each time it is called.  Its effects happen twice: when it is called, and in backward.
    preserve_rng_state : bool
        Draw the same random numbers in backward.
    use_reentrant : bool
        Accepted for programs that pass it; there is one way.

    Returns
    -------
    Any
        What `function` returns.  In a static function it becomes part of the Program, which keeps what backward reads
        and runs nothing again; unless it does more than compute: then it is run as in eager mode, both times.

    Examples
    --------
    >>> x = to_tensor([0.5], stop_gradient=False)
    >>> autograd.recompute(lambda x: (x + 1) * x, x).backward()
    >>> x.grad.tolist()
    [2.0]
    """
    if not recomputation.runs_now((*args, *kwargs.values())):
        traced = getattr(current_interpreter(), "recompute", None)
        if traced is None or not state.grad_enabled:
            return function(*args, **kwargs)
        return traced(recomputation.computed_again, function, args, kwargs, preserve_rng_state)
    return recomputation.computed_again(function, args, kwargs, preserve_rng_state)
