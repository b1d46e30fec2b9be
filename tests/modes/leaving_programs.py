"""``python -m tests.modes.leaving_programs 1000``: random programs that leave blocks which raise and swallow.

Nestings of ``with``, ``try``, ``finally`` and loops; ``return``, ``break`` and ``continue``, which managers and
``finally`` clauses override by raising, and managers and handlers swallow that.  The command compares eager and static
mode, with tensors and with Python numbers, and with ``--plain`` the original and the transpiled function, which is
much faster.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
from collections.abc import Callable
from typing import Any

import d2s
from d2s.testing.generated import load
from d2s.transpiler import transpile
from tests.corpus.register import number
from tests.modes.harness import Leaf, assert_same, observe

__all__ = ["Wrong", "calls", "compare", "compare_plain", "program"]

HEAD = """
import contextlib
from tests.corpus.register import LOG
from tests.modes.leaving_programs import Wrong


class Manager:
    def __init__(self, kind, name):
        self.kind, self.name = kind, name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        LOG.append((self.name, None if kind is None else kind.__name__))
        if self.kind == "raises" and kind is None:
            raise Wrong(self.name)
        if self.kind == "replaces" and kind is not None:
            raise KeyError(self.name)
        return self.kind == "swallows"


@contextlib.contextmanager
def managed(name):
    try:
        yield name
    finally:
        LOG.append(name)


"""
ARGUMENTS = (
    ([0.31, -1.73], [1.13, 0.29], 0.7, 2), ([-0.91, 0.37], [0.17, -0.63], -0.3, 0),
    ([0.11, 0.53], [-1.31, 0.71], 0.2, 1), ([0.31, -1.73], [1.13, 0.29], -0.8, 3),
)


class Wrong(Exception):
    """What the programs raise."""


class Writer:
    """Writes statements; `deep` says how many more blocks there may be inside."""

    def __init__(self, choices: random.Random) -> None:
        self.choices = choices
        self.numbers = 0

    def one(self, *given: str) -> str:
        return self.choices.choice(given)

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def test(self) -> str:
        return self.one("c > 0", "n > 1", "z[0] > 0.3", "c > 0 and n < 3", "n == 2 or z.sum() > 0", "not c > 0.5",
                        "k > 1", "n > k")

    def simple(self) -> list[str]:
        return [self.one("z = z * 0.7 + y", "z = (z * y).tanh()", "LOG.append(z)", f"LOG.append({self.number()})",
                         "k = k + 1", "z = z + k")]

    def leave(self, in_loop: bool) -> list[str]:
        return [self.one("return z", f"return {self.number()}.0", "return z * 0.5", f"raise Wrong({self.number()})",
                         *(("break", "continue", "break", "continue") if in_loop else ()))]

    def left(self, in_loop: bool) -> list[str]:
        """Something that leaves, perhaps."""
        if self.choices.random() < 0.2:
            return self.leave(in_loop)
        return [f"if {self.test()}:", *indented([*self.simple(), *self.leave(in_loop)])]

    def block(self, deep: int, in_loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.choices.randint(1, 3)):
            roll = self.choices.random()
            if deep and roll < 0.55:
                lines += self.compound(deep - 1, in_loop)
            else:
                lines += self.left(in_loop) if roll < 0.8 else self.simple()
        return lines

    def compound(self, deep: int, in_loop: bool) -> list[str]:
        kinds: tuple[Callable[[int, bool], list[str]], ...] = (
            self.with_, self.with_, self.try_, self.try_, self.loop, self.if_)
        return self.choices.choice(kinds)(deep, in_loop)

    def manager(self) -> str:
        kind = self.one("raises", "raises", "swallows", "swallows", "replaces", "passes")
        return self.one(f"Manager({kind!r}, 'm{self.number()}')", f"Manager({kind!r}, 'm{self.number()}')",
                        f"managed('m{self.number()}')", "contextlib.suppress(Wrong)")

    def with_(self, deep: int, in_loop: bool) -> list[str]:
        managers = [self.manager() for _ in range(self.choices.choice((1, 1, 2, 3)))]
        return [f"with {', '.join(managers)}:", *indented(self.block(deep, in_loop))]

    def try_(self, deep: int, in_loop: bool) -> list[str]:
        raised = [f"if {self.test()}:", f"    raise Wrong({self.number()})"]
        ending = self.choices.choice([raised, raised, self.simple(), self.left(in_loop)])
        handler = [f"except {self.one('Wrong', 'KeyError', 'Exception')}:", *indented(self.block(deep, in_loop))]
        orelse = ["else:", *indented(self.block(deep, in_loop))] if self.choices.random() < 0.3 else []
        form = self.choices.choice([["finally:", *indented(ending)], [*handler, *orelse],
                                    [*handler, *orelse, "finally:", *indented(ending)]])
        return ["try:", *indented(self.block(deep, in_loop)), *form]

    def loop(self, deep: int, in_loop: bool) -> list[str]:
        turn = f"t{self.number()}"
        head = self.one(f"for {turn} in range(n):", f"for {turn} in range(3):", f"for {turn} in (x, y):")
        orelse = ["else:", *indented(self.simple())] if self.choices.random() < 0.3 else []
        return [head, *indented(self.block(deep, True)), *orelse]

    def if_(self, deep: int, in_loop: bool) -> list[str]:
        orelse = ["else:", *indented(self.block(deep, in_loop))] if self.choices.random() < 0.4 else []
        return [f"if {self.test()}:", *indented(self.block(deep, in_loop)), *orelse]

    def text(self, deep: int) -> str:
        body = ["z, k = x * y, 0", *self.compound(deep - 1, False), *self.block(deep, False), "return z + k"]
        return HEAD + "\n".join(["def f(x, y, c, n):", *indented(body), ""])


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def program(choices: random.Random, depth: int = 3) -> str:
    """The text of a module with ``f(x, y, c, n)``; `depth` is how many statements are inside of each other."""
    return Writer(choices).text(depth)


def calls(kind: str) -> list[tuple[Any, ...]]:
    """Arguments for it, numbers as tensors or as Python numbers."""
    return [(Leaf(x), Leaf(y), number(c, kind), number(n, kind)) for x, y, c, n in ARGUMENTS]


def compare(text: str, kind: str) -> str | None:
    """Assert that static mode does what eager mode does, or refuses to; what it says then."""
    try:
        assert_same(lambda: load(text), calls(kind))
    except AssertionError:
        function = d2s.to_static(load(text))
        errors = [entry.get("error", (None, ""))[:2] for entry in observe(function, calls(kind), False, 1).calls]
        for cls, message in errors:
            if cls is not None and issubclass(cls, d2s.UnsupportedSyntaxError):
                return message
        raise
    return None


def compare_plain(text: str) -> None:
    """Assert that the transpiled function does what the original does, with tensors in eager mode."""
    function = load(text)
    expected = observe(function, calls("python"), False, 1).calls
    got = observe(transpile(function), calls("python"), False, 1).calls
    assert got == expected, "\n".join(f"{a}\n{b}" for a, b in zip(expected, got, strict=True) if a != b)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    failed, refused = 0, collections.Counter[str]()
    for seed in range(options.seed, options.seed + options.count):
        text = program(random.Random(seed), options.depth)
        try:
            if options.plain:
                compare_plain(text)
            else:
                message = compare(text, ("tensor", "python")[seed % 2])
                refused.update([] if message is None else [re.sub(r"\d+", "", message)[:60]])
        except Exception as error:
            failed += 1
            print(f"{seed}: {type(error).__name__}: {str(error)[:2000]}\n", flush=True)
    print(f"{options.count} programs, {failed} differ, {refused.total()} are refused")
    for message, count in refused.most_common(10):
        print(f"{count:6} {message}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
