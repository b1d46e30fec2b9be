"""What the passes of one conversion share."""

from __future__ import annotations

from dataclasses import dataclass, field

from d2s.transpiler.naming import Names, identifiers
from d2s.transpiler.nodes import Node, user_functions
from d2s.transpiler.scopes import bound_names, parameters


@dataclass(frozen=True)
class HookReport:
    """What became of one ``register_hook`` call: where it stood, where it went (None: it stayed) and why.

    `warning` says so if the tensor is older than the call, where hooks pile up.
    """

    line: int
    target: str
    moved_to: int | None
    reason: str
    warning: str | None = None


@dataclass
class Context:
    """State of one conversion: names handed out, names the user rebinds, reports."""

    names: Names
    rebound: frozenset[str] = frozenset()
    """Names bound anywhere in the tree: a builtin among them may not be the builtin."""
    hook_report: list[HookReport] = field(default_factory=list)
    staying: frozenset[int] = frozenset()
    """Lines of registrations that stay where they are: what stands between them and their tensor is not harmless."""


def new_context(tree: Node, taken: frozenset[str] = frozenset(), staying: frozenset[int] = frozenset()) -> Context:
    """A context for converting `tree`; `taken` are names from outside (cells of the function, say).

    `staying` are the lines of hook registrations that are not to be moved.
    """
    functions = user_functions(tree)
    rebound = {name for function in functions for name in [*parameters(function), *bound_names(*function.body)]}
    return Context(Names(identifiers(tree) | taken), frozenset(rebound | taken), staying=staying)
