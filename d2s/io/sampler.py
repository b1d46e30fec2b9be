"""In which order, and in which batches, a data set is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any

from d2s.errors import ArgumentError, NotSupportedError
from d2s.ops.random import generator as default_generator


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
            raise ArgumentError(f"cannot draw {num_samples} of {len(data_source)} examples without replacement")
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
