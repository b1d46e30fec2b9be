"""Random functions in which hooks are registered, removed and called in all places, as text that can be read.

Hooks in helpers, comprehensions, managers, handlers, turns and branches; hooks that register and remove others, that
close over what the call has computed and what changes later; handles that are kept, removed under conditions and
returned; views, writes, several outputs, `PyLayer`, `grad` and `backward` inside.
"""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["program", "text_of"]

HEAD = """
import contextlib
import functools
import types

import d2s
from tests.corpus.register import LOG, record


def plus(g):
    return g * 0.7 + 0.3


def times(g):
    return g * g * 0.5


def halve(factor, g):
    return g * factor + 0.1


def watch(v, name, change=plus):
    return v.register_hook(record(name, change))


def watch_all(*values, change=times):
    return [watch(v, f"all {k}", change) for k, v in enumerate(values)]


def watched(v):
    v.register_hook(record("watched", plus))
    return v * 1.1


def adds(v, change):
    def hook(g):
        LOG.append(("adds", g))
        v.register_hook(record("added", change))
        return g * 0.8
    return hook


def removes(handles):
    def hook(g):
        LOG.append(("removes", g))
        if handles:
            LOG.append(handles.pop().remove())
        return g + 0.1
    return hook


def once(v):
    def hook(g):
        LOG.append(("once", g))
        handle.remove()
        return g * 0.6 + 0.2
    handle = v.register_hook(hook)
    return handle


def keep(store):
    def hook(g):
        store.append(g)
        return g * 0.9 + 0.1 * len(store)
    return hook


class Watching:
    def __init__(self, v, name):
        self.v, self.name = v, name

    def __enter__(self):
        self.handle = self.v.register_hook(record(self.name, plus))
        return self.handle

    def __exit__(self, *error):
        LOG.append(self.handle.remove())
        return False


@contextlib.contextmanager
def watching(v, name):
    handle = v.register_hook(record(name, times))
    try:
        yield handle
    finally:
        handle.remove()


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, g):
        LOG.append(("scaled", g))
        return g * self.factor + 0.1

    def apply_to(self, g):
        return g * g * self.factor

    def on(self, v):
        return v.register_hook(self.apply_to)


class Square(d2s.autograd.PyLayer):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return v * v

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensor()
        return 2 * v * g


class Both(d2s.autograd.PyLayer):
    @staticmethod
    def forward(ctx, v, u):
        ctx.save_for_backward(v, u)
        return v * u, v + u

    @staticmethod
    def backward(ctx, g, h):
        v, u = ctx.saved_tensor()
        return g * u + h, g * v + h


class Wrong(Exception):
    pass


"""
NAMES = ("x", "w", "a", "b", "c")
OWN = ("a", "b", "c")


class _Writer:
    def __init__(self, choices: random.Random) -> None:
        self.choices = choices
        self.number = 0

    def one(self, *given: str) -> str:
        return self.choices.choice(given)

    def name(self) -> str:
        return self.choices.choice(NAMES)

    def own(self) -> str:
        return self.choices.choice(OWN)

    def new(self, letter: str) -> str:
        self.number += 1
        return f"{letter}{self.number}"

    def test(self) -> str:
        v = self.name()
        return self.one(
            "t > 0", "t < 0.5", "n > 1", f"{v}.sum() > 0.3", f"{v}[0] < {v}[1]", "handles", "t > 0 and n > 0")

    def change(self) -> str:
        v, own = self.name(), self.own()
        return self.one(
            "plus", "plus", "times", "functools.partial(halve, 0.4)", "Scaled(0.5)", "scaled.apply_to",
            "lambda g: None", f"lambda g: g * {v}.detach().sum()", f"lambda g: g * {own}.detach()[0] + factor",
            f"lambda g, at={v}.detach(): g * 0.5 + at[1]", "lambda g: g * float(g.sum() > 0) + 0.2",
            f"lambda g: g * {v}.sum() if d2s.is_grad_enabled() else g * 0.5 + 0.1", "lambda g: g.add_(g * 0.5 + 0.1)",
            "lambda g: g * scaled.factor + len(handles) * 0.1")

    def hook(self) -> str:
        v = self.name()
        return self.one(
            f"record('{self.new('h')}', {self.change()})", f"record('{self.new('h')}', {self.change()})",
            f"record('{self.new('h')}', {self.change()})", self.change(), self.change(),
            f"adds({v}, {self.one('plus', 'times')})", "removes(handles)", "removes(s.kept)", "keep(grads)")

    def registered(self) -> str:
        """An expression that registers and is a handle."""
        v, hook = self.name(), self.hook()
        return self.one(
            f"{v}.register_hook({hook})", f"{v}.register_hook({hook})", f"{v}.register_hook({hook})",
            f"watch({v}, '{self.new('h')}', {self.change()})", f"once({v})", f"scaled.on({v})",
            f"getattr({v}, 'register_hook')({hook})", f"inner({v})", f"functools.partial({v}.register_hook, {hook})()")

    def registration(self) -> list[str]:
        made, v, u = self.registered, self.name(), self.name()
        handle = self.new("h")
        return self.choices.choice([
            lambda: [made()], lambda: [f"handles.append({made()})"], lambda: [f"handles.append({made()})"],
            lambda: [f"s.kept.append({made()})"], lambda: [f"s.box['{self.one('p', 'q')}'] = {made()}"],
            lambda: [f"handles += [one.register_hook({self.hook()}) for one in ({v}, {u})]"],
            lambda: [f"handles += watch_all({v}, {u})"],
            lambda: [f"handles.extend(map(lambda one: one.register_hook({self.hook()}), ({v}, {u})))"],
            lambda: [f"table = {{key: one.register_hook({self.hook()}) for key, one in [('p', {v}), ('q', {u})]}}",
                     f"handles.append(table['{self.one('p', 'q')}'])"],
            lambda: [f"{handle} = {made()}", f"if {self.test()}:", f"    {handle}.remove()"],
            lambda: [f"{handle} = {made()}", f"if {self.test()}:", f"    LOG.append({handle}.remove())", "else:",
                     f"    handles.append({handle})"],
            lambda: [f"register = {v}.register_hook", f"register({self.hook()})"],
            lambda: ["w._register_backward_hook(lambda: LOG.append(('reduced', w.grad)))"],
            lambda: ["s.layer.weight._register_backward_hook(lambda: LOG.append(('weight', s.layer.weight.grad)))"],
            lambda: [f"s.layer.weight.register_hook({self.hook()})"],
            lambda: [f"{self.own()}.retain_grads()"],
        ])()

    def removal(self) -> list[str]:
        return self.choices.choice([
            ["if s.kept:", "    LOG.append(s.kept.pop(0).remove())"],
            ["if handles:", "    handles.pop().remove()"],
            ["for handle in handles:", "    handle.remove()"],
            ["while s.kept:", "    s.kept.pop().remove()"],
            ["s.box.pop('p').remove() if 'p' in s.box else None"],
            ["if t > 0 and handles:", "    LOG.append(handles[-1].remove())"],
        ])

    def value(self) -> str:
        v, u = self.name(), self.name()
        return self.one(
            f"{v} * {u}", f"{v} + {u} * 0.5", f"({v} * 0.7).tanh()", f"{v} - {u}.detach()", f"Square.apply({v})",
            f"Both.apply({v}, {u})[0] + {u}", f"s.layer({v})", f"d2s.concat([{v}[1:], {u}[:1]])",
            f"d2s.where({v} > 0, {v}, {u})", f"watched({v})", f"inner_value({v})",
            f"({v} if {self.test()} else {u}) * 1.2",
            f"sum([one * 0.5 for one in ({v}, {u})])", f"{v}.clone()", f"{v}", f"d2s.stack([{v}, {u}]).sum(0)",
            f"s.pair(({v}, {u}))")

    def assignment(self) -> list[str]:
        return [f"{self.own()} = {self.value()}"]

    def views(self) -> list[str]:
        v, own, view = self.own(), self.own(), self.new("v")
        hooked = [f"{view}.register_hook({self.hook()})"] if self.choices.random() < 0.7 else []
        taken = self.one(f"{v}[1:3]", f"{v}.reshape([2, 2])", f"{v}[::2]", f"{v}.reshape([2, 2]).T[0]", f"{v}[:2]")
        used = self.one(
            f"{own} = {own} + {view}.sum()", f"{own} = {own} * {view}.reshape([-1])[0]", f"{view}.add_({view} * 0.3)",
            f"{view}.scale_(1.3)", f"{view}[0] = {view}[1] * 0.5", f"{v}.add_({own} * 0.2)")
        return [f"{view} = {taken}", *hooked, used]

    def writing(self) -> list[str]:
        v, u = self.own(), self.name()
        return [self.one(
            f"{v}.add_({u} * 0.3)", f"{v}[1:3] = {u}[:2]", f"{v}[0] = {u}.sum() * 0.2", f"{v}.scale_(0.9)",
            f"{v} += {u} * 0.1", f"{v} *= 0.8", f"{v}.tanh_()")]

    def outputs(self) -> list[str]:
        v, own = self.name(), self.own()
        p, q = self.new("p"), self.new("q")
        made = self.one(
            f"{v}.chunk(2)", f"d2s.split({v}, [1, 3])", f"Both.apply({v}, {self.name()})", f"d2s.topk({v}, 2)",
            f"({v} * 0.5, {v} * {self.name()})", f"d2s.unbind(d2s.stack([{v}, {self.name()}]))")
        hooked = [f"{self.one(p, q)}.register_hook({self.hook()})"] if "topk" not in made else [
            f"{p}.register_hook({self.hook()})"]
        return [f"{p}, {q} = {made}", *hooked, f"{own} = {own} + {p}.sum() * 0.5" + (
            f" + {q}.mean()" if self.choices.random() < 0.5 else "")]

    def closure(self) -> list[str]:
        v, own = self.name(), self.own()
        hook = self.new("hook")
        return self.choices.choice([
            lambda: [f"def {hook}(g):", "    nonlocal count", "    count += 1", "    LOG.append(('count', count, g))",
                     f"    return g * 0.5 + {own}.detach() * 0.1", f"{v}.register_hook({hook})"],
            lambda: [f"def {hook}(g, by=factor):", "    LOG.append((by, factor, g))", "    return g * by + 0.1",
                     f"{v}.register_hook({hook})", "factor = factor + 0.5"],
            lambda: ["for k in range(2):", f"    {v}.register_hook(lambda g: g * (k + 1) + 0.1)"],
            lambda: [f"{hook} = record('made {hook}', lambda g: g * len(grads) + 0.2)", f"{v}.register_hook({hook})",
                     f"{own}.register_hook({hook})"],
            lambda: ["factor = float(n) * 0.3", f"{v}.register_hook(lambda g: g * factor + 0.1)"],
            lambda: ["scaled.factor = scaled.factor + 0.1", f"{v}.register_hook(scaled)"],
            lambda: ["grads.append(0)"],
            lambda: [f"at = {own}.sum()", f"{v}.register_hook(lambda g: g * 0.5 + at.detach())", "at = at * 2"],
        ])()

    def differentiated(self) -> list[str]:
        v, own, u = self.own(), self.own(), self.name()
        taken = self.new("g")
        return self.choices.choice([
            lambda: [f"{taken} = d2s.grad(({v} * {own}).sum(), [{u}], create_graph=True, allow_unused=True)[0]",
                     f"{own} = {own} + (0 if {taken} is None else {taken} * 0.3)"],
            lambda: [f"{taken} = d2s.grad({v}.sum(), [x, {u}], retain_graph=True, allow_unused=True)",
                     f"LOG.append({taken})"],
            lambda: [f"({v} * {own}).sum().backward(retain_graph=True)", "LOG.append((x.grad, w.grad))"],
            lambda: [f"({v} * {own}).sum().backward(retain_graph=True)", f"LOG.append({v}.grad)", "x.clear_grad()"],
        ])()

    def block(self, depth: int, in_loop: bool = False) -> list[str]:
        """A compound statement."""
        def body(is_turn: bool = in_loop) -> list[str]:
            count = self.choices.randint(1, 2)
            return [f"    {line}" for _ in range(count) for line in self.statement(depth - 1, is_turn)]

        test, v = self.test(), self.name()
        otherwise = ["else:", *body()] if self.choices.random() < 0.5 else []
        finally_ = ["finally:", *body()] if self.choices.random() < 0.4 else []
        leaves = [f"    if {self.test()}:", f"        {self.one('break', 'continue')}"]
        turns = self.one("for i in range(n):", "for i in range(n):", "for one in (a, b):", "for i in range(2):")
        return self.choices.choice([
            lambda: [f"if {test}:", *body(), *otherwise], lambda: [f"if {test}:", *body(), *otherwise],
            lambda: [turns, *body(True)], lambda: [turns, *body(True), *leaves, *body(True)],
            lambda: ["turn = 0", "while turn < n:", "    turn = turn + 1", *body(False)],
            lambda: ["try:", *body(), f"    if {test}:", "        raise Wrong('it')", "except Wrong as error:",
                     "    LOG.append(error.args)", *body(), *finally_],
            lambda: ["try:", *body(), "finally:", *body()],
            lambda: [f"with Watching({v}, '{self.new('m')}'):", *body()],
            lambda: [f"with watching({v}, '{self.new('m')}') as handle:", *body()],
            lambda: [
                "with d2s.no_grad():", f"    LOG.append(({v} * 2).sum())",
                f"    {self.own()}.add_({v}.detach() * 0.1)"],
            lambda: [
                "with d2s.no_grad():", f"    {self.new('d')} = {v} * 2",
                f"    handles.append(watch(x, '{self.new('m')}'))"],
        ])()

    def statement(self, depth: int, in_loop: bool = False) -> list[str]:
        kinds: list[tuple[int, Callable[[], list[str]]]] = [
            (24, self.registration), (6, self.removal), (14, self.assignment), (8, self.views), (8, self.writing),
            (7, self.outputs), (10, self.closure), (5, self.differentiated)]
        if depth:
            kinds.append((24, lambda: self.block(depth, in_loop)))
        (made,) = self.choices.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        return made()

    def backward(self) -> list[str]:
        """What the caller does with the results of a call."""
        return self.choice_of_backward() + self.choices.choice([
            [], [], ["for handle in handles:", "    LOG.append(handle.remove())"], ["second.scale_(2.0)"]])

    def choice_of_backward(self) -> list[str]:
        return self.choices.choice([
            ["loss.backward()"],
            ["loss.backward(retain_graph=True)", "LOG.append(x.grad)", "(first * second).sum().backward()"],
            ["loss.backward(retain_graph=True)", "(first.sum() + second.sum()).backward()"],
            ["got = d2s.grad(loss * loss, [x, w], create_graph=True, allow_unused=True)", "LOG.append(got)",
             "sum([(one * one).sum() for one in got if one is not None], loss * 0).backward()"],
            ["for handle in handles:", "    LOG.append(handle.remove())", "(loss + second.sum()).backward()"],
            ["first.register_hook(record('first', plus))", "second.retain_grads()",
             "(loss + (first * second).sum()).backward()", "LOG.append(second.grad)"],
            ["d2s.grad(first.sum(), [x], retain_graph=True, allow_unused=True)", "LOG.append(x.grad)",
             "second.register_hook(removes(handles))", "(loss + second.sum()).backward()"],
        ])


def program(choices: random.Random, depth: int = 2) -> str:
    """The text of a module.

    Its ``f()`` gives a function of tensors `x` and `w`, numbers `t` and `n` and a state `s`, which returns two tensors,
    handles and a loss; what the caller does behind each call, with the results; and a new state.
    """
    writer = _Writer(choices)
    lines: list[str] = []
    for _ in range(choices.randint(3, 7)):
        lines += writer.statement(depth)
    lines.append(f"return {writer.own()}, c, handles, " + writer.one("(a * b).sum()", "(c * c).sum() + a.sum()"))
    return text_of(lines, writer.backward())


def text_of(lines: list[str], after: list[str]) -> str:
    """The text of a module whose function has these lines, and what the caller does behind each call."""
    body = "\n".join(f"    {line}" for line in lines)
    behind = "\n".join(f"    {line}" for line in after)
    return HEAD + f"""def g(x, w, t, n, s):
    handles, grads, count, factor, scaled = [], [], 0, 0.5, Scaled(0.3)

    def inner(v):
        return v.register_hook(lambda g: g * factor + a.detach() * 0.1)

    def inner_value(v):
        v.register_hook(record("inner", lambda g: g * factor + 0.1))
        return v * 0.9

    a = x * w
    b = a + x * 0.5
    c = b * 1.2
{body}


def after(x, w, first, second, handles, loss):
{behind}


class Pair(d2s.nn.Layer):
    def forward(self, values):
        v, u = values
        return v * 0.4 + u


def f():
    d2s.seed(1)
    pair = Pair()
    pair.register_forward_post_hook(lambda layer, given, out: LOG.append("post") or out * 1.1)
    return g, after, types.SimpleNamespace(layer=d2s.nn.Linear(4, 4), pair=pair, kept=[], box={{}})
"""
