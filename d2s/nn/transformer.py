"""Transformers (Vaswani et al., 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from d2s.core.arrays import need_tensors
from d2s.core.spec import default_dtype
from d2s.errors import ArgumentError
from d2s.nn import functional as F
from d2s.nn.attention import MultiHeadAttention, additive_mask
from d2s.nn.basic import Dropout, Linear
from d2s.nn.containers import LayerList
from d2s.nn.layer import Layer
from d2s.nn.normalization import LayerNorm
from d2s.nn.parameter import ParamAttr
from d2s.ops.creation import full
from d2s.ops.diagonals import triu

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _attrs(attr: Any, count: int) -> list[Any]:
    """Settings for `count` parts: those in a list, or copies of one, with numbers behind its name."""
    if isinstance(attr, list | tuple):
        if len(attr) != count:
            raise ArgumentError(f"there are {count} parts to set, got a list of {len(attr)}")
        return list(attr)
    if isinstance(attr, ParamAttr) and attr.name:
        return [replace(attr, name=f"{attr.name}_{place}") for place in range(count)]
    return [attr] * count


class _Block(Layer):
    """What the layers of encoder and decoder share.

    Parameters
    ----------
    d_model : int
        Size of inputs and outputs.
    nhead : int
        Number of heads.
    dim_feedforward : int
        Size of the hidden layer of the feed-forward part.
    dropout : float
        Probability of dropping behind each part in training.
    activation : str
        Name of a function in `nn.functional`, between the two linear maps.
    attn_dropout, act_dropout : float, optional
        Of the weights of the attention, and behind the activation; `dropout` by default.
    normalize_before : bool
        Normalise the input of each part, instead of the sum behind it.
    weight_attr, bias_attr : ParamAttr, Initializer, str, False or list of these, optional
        Settings for the attentions and the feed-forward part; a list has one for each part.
    layer_norm_eps : float
        Added to the variance by the normalisations.
    """

    # Attentions, besides the feed-forward part.
    attentions: int

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        # What another layer like this one is made from.
        self._config = config
        dropout, parts = config["dropout"], self.attentions + 1
        act_dropout = dropout if config["act_dropout"] is None else config["act_dropout"]
        d_model, hidden, eps = config["d_model"], config["dim_feedforward"], config["layer_norm_eps"]
        self.normalize_before = config["normalize_before"]
        weights, biases = _attrs(config["weight_attr"], parts), _attrs(config["bias_attr"], parts)
        attn_dropout = dropout if config["attn_dropout"] is None else config["attn_dropout"]
        for name, weight, bias in zip(("self_attn", "cross_attn"), weights[:-1], biases[:-1], strict=False):
            attention = MultiHeadAttention(d_model, config["nhead"], attn_dropout, weight_attr=weight, bias_attr=bias)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, hidden, weights[-1], biases[-1])
        self.dropout = Dropout(act_dropout)
        self.linear2 = Linear(hidden, d_model, weights[-1], biases[-1])
        for number in range(1, parts + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model, eps))
        for number in range(1, parts + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = getattr(F, config["activation"])

    def _part(self, number: int, x: Any, part: Callable[[Any], Any]) -> Any:
        """``x + part(x)``, with the normalisation and dropout of that number."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.normalize_before:
            return x + dropout(part(norm(x)))
        return norm(x + dropout(part(x)))

    def _feed_forward(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Block):
    """Self-attention and a feed-forward part, each with a shortcut, normalisation and dropout."""

    attentions = 1

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__({name: value for name, value in locals().items() if name not in ("self", "__class__")})

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        """The output, shape ``[N, S, d_model]`` like `src`; with a `cache`, a pair with the new cache.

        `src_mask` as `attn_mask` of `MultiHeadAttention`.
        """
        need_tensors(src)
        mask = additive_mask(src_mask, src.dtype)
        caches = []

        def attend(x: Any) -> Any:
            if cache is None:
                return self.self_attn(x, x, x, mask)
            result, new = self.self_attn(x, x, x, mask, cache)
            caches.append(new)
            return result

        output = self._part(2, self._part(1, src, attend), self._feed_forward)
        return (output, caches[0]) if caches else output

    def gen_cache(self, src: Any) -> Any:
        """An empty cache for a batch as large as that of `src`."""
        return self.self_attn.gen_cache(src, type=MultiHeadAttention.Cache)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to the encoder's output, and a feed-forward part, each as in the encoder."""

    attentions = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__({name: value for name, value in locals().items() if name not in ("self", "__class__")})

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None) -> Any:
        """The output, shape ``[N, S, d_model]`` like `tgt`; with a `cache`, a pair with the new caches.

        `memory` is the encoder's output; the masks as `attn_mask` of `MultiHeadAttention`.
        """
        need_tensors(tgt, memory)
        own_mask, memory_mask = additive_mask(tgt_mask, tgt.dtype), additive_mask(memory_mask, memory.dtype)
        caches = []

        def attend(x: Any) -> Any:
            if cache is None:
                return self.self_attn(x, x, x, own_mask)
            result, new = self.self_attn(x, x, x, own_mask, cache[0])
            caches.append(new)
            return result

        def look_back(x: Any) -> Any:
            if cache is None:
                return self.cross_attn(x, memory, memory, memory_mask)
            result, same = self.cross_attn(x, memory, memory, memory_mask, cache[1])
            caches.append(same)
            return result

        output = self._part(2, self._part(1, tgt, attend), look_back)
        output = self._part(3, output, self._feed_forward)
        return (output, tuple(caches)) if caches else output

    def gen_cache(self, memory: Any) -> Any:
        """Caches of self-attention (empty) and of the attention to `memory`."""
        own = self.self_attn.gen_cache(memory, type=MultiHeadAttention.Cache)
        return own, self.cross_attn.gen_cache(memory, memory, type=MultiHeadAttention.StaticCache)


def _alike(layer: Any, count: int) -> LayerList:
    """`layer` and more layers made from the same settings, with parameters of their own."""
    return LayerList([layer, *(type(layer)(**layer._config) for _ in range(count - 1))])


class TransformerEncoder(Layer):
    """`num_layers` layers like `encoder_layer`, and a normalisation behind the last one, if given."""

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _alike(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        """As `TransformerEncoderLayer`; `cache` is a list with one for each layer."""
        need_tensors(src)
        mask, output, caches = additive_mask(src_mask, src.dtype), src, []
        for place, layer in enumerate(self.layers):
            if cache is None:
                output = layer(output, src_mask=mask)
            else:
                output, new = layer(output, src_mask=mask, cache=cache[place])
                caches.append(new)
        if self.norm is not None:
            output = self.norm(output)
        return output if cache is None else (output, caches)

    def gen_cache(self, src: Any) -> list[Any]:
        """Empty caches for a batch as large as that of `src`."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(Layer):
    """`num_layers` layers like `decoder_layer`, and a normalisation behind the last one, if given."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _alike(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None) -> Any:
        """As `TransformerDecoderLayer`; `cache` is a list with one for each layer."""
        need_tensors(tgt, memory)
        own_mask, memory_mask = additive_mask(tgt_mask, tgt.dtype), additive_mask(memory_mask, memory.dtype)
        output, caches = tgt, []
        for place, layer in enumerate(self.layers):
            if cache is None:
                output = layer(output, memory, tgt_mask=own_mask, memory_mask=memory_mask)
            else:
                output, new = layer(output, memory, tgt_mask=own_mask, memory_mask=memory_mask, cache=cache[place])
                caches.append(new)
        if self.norm is not None:
            output = self.norm(output)
        return output if cache is None else (output, caches)

    def gen_cache(self, memory: Any, do_zip: bool = False) -> list[Any]:
        """Caches of the layers for `memory`; with `do_zip`, all first ones and all second ones."""
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches, strict=True)) if do_zip else caches


class Transformer(Layer):
    """An encoder, and a decoder that attends to its output.

    Parameters
    ----------
    d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before
        As the layers.
    num_encoder_layers, num_decoder_layers : int
        How many layers there are.
    weight_attr, bias_attr : ParamAttr, Initializer, str, False or list of these, optional
        Settings for attention, attention to the encoder, and feed-forward part; a list of two leaves out the second.
    custom_encoder, custom_decoder : Layer, optional
        Used in place of new ones.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
    ) -> None:
        super().__init__()
        self.d_model, self.nhead = d_model, nhead
        size = d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before
        if custom_encoder is None:
            attrs = [_for_parts(attr, 2) for attr in (weight_attr, bias_attr)]
            layer: Layer = TransformerEncoderLayer(*size, *attrs)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is None:
            attrs = [_for_parts(attr, 3) for attr in (weight_attr, bias_attr)]
            layer = TransformerDecoderLayer(*size, *attrs)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model))
        self.encoder, self.decoder = custom_encoder, custom_decoder

    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None) -> Any:
        """The decoder's output, shape ``[N, S, d_model]`` like `tgt`; masks as `attn_mask` of `MultiHeadAttention`."""
        memory = self.encoder(src, src_mask=src_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)

    def generate_square_subsequent_mask(self, length: int) -> Any:
        """A mask, shape ``[length, length]``, with which each position sees itself and those before."""
        return triu(full([length, length], -np.inf, default_dtype()), 1)


def _for_parts(attr: Any, count: int) -> Any:
    """A list of settings in the length for an encoder layer (2) or a decoder layer (3)."""
    if not isinstance(attr, list | tuple):
        return attr
    if not 1 <= len(attr) <= 3:
        raise ArgumentError(f"a list of settings needs 1, 2 or 3 entries, got {len(attr)}")
    middle = [attr[1] if len(attr) == 3 else attr[0]] if count == 3 else []
    return [attr[0], *middle, attr[-1]]
