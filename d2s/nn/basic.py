"""Linear, Embedding, Dropout, Flatten, Identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.errors import IndexOutOfRangeError
from d2s.nn import functional as F
from d2s.nn.layer import Layer

__all__ = ["Dropout", "Embedding", "Flatten", "Identity", "Linear"]


class Linear(Layer):
    """``x @ weight + bias``.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the last axis of input and output.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the weight, shape ``[in_features, out_features]``; Xavier uniform by default.
    bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of the bias, shape ``[out_features]``; zeros by default; False: no bias.
    name : str, optional
        Ignored.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.weight.dtype.name}"


class Embedding(Layer):
    """Rows of a weight of shape ``[num_embeddings, embedding_dim]``, chosen by integers.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Shape of the weight.
    padding_idx : int, optional
        This row is zero and gets no gradient; negative numbers count from the end.
    sparse : bool
        Accepted and ignored: gradients are dense.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the weight; Xavier uniform by default.
    name : str, optional
        Ignored.

    Raises
    ------
    IndexOutOfRangeError
        If there is no row `padding_idx`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise IndexOutOfRangeError(
                f"padding_idx {padding_idx} is no row of {num_embeddings} embeddings",
                kind="I03",
            )
        self._num_embeddings, self._embedding_dim = num_embeddings, embedding_dim
        self._padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr)
        if self._padding_idx is not None:
            values = self.weight.numpy()
            values[self._padding_idx] = 0.0
            self.weight.set_value(np.asarray(values))

    def forward(self, x: Any) -> Any:
        return F.embedding(x, self.weight, padding_idx=self._padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self._padding_idx is None else f", padding_idx={self._padding_idx}"
        return f"{self._num_embeddings}, {self._embedding_dim}{padding}"


class Dropout(Layer):
    """Set elements to zero with probability `p` in training mode; see `functional.dropout`."""

    def __init__(
        self,
        p: float = 0.5,
        axis: Any = None,
        mode: str = "upscale_in_train",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.p, self.axis, self.mode = p, axis, mode

    def forward(self, x: Any) -> Any:
        return F.dropout(x, p=self.p, axis=self.axis, training=self.training, mode=self.mode)

    def extra_repr(self) -> str:
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"


class Flatten(Layer):
    """Make one axis of the axes `start_axis` to `stop_axis`."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, x: Any) -> Any:
        return F.flatten(x, self.start_axis, self.stop_axis)


class Identity(Layer):
    """Give back the input; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return x
