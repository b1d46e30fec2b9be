"""Whole programs in Paddle's style: d2s eager against PaddlePaddle, and d2s static against d2s eager."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import d2s

from .peers import peer_named
from .whole import (  # noqa: F401
    decoding,
    generative,
    graphs,
    images,
    learning,
    numeric,
    text,
    tools,
    training,
    vision,
    weights,
)
from .whole.register import PROGRAMS


def leaves(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        tree = [part for _, part in sorted(tree.items())]
    if isinstance(tree, list | tuple):
        for number, part in enumerate(tree):
            yield from leaves(part, f"{place}.{number}")
    else:
        # Copied now: a tensor may be written to by what comes later.
        yield place, np.array(tree.numpy()) if hasattr(tree, "numpy") else tree


def results(module: Any, name: str, static: Any) -> list[tuple[str, Any]]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return list(leaves(PROGRAMS[name](module, static)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_both_modes(name: str) -> None:
    eager, traced = results(d2s, name, lambda function: function), results(d2s, name, d2s.jit.to_static)
    assert [place for place, _ in eager] == [place for place, _ in traced]
    for (place, one), (_, two) in zip(eager, traced, strict=True):
        np.testing.assert_array_equal(one, two, place, strict=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_paddle(name: str) -> None:
    peer_named("paddle")
    import paddle

    ours, theirs = (results(module, name, lambda function: function) for module in (d2s, paddle))
    assert [place for place, _ in ours] == [place for place, _ in theirs]
    for (place, one), (_, two) in zip(ours, theirs, strict=True):
        if isinstance(one, str | bool | int) or one is None:
            assert one == two, place
        else:
            np.testing.assert_allclose(one, two, 2e-4, 2e-5, err_msg=place)
            assert np.shape(one) == np.shape(two), place
            assert not hasattr(one, "dtype") or not hasattr(two, "dtype") or one.dtype == two.dtype, place
