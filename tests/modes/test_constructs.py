"""Every construct of Python in both modes, on tensors and on Python values: one entry for each thing that must hold.

The programs are those of the corpus; each compares values, gradients, effects in their order, and exceptions.
"""

from __future__ import annotations

import functools

import pytest

import d2s
from tests.corpus.table import CONSTRUCTS
from tests.modes.harness import assert_refused, assert_same, observe
from tests.modes.test_corpus import IN_THE_TABLE, PROGRAMS

ENTRIES = [(construct, what) for construct, held in CONSTRUCTS.items() for what in held]


@functools.cache
def check(name, kind):
    """Run a program in both modes; of several entries that name it the first does so."""
    found = PROGRAMS[name]
    if found.is_refused and kind == "tensor":
        assert_refused(found.make(), found.calls(kind)[0])
    else:
        assert_same(found.make, found.calls(kind))


@pytest.mark.parametrize("kind", ["tensor", "python"])
@pytest.mark.parametrize(("construct", "what"), ENTRIES, ids=[": ".join(filter(None, entry)) for entry in ENTRIES])
def test_construct(construct, what, kind):
    for name in CONSTRUCTS[construct][what].split():
        check(name, kind)


def test_functions_without_source_are_refused_at_the_top():
    scope = {}
    exec(compile("def f(x): return x", "<made>", "exec"), scope)
    for function in (scope["f"], len):
        with pytest.raises(d2s.UnsupportedSyntaxError, match=r"it was made by exec|needs a Python function") as raised:
            d2s.to_static(function)
        assert isinstance(raised.value, NotImplementedError | OSError)


def test_gradients_effects_and_errors_occur():
    """The table would be of no use if no program logged, raised or gave a gradient."""
    logs = errors = grads = 0
    for name in IN_THE_TABLE:
        found = PROGRAMS[name]
        for call in observe(found.make(), found.calls("python"), False, 1).calls:
            logs += call["log"][1] != []
            errors += "error" in call
            grads += any(part[0] == "Tensor" for part in call["grads"])
    assert logs > 200
    assert errors > 30
    assert grads > 800
