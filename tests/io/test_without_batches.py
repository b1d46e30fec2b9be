"""`DataLoader(batch_size=None)`: the examples one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s import io


class Examples(io.Dataset):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return np.full(2, index, "float32"), index, "s", {"a": np.zeros(1)}, (1.5, d2s.to_tensor([1]))


class Stream(io.IterableDataset):
    def __iter__(self) -> Any:
        return iter([np.full(2, number, "float32") for number in range(3)])


def second(example: Any) -> Any:
    return example[1] * 10


@pytest.mark.parametrize("workers", [0, 2])
def test_examples_one_by_one(workers: int) -> None:
    loader = io.DataLoader(Examples(), batch_size=None, num_workers=workers)
    found = list(loader)
    assert (len(loader), len(found), loader.batch_sampler) == (3, 3, None)
    for place, (array, number, text, table, pair) in enumerate(found):
        assert isinstance(array, d2s.Tensor)
        assert array.tolist() == [place] * 2
        assert (number, text, type(pair), pair[0]) == (place, "s", list, 1.5)
        assert table["a"].shape == [1]
        assert pair[1].tolist() == [1]
    assert list(io.DataLoader(Examples(), batch_size=None, collate_fn=second, num_workers=workers)) == [0, 10, 20]


def test_streams() -> None:
    found = [array.tolist() for array in io.DataLoader(Stream(), batch_size=None)]
    assert found == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]


def test_order() -> None:
    d2s.seed(3)
    loader = io.DataLoader(list(range(20)), batch_size=None, shuffle=True)
    first, again = list(loader), list(loader)
    assert sorted(first) == sorted(again) == list(range(20))
    assert first != again
    with pytest.raises(d2s.ArgumentError):
        io.DataLoader(Examples(), batch_size=0)
