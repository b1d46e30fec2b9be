"""Every construct of Python in both modes, on tensors and on Python values: one entry for each kind of construct.

The programs are those of the corpus; each compares values, gradients, effects in their order, and exceptions.
"""

from __future__ import annotations

import pytest

from tests.corpus.table import CONSTRUCTS
from tests.modes.harness import assert_refused, assert_same, observe
from tests.modes.test_corpus import PROGRAMS


@pytest.mark.parametrize("kind", ["tensor", "python"])
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_construct(construct, kind):
    for name in CONSTRUCTS[construct].split():
        found = PROGRAMS[name]
        if found.is_refused and kind == "tensor":
            assert_refused(found.make(), found.calls(kind)[0])
        else:
            assert_same(found.make, found.calls(kind))


def test_gradients_effects_and_errors_occur():
    """The table would be of no use if no program logged, raised or gave a gradient."""
    logs = errors = grads = 0
    for name in {name for names in CONSTRUCTS.values() for name in names.split()}:
        found = PROGRAMS[name]
        for call in observe(found.make(), found.calls("python"), False, 1).calls:
            logs += call["log"][1] != []
            errors += "error" in call
            grads += any(part[0] == "Tensor" for part in call["grads"])
    assert logs > 200
    assert errors > 30
    assert grads > 800
