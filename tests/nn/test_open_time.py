"""Recurrent networks over a time axis that only the run knows: one loop, with the bits of the loop in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import nn, static
from d2s.static import InputSpec

SPEC = InputSpec([None, None, 3], "float32", "x", stop_gradient=False)
NETWORKS = {
    "lstm": lambda: nn.LSTM(3, 4),
    "deep lstm": lambda: nn.LSTM(3, 4, num_layers=2, direction="bidirect", proj_size=2),
    "gru": lambda: nn.GRU(3, 4),
    "deep gru": lambda: nn.GRU(3, 4, num_layers=2, direction="bidirect"),
    "time first": lambda: nn.GRU(3, 4, time_major=True, num_layers=2),
    "simple": lambda: nn.SimpleRNN(3, 4, activation="relu"),
    "reversed": lambda: nn.RNN(nn.GRUCell(3, 4), is_reverse=True),
    "other outputs": lambda: nn.RNN(Residual(3, 4)),
}


class Residual(nn.GRUCell):
    """Its outputs are no states, and come from the state in two ways."""

    def forward(self, inputs: Any, states: Any = None) -> Any:
        _, h = super().forward(inputs, states)
        return h * 2 + d2s.tanh(h), h


def tensors_of(tree: Any) -> list[Any]:
    return [found for part in tree for found in tensors_of(part)] if isinstance(tree, list | tuple) else [tree]


def seen(call: Any, parameters: list[Any], steps: int, *lengths: Any) -> list[bytes]:
    """Bits of the results, and of the gradients of input and parameters."""
    x = d2s.to_tensor(np.random.default_rng(steps).standard_normal((2, steps, 3)).astype("float32"))
    x.stop_gradient = False
    results = tensors_of(call(x, *lengths))
    sum((result * result * result).sum() for result in results).backward()
    found = [tensor.numpy().tobytes() for tensor in (*results, x.grad, *(p.grad for p in parameters))]
    for parameter in parameters:
        parameter.clear_gradient(False)
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_a_saved_network_takes_every_length_to_the_bit(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]()
    d2s.jit.save(network, tmp_path / "net", input_spec=[SPEC])
    loaded = d2s.jit.load(tmp_path / "net")
    for steps in (2, 5, 1, 3):
        assert seen(loaded, loaded.parameters(), steps) == seen(network, network.parameters(), steps)
    with pytest.raises(ValueError, match=r"size 0|at least one step"):
        loaded(d2s.zeros([0, 2, 3] if name == "time first" else [2, 0, 3]))


def test_lengths_within_the_batch(tmp_path: Path) -> None:
    network = nn.GRU(3, 4, direction="bidirect")
    spec = [SPEC, None, InputSpec([None], "int64", "lengths")]
    d2s.jit.save(network, tmp_path / "net", input_spec=spec)
    loaded = d2s.jit.load(tmp_path / "net")
    for steps in (2, 4):
        lengths = d2s.to_tensor([steps, 1])
        assert seen(loaded, loaded.parameters(), steps, None, lengths) == seen(
            network, network.parameters(), steps, None, lengths)
    # An argument that was None when it was saved may be left out.
    x = d2s.randn([2, 4, 3])
    assert np.array_equal(loaded(x, sequence_length=lengths)[0], network(x, None, lengths)[0])
    with pytest.raises(TypeError, match="missing a required argument: 'sequence_length'"):
        loaded(x)


def test_one_program_without_gradients_one_for_each_length_in_training() -> None:
    network = nn.LSTM(3, 4)
    function = d2s.jit.to_static(lambda x: network(x)[0], input_spec=[SPEC])
    with d2s.no_grad():
        for steps in (2, 5, 3):
            x = d2s.randn([2, steps, 3])
            assert function(x).numpy().tobytes() == network(x)[0].numpy().tobytes()
    assert len(function.program_cache) == 1
    for steps in (2, 5, 3):
        assert seen(function, network.parameters(), steps) == seen(
            lambda x: network(x)[0], network.parameters(), steps)
    assert len(function.program_cache) == 4


@pytest.mark.parametrize("name", NETWORKS)
def test_a_program_built_by_hand_takes_every_length_to_the_bit(name: str) -> None:
    network = NETWORKS[name]()
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, None, 3])
        x.stop_gradient = False
        results = tensors_of(network(x))
        loss = sum((result * result * result).sum() for result in results)
        gradients = static.gradients([loss], [x, *network.parameters()])
    for steps in (3, 1, 5):
        given = np.random.default_rng(steps).standard_normal((2, steps, 3)).astype("float32")
        found = static.Executor().run(program, {"x": given}, [*results, *gradients])
        assert [array.tobytes() for array in found] == seen(network, network.parameters(), steps)


def test_hooks_of_the_cell_see_each_turn() -> None:
    network, seen_by_hook = nn.GRU(3, 4), []

    def note(layer: Any, inputs: Any, outputs: Any) -> None:
        outputs[0].register_hook(lambda g: (seen_by_hook.append(g.numpy().tobytes()), g + 1)[1])

    network[0].cell.register_forward_post_hook(note)
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, None, 3])
        outputs, _ = network(x)
        gradients = static.gradients([(outputs * outputs).sum()], list(network.parameters()))
    given = np.random.default_rng(0).standard_normal((2, 4, 3)).astype("float32")
    found = [array.tobytes() for array in static.Executor().run(program, {"x": given}, gradients)]
    in_program, seen_by_hook[:] = list(seen_by_hook), []
    outputs, _ = network(d2s.to_tensor(given))
    (outputs * outputs).sum().backward()
    assert found == [parameter.grad.numpy().tobytes() for parameter in network.parameters()]
    assert len(seen_by_hook) == 4
    assert in_program == seen_by_hook


def test_a_cell_that_writes_to_its_inputs_is_refused(tmp_path: Path) -> None:
    class Writing(nn.SimpleRNNCell):
        def forward(self, inputs: Any, states: Any = None) -> Any:
            inputs.scale_(2.0)
            return super().forward(inputs, states)

    with pytest.raises(d2s.UnsupportedSyntaxError, match="writes in place to its inputs"):
        d2s.jit.save(nn.RNN(Writing(3, 4)), tmp_path / "net", input_spec=[SPEC])
