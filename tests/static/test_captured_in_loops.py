"""`grad()` with respect to results that a loop on a tensor has exchanged: found under whatever name they had before."""

from __future__ import annotations

import pytest

import d2s


def exchanged(x, y, turns):
    z = x * y
    u = x + y * 0.6
    k = 0
    while k < turns:
        k = k + 1
        z, u = u, z
    return z, u


@pytest.mark.parametrize("turns", range(4))
def test_gradients_with_respect_to_exchanged_results(turns):
    found = []
    for function in (exchanged, d2s.to_static(exchanged)):
        x = d2s.to_tensor([0.31, -1.73], stop_gradient=False)
        y = d2s.to_tensor([1.13, 0.29], stop_gradient=False)
        z, u = function(x, y, d2s.to_tensor(turns))
        loss = (z * u + u.tanh() * z).sum()
        alone = d2s.grad(loss, [u], retain_graph=True)
        found.append([gradient.tolist() for gradient in (*alone, *d2s.grad(loss, [u, z, x]))])
    assert found[0] == found[1]
