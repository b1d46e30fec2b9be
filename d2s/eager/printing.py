"""How the values of tensors are shown as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.errors import ArgumentError

_options: dict[str, Any] = {"precision": 8, "threshold": 1000, "edgeitems": 3, "max_line_width": 75}


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """
    Set how the values of tensors are shown from now on; None leaves a setting as it is.

    Parameters
    ----------
    precision : int, optional
        Digits behind the point, 8 at first.
    threshold : int, optional
        Of more elements than this only the first and last are shown, 1000 at first.
    edgeitems : int, optional
        How many of them at each end of an axis, 3 at first.
    sci_mode : bool, optional
        True shows floats with an exponent, False never; at first, it depends on the values.
    linewidth : int, optional
        Characters in a line, 75 at first.

    Raises
    ------
    ArgumentError
        If a number is no int, or is negative; then nothing is changed.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "max_line_width": linewidth}
    new = {name: value for name, value in given.items() if value is not None}
    for value in new.values():
        if type(value) is not int or value < 0:
            raise ArgumentError(f"set_printoptions takes numbers from 0 on, got {value!r}")
    _options.update(new)
    if sci_mode is not None:
        _options["sci_mode"] = bool(sci_mode)


def shown(array: np.ndarray[Any, Any], indent: int) -> str:
    """The values of an array, in lines of which all but the first are indented."""
    options = dict(_options)
    sci_mode = options.pop("sci_mode", None)
    if sci_mode:
        digits = options["precision"]
        options["formatter"] = {"float_kind": lambda value: f"{value:.{digits}e}"}
    return np.array2string(array, separator=", ", prefix=" " * indent, suppress_small=sci_mode is False, **options)


__all__ = ["set_printoptions", "shown"]
