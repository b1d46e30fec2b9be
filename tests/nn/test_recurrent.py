"""Recurrent networks and attention, beyond what the oracle compares: names, caches, sizes of the run, errors."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s import nn
from d2s.static import InputSpec


def test_parameters_are_found_by_layer_and_are_those_of_the_cells() -> None:
    net = nn.LSTM(3, 4, num_layers=2, direction="bidirect")
    assert net.weight_ih_l0 is net[0].cell_fw.weight_ih
    assert net.bias_hh_l1_reverse is net[1].cell_bw.bias_hh
    assert len(net.parameters()) == 16
    assert net.weight_ih_l1.shape == [16, 8]


def test_dropout_between_layers_is_random_in_training_only() -> None:
    net, x = nn.GRU(3, 4, num_layers=2, dropout=0.5), d2s.randn([2, 5, 3])
    assert not np.array_equal(net(x)[0].numpy(), net(x)[0].numpy())
    net.eval()
    np.testing.assert_array_equal(net(x)[0].numpy(), net(x)[0].numpy())


def test_one_program_serves_every_batch() -> None:
    net = nn.LSTM(3, 4)
    static = d2s.to_static(lambda x: net(x)[0], input_spec=[InputSpec([None, 5, 3], "float32")])
    for batch in (2, 7):
        x = d2s.randn([batch, 5, 3])
        np.testing.assert_array_equal(static(x).numpy(), net(x)[0].numpy())
    assert "1 Program>" in repr(static)


def test_a_cell_of_ones_own_may_have_any_states() -> None:
    class Sums(nn.RNNCellBase):
        @property
        def state_shape(self):
            return (3,)

        def forward(self, inputs, states, factor=1.0):
            states = states + inputs * factor
            return states, states

    x = d2s.to_tensor(np.arange(12.0, dtype="float32").reshape(2, 2, 3))
    outputs, state = nn.RNN(Sums())(x, factor=2.0)
    np.testing.assert_array_equal(outputs.numpy(), 2 * np.cumsum(x.numpy(), 1))
    np.testing.assert_array_equal(state.numpy(), 2 * x.numpy().sum(1))


def test_errors_of_recurrent_networks() -> None:
    with pytest.raises(ValueError, match="direction must be"):
        nn.GRU(3, 4, direction="backward")
    with pytest.raises(ValueError, match="activation must be"):
        nn.SimpleRNNCell(3, 4, activation="gelu")
    with pytest.raises(ValueError, match="proj_size must be below"):
        nn.LSTMCell(3, 4, proj_size=4)
    with pytest.raises(ValueError, match="num_layers must be positive"):
        nn.LSTM(3, 4, num_layers=0)
    with pytest.raises(ValueError, match="hidden_size must be positive"):
        nn.GRUCell(3, 0)
    with pytest.raises(d2s.ShapeError, match="at least one step"):
        nn.LSTM(3, 4)(d2s.zeros([2, 0, 3]))
    with pytest.raises(d2s.ShapeError, match="initial states of 3 cells"):
        nn.GRU(3, 4)(d2s.zeros([2, 5, 3]), d2s.zeros([3, 2, 4]))


def test_a_cache_gives_step_by_step_what_a_mask_gives_at_once() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2)
    x = d2s.randn([2, 4, 8])
    mask = d2s.triu(d2s.full([4, 4], float("-inf")), 1)
    whole = encoder(x, mask).numpy()
    cache = encoder.gen_cache(x)
    for place in range(4):
        part, cache = encoder(x[:, place : place + 1], cache=cache)
        np.testing.assert_allclose(part.numpy()[:, 0], whole[:, place], rtol=1e-4, atol=1e-5)


def test_a_static_cache_stands_for_the_memory() -> None:
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0), 2, nn.LayerNorm(8))
    memory, x = d2s.randn([2, 5, 8]), d2s.randn([2, 3, 8])
    mask = d2s.triu(d2s.full([3, 3], float("-inf")), 1)
    whole = decoder(x, memory, mask).numpy()
    cache = decoder.gen_cache(memory)
    for place in range(3):
        part, cache = decoder(x[:, place : place + 1], memory, cache=cache)
        np.testing.assert_allclose(part.numpy()[:, 0], whole[:, place], rtol=1e-4, atol=1e-5)


def test_layers_of_a_transformer_have_parameters_of_their_own() -> None:
    net = nn.Transformer(8, 2, 2, 2, 16, weight_attr=d2s.ParamAttr(name="w"), bias_attr=[None, False])
    values = [parameter.numpy() for parameter in net.encoder.layers[0].parameters() if parameter.ndim == 2]
    others = [parameter.numpy() for parameter in net.encoder.layers[1].parameters() if parameter.ndim == 2]
    assert all(not np.array_equal(one, other) for one, other in zip(values, others, strict=True))
    assert net.decoder.layers[0].linear1.bias is None
    assert net.decoder.layers[0].cross_attn.q_proj.bias is not None
    mask = net.generate_square_subsequent_mask(3).numpy()
    np.testing.assert_array_equal(np.isinf(mask), np.triu(np.ones((3, 3), bool), 1))


def test_errors_of_attention() -> None:
    with pytest.raises(ValueError, match="num_heads=3 must divide embed_dim=8"):
        nn.MultiHeadAttention(8, 3)
    with pytest.raises(ValueError, match="there are 2 parts to set, got a list of 3"):
        nn.TransformerEncoderLayer(8, 2, 16, weight_attr=[None, None, None])
    q = d2s.randn([1, 3, 4, 2])
    with pytest.raises(d2s.ShapeError, match="4 heads of the query cannot share 3"):
        nn.functional.scaled_dot_product_attention(q, q[:, :, :3], q[:, :, :3])


def test_heads_of_the_query_may_share_those_of_the_key() -> None:
    q, kv = d2s.randn([1, 3, 4, 2]), d2s.randn([1, 3, 2, 2])
    shared = nn.functional.scaled_dot_product_attention(q, kv, kv, scale=0.3)
    repeated = d2s.repeat_interleave(kv, 2, 2)
    each = nn.functional.scaled_dot_product_attention(q, repeated, repeated, scale=0.3)
    np.testing.assert_array_equal(shared.numpy(), each.numpy())
