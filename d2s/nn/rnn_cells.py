"""One step of a recurrent network."""

from __future__ import annotations

import math
from typing import Any

from d2s.core.arrays import ndim_of
from d2s.errors import ArgumentError, NotSupportedError, ShapeError
from d2s.nn import functional as F
from d2s.nn.initializer import Uniform
from d2s.nn.layer import Layer
from d2s.ops.creation import full
from d2s.ops.joining import split
from d2s.ops.products import matmul

__all__ = ["GRUCell", "LSTMCell", "RNNCellBase", "SimpleRNNCell"]


class RNNCellBase(Layer):
    """Base of the cells: ``cell(inputs, states)`` gives ``(outputs, new states)``.

    A subclass tells the shapes of its states, without the batch, in the property `state_shape`.
    """

    @property
    def state_shape(self) -> Any:
        """Shape of the state without the batch; a tuple of shapes for several states."""
        raise NotSupportedError(f"{type(self).__name__} does not define state_shape", kind="N02")

    @property
    def state_dtype(self) -> Any:
        """Element type of the states; by default that of the input."""
        return None

    def get_initial_states(
        self, batch_ref: Any, shape: Any = None, dtype: Any = None, init_value: float = 0.0, batch_dim_idx: int = 0
    ) -> Any:
        """States for the first step, all elements `init_value`.

        Parameters
        ----------
        batch_ref : Tensor
            Its size along `batch_dim_idx` is that of the batch.
        shape : optional
            In place of `state_shape`; a leading -1 stands for the batch.
        dtype : optional
            By default `state_dtype`, else that of `batch_ref`.
        """
        if ndim_of(batch_ref) <= batch_dim_idx:
            raise ShapeError(f"inputs of shape {list(batch_ref.shape)} have no axis {batch_dim_idx} for a batch")
        dtype = dtype or self.state_dtype or batch_ref.dtype
        batch = batch_ref.shape[batch_dim_idx]

        def state(shape: Any) -> Any:
            if any(isinstance(size, list | tuple) for size in shape):
                return tuple(map(state, shape))
            sizes = list(shape)[1:] if list(shape[:1]) == [-1] else list(shape)
            return full([batch, *sizes], init_value, dtype)

        return state(self.state_shape if shape is None else shape)


class _GatedCell(RNNCellBase):
    """What the cells share: parameters for `gates` gates, uniform on ``[-1 / sqrt(hidden_size), ...)`` by default.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of input and state.
    weight_ih_attr, weight_hh_attr : ParamAttr, Initializer or str, optional
        Settings of the weights of input and state, of shape ``[gates * hidden_size, size]``.
    bias_ih_attr, bias_hh_attr : ParamAttr, Initializer, str or False, optional
        Settings of the biases, of shape ``[gates * hidden_size]``; False: none.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `hidden_size` is not positive.
    """

    gates: int

    def __init__(
        self, input_size: int, hidden_size: int, attrs: tuple[Any, Any, Any, Any], state_size: int | None = None
    ) -> None:
        super().__init__()
        if hidden_size <= 0:
            raise ArgumentError(f"hidden_size must be positive, got {hidden_size}")
        self.input_size, self.hidden_size = input_size, hidden_size
        self._first = Uniform(-1 / math.sqrt(hidden_size), 1 / math.sqrt(hidden_size))
        rows = self.gates * hidden_size
        shapes = [rows, input_size], [rows, state_size or hidden_size], [rows], [rows]
        names = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
        for name, shape, attr in zip(names, shapes, attrs, strict=True):
            is_bias = name.startswith("bias")
            setattr(self, name, self.create_parameter(shape, attr, is_bias=is_bias, default_initializer=self._first))

    @property
    def output_size(self) -> int:
        """Size of an output."""
        return self.hidden_size

    def _of_input(self, inputs: Any) -> Any:
        return _projected(inputs, self.weight_ih, self.bias_ih)

    def _of_state(self, state: Any) -> Any:
        return _projected(state, self.weight_hh, self.bias_hh)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


def _projected(x: Any, weight: Any, bias: Any) -> Any:
    product = matmul(x, weight, transpose_y=True)
    return product if bias is None else product + bias


class SimpleRNNCell(_GatedCell):
    """``h = activation(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)``; `activation` is tanh or relu.

    ``cell(x, h)`` gives ``(h, h)``.
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))
        if activation not in ("tanh", "relu"):
            raise ArgumentError(f"activation must be 'tanh' or 'relu', got {activation!r}")
        self.activation = activation

    @property
    def state_shape(self) -> Any:
        return (self.hidden_size,)

    def forward(self, inputs: Any, states: Any = None) -> Any:
        h = self.get_initial_states(inputs) if states is None else states
        activation = F.tanh if self.activation == "tanh" else F.relu
        h = activation(self._of_input(inputs) + self._of_state(h))
        return h, h


class LSTMCell(_GatedCell):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); gates in the order input, forget, cell, output.

    ``cell(x, (h, c))`` gives ``(h, (h, c))``.

    Parameters
    ----------
    proj_size : int
        Above 0: h is multiplied by a weight of shape ``[hidden_size, proj_size]``.
    """

    gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        if not 0 <= proj_size < hidden_size:
            raise ArgumentError(f"proj_size must be below hidden_size={hidden_size} and not negative, got {proj_size}")
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        super().__init__(input_size, hidden_size, attrs, proj_size or None)
        self.proj_size = proj_size
        self.weight_ho = None
        if proj_size:
            self.weight_ho = self.create_parameter(
                [hidden_size, proj_size], weight_hh_attr, default_initializer=self._first
            )

    @property
    def output_size(self) -> int:
        return self.proj_size or self.hidden_size

    @property
    def state_shape(self) -> Any:
        return (self.proj_size or self.hidden_size,), (self.hidden_size,)

    def forward(self, inputs: Any, states: Any = None) -> Any:
        states = self.get_initial_states(inputs) if states is None else states
        if not isinstance(states, list | tuple) or len(states) != 2:
            raise ArgumentError("the states of an LSTMCell are a pair (h, c)")
        h, c = states
        i, f, g, o = split(self._of_input(inputs) + self._of_state(h), 4, -1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        if self.weight_ho is not None:
            h = matmul(h, self.weight_ho)
        return h, (h, c)


class GRUCell(_GatedCell):
    """Gated recurrent unit (Cho et al., 2014); gates in the order reset, update, candidate.

    The reset gate acts on the product of state and weight.  ``cell(x, h)`` gives ``(h, h)``.
    """

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))

    @property
    def state_shape(self) -> Any:
        return (self.hidden_size,)

    def forward(self, inputs: Any, states: Any = None) -> Any:
        h = self.get_initial_states(inputs) if states is None else states
        x_reset, x_update, x_new = split(self._of_input(inputs), 3, -1)
        h_reset, h_update, h_new = split(self._of_state(h), 3, -1)
        update = F.sigmoid(x_update + h_update)
        new = F.tanh(x_new + F.sigmoid(x_reset + h_reset) * h_new)
        h = (h - new) * update + new
        return h, h
