"""Where the libraries differ, and whose answer is not the contract's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .observe import Seen

# What a program can contain, as it shows in its text.
TRAITS = {
    "write": r"add_\(|multiply_\([^g]|\] = ",
    "remove": r"\.remove\(",
    "view": r"\bp = ",
    "hook on a view": r"\bp\.register_hook",
    "layer": r"op\.cube",
    "retain": r"op\.retain",
    "gradients of leaves": r"op\.grad\(.*\[x",
    "written gradient": r"record\('\w+', stretch\)",
}


@dataclass(frozen=True)
class Exclusion:
    """Programs with all these traits are not compared with this library.

    Attributes
    ----------
    peer : str
        The library that gives another answer than the contract.
    rows : str
        The rows of the contract that say so.
    traits : tuple of str
        Keys of `TRAITS`.
    reason : str
        What it does.
    """

    peer: str
    rows: str
    traits: tuple[str, ...]
    reason: str


EXCLUSIONS = (
    Exclusion("paddle", "E05c X01", ("write", "remove"), "a handle removes a hook of the version after the write"),
    Exclusion("paddle", "E11 E11b", ("write", "view"), "gradients through a written view are wrong"),
    Exclusion("paddle", "M01 X02", ("layer",), "what a hook on an output of a PyLayer returns is ignored"),
    Exclusion("paddle", "H01 H01b H05 H06b", ("gradients of leaves",), "grad() skips the hooks of its leaf inputs"),
    Exclusion("paddle", "K01 K02b K04 K05 K07", ("retain",), "retain_grads() keeps the last gradient, at its place"),
    Exclusion("torch", "E11b", ("write", "view", "hook on a view"), "a first hook on a written view crashes"),
    Exclusion("torch", "E14c E14d", ("written gradient",), "a gradient written by a hook leaks to siblings"),
)


def traits_of(text: str) -> set[str]:
    """The traits of a program."""
    return {name for name, pattern in TRAITS.items() if re.search(pattern, text.partition("def f(")[2])}


def excluded(text: str, peer: str) -> list[Exclusion]:
    """The reasons for not comparing this program with `peer`."""
    traits = traits_of(text)
    return [entry for entry in EXCLUSIONS if entry.peer == peer and traits.issuperset(entry.traits)]


def only_one_misses_a_saved_value(text: str, got: Seen, expected: Seen) -> bool:
    """True if one of two libraries finds a saved value written over and the other had not saved it (row E13).

    What an op saves is the library's own affair.
    """
    errors = [str(seen.error) for seen in (got, expected) if seen.stopped is not None]
    if len(errors) != 1 or "write" not in traits_of(text):
        return False
    return re.search("modified (in place|by an inplace)", errors[0]) is not None
