"""Where tensors live.  d2s computes on the CPU; these names let programs that choose a device run unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from d2s.errors import ArgumentError

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "check_device",
    "get_device",
    "is_compiled_with_cuda",
    "is_compiled_with_distribute",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_device",
]


@dataclass(frozen=True)
class CPUPlace:
    """The CPU."""

    def __repr__(self) -> str:
        return "Place(cpu)"


class CUDAPlace:
    """A GPU: there is none.

    Raises
    ------
    ValueError
        Always.  The class is there for programs that ask ``isinstance(place, CUDAPlace)``.
    """

    def __init__(self, device_id: int = 0) -> None:
        raise ArgumentError(f"d2s computes on the CPU only: there is no CUDAPlace({device_id})")


class CUDAPinnedPlace:
    """Memory that a GPU reads: there is none.

    Raises
    ------
    ValueError
        Always; as `CUDAPlace`.
    """

    def __init__(self) -> None:
        raise ArgumentError("d2s computes on the CPU only: there is no CUDAPinnedPlace()")


def check_device(device: object) -> CPUPlace:
    """The place that `device` names.

    Raises
    ------
    ValueError
        If it is not the CPU.
    """
    if isinstance(device, CPUPlace) or (isinstance(device, str) and device in ("cpu", "Place(cpu)")):
        return CPUPlace()
    raise ArgumentError(f"d2s computes on the CPU only: the device must be 'cpu', got {device!r}")


def set_device(device: str | CPUPlace) -> CPUPlace:
    """Choose the device that tensors are made on: there is only ``"cpu"``.

    Raises
    ------
    ValueError
        If it is another one.
    """
    return check_device(device)


def get_device(input: Any = None) -> str:
    """Name of the device that tensors are made on, or that `input` is on: ``"cpu"``."""
    return "cpu"


def is_compiled_with_cuda() -> bool:
    """False: there is no GPU support."""
    return False


def is_compiled_with_rocm() -> bool:
    """False: there is no GPU support."""
    return False


def is_compiled_with_xpu() -> bool:
    """False: there is no XPU support."""
    return False


def is_compiled_with_distribute() -> bool:
    """False: d2s runs in one process."""
    return False
