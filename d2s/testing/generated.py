"""Random programs as text, for hypothesis: tensors, control flow, hooks, effects; and functions made of such text.

The names a program uses besides its own: ``d2s``, ``LOG`` (a list), ``record(name, hook)``, which gives a hook that
leaves a trace, ``plus`` and ``times`` (hooks), ``helper`` (a function).  A head defines them.
"""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

NAMES = ("x", "y", "z", "u")

HEAD = """import d2s

LOG = []


def record(name, hook):
    def recorded(g):
        LOG.append((name, g))
        return hook(g)
    return recorded


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

names = st.sampled_from(NAMES)
scales = st.sampled_from(["0.3", "0.7", "1.1", "-0.9"])
expressions = st.one_of(
    st.builds("{} * {}".format, names, names),
    st.builds("{} + {} * {}".format, names, names, scales),
    st.builds("{} - {}".format, names, names),
    st.builds("({} * {}).tanh()".format, names, scales),
    st.builds("helper({}, {}, c)".format, names, names),
    st.builds("d2s.where({} > 0, {}, {})".format, names, names, names),
    st.builds("({0} if {1} else {2}) * {2}".format, names, st.deferred(lambda: tests), names),
)
plain_tests = st.one_of(
    st.builds("c > {}".format, st.sampled_from(["-0.5", "0.0", "0.5"])),
    st.builds("n > {}".format, st.integers(0, 2)),
    st.builds("{}.sum() > {}".format, names, st.sampled_from(["-1.0", "0.1", "2.0"])),
)
tests: st.SearchStrategy[str] = st.one_of(
    plain_tests,
    st.builds("{} and {}".format, plain_tests, plain_tests),
    st.builds("{} or not {}".format, plain_tests, plain_tests),
    st.builds("-1 < {}.mean() < 0.5".format, names),
)
hooks = st.sampled_from(["plus", "times", "lambda g: None"])
# In loops these make a value of one turn another of the next, and in nested branches one value another: gradients are
# the same then, but leaves are finished, and sums are made, in another order.
handing_on = st.one_of(
    st.builds("{} = {}".format, names, names),
    st.builds("{0}, {1} = {1}, {0}".format, names, names),
)
simple = st.one_of(
    st.builds("{} = {}".format, names, expressions),
    st.builds("{} = {}".format, names, expressions),
    st.builds("{}.register_hook(record({!r}, {}))".format, names, st.sampled_from("abcd"), hooks),
    st.builds("{}.register_hook(lambda g: g * 0.5 + {}.detach())".format, names, names),
    st.builds("LOG.append({})".format, names),
)
pairs = st.builds("return {}, {}".format, names, names)
exits = st.one_of(st.builds("return {}".format, expressions), pairs, st.just("return None"))
# One kind of result from all turns of a loop: what cannot be merged there is refused.
exits_of_loops = st.builds("return {}".format, expressions)


def indented(block: list[str]) -> list[str]:
    return [f"    {line}" for line in block]


@st.composite
def block(draw: st.DrawFn, depth: int, in_loop: bool, options: frozenset[str]) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(statement(depth, in_loop, options))
    return lines


@st.composite
def statement(draw: st.DrawFn, depth: int, in_loop: bool, options: frozenset[str]) -> list[str]:
    kinds = ["simple"] * 5
    if depth:
        kinds += ["if", "if", "while", "for", "over", "exit"]
        kinds += ["try"] if "try" in options else []
    kinds += ["break", "continue"] if in_loop else []
    kinds += ["hand on"] if "hand on" in options or (depth and not in_loop) else []
    kind = draw(st.sampled_from(kinds))
    if kind == "simple":
        return [draw(simple)]
    if kind == "hand on":
        return [draw(handing_on)]
    if kind == "exit":
        return [f"if {draw(tests)}:", *indented([draw(exits_of_loops if in_loop else exits)])]
    if kind in ("break", "continue"):
        return [f"if {draw(tests)}:", *indented([kind])]
    inner = draw(block(depth - 1, in_loop, options))
    if kind == "if":
        otherwise = draw(st.none() | block(depth - 1, in_loop, options))
        return [f"if {draw(tests)}:", *indented(inner), *(["else:", *indented(otherwise)] if otherwise else [])]
    if kind == "try":
        raised = draw(st.sampled_from(["ValueError(1)", "KeyError(2)"]))
        handler = draw(block(depth - 1, in_loop, options))
        return ["try:", *indented(inner), f"    if {draw(tests)}:", f"        raise {raised}",
                "except ValueError:", *indented(handler)]
    looped = indented(draw(block(depth - 1, True, options)))
    if kind == "while":
        k = f"k{depth}"
        return [f"{k} = 0", f"while {k} < n:", f"    {k} = {k} + 1", *looped]
    if kind == "for":
        return [f"for i in range({draw(st.sampled_from(['n', '2', 'n + 1']))}):", *looped]
    return [f"for {draw(names)} in ({draw(names)}, {draw(names)}):", *looped]


@st.composite
def program_texts(draw: st.DrawFn, *options: str, depth: int = 2, head: str = HEAD) -> str:
    """The text of a module that defines ``f(x, y, c, n)``.

    Parameters
    ----------
    *options : str
        "try": with exceptions; "hand on": values are exchanged between names in loops; "bound": every name is bound.
    depth : int
        How deep statements are nested.
    head : str
        The text before the function.
    """
    lines = [draw(st.sampled_from(["z = x * y", "z = x", "z = y * 0.6"]))]
    if "bound" in options or draw(st.booleans()):
        lines.append(draw(st.sampled_from(["u = y", "u = x + z"])))
    for _ in range(draw(st.integers(1, 5))):
        lines += draw(statement(depth, False, frozenset(options)))
    last = draw(st.sampled_from(["z", "z * x", "z, x", "z, z * y"]))
    return head + "\n".join(["def f(x, y, c, n):", *indented([*lines, f"return {last}"])]) + "\n"


_folder = tempfile.TemporaryDirectory(prefix="d2s-programs-")
_numbers = itertools.count()


def load(text: str, **scope: Any) -> Callable[..., Any]:
    """The function `f` of a module with this text and these globals, written to a file so that its source is found."""
    name = f"generated_{next(_numbers)}"
    path = Path(_folder.name) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(scope)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.f
    return found
