"""The error function and its user, GELU.

NumPy has no erf.  This is the rational approximation of FreeBSD's msun (s_erf.c, Copyright (C) 1993 by Sun
Microsystems, Inc.; permission to use, copy, modify and distribute is freely granted), good to the last digit of
float64, evaluated on arrays: four ranges of abs(x), each with its own polynomials.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2s.core.interpreter import bind
from d2s.core.op import define_op
from d2s.core.public import public
from d2s.ops.activation import tanh
from d2s.ops.annotations import Array, Tensor
from d2s.ops.elementwise import require_floating
from d2s.ops.exponential import exp, square
from d2s.ops.promotion import floating

# Coefficients by ascending power; numerator and denominator.
_BELOW_0_84 = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
     -5.77027029648944159157e-03, -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
     1.32494738004321644526e-04, -3.96022827877536812320e-06),
)
_AROUND_1 = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
     3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
     -2.16637559486879084300e-03),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
     1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
)
_BELOW_2_86 = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
     -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
     -8.12874355063065934246e+01, -9.81432934416914548592e+00),
    (1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
     6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
     6.57024977031928170135e+00, -6.04244152148580987438e-02),
)
_ABOVE_2_86 = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
     -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
     -4.83519191608651397019e+02),
    (1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
     3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
     -2.24409524465858183362e+01),
)
_ERX = 8.45062911510467529297e-01
# Beyond 6 the result is 1 to the last digit.
_OUTER_RANGES = ((0.84375, 1.25, _AROUND_1), (1.25, 1 / 0.35, _BELOW_2_86), (1 / 0.35, 6.0, _ABOVE_2_86))


def _ratio(z: Array, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    """Quotient of two polynomials in z, by Horner's rule."""
    parts = []
    for ascending in coefficients:
        total = np.full_like(z, ascending[-1])
        for coefficient in ascending[-2::-1]:
            total *= z
            total += z.dtype.type(coefficient)
        parts.append(total)
    quotient: Array = parts[0] / parts[1]
    return quotient


def erf_of(x: Array) -> Array:
    """The error function of an array of floats."""
    x = np.asarray(x)
    size = np.abs(x)
    result = np.where(np.isnan(x), x, np.sign(x))
    inner = size < 0.84375
    z = x[inner]
    result[inner] = z + z * _ratio(z * z, _BELOW_0_84)
    for low, high, coefficients in _OUTER_RANGES:
        inside = (size >= low) & (size < high)
        if not inside.any():
            # Of small arrays most ranges are empty, and the polynomials of each take 20 us.
            continue
        z = size[inside]
        if low < 1:
            value = x.dtype.type(_ERX) + _ratio(z - 1, coefficients)
        else:
            value = 1 - np.exp(_ratio(1 / (z * z), coefficients) - z * z - x.dtype.type(0.5625)) / z
        result[inside] = np.copysign(value, x[inside])
    return result


@define_op("erf", kinds="f", infer=require_floating("erf", "f"), saves=("x",))
def erf_op(x: Array) -> Array:
    """2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x."""
    return erf_of(x)


erf_op.vjp(lambda g, out, x: g * (exp(-square(x)) * (2 / math.sqrt(math.pi))))

_ROOT_2_OVER_PI = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


@define_op("gelu", kinds="f", infer=require_floating("gelu", "f"), saves=("x",), out="apart", scratch=1)
def gelu_op(
    x: Array, *, approximate: bool, out: Array | None = None, scratch: tuple[Array | None] = (None,)
) -> Any:
    """x times the share of the normal distribution below x; approximately, by a tanh."""
    if not x.ndim:
        return gelu_op.forward(x.reshape(1), approximate=approximate)[0]
    kind = x.dtype.type
    if approximate:
        inner = np.multiply(x, x, out=scratch[0])
        inner *= kind(_CUBIC * _ROOT_2_OVER_PI)
        inner += kind(_ROOT_2_OVER_PI)
        inner *= x
        np.tanh(inner, out=inner)
    else:
        inner = erf_of(x * kind(math.sqrt(0.5)))
    inner += 1
    inner *= kind(0.5)
    return np.multiply(inner, x, out=inner if out is None else out)


Scratch = tuple[Array | None, Array | None, Array | None]


def _slope(x: Array, approximate: bool, out: Array | None, scratch: Scratch) -> tuple[Array, Array]:
    """The derivative of gelu, and the share of x that gelu is."""
    kind, half = x.dtype.type, x.dtype.type(0.5)
    if approximate:
        slope = np.multiply(x, x, out=scratch[0])
        t = np.multiply(slope, kind(_CUBIC * _ROOT_2_OVER_PI), out=scratch[1])
        t += kind(_ROOT_2_OVER_PI)
        t *= x
        np.tanh(t, out=t)
        slope *= kind(3 * _CUBIC * _ROOT_2_OVER_PI)
        slope += kind(_ROOT_2_OVER_PI)
        rest = np.multiply(t, t, out=out)
        np.subtract(1, rest, out=rest)
        rest *= np.multiply(half, x, out=scratch[2])
        rest *= slope
    else:
        t = erf_of(x * kind(math.sqrt(0.5)))
        rest = np.multiply(-half, x, out=out)
        rest *= x
        np.exp(rest, out=rest)
        rest *= kind(1 / math.sqrt(2 * math.pi))
        rest *= x
    t += 1
    t *= half
    rest += t
    return rest, t


@define_op(
    "gelu_gradient",
    kinds="f", infer=lambda g, x, *, approximate: require_floating("gelu", "f")(x),
    saves=("g", "x"), out="apart", scratch=3,
)
def gelu_gradient_op(
    g: Array, x: Array, *, approximate: bool, out: Array | None = None, scratch: Scratch = (None, None, None)
) -> Any:
    """g times the derivative of gelu."""
    if not x.ndim:
        return gelu_gradient_op.forward(g.reshape(1), x.reshape(1), approximate=approximate)[0]
    slope = _slope(x, approximate, out, scratch)[0]
    slope *= g
    return slope


@define_op(
    "gelu_parts", kinds="f", fresh=True, in_order=True,
    infer=lambda x, *, approximate: (require_floating("gelu", "f")(x),) * 2)
def gelu_parts_op(x: Array, *, approximate: bool) -> tuple[Any, Any]:
    """The result of gelu, and its derivative."""
    if not x.ndim:
        value, slope = gelu_parts_op.forward(x.reshape(1), approximate=approximate)
        return value[0], slope[0]
    slope, share = _slope(x, approximate, None, (None, None, None))
    share *= x
    return share, slope


@define_op(
    "gelu_rest", kinds="f", out="in place",
    infer=lambda g, result, slope, *, approximate: require_floating("gelu", "f")(slope))
def gelu_rest_op(
    g: Array, result: Array, slope: Array, *, approximate: bool, out: Array | None = None
) -> Any:
    """What gelu_gradient computes, from the parts."""
    # It lies in memory as there, like the slope.
    return np.multiply(slope, g, out=np.empty_like(slope) if out is None else out)


gelu_op.share(gelu_gradient_op, gelu_parts_op, gelu_rest_op)


def _slope_of_slope(x: Tensor, approximate: bool) -> Tensor:
    if not approximate:
        return (2 - square(x)) * exp(square(x) * -0.5) * (1 / math.sqrt(2 * math.pi))
    t = tanh((square(x) * _CUBIC + 1) * x * _ROOT_2_OVER_PI)
    inner = (square(x) * (3 * _CUBIC) + 1) * _ROOT_2_OVER_PI
    return (1 - square(t)) * (inner - x * t * square(inner) + x * x * (3 * _CUBIC * _ROOT_2_OVER_PI))


gelu_op.vjp(lambda g, out, x, *, approximate: bind(gelu_gradient_op, g, x, approximate=approximate))
gelu_gradient_op.vjp(
    lambda a, out, g, x, *, approximate: bind(gelu_gradient_op, a, x, approximate=approximate),
    lambda a, out, g, x, *, approximate: a * g * _slope_of_slope(x, approximate),
)


@public()
def erf(x: Tensor, name: str | None = None) -> Tensor:
    """The error function ``2 / sqrt(pi)`` times the integral of ``exp(-t ** 2)`` from 0 to `x`."""
    return bind(erf_op, floating(x))


@public(x="input")
def gelu(x: Tensor, approximate: Any = False, name: str | None = None) -> Tensor:
    """
    Gaussian error linear unit: `x` times the share of the normal distribution below `x`.

    Parameters
    ----------
    x : Tensor
    approximate : bool or {"none", "tanh"}
        Use the approximation by tanh, which is faster and differs by less than 0.001.

    Returns
    -------
    Tensor, of the shape of `x`
    """
    return bind(gelu_op, floating(x), approximate=approximate is True or approximate == "tanh")
