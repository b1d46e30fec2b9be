"""Random programs that write to the log of the corpus."""

from __future__ import annotations

import functools

from d2s.testing.generated import load, program_texts

__all__ = ["functions", "load"]

HEAD = """
import d2s
from tests.corpus.register import LOG, record


def plus(g):
    return g * 0.7 + 0.3


def times(g):
    return g * g


def helper(a, b, c):
    if c > 0:
        return a * b
    a.register_hook(record("helper", plus)) if not a.stop_gradient else None
    return a - b * 0.3


"""

functions = functools.partial(program_texts, head=HEAD)
