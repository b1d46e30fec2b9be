"""Losses with a margin, as layers; see the functions of the same names in `d2s.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.nn import functional as F
from d2s.nn.loss import Loss

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class CosineEmbeddingLoss(Loss):
    """``1 - cosine`` where the label is 1, and how far the cosine exceeds `margin` where it is -1."""

    def __init__(self, margin: float = 0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Any, input2: Any, label: Any) -> Any:
        return F.cosine_embedding_loss(input1, input2, label, self.margin, self.reduction)


class HingeEmbeddingLoss(Loss):
    """The distance where the label is 1, and how far it stays below `margin` where it is -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: Any, label: Any) -> Any:
        return F.hinge_embedding_loss(input, label, self.margin, self.reduction)


class MarginRankingLoss(Loss):
    """How far ``label * (other - input) + margin`` exceeds 0."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: Any, other: Any, label: Any) -> Any:
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction)


class SoftMarginLoss(Loss):
    """``log(1 + exp(-label * input))`` with labels 1 and -1."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.soft_margin_loss(input, label, self.reduction)


class MultiMarginLoss(Loss):
    """How close the scores of wrong classes come to that of the right one; see `functional.multi_margin_loss`."""

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(reduction)
        self.p, self.margin, self.weight = p, margin, weight

    def forward(self, input: Any, label: Any) -> Any:
        return F.multi_margin_loss(input, label, self.p, self.margin, self.weight, self.reduction)


class TripletMarginLoss(Loss):
    """How far something alike is, compared with something different; see `functional.triplet_margin_loss`."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        epsilon: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction)
        self.margin, self.p, self.epsilon, self.swap = margin, p, epsilon, swap

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        settings = self.margin, self.p, self.epsilon, self.swap, self.reduction
        return F.triplet_margin_loss(input, positive, negative, *settings)


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with a distance of one's own."""

    def __init__(
        self,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction)
        self.distance_function, self.margin, self.swap = distance_function, margin, swap

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        settings = self.distance_function, self.margin, self.swap, self.reduction
        return F.triplet_margin_with_distance_loss(input, positive, negative, *settings)
