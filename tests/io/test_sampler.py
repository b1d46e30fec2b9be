"""Orders and batches of indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import d2s
from d2s import io


def test_sequence() -> None:
    assert list(io.SequenceSampler("abcd")) == [0, 1, 2, 3]
    assert len(io.SequenceSampler("abcd")) == 4


def test_random_order_is_new_every_time_and_follows_the_seed() -> None:
    sampler = io.RandomSampler(range(50))
    d2s.seed(1)
    first, second = list(sampler), list(sampler)
    d2s.seed(1)
    assert list(sampler) == first
    assert first != second
    assert sorted(first) == sorted(second) == list(range(50))


def test_random_sampling_with_replacement_and_numbers() -> None:
    drawn = list(io.RandomSampler(range(3), replacement=True, num_samples=100))
    assert (len(drawn), set(drawn)) == (100, {0, 1, 2})
    few = io.RandomSampler(range(30), num_samples=7)
    assert len(list(few)) == len(few) == len(set(few)) == 7
    twice = [list(io.RandomSampler(range(9), generator=np.random.default_rng(2))) for _ in range(2)]
    assert twice[0] == twice[1]
    with pytest.raises(ValueError, match="4 of 3"):
        io.RandomSampler(range(3), num_samples=4)
    with pytest.raises(ValueError, match="positive"):
        io.RandomSampler(range(3), num_samples=0)


def test_batches() -> None:
    sampler = io.BatchSampler(range(7), batch_size=3)
    assert list(sampler) == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(sampler) == 3
    dropping = io.BatchSampler(sampler=[5, 6, 7], batch_size=2, drop_last=True)
    assert list(dropping) == [[5, 6]]
    assert len(dropping) == 1
    shuffled = list(io.BatchSampler(range(100), shuffle=True, batch_size=50))
    assert sorted(shuffled[0] + shuffled[1]) == list(range(100))
    assert shuffled[0] != list(range(50))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either"),
        ({"dataset": [1], "sampler": [0]}, "either"),
        ({"sampler": [0], "shuffle": True}, "shuffle"),
        ({"dataset": [1], "batch_size": 0}, "batch_size"),
        ({"dataset": [1], "batch_size": 2.0}, "batch_size"),
        ({"dataset": [1], "batch_size": True}, "batch_size"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        io.BatchSampler(**arguments)
