"""Random programs that write to the log of the corpus."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from d2s.testing.generated import hooks, indented, load, names, program_texts, scales

__all__ = ["functions", "load", "steps"]

HEAD = """
import d2s
from tests.corpus.register import LOG, record


def plus(g):
    return g * 0.7 + 0.3


def times(g):
    return g * g


def helper(a, b, c):
    if c > 0:
        return a * b
    a.register_hook(record("helper", plus)) if not a.stop_gradient else None
    return a - b * 0.3


"""

functions = functools.partial(program_texts, head=HEAD)

straight = st.one_of(
    st.builds("{} * {}".format, names, names),
    st.builds("{} + {} * {}".format, names, names, scales),
    st.builds("{} - {}".format, names, names),
    st.builds("({} * {}).tanh()".format, names, scales),
    st.builds("d2s.where({} > 0, {}, {})".format, names, names, names),
)
loops = st.builds(
    lambda name, expression: ["for i in range(n):", f"    {name} = {expression}"], names,
    st.builds("({} * {}).tanh()".format, names, scales))
of_steps = st.one_of(
    st.builds("{} = {}".format, names, straight).map(lambda line: [line]),
    st.builds("{} = {}".format, names, straight).map(lambda line: [line]),
    st.builds("{}.register_hook(record({!r}, {}))".format, names, st.sampled_from("abcd"), hooks).map(
        lambda line: [line]),
    loops,
)


@st.composite
def steps(draw: st.DrawFn) -> str:
    """The text of a module with ``f(x, y, c, n)`` that computes a loss, runs backward, and goes on."""
    lines = [draw(st.sampled_from(["z = x * y", "z = x * 0.5", "z = y * 0.6"])), "u = y * 1.5"]
    for _ in range(draw(st.integers(1, 5))):
        lines += draw(of_steps)
    lines += [draw(st.sampled_from(["loss = (z * u).sum()", "loss = z.sum()", "loss = (u + z * z).mean()"]))]
    lines += ["loss.backward()"]
    after = ["LOG.append(x.grad)", "x.clear_grad()", "z = z * 2", "LOG.append(1)"]
    lines += draw(st.lists(st.sampled_from(after), max_size=2))
    last = draw(st.sampled_from(["loss", "loss, z", "loss, u", "None"]))
    return HEAD + "\n".join(["def f(x, y, c, n):", *indented([*lines, f"return {last}"])]) + "\n"
