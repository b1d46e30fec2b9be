"""In which order, and in which batches, a data set is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from d2s.errors import ArgumentError, NotSupportedError
from d2s.ops.random import generator as default_generator
from d2s.words import counted


class Sampler:
    """An order: a subclass defines ``__iter__()``, which gives indices, and usually ``__len__()``."""

    def __init__(self, data_source: Sized | None = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        raise NotSupportedError(f"{type(self).__name__} does not define __iter__()", kind="N02")


class SequenceSampler(Sampler):
    """0, 1, 2, …"""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        super().__init__(data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A new random order in every epoch.

    Parameters
    ----------
    data_source : sized
        The data set.
    replacement : bool
        Draw with replacement.
    num_samples : int, optional
        How many to draw; by default as many as there are examples.
    generator : numpy.random.Generator, optional
        By default the one that `d2s.seed` seeds.

    Raises
    ------
    ValueError
        If `num_samples` is not positive, or more than there are without `replacement`.
    """

    data_source: Sized

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        if num_samples is not None and num_samples < 1:
            raise ArgumentError(f"num_samples must be positive, got {num_samples}")
        if num_samples is not None and not replacement and num_samples > len(data_source):
            raise ArgumentError(
                f"cannot draw {num_samples} of {counted(len(data_source), 'example')} without replacement")
        self.replacement = replacement
        self.num_samples = num_samples
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or default_generator()
        total = len(self.data_source)
        if self.replacement:
            order = generator.integers(0, total, len(self))
        else:
            order = generator.permutation(total)[: len(self)]
        return iter(order.tolist())

    def __len__(self) -> int:
        return len(self.data_source) if self.num_samples is None else self.num_samples


class SubsetRandomSampler(Sampler):
    """Given indices, in a new random order in every epoch.

    Raises
    ------
    ValueError
        If there are none.
    """

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        if len(indices) == 0:
            raise ArgumentError("SubsetRandomSampler needs at least one index, got none")
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return iter([self.indices[place] for place in default_generator().permutation(len(self.indices)).tolist()])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn in proportion to weights.

    Parameters
    ----------
    weights : sequence of float
        One for each example, not negative.
    num_samples : int
        How many to draw in every epoch.
    replacement : bool
        An example may be drawn more than once.

    Raises
    ------
    ValueError
        If the weights are no vector of numbers that are not negative, or too few for `num_samples`.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        super().__init__()
        values = np.asarray(weights, np.float64)
        if values.ndim != 1 or not np.all(values >= 0) or not values.any():
            raise ArgumentError("the weights must be a vector of numbers that are not negative, and not all 0")
        if num_samples < 1 or (not replacement and num_samples > np.count_nonzero(values)):
            raise ArgumentError(
                f"cannot draw {counted(num_samples, 'example')}, of which {np.count_nonzero(values)} have a weight"
            )
        self.weights, self.num_samples, self.replacement = values, num_samples, replacement

    def __iter__(self) -> Iterator[int]:
        shares = self.weights / self.weights.sum()
        drawn = default_generator().choice(len(shares), self.num_samples, replace=self.replacement, p=shares)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler:
    """Lists of indices.

    Parameters
    ----------
    dataset : sized, optional
        The data set; either it or `sampler` is given.
    sampler : iterable of int, optional
        The order; by default sequential, or random with `shuffle`.
    shuffle : bool
        Read `dataset` in a new random order in every epoch.
    batch_size : int
        Length of the lists.
    drop_last : bool
        Leave out a last list that is shorter.

    Raises
    ------
    ValueError
        If none or both of `dataset` and `sampler` are given, or `batch_size` is not positive.
    """

    def __init__(
        self,
        dataset: Sized | None = None,
        sampler: Iterable[int] | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if (dataset is None) == (sampler is None):
            raise ArgumentError("BatchSampler needs either a dataset or a sampler")
        if sampler is not None and shuffle:
            raise ArgumentError("shuffle=True needs a dataset: a sampler has its own order")
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ArgumentError(f"batch_size must be a positive integer, got {batch_size!r}")
        if sampler is None:
            assert dataset is not None
            sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        total = len(self.sampler)  # type: ignore[arg-type]
        return total // self.batch_size if self.drop_last else -(-total // self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The lists of indices of one of several processes that share a data set; each gets as many examples.

    The order is that of the data set, or random by the number of the epoch and the same in all processes.

    Parameters
    ----------
    dataset : sized
        The data set.
    batch_size : int
        Length of the lists.
    num_replicas, rank : int, optional
        Number of processes, and which one this is; by default 1 and 0.
    shuffle : bool
        Read in a random order, which `set_epoch` changes.
    drop_last : bool
        Leave out a last list that is shorter.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    def __init__(
        self,
        dataset: Sized,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        self.dataset, self.shuffle = dataset, shuffle
        self.nranks = 1 if num_replicas is None else num_replicas
        self.local_rank = 0 if rank is None else rank
        if not 0 <= self.local_rank < self.nranks:
            raise ArgumentError(
                f"rank must be one of {counted(self.nranks, 'process', 'processes')}, got {self.local_rank}")
        self.epoch = 0
        super().__init__(sampler=range(-(-len(dataset) // self.nranks)), batch_size=batch_size, drop_last=drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        total = len(self.dataset)
        order = np.random.RandomState(self.epoch).permutation(total) if self.shuffle else np.arange(total)
        # Those at the front come once more, so that all processes have as many.
        even = np.resize(order, len(self.sampler) * self.nranks)  # type: ignore[arg-type]
        own = even[self.local_rank :: self.nranks].tolist()
        self.epoch += self.shuffle
        for batch in super().__iter__():
            yield [own[place] for place in batch]

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch; without it, each epoch takes the next one."""
        self.epoch = epoch
