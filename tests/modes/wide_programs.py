"""Random Layers as text: state, containers, views, writes, hooks, exceptions, closures and what the caller changes.

Half of them, if `on_state` says so, do little else than write in place to what is older than the call, in loops.

The choices are drawn from a `random.Random`: hypothesis gives one that shrinks, a number gives one that is repeated.
A text defines ``f()``, which gives a new ``net`` whose ``forward(x, y, c, n)`` is the program, and ``between(net, k)``,
what the caller does behind call ``k``.
"""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["program"]

HEAD = """
import d2s
from d2s import nn
from tests.corpus.register import LOG, record


def plus(g):
    return g * 0.7 + 0.3


def times(g):
    return g * g


def keep(store):
    def hook(g):
        store.append(g)
        return g + 0.1
    return hook


def helper(a, b, c):
    if c > 0:
        return a * b
    a.register_hook(record("helper", plus)) if not a.stop_gradient else None
    return a - b * 0.3


def grow(store, a):
    store.append(a)
    return store[0] * 0.5


def write(a, b):
    a[1:] = b[1:] * 0.9
    return a


@d2s.jit.not_to_static
def outside(a):
    LOG.append(a.numpy().tolist())
    return a * 0.6


TOTAL = d2s.zeros([4])


def add_to(a, b):
    with d2s.no_grad():
        a.add_(b)
    return a


@d2s.jit.not_to_static
def outside_add(a, b):
    with d2s.no_grad():
        a.add_(b)


class Doubled(d2s.autograd.PyLayer):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensor()
        return g * a * 2.0


class Wrong(Exception):
    pass


class Part(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([4], default_initializer=nn.initializer.Constant(0.6))
        self.power = 1

    def forward(self, a):
        if self.power > 1:
            a = a * a
        return a * self.weight


"""

NAMES = ("x", "y", "z", "u", "v")


class Writer:
    """Writes statements; `deep` says how many more blocks there may be inside.

    With `on_state`, most of them write to what is older than the call.
    """

    def __init__(self, choices: random.Random, on_state: bool = False) -> None:
        self.choices = choices
        self.on_state = on_state
        self.loops = 0
        self.turns = 0

    def one(self, *given: str) -> str:
        return self.choices.choice(given)

    def name(self) -> str:
        return self.one(*NAMES)

    def own(self) -> str:
        """A name that is no argument, for what is written in place."""
        return self.one("z", "u", "v")

    def scale(self) -> str:
        return self.one("0.3", "0.7", "1.1", "-0.9", "self.scale", "c", "n", "self.rates['a']")

    def value(self) -> str:
        a, b, s = self.name(), self.name(), self.scale()
        return self.one(
            f"{a} * {b}", f"{a} + {b} * {s}", f"{a} - {b}", f"({a} * {s}).tanh()", f"helper({a}, {b}, c)",
            f"d2s.where({a} > 0, {a}, {b})", f"({a} if {self.test()} else {b}) * {s}", f"{a}.detach() * {b}",
            f"{a}.clone()", f"self.part({a})", f"self.weight * {a}", f"self.store[0] + {a}", f"stored[-1] * {a}",
            f"sum(stored) + {a}", f"d2s.stack(stored).sum(0) + {a}", f"d2s.concat([{a}[:2], {b}[2:]])",
            f"Doubled.apply({a})", f"outside({a}.detach()) + {b}", f"table['k'] - {a}", f"{a}",
            f"write({a} * 1.0, {b})", f"grow(stored, {a})", f"{a}.detach()", f"{a}.reshape([2, 2]).T.reshape([4])",
            f"{a}[d2s.to_tensor([3, 1, 0, 2])]",
            f"inner({a})", f"pair[0] + {a}", f"max(stored, key=lambda t: float(t.shape[0])) * {a}",
            f"{a} / (1.0 + {b} * {b})", f"self.buffer + {a}",
            f"d2s.nn.functional.dropout({a}, 0.5, training=self.training)",
            f"[t * {s} for t in stored][0] + {a}", f"({a} + {b}).mean() * {a}", f"{a}[1] * {b}", f"{a}.sum() + {b}",
        )

    def of_tensors(self) -> str:
        return self.one("stored[:3]", "list(table.values())", "x", "(z, u)", "reversed(stored)")

    def view(self) -> str:
        a = self.name()
        return self.one(f"{a}[1:3]", f"{a}[:2]", f"{a}.reshape([2, 2])", f"{a}[2]", f"{a}.detach()", f"{a}[:]",
                        f"{a}.detach()[1:]", f"{a}.unsqueeze(0)")

    def test(self) -> str:
        a = self.name()
        return self.one(
            "c > 0", f"{a}.sum() > 0.5", f"{a}[0] < {self.name()}[1]", "n > 1", "self.training", "self.scale > 0.6",
            f"{a}.stop_gradient", "len(stored) > 2", "c > 0 and n < 3", "not c > 1", f"{a}.sum() > 0 or n == 2",
            "self.calls % 2 == 0", f"{a} is {self.name()}", "0 < c < 2", "'k' in table", "self.count > 1")

    def state(self) -> str:
        """A tensor that is older than the call."""
        return self.one(
            "self.buffer", "self.buffer", "self.other", "self.last", "self.store[0]", "TOTAL", "self.norm._mean",
            "self.held['h']", "self.boxed()")

    def on_older(self) -> list[str]:
        """A statement that reads or writes a tensor that is older than the call."""
        a, own, state, other = self.name(), self.own(), self.state(), self.state()
        given = self.one(f"{a}.detach()", "d2s.ones([4])", f"{other} * 0.5", f"{a}.detach() * {self.scale()}", other)
        return self.choices.choice([
            lambda: [f"{state}.add_({given})"],
            lambda: [f"{state}.add_({given})", f"{own} = {own} + {state}"],
            lambda: [f"{state}.multiply_({given})"],
            lambda: [f"{state}.set_value({given})"],
            lambda: [f"{state}[{self.one('0', '1:3', ':', '-1')}] = {self.one('0.5', f'{a}[0].detach()', '1.5')}"],
            lambda: [f"{own} = {state} * {a}"],
            lambda: [f"{own} = {state} * {a}", f"{state}.add_({given})"],
            lambda: ["with d2s.no_grad():", f"    {state}.add_({a})"],
            lambda: ["with d2s.no_grad():", f"    self.weight.multiply_({given})"],
            lambda: ["with d2s.no_grad():", f"    self.part.weight[0] = {a}[1]", f"{own} = self.part({a})"],
            lambda: [f"add_to({state}, {a})"],
            lambda: [f"{own} = add_to({state}, {a}) * {a}"],
            lambda: [f"outside_add({state}, {given})", f"{own} = {own} * {state}"],
            lambda: [f"{own} = self.norm({a}.reshape([2, 2]).tile([1, 2]))[0]"],
            lambda: [f"w = {state}", f"w.add_({given})", f"{own} = {own} + w"],
            lambda: [f"w = {state}[1:3]", f"w.add_(({given})[:2])", f"{own} = {state} + {a}"],
            lambda: [f"w = {state}.detach()", f"{state}.add_({given})", f"{own} = w * {a}"],
            lambda: [f"w = {state} if {self.test()} else {other}", f"w.add_({given})"],
            lambda: [f"{own} = {state}"],
            lambda: [f"LOG.append({state})"],
            lambda: [f"LOG.append({state}.numpy().tolist())"],
            lambda: [f"self.last = {state}"],
            lambda: [f"self.last = {own}.detach()", f"self.last.add_({given})"],
            lambda: [f"self.buffer = {self.one('self.other', f'{a}.detach()', 'self.buffer * 0.5')}"],
            lambda: [f"{own}.register_hook(lambda g: g * {state})"],
            lambda: [f"{own}.register_hook(lambda g: (add_to({state}, g), None)[1])"],
            lambda: [f"z = z * {state}", "(z * u).sum().backward(retain_graph=True)", f"{state}.add_({given})"],
            lambda: [f"alias = {state}", f"{other}.add_({given})", f"{own} = alias + {a}"],
        ])()

    def simple(self) -> list[str]:
        a, b, own = self.name(), self.name(), self.own()
        if self.choices.random() < (0.6 if self.on_state else 0.05):
            return self.on_older()
        return self.choices.choice([
            lambda: [f"{self.name()} = {self.value()}"],
            lambda: [f"{self.name()} = {self.value()}"],
            lambda: [f"{own} = {self.value()}"],
            lambda: [f"{a}.register_hook(record({self.one('1', '2', '3')!r}, {self.one('plus', 'times', 'plus')}))"],
            lambda: [f"{own}.register_hook(record('own', {self.one('plus', 'times')}))"],
            lambda: [f"h = {own}.register_hook(keep(grads))", *self.choices.choice([[], ["h.remove()"]])],
            lambda: [f"{own}.register_hook(lambda g: g * {self.name()}.detach() + k)", "k = k + 1"],
            lambda: [f"{own}[{self.one('0', '1:3', ':', '-1', f'{b} > 0')}] = "
                     f"{self.one('0.5', f'{b}[0]', f'{a}[1] * 2.0')}"],
            lambda: [f"{own}.add_({b} * {self.scale()})"],
            lambda: [f"{own} += {b} * 0.5"],
            lambda: ["with d2s.no_grad():", f"    {own}[1:] = {b}[1:] * 0.4"],
            lambda: ["with d2s.no_grad():", f"    {own}.multiply_({b})"],
            lambda: [f"w = {self.view()}", f"{own} = w.sum() * {b}"],
            lambda: [f"w = {self.view()}", "w.add_(w * 0.3)", "LOG.append(w)"],
            lambda: [f"w = {self.view()}", f"{own}[1:2] = 0.7", f"{b if b not in 'xy' else own} = w.sum() + {a}"],
            lambda: [f"w = {self.view()}", "w.register_hook(record('w', plus)) if not w.stop_gradient else None",
                     f"{own} = {own} + w.sum()"],
            lambda: [f"stored.append({self.value()})"],
            lambda: [f"stored.append({a})", f"{own} = stored[-1] * 2.0"],
            lambda: [f"stored[0] = {self.value()}"],
            lambda: [f"{own} = stored.pop() if len(stored) > 1 else {a}"],
            lambda: [f"table['k'] = {self.value()}"],
            lambda: [f"{own} = table.setdefault('m', {a}) * 0.5"],
            lambda: [f"pair = ({self.value()}, {b})", f"{own}, v = pair"],
            lambda: [f"self.store[0] = {self.value()}.detach()"],
            lambda: [f"self.store.append({self.value()}.detach())"],
            lambda: ["self.calls += 1"],
            lambda: ["self.count = self.count + 1", "LOG.append(self.count)"],
            lambda: [f"self.last = {self.value()}"],
            lambda: [f"{own} = self.last * {a}"],
            lambda: [f"self.buffer = self.buffer * 0.9 + {a}.detach() * 0.1"],
            lambda: ["with d2s.no_grad():", f"    self.buffer.add_({a})"],
            lambda: [f"self.box.value = {self.value()}", f"{own} = self.box.value + {a}"],
            lambda: [f"LOG.append({a})"],
            lambda: [f"LOG.append(({a}.shape, {a}.stop_gradient))"],
            lambda: [f"print('at', {a}.sum())"],
            lambda: [f"{own}.stop_gradient = {self.one('True', 'False')}"],
            lambda: ["(z * u).sum().backward(retain_graph=True)", "LOG.append(x.grad)"],
            lambda: [f"(g,) = d2s.grad([({own} * z).sum()], [{own}], retain_graph=True, allow_unused=True)",
                     "LOG.append(g)"],
            lambda: [f"{own} = bump({b})"],
            lambda: ["a, *rest = stored", f"{own} = a + len(rest)"],
            lambda: ["p = d2s.create_parameter([4], 'float32', default_initializer=nn.initializer.Constant(0.2))",
                     f"{own} = p * {b}"],
            lambda: ["del stored[1:]"],
            lambda: ["z, u = u, z"],
            lambda: [f"s = ({a} * {b}).sum()", f"{own} = {own} * s", "LOG.append(s)"],
        ])()

    def block(self, deep: int, most: int = 3) -> list[str]:
        lines: list[str] = []
        for _ in range(self.choices.randint(1, most)):
            lines += self.compound(deep) if deep and self.choices.random() < 0.35 else self.simple()
        return lines

    def leave(self) -> list[str]:
        a = self.name()
        kinds = [lambda: [f"return {a}, z"], lambda: ["raise Wrong('left')"], lambda: [f"return {a}"]]
        if self.loops:
            kinds += [lambda: ["break"], lambda: ["continue"], lambda: ["break"]]
        return self.choices.choice(kinds)()

    def compound(self, deep: int) -> list[str]:
        kinds: list[Callable[[], list[str]]] = [
            lambda: [f"if {self.test()}:", *indented(self.block(deep - 1))],
            lambda: [f"if {self.test()}:", *indented(self.block(deep - 1)), "else:", *indented(self.block(deep - 1))],
            lambda: [f"if {self.test()}:", *indented([*self.simple(), *self.leave()])],
            lambda: self.loop(f"for i in range({self.one('n', '2', '3')}):", deep),
            lambda: self.loop(f"for t in {self.of_tensors()}:", deep,
                              self.choices.choice([["z = z + t"], ["u = u * t"], ["LOG.append(t)"]])),
            lambda: self.loop("for i, t in enumerate(stored[:2]):", deep, ["stored[i] = t * 0.5"]),
            lambda: self.counted(deep),
            lambda: ["try:", *indented(self.block(deep - 1)), "finally:", *indented(self.simple())],
            lambda: ["try:", *indented([
                *self.simple(), f"if {self.test()}:", "    raise Wrong('here')", *self.simple()]),
                     "except Wrong as error:", *indented(["LOG.append(str(error))", *self.simple()])],
            lambda: ["with d2s.no_grad():", *indented(self.block(deep - 1, 2))],
            lambda: [f"def inner(a, b={self.name()}):", *indented([
                "nonlocal k", "k += 1", f"return a * b + {self.own()}"])],
        ]
        return self.choices.choice(kinds)()

    def loop(self, head: str, deep: int, first: list[str] | None = None) -> list[str]:
        self.loops += 1
        body = [*(first or []), *self.block(deep - 1)]
        if self.choices.random() < 0.3:
            body += [f"if {self.test()}:", *indented(self.leave())]
            body += self.simple()
        self.loops -= 1
        tail = ["else:", *indented(self.simple())] if self.choices.random() < 0.15 else []
        return [head, *indented(body), *tail]

    def counted(self, deep: int) -> list[str]:
        self.turns += 1
        turns = f"turns{self.turns}"
        start, limit = self.one("0", "d2s.zeros([])"), self.one("3", "n", "2.5")
        more = self.one("", "", f" and {self.state()}.sum() < 3.0", " and z.sum() < c + 1.0")
        lines = self.loop(f"while {turns} < {limit}{more}:", deep, [f"{turns} = {turns} + 1"])
        return [f"{turns} = {start}", *lines]

    def between(self) -> list[str]:
        return self.choices.choice([
            ["pass"], ["net.scale = net.scale + 0.25"], ["net.rates['a'] = 0.4 * k"],
            ["net.eval() if k % 2 else net.train()"], ["net.store.append(d2s.ones([4]) * k)"],
            ["net.weight.set_value(net.weight * 0.5)"], ["net.part.power += 1"],
            ["net.box = Box(d2s.ones([4]))"], ["net.buffer[0] = 2.0"], ["net.weight.stop_gradient = k % 2 == 0"],
            ["net.weight.register_hook(record('weight', plus))"], ["net.part = Part()"], ["net.count = 0"],
            ["net.last.add_(1.0)"], ["net.last = net.buffer"],
            ["net.part.register_forward_post_hook(lambda layer, given, out: out * 1.1)"],
            ["with d2s.no_grad():", "    net.weight.add_(0.1)"], ["net.store[0].add_(1.0)"],
            ["net.store[:] = [net.buffer * 1.0]"], ["net.other = net.buffer"], ["net.seen = net.buffer.detach()"],
            ["net.seen = net.buffer[1:]", "net.seen.add_(0.5)"], ["TOTAL.zero_()"], ["net.box.value = TOTAL"],
            ["net.held['h'] = net.last"], ["net.set_state_dict(net.state_dict())"],
        ])

    def text(self, depth: int) -> str:
        body = self.block(depth, 7)
        if self.on_state:
            body += self.loop("for i in range(n):", depth) if self.choices.random() < 0.5 else self.counted(depth)
        result = self.one(
            "z", "z, u", "[z, u, v]", "(z * u).sum()", "{'z': z, 'stored': stored}", "z, x", "w, z", "stored", "None")
        forward = [
            "z, u, v, w, k, i = x * 0.5, y * 1.5, x - y, x * y, 0, 0",
            f"stored = [x * 2.0, {self.one('y', 'z', 'u * 1.0')}]",
            "table, grads, pair = {'k': y * 0.3}, self.grads, (z, u)",
            "def inner(a):", "    return a * u", "def bump(a):", "    nonlocal k", "    k = k + 1", "    return a * k",
            *body, f"return {result}"]
        return "\n".join([
            HEAD.rstrip(), "", "", "class Box:", "    def __init__(self, value):", "        self.value = value", "", "",
            "class Net(nn.Layer):", "    def __init__(self):", "        super().__init__()",
            "        self.weight = self.create_parameter([4], default_initializer=nn.initializer.Constant(0.8))",
            "        self.part, self.scale, self.calls, self.count = Part(), 0.5, 0, 0",
            "        self.rates, self.store, self.grads = {'a': 0.9}, [d2s.ones([4]) * 0.3], []",
            "        self.box, self.last = Box(None), d2s.ones([4])",
            "        self.register_buffer('buffer', d2s.ones([4]) * 0.2)",
            "        self.register_buffer('other', d2s.ones([4]) * 0.6)",
            "        self.norm, self.held = nn.BatchNorm1D(4), {'h': d2s.ones([4]) * 0.1}",
            "        TOTAL.set_value(d2s.zeros([4]))", "",
            "    def boxed(self):", "        return TOTAL if self.box.value is None else self.box.value", "",
            "    def forward(self, x, y, c, n):", *indented(indented(forward)), "", "",
            "def between(net, k):", *indented(self.between()), "", "",
            "def f():", "    return Net(), between", ""])


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def program(choices: random.Random, depth: int = 2, on_state: bool = False) -> str:
    """The text of a module; `depth` is how many statements are inside of each other."""
    return Writer(choices, on_state).text(depth)
