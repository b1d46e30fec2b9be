"""Normalisation of large arrays goes by groups of rows, and gives the bits that all rows at once give."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from d2s.ops import row_groups
from d2s.ops.logits import softmax_gradient_op, softmax_op
from d2s.ops.normalization import (
    standardize_gradient_op,
    standardize_op,
    standardize_parts_op,
    standardize_rest_op,
)

# Shapes, and the axes that are reduced: one row is more than a group, or groups do not come out even.
CASES = [((37, 50), (1,)), ((5, 7, 300), (2,)), ((9, 4, 5, 6), (2, 3)), ((3, 5000), (1,)), ((11, 1), (1,))]


def results(shape: tuple[int, ...], axis: tuple[int, ...], dtype: str, order: str, out: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x, g = (np.asarray(rng.normal(size=shape), dtype, order=order) for _ in range(2))

    def target() -> dict[str, Any]:
        return {"out": np.full_like(x, 7)} if out else {}

    attrs = {"axis": axis, "epsilon": 1e-5}
    parts = standardize_parts_op.forward(x, **attrs, **target())
    found = [
        standardize_op.forward(x, **attrs, **target()), *parts,
        standardize_gradient_op.forward(g, x, **attrs, **target()),
        standardize_rest_op.forward(g, *parts, **attrs, **target()),
    ]
    if len(axis) == 1:
        # Of one axis, counted from either end.
        probabilities = softmax_op.forward(x, axis=axis[0], **target())
        found += [probabilities, softmax_gradient_op.forward(g, probabilities, axis=axis[0] - x.ndim, **target())]
        if out:
            own = x.copy()
            found.append(softmax_op.forward(own, axis=-1, out=own))
    # A result may lie where the operand was.
    return found if not out else [*found, standardize_op.forward(x, **attrs, out=x)]


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_groups_give_the_same_bits(
    shape: tuple[int, ...], axis: tuple[int, ...], dtype: str, out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "_GROUP", sys.maxsize)
    at_once = results(shape, axis, dtype, "C", out)
    # The smallest size of a group is one row.
    for size in (1, 1000, 4096):
        monkeypatch.setattr(row_groups, "_GROUP", size)
        if size == 1:
            assert row_groups.has_groups(axis, np.zeros(shape, dtype))
        for ours, expected in zip(results(shape, axis, dtype, "C", out), at_once, strict=True):
            np.testing.assert_array_equal(ours, expected)
            assert ours.strides == expected.strides


def test_what_does_not_lie_in_order_or_is_no_row_goes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros((6, 4, 5))
    monkeypatch.setattr(row_groups, "_GROUP", 1)
    assert row_groups.has_groups((1, 2), x)
    assert not row_groups.has_groups((1, 2), np.asfortranarray(x))
    assert not row_groups.has_groups((1, 2), x, np.asfortranarray(x))
    assert not row_groups.has_groups((1,), x)
    assert not row_groups.has_groups((0, 1, 2), x)
    monkeypatch.setattr(row_groups, "_GROUP", x.nbytes)
    assert not row_groups.has_groups((1, 2), x)


def test_groups_are_all_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(60.0).reshape(3, 5, 4)
    monkeypatch.setattr(row_groups, "_GROUP", 8 * 4 * 4)
    found = [rows for rows, _ in row_groups.groups((2,), x, x[:, :, :1].copy())]
    assert [len(rows) for rows in found] == [4, 4, 4, 3]
    np.testing.assert_array_equal(np.concatenate(found), x.reshape(15, 4))
