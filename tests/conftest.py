"""What all tests share: hypothesis profiles, a known seed, and seals on state that no test may leave changed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import numpy as np
import pytest

import d2s
from d2s.core.interpreter import state
from d2s.core.op import OP_TABLE
from d2s.static.executor import BACKWARD_CHECKS, FORWARD_CHECKS
from d2s.static.passes import CHECKS
from d2s.static.verify import verify, verify_backward, verify_pass
from d2s.transpiler.verify import CHECKS as TREE_CHECKS
from d2s.transpiler.verify import verify as verify_tree

# Every Program that a test traces is checked,
FORWARD_CHECKS.append(verify)
BACKWARD_CHECKS.append(verify_backward)
CHECKS.append(verify_pass)
# and every tree of converted code after each pass.
TREE_CHECKS.append(verify_tree)

# A plain `pytest` tries the same examples each time; the other profiles search.
for name, examples in {"dev": 20, "ci": 100, "nightly": 2000}.items():
    hypothesis.settings.register_profile(name, max_examples=examples, deadline=None, derandomize=name == "dev")
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(autouse=True)
def seals() -> Iterator[None]:
    """Begin with a known seed; afterwards op table, interpreters, grad mode and NumPy's error state are as before."""
    d2s.seed(0)
    ops, stack, errors = dict(OP_TABLE), list(state.stack), np.geterr()
    yield
    assert ops == OP_TABLE, "the test has changed the op table (use the fixture fresh_op_table)"
    assert stack == state.stack, "the test has left an interpreter on the stack"
    assert state.grad_enabled, "the test has left grad mode switched off"
    assert np.geterr() == errors, "the test has changed NumPy's error state"
    assert d2s.get_default_dtype() == np.float32, "the test has changed the default dtype"


@pytest.fixture
def fresh_op_table(seals: None) -> Iterator[dict[str, object]]:
    """The op table; entries made by the test go when it ends."""
    before = dict(OP_TABLE)
    yield OP_TABLE
    OP_TABLE.clear()
    OP_TABLE.update(before)
