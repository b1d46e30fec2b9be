"""Every workload runs in every mode of d2s, with the gradients and the update of the flat NumPy implementation."""

import numpy as np
import pytest

from benchmarks.implementations import IMPLEMENTATIONS
from benchmarks.workloads import ALL, make


def _close(found, expected, tolerance):
    for name, array in expected.items():
        scale = np.abs(array).max()
        assert np.abs(found[name] - array).max() <= tolerance * scale, name


@pytest.mark.parametrize("variant", ["d2s_eager", "d2s_static", "d2s_step"])
@pytest.mark.parametrize("name", ALL)
def test_workload(name, variant):
    limit = IMPLEMENTATIONS["numpy"].build(make(name, small=True))
    built = IMPLEMENTATIONS[variant].build(make(name, small=True))
    for _ in range(2):
        expected_loss, expected = limit.gradients()
        loss, found = built.gradients()
        assert loss == pytest.approx(expected_loss, rel=1e-4)
        _close(found, expected, 1e-4)
        limit.step()
        built.step()
        _close(built.parameters(), limit.parameters(), 1e-5)


def test_a_step_changes_the_parameters_of_workloads_that_train():
    workload = make("mlp64", small=True)
    built = IMPLEMENTATIONS["d2s_step"].build(workload)
    built.step()
    assert all((after != before).any() for after, before in zip(
        built.parameters().values(), workload.params.values(), strict=True))
