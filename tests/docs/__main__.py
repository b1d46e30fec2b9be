"""``python -m tests.docs``: make docs/errors.md and docs/reference, and write into the documents what their programs
print now.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import d2s
from tests.docs import reference
from tests.docs.error_page import PAGE, entry, page
from tests.docs.markdown import DOCUMENTS, blocks_of, is_output, sessions_of
from tests.docs.programs import run


def main() -> None:
    PAGE.write_text(page(entry), encoding="utf-8")
    for name, text in reference.pages().items():
        (reference.FOLDER / name).write_text(text, encoding="utf-8")
    for document in DOCUMENTS:
        if document == PAGE:
            continue
        text = document.read_text(encoding="utf-8")
        outputs = {}
        for session in sessions_of(text):
            namespace: dict[str, object] = {"__name__": "__main__"}
            d2s.seed(0)
            with tempfile.TemporaryDirectory() as folder:
                for step in session:
                    place = Path(folder) / str(step.line)
                    place.mkdir()
                    printed = run(step.program, place, namespace)
                    if step.output and not is_output(step.output, printed):
                        outputs[step.line] = printed
            d2s.disable_static()
        lines = text.splitlines(keepends=True)
        blocks = blocks_of(text)
        for block, output in reversed(list(itertools.pairwise(blocks))):
            if block.mark == "python" and block.line in outputs:
                begin = output.line - 1
                lines[begin : begin + output.text.count("\n")] = [
                    f"{line.rstrip()}\n" for line in outputs[block.line].strip("\n").splitlines()
                ]
                print(f"{document.name}:{block.line}")
        document.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
