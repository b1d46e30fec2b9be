"""Programs made at random, run by d2s and by a tape that is too simple to be wrong in the same way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import d2s
from d2s import GradientError
from d2s.core.hooks import HookList
from d2s.eager.tape import OpNode

from .naive import NaiveError, NaiveTape

NUMBERS = st.integers(-3, 3).map(float)
VECTORS = st.tuples(NUMBERS, NUMBERS)
OPS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
IN_PLACE = {"add": "add_", "sub": "subtract_", "mul": "multiply_"}
HOOKS = {"keep": lambda g: None, "plus one": lambda g: g + 1, "affine": lambda g: g * -2 + 3, "square": lambda g: g * g}
PLACES = st.integers(0, 1000)


class EagerAgainstNaive(RuleBasedStateMachine):
    """Names refer to pairs of (Tensor, Box); several names may refer to one pair."""

    @initialize(first=VECTORS, second=VECTORS)
    def start(self, first, second):
        self.naive = NaiveTape()
        self.log = []
        self.names = []
        self.handles = []
        self.hook_count = 0
        for data in (first, second):
            self.new_leaf(data, True)

    def pick(self, place):
        return self.names[place % len(self.names)]

    @rule(data=VECTORS, requires=st.booleans())
    def new_leaf(self, data, requires):
        tensor = d2s.to_tensor(list(data), dtype="float64", stop_gradient=not requires)
        self.names.append((tensor, self.naive.leaf(data, requires)))

    @rule(a=PLACES, b=PLACES, op=st.sampled_from(sorted(OPS)), into=PLACES, rebinds=st.booleans())
    def compute(self, a, b, op, into, rebinds):
        """``c = a op b``, in a new name or in one that is there."""
        (x, x_box), (y, y_box) = self.pick(a), self.pick(b)
        box = self.naive.leaf([0, 0], False)
        box.node = self.naive.op(op, x_box, y_box)
        pair = OPS[op](x, y), box
        if rebinds:
            self.names[into % len(self.names)] = pair
        else:
            self.names.append(pair)

    @rule(a=PLACES, into=PLACES)
    def alias(self, a, into):
        self.names[into % len(self.names)] = self.pick(a)

    @rule(a=PLACES, b=PLACES, op=st.sampled_from([*sorted(OPS), "item"]), recorded=st.booleans())
    def write(self, a, b, op, recorded):
        """``a.op_(b)`` or ``a[0] = b[1]``, with or without grad mode."""
        (x, x_box), (y, y_box) = self.pick(a), self.pick(b)

        def run():
            if op == "item":
                x[0] = y[1]
            else:
                getattr(x, IN_PLACE[op])(y)

        node = self.naive.set_item(x_box, y_box) if op == "item" else self.naive.op(op, x_box, y_box)
        if not recorded:
            with d2s.no_grad():
                run()
            self.naive.write(x_box, node, recorded=False)
        elif x_box.node.requires and x_box.node.is_leaf:
            try:
                run()
            except ValueError:
                return
            raise AssertionError("a leaf has been written in grad mode")
        else:
            run()
            self.naive.write(x_box, node, recorded=node.requires)

    @rule(a=PLACES, kind=st.sampled_from(sorted(HOOKS)))
    def register(self, a, kind):
        tensor, box = self.pick(a)
        if not box.node.requires:
            return
        number, change = self.hook_count, HOOKS[kind]
        self.hook_count += 1

        def real(g):
            self.log.append((number, g.tolist()))
            return change(g)

        def naive(g):
            self.naive.log.append((number, g.tolist()))
            return change(g)

        self.handles.append((tensor.register_hook(real), self.naive.add_hook(box, naive)))

    @precondition(lambda self: self.handles)
    @rule(place=PLACES)
    def remove(self, place):
        handle, (hooks, number) = self.handles[place % len(self.handles)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert handle.remove() == (hooks.pop(number, None) is not None)

    @rule(a=PLACES, retain=st.booleans())
    def backward(self, a, retain):
        tensor, box = self.pick(a)
        if not box.node.requires:
            return
        found = self.outcome(lambda: tensor.backward(d2s.ones([2], "float64"), retain_graph=retain), GradientError)
        expected = self.outcome(lambda: self.naive.walk(box.node, np.ones(2), retain), NaiveError)
        assert isinstance(found, Exception) == isinstance(expected, Exception)

    @rule(a=PLACES, b=PLACES)
    def grad(self, a, b):
        (tensor, box), (wanted, wanted_box) = self.pick(a), self.pick(b)
        if not (box.node.requires and wanted_box.node.requires):
            return
        found = self.outcome(
            lambda: d2s.grad(tensor, [wanted], retain_graph=True, allow_unused=True)[0], GradientError
        )
        expected = self.outcome(
            lambda: self.naive.walk(box.node, np.ones(2), True, {wanted_box.node}).get(wanted_box.node), NaiveError
        )
        assert (found is None) == (expected is None)
        assert isinstance(found, Exception) == isinstance(expected, Exception)
        if isinstance(found, d2s.Tensor):
            np.testing.assert_array_equal(found.numpy(), expected)

    @rule(a=PLACES)
    def clear(self, a):
        tensor, box = self.pick(a)
        tensor.clear_gradient(False)
        box.node.grad = None

    @staticmethod
    def outcome(action, kind):
        try:
            with np.errstate(all="ignore"):
                return action()
        except kind as error:
            return error

    @invariant()
    def same_values_gradients_and_calls(self):
        if not hasattr(self, "naive"):
            return
        assert [number for number, _ in self.log] == [number for number, _ in self.naive.log]
        for (_, found), (_, expected) in zip(self.log, self.naive.log, strict=True):
            np.testing.assert_array_equal(found, expected)
        for tensor, box in self.names:
            np.testing.assert_array_equal(tensor.numpy(), box.node.data)
            assert tensor.stop_gradient == (not box.node.requires)
            if box.node.is_leaf:
                assert (tensor.grad is None) == (box.node.grad is None)
                if tensor.grad is not None:
                    np.testing.assert_array_equal(tensor.grad.numpy(), box.node.grad)


TestEagerAgainstNaive = EagerAgainstNaive.TestCase


def leave_the_value_after(self, tensor, before):
    """Planted: an in-place op that notices its own write."""


def newest_hook_first(self):
    """Planted: hooks in the wrong order."""
    return list(reversed(self.hooks.values()))


@pytest.mark.parametrize(
    ("owner", "name", "fault"), [(OpNode, "saves_before", leave_the_value_after), (HookList, "live", newest_hook_first)]
)
def test_planted_faults_are_noticed(monkeypatch, owner, name, fault):
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(EagerAgainstNaive, settings=settings(
            max_examples=300, database=None, derandomize=True, phases=[Phase.generate]))
