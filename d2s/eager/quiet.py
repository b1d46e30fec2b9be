"""Where arrays are computed: without NumPy's warnings of inf and nan, as tensor libraries do."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

# True inside: the forward function of an op may call ops itself.
is_quiet: contextvars.ContextVar[bool] = contextvars.ContextVar("d2s_quiet", default=False)


class _Quiet(threading.local):
    """``quiet.run(function, *args, **kwargs)`` calls it in that context, of which each thread has one."""

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        context.run(is_quiet.set, True)
        self.run = context.run


quiet = _Quiet()


def quietly(function: Callable[..., Any], *arrays: Any) -> Any:
    """Call `function` in that context, which may be the current one."""
    return function(*arrays) if is_quiet.get() else quiet.run(function, *arrays)
