"""Play a scenario in eager and in static mode, and compare everything that was seen.

A scenario is a function of a `Stage`: it makes its functions and objects, converts what it wants static by
`stage.static`, calls by ``stage(function, *args)`` and changes things in between.  Seen of each call are the result
(bits, flags, aliases), the error, what was logged, printed and warned, in order, the state of watched objects, and
the gradients of tensor arguments and watched tensors.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import d2s
from tests.footguns.things import x
from tests.modes.harness import Names, differentiate, message, plain, tensors_in


class Stage:
    """One performance of a scenario.

    Attributes
    ----------
    static : callable
        Converts a function or Layer: `to_static`, or nothing at all.
    log : list
        What the functions of the scenario write to.
    """

    def __init__(self, static: Callable[[Any], Any]) -> None:
        self.static = static
        self.log: list[Any] = []
        self.seen: list[dict[str, Any]] = []
        self.watched: list[Any] = []

    def watch(self, thing: Any) -> Any:
        """Compare what `thing` holds after each call; gives it back."""
        self.watched.append(thing)
        return thing

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call, differentiate, and note what can be seen; an error is noted, not raised."""
        entry: dict[str, Any] = {}
        result = None
        with self._collected(entry, (args, kwargs)):
            result = function(*args, **kwargs)
            entry["result"] = plain(result, Names((args, kwargs, self.watched)))
            differentiate([result], 1)
        return result

    def around(self, function: Callable[..., Any], *changes: Callable[[], Any]) -> None:
        """Convert `function`, call it with a tensor, and again after each of `changes`."""
        function = self.static(function)
        for change in (lambda: None, *changes):
            change()
            self(function, x())

    def note(self, *things: Any) -> None:
        """Compare these values."""
        self.seen.append({"note": plain(list(things), Names(()))})

    @contextlib.contextmanager
    def _collected(self, entry: dict[str, Any], args: Any) -> Iterator[None]:
        self.log.clear()
        with warnings.catch_warnings(), contextlib.redirect_stdout(_Printed(self.log)), _logged(self.log):
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", ".* has been traced .* times", RuntimeWarning)
            warnings.showwarning = lambda text, kind, *_: self.log.append(("warned", kind.__name__, str(text)))
            try:
                yield
            except Exception as error:
                entry["error"] = type(error).__name__, message(error)
                if isinstance(error, d2s.UnsupportedSyntaxError | d2s.TracingError):
                    entry["refused"] = error
        names = Names(args)
        entry["log"] = plain(list(self.log), names)
        entry["args"] = plain(args, names)
        entry["watched"] = plain(self.watched, names)
        entry["grads"] = [plain(tensor.grad, names) for tensor in tensors_in((args, self.watched))]
        self.seen.append(entry)


class _Printed:
    """Text printed during a call goes to the log, so that its order among other effects is compared."""

    def __init__(self, log: list[Any]) -> None:
        self._log = log

    def write(self, text: str) -> int:
        self._log.append(("printed", text))
        return len(text)

    def flush(self) -> None:
        pass


class _Handler(logging.Handler):
    def __init__(self, log: list[Any]) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.append(("logged", record.levelname, record.getMessage()))


@contextlib.contextmanager
def _logged(log: list[Any]) -> Iterator[None]:
    handler = _Handler(log)
    logger = logging.getLogger("footguns")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


Scenario = Callable[[Stage], None]


@dataclass(frozen=True)
class Footgun:
    """A scenario; `reason` says why static mode refuses it, `difference` what is known to be wrong with it."""

    play: Scenario
    reason: str | None = None
    difference: str | None = None

    @property
    def name(self) -> str:
        return f"{self.play.__module__.rpartition('.')[2]}.{self.play.__name__}"


FOOTGUNS: dict[str, Footgun] = {}


def footgun(play: Callable[..., Any]) -> Callable[..., Any]:
    """Register a scenario in which static mode must do what eager does.

    It is a function of a `Stage`; or a generator without arguments that gives a function each time it is to be called
    with a tensor, and changes things in between.
    """
    return _register(Footgun(_calling(play) if inspect.isgeneratorfunction(play) else play))


def _calling(play: Callable[[], Iterator[Any]]) -> Scenario:
    @functools.wraps(play)
    def performance(stage: Stage) -> None:
        converted: dict[Any, Any] = {}
        for function in play():
            if function not in converted:
                converted[function] = stage.static(function)
            stage(converted[function], x())

    return performance


def refused(reason: str) -> Callable[[Scenario], Scenario]:
    """Register a scenario that static mode refuses, and why."""
    return lambda play: _register(Footgun(play, reason))


def differs(difference: str) -> Callable[[Scenario], Scenario]:
    """Register a scenario in which static mode is known to do something else: what."""
    return lambda play: _register(Footgun(play, difference=difference))


def _register(found: Footgun) -> Scenario:
    assert found.name not in FOOTGUNS, found.name
    FOOTGUNS[found.name] = found
    return found.play


def performed(found: Footgun, static: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """What is seen of a scenario in one mode."""
    d2s.seed(0)
    stage = Stage(static)
    found.play(stage)
    return stage.seen


def assert_safe(found: Footgun) -> None:
    """Assert that static mode does what eager does in every call, or refuses, or differs as it says it does."""
    if found.difference is None:
        _assert_same(found)
        return
    try:
        _assert_same(found)
    except AssertionError:
        return
    raise AssertionError("it does not differ any more")


def _assert_same(found: Footgun) -> None:
    eager, static = performed(found, lambda function: function), performed(found, d2s.to_static)
    assert not any("refused" in entry for entry in eager)
    assert len(eager) == len(static)
    for number, (expected, got) in enumerate(zip(eager, static, strict=True)):
        if "refused" in got and found.reason is not None:
            _assert_refused_cleanly(got, eager[number - 1] if number else None)
            return
        if got != expected:
            lines = [f"entry {number}:"]
            for part in dict.fromkeys((*expected, *got)):
                if expected.get(part) != got.get(part):
                    lines += [f"{part} eager:  {expected.get(part)}", f"{part} static: {got.get(part)}"]
            raise AssertionError("\n".join(lines))
    assert found.reason is None, "it was not refused"


def _assert_refused_cleanly(got: dict[str, Any], before: dict[str, Any] | None) -> None:
    """By file and line of the user, before any effect of the call."""
    error = got["refused"]
    assert error.location is not None, error
    assert "footguns" in error.location.file, error
    assert got["log"] == ("list", []), got["log"]
    if before is not None and "watched" in before:
        assert got["watched"] == before["watched"]
