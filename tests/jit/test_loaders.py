"""Loops over samplers and loaders from outside: each run draws anew, one batch at its turn, as eager mode does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import d2s


class Numbers(d2s.io.Dataset):
    """Seven examples that draw random numbers, and tell what is read."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        self.log.append(index)
        return np.full([2], index, "float32") + np.float32(d2s.rand([1]).item()), index

    def __len__(self) -> int:
        return 7


class Stream(d2s.io.IterableDataset):
    def __iter__(self) -> Any:
        for index in range(5):
            yield np.full([2], index, "float32")


class World:
    """What the programs read and change."""

    def __init__(self) -> None:
        d2s.seed(5)
        self.data = Numbers()
        self.loader = d2s.io.DataLoader(self.data, batch_size=3, shuffle=True)
        self.stream = d2s.io.DataLoader(Stream(), batch_size=2)
        self.sampler = d2s.io.BatchSampler(self.data, batch_size=2)
        self.net = d2s.nn.Sequential(d2s.nn.Linear(2, 3), d2s.nn.Dropout(0.5), d2s.nn.Linear(3, 1))
        self.optimizer = d2s.optimizer.Adam(0.1, parameters=self.net.parameters())


def plain(w: World, x: Any) -> Any:
    for batch, _ in w.loader:
        x = x + (batch * w.net[0].weight[:, 0]).sum() * d2s.rand([1])
    return x


def numbered(w: World, x: Any) -> Any:
    for number, (batch, _) in enumerate(w.loader, 1):
        x = x + batch.sum() * number
    return x


def left_early(w: World, x: Any) -> Any:
    for batch, _ in w.loader:
        x = x + batch.sum()
        if x.sum() > 15:
            break
    else:
        x = x * 100
    return x


def returned_early(w: World, x: Any) -> Any:
    for batch, _ in w.loader:
        if batch.sum() > 20:
            return batch.sum() * x
    return x


def skipping(w: World, x: Any) -> Any:
    for batch, _ in w.loader:
        if batch.sum() > 20:
            continue
        x = x + batch.sum()
    return x


def of_unknown_length(w: World, x: Any) -> Any:
    for batch in w.stream:
        x = x + batch.sum()
    else:
        x = x * 100
    return x


def side_by_side(w: World, x: Any) -> Any:
    for (batch, _), factor in zip(w.loader, [1.0, 2.0, 3.0, 4.0], strict=False):
        x = x + batch.sum() * factor
    return x


def one_in_the_other(w: World, x: Any) -> Any:
    for first in w.stream:
        for second in w.stream:
            x = x + (first[0] * second[0]).sum()
    return x


def listed(w: World, x: Any) -> Any:
    return x + sum([batch.sum() for batch, _ in w.loader])


def first_batches(w: World, x: Any) -> Any:
    batches = iter(w.loader)
    first, second = next(batches)[0], next(batches)[0]
    return x + (first * 2 - second).sum()


def until_the_end(w: World, x: Any) -> Any:
    batches = iter(w.stream)
    try:
        while True:
            x = x + next(batches).sum()
    except StopIteration:
        return x * 2


def drawn_indices(w: World, x: Any) -> Any:
    for indices in w.sampler:
        x = x * 2 + indices[0]
    return x


def hooked(w: World, x: Any) -> Any:
    for batch, _ in w.loader:
        x = x * batch.mean()
        x.register_hook(lambda g: g * g + 1)
    return x


def training(w: World, x: Any) -> Any:
    total = 0.0
    for _ in range(2):
        for batch, _ in w.loader:
            loss = ((w.net(batch) - x.detach()) ** 2).mean()
            loss.backward()
            w.optimizer.step()
            w.optimizer.clear_grad()
            total += loss.item()
    return x * total


def made_inside(w: World, x: Any) -> Any:
    loader = d2s.io.DataLoader(w.data, batch_size=2, shuffle=True, drop_last=True)
    for number, (batch, _) in enumerate(loader):
        x = x * 2 + batch.sum() * number
    for batch, _ in loader:
        if batch.sum() > 15:
            break
        x = x + batch.mean()
    return x * len(loader)


def a_sampler_made_inside(w: World, x: Any) -> Any:
    for index in d2s.io.RandomSampler(w.data):
        x = x * 2 + index
    return x


def made_inside_a_loop_on_tensors(w: World, x: Any) -> Any:
    turns = d2s.zeros([])
    while turns < 2:
        x = x * 2 + sum(batch.sum() for batch, _ in d2s.io.DataLoader(w.data, batch_size=3, shuffle=True))
        turns = turns + 1
    return x


@pytest.mark.parametrize("program", [
    made_inside, a_sampler_made_inside, made_inside_a_loop_on_tensors,
    plain, numbered, left_early, returned_early, skipping, of_unknown_length, side_by_side, one_in_the_other, listed,
    first_batches, until_the_end, drawn_indices, hooked, training])
def test_both_modes(program: Callable[[World, Any], Any]) -> None:
    def played(convert: Callable[..., Any]) -> list[Any]:
        w, seen = World(), []
        called = convert(lambda x: program(w, x))
        x = d2s.to_tensor([1.0], stop_gradient=False)
        for _ in range(3):
            result = called(x)
            result.sum().backward()
            seen.append((result.tolist(), x.grad.tolist(), list(w.data.log), d2s.rand([1]).item()))
        seen.append([parameter.tolist() for parameter in w.net.parameters()])
        return seen

    assert played(d2s.jit.to_static) == played(lambda function: function)


def test_an_error_of_the_data_set_names_its_line() -> None:
    class Broken(Numbers):
        def __getitem__(self, index: int) -> Any:
            raise KeyError("no such example")

    loader = d2s.io.DataLoader(Broken(), batch_size=2)

    @d2s.jit.to_static
    def program(x: Any) -> Any:
        for batch, _ in loader:
            x = x + batch.sum()
        return x

    with pytest.raises(KeyError, match="no such example"):
        program(d2s.ones([1]))


@pytest.mark.parametrize("draw", [
    lambda loader: sum(batch.sum() for (batch,) in loader), lambda loader: next(iter(loader))[0].sum()])
def test_a_data_set_of_d2s_that_is_made_inside_holds_what_only_the_trace_knows(draw: Any) -> None:
    rows = d2s.ones([3, 2])

    @d2s.jit.to_static
    def program(x: Any) -> Any:
        return x * draw(d2s.io.DataLoader(d2s.io.TensorDataset([rows]), batch_size=2))

    with pytest.raises(d2s.TracingError, match="an object that the trace has made holds it") as caught:
        program(d2s.ones([1]))
    assert "test_loaders.py" in str(caught.value)
