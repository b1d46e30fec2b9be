"""Random functions that show tensors (in a list, an attribute, a dict) and write to what shares values with them, in
turns and branches: text, so that a counterexample can be read."""

from __future__ import annotations

from itertools import count

MADE = ("{v}.detach()", "{v}[0:2]", "{v}.detach()[1:]", "{v}[1:].detach()", "{v}", "{v} * 1.1", "{v}.reshape([-1])")
SHOWN = (
    "LOG.append({v})", "LOG.append({v}.detach())", "LOG.append({v}[0:1])", "LOG.append({v} + 0)", "s.kept = {v}",
    's.box["k"] = {v}', 's.box.setdefault("z", {v})')
WRITTEN = (
    "{v}.add_({v} * 0.3)", "{v}[0] = {v}[1] * 0.5", "{v}.scale_(1.3)", "{v} += 0.25",
    "{v}.detach().add_({v}.detach() * 0.1)")


class _Writer:
    def __init__(self, choices):
        self.choices = choices
        self.numbers = count()
        self.lines = []

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def name(self, letter):
        return f"{letter}{next(self.numbers)}"

    def block(self, depth, inner, names, in_loop):
        """Some statements; `inner` is how many loops and branches may be inside of each other."""
        names = list(names)
        for _ in range(self.choices.randint(2, 4)):
            v, kind = self.choices.choice(names), self.choices.random()
            if kind < 0.22:
                made = self.name("w")
                self.line(depth, f"{made} = " + self.choices.choice(MADE).format(v=v))
                names.append(made)
            elif kind < 0.45:
                self.line(depth, self.choices.choice(SHOWN).format(v=v))
            elif kind < 0.72:
                is_untracked = self.choices.random() < 0.3
                if is_untracked:
                    self.line(depth, "with d2s.no_grad():")
                self.line(depth + is_untracked, self.choices.choice(WRITTEN).format(v=v))
            elif kind < 0.8 and in_loop:
                self.line(depth, f"if {v}.sum() > {self.choices.choice([0, 2, 5])}:")
                self.line(depth + 1, self.choices.choice(["break", "continue"]))
            elif kind < 0.9 and inner:
                self.choices.choice([self.branch, self.loop])(depth, inner - 1, names, in_loop)
            else:
                self.line(depth, "u = x * 0.7" if v == "x" else f"{v} = {v} * 1.5")

    def branch(self, depth, inner, names, in_loop):
        self.line(depth, f"if {self.choices.choice(names)}.sum() > {self.choices.choice([0, 3, 5])}:")
        self.block(depth + 1, inner, names, in_loop)
        if self.choices.random() < 0.6:
            self.line(depth, "else:")
            self.block(depth + 1, inner, names, in_loop)

    def loop(self, depth, inner, names, in_loop=False):
        turn = self.name("t")
        if self.choices.random() < 0.7:
            self.line(depth, f"for {turn} in range(n):")
        else:
            self.line(depth, f"{turn} = 0")
            self.line(depth, f"while {turn} < n:")
            self.line(depth + 1, f"{turn} = {turn} + 1")
        self.block(depth + 1, inner, names, True)


def program(choices, inner=1):
    """The text of a module; its `f` gives a function of a state, a tensor of 3 and a number of turns, and its list."""
    writer = _Writer(choices)
    names = ["x", "u"]
    writer.line(1, choices.choice(["u = x * 1.5", "u = x * 1.5", "u = x.detach()"]))
    writer.block(1, 0, names, False)
    writer.loop(1, inner, names)
    writer.block(1, 0, names, False)
    writer.line(1, "return u.sum() + (x * u).sum()")
    body = "\n".join(writer.lines)
    return f"import d2s\n\nLOG = []\n\n\ndef g(s, x, n):\n{body}\n\n\ndef f():\n    return g, LOG\n"
