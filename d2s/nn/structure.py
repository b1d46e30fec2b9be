"""One number that changes whenever the structure of any Layer does, and names for layers and parameters."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

_counters: dict[str, Iterator[int]] = defaultdict(itertools.count)


class Structure:
    """What compiled calls compare to see that no Layer has changed since they were made.

    Attributes
    ----------
    version : int
        Another number after every assignment to a Layer attribute, every layer hook added or removed, every
        `train()` or `eval()` and every edit of a container.  Values are not used twice, also across threads.
    """

    __slots__ = ("_versions", "version")

    def __init__(self) -> None:
        self._versions = itertools.count(1)
        self.version = 0

    def changed(self) -> None:
        """Say that a Layer has changed."""
        self.version = next(self._versions)


STRUCTURE = Structure()


def unique_name(prefix: str) -> str:
    """`prefix` with a number that this process has not given to it before: ``linear_0``, ``linear_1``."""
    return f"{prefix}_{next(_counters[prefix])}"
