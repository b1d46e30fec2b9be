"""Sizes that a branch decides: of one that may be 1, only the run knows whether it is broadcast or squeezed."""

from __future__ import annotations

import d2s
from tests.corpus.register import program


def one_or_two_rows(x, c):
    m = x.unsqueeze(0)
    if c > 0:
        m = m.expand([2, 3]) * 1
    return m


@program
def squeezed(x, c):
    m = one_or_two_rows(x, c)
    return m.squeeze(), m.squeeze(0), m.squeeze(1), m.squeeze([-2]), m.unsqueeze(0).squeeze()


@program
def squeezed_in_a_branch(x, c):
    m = one_or_two_rows(x, c)
    rows, columns = m.shape
    return m.sum(0) if rows > 1 else m.squeeze(0) * columns


@program
def squeezed_in_a_loop(x, n):
    m = x.unsqueeze(0)
    for i in range(n):
        m = d2s.concat([m, x.unsqueeze(0) * i])
    return m.squeeze(0)


@program
def repeated(x, c):
    m = one_or_two_rows(x, c)
    return m.tile([2, 1]), m.repeat_interleave(2, 0), m.expand([4, -1, 3]), m.expand([2, 3])


@program
def broadcast(x, y, c):
    m = one_or_two_rows(x, c)
    pair = d2s.stack([x, y])
    return m + y, m * pair, m * d2s.stack([x, y, x]).unsqueeze(1), d2s.minimum(m, pair), d2s.where(m > 0, m, y)


@program
def reduced(x, c):
    m = one_or_two_rows(x, c)
    return m.sum(0), m.mean(), m.max(0), m.logsumexp(0), d2s.einsum("ij,kj->ik", m, m), m.T @ m, m.argmax(0)
