"""Programs with hooks, written to be mean: static mode against eager mode, and that against the two peers."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import d2s

from .by_hand import (
    branches,
    changes,
    graphs,
    handed_on,
    late,
    layers,
    mixed,
    models,
    orders,
    outputs,
    places,
    reached,
    repeated,
    turns,
    walks,
    ways,
    writes,
)
from .by_hand import on_d2s as eager
from .by_hand.log import Log
from .peers import INSTALL, peer_named

MODULES = (
    branches, changes, graphs, handed_on, late, layers, mixed, models, orders, outputs, places, reached, repeated,
    turns, walks, ways, writes)
PROGRAMS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": function
    for module in MODULES for name, function in vars(module).items()
    if isinstance(function, FunctionType) and function.__module__ == module.__name__ and not name.startswith("_")}

# Where the libraries differ: rows of the contract that say whose answer is right.
OF_ERRORS = "B10 B11: what a hook raises comes as OSError"
OF_VIEWS = "E11 E11b: a hook on a view, and gradients through a written one"
OF_LAYERS = "M01 M05 X02: what a hook on an output of a PyLayer returns is ignored"
OF_ZEROS = "I03 M05: hooks on unused outputs get None"
OF_CHECKS = "E13: hooks run before it shows that a saved value was written to"
OF_NONE = "a hook is called with None where a PyLayer gives no gradient"
OF_LEAVES = "H01 H06b: grad() skips the hooks of its leaf inputs"
OF_USED_UP = "H09: a graph that was used up raises a SystemError"
DIFFERENT = {
    "torch": {
        "mixed.hook_adds_then_removes_later": "G06: a hook that is added during a pass waits for the next one",
        "repeated.split_in_turn_backward": OF_ZEROS,
        "changes.view_hook_then_write_base_branch": OF_VIEWS,
        "changes.write_after_use_saved": OF_CHECKS,
        "orders.target_of_written": OF_CHECKS,
        "orders.grad_unused": "H04: hooks off the path to what is asked for run",
        "outputs.pylayer_none_grad": OF_NONE,
        "outputs.gc_of_hook_closure": "Q05: what a hook on an intermediate closes over stays",
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
        "changes.view_hook_then_write_base_branch": OF_VIEWS,
        "changes.write_view_of_view": OF_VIEWS,
        "changes.handle_before_write": "E05c X01: a handle removes a hook of the version after the write",
        "changes.write_after_use_saved": OF_CHECKS,
        "handed_on.scaled_update": OF_USED_UP,
        "late.grad_of_outputs_and_intermediate": OF_LEAVES,
        "late.kept_grads": "B13b: .grad is what a hook was given",
        "late.pylayer_hooks_inside": OF_LAYERS,
        "late.pylayer_in_loop": OF_LAYERS,
        "late.retain_in_loop_turn": "K01 K02b: retain_grads() keeps the gradient before the hooks that come after it",
        "late.view_write_base": OF_VIEWS,
        "orders.third_order_loop_branch": "a hook is called with zeros where no gradient comes",
        "orders.leaf_hook_create_graph": OF_LEAVES,
        "orders.grad_inputs_mixed": OF_LEAVES,
        "orders.retain_graph_thrice_with_state": OF_USED_UP,
        "orders.target_of_used_up": OF_USED_UP,
        "orders.target_of_written": OF_CHECKS,
        "mixed.second_order_with_branch_and_write": "a second gradient lacks what comes through a write in place",
        "mixed.int_and_bool_mixed": "tensors of integers and of floats are not combined",
        "ways.hook_raises_only_in_second_order": OF_ERRORS,
        "repeated.hook_raises_at_turn": OF_ERRORS,
        "reached.retain_grads_create_graph": "K01: retain_grads() keeps the last gradient",
        "reached.raise_at_kth": OF_ERRORS,
        "reached.raise_in_leaf_hook_straight": OF_ERRORS,
        "reached.raise_in_reduce": OF_ERRORS,
        "outputs.pylayer_hooks_both_sides": OF_LAYERS,
        "outputs.pylayer_output_hook": OF_LAYERS,
        "outputs.pylayer_none_grad": OF_NONE,
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
        "walks.grad_inside_with_hooks": "H01: grad() skips the hooks of its leaf inputs",
    },
}

# Programs that end the process of a library (rows G04, Y010 to Y032).
CRASHES = {
    "torch": set(),
    "paddle": {
        "graphs.one_shot_hooks", "mixed.hook_removes_itself_loop", "mixed.hook_adds_then_removes_later",
        "repeated.pylayer_in_turn_backward"},
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
    assert seen(PROGRAMS[name], eager, d2s.to_static) == seen(PROGRAMS[name], eager)


@pytest.mark.parametrize("peer", sorted(INSTALL))
def test_eager_is_the_peer(peer):
    """Where a difference is listed, there is one; the order between tensors is PyTorch's (rule 6)."""
    peer_named(peer)
    op = importlib.import_module(f"{__package__}.by_hand.on_{peer}")
    wrong = []
    for name, program in PROGRAMS.items():
        if name in CRASHES[peer]:
            continue
        # Of what ends a program, its own name for the type is the library's affair.
        expected, found = ([entry[:1] if entry[0] == "ended by" else entry for entry in seen(program, one)]
                           for one in (op, eager))
        if peer == "paddle":
            expected, found = sorted(expected, key=repr), sorted(found, key=repr)
        if (found != expected) is not (name in DIFFERENT[peer]):
            wrong.append((name, found, expected))
    assert not wrong
