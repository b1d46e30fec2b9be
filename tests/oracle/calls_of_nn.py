"""Activations, losses, pooling and other functions of layers; some functions without a place elsewhere."""

from __future__ import annotations

import numpy as np

from .calls import Array, Call, Draw, call

F = "nn.functional."


def functional(*names: str):
    return call(*(F + name for name in names))


def away_from_steps(d: Draw, shape: tuple[int, ...] | None = None, scale: float = 1.0) -> Array:
    """Numbers that are no corner of an activation: 0, 1, 3 and their like have one derivative on each side."""
    shape = d.shape() if shape is None else shape
    values = d.rng.uniform(0.05, 0.45, shape) + 0.5 * d.rng.integers(-8, 8, shape)
    return Array((values * scale).astype("float32"))


@functional("celu", "elu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid", "mish",
            "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "swish", "tanhshrink", "thresholded_relu")
def _activation(d: Draw) -> Call:
    return Call([away_from_steps(d)])


@call(*(f"{F}{name}|corners" for name in (
    "celu", "elu", "hardshrink", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid", "relu", "relu6", "selu",
    "softplus", "softshrink", "softsign", "tanhshrink", "thresholded_relu")), "abs|corners", "sign|corners")
def _at_corners(d: Draw) -> Call:
    return Call([Array(np.array([0, 1, -1, 3, -3, 6, 0.5, -0.5], "float32"))])


@call("fmax|corners", "fmin|corners", "maximum|corners", "minimum|corners", "nn.functional.l1_loss|corners",
      "nn.functional.smooth_l1_loss|corners")
def _equal_pairs(d: Draw) -> Call:
    return Call([Array(np.array([1, 2, 3, 0], "float32")), Array(np.array([1, 3, 2, 1], "float32"))])


@call("nn.functional.max_pool2d|corners", "nn.functional.maxout|corners", "nn.functional.adaptive_max_pool2d|corners")
def _equal_elements(d: Draw) -> Call:
    return Call([Array(np.ones((1, 2, 4, 4), "float32")), 2])


@call("nn.functional.binary_cross_entropy|corners")
def _certain(d: Draw) -> Call:
    return Call([Array(np.array([0, 1, 0, 1, 0.5], "float32")), label(np.array([0, 1, 1, 0, 0.5]))])


@call("nn.functional.margin_ranking_loss|corners")
def _at_the_margin(d: Draw) -> Call:
    x = Array(np.array([1, 2], "float32"))
    return Call([x, Array(x.data.copy()), label(np.ones(2))])


@call("nn.functional.hinge_embedding_loss|corners")
def _at_the_hinge(d: Draw) -> Call:
    return Call([Array(np.array([1, 2], "float32")), label(np.array([-1, 1]))])


@call("nn.functional.cosine_embedding_loss|corners")
def _at_right_angles(d: Draw) -> Call:
    return Call([Array(np.eye(2, dtype="float32")), Array(np.eye(2, dtype="float32")[::-1].copy()),
                 Array(np.array([-1, -1]))])


@call("nn.functional.multi_margin_loss|corners")
def _one_apart(d: Draw) -> Call:
    return Call([Array(np.array([[1, 0]], "float32")), Array(np.array([0]))])


@functional("softmax", "log_softmax")
def _softmax(d: Draw) -> Call:
    shape = d.shape(1, smallest=1)
    return Call([d.array(shape, dtype="float32"), d.axis(len(shape))])


@functional("glu")
def _glu(d: Draw) -> Call:
    return Call([d.array((*d.shape(0, 2, 1), 4), dtype="float32")])


@functional("swiglu")
def _swiglu(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    return Call([d.array(shape, dtype="float32"), d.array(shape, dtype="float32")])


@functional("maxout")
def _maxout(d: Draw) -> Call:
    return Call([d.distinct((d.int(1, 3), 4, 3, 2)), 2])


@functional("prelu")
def _prelu(d: Draw) -> Call:
    return Call([away_from_steps(d, (d.int(1, 3), 3, 4)), d.array(d.one((1,), (3,)), 0.1, 0.9, "float32")])


@functional("one_hot")
def _one_hot(d: Draw) -> Call:
    return Call([d.array(d.shape(1, 2, 1), 0, 3, "int64"), 4])


@functional("normalize")
def _normalize(d: Draw) -> Call:
    return Call([d.array((3, 4), 0.5, 2.0, "float32")], {"p": d.one(2, 3), "axis": d.one(0, 1)})


@functional("label_smooth")
def _label_smooth(d: Draw) -> Call:
    return Call([d.array((3, 4), 0.0, 1.0, "float32")])


def label(values: np.ndarray) -> Array:
    """Floats that require no gradient: to some labels Paddle gives one, to others not."""
    return Array(values.astype("float32"), stops=True)


# --- losses ----------------------------------------------------------------------------------------------------------


@functional("l1_loss", "mse_loss", "smooth_l1_loss")
def _distance(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    return Call([d.array(shape, 2.5, 4.0, "float32"), d.array(shape, 0.0, 1.2, "float32")],
                {"reduction": d.one("mean", "sum", "none")})


@functional("square_error_cost")
def _square_error(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    return Call([d.array(shape, dtype="float32"), d.array(shape, dtype="float32")])


@functional("binary_cross_entropy", "log_loss")
def _of_shares(d: Draw) -> Call:
    shape = (d.int(1, 4), 1)
    return Call([d.array(shape, 0.1, 0.9, "float32"), label(d.rng.uniform(0, 1, shape))])


@functional("binary_cross_entropy_with_logits", "sigmoid_focal_loss")
def _of_logits(d: Draw) -> Call:
    shape = (d.int(1, 3), d.int(1, 3))
    return Call([d.array(shape, dtype="float32"), label(d.rng.integers(0, 2, shape))])


@functional("cross_entropy")
def _cross_entropy(d: Draw) -> Call:
    rows = d.int(1, 4)
    return Call([d.array((rows, 3), dtype="float32"), d.array((rows,), 0, 2, "int64")],
                {"reduction": d.one("mean", "sum", "none")})


@functional("softmax_with_cross_entropy")
def _with_softmax(d: Draw) -> Call:
    rows = d.int(1, 4)
    return Call([d.array((rows, 3), dtype="float32"), d.array((rows, 1), 0, 2, "int64")])


@functional("nll_loss")
def _nll(d: Draw) -> Call:
    rows = d.int(1, 4)
    return Call([d.array((rows, 3), -3.0, -0.1, "float32"), d.array((rows,), 0, 2, "int64")],
                {"reduction": d.one("mean", "sum", "none")})


@functional("margin_ranking_loss")
def _ranking(d: Draw) -> Call:
    signs = Array(d.rng.choice([-1.0, 1.0], (4,)).astype("float32"))
    return Call([d.distinct((4,)), d.array((4,), 0.3, 0.7, "float32"), signs], {"margin": 0.1})


@functional("hinge_embedding_loss", "soft_margin_loss")
def _of_signs(d: Draw) -> Call:
    return Call([d.array((2, 3), -0.9, 0.9, "float32"), Array(d.rng.choice([-1.0, 1.0], (2, 3)).astype("float32"))])


@functional("cosine_embedding_loss")
def _cosine_loss(d: Draw) -> Call:
    signs = Array(d.rng.choice([-1, 1], (3,)).astype("int64"))
    return Call([d.array((3, 4), 0.2, 2.0, "float32"), d.array((3, 4), -2.0, -0.2, "float32"), signs])


@functional("cosine_similarity", "pairwise_distance")
def _pair(d: Draw) -> Call:
    return Call([d.array((3, 4), 0.2, 2.0, "float32"), d.array((3, 4), -2.0, -0.2, "float32")])


@functional("triplet_margin_loss", "triplet_margin_with_distance_loss")
def _triplet(d: Draw) -> Call:
    return Call([d.array((3, 4), 0.2, 2.0, "float32"), d.array((3, 4), -2.0, -0.2, "float32"),
                 d.array((3, 4), 2.2, 3.0, "float32")], {"margin": 9.0})


@functional("poisson_nll_loss")
def _poisson(d: Draw) -> Call:
    return Call([d.array((2, 3), dtype="float32"), d.array((2, 3), 0.0, 3.0, "float32")])


@functional("gaussian_nll_loss")
def _gaussian(d: Draw) -> Call:
    return Call([d.array((2, 3), dtype="float32"), label(d.rng.normal(size=(2, 3))),
                 d.array((2, 3), 0.5, 2.0, "float32")])


@functional("multi_label_soft_margin_loss")
def _multi_label(d: Draw) -> Call:
    return Call([d.array((2, 3), dtype="float32"), Array(d.rng.integers(0, 2, (2, 3)).astype("float32"))])


@functional("multi_margin_loss")
def _multi_margin(d: Draw) -> Call:
    return Call([d.array((3, 4), dtype="float32"), d.array((3,), 0, 3, "int64")], {"margin": 7.0})


@functional("dice_loss")
def _dice(d: Draw) -> Call:
    return Call([d.array((2, 4, 3), 0.1, 0.9, "float32"), d.array((2, 4, 1), 0, 2, "int64")])


# --- images ----------------------------------------------------------------------------------------------------------


@functional("max_pool1d", "avg_pool1d")
def _pool1d(d: Draw) -> Call:
    return Call([d.distinct((2, 3, 8)), d.one(2, 3)], {"stride": d.one(1, 2), "padding": d.one(0, 1)})


@functional("max_pool2d", "avg_pool2d")
def _pool2d(d: Draw) -> Call:
    return Call([d.distinct((2, 3, 6, 5)), d.one(2, [2, 3])], {"stride": d.one(1, 2), "padding": d.one(0, 1)})


@functional("adaptive_avg_pool1d", "adaptive_max_pool1d")
def _adaptive1d(d: Draw) -> Call:
    return Call([d.distinct((2, 3, 7)), d.int(1, 4)])


@functional("adaptive_avg_pool2d", "adaptive_max_pool2d")
def _adaptive2d(d: Draw) -> Call:
    return Call([d.distinct((2, 3, 6, 5)), [d.int(1, 4), d.int(1, 4)]])


@call("nn.functional.adaptive_max_pool1d|mask")
def _adaptive1d_with_mask(d: Draw) -> Call:
    return Call([d.array((2, 3, 7), -3, 3, d.one("float32", "float64")), d.int(1, 7)], {"return_mask": True})


@call("nn.functional.adaptive_max_pool2d|mask")
def _adaptive2d_with_mask(d: Draw) -> Call:
    return Call([d.distinct((2, 3, 6, 5)), d.one(d.int(1, 4), [d.int(1, 6), d.int(1, 5)], [None, 2]), True])


@call("nn.functional.pad|constant")
def _pad_of_last_axes(d: Draw) -> Call:
    shape = d.shape(1, 4, 1)
    widths = [d.int(0, 2) for _ in range(2 * d.int(1, len(shape)))]
    return Call([d.array(shape, dtype="float32"), widths], {"pad_from_left_axis": d.one(True, False), "value": 0.5})


@functional("pad")
def _pad(d: Draw) -> Call:
    mode = d.one("constant", "reflect", "replicate", "circular")
    return Call([d.array((2, 3, 4, 4), dtype="float32"), [d.int(0, 2) for _ in range(4)]], {"mode": mode})


@functional("zeropad2d")
def _zeropad(d: Draw) -> Call:
    return Call([d.array((2, 3, 4, 4), dtype="float32"), [d.int(0, 2) for _ in range(4)]])


@functional("interpolate", "upsample")
def _interpolate(d: Draw) -> Call:
    mode = d.one("nearest", "bilinear")
    return Call([d.array((1, 2, 3, 4), dtype="float32")], {"size": [d.int(2, 7), d.int(2, 7)], "mode": mode})


@functional("pixel_shuffle")
def _shuffle(d: Draw) -> Call:
    return Call([d.array((1, 8, 2, 3), dtype="float32"), 2])


@functional("pixel_unshuffle")
def _unshuffle(d: Draw) -> Call:
    return Call([d.array((1, 2, 4, 6), dtype="float32"), 2])


@functional("channel_shuffle")
def _channels(d: Draw) -> Call:
    return Call([d.array((1, 6, 2, 3), dtype="float32"), d.one(2, 3)])


@functional("unfold")
def _unfold(d: Draw) -> Call:
    return Call([d.array((1, 2, 5, 4), dtype="float32"), d.one(2, [3, 2])], {"strides": d.one(1, 2)})


@functional("fold")
def _fold(d: Draw) -> Call:
    return Call([d.array((1, 8, 12), dtype="float32"), [4, 5], 2])


@functional("local_response_norm")
def _response(d: Draw) -> Call:
    return Call([d.array((2, 5, 3, 3), 0.2, 2.0, "float32"), 3])


@functional("scaled_dot_product_attention")
def _attention(d: Draw) -> Call:
    return Call([d.array((2, 3, 2, 4), dtype="float32") for _ in range(3)], {"is_causal": d.one(True, False)})


@functional("sequence_mask")
def _mask(d: Draw) -> Call:
    return Call([d.array(d.shape(1, 2, 1), 0, 4, "int64")], {"maxlen": 5, "dtype": d.one("int64", "bool", "float32")})


# --- others ----------------------------------------------------------------------------------------------------------


@call("allclose")
def _allclose(d: Draw) -> Call:
    x = d.array((2, 3), dtype="float32")
    return Call([x, d.one(Array(x.data.copy()), d.array((2, 3), dtype="float32"))])


@call("equal_all")
def _equal_all(d: Draw) -> Call:
    x = d.array((2, 3), 0, 2, "int64")
    return Call([x, d.one(Array(x.data.copy()), d.array((2, 3), 0, 2, "int64"), d.array((3,), 0, 2, "int64"))])


@call("bitwise_invert")
def _invert(d: Draw) -> Call:
    return Call([d.array(d.shape(), -5, 5, d.one("int32", "int64", "bool"))])


@call("hsplit", "vsplit", "dsplit")
def _splits(d: Draw) -> Call:
    return Call([d.array((4, 2, 6), dtype="float32"), d.one(2, [1])])


@call("scatter_nd")
def _scatter_nd(d: Draw) -> Call:
    return Call([d.array((4, 1), 0, 2, "int64"), d.array((4, 2), dtype="float32"), [3, 2]])


@call("select_scatter")
def _select_scatter(d: Draw) -> Call:
    return Call([d.array((3, 4), dtype="float32"), d.array((4,), dtype="float32"), 0, d.int(0, 2)])


@call("isreal")
def _isreal(d: Draw) -> Call:
    return Call([d.array(d.shape(), dtype=d.one("float32", "complex64", "int64"))])


@call("ravel")
def _ravel(d: Draw) -> Call:
    return Call([d.array(d.shape())])


@call("view_as")
def _view_as(d: Draw) -> Call:
    return Call([d.array((2, 6), dtype="float32"), d.array((3, 4), dtype="float32")])


@call("narrow")
def _narrow(d: Draw) -> Call:
    return Call([d.array((4, 5), dtype="float32"), d.one(0, 1), d.int(0, 2), d.int(1, 2)])


@call("swapaxes")
def _swapaxes(d: Draw) -> Call:
    return Call([d.array((2, 3, 4), dtype="float32"), d.int(-3, 2), d.int(-3, 2)])


@call("negative")
def _negative(d: Draw) -> Call:
    return Call([d.array(d.shape())])


@call("is_complex", "is_floating_point", "is_integer")
def _kind(d: Draw) -> Call:
    return Call([d.array((2,), dtype=d.one("float32", "complex64", "int64"))])


def _positive(d: Draw) -> Array:
    half = d.rng.uniform(-1, 1, (d.int(1, 3), 3, 3))
    return Array((half @ half.swapaxes(-1, -2) + 2 * np.eye(3)).astype("float64"))


@call("cholesky")
def _cholesky(d: Draw) -> Call:
    return Call([_positive(d)], {"upper": d.one(True, False)})


@call("linalg.cholesky_solve")
def _cholesky_solve(d: Draw) -> Call:
    factor = np.linalg.cholesky(_positive(d).data)
    return Call([d.array((*factor.shape[:-1], 2), dtype="float64"), Array(factor)], {"upper": False})


@call("msort")
def _msort(d: Draw) -> Call:
    return Call([d.distinct((4, 2))])


@call("permute")
def _permute(d: Draw) -> Call:
    return Call([d.array((2, 3, 4)), [int(axis) for axis in d.rng.permutation(3)]])


@call("sub")
def _sub(d: Draw) -> Call:
    return Call([d.array((2, 3), dtype="float32"), d.array((3,), dtype="float32")], {"alpha": d.one(1, 2.5)})


@call("broadcast_shape")
def _broadcast_shape(d: Draw) -> Call:
    first, second = d.pair()
    return Call([list(first), list(second)])


@functional("relu", "gelu")
def _relu(d: Draw) -> Call:
    return Call([away_from_steps(d)])


@functional("kl_div")
def _kl_div(d: Draw) -> Call:
    return Call([d.array((2, 3), -3.0, -0.1, "float32"), label(d.rng.uniform(0.1, 0.9, (2, 3)))],
                {"reduction": d.one("mean", "sum", "none", "batchmean")})


@functional("embedding")
def _embedding(d: Draw) -> Call:
    return Call([d.array(d.shape(1, 2, 1), 0, 4, "int64"), d.array((5, 3), dtype="float32")])


@functional("linear")
def _linear(d: Draw) -> Call:
    bias = [d.array((2,), dtype="float32")] * d.int(0, 1)
    return Call([d.array((*d.shape(1, 2, 1), 3), dtype="float32"), d.array((3, 2), dtype="float32"), *bias])


@functional("bilinear")
def _bilinear(d: Draw) -> Call:
    return Call([d.array((4, 2), dtype="float32"), d.array((4, 3), dtype="float32"),
                 d.array((5, 2, 3), dtype="float32"), d.array((1, 5), dtype="float32")])


@functional("layer_norm")
def _layer_norm(d: Draw) -> Call:
    return Call([d.array((3, 4), dtype="float32"), 4, d.array((4,), dtype="float32"), d.array((4,), dtype="float32")])


@functional("group_norm")
def _group_norm(d: Draw) -> Call:
    return Call([d.array((2, 4, 3), dtype="float32"), 2],
                {"weight": d.array((4,), dtype="float32"), "bias": d.array((4,), dtype="float32")})


@functional("conv1d")
def _conv1d(d: Draw) -> Call:
    return Call([d.array((2, 4, 7), dtype="float32"), d.array((6, 2, 3), dtype="float32")],
                {"stride": d.one(1, 2), "padding": d.one(0, 1), "dilation": d.one(1, 2), "groups": 2})


@functional("conv2d")
def _conv2d(d: Draw) -> Call:
    return Call([d.array((2, 4, 7, 6), dtype="float32"), d.array((6, 2, 3, 2), dtype="float32")],
                {"stride": d.one(1, [2, 1]), "padding": d.one(0, [1, 0]), "dilation": d.one(1, 2), "groups": 2})


@functional("conv1d_transpose")
def _conv1d_transpose(d: Draw) -> Call:
    return Call([d.array((2, 4, 5), dtype="float32"), d.array((4, 3, 3), dtype="float32")],
                {"stride": d.one(1, 2), "padding": d.one(0, 1)})


@functional("conv2d_transpose")
def _conv2d_transpose(d: Draw) -> Call:
    return Call([d.array((2, 4, 5, 4), dtype="float32"), d.array((4, 3, 3, 2), dtype="float32")],
                {"stride": d.one(1, [2, 1]), "padding": d.one(0, 1)})
