"""DataLoader, with and without worker processes."""

from __future__ import annotations

import functools
import gc
import importlib
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import io
from d2s.core.locks import free_in_forks

# A process that a worker has forked lives so long.
GRANDCHILD_SECONDS = 8.0

BOTH = pytest.mark.parametrize("num_workers", [0, 2])


class Squares(io.Dataset[tuple[np.ndarray, int]]):
    """Example i: a vector of i squared, and i."""

    def __init__(self, length: int = 10) -> None:
        self.length = length

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return np.full(3, index**2, "float32"), index

    def __len__(self) -> int:
        return self.length


class Asking(io.Dataset[Any]):
    """Example i: whatever `question` answers."""

    def __init__(self, question: Any, length: int = 6) -> None:
        self.question = question
        self.length = length

    def __getitem__(self, index: int) -> Any:
        return self.question(index)

    def __len__(self) -> int:
        return self.length


class Stream(io.IterableDataset[int]):
    """0 to 6; with workers each one reads every n-th."""

    def __iter__(self) -> Iterator[int]:
        info = io.get_worker_info()
        return iter(range(7)) if info is None else iter(range(info.id, 7, info.num_workers))


class OneWay(Exception):
    """Can be pickled, but not unpickled: two arguments, of which it hands on one."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)


def labels_of(loader: io.DataLoader) -> list[list[int]]:
    return [labels.tolist() for _, labels in loader]


@pytest.fixture(autouse=True)
def no_worker_stays() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


# --- what both kinds do ---------------------------------------------------------------------------------------------


@BOTH
def test_batches_are_tensors_in_order(num_workers: int) -> None:
    loader = io.DataLoader(Squares(), batch_size=4, num_workers=num_workers)
    batches = list(loader())
    assert [labels.tolist() for _, labels in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    images, labels = batches[1]
    assert isinstance(images, d2s.Tensor)
    assert (images.shape, images.dtype, labels.dtype) == ([4, 3], np.float32, np.int64)
    assert images.numpy()[:, 0].tolist() == [16.0, 25.0, 36.0, 49.0]
    assert images.stop_gradient
    assert len(loader) == 3


@BOTH
def test_drop_last(num_workers: int) -> None:
    loader = io.DataLoader(Squares(), batch_size=4, drop_last=True, num_workers=num_workers)
    assert labels_of(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(loader) == 2


def test_the_shuffled_order_follows_the_seed_and_not_the_number_of_workers() -> None:
    orders, draws = [], []
    for num_workers in (0, 1, 2):
        d2s.seed(11)
        loader = io.DataLoader(Squares(), batch_size=3, shuffle=True, num_workers=num_workers)
        orders.append([labels_of(loader), labels_of(loader)])
        draws.append(d2s.rand([2]).tolist())
    assert orders[0] == orders[1] == orders[2]
    assert draws[0] == draws[1] == draws[2]
    first, second = orders[0]
    assert first != second
    assert sorted(label for labels in first for label in labels) == list(range(10))
    assert first != [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


@BOTH
def test_collate_fn_and_batch_sampler(num_workers: int) -> None:
    loader = io.DataLoader(
        Squares(),
        batch_sampler=[[3, 1], [2]],
        collate_fn=lambda examples: {"sum": np.int64(sum(label for _, label in examples))},
        num_workers=num_workers,
    )
    assert [batch["sum"].item() for batch in loader] == [4, 2]
    assert len(loader) == 2


@BOTH
def test_an_error_keeps_its_kind_and_shows_where_it_was_raised(num_workers: int) -> None:
    def fail_at_three(index: int) -> int:
        return {0: 0, 1: 1, 2: 2}[index]

    batches = iter(io.DataLoader(Asking(fail_at_three), num_workers=num_workers))
    assert [next(batches).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError) as caught:
        next(batches)
    assert caught.value.args == (3,)
    text = "".join(traceback.format_exception(caught.value))
    assert "fail_at_three" in text
    assert ("in worker 1:" in text) == (num_workers == 2)


@BOTH
def test_a_stream_is_read_in_its_order(num_workers: int) -> None:
    batches = [batch.tolist() for batch in io.DataLoader(Stream(), batch_size=2, num_workers=num_workers)]
    if num_workers:
        assert batches == [[0, 2], [1, 3], [4, 6], [5]]
    else:
        assert batches == [[0, 1], [2, 3], [4, 5], [6]]
    dropping = io.DataLoader(Stream(), batch_size=3, drop_last=True, num_workers=num_workers)
    assert [batch.tolist() for batch in dropping] == ([[0, 2, 4], [1, 3, 5]] if num_workers else [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(TypeError, match="no length"):
        len(dropping)


@BOTH
def test_an_empty_dataset_gives_no_batches(num_workers: int) -> None:
    assert list(io.DataLoader(Squares(0), num_workers=num_workers)) == []


@BOTH
def test_two_iterations_at_once_do_not_disturb_each_other(num_workers: int) -> None:
    loader = io.DataLoader(Squares(4), batch_size=2, num_workers=num_workers)
    begin = time.monotonic()
    pairs = [(a.tolist(), b.tolist()) for (_, a), (_, b) in zip(loader, loader, strict=True)]
    assert pairs == [([0, 1], [0, 1]), ([2, 3], [2, 3])]
    # Workers that had inherited pipes of the others would keep those from ending.
    assert time.monotonic() - begin < 3.0


# --- workers --------------------------------------------------------------------------------------------------------


def test_batches_come_from_other_processes_in_turn() -> None:
    pids = [batch.item() for batch in io.DataLoader(Asking(lambda index: os.getpid()), num_workers=2)]
    assert os.getpid() not in pids
    assert pids[0::2] == [pids[0]] * 3
    assert pids[1::2] == [pids[1]] * 3
    assert pids[0] != pids[1]


def test_a_slow_worker_does_not_change_the_order() -> None:
    def slow_when_even(index: int) -> int:
        time.sleep(0.05 * (index % 2 == 0))
        return index

    loader = io.DataLoader(Asking(slow_when_even), num_workers=2)
    assert [batch.item() for batch in loader] == [0, 1, 2, 3, 4, 5]


def test_workers_know_themselves_and_are_initialised() -> None:
    state: list[int] = []

    def ask(index: int) -> list[int]:
        info = io.get_worker_info()
        assert info is not None
        return [info.id, info.num_workers, len(info.dataset), state[0]]

    loader = io.DataLoader(Asking(ask), num_workers=2, worker_init_fn=lambda worker: state.append(worker + 40))
    assert [[int(x) for x in batch] for batch in loader][:2] == [[0, 2, 6, 40], [1, 2, 6, 41]]
    assert io.get_worker_info() is None
    assert state == []


def test_random_numbers_of_workers_follow_the_seed_and_differ() -> None:
    def draw(index: int) -> np.ndarray:
        return np.array([np.random.random(), random.random(), d2s.rand([1]).item()])

    def epoch(loader: io.DataLoader) -> np.ndarray:
        return np.concatenate([batch.numpy() for batch in loader])

    loader = io.DataLoader(Asking(draw), num_workers=2)
    d2s.seed(2)
    first, second = epoch(loader), epoch(loader)
    d2s.seed(2)
    np.testing.assert_array_equal(epoch(loader), first)
    assert len(np.unique(np.concatenate([first, second]))) == 36


def test_leaving_the_loop_early_ends_the_workers_at_once() -> None:
    begin = time.monotonic()
    for _, labels in io.DataLoader(Squares(1000), num_workers=2):
        if labels.item() == 3:
            break
    iterator = iter(io.DataLoader(Squares(1000), num_workers=2))
    next(iterator)
    iterator.close()
    assert time.monotonic() - begin < 3.0


def test_a_loop_in_a_ring_of_garbage_ends_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    for _ in range(8):
        batches = iter(io.DataLoader(Squares(), num_workers=2))
        next(batches)
        ring: list[Any] = [batches]
        ring.append(ring)
        del batches, ring
        gc.collect()
        assert multiprocessing.active_children() == []
    assert failed == []


def test_a_worker_that_hangs_is_terminated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("d2s.io.worker_pool.GRACE_SECONDS", 0.2)
    loader = io.DataLoader(Asking(lambda index: time.sleep(60)), num_workers=1, timeout=0.2)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"worker 0 .* no batch within 0.2 s"):
        next(iter(loader))
    assert time.monotonic() - begin < 5.0


def test_a_worker_that_is_stopped_or_deaf_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("d2s.io.worker_pool.GRACE_SECONDS", 0.2)
    monkeypatch.setattr("d2s.io.worker_pool.TERM_SECONDS", 0.2)

    def deaf(index: int) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if index % 2:
            os.kill(os.getpid(), signal.SIGSTOP)
        return time.sleep(0.6 * index) or index

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"worker 1 .* no batch within 0.5 s"):
        list(io.DataLoader(Asking(deaf), num_workers=2, timeout=0.5))
    assert time.monotonic() - begin < 10.0


def test_a_worker_that_is_killed_is_told_while_other_loaders_start() -> None:
    def slow(index: int) -> int:
        time.sleep(0.02)
        return index

    def read(length: int) -> None:
        seen.append(len(list(io.DataLoader(Asking(slow, length), num_workers=2))))

    seen: list[int] = []
    threads = [threading.Thread(target=read, args=(20,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    batches = iter(io.DataLoader(Asking(slow, 40), num_workers=1))
    next(batches)
    mine = batches.gi_frame.f_locals["pool"]._processes[0]
    os.kill(mine.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"worker 0 .* ended unexpectedly \(exit code -9\)"):
        list(batches)
    for thread in threads:
        thread.join()
    assert seen == [20, 20, 20]


def test_a_worker_does_not_wait_for_an_import_of_another_thread(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_module.py").write_text("import time\nfrom d2s import io\nio.begun.set()\ntime.sleep(0.5)\n")
    monkeypatch.setattr(io, "begun", threading.Event(), raising=False)
    monkeypatch.setattr(d2s, "__path__", [*d2s.__path__, str(tmp_path)])
    thread = threading.Thread(target=importlib.import_module, args=("d2s.slow_module",))
    thread.start()
    io.begun.wait()
    imported = Asking(lambda index: bool(importlib.import_module("d2s.slow_module")))
    assert [batch.tolist() for batch in io.DataLoader(imported, num_workers=1, timeout=9)] == [[True]] * 6
    thread.join()
    del sys.modules["d2s.slow_module"], d2s.slow_module


def test_a_worker_computes_what_another_thread_was_computing() -> None:
    begun = threading.Event()

    class Slow:
        @functools.cached_property
        def value(self) -> float:
            begun.set()
            time.sleep(0.5)
            return 2.0

    free_in_forks(Slow)
    slow = Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    begun.wait()
    assert [batch.tolist() for batch in io.DataLoader(Asking(lambda index: slow.value), num_workers=1, timeout=9)] == [
        [2.0]] * 6
    thread.join()


def test_a_worker_that_dies_is_told() -> None:
    with pytest.raises(RuntimeError, match=r"worker 0 .* ended unexpectedly \(exit code 7\)"):
        list(io.DataLoader(Asking(lambda index: os._exit(7)), num_workers=1))


def test_a_worker_that_dies_between_two_batches_is_told() -> None:
    def die_soon(index: int) -> int:
        if index == 0:
            threading.Timer(0.1, os._exit, [7]).start()
        return index

    batches = iter(io.DataLoader(Asking(die_soon), num_workers=1, prefetch_factor=1))
    assert next(batches).item() == 0
    time.sleep(0.4)
    with pytest.raises(RuntimeError, match=r"worker 0 .* ended unexpectedly \(exit code 7\)"):
        next(batches)


def _fork_and_die(index: int) -> int:
    if index == 3:
        # The new process keeps the pipe of the worker open.
        if os.fork() == 0:
            os.closerange(0, 3)
            time.sleep(GRANDCHILD_SECONDS)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    return index


def test_a_worker_that_dies_is_told_while_a_process_that_it_forked_lives() -> None:
    loader = io.DataLoader(Asking(_fork_and_die), num_workers=2)
    started = time.monotonic()
    with pytest.raises(d2s.StateError, match=r"worker 1 of the DataLoader ended unexpectedly \(exit code -9\)"):
        list(loader)
    assert time.monotonic() - started < GRANDCHILD_SECONDS / 2


def test_a_dataset_that_cannot_be_pickled_cannot_be_spawned() -> None:
    loader = io.DataLoader(Asking(lambda index: index), num_workers=2, multiprocessing_context="spawn")
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        list(loader)


def test_batches_and_indices_larger_than_a_pipe() -> None:
    loader = io.DataLoader(Squares(120_000), batch_size=60_000, num_workers=2, prefetch_factor=3)
    assert [int(labels.sum()) for _, labels in loader] == [sum(range(60_000)), sum(range(60_000, 120_000))]


def test_an_error_that_cannot_be_pickled_is_told_all_the_same() -> None:
    class LocalError(Exception):
        pass

    def fail(index: int) -> None:
        raise LocalError("details")

    with pytest.raises(RuntimeError, match="LocalError: details"):
        list(io.DataLoader(Asking(fail), num_workers=1))


def test_an_error_that_can_only_be_pickled_is_told_all_the_same() -> None:
    def fail(index: int) -> None:
        raise OneWay("details", 3)

    with pytest.raises(RuntimeError, match="OneWay: details"):
        list(io.DataLoader(Asking(fail), num_workers=1))


def test_a_batch_that_cannot_be_pickled_is_told() -> None:
    loader = io.DataLoader(Squares(), collate_fn=lambda examples: lambda: examples, num_workers=1)
    with pytest.raises(Exception, match="pickle"):
        list(loader)


def test_workers_can_be_spawned() -> None:
    loader = io.DataLoader(Squares(4), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert labels_of(loader) == [[0, 1], [2, 3]]


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_workers": -1}, "num_workers"),
        ({"prefetch_factor": 0}, "prefetch_factor"),
        ({"timeout": -1}, "timeout"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_sampler": [[0]], "shuffle": True}, "batch_sampler"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler"),
        ({"dataset": Stream(), "shuffle": True}, "own order"),
        ({"dataset": Stream(), "batch_sampler": [[0]]}, "own order"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        io.DataLoader(**{"dataset": Squares(), **arguments})
