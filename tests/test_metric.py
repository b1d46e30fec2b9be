"""Metrics, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import d2s
from d2s import metric

R = np.random.default_rng(0)
SCORES = R.dirichlet(np.ones(5), 40).astype("float32")
CLASSES = R.integers(0, 5, 40)
CHANCES = R.uniform(size=60).astype("float32")
TRUTH = (R.uniform(size=60) < CHANCES).astype("int64")


def test_accuracy_over_batches() -> None:
    measured = metric.Accuracy(topk=(1, 2))
    for part in (slice(0, 25), slice(25, 40)):
        measured.update(measured.compute(d2s.to_tensor(SCORES[part]), d2s.to_tensor(CLASSES[part])))
    expected = [metrics.top_k_accuracy_score(CLASSES, SCORES, k=k) for k in (1, 2)]
    assert measured.accumulate() == pytest.approx(expected)
    assert measured.name() == ["acc_top1", "acc_top2"]
    measured.reset()
    assert measured.accumulate() == [0.0, 0.0]


@pytest.mark.parametrize("labels", [CLASSES, CLASSES[:, None], np.eye(5, dtype="float32")[CLASSES]], ids=len)
def test_labels_may_be_classes_or_one_hot(labels: np.ndarray) -> None:
    measured = metric.Accuracy()
    value = measured.update(measured.compute(d2s.to_tensor(SCORES), d2s.to_tensor(labels)))
    assert value == measured.accumulate() == pytest.approx(metrics.accuracy_score(CLASSES, SCORES.argmax(1)))


def test_accuracy_in_a_static_function() -> None:
    measured = metric.Accuracy()

    @d2s.to_static
    def step(scores: d2s.Tensor, classes: d2s.Tensor) -> d2s.Tensor:
        measured.update(measured.compute(scores, classes))
        return metric.accuracy(scores, classes.unsqueeze(-1), k=2)

    for _ in range(2):
        second = step(d2s.to_tensor(SCORES), d2s.to_tensor(CLASSES))
    assert measured.accumulate() == pytest.approx(metrics.accuracy_score(CLASSES, SCORES.argmax(1)))
    assert measured.count == 80
    assert second.item() == pytest.approx(metrics.top_k_accuracy_score(CLASSES, SCORES, k=2))


def test_precision_and_recall() -> None:
    for kind, expected in ((metric.Precision, metrics.precision_score), (metric.Recall, metrics.recall_score)):
        measured = kind()
        assert measured.accumulate() == 0.0
        measured.update(CHANCES[:20], TRUTH[:20])
        measured.update(d2s.to_tensor(CHANCES[20:, None]), d2s.to_tensor(TRUTH[20:, None]))
        assert measured.accumulate() == pytest.approx(expected(TRUTH, CHANCES >= 0.5))


def test_area_under_the_curve() -> None:
    measured = metric.Auc(num_thresholds=100_000)
    assert measured.accumulate() == 0.0
    both = np.stack([1 - CHANCES, CHANCES], 1)
    measured.update(both[:20], TRUTH[:20])
    measured.update(d2s.to_tensor(both[20:]), d2s.to_tensor(TRUTH[20:, None]))
    assert measured.accumulate() == pytest.approx(metrics.roc_auc_score(TRUTH, CHANCES))


def test_errors() -> None:
    with pytest.raises(ValueError, match="curve"):
        metric.Auc("PR")
    with pytest.raises(ValueError, match="probabilities"):
        metric.Auc().update(np.float32([[0.0, 2.0]]), np.array([1]))
    with pytest.raises(d2s.ShapeError, match="need the shape"):
        metric.Auc().update(CHANCES, TRUTH)
    with pytest.raises(d2s.ShapeError, match="3 predictions for 2 labels"):
        metric.Precision().update(CHANCES[:3], TRUTH[:2])
    with pytest.raises(TypeError, match="preds must be"):
        metric.Recall().update([0.5], TRUTH[:1])
