"""Hooks of Layers that a static function registers and removes itself: each call does what eager mode does."""

from __future__ import annotations

import pytest

import d2s as paddle
from d2s.jit import not_to_static, to_static

CASES = {}


def case(make):
    """Enter a maker of programs: it gets a Layer that doubles, and `to_static` or a stand-in for it."""
    CASES[make.__name__] = make
    return make


def squared(layer, inputs, outputs):
    return outputs * outputs + 10


@case
def removed_between_two_calls(net, static):
    handle = net.register_forward_post_hook(squared)

    def f(x):
        y = net(x)
        handle.remove()
        return net(y)

    return static(f)


@case
def a_hook_that_removes_itself(net, static):
    def once(layer, inputs):
        handle.remove()
        return (inputs[0] * inputs[0] + 10,)

    handle = net.register_forward_pre_hook(once)
    return static(lambda x: net(net(x)))


@case
def a_hook_that_adds_hooks(net, static):
    def adds(layer, inputs, outputs):
        layer.register_forward_post_hook(lambda layer, inputs, outputs: outputs + 5)
        return outputs * 2

    net.register_forward_post_hook(adds)
    return static(lambda x: net(net(x)))


@case
def added_in_a_branch(net, static):
    def f(x):
        if x.sum() > 0:
            net.register_forward_post_hook(lambda layer, inputs, outputs: outputs + 1)
        return net(x)

    return static(f)


@case
def removed_in_a_branch(net, static):
    handle = net.register_forward_post_hook(squared)

    def f(x):
        if x.sum() > 2:
            handle.remove()
        return net(x) + net(x)

    return static(f)


@case
def added_and_removed(net, static):
    def f(x):
        first = net.register_forward_post_hook(lambda layer, inputs, outputs: outputs * x)
        net.register_forward_post_hook(lambda layer, inputs, outputs: outputs + x, prepend=True)
        y = net(x)
        first.remove()
        first.remove()
        return net(y)

    return static(f)


@case
def with_keywords_and_in_any_case(net, static):
    def f(x):
        handle = net.register_forward_pre_hook(lambda layer, args, kwargs: ((args[0] * 3,), kwargs), with_kwargs=True)
        other = net.register_forward_post_hook(lambda layer, args, out: out * x, always_call=True)
        try:
            return net(x)
        finally:
            handle.remove()
            other.remove()

    return static(f)


@case
def in_a_python_loop(net, static):
    def f(x):
        handles = [
            net.register_forward_hook(lambda layer, inputs, outputs, k=k: outputs + k * x) for k in range(3)]
        y = net(x)
        for handle in handles[1:]:
            handle.remove()
        return net(y)

    return static(f)


@case
def by_other_ways(net, static):
    handle = net.register_forward_post_hook(squared)

    def f(x):
        y = net(x)
        remove = handle.remove
        remove()
        paddle.nn.Layer.register_forward_post_hook(net, lambda layer, inputs, outputs: outputs + 7)
        register = net.register_forward_post_hook
        register(lambda layer, inputs, outputs: outputs + 3)
        getattr(net, "register_forward_pre_hook")(lambda layer, inputs: (inputs[0] * 2,))  # noqa: B009
        return net(y)

    return static(f)


@case
def in_a_container(net, static):
    handle = net.register_forward_post_hook(squared)
    both = paddle.nn.Sequential(net, net)

    def f(x):
        y = both(x)
        handle.remove()
        return both(y)

    return static(f)


@case
def a_handle_that_a_layer_keeps(net, static):
    class Around(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.net, self.handle = net, None

        def forward(self, x):
            if self.handle is not None:
                self.handle.remove()
            self.handle = self.net.register_forward_post_hook(lambda layer, inputs, outputs: outputs * x)
            return self.net(x)

    return static(Around())


@case
def a_handle_that_leaves(net, static):
    register = static(lambda x: net.register_forward_post_hook(lambda layer, inputs, outputs: outputs * x))

    def call(x):
        handle = register(x)
        y = net(x)
        handle.remove()
        return y

    return call


@case
def on_one_of_two(net, static):
    other = paddle.nn.Linear(1, 1)
    other.weight.set_value([[3.0]])

    def f(x):
        chosen = net if x.sum() > 0 else other
        handle = chosen.register_forward_post_hook(lambda layer, inputs, outputs: outputs * x + 1)
        y = net(x) * 100 + other(x)
        handle.remove()
        return y + net(x) + other(x)

    return static(f)


@case
def on_a_layer_made_inside(net, static):
    def f(x):
        made = paddle.nn.ReLU()
        handle = made.register_forward_post_hook(lambda layer, inputs, outputs: outputs + x)
        y = made(x)
        handle.remove()
        return net(y) + made(x)

    return static(f)


@case
def between_the_calls(net, static):
    converted, handles = static(lambda x: net(x)), []

    def call(x):
        if handles:
            handles.pop().remove()
        else:
            handles.append(net.register_forward_post_hook(squared))
        return converted(x)

    return call


@case
def what_is_no_function(net, static):
    def f(x):
        try:
            net.register_forward_post_hook(3)
        except TypeError:
            return net(x) * 7
        return net(x)

    return static(f)


def doubling():
    net = paddle.nn.Linear(1, 1)
    net.weight.set_value([[2.0]])
    return net


def observed(make, static):
    """What four calls give and how many hooks they leave."""
    net = doubling()
    function, found = make(net, static), []
    for value in (1.0, -1.0, 3.0, 1.0):
        x = paddle.to_tensor([[value]], stop_gradient=False)
        y = function(x)
        y.backward()
        found.append((y.item(), x.grad.item(), len(net._forward_pre_hooks), len(net._forward_post_hooks)))
    return found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*has been traced")
def test_static_is_as_eager(name):
    assert observed(CASES[name], to_static) == observed(CASES[name], lambda function: function)


def test_tracing_changes_no_layer():
    net = doubling()

    @to_static
    def f(x):
        net.register_forward_post_hook(squared)
        return (1, 2)[:: int(net(x))]

    with pytest.raises(paddle.errors.TracingError):
        f(paddle.ones([1, 1]))
    assert not net._forward_post_hooks


def refused(function, error, text):
    with pytest.raises(error, match=text) as caught:
        to_static(function)(paddle.ones([1, 1]))
    assert "test_layer_hooks.py" in str(caught.value)


def test_turns_of_the_program_cannot_have_other_hooks():
    net = doubling()

    def f(x):
        while x.sum() < 1000:
            net.register_forward_post_hook(squared)
            x = net(x)
        return x

    refused(f, paddle.errors.UnsupportedSyntaxError, "a Layer has other hooks behind a turn than before it")


def test_tables_changed_by_hand():
    net = doubling()
    net.register_forward_post_hook(squared)

    def f(x):
        y = net(x)
        net._forward_post_hooks.clear()
        return net(y)

    refused(f, paddle.errors.UnsupportedSyntaxError, "was changed by hand")


def test_hooks_removed_by_code_that_is_not_traced():
    net = doubling()
    handle = net.register_forward_post_hook(squared)
    helper = not_to_static(lambda: handle.remove())

    def f(x):
        y = net(x)
        helper()
        return net(y)

    refused(f, paddle.errors.ExecutionError, "hooks of a Linear were changed by a call that is not traced")
    assert to_static(f)(paddle.ones([1, 1])).item() == 4.0


def test_handles_that_the_run_picks():
    net, handles = doubling(), []

    def f(x):
        handles.append(net.register_forward_post_hook(squared))
        y = net(x)
        handles.pop(0).remove()
        return net(y)

    refused(f, paddle.errors.ExecutionError, "hooks of a Linear were changed")
