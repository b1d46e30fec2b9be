"""Runs notebooks: ``python -m tests.docs.notebooks FILE...`` runs each in its own kernel and writes its outputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.docs.markdown import ROOT

FOLDER = ROOT / "docs" / "notebooks"


def executed(file: Path) -> Any:
    """The notebook with the outputs of a run that began anew."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(file.parent)}},
        store_widget_state=False, record_timing=False,
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main(files: list[str]) -> None:
    """Run the files in place."""
    import nbformat

    for file in files:
        nbformat.write(executed(Path(file)), file)


if __name__ == "__main__":
    main(sys.argv[1:])
