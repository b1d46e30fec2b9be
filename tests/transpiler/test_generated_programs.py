"""Random programs of nested control flow: original and converted form agree on result, log and errors."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from d2s.transpiler import JIT_PASSES, PythonOperators, convert

NAMES = ["a", "b", "c", "d"]
_numbers = itertools.count()

values = st.one_of(
    st.sampled_from(NAMES),
    st.integers(0, 3).map(str),
    st.builds("({} + {})".format, st.sampled_from(NAMES), st.integers(1, 2)),
    st.builds("log({})".format, st.sampled_from(NAMES)),
)
tests = st.one_of(
    st.builds("{} {} {}".format, values, st.sampled_from(["<", "==", "!=", ">="]), values),
    st.builds("({} and {})".format, values, values),
    st.builds("({} or not {})".format, values, values),
    st.builds("0 <= {} < {} < 4".format, values, values),
    st.builds("({} := {}) > 1".format, st.sampled_from(NAMES), values),
    st.builds("{} and ({} := {})".format, values, st.sampled_from(NAMES), values),
    st.builds("{} is None".format, st.sampled_from(NAMES)),
    st.builds("{} in (0, {})".format, values, values),
)
simple = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(NAMES), values),
    st.builds("{} += {}".format, st.sampled_from(NAMES), values),
    st.builds("log({})".format, values),
    st.builds("{} = {} if {} else {}".format, st.sampled_from(NAMES), values, tests, values),
    st.builds("{}, {} = {}, {}".format, st.sampled_from(NAMES), st.just("b"), values, values),
    st.builds("del {}".format, st.sampled_from(NAMES)),
    st.builds("late.append(lambda: {})".format, st.sampled_from(NAMES)),
    st.builds("cells[{} % 3] = {}".format, values, values),
    st.builds("assert {}, {}".format, tests, values),
    st.builds("raise {}({})".format, st.sampled_from(["ValueError", "KeyError"]), values),
    st.just("tick()"),
    st.builds("print({}, {})".format, values, values),
    st.builds("items.append({})".format, values),
    st.builds("items[{} % 2] += {}".format, values, values),
    st.builds("del items[{} % 2:]".format, values),
    st.builds("{}, *items[1:] = {}, {}".format, st.sampled_from(NAMES), values, values),
    st.builds("{} = [v for v in items if v != {}]".format, st.sampled_from(NAMES), values),
    st.builds("{} = sum(v for v in items if v in (0, {}))".format, st.sampled_from(NAMES), values),
)
exits = st.one_of(st.builds("return {}".format, values), st.just("return"))


def indent(block):
    return ["    " + line for line in block]


@st.composite
def block(draw, depth, in_loop):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(statement(depth, in_loop))
    return indent(lines)


@st.composite
def statement(draw, depth, in_loop):
    kinds = ["simple", "simple", "exit"] + (["break", "continue"] if in_loop else [])
    if depth > 0:
        kinds += ["if", "if", "if", "while", "for", "try", "with", "match", "def"]
    kind = draw(st.sampled_from(kinds))
    if kind == "simple":
        return [draw(simple)]
    if kind == "exit":
        return [draw(exits)]
    if kind in ("break", "continue"):
        return [kind]
    inner, looped = block(depth - 1, in_loop), block(depth - 1, True)
    otherwise = ["else:", *draw(inner)] if draw(st.booleans()) else []
    if kind == "if":
        middle = [f"elif {draw(tests)}:", *draw(inner)] if draw(st.booleans()) else []
        return [f"if {draw(tests)}:", *draw(inner), *middle, *otherwise]
    if kind == "while":
        test = draw(st.one_of(tests, st.just("True")))
        return [f"while {test}:", "    tick()", *draw(looped), *otherwise]
    if kind == "for":
        iterable = draw(st.sampled_from(["range(a)", "range(3)", "(1, 2)", "list(cells)", "iter(cells)"]))
        return [f"for {draw(st.sampled_from(NAMES))} in {iterable}:", "    tick()", *draw(looped), *otherwise]
    if kind == "with":
        return [f"with manager({draw(st.integers(0, 2))}) as {draw(st.sampled_from(NAMES))}:", *draw(inner)]
    if kind == "match":
        return [
            f"match {draw(values)}:",
            "    case 0 | 1 as c:",
            *indent(draw(inner)),
            "    case _:",
            *indent(draw(inner)),
        ]
    if kind == "def":
        name = draw(st.sampled_from(NAMES))
        body = [f"    nonlocal {name}", f"    {name} = log({draw(values)})", f"    return {draw(values)}"]
        return ["def inner():", *body, f"{draw(st.sampled_from(NAMES))} = inner()"]
    caught = draw(st.sampled_from(["ValueError", "NameError as d", "(KeyError, TypeError)"]))
    finish = ["finally:", *draw(block(depth - 1, False))] if draw(st.booleans()) else []
    return ["try:", *draw(inner), f"except {caught}:", *draw(inner), *otherwise, *finish]


@st.composite
def programs(draw):
    body = draw(block(3, False))
    return "\n".join(
        ["def program(a, b, items):", "    late, cells = [], [0, 1, 2]", "    c = 1", *body, "    return a, b, c, late"]
    )


class Manager:
    def __init__(self, kind, log):
        self.kind, self.log = kind, log

    def __enter__(self):
        return self.kind

    def __exit__(self, kind, error, trace):
        self.log.append(("exit", kind))
        if self.kind == 1 and kind is None:
            raise KeyError("exit")
        return self.kind == 2


class TooLong(BaseException):
    pass


def make(text):
    """Compile the text to a function that logs, with its source known to linecache."""
    file = f"<generated program {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    effects = []

    def log(value):
        effects.append(value if isinstance(value, (int, str)) else type(value).__name__)
        return value

    def tick():
        if len(effects) > 60:
            raise TooLong
        effects.append("tick")

    scope = {"log": log, "tick": tick, "manager": lambda kind: Manager(kind, effects)}
    exec(compile(text, file, "exec"), scope)
    return scope["program"], effects


def outcome(fn, effects, *args):
    """What a call gives or raises (and in which line), what it logs and prints, and what becomes of its argument."""
    effects.clear()
    items, printed = [1, 2], io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = result(fn, *args, items)
    return value, list(effects), printed.getvalue(), items


def result(fn, *args):
    try:
        value = plain(fn(*args))
    except TooLong:
        value = "too long"
    except Exception as error:
        trace = error.__traceback__
        line = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == fn.__code__.co_filename:
                line = trace.tb_lineno
            trace = trace.tb_next
        value = type(error), str(error), line
        if isinstance(error, NameError) and "manager(2)" in "".join(linecache.getlines(fn.__code__.co_filename)):
            value = "unbound", line  # names bound in a `with` count as bound after it, whatever the manager swallows
    return value


def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if callable(value):
        try:
            return ("called", plain(value()))
        except Exception as error:
            return type(error), str(error)
    return value


# A loop that returns, behind a `return` that no pass has to touch.
UNREACHABLE = """def program(a, b, items):
    c = 1
    if a < a:
        return
        for a in range(a):
            tick()
            return a
    return a, b, c
"""

# A name that is unbound where a comprehension reads it.
READ_IN_A_COMPREHENSION = """def program(a, b, items):
    if a >= 0:
        a = [v for v in items if v != d + 1]
    if b > 5:
        d = 3
    return a, sum(v for v in [c] if b), c
    c = 1
"""


@pytest.mark.parametrize("instrument", [False, True])
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@example(text=UNREACHABLE)
@example(text=READ_IN_A_COMPREHENSION)
@given(text=programs())
def test_random_program_does_the_same(text, instrument):
    try:
        fn, effects = make(text)
    except SyntaxError:
        return
    converted = convert(fn, JIT_PASSES, PythonOperators, instrument=instrument)
    for args in itertools.product(range(3), range(2)):
        expected, got = outcome(fn, effects, *args), outcome(converted.function, effects, *args)
        assert got == expected, f"{args}\n{text}\n{converted.code}"
