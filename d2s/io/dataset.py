"""Data sets."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from d2s.errors import ArgumentError, DTypeError, IndexOutOfRangeError, NotSupportedError, ShapeError
from d2s.ops.random import generator as default_generator
from d2s.words import counted

Item = TypeVar("Item")


class Dataset(Generic[Item]):
    """Examples by number: a subclass defines ``__getitem__(index)`` and ``__len__()``."""

    def __getitem__(self, index: int) -> Item:
        raise NotSupportedError(f"{type(self).__name__} does not define __getitem__(index)", kind="N02")

    def __len__(self) -> int:
        raise NotSupportedError(f"{type(self).__name__} does not define __len__()", kind="N02")


class IterableDataset(Dataset[Item]):
    """Examples in a stream: a subclass defines ``__iter__()``.

    With several workers each one reads the whole stream, unless ``__iter__`` asks `get_worker_info` for its share.
    """

    def __iter__(self) -> Iterator[Item]:
        raise NotSupportedError(f"{type(self).__name__} does not define __iter__()", kind="N02")

    def __getitem__(self, index: int) -> Item:
        raise DTypeError("an IterableDataset has no examples by number, only __iter__()")

    def __len__(self) -> int:
        raise DTypeError("an IterableDataset has no length")


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors (or arrays) that share their first size: example i is the tuple of their rows i.

    Raises
    ------
    ShapeError
        If the first sizes differ.
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        lengths = {len(tensor) for tensor in tensors}
        if len(lengths) != 1:
            raise ShapeError(f"the tensors of a TensorDataset need one common first size, got {sorted(lengths)}")
        self.tensors = list(tensors)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset[Item]):
    """The examples `indices` of another data set."""

    def __init__(self, dataset: Dataset[Item], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: int) -> Item:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Item]):
    """The examples of several data sets, one after the other; a negative index counts from the end.

    Raises
    ------
    ValueError
        If there are no data sets.
    DTypeError
        If one is an IterableDataset.
    """

    def __init__(self, datasets: Iterable[Dataset[Item]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset needs at least one data set, got none")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise DTypeError("ConcatDataset does not take an IterableDataset", advice="Use ChainDataset.")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __getitem__(self, index: int) -> Item:
        if not -len(self) <= index < len(self):
            raise IndexOutOfRangeError(
                f"index {index} is out of range for {counted(len(self), 'example')}", kind="I04")
        index %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset[Item]):
    """The examples of several data sets in a stream, one after the other."""

    def __init__(self, datasets: Iterable[IterableDataset[Item]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ChainDataset needs at least one data set, got none")

    def __iter__(self) -> Iterator[Item]:
        return itertools.chain.from_iterable(self.datasets)


class ComposeDataset(Dataset[tuple[Any, ...]]):
    """Data sets side by side: example i is the fields of their examples i, in one tuple.

    Raises
    ------
    ValueError
        If there are no data sets.
    ShapeError
        If they differ in length.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ComposeDataset needs at least one data set, got none")
        lengths = {len(dataset) for dataset in self.datasets}
        if len(lengths) != 1:
            raise ShapeError(f"the data sets of a ComposeDataset need one length, got {sorted(lengths)}")

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        examples = (dataset[index] for dataset in self.datasets)
        return tuple(
            field for example in examples for field in (example if isinstance(example, tuple | list) else (example,))
        )

    def __len__(self) -> int:
        return len(self.datasets[0])


def random_split(dataset: Dataset[Item], lengths: Sequence[float], generator: Any = None) -> list[Subset[Item]]:
    """Split a data set at random into parts that do not overlap.

    Parameters
    ----------
    dataset : Dataset
        Map-style data set with n examples.
    lengths : sequence of int or float
        Sizes of the parts, of sum n; or fractions of sum 1 (what rounding leaves goes to the first parts).
    generator : numpy.random.Generator, optional
        By default the one that `d2s.seed` seeds.

    Returns
    -------
    list of Subset

    Raises
    ------
    ValueError
        If the sizes do not add up.
    """
    total = len(dataset)
    sizes = list(lengths)
    if math.isclose(sum(sizes), 1.0) and all(0 <= size <= 1 for size in sizes):
        fractions, sizes = sizes, [math.floor(total * fraction) for fraction in sizes]
        for place in range(total - int(sum(sizes))):
            sizes[place % len(fractions)] += 1
    if sum(sizes) != total:
        raise ArgumentError(
            f"the lengths {list(lengths)} add up to {sum(sizes)}, the data set has {counted(total, 'example')}")
    order = (generator or default_generator()).permutation(total).tolist()
    ends = list(itertools.accumulate(int(size) for size in sizes))
    return [Subset(dataset, order[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]
