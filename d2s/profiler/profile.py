"""The profiler: what ran, when, and for which line."""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from d2s.drawing.table import table
from d2s.errors import ArgumentError, Location, StateError
from d2s.watching.operators import Ran, watched
from d2s.words import counted

_MODES = {False: "eager", True: "static"}


@dataclass(frozen=True)
class Event:
    """
    One operator that has run, or a scope of the user's.

    Attributes
    ----------
    name : str
    phase : str
        "forward", "backward" or "scope".
    mode : str
        "eager" or "static"; "" for a scope.
    location : Location or None
        The user's line.
    begin, end : int
        In nanoseconds since the profiler was started.
    """

    name: str
    phase: str
    mode: str
    location: Location | None
    begin: int
    end: int


@dataclass
class Total:
    """
    What is known of one line, or of one operator, in all.

    Attributes
    ----------
    forward, backward : int
        Nanoseconds, without those of what ran inside (hooks, say).
    calls : int
        How many operators have run.
    """

    forward: int = 0
    backward: int = 0
    calls: int = 0

    @property
    def time(self) -> int:
        """Forward and backward."""
        return self.forward + self.backward


class Profiler:
    """
    Notes how long each operator of this thread takes.

    As context, or with `start` and `stop`.  Watching takes time too, a few microseconds for each operator: compare
    lines with each other, not with runs that are not watched.

    >>> import d2s
    >>> x = d2s.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> with d2s.profiler.Profiler() as profiler:
    ...     d2s.tanh(x).sum().backward()
    >>> sorted(profiler.by_operator())
    ['multiply', 'spread', 'subtract', 'sum', 'tanh']
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.steps: list[int] = []
        self.wall = 0
        self._origin = self._step_began = 0
        self._running: contextlib.ExitStack | None = None

    # --- running -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to watch; what was noted before goes.

        Raises
        ------
        RuntimeError
            If it runs already.
        """
        if self._running is not None:
            raise StateError("this profiler is running already", kind="R03")
        self.events.clear()
        self.steps.clear()
        self._running = contextlib.ExitStack()
        self._running.enter_context(watched(self._note))
        _active.stack.append(self)
        self._origin = self._step_began = time.perf_counter_ns()

    def stop(self) -> None:
        """Watch no longer."""
        if self._running is None:
            raise StateError("this profiler is not running", kind="R03")
        self.wall = time.perf_counter_ns() - self._origin
        _active.stack.remove(self)
        self._running.close()
        self._running = None

    def step(self) -> None:
        """Say that a step of training is done: `summary` then has the time of a step."""
        now = time.perf_counter_ns()
        self.steps.append(now - self._step_began)
        self._step_began = now

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _note(self, ran: Ran) -> None:
        self._add(ran.kind, "backward" if ran.backward else "forward", _MODES[ran.is_static], ran.location,
                  ran.begin, ran.end)

    def _add(self, name: str, phase: str, mode: str, location: Location | None, begin: int, end: int) -> None:
        self.events.append(Event(name, phase, mode, location, begin - self._origin, end - self._origin))

    # --- looking -----------------------------------------------------------------------------------------------

    def by_line(self) -> dict[tuple[str, int], Total]:
        """Totals by file and line, the longest first; operators of no line of the user's are under ``("", 0)``."""
        return self._totals(lambda event: (event.location.file, event.location.line) if event.location else ("", 0))

    def by_operator(self) -> dict[str, Total]:
        """Totals by operator, the longest first."""
        return self._totals(lambda event: event.name)

    def _totals(self, key: Callable[[Event], Any]) -> dict[Any, Total]:
        found: dict[Any, Total] = {}
        for event, own in self._own_times():
            if event.phase != "scope":
                total = found.setdefault(key(event), Total())
                total.calls += 1
                setattr(total, event.phase, getattr(total, event.phase) + own)
        return dict(sorted(found.items(), key=lambda entry: -entry[1].time))

    def _own_times(self) -> list[tuple[Event, int]]:
        """Each operator with its time, without that of the operators inside of it."""
        events = sorted((e for e in self.events if e.phase != "scope"), key=lambda event: (event.begin, -event.end))
        own = [event.end - event.begin for event in events]
        around: list[int] = []
        for number, event in enumerate(events):
            while around and events[around[-1]].end <= event.begin:
                around.pop()
            if around:
                own[around[-1]] -= event.end - event.begin
            around.append(number)
        return list(zip(events, own, strict=True))

    def summary(self, top: int = 20, by: str = "line") -> str:
        """
        A table of what took longest.

        Parameters
        ----------
        top : int
            How many rows.
        by : str
            "line" or "operator".
        """
        if by not in ("line", "operator"):
            raise ArgumentError(f"by is 'line' or 'operator', got {by!r}")
        totals: dict[Any, Total] = self.by_line() if by == "line" else self.by_operator()
        spent = sum(total.time for total in totals.values())
        rows = []
        for key, total in list(totals.items())[:top]:
            what = _line_of(*key) if by == "line" else [key]
            rows.append([
                milliseconds(total.time), f"{100 * total.time / max(spent, 1):.1f}", milliseconds(total.forward),
                milliseconds(total.backward), str(total.calls), *what])
        head = ["ms", "%", "forward", "backward", "calls", *(["line", "source"] if by == "line" else ["operator"])]
        words = f"{milliseconds(self.wall)} ms, {milliseconds(spent)} ms of it in operators; the rest is Python and d2s"
        if self.steps:
            words += f"; {counted(len(self.steps), 'step')} of {milliseconds(sum(self.steps) // len(self.steps))} ms"
        left = len(totals) - top
        more = f"\n... and {left} more" if left > 0 else ""
        return f"{words}\n\n{table(head, rows, right=range(5))}{more}"

    def export(self, path: str | os.PathLike[str], format: str = "json") -> None:
        """
        Write a Chrome trace: open it in ``chrome://tracing`` or Perfetto.

        Parameters
        ----------
        path : path
        format : str
            Only "json".
        """
        if format != "json":
            raise ArgumentError(f"the format of a trace is 'json', got {format!r}")
        threads = {"eager": 1, "static": 2, "": 3}
        entries: list[dict[str, Any]] = [
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": number, "args": {"name": mode or "scopes"}}
            for mode, number in threads.items()
        ]
        entries += [
            {"name": event.name, "cat": event.phase, "ph": "X", "pid": 1, "tid": threads[event.mode],
             "ts": event.begin / 1e3, "dur": (event.end - event.begin) / 1e3,
             "args": {"line": str(event.location or "")}}
            for event in sorted(self.events, key=lambda event: event.begin)
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": entries, "displayTimeUnit": "ms"}, file)

    def __repr__(self) -> str:
        return f"<Profiler with {counted(len(self.events), 'event')} in {milliseconds(self.wall)} ms>"


class _Active(threading.local):
    """The profilers of this thread that run."""

    def __init__(self) -> None:
        self.stack: list[Profiler] = []


_active = _Active()


class RecordEvent(contextlib.ContextDecorator):
    """A scope with a name, as context or decorator: it is seen in the trace of profilers that run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._began: list[int] = []

    def __enter__(self) -> RecordEvent:
        self._began.append(time.perf_counter_ns())
        return self

    def __exit__(self, *_: object) -> None:
        begin, end = self._began.pop(), time.perf_counter_ns()
        for profiler in _active.stack:
            profiler._add(self.name, "scope", "", None, begin, end)


def milliseconds(nanoseconds: int) -> str:
    """A time in milliseconds, as text."""
    return f"{nanoseconds / 1e6:.3f}"


def _line_of(file: str, line: int) -> list[str]:
    if not file:
        return ["", "(no line of yours)"]
    return [f"{os.path.basename(file)}:{line}", linecache.getline(file, line).strip()[:60]]
