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


# Of nine rows and 21 columns; what is transposed, sliced or spread out lies in memory in another way.
wide = st.sampled_from(["x", "z", "y.T", "u.T"])
wide_expressions = st.one_of(
    st.builds("({} * {}).tanh()".format, wide, wide),
    st.builds("({} - {}).exp().tanh()".format, wide, wide),
    st.builds("F.relu({} + {}[0])".format, wide, wide),
    st.builds("F.sigmoid({} + {}[:, :1])".format, wide, wide),
    st.builds("({} * 1.0 + 0.5)".format, wide),
    st.builds("({0} * ({1} * 1.0)[:, 1:-2].mean())".format, wide, wide),
    st.builds("(d2s.matmul(d2s.matmul({}, {}.T), {}) * 0.05)".format, wide, wide, wide),
    st.builds("({} + d2s.matmul({}, {}[0]).unsqueeze(-1) * 0.1)".format, wide, wide, wide),
    st.builds("F.softmax(F.layer_norm({}, [21]), -1)".format, wide),
    st.builds("({} / ({} * {}).sum(0, keepdim=True).exp())".format, wide, wide, wide),
)
matrix_names = st.sampled_from(["x", "y", "z", "u"])
of_matrix_lines = st.one_of(
    st.builds("z = {}".format, wide_expressions).map(lambda line: [line]),
    st.builds("u = {}.T".format, wide_expressions).map(lambda line: [line]),
    st.builds("{}.register_hook(record({!r}, {}))".format, matrix_names, st.sampled_from("abcd"), hooks).map(
        lambda line: [line]),
    st.builds(lambda line: ["for k in range(5):", f"    z = {line}"], wide_expressions),
    st.builds(lambda line: ["if z.sum() > 0:", f"    z = {line}", "else:", "    u = u * 0.5"], wide_expressions),
    st.builds(lambda line: [
        "turns = d2s.zeros([])", "while turns < 4.0:", f"    z = {line}", "    turns = turns + 1.0"], wide_expressions),
    st.just([
        "rows, h = x.reshape([9, 3, 7]), d2s.zeros([3, 9])", "for k in range(9):",
        "    h = d2s.tanh(d2s.matmul(rows[k], y[:7]) + d2s.matmul(h, u[:9]) * 0.1)", "z = z * h.mean()"]),
)


@st.composite
def of_matrices(draw: st.DrawFn) -> str:
    """The text of a module with ``f(x, y)`` of matrices of 9 x 21 and 21 x 9: a loss, its backward, and the loss."""
    lines = ["z = x * 0.5", "u = y * 0.7"]
    for _ in range(draw(st.integers(1, 4))):
        lines += draw(of_matrix_lines)
    lines += [draw(st.sampled_from([
        "loss = (z * u.T).sum()", "loss = (z + u.T).tanh().mean()", "loss = d2s.matmul(z, u)[1:, 2:].sum()"]))]
    lines += draw(st.sampled_from([[], ["loss = loss * loss"]]))
    lines += ["loss.backward()", draw(st.sampled_from(["return loss", "return loss, z * 1.0", "return None"]))]
    return f"{HEAD}\nimport d2s.nn.functional as F\n\n" + "\n".join(["def f(x, y):", *indented(lines)]) + "\n"
