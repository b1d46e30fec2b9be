"""Numeric checks of gradient rules, by random projection in float64 and complex128.

The gradient of a real number with respect to a complex one is the steepest ascent, as in Paddle: it holds the slopes in
the direction of 1 and of 1j, so that the slope along `v` is the real part of ``conj(gradient) * v``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import d2s
from d2s.core.op import Op

STEP = 1e-5
# Of a central difference in float64 with this step.
TOLERANCE = 2e-5


def check_gradients(op: Op, args: Sequence[Any], attrs: dict[str, Any], seed: int = 0) -> None:
    """Compare the rules of `op` with central differences, along one random direction: first and second order.

    The direction of a complex argument has a real and an imaginary part.

    Raises
    ------
    AssertionError
        If they differ; the message names the op and the order.
    """
    rng = np.random.default_rng(seed)
    positions = [
        index for index, arg in enumerate(args) if arg.dtype.kind in "fc" and op.differentiates(index) and arg.size
    ]
    if not positions:
        return
    points = [args[index] for index in positions]
    weights: list[Any] = []

    def projection(*values: Any) -> Any:
        """Sum of all outputs, each weighted by a random array, as a tensor."""
        given = [d2s.to_tensor(arg) for arg in args]
        for index, value in zip(positions, values, strict=True):
            given[index] = value
        outputs = defined_parts(op, op(*given, **attrs))
        total = d2s.zeros([], "float64")
        for place, output in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
            parts = [output.real(), output.imag()] if output.dtype.kind == "c" else [output]
            if output.dtype.kind not in "fc":
                parts = []
            while len(weights) <= place:
                weights.append(rng.uniform(0.5, 1.5, (2, *output.shape)))
            for weight, part in zip(weights[place], parts, strict=False):
                total = total + (part * weight).sum()
        return total

    first = gradients_of(projection)
    directions = [symmetric_if_needed(op, random_like(rng, point)) for point in points]
    compare(f"gradient of {op.name} is wrong", projection, first, points, directions)

    mixed = [random_like(rng, point) for point in points]

    def slope(*values: Any) -> Any:
        """The first gradient, weighted by random arrays and summed."""
        found = first(*values)
        total = d2s.zeros([], "float64")
        for gradient, weight in zip(found, mixed, strict=True):
            if gradient is not None:
                total = total + (gradient * np.conj(weight)).real().sum()
        return total

    compare(f"second gradient of {op.name} is wrong", slope, gradients_of(slope), points, directions)


def random_like(rng: np.random.Generator, point: Any) -> Any:
    """Random numbers of the shape and kind of `point`."""
    direction = rng.uniform(-1, 1, point.shape)
    return direction + 1j * rng.uniform(-1, 1, point.shape) if point.dtype.kind == "c" else direction


def symmetric_if_needed(op: Op, direction: Any) -> Any:
    """Directions that keep a matrix Hermitian, for an op that is defined on such matrices only."""
    return direction + np.conj(np.swapaxes(direction, -1, -2)) if op.name in ("cholesky", "eigh") else direction


def defined_parts(op: Op, outputs: Any) -> Any:
    """Of complex vectors of an eigenvalue or a singular value, which may turn, what does not depend on their turn."""
    if op.name == "eigh" and outputs[1].dtype.kind == "c":
        values, vectors = outputs
        return values, vectors * vectors[..., :1, :].conj()
    if op.name == "svd" and outputs[0].dtype.kind == "c":
        u, s, vh = outputs
        turn = u[..., :1, :]
        return u * turn.conj(), s, vh * turn.transpose([*range(turn.ndim - 2), turn.ndim - 1, turn.ndim - 2])
    return outputs


def gradients_of(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The gradients of a scalar function of tensors, as a function of tensors; None where there is none."""

    def gradients(*values: Any) -> list[Any]:
        leaves = [as_leaf(value) for value in values]
        result = function(*leaves)
        if result.stop_gradient:
            return [None] * len(leaves)
        found: list[Any] = d2s.grad([result], leaves, create_graph=True, allow_unused=True)
        return found

    return gradients


def as_leaf(value: Any) -> Any:
    return value if isinstance(value, d2s.Tensor) else d2s.to_tensor(value, stop_gradient=False)


def compare(
    message: str,
    function: Callable[..., Any],
    gradients: Callable[..., list[Any]],
    points: Sequence[Any],
    directions: Sequence[Any],
) -> None:
    """Check the slope of `function` along `directions` against its gradients."""
    ahead, behind = (
        float(function(*[as_leaf(p + sign * STEP * v) for p, v in zip(points, directions, strict=True)]))
        for sign in (1, -1)
    )
    numeric = (ahead - behind) / (2 * STEP)
    analytic = sum(
        float((np.conj(gradient.numpy()) * direction).sum().real)
        for gradient, direction in zip(gradients(*points), directions, strict=True)
        if gradient is not None
    )
    scale = max(1.0, abs(numeric), abs(analytic))
    assert abs(numeric - analytic) <= TOLERANCE * scale, f"{message}: {analytic} instead of {numeric}"
