"""Exit statuses, and errors that the command reports in its own words."""

from __future__ import annotations

DONE = 0
DIFFERENT = 1  # `check` and `doctor`: something is wrong
USAGE = 2  # options, files and names that are not there
FAILED = 3  # the user's program raises (for `check`: in both modes alike), or cannot become a graph
STOPPED = 130  # Ctrl-C

_WRONG_USE = "wrong use: no such file, function, option or input; or what was found cannot be written"
_FAILS = "the program itself fails, ends the process, or cannot become a graph"
# What the statuses from 0 to 3 mean; those that are not there never come.
_MEANINGS: dict[str | None, dict[int, str]] = {
    None: {
        DONE: "done; for check: both modes do the same",
        DIFFERENT: "check: the modes differ, or a gradient is wrong; doctor: something is missing",
        USAGE: _WRONG_USE,
        FAILED: "the program itself fails (check: in both modes, in the same way), ends the process, or cannot become "
                "a graph",
    },
    "check": {
        DONE: "both modes do the same",
        DIFFERENT: "the modes differ, or a gradient is wrong",
        USAGE: _WRONG_USE,
        FAILED: "the program itself fails in both modes, in the same way, ends the process, or cannot become a graph",
    },
    "doctor": {DONE: "all that is needed is there", DIFFERENT: "something is missing", USAGE: "no such option"},
    "error": {DONE: "done", USAGE: "no such id or option"},
    "playground": {DONE: "stopped by Ctrl-C", USAGE: "no such option, or the port cannot be used"},
}
_OF_OTHERS = {DONE: "done", USAGE: _WRONG_USE, FAILED: _FAILS}


def statuses(command: str | None) -> str:
    """The exit statuses of a command, or (None) of all of them, as a text."""
    meanings = _MEANINGS.get(command, _OF_OTHERS)
    stopped = {} if meanings[DONE] == "stopped by Ctrl-C" else {STOPPED: "stopped by Ctrl-C"}
    rows = "".join(f"{status:>5}  {meaning}\n" for status, meaning in {**meanings, **stopped}.items())
    return f"exit status:\n{rows}"


class Mistake(Exception):
    """Ends the command with a message and a status, without traceback."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status
