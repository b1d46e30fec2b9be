"""Random Layers with state, containers, views and writes do the same in both modes, or static mode refuses them."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

import d2s
from d2s.testing.generated import load
from tests.modes import wide_programs
from tests.modes.harness import Names, Seen, collected, differentiate, plain
from tests.modes.test_generated import relaxed

ARGUMENTS = (
    ([0.31, -1.73, 0.57, 1.1], [1.13, 0.29, -0.77, 0.4], 0.7, 2),
    ([-0.91, 0.37, 1.21, -0.2], [0.17, -0.63, 0.83, 0.9], -0.3, 0),
    ([0.11, 0.53, -0.41, 0.7], [-1.31, 0.71, 0.19, 0.3], 0.2, 1),
    ([0.31, -1.73, 0.57, -0.6], [1.13, 0.29, -0.77, 1.4], 1.8, 3),
)
REFUSALS = (d2s.UnsupportedSyntaxError, d2s.errors.ExecutionError)


def observe(function, kind, is_static):
    """What can be seen of calls of a Layer, and of what the caller does to it in between."""
    d2s.seed(0)
    net, between = function()
    if is_static:
        d2s.to_static(net)
    seen = Seen()
    for call, (x, y, c, n) in enumerate(ARGUMENTS):
        tensors = (d2s.to_tensor(x, stop_gradient=False), d2s.to_tensor(y, stop_gradient=False))
        args = (*tensors, *(d2s.to_tensor(v) if kind == "tensor" else v for v in (c, n)))
        with collected(seen, args) as entry:
            result = net(*args)
            entry["result"] = plain(result, Names(args))
            differentiate([result], 1)
        state = {name: held for name, held in vars(net).items() if not name.startswith("_") and name != "forward"}
        held = [state, [(name, p, p.grad) for name, p in net.named_parameters()], list(net.buffers())]
        seen.calls[-1]["state"] = plain(held, Names(args))
        between(net, call)
    return seen.calls


@relaxed
@given(choices=st.randoms(use_true_random=False), kind=st.sampled_from(["tensor", "python"]), on_state=st.booleans())
def test_static_is_eager_or_refused(choices, kind, on_state):
    text = wide_programs.program(choices, 1, on_state)
    note(text)
    function = load(text)
    expected, got = observe(function, kind, False), observe(function, kind, True)
    for eager, static in zip(expected, got, strict=True):
        raised, text, _ = static.get("error", (None, "", ()))
        is_refused = raised in REFUSALS or "nobody knows any more" in text
        if is_refused and raised is not eager.get("error", (None,))[0]:
            # Nothing is promised of what follows: the two have done other things.
            return
        assert static == eager
