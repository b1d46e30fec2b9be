"""Where the command writes: standard output whatever it is, or a file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from d2s.cli.mistakes import DONE, Mistake


def write(text: str, path: str | None = None) -> int:
    """Write a text to standard output, or to a file; the status that stands for it."""
    if path is None:
        with _told_of_failures("what was found", drop_the_rest):
            sys.stdout.write(text)
        return DONE
    with _told_of_failures(path or "a file without a name"):
        Path(path).write_text(text, encoding="utf-8")
    return write(f"wrote {path}\n")


@contextlib.contextmanager
def standard_output() -> Iterator[None]:
    """
    Standard output that takes every text: what its encoding lacks is written as escape, and if it is closed, nowhere.

    At the end all of it has been written, or a `Mistake` says why not.
    """
    with contextlib.ExitStack() as stack:
        if sys.stdout is None:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(open(os.devnull, "w"))))
        elif isinstance(sys.stdout, io.TextIOWrapper):
            stack.callback(_set_errors, sys.stdout, sys.stdout.errors)
            _set_errors(sys.stdout, "backslashreplace")
        yield
        with _told_of_failures("what was found", drop_the_rest):
            sys.stdout.flush()


def _set_errors(stream: io.TextIOWrapper, errors: str | None) -> None:
    # Without it a stream is flushed, which may fail, and has been done where it matters.
    with contextlib.suppress(OSError):
        stream.reconfigure(errors=errors)


@contextlib.contextmanager
def _told_of_failures(what: str, then: Callable[[], object] = lambda: None) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        then()
        raise Mistake(f"{what} cannot be written: {error.strerror or error}") from error


def drop_the_rest() -> None:
    """Nothing may be flushed into standard output when Python exits: it takes no more."""
    with contextlib.suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
