"""Linear and bilinear maps, embeddings, dropout, distances, Flatten, Identity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.eager.tensor import tensor_of
from d2s.errors import IndexOutOfRangeError, NotSupportedError
from d2s.nn import functional as F
from d2s.nn.initializer import Assign, Uniform
from d2s.nn.layer import Layer
from d2s.nn.parameter import ParamAttr
from d2s.ops.selection import where
from d2s.words import counted

__all__ = [
    "AlphaDropout",
    "Bilinear",
    "CosineSimilarity",
    "Dropout",
    "Dropout2D",
    "Embedding",
    "Flatten",
    "Identity",
    "Linear",
    "PairwiseDistance",
]


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

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight, self.bias)

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
    max_norm, norm_type, scale_grad_by_freq
        Not supported: `max_norm` must be None and `scale_grad_by_freq` False.
    sparse : bool
        Accepted and ignored: gradients are dense.
    _weight : Tensor, optional
        First values of the weight.
    _freeze : bool
        No gradient of the weight.
    device : optional
        Ignored.
    dtype : dtype or str, optional
        Of the weight.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the weight; Xavier uniform by default.
    name : str, optional
        Ignored.

    Raises
    ------
    IndexOutOfRangeError
        If there is no row `padding_idx`.
    NotImplementedError
        If `max_norm` or `scale_grad_by_freq` is set.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        if max_norm is not None or scale_grad_by_freq:
            raise NotSupportedError("Embedding supports neither max_norm nor scale_grad_by_freq")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise IndexOutOfRangeError(
                f"padding_idx {padding_idx} is no row of {counted(num_embeddings, 'embedding')}",
                kind="I03",
            )
        self._num_embeddings, self._embedding_dim = num_embeddings, embedding_dim
        self._padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        if _weight is not None:
            weight_attr = ParamAttr(initializer=Assign(_weight))
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr)
        if _freeze:
            self.weight.stop_gradient = True
        if self._padding_idx is not None:
            # In operators, so that it happens in each run where a static function makes an embedding.
            is_padding = tensor_of(np.arange(num_embeddings)[:, None] == self._padding_idx)
            self.weight.set_value(where(is_padding, 0.0, self.weight.detach()))

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
        inplace: bool = False,
        axis: Any = None,
        mode: str = "upscale_in_train",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.p, self.axis, self.mode = p, axis, mode

    def forward(self, input: Any) -> Any:
        return F.dropout(input, p=self.p, axis=self.axis, training=self.training, mode=self.mode)

    def extra_repr(self) -> str:
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"


class Flatten(Layer):
    """Make one axis of the axes `start_axis` to `stop_axis`."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input: Any) -> Any:
        return F.flatten(input, self.start_axis, self.stop_axis)


class Identity(Layer):
    """Give back the input; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Dropout2D(Layer):
    """Set whole channels of ``[N, C, H, W]`` to zero with probability `p` in training mode."""

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self.p, self.data_format = p, data_format

    def forward(self, input: Any) -> Any:
        return F.dropout2d(input, p=self.p, training=self.training, data_format=self.data_format)

    def extra_repr(self) -> str:
        return f"p={self.p}, data_format={self.data_format}"


class AlphaDropout(Layer):
    """Dropout that keeps mean 0 and variance 1, for networks of SELU; see `functional.alpha_dropout`."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Any) -> Any:
        return F.alpha_dropout(input, p=self.p, training=self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Bilinear(Layer):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output k.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        Sizes of the last axes of the inputs and the output.
    weight_attr : ParamAttr, Initializer or str, optional
        Settings of the weight, shape ``[out, in1, in2]``; uniform on ``[-1 / sqrt(in1), 1 / sqrt(in1))`` by default.
    bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of the bias, shape ``[1, out]``; zeros by default; False: none.
    name : str, optional
        Ignored.
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._in1_features, self._in2_features, self._out_features = in1_features, in2_features, out_features
        limit = 1 / math.sqrt(in1_features)
        shape = [out_features, in1_features, in2_features]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=Uniform(-limit, limit))
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self._in1_features}, in2_features={self._in2_features}, out_features={self._out_features}"
        )


class CosineSimilarity(Layer):
    """Cosine of the angle between two vectors along `axis`; see `functional.cosine_similarity`."""

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._axis, self._eps = axis, eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.cosine_similarity(x1, x2, self._axis, self._eps)


class PairwiseDistance(Layer):
    """The `p` norm of the difference along the last axis; see `functional.pairwise_distance`."""

    def __init__(self, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.p, self.epsilon, self.keepdim = p, epsilon, keepdim

    def forward(self, x: Any, y: Any) -> Any:
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)
