"""Names, argument names and defaults are those of Paddle, where it is installed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import d2s

from .peers import peer_named

# Arguments that Paddle 3.3 has added for programs of another library.
NOT_TAKEN = {
    "out", "device", "requires_grad", "pin_memory", "name", "force_cpu", "place", "sorter", "dump_backward_graph_path",
}
# Names that take something else, or more.
DIFFERENCES = {
    "clear_grad": "may leave None instead of zeros", "one_hot": "takes a dtype",
    "scaled_dot_product_attention": "without the choice of a kernel", "silu": "not in place",
    "softmax": "the function of nn.functional", "softmax_with_cross_entropy": "without what belongs to kernels",
    "swapaxes": "two axes by name", "swapdims": "two axes by name", "dropout": "not in place",
}


def parameters(function: Any) -> list[tuple[str, Any]] | None:
    """Names and defaults; None if there is nothing to see."""
    try:
        found = inspect.signature(inspect.unwrap(function)).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in found):
        return None
    return [(one.name, plain(one.default)) for one in found if one.name not in NOT_TAKEN]


def plain(default: Any) -> Any:
    """Defaults that mean the same compare equal."""
    if isinstance(default, list | tuple):
        return tuple(default)
    return "nothing" if default is inspect.Parameter.empty else default


def public() -> list[str]:
    return sorted(name for name in d2s.ops.__all__ if name not in DIFFERENCES)


@pytest.mark.parametrize("name", public())
def test_functions(name: str) -> None:
    peer_named("paddle")
    import paddle

    theirs = getattr(paddle, name, None) or getattr(paddle.nn.functional, name, None)
    if theirs is None or getattr(theirs, "__module__", "").startswith("paddle._C"):
        pytest.skip("not in Paddle")
    expected, found = parameters(theirs), parameters(getattr(d2s.ops, name))
    if expected is not None and found is not None:
        assert found == expected


METHODS = sorted(name for name in dir(d2s.Tensor) if not name.startswith("_"))


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    peer_named("paddle")
    import paddle

    theirs = getattr(paddle.Tensor, name, None)
    ours = getattr(d2s.Tensor, name)
    if theirs is None or not callable(theirs) or name in DIFFERENCES:
        pytest.skip("not in Paddle")
    expected, found = parameters(theirs), parameters(ours)
    if expected is not None and found is not None:
        # What the tensor itself is called cannot be seen.
        assert found[1:] == expected[1:]
