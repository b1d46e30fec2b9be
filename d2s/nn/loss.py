"""Losses as layers; see the functions of the same names in `d2s.nn.functional`."""

from __future__ import annotations

from typing import Any

from d2s.errors import ArgumentError
from d2s.nn import functional as F
from d2s.nn.layer import Layer

__all__ = ["BCEWithLogitsLoss", "CrossEntropyLoss", "L1Loss", "MSELoss", "NLLLoss"]

_REDUCTIONS = ("mean", "sum", "none")


class _Loss(Layer):
    def __init__(self, reduction: str) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ArgumentError(f"reduction must be one of {', '.join(_REDUCTIONS)}, got {reduction!r}")
        self.reduction = reduction


class CrossEntropyLoss(_Loss):
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


class NLLLoss(_Loss):
    """Negative log-likelihood of classes, from log-probabilities; see `functional.nll_loss`."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def forward(self, input: Any, label: Any) -> Any:
        return F.nll_loss(input, label, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(_Loss):
    """Squared difference, by default its mean."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.mse_loss(input, label, reduction=self.reduction)


class L1Loss(_Loss):
    """Absolute difference, by default its mean."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.l1_loss(input, label, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
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
