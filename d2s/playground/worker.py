"""The process behind a request of the playground: reads program and inputs, writes the answer.

It runs in a folder of its own with ``program.py`` and ``request.json``, and leaves ``answer.json`` there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import d2s
from d2s.jit import StaticFunction
from d2s.nn.layer import Layer
from d2s.playground.failures import failure_of
from d2s.playground.inputs import Inputs
from d2s.playground.modes import compared, run_in
from d2s.playground.running import PROGRAM
from d2s.playground.target import Target

_MAX_MEMORY = 8 << 30


def answer_to(text: str, file: str, request: dict[str, str]) -> dict[str, Any]:
    """What the page shows."""
    try:
        inputs = Inputs(request["inputs"])
        target = Target(text, file, request["target"])
    except Exception as error:
        return {"error": failure_of(error, file)}
    answer: dict[str, Any] = {"target": target.name, "names": target.names}
    runs = {}
    for mode in ("eager", "static"):
        runs[mode] = run_in(mode, target, inputs)
        answer[mode] = runs[mode].shown(file)
    answer["differences"] = compared(runs["eager"], runs["static"])
    answer |= _converted(target, runs["static"].called, file)
    return answer


def _converted(target: Target, function: Any, file: str) -> dict[str, Any]:
    """The converted code beside the user's, the hooks, and the Program of the call."""
    found: dict[str, Any] = {}
    static = function.forward if isinstance(function, Layer) else function
    if not isinstance(static, StaticFunction):
        return found
    try:
        beside = static.side_by_side()
        found["code"] = beside.table()
        found["hooks"] = [
            f"line {row.left_number}: {row.note}" for row in beside.rows if row.left_mark in ("hook left", "hook kept")
        ]
    except Exception as error:
        found["code_error"] = failure_of(error, file)
    if static.program_cache:
        picture = static.main_program.picture()
        found["picture"], found["text"] = picture.svg(), picture.text
    return found


def main() -> None:
    """Answer the request in the present folder."""
    _limit_memory()
    file = Path(PROGRAM).resolve()
    request = json.loads(Path("request.json").read_text(encoding="utf-8"))
    d2s.set_device("cpu")
    answer = answer_to(file.read_text(encoding="utf-8"), str(file), request)
    shown = json.dumps(answer).replace(json.dumps(f"{file.parent}/")[1:-1], "")
    Path("answer.part").write_text(shown, encoding="utf-8")
    # In one step: a process that is ended meanwhile leaves no half of it.
    Path("answer.part").rename("answer.json")


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))


if __name__ == "__main__":
    main()
