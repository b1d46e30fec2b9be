"""What loops of the Program run over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.errors import UnsupportedSyntaxError, user_location


class Turns:
    """Something to loop over, whose length only the run knows."""

    def has(self, index: Any) -> Any:
        """Is there a turn with this number?  Asked of one after the other."""
        return index < self.length()

    def around(self, body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The body of a loop over this."""
        return body

    def length(self) -> Any:
        """How many turns there are."""
        raise UnsupportedSyntaxError(
            "how much there is to loop over is asked for, which only the run knows at the end of the loop",
            user_location(), "Make a list of it before.", kind="U29")

    def part(self, index: Any) -> Any:
        """What the turn with this number is given."""
        raise NotImplementedError


__all__ = ["Turns"]
