"""Measures of how good predictions are, gathered over batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from d2s.core.interpreter import TensorBase
from d2s.core.public import public_classes
from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError, DTypeError, NotSupportedError, ShapeError
from d2s.ops.casting import cast
from d2s.ops.comparison import equal
from d2s.ops.reduction import mean, sum
from d2s.ops.shape import reshape
from d2s.ops.sorting import argmax, topk
from d2s.words import counted

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]

Array = np.ndarray[Any, Any]


class Metric:
    """Base of the metrics.

    In a loop over batches: ``metric.update(metric.compute(predictions, labels))``, then ``metric.accumulate()``.
    """

    def reset(self) -> None:
        """Begin anew."""
        raise NotSupportedError(f"{type(self).__name__} does not define reset()", kind="N02")

    def update(self, *args: Any) -> Any:
        """Take another batch into account."""
        raise NotSupportedError(f"{type(self).__name__} does not define update()", kind="N02")

    def accumulate(self) -> Any:
        """The value for all batches since `reset`."""
        raise NotSupportedError(f"{type(self).__name__} does not define accumulate()", kind="N02")

    def name(self) -> Any:
        """What the value is called."""
        raise NotSupportedError(f"{type(self).__name__} does not define name()", kind="N02")

    def compute(self, *args: Any) -> Any:
        """What `update` needs, from predictions and labels; by default these themselves."""
        return args


def _array(value: Any, what: str) -> Array:
    if isinstance(value, Tensor):
        return value.numpy()
    if not isinstance(value, np.ndarray | np.generic):
        raise DTypeError(f"{what} must be a tensor or an array, got {type(value).__name__}")
    return np.asarray(value)


def _label_column(label: Any) -> Any:
    """Classes with a last axis of size 1, from classes or from one-hot labels."""
    if label.ndim == 1 or label.shape[-1] == 1:
        return reshape(label, [-1, 1]) if label.ndim <= 2 else label
    return argmax(label, -1, keepdim=True)


class Accuracy(Metric):
    """Share of the examples whose class is among the k that are predicted with the highest scores.

    Parameters
    ----------
    topk : sequence of int
        The numbers k; with several, values are lists.
    name : str, optional
        "acc" by default.
    """

    def __init__(self, topk: Sequence[int] = (1,), name: str | None = None, *args: Any, **kwargs: Any) -> None:
        self.topk = tuple(topk)
        self.maxk = max(self.topk)
        label = name or "acc"
        self.total, self.count = [0.0] * len(self.topk), 0
        self._name = [label] if self.maxk == 1 else [f"{label}_top{k}" for k in self.topk]

    def compute(self, pred: Any, label: Any, *args: Any) -> Any:
        """1 where a class among the best is the right one, shape ``[N, ..., maxk]``, else 0.

        Parameters
        ----------
        pred : Tensor, shape (N, ..., C)
            Scores of the classes.
        label : Tensor, shape (N,), (N, ..., 1) or, one-hot, (N, ..., C)
        """
        best = topk(pred, self.maxk, -1)[1]
        return cast(equal(best, cast(_label_column(label), best.dtype)), "float32")

    def update(self, correct: Any, *args: Any) -> Any:
        """Take what `compute` gave for a batch into account; gives the accuracy of that batch."""
        found = _array(correct, "correct")
        count = int(np.prod(found.shape[:-1]))
        hits = [float(found[..., :k].sum()) for k in self.topk]
        self.total = [total + hit for total, hit in zip(self.total, hits, strict=True)]
        self.count += count
        return self._shown([hit / count for hit in hits])

    def reset(self) -> None:
        self.total = [0.0] * len(self.topk)
        self.count = 0

    def accumulate(self) -> Any:
        return self._shown([total / self.count if self.count else 0.0 for total in self.total])

    def _shown(self, values: list[float]) -> Any:
        return values[0] if len(values) == 1 else values

    def name(self) -> list[str]:
        return self._name


class _OfPositives(Metric):
    """What precision and recall share: counts of the examples of two classes."""

    _rounded: Callable[[Any], Any]

    def __init__(self, name: str) -> None:
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Take a batch into account.

        Parameters
        ----------
        preds : Tensor or ndarray, shape (N,) or (N, 1)
            Probabilities of the class 1.
        labels : Tensor or ndarray, of the shape of `preds`
            Classes, 0 or 1.
        """
        predicted = self._rounded(_array(preds, "preds").ravel()) == 1
        actual = _array(labels, "labels").ravel() == 1
        if predicted.shape != actual.shape:
            raise ShapeError(f"{counted(predicted.size, 'prediction')} for {counted(actual.size, 'label')}")
        self.tp += int(np.count_nonzero(predicted & actual))
        self.fp += int(np.count_nonzero(predicted & ~actual))
        self.fn += int(np.count_nonzero(~predicted & actual))

    def reset(self) -> None:
        self.tp = self.fp = self.fn = 0

    def name(self) -> str:
        return self._name


class Precision(_OfPositives):
    """Share of the examples predicted as 1, by 0.5 or more, that are 1."""

    _rounded = staticmethod(lambda predictions: np.floor(predictions + 0.5))

    def __init__(self, name: str = "precision", *args: Any, **kwargs: Any) -> None:
        super().__init__(name)

    def accumulate(self) -> float:
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0.0


class Recall(_OfPositives):
    """Share of the examples that are 1 that are predicted as 1, by more than 0.5."""

    _rounded = staticmethod(np.rint)

    def __init__(self, name: str = "recall", *args: Any, **kwargs: Any) -> None:
        super().__init__(name)

    def accumulate(self) -> float:
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 0.0


class Auc(Metric):
    """Area under the curve of true against false positives, for all thresholds.

    Parameters
    ----------
    curve : {"ROC"}
    num_thresholds : int
        Predictions are counted in as many steps.
    name : str

    Raises
    ------
    ValueError
        If `curve` is another word, or `num_thresholds` not positive.
    """

    def __init__(
        self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc", *args: Any, **kwargs: Any
    ) -> None:
        if curve != "ROC":
            raise ArgumentError(f"curve must be 'ROC', got {curve!r}")
        if num_thresholds < 1:
            raise ArgumentError(f"num_thresholds must be positive, got {num_thresholds}")
        self._num_thresholds, self._name = num_thresholds, name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Take a batch into account.

        Parameters
        ----------
        preds : Tensor or ndarray, shape (N, 2)
            Probabilities of the classes 0 and 1.
        labels : Tensor or ndarray, shape (N,) or (N, 1)
            Classes, 0 or 1.
        """
        scores, actual = _array(preds, "preds"), _array(labels, "labels").ravel().astype(bool)
        if scores.ndim != 2 or scores.shape != (actual.size, 2):
            raise ShapeError(
                f"predictions for {counted(actual.size, 'label')} need the shape [{actual.size}, 2], got {scores.shape}"
            )
        if not ((scores[:, 1] >= 0) & (scores[:, 1] <= 1)).all():
            raise ArgumentError("predictions must be probabilities, in [0, 1]")
        steps = (scores[:, 1] * self._num_thresholds).astype(np.int64)
        self._stat_pos += np.bincount(steps[actual], minlength=self._num_thresholds + 1)
        self._stat_neg += np.bincount(steps[~actual], minlength=self._num_thresholds + 1)

    def reset(self) -> None:
        self._stat_pos = np.zeros(self._num_thresholds + 1)
        self._stat_neg = np.zeros(self._num_thresholds + 1)

    def accumulate(self) -> float:
        true = np.concatenate([[0.0], np.cumsum(self._stat_pos[::-1])])
        false = np.concatenate([[0.0], np.cumsum(self._stat_neg[::-1])])
        if not true[-1] or not false[-1]:
            return 0.0
        return float(np.trapezoid(true, false) / true[-1] / false[-1])

    def name(self) -> str:
        return self._name


def accuracy(
    input: TensorBase, label: Any, k: int = 1, correct: Any = None, total: Any = None, name: str | None = None
) -> Any:
    """Share of the examples whose class is among the `k` with the highest scores; works in both modes.

    Parameters
    ----------
    input : Tensor, shape (N, C)
        Scores of the classes.
    label : Tensor, int, shape (N, 1) or (N,)
    k : int
    correct, total
        Must be None.

    Returns
    -------
    Tensor, float32, shape ()
    """
    if correct is not None or total is not None:
        raise NotSupportedError("accuracy() does not write to `correct` and `total`")
    best = topk(input, k, -1)[1]
    hits = equal(best, cast(reshape(label, [-1, 1]), best.dtype))
    return mean(sum(cast(hits, "float32"), -1))

public_classes(globals(), "d2s.metric")
