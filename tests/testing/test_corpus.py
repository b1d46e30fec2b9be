"""`assert_same_in_both_modes` raises no false alarm on programs that are known to do the same; and training steps."""

from __future__ import annotations

import pytest

import d2s
from d2s.testing import ModesDiffer, assert_same_in_both_modes
from tests.corpus import writes
from tests.corpus.register import PROGRAMS
from tests.modes import test_corpus  # noqa: F401  (fills PROGRAMS)
from tests.modes.harness import map_leaves

# A part is enough for each day.
SOME = sorted(name for name, found in PROGRAMS.items() if not found.is_refused)[::6]


@pytest.mark.parametrize("name", SOME)
def test_programs_of_the_corpus(name: str) -> None:
    found = PROGRAMS[name]
    assert_same_in_both_modes(found.make(), *map_leaves(found.calls("tensor")[1], {}), calls=2)


class Trainer:
    def __init__(self) -> None:
        self.net = d2s.nn.Sequential(d2s.nn.Linear(3, 4), d2s.nn.BatchNorm1D(4), d2s.nn.Tanh(), d2s.nn.Linear(4, 1))
        self.optimizer = d2s.optimizer.Adam(learning_rate=0.01, parameters=self.net.parameters())
        self.losses: list[float] = []
        self.net[0].weight.register_hook(lambda g: g * 0.5)

    def step(self, x, y):
        loss = ((self.net(x) - y) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        self.losses.append(loss.item())
        return loss.detach()


def data():
    d2s.seed(3)
    return d2s.randn([5, 3]), d2s.randn([5, 1])


def test_a_training_step_with_optimizer_and_hooks() -> None:
    trainer = Trainer()
    before = [parameter.numpy().tolist() for parameter in trainer.net.parameters()]
    assert_same_in_both_modes(trainer.step, *data(), calls=4)
    assert trainer.losses == []
    assert [parameter.numpy().tolist() for parameter in trainer.net.parameters()] == before


def test_a_training_step_that_forgets_the_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer()
    step = type(trainer.optimizer).step
    calls = iter(range(100))

    def forgets(self):
        # Eager mode makes three calls and then static mode starts; the next ones are lost.
        if next(calls) < 3:
            step(self)

    monkeypatch.setattr(type(trainer.optimizer), "step", forgets)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(trainer.step, *data())
    assert "self.net" in str(raised.value)


@pytest.mark.parametrize("name", [
    "write_after_saving_use", "write_to_a_tensor_that_a_view_was_read_of", "write_of_a_view_to_its_tensor"])
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_backward_that_writes_in_place_forbid_is_left_out_in_both_modes(name: str, c: float) -> None:
    x = d2s.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]], stop_gradient=False)
    assert_same_in_both_modes(getattr(writes, name), x, d2s.to_tensor(c))
