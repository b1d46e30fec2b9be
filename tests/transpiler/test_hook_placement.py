"""The contract of hook placement, one golden file per line of it; each is also run, and placed a second time."""

from __future__ import annotations

import contextlib
import inspect
import types
from pathlib import Path

import gast
import pytest

from d2s.transpiler import PythonOperators, transpile_source
from d2s.transpiler.context import new_context
from d2s.transpiler.passes import fence, hook_placement

GOLDEN = Path(__file__).parents[1] / "golden" / "hook_placement"
FILES = sorted(GOLDEN.glob("*.txt"))
PASSES = [fence.run, hook_placement.run]


def parts(file):
    """The function before, the function after, and the report."""
    text = file.read_text()
    before, rest = text.split("# becomes\n")
    after, report = rest.split("# report\n")
    return before.split("\n", 1)[1], after, report


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden(file):
    before, after, report = parts(file)
    assert transpile_source(before, PASSES) == after
    tree = gast.parse(before)
    ctx = new_context(tree)
    hook_placement.run(fence.run(tree, ctx), ctx)
    assert "".join(map(line_of_report, ctx.hook_report)) == report


def line_of_report(entry):
    where = f"moved below line {entry.moved_to}" if entry.moved_to else "stays"
    return f"line {entry.line}, {entry.target}: {where}, {entry.reason}\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_idempotent(file):
    _, after, _ = parts(file)
    assert transpile_source(after, PASSES) == after


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("x", [2, 101])
def test_every_value_gets_the_same_hooks(file, x):
    before, after, _ = parts(file)
    assert observed(after, x) == observed(before, x)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_whole_pipeline_gives_every_value_the_same_hooks(file):
    before, _, _ = parts(file)
    assert observed(transpile_source(before, [*PASSES, *transpile_passes()]), 2) == observed(before, 2)


def transpile_passes():
    from d2s.transpiler import DEFAULT_PASSES

    return DEFAULT_PASSES[1:]


class Value:
    """A number that notes, in `log`, which hooks were registered on it, in which order."""

    def __init__(self, number, log, path):
        self.number, self.log, self.path = number, log, path

    def register_hook(self, hook):
        self.log.setdefault(self.path, []).append(hook)
        return types.SimpleNamespace(remove=lambda: self.log[self.path].append("removed"))

    def combined(self, other, how, number):
        return Value(number, self.log, f"({self.path} {how} {getattr(other, 'path', other)})")

    def __add__(self, other):
        return self.combined(other, "+", self.number + getattr(other, "number", other))

    def __mul__(self, other):
        return self.combined(other, "*", self.number * getattr(other, "number", other))

    def __gt__(self, other):
        return self.number > other

    def __lt__(self, other):
        return self.number < other

    def __setitem__(self, index, value):
        self.path += f"[{index}]={value}"

    def add_(self, value):
        self.path += f".add_({value})"

    def backward(self):
        self.log.setdefault("backward", []).append({k: len(v) for k, v in self.log.items() if k != "backward"})


def observed(text, number):
    """What a run of the function registers on which value, what it returns or raises."""
    log = {}
    x = Value(number, log, "x")

    def registers(value):
        value.register_hook(lambda g: g - 1)

    class Carrier(Exception):
        def register_hook(self, hook):
            log.setdefault("carrier", []).append(hook)

    def helper(value):
        log.setdefault("helper", []).append(value.path)
        return value + 1000

    holder = types.SimpleNamespace(weight=x + 500)
    scope = {name: getattr(PythonOperators, name) for name in vars(PythonOperators) if not name.startswith("__")} | {
        "double": lambda g: 2 * g,
        "add_one": lambda g: g + 1,
        "times": lambda k: lambda g: k * g,
        "manager": contextlib.nullcontext,
        "helper": helper,
        "registers": registers,
        "Carrier": Carrier,
    }
    given = {"x": x, "self": holder, "other": types.SimpleNamespace(w=x + 700), "outs": {}, "i": 0}
    types.register_hook = lambda hook: log.setdefault("types", []).append(hook)
    try:
        exec(text, scope)
        fn = scope["f"]
        result = fn(*(given[name] for name in inspect.signature(fn).parameters))
        return getattr(result, "path", result), run_hooks(log)
    except Exception as error:
        return type(error), str(error), run_hooks(log)
    finally:
        del types.register_hook


def run_hooks(log):
    """Hooks run after the function, as they do in a backward pass."""
    return {path: [hook(10) if callable(hook) else hook for hook in hooks] for path, hooks in log.items()}


def test_a_misplaced_hook_is_noticed():
    """The check above has teeth: a hook on the wrong value, or out of order, shows."""
    before = "def f(x):\n    y = x + 4\n    x = y * 5\n    x.register_hook(add_one)\n    x.register_hook(double)\n"
    wrong_value = "def f(x):\n    x.register_hook(add_one)\n    x.register_hook(double)\n    y = x + 4\n    x = y * 5\n"
    wrong_order = before.replace("add_one", "swap").replace("double", "add_one").replace("swap", "double")
    assert observed(wrong_value, 2) != observed(before, 2) != observed(wrong_order, 2)


def test_contract_is_covered():
    assert len(FILES) > 50
