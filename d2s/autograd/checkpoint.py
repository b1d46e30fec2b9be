"""`recompute`: less memory for a second forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.autograd import recomputation


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
        What `function` returns.  In a static function it is called as it is, and the Program keeps what backward reads:
        nothing is run again, so there it may have no effects but hooks on what it computes itself.

    Raises
    ------
    UnsupportedSyntaxError
        In a static function, if `function` does more than compute: that would have to happen in backward again.

    Examples
    --------
    >>> x = to_tensor([0.5], stop_gradient=False)
    >>> autograd.recompute(lambda x: (x + 1) * x, x).backward()
    >>> x.grad.tolist()
    [2.0]
    """
    if not recomputation.runs_now((*args, *kwargs.values())):
        before = recomputation.before_traced()
        result = function(*args, **kwargs)
        recomputation.after_traced(before, result)
        return result
    return recomputation.computed_again(function, args, kwargs, preserve_rng_state)
