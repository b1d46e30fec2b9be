"""Progress bars in long work: drawn by tqdm if it is installed, on terminals only, and only when it takes a while."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")
# Seconds of work before a bar is shown.
DELAY = 1.0


def progress(things: Sequence[T], what: str) -> Iterable[T]:
    """`things`, with a bar named `what` while they are gone through."""
    if not sys.stderr.isatty():
        return things
    try:
        tqdm = import_module("tqdm").tqdm
    except ImportError:
        return things
    bar: Iterable[T] = tqdm(things, desc=what, leave=False, delay=DELAY, file=sys.stderr)
    return bar
