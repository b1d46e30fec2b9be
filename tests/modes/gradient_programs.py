"""Random functions that ask for gradients on their way, and compute with them: text, so that a counterexample can be
read."""

from __future__ import annotations

from itertools import count

from tests.modes.programs import HEAD

MADE = (
    "{a} * {b}", "{a} - 0.3 * {b}", "d2s.tanh({a})", "({a} * 0.3).exp()", "{a} / (1.5 + {b} * {b})", "{a} ** 3",
    "d2s.where({a} > 0, {a}, {b} * 0.1)", "d2s.nn.functional.softmax({a})", "d2s.nn.functional.layer_norm({a}, [3])",
    "{a}.cumsum(0)", "d2s.maximum({a}, {b})", "d2s.stack([{a}, {b}]).mean(0)", "{a} * {a}.mean()",
    "d2s.concat([{a}[0:1], {b}[1:3]])", "d2s.split({a}, 3)[1] * {b}", "{a}[[0, 2, 2]]", "{a}.unsqueeze(0).squeeze(0)",
    "d2s.einsum('i,j->ij', {a}, {b}).matmul({a})", "{a} * c")
OPTIONS = ("create_graph=True", "create_graph=True", "retain_graph=True")


class _Writer:
    def __init__(self, choices):
        self.choices = choices
        self.numbers = count()
        self.lines = []
        self.names = ["x", "y"]
        # Those that certainly require a gradient.
        self.live = ["x", "y"]

    def line(self, text, depth=1):
        self.lines.append("    " * depth + text)

    def new(self):
        return f"v{next(self.numbers)}"

    def made(self):
        a, b = self.choices.choice(self.live), self.choices.choice(self.names)
        return self.choices.choice(MADE).format(a=a, b=b)

    def statement(self):
        kind, name = self.choices.random(), self.new()
        if kind < 0.5:
            self.line(f"{name} = {self.made()}")
        elif kind < 0.8:
            self.gradients()
            return
        elif kind < 0.87:
            self.line(f"{name} = {self.choices.choice(self.names)}.detach() * 1.1")
            self.line(f"{name}.stop_gradient = False")
        elif kind < 0.91:
            hook = self.choices.choice(["plus", "times"])
            self.line(f"{name} = {self.made()}")
            self.line(f"{name}.register_hook(record('{name}', {hook}))")
        elif kind < 0.95:
            self.line(f"{name} = {self.made()} if {self.choices.choice(self.names)}.sum() > 0 else {self.made()}")
        else:
            self.line("with d2s.no_grad():")
            self.line(f"{name} = {self.made()}", 2)
            self.names.append(name)
            return
        self.names.append(name)
        self.live.append(name)

    def gradients(self):
        choose = self.choices.choice
        outputs = [choose(self.live) for _ in range(choose([1, 1, 2]))]
        inputs = [choose(self.live) for _ in range(choose([1, 1, 2]))]
        given = ""
        if self.choices.random() < 0.3:
            seeds = [choose(["None", "{}", "{}.detach() + 0.5"]).format(choose(self.names)) for _ in outputs]
            given = f"[{', '.join(seeds)}], "
        elif self.choices.random() < 0.5:
            outputs = [f"{output}.sum()" for output in outputs]
        made = [self.new() for _ in inputs]
        call = f"d2s.grad([{', '.join(outputs)}], [{', '.join(inputs)}], {given}{choose(OPTIONS)}, allow_unused=True)"
        self.line(f"{', '.join(made)}, = {call}")
        for name, source in zip(made, inputs, strict=True):
            self.line(f"{name} = {source} * 0.2 if {name} is None else {name}")
        self.names += made


def program(choices, backward_inside):
    """The text of a module with the function ``f(x, y, c, n)``."""
    writer = _Writer(choices)
    for _ in range(choices.randint(3, 8)):
        writer.statement()
    parts = [f"({choices.choice(writer.live)} * {choices.choice(writer.names)}).sum()" for _ in range(3)]
    writer.line(f"loss = {' + '.join(parts)} + (x * y).sum() * 0.1")
    if backward_inside:
        writer.line("loss.backward()")
    writer.line(f"return loss, {choices.choice(writer.names)}")
    return HEAD + "\n\ndef f(x, y, c, n):\n" + "\n".join(writer.lines) + "\n"
