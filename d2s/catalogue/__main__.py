"""``python -m d2s.catalogue D2S-H01``: cause, example and fix of a kind of failure; without an id, the list of all."""

from __future__ import annotations

import sys

from d2s.catalogue import KINDS, find
from d2s.catalogue.kind import Kind


def described(kind: Kind) -> str:
    """An entry as text for a terminal."""
    parts = [f"{kind.id}  {kind.title} ({kind.error})", f"Why: {kind.cause}", f"What to do: {kind.fix}"]
    parts.append("For example:\n\n" + _indented(kind.example))
    if kind.fixed:
        parts.append("In place of it:\n\n" + _indented(kind.fixed))
    return "\n\n".join(parts)


def _indented(program: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in program.rstrip().splitlines())


def main(arguments: list[str]) -> int:
    """Print the entries of the ids among the arguments; 2 if there is none of that name."""
    if not arguments:
        print("\n".join(f"{kind.id}  {kind.error:23} {kind.title}" for kind in KINDS.values()))
        return 0
    for id in arguments:
        try:
            print(described(find(id)))
        except KeyError:
            print(f"d2s has no error {id}; python -m d2s.catalogue lists them", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
