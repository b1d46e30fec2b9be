"""The worker processes of one epoch, seen from the main process."""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from d2s.core.locks import new_reentrant_lock
from d2s.errors import StateError
from d2s.io.worker import EndOfStream, RaisedInWorker, Task, run

# How long workers may take to finish their batches after the loop is left, before they are terminated.
GRACE_SECONDS = 5.0
# And how long they may take to end then, before they are killed.
TERM_SECONDS = 1.0

# How often a worker that gives no batch is looked at: its pipe stays open if a process that it has forked lives on.
LOOK_SECONDS = 1.0

# A fork copies the pipes of all pools; a worker closes its copies, or else others would not see when theirs closes.
# A pool stands here until it is closed, also if nothing else holds it: pipes that are garbage close on their own, and a
# pool that is closed behind that would close what has their numbers then.
_open_pools: set[WorkerPool] = set()
# One worker after the other: the end of a pipe that is meant for one is open in this process until it has started.
_starting = new_reentrant_lock()


class WorkerPool:
    """Processes, each at the other end of a pipe.

    Batch k goes to worker k modulo their number, and batches are received in the order they were asked for: so
    the order is that of the indices, and which worker makes which batch does not depend on speed.

    Parameters
    ----------
    task : Task
        What the workers do.
    start_method : str, optional
        "fork", "spawn" or "forkserver"; by default "fork" on Linux, else what Python uses.
    timeout : float
        Seconds to wait for a batch; 0: no limit.
    """

    def __init__(self, task: Task, start_method: str | None, timeout: float) -> None:
        if start_method is None and sys.platform == "linux":
            start_method = "fork"
        context: Any = multiprocessing.get_context(start_method)
        self._timeout = timeout
        self._connections: list[Connection] = []
        self._processes: list[Any] = []
        with _starting:
            _open_pools.add(self)
        try:
            for number in range(task.num_workers):
                with _starting:
                    self._start(context, task, number)
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, task: Task, number: int) -> None:
        here, there = context.Pipe()
        self._connections.append(here)
        is_fork = context.get_start_method() == "fork"
        inherited = [pipe for pool in _open_pools for pipe in pool._connections] if is_fork else []
        process = context.Process(
            target=run, args=(task, number, there, inherited), daemon=True, name=f"d2s-worker-{number}"
        )
        with warnings.catch_warnings():
            # BLAS has threads; a worker runs none of them that were alive at the fork.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            process.start()
        there.close()
        self._processes.append(process)

    def read(self, batches: Iterator[list[int]], prefetch_factor: int) -> Iterator[Any]:
        """The batches for the given lists of indices, in their order."""
        # Numbers of the workers, in the order of the requests they have not answered.
        pending: deque[int] = deque()

        def ask(number: int) -> None:
            indices = next(batches, None)
            if indices is not None:
                self._send(number, indices)
                pending.append(number)

        for _ in range(prefetch_factor):
            for number in range(len(self._processes)):
                ask(number)
        while pending:
            number = pending.popleft()
            answer = self._receive(number)
            if isinstance(answer, EndOfStream):
                continue
            if isinstance(answer, RaisedInWorker):
                answer.reraise()
            ask(number)
            yield answer

    def _send(self, number: int, indices: list[int]) -> None:
        try:
            self._connections[number].send(indices)
        except OSError:
            raise self._ended(number) from None

    def _receive(self, number: int) -> Any:
        connection = self._connections[number]
        try:
            self._wait(number)
            return connection.recv()
        except (EOFError, OSError):
            raise self._ended(number) from None

    def _wait(self, number: int) -> None:
        """Wait until a worker has answered, or its pipe is at its end."""
        connection = self._connections[number]
        deadline = time.monotonic() + (self._timeout or math.inf)
        while not connection.poll(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                raise StateError(
                    f"worker {number} of the DataLoader gave no batch within {self._timeout} s", kind="R05")
            if not self._processes[number].is_alive() and not connection.poll():
                raise self._ended(number)

    def _ended(self, number: int) -> StateError:
        process = self._processes[number]
        process.join(GRACE_SECONDS)
        return StateError(
            f"worker {number} of the DataLoader ended unexpectedly (exit code {process.exitcode})", kind="R05")

    def close(self) -> None:
        """End the processes: close their pipes, wait a little, then terminate or kill those that are still there."""
        with _starting:
            _open_pools.discard(self)
        for connection in self._connections:
            connection.close()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(TERM_SECONDS)
            if process.is_alive():
                # Stopped, or deaf to signals.
                process.kill()
                process.join()
            process.close()
        self._connections, self._processes = [], []
