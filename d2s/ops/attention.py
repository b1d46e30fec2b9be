"""Scaled dot-product attention."""

from __future__ import annotations

import math

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.public import public
from d2s.errors import ShapeError
from d2s.ops.annotations import Tensor
from d2s.ops.dropout import dropout
from d2s.ops.logits import softmax
from d2s.ops.products import matmul
from d2s.ops.rearranging import repeat_interleave
from d2s.ops.selection import where
from d2s.ops.shape import transpose


@public()
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    backend: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = True,
    name: str | None = None,
) -> Tensor:
    """
    ``softmax(query @ key.T / sqrt(size) + mask) @ value`` for each head.

    Parameters
    ----------
    query : Tensor, shape (B, S, heads, size)
    key, value : Tensor, shape (B, T, heads, size)
    attn_mask : Tensor, optional, broadcastable to (B, heads, S, T)
        Added to the scores; a bool mask keeps the scores where it is True.
    dropout_p : float
        Probability with which a weight is dropped in training.
    is_causal : bool
        Position s sees the positions up to s.
    training : bool
    backend : str, optional
        Ignored.
    scale : float, optional
        Factor of the scores in place of ``1 / sqrt(size)``.
    enable_gqa : bool
        Keys and values may have fewer heads; each then serves several neighbouring heads of the query.

    Returns
    -------
    Tensor, shape (B, S, heads, size)

    Raises
    ------
    ShapeError
        If a tensor has another number of axes.
    """
    need_tensors(query, key, value)
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ShapeError(
            f"attention needs tensors of shape (batch, length, heads, size), "
            f"got {query.shape}, {key.shape} and {value.shape}"
        )
    if enable_gqa and isinstance(query.shape[2], int) and query.shape[2] != key.shape[2]:
        if query.shape[2] % key.shape[2]:
            raise ShapeError(f"{query.shape[2]} heads of the query cannot share {key.shape[2]} heads of the key")
        shared = query.shape[2] // key.shape[2]
        key, value = repeat_interleave(key, shared, 2), repeat_interleave(value, shared, 2)
    q, k, v = (transpose(part, (0, 2, 1, 3)) for part in (query, key, value))
    scores = matmul(q, k, False, True) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        visible = np.tril(np.ones((q.shape[2], k.shape[2]), bool))
        scores = where(visible, scores, -math.inf)
    if attn_mask is not None:
        scores = where(attn_mask, scores, -math.inf) if attn_mask.dtype == np.bool_ else scores + attn_mask
    weights = dropout(softmax(scores, -1), dropout_p, training=training)
    return transpose(matmul(weights, v), (0, 2, 1, 3))
