"""From examples to batches."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.io.collate import default_collate_fn, to_tensors


@pytest.mark.parametrize(
    ("examples", "dtype", "expected"),
    [
        ([1, 2], "int64", [1, 2]),
        ([1.5, 2.5], "float32", [1.5, 2.5]),
        ([True, False], "bool", [True, False]),
        ([np.float64(1.5), np.float64(2.5)], "float64", [1.5, 2.5]),
        ([np.uint8([1, 2]), np.uint8([3, 4])], "uint8", [[1, 2], [3, 4]]),
        ([d2s.to_tensor([1.0]), d2s.to_tensor([2.0])], "float32", [[1.0], [2.0]]),
    ],
)
def test_values_are_stacked(examples: list[Any], dtype: str, expected: list[Any]) -> None:
    batch = default_collate_fn(examples)
    assert (batch.dtype, batch.tolist()) == (np.dtype(dtype), expected)


def test_containers_are_stacked_field_by_field() -> None:
    batch = default_collate_fn([(1, {"a": 2.0}, "x"), (3, {"a": 4.0}, "y")])
    assert batch[0].tolist() == [1, 3]
    assert batch[1]["a"].tolist() == [2.0, 4.0]
    assert batch[2] == ["x", "y"]


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(ValueError, match=r"\[2\], \[3\]"):
        default_collate_fn([np.zeros(3), np.zeros(2)])
    with pytest.raises(ValueError, match=r"length: \[1, 2\]"):
        default_collate_fn([(1, 2), (1,)])
    with pytest.raises(TypeError, match="batch of object"):
        default_collate_fn([object()])


def test_arrays_become_tensors_wherever_they_are() -> None:
    pair = namedtuple("pair", "a b")
    batch = to_tensors([np.ones(2), {"k": np.int64(3)}, (np.zeros(1),), pair(np.ones(1), "text"), np.array(["s"])])
    assert isinstance(batch, list)
    assert isinstance(batch[0], d2s.Tensor)
    assert (batch[1]["k"].shape, batch[1]["k"].item()) == ([], 3)
    assert type(batch[2]) is tuple
    assert type(batch[3]) is pair
    assert isinstance(batch[3].a, d2s.Tensor)
    assert batch[3].b == "text"
    assert isinstance(batch[4], np.ndarray)
