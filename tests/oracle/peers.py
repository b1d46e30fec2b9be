"""The libraries that the contract was measured on."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from types import ModuleType

import pytest

INSTALL = {"torch": "torch==2.13.*", "paddle": "paddlepaddle==3.3.1"}


def importable(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def peer_named(name: str) -> ModuleType:
    """The adapter of this library; skips the test if it is not there."""
    if not importable(name):
        pytest.skip(f"pip install {INSTALL[name]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"{__package__}.on_{name}")
