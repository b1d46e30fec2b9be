"""Programs with hooks, written to be mean: static mode against eager mode, and that against the two peers."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import d2s

from .by_hand import graphs, layers, turns, walks, writes
from .by_hand import on_d2s as eager
from .by_hand.log import Log
from .peers import INSTALL, peer_named

PROGRAMS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": function
    for module in (graphs, layers, turns, walks, writes) for name, function in vars(module).items()
    if isinstance(function, FunctionType) and function.__module__ == module.__name__}

# What static mode refuses (docs/limitations.md).
REFUSED = {"writes.view_made_in_turn": "U12"}

# Where the libraries differ: rows of the contract that say whose answer is right.
OF_ERRORS = "B10 B11: what a hook raises comes as OSError"
OF_VIEWS = "E11 E11b: a hook on a view, and gradients through a written one"
OF_LAYERS = "M01 M05 X02: what a hook on an output of a PyLayer returns is ignored"
OF_ZEROS = "I03 M05: hooks on unused outputs get None"
DIFFERENT = {
    "torch": {
        "graphs.multi_output_unused": OF_ZEROS,
        "layers.pylayer_two_outputs_one_unused": OF_ZEROS,
        "layers.pylayer_backward_raises": "H09: what is used up raises before its hooks run",
        "graphs.exception_in_hook_mid_loop": "H09: what is used up raises before its hooks run",
        "graphs.grad_wrt_intermediate_returned": "H02c: grad() gives an intermediate before its hooks",
        "writes.kept_grad_not_changed": "B13b: two hooks are given one array",
        "writes.retain_grads_in_loop_with_write": "retain_grads() goes on to the version written in place",
        "writes.view_made_in_turn": OF_VIEWS,
        "writes.same_view_each_turn": OF_VIEWS,
    },
    "paddle": {
        "turns.hook_reads_unbound": OF_ERRORS,
        "graphs.exception_in_hook_mid_loop": OF_ERRORS,
        "graphs.exception_then_other_leaf": OF_ERRORS,
        "layers.pylayer_backward_raises": OF_ERRORS,
        "layers.pylayer_raise_uses_what_ran": OF_ERRORS,
        "layers.pylayer_raise_retain": OF_ERRORS,
        "layers.pylayer_raises_in_loop": OF_ERRORS,
        "walks.hook_raises_uses_what_ran": OF_ERRORS,
        "walks.try_around_backward": OF_ERRORS,
        "layers.pylayer_in_static": OF_LAYERS,
        "layers.pylayer_two_outputs_one_unused": OF_LAYERS,
        "writes.view_hook_then_write_base": OF_VIEWS,
        "writes.write_view_in_loop": OF_VIEWS,
        "writes.view_made_in_turn": OF_VIEWS,
        "writes.same_view_each_turn": OF_VIEWS,
        "writes.handle_of_pre_write_removed": "E05c X01: a handle removes a hook of the version after the write",
        "writes.kept_grad_not_changed": "B13b: .grad is what a hook was given",
        "graphs.grad_wrt_intermediate_returned": "H03b: grad() skips hooks of an output that is asked for",
        "graphs.one_shot_hooks": "G04: a hook that removes itself makes another run twice",
        "walks.grad_inside_with_hooks": "H01: grad() skips the hooks of its leaf inputs",
    },
}


def seen(program: Callable[..., None], op: Any, static: Callable[[Any], Any] = lambda f: f) -> Log:
    """What a program logs, with the exception that ends it."""
    log = Log()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program(op, static, log)
        except AttributeError:
            # An adapter lacks something: that is no result.
            raise
        except Exception as error:
            log.append(["ended by", type(error).__name__, getattr(error, "kind", None)])
    return log


@pytest.mark.parametrize("name", PROGRAMS)
def test_static_is_eager(name):
    static = seen(PROGRAMS[name], eager, d2s.to_static)
    kind = REFUSED.get(name)
    if kind is not None:
        assert static[-1] == ["ended by", "UnsupportedSyntaxError", kind]
    else:
        assert static == seen(PROGRAMS[name], eager)


@pytest.mark.parametrize("peer", sorted(INSTALL))
def test_eager_is_the_peer(peer):
    """Where a difference is listed, there is one; the order between tensors is PyTorch's (rule 6)."""
    peer_named(peer)
    op = importlib.import_module(f"{__package__}.by_hand.on_{peer}")
    wrong = []
    for name, program in PROGRAMS.items():
        # Of what ends a program, its own name for the type is the library's affair.
        expected, found = ([entry[:1] if entry[0] == "ended by" else entry for entry in seen(program, one)]
                           for one in (op, eager))
        if peer == "paddle":
            expected, found = sorted(expected, key=repr), sorted(found, key=repr)
        if (found != expected) is not (name in DIFFERENT[peer]):
            wrong.append((name, found, expected))
    assert not wrong
