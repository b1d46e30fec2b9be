"""``python -m tests.transpiler.random_programs 5000``: thousands of random programs, original and converted.

The grammar of `test_generated_programs`, and more, without hypothesis: nothing is shrunk, and a program takes a few
milliseconds.  Compared are result or error with its line, log, printed text and what becomes of the arguments.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys

from d2s.transpiler import JIT_PASSES, PythonOperators, convert
from d2s.transpiler.verify import verify
from tests.transpiler.test_generated_programs import make, outcome

NAMES = ("a", "b", "c", "d")


class Writer:
    """Writes one random program."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.one_of = random.choice

    def name(self) -> str:
        return self.one_of(NAMES)

    def value(self, depth: int = 2) -> str:
        kind = self.random.randrange(12 if depth else 4)
        if kind < 2:
            return self.name()
        if kind < 4:
            return str(self.random.randrange(4))
        inner = self.value(depth - 1)
        return [
            f"({self.name()} + {inner})", f"log({inner})", f"({inner} if {self.test(depth - 1)} else {self.value(0)})",
            f"({inner} and {self.value(0)})", f"({self.name()} or {inner})", f"({self.name()} := {inner})",
            f"(lambda {self.name()}: {inner})({self.value(0)})",
            f"max(({self.value(0)}, {inner}), key=lambda v: v if v else 0)",
        ][kind - 4]

    def test(self, depth: int = 2) -> str:
        value = self.value
        return self.one_of((
            f"{value(depth)} {self.one_of(('<', '<=', '==', '!=', '>='))} {value(0)}",
            f"({value(0)} and {value(depth)})",
            f"({value(0)} or not {value(depth)})", f"0 <= {value(depth)} < {value(0)} < 4", f"not {value(depth)}",
            f"({self.name()} := {value(depth)}) > 1", f"{value(0)} and ({self.name()} := {value(0)}) or {value(0)}",
            f"{self.name()} is None", f"{value(depth)} in (0, {value(0)})", f"isinstance({value(0)}, int)",
            value(depth),
        ))

    def simple(self) -> str:
        name, value = self.name(), self.value()
        return self.one_of((
            f"{name} = {value}", f"{name} += {value}", f"log({value})", f"{name}, b = {value}, {self.value()}",
            f"del {name}",
            f"late.append(lambda: {name})", f"late.append(lambda {name}={value}: {self.name()})",
            f"cells[{value} % 3] = {self.value()}", f"cells[{value} % 3] += {self.value(0)}",
            f"assert {self.test()}, {value}", f"raise {self.one_of(('ValueError', 'KeyError'))}({value})", "tick()",
            f"print({value}, {name})", f"items.append({value})", f"items[{value} % 2] += {self.value(0)}",
            f"del items[{value} % 2:]", f"{name}, *items[1:] = {value}, {self.value(0)}",
            f"{name} = [v for v in items if v != {value}]", f"{name} = sum(v for v in items if v in (0, {value}))",
            f"{name} = {{v: {value} for v in cells}}.get({self.value(0)})", f"{name}: int = {value}",
            f"print(f'{{{name}}} {{{self.value(0)}!r:>3}}')", f"global shared; shared = {value}",
            f"{name} = [v + w for v in cells if v for w in items if {self.test(0)}]",
        ))

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
        iterable = self.one_of((f"range({self.value(0)})", "range(3)", "(1, 2)", "list(cells)", "iter(cells)",
                                "enumerate(cells)", "zip(cells, items)"))
        target = self.name() if iterable[0] not in "ez" else f"{self.name()}, ({self.name()})"
        return [f"for {target} in {iterable}:", "    tick()", *self.block(depth, True), *self.orelse(depth, in_loop)]

    def try_(self, depth: int, in_loop: bool) -> list[str]:
        caught = self.one_of(("ValueError", "NameError as d", "(KeyError, TypeError)", "Exception as c"))
        finish = ["finally:", *self.block(depth, False)] if self.random.random() < 0.4 else []
        # An exit of `finally` swallows exceptions; `orelse` belongs behind a handler.
        return ["try:", *self.block(depth, in_loop), f"except {caught}:", *self.block(depth, in_loop),
                *self.orelse(depth, in_loop), *finish]

    def with_(self, depth: int, in_loop: bool) -> list[str]:
        # What the documentation of the transpiler excludes: managers that swallow, together with others that raise.
        return [f"with manager({self.random.randrange(2)}) as {self.name()}:", *self.block(depth, in_loop)]

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
            expected, got = outcome(fn, effects, *args), outcome(converted.function, effects, *args)
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
