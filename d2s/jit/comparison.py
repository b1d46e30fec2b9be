"""The user's code and the converted code side by side, with what became of each hook."""

from __future__ import annotations

import ast
import difflib
import os
import textwrap
from collections.abc import Iterator

from d2s.drawing.side_by_side import Row, SideBySide
from d2s.transpiler.context import HookReport
from d2s.transpiler.convert import Prepared
from d2s.transpiler.passes.hook_barriers import ATTACH


def side_by_side(prepared: Prepared) -> SideBySide:
    """The source of a function beside its conversion."""
    source = prepared.source
    left = textwrap.dedent("".join(source.lines)).splitlines()
    # Blank lines of the printer mean nothing.
    right = [(number, line) for number, line in enumerate(prepared.code.splitlines(), 1) if line.strip()]
    points = tuple(f"{name}(" for name, operator in prepared.operators.items() if operator == ATTACH)
    reports = {report.line: report for report in prepared.hook_report}
    rows = tuple(_rows(left, right, source.first_line, reports, points))
    return SideBySide(source.name, f"{_name_of(source.file)}: what you wrote", "what is traced", rows)


def _name_of(file: str) -> str:
    """A file as its author knows it; a cell of a notebook is a file with a number for a name."""
    folder, name = os.path.split(file)
    return "this notebook" if os.path.basename(folder).startswith("ipykernel_") else name


def _rows(
    left: list[str], right: list[tuple[int, str]], first: int, reports: dict[int, HookReport], points: tuple[str, ...]
) -> Iterator[Row]:
    meanings = [_meaning(text) for _, text in right]
    matcher = difflib.SequenceMatcher(None, list(map(_meaning, left)), meanings, autojunk=False)
    # Lines that were moved stand on both sides, in different places.
    moved = {
        _meaning(left[line - first]): report
        for line, report in reports.items() if report.moved_to is not None and 0 <= line - first < len(left)
    }
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        for number in range(max(i_end - i, j_end - j)):
            has_left, has_right = i + number < i_end, j + number < j_end
            one = left[i + number] if has_left else ""
            shown, other = right[j + number] if has_right else (None, "")
            line = i + number + first
            report = reports.get(line) if has_left else None
            placed = moved.get(_meaning(other)) if has_right and tag != "equal" else None
            ordinary = ("same", "same") if tag == "equal" else ("changed", "changed") if has_left and has_right else (
                "removed", "added")
            left_mark = ordinary[0] if report is None else "hook kept" if report.moved_to is None else "hook left"
            is_point = bool(points) and other.strip().startswith(points)
            right_mark = "hook placed" if placed is not None or is_point else ordinary[1]
            if report is not None and report.moved_to is None and tag == "equal":
                right_mark = "hook kept"
            note = _note(report) if report is not None else f"moved from line {placed.line}" if placed else ""
            yield Row(line if has_left else None, one, left_mark, shown, other, right_mark, note)


def _note(report: HookReport) -> str:
    if report.moved_to is None:
        return f"hook on {report.target} stays: {report.reason}"
    return f"hook on {report.target} moves behind line {report.moved_to}: {report.reason}"


def _meaning(line: str) -> str:
    """A line as it compares: without comments and the author's way of writing, if it is a statement by itself."""
    bare = line.strip()
    try:
        return ast.unparse(ast.parse(bare))
    except (SyntaxError, ValueError):
        pass
    try:
        # The first line of a compound statement.
        return ast.unparse(ast.parse(f"{bare}\n    pass")).removesuffix("\n    pass")
    except (SyntaxError, ValueError):
        return bare
