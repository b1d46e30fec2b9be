"""Exit statuses, and errors that the command reports in its own words."""

from __future__ import annotations

DONE = 0
DIFFERENT = 1  # `check` and `doctor`: something is wrong
USAGE = 2  # options, files and names that are not there
FAILED = 3  # the user's program raises (for `check`: in both modes alike), or cannot become a graph

STATUSES = """\
exit status:
  0  done; for check: both modes do the same
  1  check: the modes differ, or a gradient is wrong; doctor: something is missing
  2  wrong use: no such file, function, option or input
  3  the program itself fails (check: in both modes, in the same way), ends the process, or cannot become a graph
130  stopped by Ctrl-C
"""


class Mistake(Exception):
    """Ends the command with a message and a status, without traceback."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status
