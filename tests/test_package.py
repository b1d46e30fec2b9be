"""What `import d2s` gives, and what it brings along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import d2s

ROOT = Path(__file__).parent.parent


def python(program: str) -> str:
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_import_brings_the_three_dependencies_at_most() -> None:
    loaded = python("import sys; before = set(sys.modules); import d2s; print(*(set(sys.modules) - before))").split()
    outside = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert {name for name in outside if not name.startswith("_")} <= {"d2s", "numpy", "gast", "astor", "cython_runtime"}


def test_every_public_name_exists_once() -> None:
    assert len(d2s.__all__) == len(set(d2s.__all__))
    assert [name for name in d2s.__all__ if not hasattr(d2s, name)] == []


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"])
def test_dtypes_are_numpys(name: str) -> None:
    assert getattr(d2s, name) == np.dtype(name)
    assert d2s.zeros([1], getattr(d2s, name)).dtype == name


def test_the_cpu_is_the_only_device() -> None:
    assert d2s.get_device() == "cpu"
    assert d2s.set_device("cpu") == d2s.CPUPlace() == d2s.set_device(d2s.CPUPlace())
    assert repr(d2s.CPUPlace()) == "Place(cpu)"
    for name in ("cuda", "rocm", "xpu", "distribute"):
        assert getattr(d2s, f"is_compiled_with_{name}")() is getattr(d2s.device, f"is_compiled_with_{name}")() is False
    assert not isinstance(d2s.ones([1]).place, d2s.CUDAPlace)
    with pytest.raises(ValueError, match=r"CPU only.*CUDAPlace\(1\)"):
        d2s.CUDAPlace(1)
    assert not isinstance(d2s.ones([1]).place, d2s.CUDAPinnedPlace)
    with pytest.raises(ValueError, match=r"CPU only.*CUDAPinnedPlace\(\)"):
        d2s.CUDAPinnedPlace()
    with pytest.raises(ValueError, match=r"CPU only.*'gpu:0'"):
        d2s.set_device("gpu:0")


@pytest.mark.parametrize("command", [["ruff", "check"], ["mypy"]], ids=lambda command: command[0])
def test_static_checks_find_nothing(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
