"""Two texts side by side: the user's code and what it was converted to, for terminals and pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from d2s.drawing import theme
from d2s.drawing.page import page

_ROOM = 15  # line numbers, signs and the bar between


@dataclass(frozen=True)
class Row:
    """
    A line on the left, on the right, or on both sides.

    Attributes
    ----------
    left_number, right_number : int or None
        Line numbers; None where that side has no line.
    left, right : str
    left_mark, right_mark : str
        "same", "changed", "removed", "added"; of a registered hook "hook left" (it stood here), "hook placed" (it was
        moved here) or "hook kept".
    note : str
        What there is to say about the line.
    """

    left_number: int | None
    left: str
    left_mark: str
    right_number: int | None
    right: str
    right_mark: str
    note: str = ""


_SIGNS = {"same": " ", "changed": "~", "removed": "-", "added": "+", "hook left": "<", "hook placed": ">",
          "hook kept": "*"}
_MEANINGS = {"changed": "converted", "removed": "left out", "added": "made by d2s", "hook left": "a hook stood here",
             "hook placed": "it is placed here", "hook kept": "a hook that stays"}


@dataclass(frozen=True)
class SideBySide:
    """Rows under two titles."""

    title: str
    left_title: str
    right_title: str
    rows: tuple[Row, ...]

    def text(self, width: int | None = None, colour: bool = False) -> str:
        """
        The two texts in columns.

        Parameters
        ----------
        width : int, optional
            Of the whole, in characters; by default that of the terminal.  Longer lines are broken.
        colour : bool
            With the escape codes of terminals.
        """
        width = shutil.get_terminal_size((120, 40)).columns if width is None else width
        column = max((width - _ROOM) // 2, 20)
        lines = [f"{self.left_title:<{column + 6}} | {self.right_title}".rstrip(), "-" * (2 * column + _ROOM)]
        for row in self.rows:
            lines += _columns(row, column, colour)
        notes = [row for row in self.rows if row.note]
        if notes:
            lines += ["", *(f"{row.left_number or row.right_number:>4}  {row.note}" for row in notes)]
        if self._marks():
            lines += ["", "   ".join(f"{_SIGNS[mark]} {_MEANINGS[mark]}" for mark in self._marks())]
        return "\n".join(lines) + "\n"

    def _marks(self) -> list[str]:
        """The marks that a reader sees."""
        used = {mark for row in self.rows for number, mark in (
            (row.left_number, row.left_mark), (row.right_number, row.right_mark)) if number is not None}
        return [mark for mark in _MEANINGS if mark in used]

    def table(self) -> str:
        """A ``<table>`` with its own style, to stand in a page."""
        body = "\n".join(map(_html_row, self.rows))
        key = "".join(
            f'<span><i class="{theme.class_of(mark)}"></i>{escape(_MEANINGS[mark])}</span>'
            for mark in self._marks()
        )
        return (
            f'<div class="d2s-code"><style>{_STYLE}</style><table><colgroup>{_COLUMNS}</colgroup>'
            f'<thead><tr><th colspan="2">{escape(self.left_title)}'
            f'</th><th colspan="2">{escape(self.right_title)}</th></tr></thead>\n<tbody>{body}</tbody></table>'
            f'<p>{key}</p></div>'
        )

    _repr_html_ = table

    def html(self) -> str:
        """A page that stands alone."""
        return page(self.title, self.table())


def _columns(row: Row, column: int, colour: bool) -> Iterator[str]:
    """The lines of a row, as many as its longer side needs."""
    left, right = _broken(row.left, column), _broken(row.right, column)
    for number in range(max(len(left), len(right))):
        sides = []
        for lines, shown, mark in ((left, row.left_number, row.left_mark), (right, row.right_number, row.right_mark)):
            text = lines[number] if number < len(lines) else ""
            head = f"{shown:>4}{_SIGNS[mark]} " if shown is not None and not number else " " * 6
            code = theme.MARKS[mark][2] if colour and text else ""
            padded = f"{head}{text:<{column}}"
            sides.append(f"\x1b[{code}m{padded}\x1b[0m" if code else padded)
        yield " | ".join(sides).rstrip()


def _broken(text: str, column: int) -> list[str]:
    return [text[start : start + column] for start in range(0, len(text), column)] or [""]


_STYLE = f"""
.d2s-code {{ overflow-x: auto; }}
.d2s-code table {{ border-collapse: collapse; background: #fff; color: #1f2937; border: 1px solid #dfe3e9;
  font: 12px/1.55 {theme.MONOSPACE}; }}
.d2s-code th {{ text-align: left; padding: 6px 10px; border-bottom: 1px solid #dfe3e9; background: #f6f7f9;
  color: #475569; }}
.d2s-code table {{ table-layout: fixed; width: 100%; min-width: 620px; }}
.d2s-code td {{ padding: 0 10px; white-space: pre-wrap; overflow-wrap: anywhere; text-align: left;
  vertical-align: top; }}
.d2s-code col.n {{ width: 56px; }}
.d2s-code td.n {{ color: #8a94a3; text-align: right; user-select: none;
  border-left: 3px solid transparent; }}
.d2s-code em {{ display: block; white-space: normal; font-style: normal; color: #6b7280; font-size: 11px;
  padding: 0 0 3px 18px; }}
.d2s-code p {{ margin: 8px 0 0; }}
.d2s-code span {{ display: inline-block; margin: 0 12px 4px 0; font-size: 12px; }}
.d2s-code i {{ display: inline-block; width: 11px; height: 11px; margin-right: 5px; border: 1px solid;
  border-radius: 3px; vertical-align: -1px; }}
{theme.style_of_marks()}"""


_COLUMNS = '<col class="n"/><col/><col class="n"/><col/>'


def _html_row(row: Row) -> str:
    note = f"<em>{escape(row.note)}</em>" if row.note else ""
    on_left = row.left_mark in ("hook left", "hook kept")
    cells = []
    for number, text, mark, is_noted in (
        (row.left_number, row.left, row.left_mark, on_left), (row.right_number, row.right, row.right_mark, not on_left),
    ):
        shown = theme.class_of(mark if number is not None else "same")
        cells.append(
            f'<td class="n {shown}">{"" if number is None else number}</td>'
            f'<td class="{shown}">{escape(text)}{note if is_noted else ""}</td>'
        )
    return f'<tr data-mark="{escape(row.left_mark)}/{escape(row.right_mark)}">{"".join(cells)}</tr>'
