"""Random functions in which tensors go by several names through branches and turns, with several contributions to the
gradient under each name: text, so that a counterexample can be read."""

from __future__ import annotations

from itertools import count

from tests.modes.programs import HEAD

NAMES = ("u", "v", "p", "q")
RESULTS = ("total, u, p", "total, q", "total, u, v, p, q", "p, q, v", "total", "u, total, q", "p, u")


class _Writer:
    def __init__(self, choices):
        self.choices = choices
        self.numbers = count()
        self.lines = []

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def test(self):
        name, limit = self.choices.choice(NAMES), self.choices.uniform(-2, 2)
        return self.choices.choice(
            [f"{name}.sum() > {limit:.2f}", f"n > {self.choices.randint(0, 2)}", f"total > {limit:.2f}"])

    def block(self, depth, inner, in_loop):
        """Some statements; `inner` is how many loops and branches may be inside of each other."""
        for _ in range(self.choices.randint(1, 4)):
            self.statement(depth, inner, in_loop)

    def statement(self, depth, inner, in_loop):
        a, b, c = (self.choices.choice(NAMES) for _ in range(3))
        kind, factor = self.choices.random(), self.choices.uniform(0.3, 1.2)
        if kind < 0.3:
            self.line(depth, f"{a} = {b}")
        elif kind < 0.42:
            self.line(depth, f"{a} = {b} * {factor:.2f}")
        elif kind < 0.5:
            self.line(depth, f"{a} = {b} * {factor:.2f} + {c} * 0.31")
        elif kind < 0.68:
            self.line(depth, f"total = total + ({a} * {b}).sum() * {factor:.2f}")
        elif kind < 0.73:
            number = next(self.numbers)
            self.line(depth, f"{a} = {a} * 1.1")
            self.line(depth, f"{a}.register_hook(record({number}, {self.choices.choice(['plus', 'times'])}))")
        elif kind < 0.76:
            self.line(depth, f"{a} = {b}.detach()")
        elif kind < 0.79:
            self.line(depth, f"{a}, {b} = {b}, {a}")
        elif kind < 0.9 and inner:
            self.line(depth, f"if {self.test()}:")
            self.block(depth + 1, inner - 1, in_loop)
            if self.choices.random() < 0.6:
                self.line(depth, "else:")
                self.block(depth + 1, inner - 1, in_loop)
        elif inner:
            turn, turns = f"t{next(self.numbers)}", self.choices.choice(["n", "2", "3"])
            self.line(depth, f"for {turn} in range({turns}):")
            self.block(depth + 1, inner - 1, True)
        elif in_loop and self.choices.random() < 0.5:
            self.line(depth, f"if {self.test()}:")
            self.line(depth + 1, self.choices.choice(["break", "continue"]))
        else:
            self.line(depth, f"total = total + ({a} * {a}).sum() * 0.17")


def program(choices):
    """The text of a module with the function ``f(x, y, c, n)``."""
    writer = _Writer(choices)
    for statement in ("u = x * y", "v = x + c", "p = u", "q = " + choices.choice(["x", "v", "y", "x * 0.7"]),
                      "total = (u * v).sum()"):
        writer.line(1, statement)
    for _ in range(choices.randint(3, 6)):
        writer.statement(1, 2, False)
    writer.line(1, f"return {choices.choice(RESULTS)}")
    return HEAD + "\n\ndef f(x, y, c, n):\n" + "\n".join(writer.lines) + "\n"
