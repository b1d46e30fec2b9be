"""Programs made at random of steps and of calls, in eager mode, in static mode and on a tape too simple to be wrong."""

from __future__ import annotations

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
from d2s.core.hooks import HookList
from d2s.jit.run_program import CallNode

from .functions import functions
from .worlds import D2S, Naive, is_tensor, state_of

VECTORS = st.tuples(st.integers(-3, 3).map(float), st.integers(-3, 3).map(float))
OPS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
IN_PLACE = {"add": "add_", "sub": "subtract_", "mul": "multiply_"}
CHANGES = {"keep": lambda g: None, "plus one": lambda g: g + 1.0, "affine": lambda g: g * -2.0 + 3.0}
PLACES = st.integers(0, 1000)
# What is given for c and n, and whether as tensors.
STEERING = st.tuples(st.sampled_from([-1.0, 1.0]), st.integers(0, 3), st.sampled_from([True, True, False]))
FUNCTIONS = [function.__name__ for function in functions(None, None, None)]


class EagerStaticAndNaive(RuleBasedStateMachine):
    """Every step is taken in three worlds, and must look alike in all."""

    @initialize(first=VECTORS, second=VECTORS)
    def start(self, first, second):
        self.worlds = D2S(), D2S(d2s.to_static), Naive()
        self.hooks = 0
        for data in (first, second):
            self.new_leaf(data, True)

    def everywhere(self, action):
        """Take a step in all worlds; True if it did not raise."""
        outcomes = [world.attempt(action) for world in self.worlds]
        kinds = [value if kind == "raises" else kind for kind, value in outcomes]
        assert kinds[0] == kinds[1] == kinds[2], kinds
        return kinds[0] == "gives", [value for _, value in outcomes]

    @rule(data=VECTORS, requires=st.booleans())
    def new_leaf(self, data, requires):
        self.everywhere(lambda world: world.names.append(world.tensor(data, requires)))

    @rule(a=PLACES, b=PLACES, op=st.sampled_from(sorted(OPS)), into=PLACES, rebinds=st.booleans())
    def compute(self, a, b, op, into, rebinds):
        """``c = a op b``, in a new name or in one that is there."""

        def action(world):
            result = OPS[op](world.pick(a), world.pick(b))
            if rebinds:
                world.names[into % len(world.names)] = result
            else:
                world.names.append(result)

        self.everywhere(action)

    @rule(a=PLACES, into=PLACES)
    def alias(self, a, into):
        def action(world):
            world.names[into % len(world.names)] = world.pick(a)

        self.everywhere(action)

    @rule(a=PLACES, b=PLACES, op=st.sampled_from([*sorted(OPS), "item"]), recorded=st.booleans())
    def write(self, a, b, op, recorded):
        """``a.op_(b)`` or ``a[0] = b[1]``, with or without grad mode."""

        def run(world):
            if op == "item":
                world.pick(a)[0] = world.pick(b)[1]
            else:
                getattr(world.pick(a), IN_PLACE[op])(world.pick(b))

        def action(world):
            if recorded:
                run(world)
            else:
                with world.no_grad():
                    run(world)

        self.everywhere(action)

    @rule(a=PLACES, change=st.sampled_from(sorted(CHANGES)))
    def register(self, a, change):
        name = f"hook {self.hooks}"
        self.hooks += 1

        def action(world):
            world.handles.append(world.pick(a).register_hook(world.record(name, CHANGES[change])))

        self.everywhere(action)

    @precondition(lambda self: self.worlds[0].handles)
    @rule(place=PLACES)
    def remove(self, place):
        _, removed = self.everywhere(lambda world: world.handles[place % len(world.handles)].remove())
        assert removed[0] == removed[1] == removed[2]

    def run_function(self, name, a, b, steering, into):
        """Call a function; its first tensor goes to a name that is there, further ones get new names."""
        number = FUNCTIONS.index(name)

        def action(world):
            results = world.functions[number](world.pick(a), world.pick(b), *world.numbers(*steering))
            world.handles += [value for value in results if not is_tensor(value)]
            first, *others = [value for value in results if is_tensor(value)]
            world.names[into % len(world.names)] = first
            world.names += others

        self.everywhere(action)

    @rule(name=st.sampled_from(FUNCTIONS), a=PLACES, b=PLACES, steering=STEERING, into=PLACES)
    def call(self, name, a, b, steering, into):
        self.run_function(name, a, b, steering, into)

    @rule(name=st.sampled_from(FUNCTIONS), a=PLACES, b=PLACES, first=STEERING, second=STEERING, into=PLACES)
    def call_twice(self, name, a, b, first, second, into):
        """Two calls of which both wait for backward."""
        self.run_function(name, a, b, first, into)
        self.run_function(name, b, a, second, into + 1)

    @rule(a=PLACES, retain=st.booleans())
    def backward(self, a, retain):
        if not self.worlds[0].pick(a).stop_gradient:
            self.everywhere(lambda world: world.backward(world.pick(a), retain))

    @rule(a=PLACES)
    def backward_twice(self, a):
        if not self.worlds[0].pick(a).stop_gradient:
            self.everywhere(lambda world: world.backward(world.pick(a), True))
            self.everywhere(lambda world: world.backward(world.pick(a), False))

    @rule(a=PLACES, b=PLACES)
    def grad(self, a, b):
        first = self.worlds[0]
        if first.pick(a).stop_gradient or first.pick(b).stop_gradient:
            return
        done, found = self.everywhere(lambda world: world.grad(world.pick(a), world.pick(b)))
        if done:
            assert (found[0] is None) == (found[1] is None) == (found[2] is None)
            if found[0] is not None:
                np.testing.assert_array_equal(found[0], found[2])
                np.testing.assert_array_equal(found[1], found[2])

    @rule(a=PLACES)
    def clear(self, a):
        self.everywhere(lambda world: world.clear(world.pick(a)))

    @invariant()
    def alike(self):
        if not hasattr(self, "worlds"):
            return
        *tested, naive = self.worlds
        for world in tested:
            assert [name for name, _ in world.log] == [name for name, _ in naive.log]
            for (_, found), (_, expected) in zip(world.log, naive.log, strict=True):
                np.testing.assert_array_equal(found, expected)
            for found, expected in zip(state_of(world), state_of(naive), strict=True):
                assert found[:3] == expected[:3]
                np.testing.assert_array_equal(found[3], expected[3])
                assert (found[4] is None) == (expected[4] is None)
                if found[4] is not None:
                    np.testing.assert_array_equal(found[4], expected[4])


TestEagerStaticAndNaive = EagerStaticAndNaive.TestCase


def newest_first(self):
    """Planted: hooks in the wrong order."""
    return list(reversed(self.hooks.values()))


def unhooked(self, walk, grad, hooks, number):
    """Planted: a compiled backward that does not call its hooks."""
    return grad


@pytest.mark.parametrize(
    ("owner", "name", "fault"), [(HookList, "live", newest_first), (CallNode, "call_hooks", unhooked)]
)
def test_planted_faults_are_noticed(monkeypatch, owner, name, fault):
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(
            EagerStaticAndNaive, settings=settings(max_examples=500, database=None, phases=[Phase.generate])
        )
