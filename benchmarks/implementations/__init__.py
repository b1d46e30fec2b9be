"""What is compared: each module here has ``build(workload, variant) -> Built``."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workloads import ALL, Workload

Array = np.ndarray[Any, Any]


@dataclasses.dataclass
class Built:
    """A workload as one library runs it.

    Attributes
    ----------
    gradients : callable
        The loss and the gradients by parameter, at the present parameters, which it does not change.
    step : callable
        Forward, backward and, if the workload trains, the update of the parameters: what is timed.
    parameters : callable
        Copies of the present parameters.
    """

    gradients: Callable[[], tuple[float, dict[str, Array]]]
    step: Callable[[], Any]
    parameters: Callable[[], dict[str, Array]]


@dataclasses.dataclass(frozen=True)
class Implementation:
    """One column of the results.

    Attributes
    ----------
    module, variant : str
        Module of this package, and which of its variants.
    requires : str
        What must be importable.
    role : str
        "d2s", "peer", or "limit": flat NumPy code written by hand, which is no library.
    compiles : bool
        Whether the first call translates the program.
    lacks, only : tuple of str
        Workloads that it cannot run; the ones it is meant for, if not all.
    """

    module: str
    variant: str
    requires: str
    role: str = "peer"
    compiles: bool = False
    lacks: tuple[str, ...] = ()
    only: tuple[str, ...] = tuple(ALL)

    def runs(self, workload: str) -> bool:
        """True if it is meant to run this workload."""
        return workload in self.only and workload not in self.lacks

    def build(self, workload: Workload) -> Built:
        """Prepare the workload."""
        module = importlib.import_module(f"benchmarks.implementations.{self.module}")
        built: Built = module.build(workload, self.variant)
        return built


IMPLEMENTATIONS = {
    "d2s_eager": Implementation("with_d2s", "eager", "d2s", "d2s"),
    "d2s_static": Implementation("with_d2s", "static", "d2s", "d2s", compiles=True),
    "d2s_step": Implementation("with_d2s", "step", "d2s", "d2s", compiles=True),
    "numpy": Implementation("with_numpy", "", "numpy", "limit"),
    "torch_eager": Implementation("with_torch", "eager", "torch"),
    "torch_compile": Implementation("with_torch", "compile", "torch", compiles=True),
    "paddle_dygraph": Implementation("with_paddle", "dygraph", "paddle"),
    # Its to_static refuses `register_hook`.
    "paddle_static": Implementation("with_paddle", "static", "paddle", compiles=True, lacks=("mlphook",)),
    "jax_jit": Implementation("with_jax", "jit", "jax", compiles=True),
    "jax_scan": Implementation("with_jax", "scan", "jax", compiles=True, only=("lstm",)),
    # It has no convolution.
    "autograd": Implementation("with_autograd", "", "autograd", lacks=("lenet",)),
}

GROUPS = {
    role: [name for name, entry in IMPLEMENTATIONS.items() if entry.role == role] for role in ("d2s", "peer", "limit")
}
GROUPS["all"] = list(IMPLEMENTATIONS)
GROUPS["quick"] = [*GROUPS["d2s"], "numpy", "torch_eager", "jax_jit", "jax_scan"]
