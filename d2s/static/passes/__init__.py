"""Passes over Programs that are about to be compiled.

Each is a function ``run(program, kept) -> Program``: the same operators with the same effects in the same order, and
fewer or cheaper ones between them.  `kept` are values that somebody outside the Program reads: a pass may not replace
them.  All of them keep every bit of every result, except for those in REASSOCIATING, which run only on demand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from d2s.static.passes import batch_products as batch_products_pass
from d2s.static.passes import (
    batch_turns,
    fold_constants,
    fuse_bias,
    hoist_invariants,
    merge_duplicates,
    move_signs,
    recompute,
    remove_dead,
    share_parts,
    simplify,
)
from d2s.static.program import Program, Value
from d2s.words import counted

Pass = Callable[[Program, frozenset[Value]], Program]

# Constants first, as they make operators simpler; what is merged or simplified leaves dead operators behind.
PIPELINE: tuple[tuple[str, Pass], ...] = (
    ("fold_constants", fold_constants.run),
    ("simplify", simplify.run),
    ("share_parts", share_parts.run),
    ("merge_duplicates", merge_duplicates.run),
    ("hoist_invariants", hoist_invariants.run),
    ("fuse_bias", fuse_bias.run),
    ("remove_dead", remove_dead.run),
    # Last: what is computed again must not be merged with what it repeats.
    ("recompute", recompute.run),
)

# These keep results to a tolerance, not to the bit; only on demand.
REASSOCIATING: tuple[tuple[str, Pass], ...] = (
    ("batch_products", batch_products_pass.run), ("batch_turns", batch_turns.run), ("move_signs", move_signs.run))

# Called with every Program that a pass has made, the one before, the name of the pass, and the forward Program if it is
# a backward; the test suite verifies.
CHECKS: list[Callable[[Program, Program, str, Program | None], None]] = []

# Names of passes that are left out.
disabled: set[str] = set()


@dataclass(frozen=True)
class PassReport:
    """What a pass did: its name, and the number of operators before and after it."""

    name: str
    before: int
    after: int
    changed: bool

    def __str__(self) -> str:
        if not self.changed:
            return f"{self.name}: nothing to do"
        became = f"became {self.after}" if self.after != self.before else "changed"
        return f"{self.name}: {counted(self.before, 'operator')} {became}"


def _count(program: Program) -> int:
    return sum(1 for _ in program.all_operators())


def optimized(
    program: Program, kept: Iterable[Value] = (), forward: Program | None = None, batch_products: bool = False
) -> tuple[Program, list[PassReport]]:
    """`program`, a backward of `forward` if that is given, after all passes, and what each of them did.

    `batch_products`: also those that reassociate.
    """
    needed = frozenset(kept) | frozenset(program.outputs)
    program = dataclasses.replace(program, backward=None)
    reports = []
    for name, run in (*(REASSOCIATING if batch_products else ()), *PIPELINE):
        if name in disabled:
            continue
        after = run(program, needed)
        for check in CHECKS:
            check(after, program, name, forward)
        reports.append(PassReport(name, _count(program), _count(after), after is not program))
        program = after
    return program, reports
