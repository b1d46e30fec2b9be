"""The command: every example of its help, what it writes, exit statuses, mistakes without traceback."""

from __future__ import annotations

import gc
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from d2s.cli import main as cli
from d2s.cli.main import main
from d2s.core.op import OP_TABLE
from tests.testing.test_planted_faults import wrong_op

ROOT = Path(__file__).parent.parent.parent

MODEL = '''
import d2s as paddle


def step(x, w):
    y = x @ w
    y.register_hook(print_norm)
    z = 3 * y
    z.register_hook(lambda g: g * 2 + 1)
    loss = (z * z).mean()
    if loss > 0.5:
        loss = loss * 0.5
    return loss


def print_norm(g):
    print("norm", (g * g).sum().item())


def fails(x):
    return x.no_such_method()


calls = 0


def fails_later(x):
    global calls
    calls += 1
    if calls == 2:
        raise ValueError("the second call")
    return x


def whole_step(x):
    loss = (net(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss


def whole_loss(x):
    return (net(x) ** 2).mean()


def turns(x):
    for number in range(3):
        yield x * number


async def later(x):
    return x


def endless(x):
    return endless(x + 1)


def named(x, *, by, plus=0.5):
    z = x * by
    z.register_hook(lambda g: g * g + 1)
    return z + plus


import functools

tripled = functools.partial(named, by=3.0)
tripled_static = functools.partial(paddle.jit.to_static(named), by=3.0)


def total(*values, **factors):
    result = sum(values)
    for factor in factors.values():
        result = result * factor
    return result


def last(x, k=2.0, *more):
    return x * k + more[-1]


def refused(x):
    return (1, 2)[:: int(x.sum())]


def scaled(x, factor=2.0, *, name=None):
    return x * factor


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(4, 1)

    def forward(self, x):
        return paddle.tanh(self.fc(x))


class Needs(paddle.nn.Layer):
    def __init__(self, size):
        super().__init__()


net = Net()
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
number = 3
'''


HELPERS = '''
import d2s as paddle


def helper(y):
    y.register_hook(lambda g: g + 1)  # A
    return y * y


@paddle.jit.not_to_static
def eager(t):
    t.register_hook(lambda g: g * g)  # B
    return t


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(4, 4)
        self.fc.register_forward_pre_hook(lambda layer, inputs: None)  # C

    def forward(self, x):
        return self.fc(x)


net = Net()


def main(x):
    net.fc.register_forward_post_hook(lambda layer, inputs, outputs: outputs + 1)  # D
    return eager(helper(x * 2))


def through(x):
    return net(x)
'''

LINE_OF_TURNS = MODEL.splitlines().index("        yield x * number") + 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import d2s\nx = 1 / 0\n", encoding="utf-8")
    (tmp_path / "syntax.py").write_text("def f(:\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "110")
    for name in ("model", "broken", "syntax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def examples() -> list[str]:
    """Every example of the help of the command and its subcommands."""
    parser = cli._parser()
    found = []
    for name in ["", *cli._EXAMPLES]:
        text = parser.format_help() if not name else parser._subparsers._group_actions[0].choices[name].format_help()  # type: ignore[union-attr,index]
        found += re.findall(r"^  (d2s .*)$", text.partition("examples:")[2].partition("exit status")[0], re.MULTILINE)
    return list(dict.fromkeys(found))


def test_the_help_has_examples_and_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(examples()) >= 8
    for arguments in (["--help"], ["check", "--help"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0
        text = capsys.readouterr().out
        assert "examples:" in text
        assert "exit status:" in text


def interrupted(*args: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("example", examples())
def test_examples_of_the_help(
    example: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # They are about a file that there is.
    shutil.copy(ROOT / "examples" / "model.py", folder / "model.py")
    # As if it was interrupted at once.
    monkeypatch.setattr("d2s.playground.server.Playground.serve_forever", interrupted)
    assert main(shlex.split(example)[1:]) == 0
    captured = capsys.readouterr()
    assert captured.out.strip()
    assert captured.err == ""


def run(text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(shlex.split(text))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


STEP = "model.py:step -i 'float32[8,4]' -i 'float32[4,1]'"


def test_show(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run("show model.py:step", capsys)
    assert status == 0
    assert re.search(r"7\*? +y\.register_hook\(print_norm\)", text)
    assert "if_else(" in text
    assert "\x1b" not in text
    assert "\x1b[" in run("show model.py:step --color always", capsys)[1]
    assert max(map(len, run("show model.py:step --width 80", capsys)[1].splitlines()[:18])) <= 80
    status, text, _ = run("show model.py:step --html -o step.html", capsys)
    assert (status, text) == (0, "wrote step.html\n")
    assert "<table>" in (folder / "step.html").read_text()


def test_hooks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run("hooks model.py:step", capsys)
    assert status == 0
    head, _, _, *rows = text.splitlines()
    assert re.fullmatch(r"in step \(.*model\.py:5\):", head)
    assert [row.split()[:3] for row in rows] == [["7", "y", "stays"], ["9", "z", "stays"]]
    assert "no hook" in run("hooks model.py:scaled", capsys)[1]


def test_hooks_of_helpers_and_layers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "helpers.py").write_text(HELPERS, encoding="utf-8")

    def shown(target: str) -> list[list[str]]:
        status, text, _ = run(f"hooks helpers.py:{target}", capsys)
        assert status == 0
        return [line.split() for line in text.splitlines()]

    lines = HELPERS.splitlines()
    sites = {mark: str(next(n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))) for mark in "ABCD"}
    called = [row[:3] for row in shown("main") if row and row[0].isdigit()]
    assert called == [[sites["D"], "net.fc", "stays"], [sites["A"], "y", "stays"], [sites["B"], "t", "stays"]]
    rows = shown("Net")
    assert rows[0][0:2] == ["on", "Layers,"]
    assert rows[3][:3] == ["self.fc", "Linear", "before"]
    assert rows[3][-1].endswith(f"helpers.py:{sites['C']})")
    assert len(rows) == 4
    assert shown("through")[-1] == ["net.fc", *rows[3][1:]]
    # Through a module and an object too, in whatever file.
    (folder / "uses.py").write_text(
        "import helpers as h\n\n\nclass User:\n    def run(self, x):\n        return h.helper(x)\n\n\n"
        "user = User()\n\n\ndef f(x):\n    return user.run(x)\n", encoding="utf-8")
    status, text, _ = run("hooks uses.py:f", capsys)
    assert status == 0
    assert re.search(rf"in helper \(.*helpers\.py:\d+\), which it may call:\n.*\n.*\n *{sites['A']}  y ", text)


@pytest.mark.parametrize("suffix", ["svg", "html", "mmd", "dot", "txt"])
def test_graph(suffix: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run(f"graph {STEP} -o step.{suffix}", capsys)
    assert (status, text) == (0, f"wrote step.{suffix}\n")
    written = (folder / f"step.{suffix}").read_text()
    for word in ("matmul", "register_hook", "backward of step", "then"):
        assert word in written
    if suffix == "svg":
        ET.fromstring(written)


def test_graph_as_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run(f"graph {STEP}", capsys)
    assert status == 0
    assert text.startswith("program step\n")
    # What calls the command is no line of the user's.
    assert set(re.findall(r"# (.*):\d+$", text, re.MULTILINE)) == {"model.py"}


def test_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run(f"check {STEP} --calls 2", capsys)
    assert status == 0
    assert "both modes do the same in 2 calls" in text
    assert "gradients: x, w" in text
    assert "print_norm" in text
    assert "printed lines: 1" in text
    status, text, _ = run("check model.py:net --gradients -i 'float32[2,4]'", capsys)
    assert status == 0
    assert "self.fc.weight" in text
    assert "agree with differences" in text
    status, text, _ = run("check model.py:fails -i 0.5", capsys)
    assert status == 3
    assert "fails, in the same way in both modes, in every call" in text
    assert "both raise AttributeError" in text
    assert "return x.no_such_method()" in text
    status, text, _ = run("check model.py:fails_later -i 0.5", capsys)
    assert status == 3
    assert "in call 2 of 3" in text
    assert "both raise ValueError: the second call" in text


def test_check_finds_a_difference(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong_op("multiply", np.add)(monkeypatch)
    status, text, _ = run(f"check {STEP}", capsys)
    assert status == 1
    assert "first operator at which the modes part: multiply" in text
    assert "model.py:8" in text


def test_check_finds_a_wrong_gradient(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = OP_TABLE["square"].rules
    OP_TABLE["square"].vjp(lambda g, out, x: g * x)
    try:
        status, text, _ = run("check model.py:whole_loss -i 'float32[2,4]' --gradients", capsys)
    finally:
        OP_TABLE["square"].vjp(*rules)
    assert status == 1
    assert "the gradient rule of the op square is wrong" in text


def test_check_leaves_aside_what_hooks_make_of_gradients(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run(f"check {STEP} --gradients", capsys)
    assert status == 0
    # Of its two hooks one changes gradients.
    assert re.search(r"without what this hook makes of them: 'step.<locals>.<lambda>' \(.*model.py:9\)\n\Z", text)


def test_a_function_that_calls_backward_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "the function calls backward itself"
    status, text, _ = run("check model.py:whole_step -i 'float32[2,4]'", capsys)
    assert status == 0
    assert f"no backward is called on what is returned: {words}" in text
    assert "both modes do the same in 3 calls" in text
    status, text, _ = run("explain model.py:whole_step -i 'float32[2,4]'", capsys)
    assert status == 0
    assert f"backward is not timed by itself: {words}" in text
    status, _, errors = run("check model.py:whole_step -i 'float32[2,4]' --gradients", capsys)
    assert status == 2
    assert words in errors
    status, _, errors = run("check model.py:scaled -i 'int64[2]' --gradients", capsys)
    assert status == 2
    assert errors == "d2s: --gradients: check_grads needs a floating point tensor among the inputs\n"


def test_check_of_what_cannot_become_a_graph(
    folder: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    status, text, _ = run("check model.py:turns -i 'float32[2]'", capsys)
    assert status == 3
    assert "[D2S-U20]" in text
    assert "Make a list of it." in text
    assert text.startswith("turns (")
    assert "cannot be compiled" in text.splitlines()[0]
    assert f"model.py:{LINE_OF_TURNS}\n" in text
    status, _, errors = run("check model.py:later -i 'float32[2]'", capsys)
    assert status == 3
    assert "[D2S-U27]" in errors
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run(f"explain {STEP} --calls 2 --top 100", capsys)
    assert status == 0
    for words in ("hook_placement", "kept for backward", "2 steps of", "matmul", "model.py:6", "norm"):
        assert words in text


def test_explain_of_several_calls(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run("explain model.py:net -i 'float32[2,4]' --next -i 'float64[2,4]' --calls 1", capsys)
    assert status == 0
    assert "traced 2 times, 2 Programs kept\n" in text
    reasons, programs = text.index("  2. argument x changed from float32[2, 4] to float64[2, 4]"), [
        text.index(f"\n{words}") for words in (
            "  Program of trace 1\n", "  Program of trace 2, used last\n",
            "Program of trace 1\n", "memory of trace 1\n", "Program of trace 2\n", "memory of trace 2\n")]
    assert [reasons, *programs] == sorted([reasons, *programs])
    assert re.search(r"\n  tracing took [\d.]+, [\d.]+ ms\n", text)


def test_numbers_of_operators_add_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = run("explain model.py:net -i 'float32[2,4]' --calls 1", capsys)
    assert "traced once, 1 Program kept\n" in text
    for part, whole in (("forward", "forward"), ("backward that was asked for last", "backward of all results")):
        count, after, passes = re.search(
            rf"    {part}: (\d+) operators(?:, (\d+) after all passes)?\n((?:      .*\n)*)", text).groups()  # type: ignore[union-attr]
        assert f"  {whole}: {count} operators as traced, " in text
        steps = re.findall(r"(\d+) operators? (?:became (\d+)|changed)", passes)
        for before, then in steps:
            assert before == count
            count = then or before
        assert count == (after or count)


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status, text, _ = run("doctor", capsys)
    assert status == 0
    for words in ("Python", "numpy", "BLAS", "compiler", "both modes  do the same"):
        assert words in text
    monkeypatch.setattr("d2s.cli.doctor._NEEDED", {"numpy": (99,), "no-such-package": (1,)})
    status, text, _ = run("doctor", capsys)
    assert status == 1
    assert "missing" in text


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ("show nothing.py:f", 2, "there is no file nothing.py"),
        ("show model.py", 2, "write file.py:function"),
        ("show model.py:stepp", 2, "there is step"),
        ("show model.py:number", 2, "is int, neither a function nor a Layer"),
        ("show no_such_module:f", 2, "there is no module no_such_module"),
        ("show broken.py:f", 3, "broken.py:2"),
        ("show syntax.py:f", 3, "syntax.py:1\n    def f(:\n          ^"),
        ("show model.py:Needs", 3, "Make the object in model.py"),
        ("show model.py:step -o /no/such/folder/x.html --html", 2, "cannot be written"),
        ("graph model.py:step", 2, "no input for 'x': give one --input for each of x, w"),
        ("graph model.py:step -i 'float33[2]'", 2, "'float33' is no dtype"),
        ("graph model.py:step -i 'float32[2'", 2, "neither a spec"),
        ("graph model.py:step -i v=1.0", 2, "no parameter 'v'; they are x, w"),
        ("graph model.py:step -i 1.0 -i 1.0 -i 1.0", 2, "too many inputs"),
        ("check model.py:step -i 'x=float32[2]' -i 1.0 -i 'x=float32[3]'", 2, "'x' is given twice"),
        ("check model.py:step -i 'float32[2]' -i 'x=float32[3]' -i 1.0", 2, "'x' is given twice"),
        ("check model.py:named -i 1.0 -i 2.0", 2, "too many inputs: '2.0' has no parameter; they are x, by=, plus="),
        ("check model.py:named -i 1.0", 2, "no input for 'by'"),
        ("check model.py:total -i a=1.0 -i a=2.0", 2, "'a' is given twice"),
        ("graph model.py:turns -i 'float32[2]'", 3, f"model.py:{LINE_OF_TURNS}\n    yield"),
        ("explain model.py:endless -i 'float32[2]'", 3, "    return endless(x + 1)"),
        (f"graph {STEP} -o step.png", 2, "a picture is .svg"),
        ("graph model.py:fails -i 'float32[2]'", 3, "no_such_method"),
        ("graph model.py:refused -i 'float32[2]'", 3, "known only when the Program runs"),
        ("check model.py:scaled -i 'float32[90000000,90000000]'", 2, "give smaller sizes"),
    ],
)
def test_mistakes(arguments: str, status: int, words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, out, err = run(arguments, capsys)
    assert found == status
    assert words in err
    assert err.startswith("d2s: ")
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.parametrize(
    ("option", "values", "words"),
    [
        ("check model.py:step --calls", ["0", "-1", "1.5", "x"], "at least 1"),
        ("check model.py:step --rtol", ["-1", "nan", "inf", "x"], "not negative"),
        ("check model.py:step --atol", ["-1", "nan", "inf", "x"], "not negative"),
        ("explain model.py:step --calls", ["0"], "at least 1"),
        ("explain model.py:step --top", ["-3"], "at least 1"),
        ("show model.py:step --width", ["0"], "at least 1"),
        ("playground --seconds", ["0", "-1", "nan", "inf"], "more than 0"),
        ("playground --port", ["-1", "65536", "x"], "from 0 to 65535"),
    ],
)
def test_numbers_out_of_range(option: str, values: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value in values:
        with pytest.raises(SystemExit) as left:
            main([*shlex.split(option)[:-1], f"{shlex.split(option)[-1]}={value}"])
        assert left.value.code == 2
        assert re.search(f"argument {shlex.split(option)[-1]}: must be .*{words}.*'{value}'", capsys.readouterr().err)


def test_traceback_on_demand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Traceback" in run("show broken.py:f --traceback", capsys)[2]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("-i 'float32[3]'", "float32[3]"),
        ("-i 'float32[3]!' -i 3", "float32[3]"),
        ("-i factor=0.5 -i 'x=float64[2,2]'", "float64[2, 2]"),
        ("-i 'int64[]'", "int64[]"),
        ("-i 'bool[2]'", "bool[2]"),
    ],
)
def test_inputs(arguments: str, shown: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run(f"graph model.py:scaled {arguments}", capsys)
    assert status == 0
    line = next(line for line in text.splitlines() if line.startswith("  x: "))
    assert line.startswith(f"  x: {shown} = input")
    assert ("stop_gradient=False" in line) == ("float" in shown and "!" not in arguments)


@pytest.mark.parametrize(
    ("arguments", "gradients"),
    [
        ("named -i 'float32[2]' -i 'by=float32[2]'", "x, by"),
        ("named -i 'plus=float32[2]!' -i by=2.0 -i 'x=float32[2]'", "x"),
        ("total -i 'float32[2]'", "values[0]"),
        ("total -i 'float32[2]' -i 'float32[2]' -i 'a=float32[2]' -i b=3.0", "values[0], values[1], a"),
        ("last -i 'float32[2]' -i k=3.0 -i 'float32[2]'", "x, more[0]"),
        ("tripled -i 'float32[2]'", "x"),
        ("tripled_static -i 'float32[2]' -i plus=1.0", "x"),
    ],
)
def test_parameters_of_all_kinds(
    arguments: str, gradients: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = run(f"check model.py:{arguments} --gradients", capsys)
    assert status == 0, text
    assert f"\n  gradients: {gradients}\n" in text
    assert run(f"graph model.py:{arguments}", capsys)[0] == 0
    assert run(f"explain model.py:{arguments} --calls 1", capsys)[0] == 0


def test_a_partial_is_shown_as_its_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("show", "hooks"):
        texts = [run(f"{command} model.py:{name}", capsys) for name in ("named", "tripled", "tripled_static")]
        assert texts[0] == texts[1] == texts[2]
        assert texts[0][0] == 0
        assert "z" in texts[0][1]


def test_as_module_and_with_a_closed_pipe(folder: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f"{shlex.quote(sys.executable)} -m d2s show model.py:step | head -1"
    found = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, env=env, check=False)
    assert "what you wrote" in found.stdout
    assert found.stderr == ""


@pytest.mark.parametrize(
    ("into", "status", "words"),
    [
        (">&-", 0, ""),
        ("2>&- >&-", 0, ""),
        (">/dev/full", 2, "d2s: what was found cannot be written: No space left on device\n"),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_standard_output_that_takes_nothing(into: str, status: int, words: str, folder: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f"{shlex.quote(sys.executable)} -m d2s graph {STEP} -o step.svg {into}"
    found = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, env=env, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (status, "", words)
    assert (folder / "step.svg").read_text(encoding="utf-8").startswith("<svg")


def test_standard_output_that_lacks_characters(folder: Path) -> None:
    (folder / "letters.py").write_text("def f(größe):\n    return größe * 2\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    found = subprocess.run(
        [sys.executable, "-m", "d2s", "show", "letters.py:f"], capture_output=True, timeout=60, env=env, check=False)
    assert (found.returncode, found.stderr) == (0, b"")
    assert rb"return gr\xf6\xdfe * 2" in found.stdout


def test_a_file_of_a_package_is_loaded_as_its_module(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (
        ("__init__", "from .parts.helper import twice\n"), ("parts/__init__", ""),
        ("parts/helper", "def twice(x):\n    return x * 2\n"),
        ("parts/main", "from .. import twice\n\n\ndef f(x):\n    return twice(x)\n"),
    ):
        path = folder / "in_package" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for target in ("in_package/parts/main.py:f", "in_package/__init__.py:twice", "in_package.parts.main:f"):
        status, out, err = run(f"check {target} -i 'float32[2]'", capsys)
        assert (status, err) == (0, ""), err
        assert "both modes do the same" in out
    # Another package of that name is loaded already: the file stands alone.
    monkeypatch.setitem(sys.modules, "in_package", sys.modules["json"])
    assert run("show in_package/parts/helper.py:twice", capsys)[0] == 0


def test_a_file_in_another_encoding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "# \u00e9\ndef f(x):\n    return x\n".encode("latin-1")
    (folder / "latin.py").write_bytes(b"# coding: latin-1\n" + text)
    assert run("show latin.py:f", capsys)[0] == 0
    (folder / "wrong.py").write_bytes(text)
    status, _, err = run("show wrong.py:f", capsys)
    assert status == 3
    assert "utf-8" in err.lower()
    assert "Traceback" not in err


def test_an_error_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run("error g01", capsys)
    assert status == 0
    assert text.startswith("D2S-G01  Backward a second time (GradientError)\n\nWhy: ")
    assert "    y.backward(retain_graph=True)\n" in text
    status, text, _ = run("error", capsys)
    assert text.count("D2S-") > 80
    assert run("error D2S-Z01", capsys) == (2, "", "d2s: there is no error D2S-Z01; `d2s error` lists them\n")


def test_the_playground_opens_its_address(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("d2s.playground.server.Playground.serve_forever", interrupted)
    status, text, _ = run("playground", capsys)
    assert status == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", opened[0])
    assert opened[0] in text
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, _, errors = run(f"playground --port {port}", capsys)
    assert status == 2
    assert errors.startswith(f"d2s: port {port} cannot be used")


@pytest.mark.parametrize("status", [0, 1, 7])
def test_an_exit_of_the_program_is_none_of_the_command(
    status: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ends.py").write_text(f"def f(x):\n    raise SystemExit({status})\n")
    assert run("check ends.py:f --input 'float32[2]'", capsys)[0] == 3
    Path("script.py").write_text(f"import sys\nsys.exit({status})\n")
    found, _, text = run("check script.py:f --input 'float32[2]'", capsys)
    assert found == 3
    assert "script.py cannot be loaded: SystemExit" in text


def test_a_method_is_called_on_an_object_of_its_class(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("methods.py").write_text("""
import d2s

class Scale:
    def __init__(self):
        self.factor = 3.0
    def by(self, x):
        return x * self.factor
    @staticmethod
    def twice(x):
        return x * 2
    @classmethod
    def same(cls, x):
        return x + 0

class Net(d2s.nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = d2s.nn.Linear(2, 1)
    def forward(self, x):
        return self.inner(x)

class Wants:
    def __init__(self, size):
        self.size = size
    def by(self, x):
        return x * self.size
""")
    for name in ("Scale.by", "Scale.twice", "Scale.same", "Net.forward", "Net"):
        for command in ("check", "graph", "explain"):
            assert run(f"{command} methods.py:{name} --input 'float32[3,2]'", capsys)[0] == 0, (command, name)
        assert run(f"show methods.py:{name}", capsys)[0] == 0
    status, _, text = run("check methods.py:Wants.by --input 'float32[2]'", capsys)
    assert status == 3
    assert "Wants is a class, and Wants() raises TypeError" in text
    assert "Make the object in methods.py and name that." in text
    assert run("show methods.py:Wants.by", capsys)[0] == 0
