"""``python -m benchmarks.steps``: whole training steps of kinds other than forward, backward, update.

Each is one static function; its eager twin runs in the same rounds, so the ratio is one of the same machine state.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import d2s
from d2s import nn
from d2s.nn import functional as F

ROUNDS = 60
Step = Callable[[Any], Any]


def network(*sizes: int) -> nn.Sequential:
    """Layers of these sizes with tanh in between."""
    layers: list[nn.Layer] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def gradient_penalty() -> Step:
    """The norm of the gradient with respect to the data is kept near 1."""
    net = network(16, 32, 32, 1)
    optimizer = d2s.optimizer.Adam(1e-3, parameters=net.parameters())

    def step(x: Any) -> Any:
        data = x.detach()
        data.stop_gradient = False
        out = net(data)
        (slope,) = d2s.grad(out.sum(), [data], create_graph=True)
        loss = ((slope * slope).sum(1).sqrt() - 1).square().mean() + out.mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def differential_equation() -> Step:
    """First and second derivatives with respect to the inputs in the loss."""
    net = network(16, 32, 32, 1)
    optimizer = d2s.optimizer.Adam(1e-3, parameters=net.parameters())

    def step(x: Any) -> Any:
        at = x.detach()
        at.stop_gradient = False
        u = net(at)
        (first,) = d2s.grad(u, [at], create_graph=True)
        (second,) = d2s.grad(first.sum(), [at], create_graph=True)
        loss = (second.sum(1, keepdim=True) + u * first.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def adversaries() -> Step:
    """Two networks and two optimizers, each with a loss of its own."""
    maker, judge = network(16, 32, 16), network(16, 32, 1)
    of_maker, of_judge = (d2s.optimizer.Adam(1e-3, parameters=net.parameters()) for net in (maker, judge))

    def step(x: Any) -> Any:
        made = maker(x)
        loss = F.softplus(-judge(x)).mean() + F.softplus(judge(made.detach())).mean()
        loss.backward()
        of_judge.step()
        of_judge.clear_grad()
        other = F.softplus(-judge(made)).mean()
        other.backward()
        of_maker.step()
        of_maker.clear_grad()
        of_judge.clear_grad()
        return loss, other

    return step


def parts_of_a_batch() -> Step:
    """Gradients of four parts of the data add up."""
    net = network(16, 32, 16)
    optimizer = d2s.optimizer.SGD(1e-2, parameters=net.parameters())

    def step(x: Any) -> Any:
        for part in d2s.split(x, 4):
            ((net(part) - part).square().mean() / 4).backward()
        optimizer.step()
        optimizer.clear_grad()

    return step


def learned_update() -> Step:
    """The loss behind a step of gradient descent, differentiated through that step."""
    net = nn.Linear(16, 16)
    optimizer = d2s.optimizer.SGD(1e-2, parameters=net.parameters())

    def step(x: Any) -> Any:
        weight, bias = net.weight, net.bias
        inner = (F.linear(x, weight, bias).tanh() - x).square().mean()
        changes = d2s.grad(inner, [weight, bias], create_graph=True)
        weight, bias = weight - 0.1 * changes[0], bias - 0.1 * changes[1]
        loss = (F.linear(x, weight, bias).tanh() - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def chosen_loss() -> Step:
    """A branch on a tensor decides about the loss."""
    net = network(16, 32, 16)
    optimizer = d2s.optimizer.SGD(1e-2, parameters=net.parameters())

    def step(x: Any) -> Any:
        loss = (net(x) - x).square().mean()
        if loss > 0.1:
            loss = loss * 1.1
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


STEPS = (gradient_penalty, differential_equation, adversaries, parts_of_a_batch, learned_update, chosen_loss)


def milliseconds(make: Callable[[], Step]) -> tuple[float, float]:
    """Median time of the eager and of the static step, one after the other on the same data."""
    d2s.seed(0)
    steps = make(), d2s.jit.to_static(make())
    data = [d2s.randn([32, 16]) for _ in range(ROUNDS)]
    times: tuple[list[float], list[float]] = [], []
    for x in data[:5]:
        for step in steps:
            step(x)
    for x in data:
        for step, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            step(x)
            found.append(time.perf_counter() - start)
    eager, static = (statistics.median(found) * 1e3 for found in times)
    return eager, static


def main() -> None:
    """Print the table."""
    print(f"{'step':<22}{'eager ms':>10}{'static ms':>11}{'static / eager':>16}")
    for make in STEPS:
        eager, static = milliseconds(make)
        print(f"{make.__name__.replace('_', ' '):<22}{eager:>10.3f}{static:>11.3f}{static / eager:>16.2f}")


if __name__ == "__main__":
    main()
