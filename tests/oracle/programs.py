"""Random hooked programs as text, the same for every library.

A program is a function ``f(x, y, c, n)`` and a ``drive(f)`` that calls it and differentiates.  `x` and `y` are leaves
and keep their names; `z` and `u` are never leaves, so they may be written in place; `b` is another name for one of
these, `p` and `q` views, `s` and `d` tensors without gradient, `h` a handle.
"""

from __future__ import annotations

import itertools
import re
import textwrap

from hypothesis import strategies as st

HEAD = """
from tests.oracle.log import note, record, show


def plus(g):
    return g * 0.7 + 0.3


def times(g):
    return g * g * 0.5


def nothing(g):
    return None


def stretch(g):
    with op.no_grad():
        op.multiply_(g, g)


def helped(t, name):
    part = t * 0.5
    part.register_hook(record(name + ' part', plus))
    t.register_hook(record(name, times))
    return part + t


def adds(t, name):
    def hook(g):
        t.register_hook(record(name + ' added', plus))
        return g * 0.8

    return hook


def removes(handle):
    def hook(g):
        handle.remove()
        return g + 0.1

    return hook


class Box:
    def __init__(self, tensor):
        self.tensor = tensor

    def scaled(self, factor):
        self.tensor = self.tensor * factor
        return self.tensor


handles = []


"""

inner = st.sampled_from(["z", "u"])
names = st.sampled_from(["x", "y", "z", "u", "b"])
operands = st.sampled_from(["x", "y", "z", "u", "b", "z", "u", "s"])
scales = st.sampled_from(["0.3", "0.7", "1.1", "-0.9"])
plain_tests = st.one_of(
    st.builds("c > {}".format, st.sampled_from(["-0.5", "0.0", "0.5"])),
    st.builds("n > {}".format, st.integers(0, 2)),
    st.builds("{}.sum() > {}".format, operands, st.sampled_from(["-1.0", "0.1", "2.0"])),
)
tests: st.SearchStrategy[str] = st.one_of(
    plain_tests,
    st.builds("{} and {}".format, plain_tests, plain_tests),
    st.builds("{} or not {}".format, plain_tests, plain_tests),
)
expressions = st.one_of(
    st.builds("{} * {}".format, names, operands),
    st.builds("{} + {} * {}".format, names, operands, scales),
    st.builds("{} - {}".format, names, operands),
    st.builds("({} * {}).tanh()".format, names, scales),
    st.builds("{} + {}.mean()".format, names, operands),
    st.builds("{} * {}.detach()".format, names, operands),
    st.builds("{} + {}.reshape([2, 2]).T.reshape([4])".format, names, names),
    st.builds("{}.clone()".format, names),
    st.builds("op.where({} > 0, {}, {})".format, operands, names, names),
    st.builds("({} if {} else {}) * {}".format, names, tests, names, scales),
    st.builds("op.concat([{}[1:3], {}[0:2]])".format, names, names),
)
changes = st.one_of(
    st.sampled_from(["plus", "times", "nothing", "plus", "times"]),
    st.builds("lambda g: g * 0.5 + {}.detach()".format, operands),
)
registered = st.builds("{}.register_hook(record('@', {}))".format, names, changes)
hooking = st.one_of(
    registered,
    registered,
    registered,
    st.builds("h = {}".format, registered),
    st.just("h.remove()"),
    st.builds("{}.register_hook({})".format, names, st.sampled_from(["plus", "times"])),
    st.builds("op.reduce_hook({}, note('@'))".format, st.sampled_from(["x", "y"])),
)
writing = st.one_of(
    st.builds("op.add_({}, {} * 0.3)".format, inner, names),
    st.sampled_from(["op.multiply_(z, x)", "op.multiply_(u, y)", "op.multiply_(z, u)", "op.multiply_(u, z)"]),
    st.builds("{}[1] = {}[0]".format, inner, names),
    st.builds("{}[2:] = 0.5".format, inner),
)
viewing = st.one_of(
    st.builds("p = {}[1:3]".format, inner),
    st.builds("p.register_hook(record('@', {}))".format, st.sampled_from(["plus", "times"])),
    st.builds("{0} = {0} + op.concat([p, p])".format, inner),
    st.just("op.add_(p, x[0:2])"),
)
assigning = st.one_of(
    st.builds("{} = {}".format, inner, expressions),
    st.builds("{} = {}".format, inner, expressions),
    st.builds("{} = {}".format, inner, expressions),
    st.builds("{} = {} * y".format, inner, names),
    st.builds("b = {}".format, names),
    st.sampled_from(["z = u", "z, u = u, z", "s = z * u.detach()"]),
)
multiple = st.builds(
    "q, r = {0}.chunk(2)\nq.register_hook(record('@', {1}))\n{2} = op.concat([q, r * {3}])".format,
    names, st.sampled_from(["plus", "times"]), inner, scales,
)
stretching = st.builds("{}.register_hook(record('@', stretch))".format, names)
layers = st.builds("{} = op.cube({})".format, inner, names)
retaining = st.builds("op.retain({})".format, inner)
without = st.builds("with op.no_grad():\n    s = {} * {}".format, names, operands)
views = st.sampled_from(["p", "q"])
parts = st.sampled_from(["1:3", "0:2", "2:", "::2"])
shared = st.sampled_from(["z", "u", "b", "d"])
sharing = st.one_of(
    st.builds("d = {}.detach()".format, st.sampled_from(["z", "u", "b", "p", "q"])),
    st.builds("{} = {}[{}]".format, views, shared, parts),
    st.sampled_from(["p, q = q, p", "p = q", "b = d", "d = b.detach()", "b = z", "b = u"]),
    st.builds("op.{}({}, {})".format, st.sampled_from(["add_", "multiply_"]), views,
              st.sampled_from(["x[0:2]", "p", "q", "y[1:3]", "d[2:4]"])),
    st.builds("op.{}({}, {})".format, st.sampled_from(["add_", "multiply_"]), shared,
              st.sampled_from(["x", "y", "z", "d", "u"])),
    st.builds("with op.no_grad():\n    op.add_({}, {})".format, shared, names),
    st.builds("with op.no_grad():\n    op.add_({}, y[0:2])".format, views),
    st.builds("{0} = {0} + op.concat([p, q])".format, inner),
    st.builds("{0} = {0} * d".format, inner),
    st.builds("{}.register_hook(record('@', {}))".format, st.sampled_from(["p", "q", "d", "b"]),
              st.sampled_from(["plus", "times"])),
)
objects = st.one_of(
    st.builds("{0} = helped({0}, '@')".format, inner),
    st.builds("held[{}] = {}".format, st.integers(0, 1), inner),
    st.builds("{} = held[0] + held[1] * {}".format, inner, scales),
    st.builds("held[{}].register_hook(record('@', {}))".format, st.integers(0, 1), changes),
    st.builds("for t in held:\n    t.register_hook(record('@', {}))".format, changes),
    st.builds("table['a'] = {}".format, names),
    st.builds("{} = table['a'] * {}".format, inner, operands),
    st.builds("box.tensor = {}".format, inner),
    st.builds("{} = box.scaled({}) + {}".format, inner, scales, names),
    st.builds("box.tensor.register_hook(record('@', {}))".format, changes),
    st.builds("handles.append({})".format, registered),
)
live = st.one_of(
    st.builds("{0}.register_hook(record('@', adds({0}, '@')))".format, inner),
    st.builds("{}.register_hook(record('@', removes(h)))".format, names),
    st.builds("h = {}".format, registered),
    st.builds("handles.append({})".format, registered),
)
KINDS = {
    "plain": [assigning, assigning, hooking, hooking, multiple, without, retaining],
    "layers": [assigning, assigning, hooking, hooking, layers],
    "written gradients": [assigning, assigning, hooking, stretching],
    "writes": [assigning, hooking, writing],
    "views": [assigning, hooking, viewing],
    "written views": [assigning, hooking, viewing, writing],
    "objects": [assigning, hooking, objects, objects],
}


# Between eager and static mode only: of detached tensors PyTorch lets all share a version, and Paddle loses gradients;
# which hooks run that others add and remove, the contract says where they differ (rule 4).
SHARED, LIVE = "shared", "live"
STATEMENTS = {
    **KINDS,
    SHARED: [assigning, hooking, sharing, sharing, sharing],
    LIVE: [assigning, objects, hooking, live, live],
}


@st.composite
def block(draw: st.DrawFn, kind: str, depth: int, in_loop: bool = False, least: int = 1, most: int = 3) -> str:
    """A few statements; at least one."""
    return "\n".join(draw(statement(kind, depth, in_loop)) for _ in range(draw(st.integers(least, most))))


@st.composite
def statement(draw: st.DrawFn, kind: str, depth: int, in_loop: bool) -> str:
    forms = ["simple"] * 6
    if depth:
        forms += ["if", "if", "while", "for", "exit"]
    if in_loop:
        forms += ["break", "continue"]
    form = draw(st.sampled_from(forms))
    if form == "simple":
        return draw(st.one_of(STATEMENTS[kind]))
    if form == "exit":
        return f"if {draw(tests)}:\n    return z, u"
    if form in ("break", "continue"):
        return f"if {draw(tests)}:\n    {form}"
    if form == "if":
        text = f"if {draw(tests)}:\n" + indented(draw(block(kind, depth - 1, in_loop)))
        otherwise = draw(st.none() | block(kind, depth - 1, in_loop))
        return text if otherwise is None else f"{text}\nelse:\n{indented(otherwise)}"
    looped = indented(draw(block(kind, depth - 1, True)))
    if form == "while":
        return f"k{depth} = 0\nwhile k{depth} < n:\n    k{depth} = k{depth} + 1\n{looped}"
    return f"for i in range({draw(st.sampled_from(['n', '2', 'n + 1']))}):\n{looped}"


@st.composite
def drives(draw: st.DrawFn, kind: str) -> str:
    """The body of `drive`: leaves, hooks, one or two calls, hooks on results, one or two backwards."""
    hooks = [f"{name}.register_hook(record('@', {draw(changes_outside)}))" for name in "xy" if draw(st.booleans())]
    lines = ["x = op.leaf([0.31, -1.73, 0.57, 1.21])", "y = op.leaf([1.13, 0.29, -0.77, -0.41])", *hooks]
    calls = draw(st.integers(1, 2))
    for call in range(calls):
        first = draw(st.sampled_from(["x", "x", f"z{call - 1}"])) if call else "x"
        lines.append(f"z{call}, u{call} = f({first}, y, op.number({draw(numbers)}), op.count({draw(turns)}))")
        if draw(st.booleans()):
            lines.append(f"z{call}.register_hook(record('@', {draw(changes_outside)}))")
    if kind == "plain" and draw(st.booleans()):
        lines.append("op.retain(u0)")
    last = calls - 1
    if kind in ("objects", LIVE):
        lines.append(f"for handle in handles[{draw(st.integers(0, 1))}::2]: handle.remove()")
    lines.append(f"loss = z0 * u{last} + u0.tanh() * z{last}")
    lines += draw(st.sampled_from([
        ["op.backward([loss], [[1.0, 0.5, -0.3, 0.7]], False)"],
        ["op.backward([loss], [[1.0, 0.5, -0.3, 0.7]], True)", "show('x then', x.grad)",
         "op.backward([loss], [[-0.2, 0.9, 0.4, 1.0]], False)"],
        ["op.backward([z0, loss], [[0.3, 0.1, 1.0, -0.6], [1.0, 0.5, -0.3, 0.7]], False)"],
        ["for g in op.grad((loss * loss).sum(), [x, y], False): show('grad', g)"],
        ["gx, = op.grad((loss * loss).sum(), [x], True)", "if gx is not None: op.backward([gx], [[1.0] * 4], False)"],
        ["gu, = op.grad(loss.sum(), [u0], False)", "show('gu', gu)"],
    ]))
    names_shown = ["x.grad", "y.grad", "z0.grad", "u0.grad"]
    return "\n".join([*lines, *(f"show('{name}', {name})" for name in names_shown)])


changes_outside = st.sampled_from(["plus", "times", "nothing"])
numbers = st.sampled_from([0.7, -0.3, 0.2, -0.8])
turns = st.integers(0, 3)


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def written(start: list[str], body: str, drive: str) -> str:
    """The text of a module with `start` and `body` as function, and this `drive`; each @ becomes the name of a hook."""
    function = indented("\n".join([*start, body, "return z, u"]))
    text = f"{HEAD}def f(x, y, c, n):\n{function}\n\n\ndef drive(f):\n{indented(drive)}\n"
    numbered = itertools.count()
    return re.sub("@", lambda _: f"h{next(numbered)}", text)


def text_of(body: str, after: str) -> str:
    """A small program: `body` works on z = x * y and u = x + y, `after` on the results z0 and u0."""
    leaves = ["x = op.leaf([0.31, -1.73, 0.57, 1.21])", "y = op.leaf([1.13, 0.29, -0.77, -0.41])"]
    shown = [f"show('{tensor}', {tensor}.grad)" for tensor in ("x", "y", "z0")]
    drive = [*leaves, "z0, u0 = f(x, y, op.number(0.7), op.count(1))", after, *shown]
    return written(["z = x * y", "u = x + y"], body, "\n".join(drive))


@st.composite
def programs(draw: st.DrawFn, kinds: tuple[str, ...] = tuple(KINDS)) -> str:
    """The text of a module that defines `f` and `drive`; it needs a global `op`."""
    kind = draw(st.sampled_from(sorted(kinds)))
    start = ["z = x * y", draw(st.sampled_from(["u = x + y * 0.6", "u = z + 0.2", "u = (z * 0.5).tanh()"])),
             f"b = {draw(inner if kind == SHARED else names)}", "s = x.detach()",
             "h = z.register_hook(record('@', plus))"]
    if "view" in kind or kind == SHARED:
        start.append("p = z[1:3]")
    if kind == SHARED:
        start += ["q = u[0:2]", "d = z.detach()"]
    if kind in ("objects", LIVE):
        start += ["held = [z, u]", "table = {'a': x}", "box = Box(u)"]
    return written(start, draw(block(kind, 2, least=2, most=6)), draw(drives(kind)))
