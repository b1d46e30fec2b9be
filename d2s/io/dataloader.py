"""DataLoader: a data set in batches, read here or in worker processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from d2s.errors import ArgumentError, DTypeError
from d2s.io import worker
from d2s.io.collate import Single, default_collate_fn, default_convert_fn, to_tensors
from d2s.io.dataset import IterableDataset
from d2s.io.sampler import BatchSampler
from d2s.ops.random import generator


class DataLoader:
    """Batches of a data set, as tensors.  Iterate over it, or over ``loader()``; every iteration is an epoch.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
        Where the examples come from.
    batch_sampler : BatchSampler, optional
        Gives the lists of indices; goes in place of `batch_size`, `shuffle` and `drop_last`.
    batch_size : int or None
        Examples in a batch.  None: no batches, the examples one by one.
    shuffle : bool
        Read in a new random order in every epoch, drawn from the generator that `d2s.seed` seeds.
    drop_last : bool
        Leave out a last batch that is smaller.
    collate_fn : callable, optional
        Makes a batch of a list of examples; its arrays become tensors.  By default `default_collate_fn`.  Without
        batches it is given one example; by default `default_convert_fn`.
    num_workers : int
        Number of processes that read; 0: this process reads.  The order of the batches is the same.
    prefetch_factor : int
        How many batches each worker may be ahead.
    timeout : float
        Seconds to wait for a worker before RuntimeError; 0: no limit.
    worker_init_fn : callable, optional
        Called in each worker with its number, before it reads.
    multiprocessing_context : str, optional
        How processes start: ``"fork"`` (default on Linux; needs no pickling of the data set), ``"spawn"`` or
        ``"forkserver"``.
    feed_list, places, return_list, use_buffer_reader, reader_buffer_size, use_shared_memory, persistent_workers
        Accepted and ignored.

    Raises
    ------
    ValueError
        If sizes are out of range, or an IterableDataset is to be shuffled or has a `batch_sampler`.

    Notes
    -----
    An exception in a worker is raised in the main process, as the same kind of exception; the traceback of the
    worker is its note.  Leaving the loop early ends the workers.
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        persistent_workers: bool = False,
        *,
        multiprocessing_context: str | None = None,
    ) -> None:
        if num_workers < 0:
            raise ArgumentError(f"num_workers must not be negative, got {num_workers}")
        if prefetch_factor < 1:
            raise ArgumentError(f"prefetch_factor must be at least 1, got {prefetch_factor}")
        if timeout < 0:
            raise ArgumentError(f"timeout must not be negative, got {timeout}")
        is_stream = isinstance(dataset, IterableDataset)
        if is_stream and (shuffle or batch_sampler is not None):
            raise ArgumentError("an IterableDataset is read in its own order: no shuffle and no batch_sampler")
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last):
            raise ArgumentError("batch_sampler goes in place of batch_size, shuffle and drop_last")
        if batch_sampler is None:
            source = range(sys.maxsize) if is_stream else dataset
            size = 1 if batch_size is None else batch_size
            batch_sampler = BatchSampler(source, shuffle=shuffle, batch_size=size, drop_last=drop_last)
        is_single = batch_size is None
        self.dataset = dataset
        self.batch_sampler = None if is_single else batch_sampler
        self._places = batch_sampler
        self.drop_last = drop_last
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.timeout = timeout
        self.collate_fn = collate_fn or (default_convert_fn if is_single else default_collate_fn)
        self._collate = Single(self.collate_fn) if is_single else self.collate_fn
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context

    def __len__(self) -> int:
        """Number of batches, or examples without them, in an epoch."""
        if isinstance(self.dataset, IterableDataset):
            raise DTypeError("a DataLoader over an IterableDataset has no length")
        return len(self._places)

    def __call__(self) -> Iterator[Any]:
        return iter(self)

    def __iter__(self) -> Iterator[Any]:
        # Drawn with and without workers, so that their number does not change the random numbers that follow.
        seed = int(generator().integers(2**31))
        if self.num_workers == 0:
            return self._read_here()
        return self._read_in_workers(seed)

    def _read_here(self) -> Iterator[Any]:
        fetch = worker.fetcher(self.dataset, self._collate, self.drop_last)
        for indices in self._places:
            batch = fetch(indices)
            if isinstance(batch, worker.EndOfStream):
                return
            yield to_tensors(batch)

    def _read_in_workers(self, seed: int) -> Iterator[Any]:
        task = worker.Task(self.dataset, self._collate, self.drop_last, self.worker_init_fn, self.num_workers, seed)
        # Only programs that want workers load multiprocessing.
        from d2s.io.worker_pool import WorkerPool

        pool = WorkerPool(task, self.multiprocessing_context, self.timeout)
        try:
            for batch in pool.read(iter(self._places), self.prefetch_factor):
                yield to_tensors(batch)
        finally:
            pool.close()
