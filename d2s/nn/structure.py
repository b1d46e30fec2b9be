"""Names for layers and parameters."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from d2s.core.structure import STRUCTURE

_counters: dict[str, Iterator[int]] = defaultdict(itertools.count)


def unique_name(prefix: str) -> str:
    """`prefix` with a number that this process has not given to it before: ``linear_0``, ``linear_1``."""
    return f"{prefix}_{next(_counters[prefix])}"


__all__ = ["STRUCTURE", "unique_name"]
