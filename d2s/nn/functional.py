"""The functions that layers are made of; their parameters are described where they are defined."""

from d2s.ops import activation, logits
from d2s.ops.activation import (
    celu,
    elu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    swiglu,
    swish,
    tanh,
    tanhshrink,
    thresholded_relu,
)
from d2s.ops.attention import scaled_dot_product_attention
from d2s.ops.channels import channel_shuffle, local_response_norm, maxout, pixel_shuffle, pixel_unshuffle
from d2s.ops.convolution import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
)
from d2s.ops.density_losses import dice_loss, gaussian_nll_loss, log_loss, poisson_nll_loss, sigmoid_focal_loss
from d2s.ops.derived_methods import DerivedMethods, in_place
from d2s.ops.diagonals import diag_embed
from d2s.ops.dropout import dropout, dropout2d
from d2s.ops.encoding import embedding, one_hot
from d2s.ops.error_function import gelu
from d2s.ops.interpolation import interpolate, upsample
from d2s.ops.lengths import sequence_mask
from d2s.ops.logits import log_softmax, softmax
from d2s.ops.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    kl_div,
    l1_loss,
    label_smooth,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
    softmax_with_cross_entropy,
    square_error_cost,
)
from d2s.ops.margin_losses import (
    hinge_embedding_loss,
    multi_label_soft_margin_loss,
    multi_margin_loss,
    pairwise_distance,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from d2s.ops.noise import alpha_dropout, dropout1d, gumbel_softmax, rrelu
from d2s.ops.normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from d2s.ops.patches import fold, unfold
from d2s.ops.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool2d,
)
from d2s.ops.products import linear
from d2s.ops.rearranging import pad, zeropad2d
from d2s.ops.shape import flatten
from d2s.ops.statistics import normalize
from d2s.ops.summation import bilinear

logsigmoid = log_sigmoid

# In place.  Where several ops read the tensor in their gradients, they read a copy of it.
relu_, tanh_ = DerivedMethods.relu_, DerivedMethods.tanh_
elu_, hardtanh_ = in_place(activation.elu, True), in_place(activation.hardtanh, True)
leaky_relu_, thresholded_relu_ = in_place(activation.leaky_relu, True), in_place(activation.thresholded_relu, True)
softmax_ = in_place(logits.softmax, True)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "channel_shuffle",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "diag_embed",
    "dice_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "elu",
    "elu_",
    "embedding",
    "flatten",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "label_smooth",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_loss",
    "log_sigmoid",
    "log_softmax",
    "logsigmoid",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "maxout",
    "mish",
    "mse_loss",
    "multi_label_soft_margin_loss",
    "multi_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "scaled_dot_product_attention",
    "selu",
    "sequence_mask",
    "sigmoid",
    "sigmoid_focal_loss",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmax_",
    "softmax_with_cross_entropy",
    "softplus",
    "softshrink",
    "softsign",
    "square_error_cost",
    "swiglu",
    "swish",
    "tanh",
    "tanh_",
    "tanhshrink",
    "thresholded_relu",
    "thresholded_relu_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "zeropad2d",
]
