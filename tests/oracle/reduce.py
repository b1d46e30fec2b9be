"""A failing program made small: statements are deleted, and blocks put in place of the statements around them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

MAX_RUNS = 200


def reduced(text: str, fails: Callable[[str], bool]) -> str:
    """A shorter program for which `fails` still holds; it is tried on at most `MAX_RUNS` programs."""
    runs = 0
    while True:
        for shorter in _shorter(text):
            runs += 1
            if fails(shorter):
                text = shorter
                break
            if runs >= MAX_RUNS:
                return text
        else:
            return text


def _shorter(text: str) -> Iterator[str]:
    """The program with one statement less, or one taken apart; `f` keeps its `return`."""
    head, start, rest = text.partition("def f(")
    tree = ast.parse(start + rest)
    for number, block in enumerate(_blocks(tree)):
        for position, statement in enumerate(block):
            for replacement in _replacements(statement):
                other = copy.deepcopy(tree)
                changed = list(_blocks(other))[number]
                changed[position : position + 1] = copy.deepcopy(replacement)
                if changed:
                    yield head + ast.unparse(other) + "\n"


def _replacements(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if not isinstance(statement, ast.FunctionDef | ast.Return) and not _counts_turns(statement):
        yield []
        for field in ("body", "orelse"):
            inner = getattr(statement, field, [])
            exits = any(isinstance(node, ast.Break | ast.Continue) for part in inner for node in ast.walk(part))
            if inner and not exits:
                yield inner


def _counts_turns(statement: ast.stmt) -> bool:
    """True for ``k2 = k2 + 1``: a loop without it does not end."""
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]).startswith("k") and (
        isinstance(statement.value, ast.BinOp))


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Every list of statements."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                yield block
