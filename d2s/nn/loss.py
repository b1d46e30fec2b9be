"""Losses as layers; see the functions of the same names in `d2s.nn.functional`."""

from __future__ import annotations

from typing import Any

from d2s.errors import ArgumentError
from d2s.nn import functional as F
from d2s.nn.layer import Layer

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MultiLabelSoftMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]

_REDUCTIONS = ("mean", "sum", "none")


class Loss(Layer):
    """What the losses share: `reduction` says what becomes of the losses of the elements."""

    reductions: tuple[str, ...] = _REDUCTIONS

    def __init__(self, reduction: str) -> None:
        super().__init__()
        if reduction not in self.reductions:
            raise ArgumentError(f"reduction must be one of {', '.join(self.reductions)}, got {reduction!r}")
        self.reduction = reduction


class CrossEntropyLoss(Loss):
    """Cross-entropy of classes, in nats; see `functional.cross_entropy`.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        Weight of each class.
    ignore_index : int
        Rows with this label do not count.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the rows.
    soft_label : bool
        Labels are probabilities of the classes.
    axis : int
        Axis of the classes.
    use_softmax : bool
        False: the inputs are probabilities already.
    label_smoothing : float
        Share of the label that goes evenly to all classes.
    name : str, optional
        Ignored.
    """

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
        label_smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.soft_label = soft_label
        self.axis = axis
        self.use_softmax = use_softmax
        self.label_smoothing = label_smoothing

    def forward(self, input: Any, label: Any) -> Any:
        return F.cross_entropy(
            input,
            label,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            soft_label=self.soft_label,
            axis=self.axis,
            use_softmax=self.use_softmax,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(Loss):
    """Negative log-likelihood of classes, from log-probabilities; see `functional.nll_loss`."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def forward(self, input: Any, label: Any) -> Any:
        return F.nll_loss(input, label, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(Loss):
    """Squared difference, by default its mean."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.mse_loss(input, label, reduction=self.reduction)


class L1Loss(Loss):
    """Absolute difference, by default its mean."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.l1_loss(input, label, reduction=self.reduction)


class BCEWithLogitsLoss(Loss):
    """Cross-entropy of two classes, from logits; see `functional.binary_cross_entropy_with_logits`."""

    def __init__(
        self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None, name: str | None = None
    ) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def forward(self, logit: Any, label: Any) -> Any:
        return F.binary_cross_entropy_with_logits(
            logit, label, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class BCELoss(Loss):
    """Cross-entropy of two classes, from probabilities; see `functional.binary_cross_entropy`."""

    def __init__(self, weight: Any = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)
        self.weight = weight

    def forward(self, input: Any, label: Any) -> Any:
        return F.binary_cross_entropy(input, label, weight=self.weight, reduction=self.reduction)


class MultiLabelSoftMarginLoss(Loss):
    """Cross-entropy of classes that may hold together; see `functional.multi_label_soft_margin_loss`."""

    def __init__(self, weight: Any = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)
        self.weight = weight

    def forward(self, input: Any, label: Any) -> Any:
        return F.multi_label_soft_margin_loss(input, label, weight=self.weight, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """Squared difference up to `delta`, linear beyond; see `functional.smooth_l1_loss`."""

    def __init__(
        self, reduction: str = "mean", delta: float = 1.0, is_huber: bool = True, name: str | None = None
    ) -> None:
        super().__init__(reduction)
        self.delta, self.is_huber = delta, is_huber

    def forward(self, input: Any, label: Any) -> Any:
        return F.smooth_l1_loss(input, label, self.reduction, self.delta, self.is_huber)


class KLDivLoss(Loss):
    """Kullback-Leibler divergence from log-probabilities; see `functional.kl_div`."""

    reductions = (*_REDUCTIONS, "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Any, label: Any) -> Any:
        return F.kl_div(input, label, self.reduction, self.log_target)


class GaussianNLLLoss(Loss):
    """Negative log-likelihood under normal distributions; see `functional.gaussian_nll_loss`."""

    def __init__(
        self, full: bool = False, epsilon: float = 1e-6, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(reduction)
        self.full, self.epsilon = full, epsilon

    def forward(self, input: Any, label: Any, variance: Any) -> Any:
        return F.gaussian_nll_loss(input, label, variance, self.full, self.epsilon, self.reduction)


class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts under Poisson distributions; see `functional.poisson_nll_loss`."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        epsilon: float = 1e-8,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.epsilon = log_input, full, epsilon

    def forward(self, input: Any, label: Any) -> Any:
        return F.poisson_nll_loss(input, label, self.log_input, self.full, self.epsilon, self.reduction)
