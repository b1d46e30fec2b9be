"""The notebooks run from their beginning, and their outputs are those that are stored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.markdown import ROOT
from tests.docs.notebooks import FOLDER

pytest.importorskip("nbclient", reason="pip install 'd2s[dev]'")
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def outputs_of(file: Path) -> list[tuple[str, Any]]:
    """Source and outputs of every cell of code; of pictures and tables only that they are there."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return [
        ("".join(cell["source"]), [_compared(output) for output in cell["outputs"]])
        for cell in cells if cell["cell_type"] == "code"
    ]


def _compared(output: dict[str, Any]) -> Any:
    if output["output_type"] == "stream":
        return output["name"], output["text"]
    if output["data"].keys() == {"text/plain"}:
        return "".join(output["data"]["text/plain"])
    return sorted(kind for kind, data in output["data"].items() if data)


def run(file: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook in place, in a process that only the kernel shares."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths, "IPYTHONDIR": str(folder / "ipython")}
    command = [sys.executable, "-m", "tests.docs.notebooks", str(file)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_stored_outputs_are_those_of_a_run(notebook: Path, tmp_path: Path) -> None:
    copy = tmp_path / notebook.name
    shutil.copy(notebook, copy)
    done = run(copy, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    for (source, stored), (_, made) in zip(outputs_of(notebook), outputs_of(copy), strict=True):
        what_to_do = f"run `python -m tests.docs.notebooks {notebook.relative_to(ROOT)}`"
        assert stored == made, f"{what_to_do}; the cell is\n{source}"


def test_a_cell_that_fails_is_found(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(notebook, tmp_path / "broken.ipynb")
    done = run(tmp_path / "broken.ipynb", tmp_path)
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr


def test_there_are_two_notebooks_with_outputs() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["hooks", "training"]
    for file in NOTEBOOKS:
        assert any(outputs for _, outputs in outputs_of(file))
