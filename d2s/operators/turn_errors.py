"""The exceptions with which the turns of a loop end it, and what they say of values that the turns have made."""

from __future__ import annotations

from collections.abc import Iterator
from types import CellType, TracebackType
from typing import Any

from d2s.operators.attempts import is_of_program
from d2s.operators.control_flow import bound
from d2s.operators.symbols import holds_symbols, is_symbol
from d2s.operators.tracer import Tracer
from d2s.static.variable import ObjectVariable

# Where an exception stands for one of the run: that one.
_ITSELF = None


class TurnErrors:
    """The exceptions of one loop, numbered from 1.

    Variables hold the symbols among their arguments and attributes, and the exceptions of the run that they stand for:
    the loop carries them to its end.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._errors: list[tuple[BaseException, TracebackType | None]] = []
        self._cells: dict[tuple[int, int, int | str | None], CellType] = {}
        self._new: list[CellType] = []

    def forget(self) -> None:
        """The turn is traced anew; the variables stay."""
        self._errors.clear()

    def cells(self) -> list[CellType]:
        """The variables."""
        return list(self._cells.values())

    def note(self, error: BaseException) -> int:
        """A turn ends with this exception; its number.  What is none of the program ends the trace."""
        if not is_of_program(self._tracer, error):
            raise
        self._errors.append((error, error.__traceback__))
        number = len(self._errors)
        for link, symbols in enumerate(map(self._symbols_in, _chain(error))):
            for where, part in symbols:
                cell = self._cells.get((number, link, where))
                if cell is None:
                    cell = self._cells[number, link, where] = CellType()
                    self._new.append(cell)
                cell.cell_contents = part
        return number

    def settle(self) -> bool:
        """Make new variables ones that are unbound before the loop; True if there are any."""
        news, self._new = self._new, []
        for cell in news:
            del cell.cell_contents
        return bool(news)

    def raise_chosen(self, code: Any) -> None:
        """Raise the exception with the number `code`, if any, behind the loop: here it can be caught as in Python."""
        for number, (error, trace) in enumerate(self._errors, 1):
            answer = code == number
            if self._tracer.decide(answer) if is_symbol(answer) else answer:
                self._tell(number, error)
                # Raised on several paths: from the user's line each time.
                raise error.with_traceback(trace)

    def _tell(self, number: int, error: BaseException) -> None:
        """Let an exception, and those that led to it, say what the variables hold behind the loop."""
        links = list(_chain(error))
        for (own, link, where), cell in self._cells.items():
            if own != number:
                continue
            told, found = bound("carried", cell.cell_contents), links[link]
            if where is _ITSELF:
                self._tracer.errors_of_run[id(found)] = found, told.value
            elif isinstance(where, int):
                found.args = (*found.args[:where], told, *found.args[where + 1 :])
            else:
                found.__dict__[where] = told

    def _symbols_in(self, error: BaseException) -> list[tuple[int | str | None, Any]]:
        places: list[tuple[int | str | None, Any]] = [*enumerate(error.args), *error.__dict__.items()]
        known = self._tracer.errors_of_run.get(id(error))
        itself = [] if known is None else [(_ITSELF, ObjectVariable(self._tracer, known[1]))]
        return [*((where, part) for where, part in places if is_symbol(part) or holds_symbols(part)), *itself]


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, those in it, and those that led to it, each once."""
    seen: dict[int, BaseException] = {}
    stack: list[BaseException | None] = [error]
    while stack:
        found = stack.pop()
        if found is not None and id(found) not in seen:
            seen[id(found)] = found
            stack += [found.__context__, found.__cause__]
            stack += found.exceptions if isinstance(found, BaseExceptionGroup) else ()
    yield from seen.values()
