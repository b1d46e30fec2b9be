"""``python -m tests.footguns.table`` writes docs/footguns.md: what static mode refuses, and what is known to differ."""

from __future__ import annotations

from pathlib import Path

from tests.footguns import (  # noqa: F401
    aliases,
    answers,
    answers_to_c,
    arguments,
    asked,
    behaviour,
    by_other_ways,
    cached,
    classes,
    conditions,
    content,
    effects,
    handed_out,
    handed_through,
    hooks,
    kept_over_calls,
    layers,
    layers_changed,
    libraries,
    lookups,
    made_anew,
    made_inside,
    numbers_and_errors,
    objects,
    older_arrays,
    over_time,
    past_attributes,
    reads,
    refusals,
    replaced,
    settings,
    shuffled,
    special_methods,
    structures,
    subclassed_values,
    subclasses,
    surroundings,
    taken_apart,
    training_habits,
    values,
)
from tests.footguns.stage import FOOTGUNS

PAGE = Path(__file__).parents[2] / "docs" / "footguns.md"

HEAD = """# Nothing silently different

A converted function does on every call what eager mode does on it, or it is traced again, or the call is refused.
`tests/footguns` plays {count} scenarios in both modes: what a function reads (globals, closures, defaults, attributes,
containers, classes, modules, Layers) changes between calls, effects happen in branches, loops and helpers, arguments
are aliases, results are kept and changed. Compared to the bit are results, gradients, errors, and all effects in order.

## Refused

These are refused before any effect of the call, by `UnsupportedSyntaxError` or `TracingError` with file and line.
`@d2s.jit.not_to_static` on the function that does it keeps it eager.

| Scenario | Why |
|---|---|
"""


def page() -> str:
    """The text of the page."""
    refused = [(found.name, found.reason) for found in FOOTGUNS.values() if found.reason]
    different = [(found.name, found.difference) for found in FOOTGUNS.values() if found.difference]
    lines = [HEAD.format(count=len(FOOTGUNS)).rstrip(), *map(_row, refused)]
    lines += ["", "## Known to differ", "", "| Scenario | What |", "|---|---|", *map(_row, different), ""]
    return "\n".join(lines)


def _row(pair: tuple[str, str | None]) -> str:
    name, text = pair
    return f"| {name.partition('.')[2].replace('_', ' ')} | {text} |"


if __name__ == "__main__":
    PAGE.write_text(page())
