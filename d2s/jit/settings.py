"""What static mode tells about its work: source after a pass, reasons of traces."""

from __future__ import annotations

import logging
import sys
from types import FunctionType

from d2s.errors import ArgumentError
from d2s.operators import conversion
from d2s.transpiler.convert import JIT_PASSES, prepare

logger = logging.getLogger("d2s.jit")

_handlers: list[logging.Handler] = []


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Print each function that is converted from now on, as it is after pass number `level`.

    Parameters
    ----------
    level : int
        0: print nothing.  1: after the first pass, and so on; a number beyond the last pass (the default): the
        final source, as in `StaticFunction.code`.
    also_to_stdout : bool
        The source goes to stderr; if True, to stdout as well.

    Raises
    ------
    ValueError
        If `level` is negative or no int.
    """
    if isinstance(level, bool) or not isinstance(level, int) or level < 0:
        raise ArgumentError(f"set_code_level() needs an int that is not negative, got {level!r}")
    passes = JIT_PASSES[:level]

    def show(function: FunctionType) -> None:
        code, source = function.__code__, prepare(function, passes).code
        after = "all passes" if len(passes) == len(JIT_PASSES) else (
            f"pass {len(passes)} ({passes[-1].__module__.rpartition('.')[2]})")
        text = f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno}) after {after}:\n{source}"
        for stream in (sys.stderr, sys.stdout) if also_to_stdout else (sys.stderr,):
            print(text, file=stream)

    conversion.show_converted(show if level else None)


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Let the logger `d2s.jit` tell what static mode does.

    Parameters
    ----------
    level : int
        0: nothing.  1: why a function is traced again.  2 and more: also each conversion, with what became of its
        `register_hook` lines, and each trace, with its size.
    also_to_stdout : bool
        The log goes to stderr; if True, to stdout as well.

    Raises
    ------
    ValueError
        If `level` is negative or no int.
    """
    if isinstance(level, bool) or not isinstance(level, int) or level < 0:
        raise ArgumentError(f"set_verbosity() needs an int that is not negative, got {level!r}")
    while _handlers:
        logger.removeHandler(_handlers.pop())
    logger.setLevel([logging.NOTSET, logging.INFO, logging.DEBUG][min(level, 2)])
    if level:
        for stream in (sys.stderr, sys.stdout) if also_to_stdout else (sys.stderr,):
            handler = logging.StreamHandler(stream)
            handler.setFormatter(logging.Formatter("d2s: %(message)s"))
            logger.addHandler(handler)
            _handlers.append(handler)
