"""The profiler attributes time to lines of the user, in both modes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

import d2s
from d2s.profiler import Profiler, RecordEvent
from d2s.progress import progress


def program(x, w):
    y = d2s.tanh(x @ w)  # LINE 1
    y.register_hook(slow)
    return (y * y).sum()  # LINE 3


def slow(g):
    time.sleep(0.01)
    return g * 2  # in the hook


def inputs():
    return d2s.to_tensor([[0.5, 1.0]], stop_gradient=False), d2s.to_tensor([[0.5], [2.0]], stop_gradient=False)


@pytest.mark.parametrize("static", [False, True])
def test_lines_operators_and_phases(static: bool) -> None:
    function = d2s.to_static(program) if static else program
    function(*inputs()).backward()
    with Profiler() as profiler:
        for _ in range(3):
            function(*inputs()).backward()
            profiler.step()
    first = program.__code__.co_firstlineno
    lines = profiler.by_line()
    for offset in (1, 3):
        total = lines[__file__, first + offset]
        assert total.forward > 0
        assert total.backward > 0
        assert total.calls >= 6
    operators = profiler.by_operator()
    assert operators["tanh"].calls == 3
    assert operators["tanh"].backward == 0
    # The multiplication in the hook stands in the hook's line, in both modes.
    assert lines[__file__, slow.__code__.co_firstlineno + 2].calls == 3
    assert sum(total.time for total in lines.values()) == sum(total.time for total in operators.values())
    assert sum(total.time for total in lines.values()) <= profiler.wall
    assert {event.mode for event in profiler.events if event.name == "tanh"} == {"static" if static else "eager"}
    assert len(profiler.steps) == 3


def test_summary_and_trace(tmp_path: Path) -> None:
    with Profiler() as profiler, RecordEvent("whole"):
        program(*inputs()).backward()
    text = profiler.summary(top=2)
    assert len([line for line in text.splitlines() if "test_profiler.py:" in line]) == 2
    assert "more" in text
    assert "tanh" in profiler.summary(by="operator")
    assert "tanh(x @ w)" in profiler.summary()
    profiler.export(tmp_path / "trace.json")
    entries = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    ran = [entry for entry in entries if entry["ph"] == "X"]
    assert len(ran) == len(profiler.events)
    whole = next(entry for entry in ran if entry["name"] == "whole")
    assert whole["cat"] == "scope"
    for entry in ran:
        assert whole["ts"] <= entry["ts"]
        assert entry["ts"] + entry["dur"] <= whole["ts"] + whole["dur"] + 0.01
    assert {entry["cat"] for entry in ran} == {"forward", "backward", "scope"}


def test_nothing_changes_and_nothing_stays() -> None:
    x, w = inputs()
    program(x, w).backward()
    expected = x.grad.tolist()
    x, w = inputs()
    tracing = sys.gettrace()
    with Profiler() as profiler:
        program(x, w).backward()
    assert x.grad.tolist() == expected
    assert sys.gettrace() is tracing
    count = len(profiler.events)
    program(*inputs()).backward()
    assert len(profiler.events) == count


def test_wrong_use(tmp_path: Path) -> None:
    profiler = Profiler()
    with pytest.raises(RuntimeError, match="not running"):
        profiler.stop()
    profiler.start()
    with pytest.raises(RuntimeError, match="running already"):
        profiler.start()
    profiler.stop()
    with pytest.raises(ValueError, match="'line' or 'operator'"):
        profiler.summary(by="file")
    with pytest.raises(ValueError, match="'json'"):
        profiler.export(tmp_path / "x", format="pb")


def test_time_inside_of_an_operator_counts_once() -> None:
    """`call_hooks` of the Program runs the hook, whose own operators are inside of it."""
    static = d2s.to_static(program)
    static(*inputs()).backward()
    with Profiler() as profiler:
        static(*inputs()).backward()
    own = dict(profiler._own_times())
    assert all(time >= 0 for time in own.values())
    (hooks,) = [event for event in own if event.name == "call_hooks" and event.end - event.begin > 5e6]
    inside = [event for event in own if hooks.begin <= event.begin and event.end <= hooks.end and event is not hooks]
    assert [event.name for event in inside] == ["multiply"]
    assert own[hooks] == hooks.end - hooks.begin - (inside[0].end - inside[0].begin)


# --- progress ------------------------------------------------------------------------------------------------------


class Terminal:
    def __init__(self, is_one: bool) -> None:
        self.is_one = is_one
        self.written = ""

    def isatty(self) -> bool:
        return self.is_one

    def write(self, text: str) -> None:
        self.written += text

    def flush(self) -> None:
        pass


def test_progress_is_quiet_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    things = [1, 2, 3]
    monkeypatch.setattr(sys, "stderr", Terminal(False))
    assert progress(things, "work") is things


def test_progress_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    terminal = Terminal(True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("d2s.progress.DELAY", 0)
    assert list(progress([1, 2, 3], "work")) == [1, 2, 3]
    assert "work" in terminal.written


def test_progress_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    assert list(progress([1, 2], "work")) == [1, 2]
