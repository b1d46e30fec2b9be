"""Functions of gamma, the inverse of erf and Fourier transforms, where values are known; Paddle is asked in oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import d2s


def double(values: Any) -> d2s.Tensor:
    return d2s.to_tensor(np.asarray(values, "float64"))


def test_values_and_poles_of_the_gamma_functions() -> None:
    expected = [0, 0, math.log(math.pi) / 2, math.log(24)]
    assert np.allclose(d2s.lgamma(double([1, 2, 0.5, 5])).numpy(), expected, atol=1e-15)
    assert np.isposinf(d2s.lgamma(double([0, -1, -3, math.inf, -math.inf])).numpy()).all()
    euler = 0.57721566490153286061
    expected = [-euler, -euler - 2 * math.log(2), 0.03648997397857652]
    assert np.allclose(d2s.digamma(double([1, 0.5, -0.5])).numpy(), expected)
    assert d2s.digamma(double([0.0, -0.0])).tolist() == [-math.inf, math.inf]
    assert np.isnan(d2s.digamma(double([-1, -7, math.nan])).numpy()).all()
    assert np.allclose(d2s.polygamma(double([1, 2]), 1).numpy(), [math.pi**2 / 6, math.pi**2 / 6 - 1], rtol=1e-15)
    assert np.isnan(d2s.polygamma(double([-1e9]), 2).item())
    with pytest.raises(ValueError, match="order of 0 or more, got -1"):
        d2s.polygamma(double([1]), -1)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_recurrence_of_polygamma(n: int) -> None:
    x = np.linspace(-4.7, 20, 83)
    found = d2s.polygamma(double(x + 1), n).numpy() - d2s.polygamma(double(x), n).numpy()
    expected = (-1) ** n * math.factorial(n) / x ** (n + 1)
    assert np.allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_erfinv_undoes_erf() -> None:
    x = np.concatenate([np.linspace(-3, 3, 101), [1e-30, 0.009, -0.011]])
    assert np.allclose(d2s.erfinv(d2s.erf(double(x))).numpy(), x, rtol=1e-11, atol=0)
    assert d2s.erfinv(double([1, -1])).tolist() == [math.inf, -math.inf]
    assert np.isnan(d2s.erfinv(double([1.0001, -7, math.nan])).numpy()).all()
    assert math.copysign(1, d2s.erfinv(double([-0.0])).item()) == -1


def test_sinc_has_a_slope_of_0_at_0() -> None:
    x = d2s.to_tensor([0.0, 0.5], stop_gradient=False)
    y = d2s.sinc(x)
    y.sum().backward()
    assert np.allclose(y.numpy(), [1, 2 / math.pi])
    assert x.grad is not None
    assert x.grad.tolist()[0] == 0


@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "fftn", "ifftn", "rfftn"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_are_numpys(name: str, norm: Any) -> None:
    r = np.random.default_rng(0)
    x = r.standard_normal((3, 6))
    if name not in ("rfft", "ihfft", "rfftn"):
        x = x + 1j * r.standard_normal((3, 6))
    expected = getattr(np.fft, name)(x, norm=norm)
    found = getattr(d2s.fft, name)(d2s.to_tensor(x), norm=norm)
    assert np.allclose(found.numpy(), expected)
    assert found.dtype == expected.dtype


def test_transforms_refuse_what_they_cannot_do() -> None:
    x = double([1, 2, 3])
    with pytest.raises(ValueError, match="norm must be 'backward', 'ortho' or 'forward', got 'half'"):
        d2s.fft.fft(x, norm="half")
    with pytest.raises(TypeError, match="rfft is defined for real tensors, got complex128"):
        d2s.fft.rfft(d2s.fft.fft(x))
    with pytest.raises(ValueError, match="at least one element, got 0"):
        d2s.fft.fft(x, n=0)
    with pytest.raises(TypeError, match="fft is defined for float32, float64 and complex tensors, got float16"):
        d2s.fft.fft(x.astype("float16"))


def test_a_transform_in_both_modes() -> None:
    def energy(x: Any) -> Any:
        return d2s.fft.rfft(x, n=8).abs().square().sum()

    x = double([1, -2, 3, 0.5])
    x.stop_gradient = False
    results = []
    for function in (energy, d2s.jit.to_static(energy)):
        x.clear_grad(False)
        y = function(x)
        y.backward()
        assert x.grad is not None
        results.append((y.numpy().tobytes(), x.grad.numpy().tobytes()))
    assert results[0] == results[1]


def test_poisson_draws_counts_of_the_mean() -> None:
    d2s.seed(3)
    found = d2s.poisson(d2s.full([20000], 4.0))
    assert abs(found.mean().item() - 4) < 0.1
    assert (found == found.floor()).all().item()
    d2s.seed(3)
    assert (d2s.poisson(d2s.full([20000], 4.0)) == found).all().item()
    assert d2s.log_normal(0.0, 0.5, [1000]).min().item() > 0


def test_logical_shift_moves_the_sign() -> None:
    x = d2s.to_tensor([-8, 8], dtype="int32")
    one = d2s.to_tensor([1, 1], dtype="int32")
    assert d2s.bitwise_right_shift(x, one).tolist() == [-4, 4]
    assert d2s.bitwise_right_shift(x, one, is_arithmetic=False).tolist() == [2147483644, 4]
    with pytest.raises(TypeError, match="left_shift is not defined for float32"):
        d2s.bitwise_left_shift(d2s.ones([2]), d2s.ones([2]))
