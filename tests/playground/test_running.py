"""What the playground answers: code, hooks, Program, both modes; errors with their line; and no way to hang it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import d2s
from d2s.playground.running import run_request
from d2s.playground.worker import answer_to

Ask = Callable[..., dict[str, Any]]

HOOK = """import d2s as paddle

def f(x):
    y = x * x
    z = 3 * y
    y.register_hook(lambda g: g + 1)
    return z
"""

STEP = """import d2s as paddle

def step(x):
    loss = (x * x).sum()
    loss.backward()
    return loss
"""


@pytest.fixture
def answer(tmp_path: Path) -> Ask:
    """What the process behind a request answers, asked in this one."""
    file = tmp_path / "program.py"

    def ask(program: str, inputs: str = "x = [2.0]", target: str = "") -> dict[str, Any]:
        file.write_text(program, encoding="utf-8")
        return answer_to(program, str(file), {"inputs": inputs, "target": target})

    return ask


def run(program: str, seconds: float = 60) -> dict[str, Any]:
    """What a request answers, in a process of its own."""
    return run_request(program, "x = [2.0]", "", seconds)


def test_a_hook_in_both_modes(answer: Ask) -> None:
    found = answer(HOOK)
    call = {"name": "<lambda>", "line": 6, "given": "[3.]", "result": "[4.]"}
    for mode in ("eager", "static"):
        assert found[mode] == {
            "outputs": [["result", "float32[1] [12.]"]], "gradients": [["x.grad", "float32[1] [16.]"]],
            "hooks": [call], "printed": "", "error": None, "differentiated": True,
        }
    assert found["differences"] == []
    assert found["hooks"] == ["line 6: hook on y moves behind line 4: directly after its definition"]
    assert "what is traced" in found["code"]
    assert found["picture"].startswith("<svg")
    assert "register_hook" in found["text"]
    assert (found["target"], found["names"]) == ("f", ["f"])


def test_layers_and_random_inputs(answer: Ask) -> None:
    program = """
from d2s import nn

def unused(x):
    return x

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, labels):
        return {"loss": nn.functional.cross_entropy(self.fc(x), labels), "n": len(labels)}

net = Net()
"""
    found = answer(program, "x = float32[4, 3]\nlabels = [0, 1, 1, 0]")
    assert found["differences"] == []
    assert [name for name, _ in found["static"]["outputs"]] == ["result['loss']", "result['n']"]
    assert [name for name, _ in found["static"]["gradients"]] == ["x.grad", "net.fc.weight.grad", "net.fc.bias.grad"]
    assert found["names"] == ["unused", "net"]
    assert answer(program, "x = [1, 2]", "unused")["static"]["outputs"] == [["result", "int64[2] [1, 2]"]]


def test_each_mode_begins_with_the_program_as_it_was_written(answer: Ask) -> None:
    found = answer("seen = []\n\ndef f(x):\n    seen.append(1)\n    print(len(seen))\n    return x * len(seen)\n")
    assert found["eager"]["printed"] == found["static"]["printed"] == "1\n"
    assert found["differences"] == []


def test_a_function_that_calls_backward_itself(answer: Ask) -> None:
    found = answer(STEP, "x = [1.0, 2.0]")
    for mode in ("eager", "static"):
        assert found[mode]["error"] is None
        assert found[mode]["gradients"] == [["x.grad", "float32[2] [2., 4.]"]]
        assert found[mode]["differentiated"] is False
    assert found["differences"] == []


def test_what_differs_is_said(answer: Ask) -> None:
    found = answer("import d2s\n\ndef f(x):\n    return x * 2 if d2s.in_dynamic_mode() else x * 3\n")
    assert found["differences"] == ["result", "x.grad"]


LAYER = "import d2s\n\nclass Net(d2s.nn.Layer):\n"


@pytest.mark.parametrize(
    ("program", "inputs", "where", "line", "words"),
    [
        ("def f(x):\n    return x +\n", "x = [1.0]", "program", 2, "SyntaxError: invalid syntax"),
        ("y = 1 / 0\n", "", "program", 1, "ZeroDivisionError"),
        ("x = 1\n", "", "program", None, "defines no function"),
        (f"{LAYER}    def __init__(self, size, *, bias, scale=1.0):\n        super().__init__()\n", "", "program", None,
         "makes no object of it: add a line like `net = Net(size=..., bias=...)`"),
        (f"{LAYER}    pass\n", "", "program", None, "add a line like `net = Net()`"),
        ("def f(x):\n    return x\n", "x = [1.0", "inputs", 1, "'[' was never closed"),
        ("def f(x):\n    return x\n", "x = [1.0]\nx + 1", "inputs", 2, "write a line like"),
        ("def f(x):\n    return x\n", "\nx = nothing", "inputs", 2, "x: NameError"),
    ],
)
def test_errors_before_the_call(
    answer: Ask, program: str, inputs: str, where: str, line: int | None, words: str
) -> None:
    found = answer(program, inputs)
    error = found.get("error") or found["eager"]["error"]
    assert (error["where"], error["line"]) == (where, line)
    assert words in error["message"]


def test_errors_of_the_function_have_its_line(answer: Ask) -> None:
    found = answer("import d2s\n\ndef f(x):\n    y = x * 2\n    return y @ d2s.ones([3, 2])\n")
    for mode in ("eager", "static"):
        error = found[mode]["error"]
        assert (error["line"], error["id"]) == (5, "D2S-S01")
        assert error["message"].startswith("ShapeError: matmul")
    assert found["differences"] == []


def test_a_refusal_says_what_to_do(answer: Ask) -> None:
    program = """def f(x):
    parts = [x]
    while x.sum() > 1:
        x = x / 2
        parts.append(x)
    return [a + b for a, b in zip(parts, parts, strict=True)]
"""
    found = answer(program, "x = [8.0]")
    assert found["eager"]["error"] is None
    error = found["static"]["error"]
    assert (error["id"], error["line"]) == ("D2S-U29", 6)
    assert "Loop over it" in error["fix"]
    assert found["differences"] == [
        "error: none in eager mode, UnsupportedSyntaxError in static mode"]
    assert "while_loop" in found["code"]
    assert "picture" not in found


def test_the_folder_of_the_run_is_not_shown() -> None:
    found = run("def f(x):\n    raise ValueError(__file__)\n")
    assert found["eager"]["error"]["message"] == "ValueError: program.py"
    assert "d2s-playground" not in str(run(HOOK))


def test_markup_in_a_program_is_shown_as_text(answer: Ask) -> None:
    found = answer('def f(x):\n    name = "<img src=x onerror=alert(1)>"\n    print(name)\n    return x\n')
    assert "<img" not in found["code"] + found["picture"]
    assert "&lt;img" in found["code"]


def test_a_program_that_does_not_end_is_stopped() -> None:
    begin = time.monotonic()
    found = run("def f(x):\n    while True:\n        pass\n", seconds=1.5)
    assert found["error"]["message"] == "The program was stopped after 1.5 s."
    assert time.monotonic() - begin < 30


def test_what_a_program_has_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = f"""
import subprocess, sys
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(2.5); open({str(mark)!r}, 'w')"])

def f(x):
    while True:
        pass
"""
    assert "stopped" in run(program, seconds=1.5)["error"]["message"]
    time.sleep(2)
    assert not mark.exists()


@pytest.mark.parametrize("ending", ["import os; os._exit(3)", "raise SystemExit(3)"])
def test_a_program_that_ends_its_process_is_told(ending: str) -> None:
    found = run(f"def f(x):\n    {ending}\n")
    assert found["error"]["message"] == "The program ended its process: exit status 3"


def test_long_output_is_cut(answer: Ask) -> None:
    found = answer("def f(x):\n    print('x' * 100_000)\n    return x\n")
    assert len(found["static"]["printed"]) == 20_000


def test_every_example_of_the_page_runs(answer: Ask) -> None:
    text = (Path(d2s.__file__).parent / "playground" / "page" / "examples.js").read_text(encoding="utf-8")
    examples = re.findall(r'\["([^"]+)", `(.*?)`, "((?:[^"\\]|\\.)*)"\]', text, re.DOTALL)
    assert len(examples) == 6
    for name, program, inputs in examples:
        found = answer(program, inputs.replace("\\n", "\n"))
        assert "error" not in found, name
        assert found["eager"]["error"] is None, name
        assert (found["differences"] == []) == (name != "What is refused"), name
