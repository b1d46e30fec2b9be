"""Attention of several heads."""

from __future__ import annotations

from typing import Any, NamedTuple

from d2s.core.arrays import need_tensors
from d2s.errors import ArgumentError
from d2s.nn import functional as F
from d2s.nn.basic import Linear
from d2s.nn.layer import Layer
from d2s.ops.casting import cast
from d2s.ops.creation import zeros
from d2s.ops.joining import concat
from d2s.ops.products import matmul
from d2s.ops.shape import reshape, transpose

__all__ = ["MultiHeadAttention"]


def additive_mask(mask: Any, dtype: Any) -> Any:
    """`mask` as something to add to scores of `dtype`: of bool and int masks, False and 0 become -1e9.

    None stays None.
    """
    if mask is None:
        return None
    need_tensors(mask)
    if mask.dtype == dtype:
        return mask
    numbers = cast(mask, dtype)
    return (numbers - 1.0) * 1e9 if mask.dtype.kind in "biu" else numbers


class MultiHeadAttention(Layer):
    """Attention of `num_heads` heads, each on its own projections (Vaswani et al., 2017).

    Parameters
    ----------
    embed_dim : int
        Size of queries and results.
    num_heads : int
        Divides `embed_dim`.
    dropout : float
        Probability with which a weight is dropped in training.
    kdim, vdim : int, optional
        Sizes of keys and values; `embed_dim` by default.
    need_weights : bool
        Give the weights, shape ``[N, num_heads, S, T]``, too.
    weight_attr, bias_attr : ParamAttr, Initializer, str or False, optional
        Settings of the four projections.

    Raises
    ------
    ValueError
        If `num_heads` does not divide `embed_dim`.
    """

    class Cache(NamedTuple):
        """Projected keys and values so far, shape ``[N, num_heads, T, head_dim]``."""

        k: Any
        v: Any

    class StaticCache(NamedTuple):
        """Projected keys and values that stay, shape ``[N, num_heads, T, head_dim]``."""

        k: Any
        v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ArgumentError(f"num_heads={num_heads} must divide embed_dim={embed_dim}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: Any) -> Any:
        """(N, length, embed_dim) as (N, heads, length, head_dim)."""
        parts = reshape(x, [x.shape[0], x.shape[1], self.num_heads, self.head_dim])
        return transpose(parts, (0, 2, 1, 3))

    def compute_kv(self, key: Any, value: Any) -> tuple[Any, Any]:
        """Projected keys and values, shape ``[N, num_heads, T, head_dim]``."""
        return self._heads(self.k_proj(key)), self._heads(self.v_proj(value))

    def gen_cache(self, key: Any, value: Any = None, type: Any = Cache) -> Any:
        """A cache for the calls that follow.

        Parameters
        ----------
        key, value : Tensor
            With ``type=StaticCache``: what all calls attend to.  With ``type=Cache``: projected keys and values to
            begin with; without `value` the cache is empty, for a batch as large as that of `key`.
        """
        if type is self.StaticCache:
            return self.StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is not None:
            return self.Cache(key, value)
        empty = zeros([key.shape[0], self.num_heads, 0, self.head_dim], key.dtype)
        return self.Cache(empty, empty)

    def forward(self, query: Any, key: Any = None, value: Any = None, attn_mask: Any = None, cache: Any = None) -> Any:
        """
        Parameters
        ----------
        query : Tensor, shape (N, S, embed_dim)
        key, value : Tensor, shapes (N, T, kdim) and (N, T, vdim), optional
            `query` by default.
        attn_mask : Tensor, broadcastable to (N, num_heads, S, T), optional
            Added to the scores; of a bool or int mask, False and 0 take a score out.
        cache : Cache or StaticCache, optional
            Of `gen_cache`: a Cache grows by the keys and values of this call, a StaticCache stands in place of them.

        Returns
        -------
        Tensor, shape (N, S, embed_dim)
            A tuple with the weights (`need_weights`) and the new cache (`cache`) behind it, if asked for.
        """
        key = query if key is None else key
        value = query if value is None else value
        q = self._heads(self.q_proj(query))
        k, v = (cache.k, cache.v) if isinstance(cache, self.StaticCache) else self.compute_kv(key, value)
        if isinstance(cache, self.Cache):
            cache = self.Cache(concat([cache.k, k], 2), concat([cache.v, v], 2))
            k, v = cache.k, cache.v
        scores = matmul(q * self.head_dim**-0.5, k, transpose_y=True)
        mask = additive_mask(attn_mask, scores.dtype)
        weights = F.softmax(scores if mask is None else scores + mask)
        kept = F.dropout(weights, self.dropout, training=self.training) if self.dropout else weights
        joined = transpose(matmul(kept, v), (0, 2, 1, 3))
        result = self.out_proj(reshape(joined, [joined.shape[0], joined.shape[1], self.embed_dim]))
        extra = ([kept] if self.need_weights else []) + ([] if cache is None else [cache])
        return (result, *extra) if extra else result
