"""``python -m tests.transpiler.random_programs 5000``: thousands of random programs, original and converted.

The grammar of `test_generated_programs`, and more, without hypothesis: nothing is shrunk, and a program takes a few
milliseconds.  Compared are result or error with its line, log, printed text and what becomes of the arguments.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
from typing import Any

from d2s.transpiler import JIT_PASSES, PythonOperators, convert
from d2s.transpiler.verify import verify
from tests.transpiler.test_generated_programs import make, outcome

NAMES = ("a", "b", "c", "d")


# What stands in angle brackets is written anew: a name, a value, a short one, a test.
VALUES = (
    "(<name> + <value>)", "log(<value>)", "(<value> if <test> else <short>)", "(<value> and <short>)",
    "(<name> or <value>)",
    "(<name> := <value>)", "(lambda <name>: <value>)(<short>)", "max((<short>, <value>), key=lambda v: v if v else 0)",
)
TESTS = (
    "<value> < <short>", "<value> == <short>", "<value> != <short>", "<value> >= <short>", "(<short> and <value>)",
    "(<short> or not <value>)", "0 <= <value> < <short> < 4", "not <value>", "(<name> := <value>) > 1", "<value>",
    "<short> and (<name> := <short>) or <short>", "<name> is None", "<value> in (0, <short>)",
    "isinstance(<short>, int)",
)
STATEMENTS = (
    "<name> = <value>", "<name> += <value>", "log(<value>)", "<name>, b = <value>, <value>", "del <name>", "tick()",
    "late.append(lambda: <name>)", "late.append(lambda <name>=<value>: <name>)", "cells[<value> % 3] = <value>",
    "cells[<value> % 3] += <short>", "assert <test>, <value>", "raise ValueError(<value>)", "raise KeyError(<value>)",
    "print(<value>, <name>)", "items.append(<value>)", "items[<value> % 2] += <short>", "del items[<value> % 2:]",
    "<name>, *items[1:] = <value>, <short>", "<name> = [v for v in items if v != <value>]", "<name>: int = <value>",
    "<name> = sum(v for v in items if v in (0, <value>))", "<name> = {v: <value> for v in cells}.get(<short>)",
    "print(f'{<name>} {<short>!r:>3}')", "<name> = [v + w for v in cells if v for w in items if <test>]",
    "<name> = <value> if <test> else <value>",
)
ITERABLES = (
    "range(<short>)", "range(3)", "(1, 2)", "list(cells)", "iter(cells)", "enumerate(cells)", "zip(cells, items)",
)


class Writer:
    """Writes one random program."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.one_of = random.choice

    def filled(self, template: str, depth: int = 2) -> str:
        """The template with everything in angle brackets written."""

        def part(found: re.Match[str]) -> str:
            kind = found[1]
            if kind == "name":
                return self.name()
            return self.value(0 if kind == "short" else depth) if kind != "test" else self.test(depth)

        return re.sub("<(name|value|short|test)>", part, template)

    def name(self) -> str:
        return self.one_of(NAMES)

    def value(self, depth: int = 2) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.one_of((*NAMES, "0", "1", "2", "3"))
        return self.filled(self.one_of(VALUES), depth - 1)

    def test(self, depth: int = 2) -> str:
        return self.filled(self.one_of(TESTS), depth - 1)

    def simple(self) -> str:
        return self.filled(self.one_of(STATEMENTS))

    def block(self, depth: int, in_loop: bool) -> list[str]:
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, in_loop)]
        return ["    " + line for line in lines]

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        exits = ("return", f"return {self.value()}", *(("break", "continue") * 2 if in_loop else ()))
        roll = self.random.random()
        if depth == 0 or roll < 0.3:
            return [self.one_of(exits) if self.random.random() < 0.2 else self.simple()]
        return getattr(self, self.one_of(("if_", "if_", "if_", "while_", "for_", "try_", "with_", "match_", "def_")))(
            depth - 1, in_loop)

    def orelse(self, depth: int, in_loop: bool) -> list[str]:
        return ["else:", *self.block(depth, in_loop)] if self.random.random() < 0.4 else []

    def if_(self, depth: int, in_loop: bool) -> list[str]:
        middle = [f"elif {self.test()}:", *self.block(depth, in_loop)] if self.random.random() < 0.3 else []
        return [f"if {self.test()}:", *self.block(depth, in_loop), *middle, *self.orelse(depth, in_loop)]

    def while_(self, depth: int, in_loop: bool) -> list[str]:
        test = self.one_of((self.test(), self.test(), "True"))
        return [f"while {test}:", "    tick()", *self.block(depth, True), *self.orelse(depth, in_loop)]

    def for_(self, depth: int, in_loop: bool) -> list[str]:
        iterable = self.filled(self.one_of(ITERABLES))
        target = self.name() if iterable[0] not in "ez" else f"{self.name()}, ({self.name()})"
        return [f"for {target} in {iterable}:", "    tick()", *self.block(depth, True), *self.orelse(depth, in_loop)]

    def try_(self, depth: int, in_loop: bool) -> list[str]:
        caught = self.one_of(("ValueError", "NameError as d", "(KeyError, TypeError)", "Exception as c"))
        # An exit of `finally` swallows exceptions.
        finish = ["finally:", *self.block(depth, in_loop)] if self.random.random() < 0.4 else []
        if finish and self.random.random() < 0.3:
            return ["try:", *self.block(depth, in_loop), *finish]
        # `orelse` belongs behind a handler.
        return ["try:", *self.block(depth, in_loop), f"except {caught}:", *self.block(depth, in_loop),
                *self.orelse(depth, in_loop), *finish]

    def with_(self, depth: int, in_loop: bool) -> list[str]:
        # They do nothing, raise when they are left, or swallow what is raised inside.
        count = self.random.choice((1, 1, 2))
        managers = [f"manager({self.random.randrange(3)}) as {self.name()}" for _ in range(count)]
        return [f"with {', '.join(managers)}:", *self.block(depth, in_loop)]

    def match_(self, depth: int, in_loop: bool) -> list[str]:
        first = self.one_of(("0 | 1 as c", "int(d)", "[a, *_]", f"b if {self.test()}"))
        return [f"match {self.value()}:", f"    case {first}:", *("    " + s for s in self.block(depth, in_loop)),
                "    case _:", *("    " + s for s in self.block(depth, in_loop))]

    def def_(self, depth: int, in_loop: bool) -> list[str]:
        name = self.name()
        body = [f"    nonlocal {name}", f"    {name} = log({self.value(0)})", *self.block(min(depth, 1), False)]
        return ["def inner():", *body, f"{self.name()} = inner()"]

    def program(self) -> str:
        body = self.block(3, False)
        return "\n".join(
            ["def program(a, b, items):", "    late, cells = [], [0, 1, 2]", "    c = 1", "    d = None", *body,
             "    return a, b, c, late"])


def told_of(seen: Any) -> Any:
    """What a call did, with the errors in it as text: as objects they are equal to themselves only."""
    if isinstance(seen, Exception):
        return type(seen), str(seen)
    return type(seen)(map(told_of, seen)) if type(seen) in (list, tuple) else seen


def differences(count: int, seed: int) -> tuple[int, list[str]]:
    """How many programs were compared, and descriptions of those that differ."""
    chance = random.Random(seed)
    compared, told = 0, []
    while compared < count:
        text = Writer(chance).program()
        try:
            fn, effects = make(text)
        except SyntaxError:
            continue
        compared += 1
        converted = convert(fn, JIT_PASSES, PythonOperators, instrument=bool(compared % 2))
        verify(converted.tree, (), "all")
        for args in itertools.product(range(3), range(2)):
            expected, got = (told_of(outcome(f, effects, *args)) for f in (fn, converted.function))
            if got != expected:
                told.append(f"{args}\n{text}\n{converted.code}\noriginal:  {expected}\nconverted: {got}\n")
                break
    return compared, told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    compared, told = differences(options.count, options.seed)
    print(*told, sep="\n")
    print(f"Python {sys.version.split()[0]}: {compared} programs, {len(told)} differ")
    raise SystemExit(bool(told))


if __name__ == "__main__":
    main()
