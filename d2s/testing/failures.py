"""What the assertions of `d2s.testing` raise: an AssertionError whose first line ends with an id, like other errors."""

from __future__ import annotations

from typing import Any, ClassVar


class Failure(AssertionError):
    """
    Base of `ModesDiffer` and `WrongGradient`.

    Attributes
    ----------
    kind, id : str
        Letter and number of the kind of failure, and the same behind ``D2S-``, as the message shows it.
    """

    general_kind: ClassVar[str]

    def __init__(self, message: str, kind: str | None = None) -> None:
        self.kind = kind or self.general_kind
        self.id = f"D2S-{self.kind}"
        first, line_break, rest = message.partition("\n")
        super().__init__(f"{first} [{self.id}]{line_break}{rest}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(made: type[Failure], args: tuple[Any, ...], attributes: dict[str, Any]) -> Failure:
    """A failure that was pickled."""
    found = made.__new__(made, *args)
    found.args = args
    found.__dict__.update(attributes)
    return found
