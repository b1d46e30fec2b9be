"""A Layer is changed, called, differentiated, optimized, saved, copied: both twins agree after each step."""

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
from d2s import nn
from d2s.jit.concrete import ConcreteProgram
from d2s.jit.run_program import CallNode

from . import network
from .network import Twin, plus, shrink

PLACES = st.integers(0, 1000)
CHANGES = st.sampled_from([plus, shrink, lambda g: None])
NUMBERS = st.sampled_from([-1.0, 0.5, 2.0])


class EagerAndStaticTwin(RuleBasedStateMachine):
    """Every step is taken by both twins."""

    @initialize()
    def start(self):
        network.FACTOR = 1.0
        self.twins = Twin(static=False), Twin(static=True)
        self.names = 0

    def teardown(self):
        network.FACTOR = 1.0

    def both(self, action):
        """Both take a step, and raise the same error or none."""
        errors = []
        for twin in self.twins:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                try:
                    action(twin)
                    errors.append(None)
                except d2s.D2SError as error:
                    errors.append((type(error), error.message))
        assert errors[0] == errors[1]

    def name(self):
        self.names += 1
        return f"hook {self.names}"

    # --- what forward reads ------------------------------------------------------------------------------------

    @rule(value=NUMBERS)
    def set_attribute(self, value):
        self.both(lambda twin: setattr(twin.network, "scale", value))

    @rule(turns=st.integers(0, 2))
    def set_turns(self, turns):
        self.both(lambda twin: setattr(twin.network, "turns", turns))

    @rule(flag=st.booleans())
    def set_flag(self, flag):
        self.both(lambda twin: setattr(twin.network, "watches", flag))

    @rule(place=st.integers(0, 1), value=NUMBERS)
    def set_element(self, place, value):
        self.both(lambda twin: twin.network.factors.__setitem__(place, value))

    @rule(value=NUMBERS)
    def set_global(self, value):
        network.FACTOR = value

    @rule(value=NUMBERS)
    def set_closure(self, value):
        self.both(lambda twin: twin.set_offset(value))

    @rule(training=st.booleans())
    def set_mode(self, training):
        self.both(lambda twin: twin.network.train(training))

    @rule(dtype=st.sampled_from(["float32", "float64"]))
    def set_dtype(self, dtype):
        self.both(lambda twin: twin.network.to(dtype=dtype))

    @rule(kind=st.sampled_from([nn.Tanh, nn.ReLU, nn.Sigmoid]))
    def replace_layer(self, kind):
        self.both(lambda twin: setattr(twin.network, "middle", kind()))

    # --- parameters --------------------------------------------------------------------------------------------

    @rule(place=PLACES, value=NUMBERS)
    def write_parameter(self, place, value):
        def action(twin):
            parameter = twin.parameter(place)[1]
            parameter.set_value(parameter.numpy() * value)

        self.both(action)

    @rule(value=NUMBERS)
    def replace_parameter(self, value):
        def action(twin):
            layer = twin.network.first
            new = layer.create_parameter([2, 3], dtype=str(layer.weight.dtype))
            new.set_value(np.full((2, 3), value))
            layer.weight = new
            twin.begin_optimizing()

        self.both(action)

    @rule(place=PLACES, stops=st.booleans())
    def freeze(self, place, stops):
        self.both(lambda twin: setattr(twin.parameter(place)[1], "stop_gradient", stops))

    # --- hooks -------------------------------------------------------------------------------------------------

    @rule(place=PLACES, change=CHANGES)
    def hook_parameter(self, place, change):
        name = self.name()
        self.both(lambda twin: twin.handles.append(
            twin.parameter(place)[1].register_hook(twin.record(name, change))))

    @rule(place=PLACES)
    def reduce_hook(self, place):
        name = self.name()

        def action(twin):
            parameter = twin.parameter(place)[1]
            if not parameter.stop_gradient:
                twin.handles.append(parameter._register_backward_hook(
                    lambda: twin.log.append((name, parameter.grad.numpy().tolist()))))

        self.both(action)

    @rule(place=PLACES, kind=st.sampled_from(["pre", "post"]))
    def layer_hook(self, place, kind):
        name = self.name()
        self.both(lambda twin: twin.handles.append(
            getattr(twin.layer(place), f"register_forward_{kind}_hook")(twin.note(name))))

    @rule()
    def changing_layer_hook(self):
        def halved(layer, inputs):
            return (inputs[0] * 0.5,)

        self.both(lambda twin: twin.handles.append(twin.network.second.register_forward_pre_hook(halved)))

    @precondition(lambda self: self.twins[0].handles)
    @rule(place=PLACES)
    def remove(self, place):
        self.both(lambda twin: twin.handles[place % len(twin.handles)].remove())

    # --- runs --------------------------------------------------------------------------------------------------

    @rule(rows=st.integers(1, 3), scale=NUMBERS)
    def call(self, rows, scale):
        data = np.arange(2.0 * rows).reshape(rows, 2) * scale - 0.7
        self.both(lambda twin: twin.call(data))

    @precondition(lambda self: self.twins[0].results)
    @rule(count=st.integers(1, 3), retain=st.booleans())
    def backward(self, count, retain):
        self.both(lambda twin: twin.backward(count, retain))

    @rule(rows=st.integers(1, 3), times=st.integers(1, 3))
    def train(self, rows, times):
        """Some steps of training, on the same data."""
        data = np.linspace(-1, 1, 2 * rows).reshape(rows, 2)

        def action(twin):
            for _ in range(times):
                twin.call(data)
                twin.backward(1, False)
                twin.optimizer.step()
                twin.optimizer.clear_grad()

        self.both(action)

    @rule()
    def step(self):
        self.both(lambda twin: twin.optimizer.step())

    @rule(to_zero=st.booleans())
    def clear(self, to_zero):
        self.both(lambda twin: twin.optimizer.clear_grad(to_zero))

    @rule()
    def save_and_load(self):
        self.both(lambda twin: twin.save_and_load())

    @rule()
    def deepcopy(self):
        self.both(lambda twin: twin.become_a_copy())

    @invariant()
    def alike(self):
        if hasattr(self, "twins"):
            eager, static = (twin.seen() for twin in self.twins)
            assert static[0] == eager[0]
            assert static[1] == eager[1]


TestEagerAndStaticTwin = EagerAndStaticTwin.TestCase


def always(self, args):
    """Planted: a Program is used although what it was traced with has changed."""
    return True


def unhooked(self, walk, grad, hooks, number):
    """Planted: a compiled backward that does not call its hooks."""
    return grad


@pytest.mark.parametrize(
    ("owner", "name", "fault"), [(ConcreteProgram, "matches", always), (CallNode, "call_hooks", unhooked)]
)
def test_planted_faults_are_noticed(monkeypatch, owner, name, fault):
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(
            EagerAndStaticTwin, settings=settings(max_examples=300, database=None, phases=[Phase.generate])
        )


def test_a_number_that_only_the_tape_of_a_run_needs():
    """Values that the run has not kept are computed anew: the numbers in them have to be there."""
    state = EagerAndStaticTwin()
    state.start()
    state.call(rows=1, scale=-1.0)
    state.set_closure(value=-1.0)
    state.train(rows=1, times=1)
    state.set_closure(value=2.0)
    state.freeze(place=80, stops=True)
    state.call(rows=2, scale=-1.0)
    state.save_and_load()
    state.backward(count=1, retain=False)
    state.alike()
