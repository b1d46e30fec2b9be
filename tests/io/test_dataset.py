"""Data sets and how they are split."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import io


def test_a_tensor_dataset_gives_rows() -> None:
    data = io.TensorDataset([d2s.to_tensor([[1.0, 2.0], [3.0, 4.0]]), np.array([5, 6])])
    assert len(data) == 2
    row, label = data[1]
    assert (row.tolist(), int(label)) == ([3.0, 4.0], 6)


def test_the_tensors_of_a_dataset_need_one_length() -> None:
    with pytest.raises(ValueError, match=r"\[2, 3\]"):
        io.TensorDataset([np.zeros(2), np.zeros(3)])


def test_a_subset_renumbers() -> None:
    part = io.Subset(io.Subset(list(range(10, 20)), [7, 3, 5]), [2, 0])
    assert (len(part), part[0], part[1]) == (2, 15, 17)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([7, 3], [7, 3]), ([0, 10], [0, 10]), ([0.5, 0.5], [5, 5]), ([0.33, 0.33, 0.34], [4, 3, 3]), ([1.0], [10])],
)
def test_random_split_divides_everything(lengths: list[float], expected: list[int]) -> None:
    parts = io.random_split(list(range(10)), lengths)
    assert [len(part) for part in parts] == expected
    assert sorted(part[i] for part in parts for i in range(len(part))) == list(range(10))


def test_random_split_depends_on_the_seed() -> None:
    def split() -> list[int]:
        return list(io.random_split(list(range(100)), [50, 50])[0].indices)

    d2s.seed(5)
    first, second = split(), split()
    d2s.seed(5)
    assert split() == first != second
    assert first != sorted(first)
    own = [list(io.random_split(range(9), [9], np.random.default_rng(1))[0].indices) for _ in range(2)]
    assert own[0] == own[1]


@pytest.mark.parametrize("lengths", [[4, 4], [0.5, 0.4], [11]])
def test_random_split_needs_lengths_that_add_up(lengths: list[float]) -> None:
    with pytest.raises(ValueError, match="10 examples"):
        io.random_split(list(range(10)), lengths)


def test_what_a_subclass_must_define_is_named() -> None:
    class Empty(io.Dataset[int]):
        pass

    class Stream(io.IterableDataset[int]):
        pass

    with pytest.raises(NotImplementedError, match="Empty does not define __getitem__"):
        Empty()[0]
    with pytest.raises(NotImplementedError, match="Empty does not define __len__"):
        len(Empty())
    with pytest.raises(NotImplementedError, match="Stream does not define __iter__"):
        iter(Stream())
    with pytest.raises(TypeError, match="by number"):
        Stream()[0]
    with pytest.raises(TypeError, match="no length"):
        len(Stream())
