"""What the exceptions of a loop say of values that its turns have made: the loop carries these to its end."""

from __future__ import annotations

from collections.abc import Iterator
from types import CellType
from typing import Any

from d2s.operators.control_flow import bound
from d2s.operators.symbols import is_symbol


class Said:
    """Variables for the symbols among the arguments and attributes of exceptions, by the number of the exception."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, Any], CellType] = {}
        self._new: list[CellType] = []

    def cells(self) -> list[CellType]:
        """The variables."""
        return list(self._cells.values())

    def note(self, number: int, error: BaseException) -> None:
        """A turn ends with this exception."""
        for where, part in _symbols_in(error):
            cell = self._cells.get((number, where))
            if cell is None:
                cell = self._cells[number, where] = CellType()
                self._new.append(cell)
            cell.cell_contents = part

    def settle(self) -> bool:
        """Make new variables ones that are unbound before the loop; True if there are any."""
        news, self._new = self._new, []
        for cell in news:
            del cell.cell_contents
        return bool(news)

    def tell(self, number: int, error: BaseException) -> None:
        """Let an exception say what the variables hold behind the loop."""
        args = list(error.args)
        for (own, where), cell in self._cells.items():
            if own == number:
                told = bound("carried", cell.cell_contents)
                if isinstance(where, int):
                    args[where] = told
                else:
                    error.__dict__[where] = told
        error.args = tuple(args)


def _symbols_in(error: BaseException) -> Iterator[tuple[int | str, Any]]:
    places: list[tuple[int | str, Any]] = [*enumerate(error.args), *error.__dict__.items()]
    return ((where, part) for where, part in places if is_symbol(part))
