"""What runs in a worker process of a DataLoader."""

from __future__ import annotations

import pickle
import queue
import random
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from d2s.io.dataset import IterableDataset
from d2s.ops.random import seed as seed_d2s


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is.

    Attributes
    ----------
    id, num_workers : int
        Number of the worker, from 0, and how many there are.
    dataset : Dataset
        The worker's copy of the data set.
    seed : int
        What the random number generators of the worker were seeded with.
    """

    id: int
    num_workers: int
    dataset: Any
    seed: int


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader this process is; None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class Task:
    """What all workers of one loader do."""

    dataset: Any
    collate: Callable[[list[Any]], Any]
    drop_last: bool
    init: Callable[[int], None] | None
    num_workers: int
    seed: int


class RaisedInWorker:
    """An exception on its way to the main process, with its traceback as text.

    One that cannot be pickled is replaced by a RuntimeError with its name and message.
    """

    def __init__(self, worker: int, error: Exception) -> None:
        self.text = f"in worker {worker}:\n{''.join(traceback.format_exception(error)).rstrip()}"
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        self.error = error

    def reraise(self) -> None:
        """Raise it, with the worker's traceback as a note."""
        self.error.add_note(self.text)
        raise self.error


class EndOfStream:
    """What a worker answers when its IterableDataset has no more examples."""


def fetcher(dataset: Any, collate: Callable[[list[Any]], Any], drop_last: bool) -> Callable[[list[int]], Any]:
    """The function that makes a batch; for an IterableDataset only the number of indices counts.

    It returns `EndOfStream()` where there are no more examples (or, with `drop_last`, not enough).
    """
    if not isinstance(dataset, IterableDataset):
        return lambda indices: collate([dataset[index] for index in indices])
    stream: Iterator[Any] = iter(dataset)

    def fetch(indices: list[int]) -> Any:
        examples = [example for _, example in zip(indices, stream, strict=False)]
        if not examples or (drop_last and len(examples) < len(indices)):
            return EndOfStream()
        return collate(examples)

    return fetch


def run(task: Task, worker: int, connection: Connection, inherited: list[Connection]) -> None:
    """Answer every list of indices that comes through `connection` with its batch, until it closes.

    `inherited` are ends of pipes to workers that a fork has copied: closed, so that those workers see when the main
    process closes them, or has gone.
    """
    global _worker_info
    for other in inherited:
        other.close()
    # Ctrl-C goes to the whole group of processes; the main process decides and closes the pipes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seed = int(np.random.SeedSequence([task.seed, worker]).generate_state(1)[0])
    random.seed(seed)
    np.random.seed(seed)
    seed_d2s(seed)
    _worker_info = WorkerInfo(worker, task.num_workers, task.dataset, seed)
    requests = _read_in_background(connection)
    fetch: Callable[[list[int]], Any] | None = None
    try:
        while (indices := requests.get()) is not None:
            try:
                if fetch is None:
                    if task.init is not None:
                        task.init(worker)
                    fetch = fetcher(task.dataset, task.collate, task.drop_last)
                answer = fetch(indices)
            except Exception as error:
                answer = RaisedInWorker(worker, error)
            _send(connection, worker, answer)
    except (BrokenPipeError, ConnectionResetError):
        pass  # The main process wants no more batches.


def _read_in_background(connection: Connection) -> queue.SimpleQueue[list[int] | None]:
    """A queue of what comes through `connection`, None at its end: so the main process never waits to send."""
    requests: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                requests.put(connection.recv())
        except (EOFError, OSError):
            requests.put(None)

    threading.Thread(target=read, daemon=True).start()
    return requests


def _send(connection: Connection, worker: int, answer: Any) -> None:
    """Send `answer`; if it cannot be pickled, send that error instead."""
    try:
        connection.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        connection.send(RaisedInWorker(worker, error))
