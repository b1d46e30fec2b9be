"""Layers in random configurations: each case gives how to make the layer from an `nn`, and the arrays to call it on.

The code is run with `d2s.nn` and with `paddle.nn`.  Arrays of floats are differentiated.
"""

from __future__ import annotations

import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def one_of(r, *choices):
    return choices[r.integers(len(choices))]


def sizes(r, count, low=1, high=6):
    return [int(size) for size in r.integers(low, high, count)]


def floats(r, *shape):
    return r.standard_normal(shape)


class Fixed(np.ndarray):
    """An array of floats that is not differentiated: labels, variances of what was seen."""


def fixed(array):
    return np.asarray(array, "float64").view(Fixed)


# --- layers of one input without a configuration to speak of --------------------------------------------------------

PLAIN = [
    "CELU",
    "ELU",
    "GELU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Swish",
    "Tanh",
    "Tanhshrink",
    "ThresholdedReLU",
    "Flatten",
    "Identity",
]


def plain(name):
    def make_case(r):
        x = floats(r, *sizes(r, r.integers(2, 5), 0, 5)) * one_of(r, 1.0, 10.0)
        return lambda nn: getattr(nn, name)(), [x]

    CASES[name] = make_case


for name in PLAIN:
    plain(name)


@case
def activations_with_settings(r):
    x, alpha = floats(r, 3, 4, 2) * 3, float(r.uniform(0.1, 2))
    make = one_of(
        r,
        lambda nn: nn.CELU(alpha),
        lambda nn: nn.ELU(alpha),
        lambda nn: nn.GELU(True),
        lambda nn: nn.SELU(1 + alpha, alpha),
        lambda nn: nn.Hardshrink(alpha),
        lambda nn: nn.Softshrink(alpha),
        lambda nn: nn.Hardtanh(-alpha, 2 * alpha),
        lambda nn: nn.LeakyReLU(alpha),
        lambda nn: nn.Softplus(beta=alpha, threshold=2.0),
        lambda nn: nn.ThresholdedReLU(alpha),
        lambda nn: nn.Softmax(axis=1),
        lambda nn: nn.LogSoftmax(axis=0),
        lambda nn: nn.GLU(axis=1),
        lambda nn: nn.GLU(),
        lambda nn: nn.PReLU(4, init=alpha),
        lambda nn: nn.RReLU(0.1, 0.1),
    )
    return make, [x]


@case
def softmax_of_images(r):
    return lambda nn: nn.Softmax2D(), [floats(r, *sizes(r, one_of(r, 3, 4)))]


# --- linear ---------------------------------------------------------------------------------------------------------


@case
def linear(r):
    i, o = sizes(r, 2)
    bias = one_of(r, None, False)
    return lambda nn: nn.Linear(i, o, bias_attr=bias), [floats(r, *sizes(r, r.integers(0, 4), 0, 4), i)]


@case
def bilinear(r):
    i, j, o, n = sizes(r, 4)
    bias = one_of(r, None, False)
    return lambda nn: nn.Bilinear(i, j, o, bias_attr=bias), [floats(r, n, i), floats(r, n, j)]


@case
def embedding(r):
    rows, width = sizes(r, 2, 2)
    padding = one_of(r, None, 0, -1, rows - 1)
    index = r.integers(0, rows, sizes(r, r.integers(1, 4), 1, 4))
    return lambda nn: nn.Embedding(rows, width, padding_idx=padding), [index]


@case
def distances(r):
    x, y = floats(r, 3, 4), floats(r, 3, 4)
    p = one_of(r, 1.0, 2.0, 3.0)
    return one_of(
        r,
        lambda nn: nn.CosineSimilarity(axis=1),
        lambda nn: nn.CosineSimilarity(axis=0, eps=1e-3),
        lambda nn: nn.PairwiseDistance(p),
        lambda nn: nn.PairwiseDistance(p, 1e-2, True),
    ), [x, y]


# --- convolution and pooling ----------------------------------------------------------------------------------------


@case
def conv1d(r):
    groups = one_of(r, 1, 2)
    i, o, k = groups * one_of(r, 1, 2), groups * one_of(r, 1, 2), one_of(r, 1, 2, 3)
    settings = {
        "stride": one_of(r, 1, 2),
        "padding": one_of(r, 0, 1, [1], [1, 2], "SAME", "VALID"),
        "dilation": one_of(r, 1, 2),
        "groups": groups,
        "bias_attr": one_of(r, None, False),
        "data_format": one_of(r, "NCL", "NLC"),
    }
    if settings["padding"] in (1, [1], [1, 2]):
        settings["padding_mode"] = one_of(r, "zeros", "reflect", "replicate", "circular")
        if settings["padding_mode"] != "zeros":
            settings["padding"] = 1
    if settings["padding"] == "SAME":
        settings["dilation"] = 1
    length = int(r.integers(6, 10))
    x = floats(r, 2, i, length) if settings["data_format"] == "NCL" else floats(r, 2, length, i)
    return lambda nn: nn.Conv1D(i, o, k, **settings), [x]


@case
def conv2d(r):
    groups = one_of(r, 1, 2, 3)
    i, o = groups * one_of(r, 1, 2), groups * one_of(r, 1, 2)
    settings = {
        "kernel_size": one_of(r, 1, 2, 3, [2, 3]),
        "stride": one_of(r, 1, 2, [1, 2]),
        "padding": one_of(r, 0, 1, [1, 2], [0, 1, 2, 1], [[0, 0], [0, 0], [1, 2], [0, 1]], "SAME", "VALID"),
        "dilation": one_of(r, 1, 2, [1, 2]),
        "groups": groups,
        "bias_attr": one_of(r, None, False),
        "data_format": one_of(r, "NCHW", "NHWC"),
    }
    if settings["data_format"] == "NHWC" and isinstance(settings["padding"], list) and len(settings["padding"]) == 4:
        settings["padding"] = [0, 1, 2, 1]
    if settings["padding"] == 1:
        settings["padding_mode"] = one_of(r, "zeros", "reflect", "replicate", "circular")
    if settings["padding"] == "SAME":
        settings["dilation"] = 1
    height, width = sizes(r, 2, 6, 9)
    x = floats(r, 2, i, height, width) if settings["data_format"] == "NCHW" else floats(r, 2, height, width, i)
    return lambda nn: nn.Conv2D(i, o, **settings), [x]


@case
def conv1d_transpose(r):
    groups = one_of(r, 1, 2)
    i, o, k, stride = groups * one_of(r, 1, 2), groups * one_of(r, 1, 2), one_of(r, 1, 2, 3), one_of(r, 1, 2, 3)
    settings = {"stride": stride, "padding": one_of(r, 0, 1), "groups": groups, "dilation": one_of(r, 1, 2)}
    settings["output_padding"] = int(r.integers(0, stride))
    return lambda nn: nn.Conv1DTranspose(i, o, k, **settings), [floats(r, 2, i, int(r.integers(4, 8)))]


@case
def conv2d_transpose(r):
    groups = one_of(r, 1, 2)
    i, o, stride = groups * one_of(r, 1, 2), groups * one_of(r, 1, 2), one_of(r, 1, 2)
    settings = {
        "kernel_size": one_of(r, 2, 3, [2, 3]),
        "stride": stride,
        "padding": one_of(r, 0, 1, [0, 1]),
        "groups": groups,
        "dilation": one_of(r, 1, 2),
        "bias_attr": one_of(r, None, False),
        "data_format": one_of(r, "NCHW", "NHWC"),
    }
    settings["output_padding"] = int(r.integers(0, stride))
    height, width = sizes(r, 2, 4, 7)
    x = floats(r, 2, i, height, width) if settings["data_format"] == "NCHW" else floats(r, 2, height, width, i)
    return lambda nn: nn.Conv2DTranspose(i, o, **settings), [x]


@case
def pooling_1d(r):
    x, k = floats(r, 2, 3, int(r.integers(7, 12))), one_of(r, 2, 3)
    settings = {
        "kernel_size": k,
        "stride": one_of(r, None, 1, 2),
        "padding": one_of(r, 0, 1),
        "ceil_mode": one_of(r, False, True),
    }
    if settings["ceil_mode"] and settings["padding"]:
        settings.update(kernel_size=3, stride=2)  # No window lies in the border alone.
    exclusive, size = one_of(r, False, True), one_of(r, 1, 3, 5)
    return one_of(
        r,
        lambda nn: nn.MaxPool1D(**settings),
        lambda nn: nn.MaxPool1D(**settings, return_mask=True),
        lambda nn: nn.AvgPool1D(**settings, exclusive=exclusive),
        lambda nn: nn.AdaptiveAvgPool1D(size),
        lambda nn: nn.AdaptiveMaxPool1D(size),
    ), [x]


@case
def max_pool_2d(r):
    height, width = sizes(r, 2, 6, 10)
    settings = {
        "kernel_size": one_of(r, 2, 3, [2, 3]),
        "stride": one_of(r, None, 1, 2, [1, 2]),
        "padding": one_of(r, 0, 1, [1, 0]),
        "ceil_mode": one_of(r, False, True),
        "return_mask": one_of(r, False, True),
    }
    # The other library crashes.
    settings["ceil_mode"] &= not settings["return_mask"]
    if settings["ceil_mode"] and settings["padding"] != 0:
        settings.update(kernel_size=3, stride=2)  # No window lies in the border alone.
    return lambda nn: nn.MaxPool2D(**settings), [floats(r, 2, 3, height, width)]


@case
def avg_pool_2d(r):
    height, width = sizes(r, 2, 6, 10)
    settings = {
        "kernel_size": one_of(r, 2, 3, [2, 3]),
        "stride": one_of(r, None, 1, 2, [1, 2]),
        "padding": one_of(r, 0, 1, [1, 0]),
        "ceil_mode": one_of(r, False, True),
        "exclusive": one_of(r, False, True),
        "divisor_override": one_of(r, None, 3),
        "data_format": one_of(r, "NCHW", "NHWC"),
    }
    if settings["ceil_mode"] and settings["padding"] != 0:
        settings.update(kernel_size=3, stride=2)  # No window lies in the border alone.
    if settings["ceil_mode"]:
        settings["divisor_override"] = None  # The other library scales the mean of the places that count.
    x = floats(r, 2, 3, height, width) if settings["data_format"] == "NCHW" else floats(r, 2, height, width, 3)
    return lambda nn: nn.AvgPool2D(**settings), [x]


@case
def adaptive_pool_2d(r):
    height, width = sizes(r, 2, 5, 10)
    size = one_of(r, 1, 3, [2, 4], [None, 2], [3, None])
    kind = one_of(r, "AdaptiveAvgPool2D", "AdaptiveMaxPool2D")
    return lambda nn: getattr(nn, kind)(size), [floats(r, 2, 3, height, width)]


# --- borders, sizes, patches ----------------------------------------------------------------------------------------


@case
def borders(r):
    width, value = one_of(r, 1, [1, 2, 0, 1], [2, 0, 1, 1]), float(r.uniform(-1, 1))
    mode, short = one_of(r, "constant", "reflect", "replicate", "circular"), one_of(r, 1, [1, 2])
    make, axes = one_of(
        r,
        (lambda nn: nn.Pad2D(width, mode, value), 4),
        (lambda nn: nn.Pad1D(short, mode, value), 3),
        (lambda nn: nn.ZeroPad2D(width), 4),
        (lambda nn: nn.ZeroPad1D(short), 3),
        (lambda nn: nn.ConstantPad2D(width, value), 4),
        (lambda nn: nn.ConstantPad1D(short, value), 3),
        (lambda nn: nn.ReflectionPad2D(width), 4),
        (lambda nn: nn.ReplicationPad2D(width), 4),
        (lambda nn: nn.ReflectionPad1D(short), 3),
        (lambda nn: nn.ReplicationPad1D(short), 3),
    )
    return make, [floats(r, 2, 3, *sizes(r, axes - 2, 4, 7))]


@case
def upsampling(r):
    x = floats(r, 2, 3, *sizes(r, 2, 2, 6))
    size, scale = sizes(r, 2, 2, 9), one_of(r, 2, 3, 1.5, [2, 1])
    given = one_of(r, {"size": size}, {"scale_factor": scale})
    mode = one_of(r, "bilinear", "bicubic")
    return one_of(
        r,
        lambda nn: nn.Upsample(**given),
        lambda nn: nn.Upsample(**given, mode=mode),
        lambda nn: nn.Upsample(**given, mode=mode, align_corners=True),
        lambda nn: nn.Upsample(**given, mode="bilinear", align_mode=1),
        lambda nn: nn.Upsample(size=size, mode="area"),
        lambda nn: nn.UpsamplingNearest2D(**given),
        lambda nn: nn.UpsamplingBilinear2D(**given),
    ), [x]


@case
def upsampling_of_sequences(r):
    x, size = floats(r, 2, 3, int(r.integers(2, 6))), int(r.integers(2, 9))
    corners = one_of(r, False, True)
    return lambda nn: nn.Upsample(size=[size], mode="linear", align_corners=corners, data_format="NCW"), [x]


@case
def channels(r):
    n, h, w = sizes(r, 3, 1, 4)
    size, kind = one_of(r, 3, 2, 5), one_of(r, "NCHW", "NHWC")

    def images(channels, height, width):
        return floats(r, n, channels, height, width) if kind == "NCHW" else floats(r, n, height, width, channels)

    return one_of(
        r,
        (lambda nn: nn.PixelShuffle(2, kind), [images(8, h, w)]),
        (lambda nn: nn.PixelUnshuffle(2, kind), [images(3, 2 * h, 2 * w)]),
        (lambda nn: nn.Maxout(2, axis=1 if kind == "NCHW" else -1), [images(6, h, w)]),
        (lambda nn: nn.ChannelShuffle(3, kind), [images(6, h, w)]),
        (lambda nn: nn.LocalResponseNorm(size, 0.1, 0.6, 1.5), [floats(r, n, 7, h, w)]),
        (lambda nn: nn.Unflatten(1, [2, -1]), [floats(r, 3, 6, 2)]),
    )


@case
def patches(r):
    settings = {
        "kernel_sizes": one_of(r, 2, 3, [2, 3]),
        "strides": one_of(r, 1, 2, [1, 2]),
        "paddings": one_of(r, 0, 1, [1, 2], [1, 0, 2, 1]),
        "dilations": one_of(r, 1, 2),
    }
    return lambda nn: nn.Unfold(**settings), [floats(r, 2, 3, *sizes(r, 2, 6, 9))]


@case
def patches_added(r):
    stride = one_of(r, 1, 2)
    count = (6 - 2) // stride + 1
    return lambda nn: nn.Fold(6, 2, strides=stride), [floats(r, 2, 3 * 4, count * count)]


# --- normalisation --------------------------------------------------------------------------------------------------


@case
def layer_norm(r):
    shape = sizes(r, r.integers(1, 3), 1, 5)
    attrs = {
        "weight_attr": one_of(r, None, False),
        "bias_attr": one_of(r, None, False),
        "epsilon": one_of(r, 1e-5, 1e-3),
    }
    return lambda nn: nn.LayerNorm(shape, **attrs), [floats(r, *sizes(r, r.integers(1, 3), 1, 4), *shape)]


@case
def batch_norm_1d(r):
    n, c, length = sizes(r, 3, 2, 6)
    kind, shape = one_of(r, ("NCL", (n, c)), ("NCL", (n, c, length)), ("NLC", (n, length, c)))
    settings = {
        "momentum": one_of(r, 0.9, 0.5),
        "epsilon": one_of(r, 1e-5, 0.1),
        "use_global_stats": one_of(r, None, True, False),
    }
    return lambda nn: nn.BatchNorm1D(c, data_format=kind, **settings), [floats(r, *shape)]


@case
def batch_norm_2d(r):
    n, c, h, w = sizes(r, 4, 2, 5)
    kind, shape = one_of(r, ("NCHW", (n, c, h, w)), ("NHWC", (n, h, w, c)))
    return lambda nn: nn.BatchNorm2D(c, data_format=kind), [floats(r, *shape)]


@case
def batch_norm_in_evaluation(r):
    c = int(r.integers(1, 5))

    def make(nn):
        layers = nn.Sequential(nn.Conv2D(2, c, 2), nn.BatchNorm2D(c))
        layers.eval()
        return layers

    return make, [floats(r, 3, 2, 4, 4)]


@case
def batch_norm_with_activation(r):
    act = one_of(r, None, "relu", "tanh")
    return lambda nn: nn.BatchNorm(3, act=act, dtype="float64"), [floats(r, 4, 3, 2, 2)]


@case
def group_norm(r):
    groups, per = one_of(r, 1, 2, 3), one_of(r, 1, 2)
    settings = {"epsilon": one_of(r, 1e-5, 0.1)}
    kind = one_of(r, "NCHW", "NHWC")
    h, w = sizes(r, 2, 1, 4)
    x = floats(r, 2, groups * per, h, w) if kind == "NCHW" else floats(r, 2, h, w, groups * per)
    return lambda nn: nn.GroupNorm(groups, groups * per, data_format=kind, **settings), [x]


@case
def instance_norm(r):
    kind, axes = one_of(r, ("InstanceNorm1D", 1), ("InstanceNorm2D", 2))
    attr = one_of(r, None, False)
    x = floats(r, 2, 3, *sizes(r, axes, 2, 5))
    return lambda nn: getattr(nn, kind)(3, weight_attr=attr, bias_attr=attr), [x]


# --- recurrent networks ---------------------------------------------------------------------------------------------


@case
def rnn_cells(r):
    i, h, n = sizes(r, 3, 2)
    x, state, memory = floats(r, n, i), floats(r, n, h), floats(r, n, h)
    start = one_of(r, True, False)
    kind = one_of(r, "SimpleRNNCell", "GRUCell", "LSTMCell")
    states = [] if not start else [(state, memory) if kind == "LSTMCell" else state]
    return lambda nn: getattr(nn, kind)(i, h), [x, *states]


@case
def rnn_layers(r):
    i, h, n, steps, layers = [*sizes(r, 4, 2, 5), one_of(r, 1, 2)]
    direction, time_major = one_of(r, "forward", "bidirect"), one_of(r, False, True)
    kind, activation = one_of(r, "SimpleRNN", "GRU", "LSTM"), one_of(r, "tanh", "relu")
    more = {"activation": activation} if kind == "SimpleRNN" else {}
    x = floats(r, steps, n, i) if time_major else floats(r, n, steps, i)
    inputs = [x]
    count = layers * (2 if direction == "bidirect" else 1)
    if one_of(r, True, False):
        state = floats(r, count, n, h)
        inputs.append((state, floats(r, count, n, h)) if kind == "LSTM" else state)
        # In both directions the other library gives wrong gradients for sequences of different lengths.
        if one_of(r, True, False) and direction == "forward":
            inputs.append(r.integers(1, steps + 1, n))
    return lambda nn: getattr(nn, kind)(i, h, layers, direction, time_major, **more), inputs


@case
def rnn_of_a_cell(r):
    i, h, n, steps = sizes(r, 4, 2, 5)
    reverse, time_major = one_of(r, False, True), one_of(r, False, True)
    kind = one_of(r, "SimpleRNNCell", "GRUCell", "LSTMCell")
    x = floats(r, steps, n, i) if time_major else floats(r, n, steps, i)
    inputs = [x] if one_of(r, True, False) else [x, None, r.integers(1, steps + 1, n)]
    if one_of(r, True, False):
        return lambda nn: nn.RNN(getattr(nn, kind)(i, h), reverse, time_major), inputs
    return lambda nn: nn.BiRNN(getattr(nn, kind)(i, h), getattr(nn, kind)(i, h), time_major), inputs


@case
def lstm_with_projection(r):
    return lambda nn: nn.RNN(nn.LSTMCell(3, 5, proj_size=2)), [floats(r, 2, 4, 3), (floats(r, 2, 2), floats(r, 2, 5))]


# --- attention ------------------------------------------------------------------------------------------------------


def masks(r, *shape):
    return one_of(r, None, floats(r, *shape), r.integers(0, 2, shape).astype(bool), r.integers(0, 2, shape))


@case
def multi_head_attention(r):
    heads, n, s, t = sizes(r, 4, 1, 4)
    d = heads * one_of(r, 1, 2)
    k, v = one_of(r, (d, d), (3, 5))
    need, bias = one_of(r, False, True), one_of(r, None, False)
    inputs = [floats(r, n, s, d), floats(r, n, t, k), floats(r, n, t, v), masks(r, n, 1, s, t)]
    return lambda nn: nn.MultiHeadAttention(d, heads, kdim=k, vdim=v, need_weights=need, bias_attr=bias), inputs


@case
def transformer_encoder(r):
    before, layers, act = one_of(r, False, True), one_of(r, 1, 2), one_of(r, "relu", "gelu")

    def make(nn):
        layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, activation=act, normalize_before=before)
        return nn.TransformerEncoder(layer, layers, nn.LayerNorm(4) if before else None)

    return make, [floats(r, 2, 3, 4), masks(r, 2, 1, 3, 3)]


@case
def transformer_decoder(r):
    before, layers = one_of(r, False, True), one_of(r, 1, 2)

    def make(nn):
        layer = nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0, normalize_before=before)
        return nn.TransformerDecoder(layer, layers, nn.LayerNorm(4) if before else None)

    return make, [floats(r, 2, 3, 4), floats(r, 2, 5, 4), masks(r, 2, 1, 3, 3), masks(r, 2, 1, 3, 5)]


@case
def transformer(r):
    bias = one_of(r, None, False)
    return lambda nn: nn.Transformer(4, 2, 1, 1, 6, dropout=0.0, bias_attr=bias), [
        floats(r, 2, 3, 4),
        floats(r, 2, 2, 4),
    ]
