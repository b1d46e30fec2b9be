"""One number that changes whenever the structure of any Layer does."""

from __future__ import annotations

import itertools


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
