"""Tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "") -> str:
    """
    A table with a line under its head.

    Parameters
    ----------
    head : sequence of str
    rows : sequence of sequence of str
    right : sequence of int
        Columns that are flush right.
    indent : str
        Put before each line.

    >>> print(table(["name", "size"], [["x", "3"], ["weight", "128"]], right=[1]))
    name    size
    ------------
    x          3
    weight   128
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"{indent}{'  '.join(padded)}".rstrip()

    return "\n".join([line(head), f"{indent}{'-' * (sum(widths) + 2 * (len(widths) - 1))}", *map(line, rows)])
