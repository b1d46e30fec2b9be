"""Recurrent networks: cells along a sequence, in one or both directions, in one or several layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.core.arrays import ndim_of
from d2s.errors import ArgumentError, ShapeError
from d2s.nn import functional as F
from d2s.nn.containers import LayerList
from d2s.nn.layer import Layer
from d2s.nn.open_time import along_open_time, kept_states
from d2s.nn.rnn_cells import GRUCell, LSTMCell, SimpleRNNCell
from d2s.ops.creation import arange
from d2s.ops.joining import concat, stack, unbind
from d2s.ops.selection import where
from d2s.ops.shape import unsqueeze
from d2s.words import counted

__all__ = ["GRU", "LSTM", "RNN", "BiRNN", "SimpleRNN"]


class RNN(Layer):
    """A cell along a sequence.

    Parameters
    ----------
    cell : RNNCellBase
        Called as ``cell(inputs of one step, states)``.
    is_reverse : bool
        Begin at the end of the sequence; the outputs still stand at the places of their inputs.
    time_major : bool
        Sequences are ``[T, N, ...]`` instead of ``[N, T, ...]``.
    """

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell = cell
        self.is_reverse, self.time_major = is_reverse, time_major

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """
        Parameters
        ----------
        inputs : Tensor, shape (N, T, ...)
            In a Program that is saved or built by hand, T may be None.
        initial_states : optional
            As the cell takes them; by default its zeros.
        sequence_length : Tensor, int, shape (N,), optional
            The states do not change in the steps from this one on.
        **kwargs
            For the cell.

        Returns
        -------
        outputs : Tensor, shape (N, T, ...)
        final_states
            As the cell gives them.

        Raises
        ------
        ShapeError
            If T is 0.
        """
        return _along(self.cell, inputs, initial_states, sequence_length, self.time_major, self.is_reverse, kwargs)


def _along(
    cell: Any,
    inputs: Any,
    states: Any,
    sequence_length: Any,
    time_major: bool,
    is_reverse: bool,
    kwargs: dict[str, Any],
) -> tuple[Any, Any]:
    time, batch = (0, 1) if time_major else (1, 0)
    if ndim_of(inputs) < 2:
        raise ShapeError(f"a recurrent network needs inputs of at least 2 axes, got shape {list(inputs.shape)}")
    steps = inputs.shape[time]
    if states is None:
        states = cell.get_initial_states(inputs, batch_dim_idx=batch)
    if not isinstance(steps, int):
        return along_open_time(cell, inputs, states, sequence_length, time, steps, is_reverse, kwargs)
    if steps == 0:
        raise ShapeError("a recurrent network needs at least one step, got none")
    outputs: list[Any] = [None] * steps
    parts = unbind(inputs, time)
    for step in reversed(range(steps)) if is_reverse else range(steps):
        outputs[step], new = cell(parts[step], states, **kwargs)
        states = new if sequence_length is None else kept_states(states, new, sequence_length > step)
    return stack(outputs, time), states


class BiRNN(Layer):
    """Two cells along a sequence, one from each end; the outputs are put side by side.

    Parameters
    ----------
    cell_fw, cell_bw : RNNCellBase
        The cells that begin at the start and at the end.
    time_major : bool
        Sequences are ``[T, N, ...]`` instead of ``[N, T, ...]``.
    """

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        self.cell_fw, self.cell_bw = cell_fw, cell_bw
        self.time_major = time_major

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """As `RNN`; states are pairs (of `cell_fw`, of `cell_bw`)."""
        first, second = (None, None) if initial_states is None else initial_states
        ahead, first = _along(self.cell_fw, inputs, first, sequence_length, self.time_major, False, kwargs)
        back, second = _along(self.cell_bw, inputs, second, sequence_length, self.time_major, True, kwargs)
        return concat([ahead, back], -1), (first, second)


class _Recurrent(LayerList):
    """What the networks of several layers share.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of an input and of a state.
    num_layers : int
        Each layer reads the outputs of the one before.
    direction : {"forward", "bidirect", "bidirectional"}
        Bidirectional: each layer runs from both ends, and gives both outputs side by side.
    time_major : bool
        Sequences are ``[T, N, size]`` instead of ``[N, T, size]``.
    dropout : float
        Probability with which an output between two layers is dropped in training.
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        Settings of the parameters, as for the cells.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `direction` is another word, or `num_layers` not positive.

    Notes
    -----
    The parameters are found by layer too: ``weight_ih_l0``, ``bias_hh_l1_reverse``, ...
    """

    components = 1

    def __init__(
        self,
        make_cell: Callable[[int], Any],
        input_size: int,
        hidden_size: int,
        num_layers: int,
        direction: str,
        time_major: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ArgumentError(f"direction must be 'forward', 'bidirect' or 'bidirectional', got {direction!r}")
        if num_layers < 1:
            raise ArgumentError(f"num_layers must be positive, got {num_layers}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.time_major, self.dropout = time_major, dropout
        self.num_directions = 1 if direction == "forward" else 2
        for layer in range(num_layers):
            if self.num_directions == 1:
                cells = [make_cell(input_size)]
                self.append(RNN(cells[0], False, time_major))
            else:
                cells = [make_cell(input_size), make_cell(input_size)]
                self.append(BiRNN(cells[0], cells[1], time_major))
            self._name_parameters(layer, cells)
            input_size = self.num_directions * cells[0].output_size

    def _name_parameters(self, layer: int, cells: list[Any]) -> None:
        for cell, suffix in zip(cells, ("", "_reverse"), strict=False):
            for name, parameter in cell.named_parameters():
                setattr(self, f"{name}_l{layer}{suffix}", parameter)

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None) -> Any:
        """
        Parameters
        ----------
        inputs : Tensor, shape (N, T, input_size)
            In a Program that is saved or built by hand, T may be None.
        initial_states : Tensor or pair of Tensor, shape (layers * directions, N, hidden_size), optional
            h, or (h, c) for an LSTM; by default zeros.
        sequence_length : Tensor, int, shape (N,), optional
            Lengths of the sequences: behind them the states stay and the outputs are zeros.

        Returns
        -------
        outputs : Tensor, shape (N, T, directions * hidden_size)
        final_states
            Like `initial_states`.
        """
        states = self._states_of_cells(initial_states)
        final: list[Any] = []
        outputs = inputs
        for layer, network in enumerate(self):
            if layer and self.dropout:
                outputs = F.dropout(outputs, self.dropout, training=self.training)
            outputs, state = network(outputs, states[layer], sequence_length)
            if sequence_length is not None:
                outputs = self._without_padding(outputs, sequence_length)
            final.extend(state if self.num_directions == 2 else [state])
        if self.components == 1:
            return outputs, stack(final)
        return outputs, tuple(stack(list(part)) for part in zip(*final, strict=True))

    def _states_of_cells(self, states: Any) -> list[Any]:
        """For each layer its state, or the pair of both directions."""
        if states is None:
            return [None] * self.num_layers
        if self.components == 1:
            cells = list(unbind(states[0] if isinstance(states, list | tuple) else states))
        else:
            cells = list(zip(*(unbind(part) for part in states), strict=True))
        if len(cells) != self.num_layers * self.num_directions:
            raise ShapeError(
                f"initial states of {counted(len(cells), 'cell')} do not fit {counted(self.num_layers, 'layer')} and "
                f"{counted(self.num_directions, 'direction')}"
            )
        return cells if self.num_directions == 1 else list(zip(cells[::2], cells[1::2], strict=True))

    def _without_padding(self, outputs: Any, sequence_length: Any) -> Any:
        steps = arange(outputs.shape[0 if self.time_major else 1], dtype=sequence_length.dtype)
        inside = unsqueeze(steps, 0) < unsqueeze(sequence_length, 1)
        return where(unsqueeze(inside.t() if self.time_major else inside, -1), outputs, 0.0)

    def extra_repr(self) -> str:
        layers = "" if self.num_layers == 1 else f", num_layers={self.num_layers}"
        return f"{self.input_size}, {self.hidden_size}{layers}"


class SimpleRNN(_Recurrent):
    """Layers of `SimpleRNNCell`; `activation` is tanh or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr

        def make_cell(size: int) -> SimpleRNNCell:
            return SimpleRNNCell(size, hidden_size, activation, *attrs)

        super().__init__(make_cell, input_size, hidden_size, num_layers, direction, time_major, dropout)


class LSTM(_Recurrent):
    """Layers of `LSTMCell`; with `proj_size` above 0, h has that size."""

    components = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr

        def make_cell(size: int) -> LSTMCell:
            return LSTMCell(size, hidden_size, *attrs, proj_size=proj_size)

        super().__init__(make_cell, input_size, hidden_size, num_layers, direction, time_major, dropout)
        self.proj_size = proj_size


class GRU(_Recurrent):
    """Layers of `GRUCell`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr

        def make_cell(size: int) -> GRUCell:
            return GRUCell(size, hidden_size, *attrs)

        super().__init__(make_cell, input_size, hidden_size, num_layers, direction, time_major, dropout)
