"""Losses in random configurations, in the form of `layer_cases`."""

from __future__ import annotations

import numpy as np

from .layer_cases import fixed, floats, one_of, sizes

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def reduction(r):
    return one_of(r, "mean", "sum", "none")


def signs(r, *shape):
    return fixed(r.integers(0, 2, shape) * 2 - 1)


@case
def cross_entropy_of_classes(r):
    classes, shape = int(r.integers(2, 6)), sizes(r, r.integers(1, 4), 1, 4)
    axis = one_of(r, -1, 1 if len(shape) > 1 else -1)
    place = axis % (len(shape) + 1)
    x = floats(r, *shape[:place], classes, *shape[place:])
    label = r.integers(0, classes, shape)
    if one_of(r, True, False):
        label = np.expand_dims(label, place)
    ignored = one_of(r, -100, 0, 1)
    weight = one_of(r, None, r.uniform(0.5, 2, classes))
    settings = {"ignore_index": ignored, "reduction": reduction(r), "axis": axis}
    if (label == ignored).all():
        label = np.where(np.arange(label.size).reshape(label.shape) == 0, (ignored + 1) % classes, label)
    return lambda nn, w=None: nn.CrossEntropyLoss(weight=w, **settings), [x, label], weight


@case
def cross_entropy_of_probabilities(r):
    classes, n = sizes(r, 2, 2)
    label = r.dirichlet(np.ones(classes), n)
    settings = {"reduction": reduction(r), "soft_label": True, "label_smoothing": one_of(r, 0.0, 0.1)}
    weight = one_of(r, None, r.uniform(0.5, 2, classes))
    return lambda nn, w=None: nn.CrossEntropyLoss(weight=w, **settings), [floats(r, n, classes), fixed(label)], weight


@case
def cross_entropy_with_smoothing(r):
    classes, n = sizes(r, 2, 2)
    # With "none" the other library gives the shape (n, 1).
    settings = {"reduction": one_of(r, "mean", "sum"), "label_smoothing": float(r.uniform(0.05, 0.5))}
    return lambda nn, w=None: nn.CrossEntropyLoss(**settings), [floats(r, n, classes), r.integers(0, classes, n)], None


@case
def cross_entropy_without_softmax(r):
    classes, n = sizes(r, 2, 2)
    x = r.dirichlet(np.ones(classes), n)
    settings = {"reduction": reduction(r), "use_softmax": False}
    return lambda nn, w=None: nn.CrossEntropyLoss(**settings), [x, r.integers(0, classes, n)], None


@case
def nll(r):
    classes, shape = int(r.integers(2, 5)), one_of(r, [], [2, 3])
    x = floats(r, 4, classes, *shape)
    label = r.integers(0, classes, [4, *shape])
    label.flat[:2] = [0, -100]
    settings = {"reduction": reduction(r)}
    weight = one_of(r, None, r.uniform(0.5, 2, classes))
    return lambda nn, w=None: nn.NLLLoss(weight=w, **settings), [x, label], weight


@case
def differences(r):
    shape, how = sizes(r, r.integers(1, 4), 1, 4), reduction(r)
    delta, huber = float(r.uniform(0.2, 2)), one_of(r, True, False)
    return (
        one_of(
            r,
            lambda nn, w=None: nn.MSELoss(how),
            lambda nn, w=None: nn.L1Loss(how),
            lambda nn, w=None: nn.SmoothL1Loss(how, delta, huber),
        ),
        [floats(r, *shape), floats(r, *shape)],
        None,
    )


@case
def binary_cross_entropies(r):
    shape, how = sizes(r, 2, 1, 5), reduction(r)
    weight = one_of(r, None, r.uniform(0.5, 2, shape))
    label = fixed(r.integers(0, 2, shape))
    if one_of(r, True, False):
        return lambda nn, w=None: nn.BCELoss(weight=w, reduction=how), [r.uniform(0.05, 0.95, shape), label], weight
    return lambda nn, w=None: nn.BCEWithLogitsLoss(weight=w, reduction=how), [floats(r, *shape) * 5, label], weight


@case
def binary_cross_entropy_with_a_positive_weight(r):
    shape, how = sizes(r, 2, 1, 5), reduction(r)
    label, weight = fixed(r.integers(0, 2, shape)), r.uniform(0.5, 2, shape[-1])
    return lambda nn, w=None: nn.BCEWithLogitsLoss(reduction=how, pos_weight=w), [floats(r, *shape), label], weight


@case
def kl_div(r):
    n, c = sizes(r, 2, 2, 5)
    how, is_log = one_of(r, "mean", "sum", "none", "batchmean"), one_of(r, False, True)
    label = r.dirichlet(np.ones(c), n)
    return (
        lambda nn, w=None: nn.KLDivLoss(how, is_log),
        [floats(r, n, c), fixed(np.log(label) if is_log else label)],
        None,
    )


@case
def densities(r):
    n, c = sizes(r, 2, 2, 5)
    how, full, is_log = reduction(r), one_of(r, False, True), one_of(r, False, True)
    x, spread = floats(r, n, c), r.uniform(0.1, 2, one_of(r, (n, c), (n, 1)))
    return one_of(
        r,
        (lambda nn, w=None: nn.GaussianNLLLoss(full, reduction=how), [x, fixed(floats(r, n, c)), fixed(spread)], None),
        (
            lambda nn, w=None: nn.PoissonNLLLoss(is_log, full, reduction=how),
            [x if is_log else np.exp(x), fixed(r.poisson(2.0, (n, c)))],
            None,
        ),
    )


@case
def margins(r):
    n, c, margin, how = *sizes(r, 2, 2, 5), float(r.uniform(0, 1.5)), reduction(r)
    x, y, z, p = floats(r, n, c), floats(r, n, c), floats(r, n, c), one_of(r, 1, 2)
    swap, weight = one_of(r, False, True), one_of(r, None, r.uniform(0.5, 2, c))
    return one_of(
        r,
        (lambda nn, w=None: nn.CosineEmbeddingLoss(margin / 2, how), [x, y, signs(r, n)], None),
        (lambda nn, w=None: nn.HingeEmbeddingLoss(margin, how), [x, signs(r, n, c)], None),
        (lambda nn, w=None: nn.MarginRankingLoss(margin, how), [x, y, signs(r, n, c)], None),
        (lambda nn, w=None: nn.SoftMarginLoss(how), [x, signs(r, n, c)], None),
        (lambda nn, w=None: nn.TripletMarginLoss(margin, p, swap=swap, reduction=how), [x, y, z], None),
        (lambda nn, w=None: nn.TripletMarginWithDistanceLoss(None, margin, swap, how), [x, y, z], None),
        (lambda nn, w=None: nn.MultiMarginLoss(p, margin, w, how), [x, r.integers(0, c, n)], weight),
        (lambda nn, w=None: nn.MultiLabelSoftMarginLoss(w, how), [x, fixed(r.integers(0, 2, (n, c)))], weight),
    )
