"""Tensors from outside that the turns of a loop on a tensor read and write."""

from __future__ import annotations

import copy

import pytest

import d2s
from d2s import nn
from d2s.errors import GradientError, UnsupportedSyntaxError
from tests.jit.both import both_modes, leaf, recorder


def one():
    return d2s.ones([1])


def an_argument(x, a, b, n):
    for _ in range(n):
        a.add_(one())
    return x * a


def read_and_written(x, a, b, n):
    for _ in range(n):
        with d2s.no_grad():
            a.add_(one())
        x = x * a
    return x


def before_in_and_after(x, a, b, n):
    a.add_(one())
    for _ in range(n):
        b.multiply_(a)
        a.add_(one())
    a.add_(one())
    return x * a + b


def in_turns_of_turns(x, a, b, n):
    for i in range(n):
        j = 0
        while j < i:
            a.add_(one())
            x = x + a
            j = j + 1
        a.multiply_(one() * 0.5)
        x = x + a
    return x * a


def one_of_two(x, a, b, n):
    for _ in range(n):
        t = a if x.sum() > 2 else b
        t.add_(one())
        x = x + t - a * b
    return x * a + b


def put_there_by_a_turn(x, a, b, n):
    t = x * 1
    for _ in range(n):
        x = x + t
        t = a
        t.add_(one())
    return x * t


@pytest.mark.parametrize(
    "function",
    [an_argument, read_and_written, before_in_and_after, in_turns_of_turns, one_of_two, put_there_by_a_turn])
def test_static_is_eager(function):
    def seen(f):
        found = []
        for n in (0, 1, 3):
            x, a, b = leaf(1.5), one(), one() * 2
            try:
                f(x, a, b, d2s.to_tensor(n)).sum().backward()
            except GradientError as error:
                found.append(error.kind)
            found.append([a.tolist(), b.tolist(), None if x.grad is None else x.grad.tolist()])
        return found

    assert seen(d2s.to_static(function)) == seen(function)


@pytest.mark.parametrize(("in_turns", "kind"), [(True, "U12"), (False, "U08")])
def test_what_only_some_turns_have_made_one_is_refused(in_turns, kind):
    """Who else shows what is written to it, the trace does not know."""
    total = d2s.zeros([2])
    first = total[0:1]

    @d2s.to_static
    def f(x):
        kept = x * 1
        while x.sum() > 1:
            x = x / 2 + first
            if in_turns:
                kept.add_(x)
            kept = total
        kept.add_(x)
        return x

    with pytest.raises(UnsupportedSyntaxError) as caught:
        f(d2s.to_tensor([8.0, 1.0]))
    assert caught.value.kind == kind


def test_what_an_earlier_turn_has_made_a_global_is_written_or_refused():
    """It was met in the loop first, and taken for a tensor of the turn: what was written to it was lost."""
    total = d2s.zeros([2])

    @d2s.to_static
    def f(x):
        kept = x * 1
        while x.sum() > 1:
            x = x / 2
            kept.add_(x)
            kept = total
        return x

    with pytest.raises(UnsupportedSyntaxError) as caught:
        f(d2s.to_tensor([8.0, 1.0]))
    assert caught.value.kind == "U12"


def test_an_attribute_that_turns_replace_and_write_is_refused():
    class State:
        tensor = None

    state = State()

    @d2s.to_static
    def f(x, n):
        for _ in range(n):
            state.tensor.add_(x)
            state.tensor = state.tensor * 0.5
        return x

    state.tensor = d2s.ones([1])
    with pytest.raises(UnsupportedSyntaxError) as caught:
        f(d2s.ones([1]), d2s.to_tensor(2))
    assert caught.value.kind == "U12"


@both_modes
def test_behind_a_walk_they_are_read_again(convert):
    """Its hooks may have changed them."""
    w = leaf(2.0)

    @convert
    def f(x, n):
        y = x * w
        while n > 0:
            y.register_hook(lambda g: g + 1)
            y.sum().backward(retain_graph=True)
            y = y * w
            n = n - 1
        return y * w

    x = leaf(1.5)
    f(x, d2s.to_tensor(2)).sum().backward()
    assert x.grad.tolist() == [4.0 + 10.0 + 22.0]


@pytest.mark.parametrize("calls_before", [False, True])
def test_what_calls_write_in_turns_is_read_again(calls_before):
    def play(static):
        w = one()

        @d2s.jit.not_to_static
        def bump():
            w.add_(one())

        @static
        def f(x, n):
            if calls_before:
                bump()
            y = x * w
            while n > 0:
                y = y * w
                bump()
                n = n - 1
            return y * w

        return [f(one(), d2s.to_tensor(count)).tolist() for count in (3, 0, 1)]

    assert play(d2s.to_static) == play(lambda function: function)


TOTAL = d2s.zeros([2])


class Net(nn.Layer):
    """State of all kinds; `way` is what `forward` does with it."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.register_buffer("counter", d2s.zeros([2]))
        self.register_buffer("other", d2s.ones([2]))
        self.weight = self.create_parameter([2], default_initializer=nn.initializer.Constant(0.5))
        self.norm = nn.BatchNorm1D(2)
        self.table, self.log, self.view = {"t": d2s.ones([2])}, [], self.other[0:1]

    def forward(self, x, n):
        return self.way(self, x, n)


def one_buffer(net, x, n):
    while x.sum() < n:
        net.counter.add_(d2s.ones([2]))
        x = x + 1
    return x * net.weight


def read_before_and_after(net, x, n):
    y = x * net.counter
    while x.sum() < n:
        x = x + net.counter * net.weight + 1
        net.counter.set_value(x.detach())
        net.counter[0] = net.counter[1] * 0.5
    return x + net.counter + y


def statistics(net, x, n):
    for _ in range(n):
        x = net.norm(x.reshape([1, 2]).tile([3, 1]) * net.weight + x)[0]
    return x


def a_weight(net, x, n):
    for _ in range(n):
        with d2s.no_grad():
            net.weight.multiply_(d2s.ones([2]) * 1.5)
    return x * net.weight


def a_weight_that_gradients_need(net, x, n):
    for _ in range(n):
        x = x * net.weight
        with d2s.no_grad():
            net.weight.add_(x)
    return x


def a_global_and_an_item(net, x, n):
    for _ in range(n):
        TOTAL.add_(net.table["t"])
        net.table["t"].multiply_(TOTAL)
        x = x + TOTAL
    return x * net.table["t"]


def in_branches(net, x, n):
    for i in range(n):
        if x.sum() > 1:
            net.counter.add_(x.detach())
        elif i > 1:
            net.other.add_(net.counter)
        x = x + net.counter * 0.5 - net.other
    return x


def loops_in_branches(net, x, n):
    if n > 1:
        while x.sum() < n:
            net.counter.add_(d2s.ones([2]))
            x = x + net.counter
    else:
        x = x - net.counter
    return x + net.counter


def in_turns_of_turns_of_turns(net, x, n):
    for i in range(n):
        for _ in range(i + 1):
            net.counter.add_(net.other)
            j = d2s.to_tensor(0)
            while j < i:
                net.other.multiply_(d2s.ones([2]) * 1.1)
                j = j + 1
            x = x + net.counter
        x = x * net.other
    return x


def by_helpers(net, x, n):
    def write(tensor, value):
        tensor.add_(value)
        return tensor

    for _ in range(n):
        x = x + write(net.counter, x.detach())
    return x


@d2s.jit.not_to_static
def untraced(tensor, value):
    with d2s.no_grad():
        tensor.add_(value)


def by_untraced_calls_too(net, x, n):
    for _ in range(n):
        net.counter.add_(d2s.ones([2]))
        untraced(net.counter, d2s.ones([2]) * 0.1)
        x = x + net.counter
        untraced(net.other, net.counter)
    return x + net.other


def views_of_the_caller(net, x, n):
    for _ in range(n):
        x = x + net.view
        net.other.add_(x.detach())
        net.view.multiply_(d2s.ones([1]) * 0.5)
    return x + net.other


def views_taken_before(net, x, n):
    part = net.counter[1:]
    for _ in range(n):
        net.counter.add_(x.detach())
        x = x + part
        part.add_(d2s.ones([1]))
    return x + part


def views_that_a_hook_reads(net, x, n):
    part = net.counter[1:]
    y = x * 2
    y.register_hook(lambda g: g * part + 1)
    for _ in range(n):
        net.counter.add_(x.detach())
    return y


def detached_before(net, x, n):
    kept, copied = net.counter.detach(), net.counter.clone()
    for _ in range(n):
        net.counter.add_(d2s.ones([2]))
        x = x + kept - copied
    return x


def one_of_two_buffers(net, x, n):
    for _ in range(n):
        held = net.counter if x.sum() > 1 else net.other
        held.add_(x.detach())
        x = x + net.counter * net.other
    return x


def two_names(net, x, n):
    for _ in range(n):
        alias = net.counter
        x = x + alias
        net.counter.add_(x.detach())
        x = x * alias
        alias.multiply_(d2s.ones([2]) * 0.5)
    return x + (net.counter if net.counter is alias_of(net) else 100.0)


def alias_of(net):
    return net.counter


def left_by_an_exception(net, x, n):
    try:
        for i in range(n):
            net.counter.add_(d2s.ones([2]))
            if i == 1:
                raise ValueError
            x = x + net.counter
    except ValueError:
        x = x - net.counter
    return x


def with_break_and_else(net, x, n):
    for i in range(n):
        net.counter.add_(d2s.ones([2]))
        if net.counter.sum() > 5:
            break
        x = x + i
    else:
        net.counter.add_(x.detach())
    return x * net.counter


def in_the_test(net, x, n):
    while net.counter.sum() < n:
        net.counter.add_(d2s.ones([2]) * 0.75)
        x = x + net.counter
    return x


def a_test_that_writes(net, x, n):
    def more():
        net.counter.add_(d2s.ones([2]))
        return net.counter.sum() < n * 3

    while more():
        x = x + net.counter
    return x


def with_a_walk(net, x, n):
    for _ in range(n):
        y = x * net.weight
        y.register_hook(recorder(net.log, "y"))
        y.sum().backward()
        with d2s.no_grad():
            net.counter.add_(net.weight.grad)
        x = x + net.counter
    return x


def hooks_that_write(net, x, n):
    def hook(g):
        net.counter.add_(g)
        return g * net.counter

    for _ in range(n):
        net.counter.multiply_(d2s.ones([2]) * 0.5)
        x = x * net.other
        x.register_hook(hook)
        x.sum().backward(retain_graph=True)
    return x + net.counter


def shown(net, x, n):
    for _ in range(n):
        net.counter.add_(d2s.ones([2]))
        net.log.append(net.counter.tolist())
        net.log.append(net.counter.clone())
    return x


WAYS = [
    one_buffer, read_before_and_after, statistics, a_weight, a_weight_that_gradients_need, a_global_and_an_item,
    in_branches, loops_in_branches, in_turns_of_turns_of_turns, by_helpers, by_untraced_calls_too, views_of_the_caller,
    views_taken_before, views_that_a_hook_reads, detached_before, one_of_two_buffers, two_names,
    left_by_an_exception, with_break_and_else, in_the_test, a_test_that_writes, with_a_walk, hooks_that_write, shown]


def played(net, changes):
    """What several calls show, with changes by the caller in between."""
    TOTAL.set_value(d2s.ones([2]))
    seen = []
    for number, (count, change) in enumerate(zip((2, 0, 3, 1, 4), changes, strict=True)):
        x = leaf(0.25, 0.5 * number)
        try:
            result = net(x, d2s.to_tensor(count))
            seen.append(result.tolist())
            result.sum().backward()
        except GradientError as error:
            seen.append(error.kind)
        tensors = [net.counter, net.other, net.view, net.weight, net.table["t"], TOTAL, *net.norm.buffers()]
        seen.append([tensor.tolist() for tensor in tensors])
        seen.append([None if t.grad is None else t.grad.tolist() for t in (x, net.weight)])
        seen.append([entry.tolist() if isinstance(entry, d2s.Tensor) else entry for entry in net.log])
        change(net)
    return seen


def nothing(net):
    pass


def values(net):
    net.counter.set_value(d2s.ones([2]) * 3)
    net.table["t"].zero_()


def buffers(net):
    net.counter, net.other = net.other, net.counter.clone()


def views(net):
    net.seen = net.counter[1:2], net.weight.detach()


def a_view_of_another(net):
    net.counter = net.other[:].detach()


CHANGES = {
    "alone": (nothing,) * 5,
    "changed": (values, nothing, buffers, values, nothing),
    "with_views": (nothing, views, nothing, a_view_of_another, nothing),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_state_that_turns_write(way, changes):
    static = Net(way)
    d2s.to_static(static)
    assert played(static, changes) == played(Net(way), changes)


def test_copies_of_a_layer_have_state_of_their_own():
    net = d2s.to_static(Net(one_buffer))
    net(leaf(0.0, 0.0), d2s.to_tensor(3.0))
    other = copy.deepcopy(net)
    other(leaf(0.0, 0.0), d2s.to_tensor(3.0))
    assert (net.counter.tolist(), other.counter.tolist()) == ([2.0, 2.0], [4.0, 4.0])


class Saved(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("counter", d2s.zeros([2]))

    def forward(self, x, n):
        while x.sum() < n:
            self.counter.add_(d2s.ones([2]))
            x = x + self.counter
        return x * self.counter


def test_saved_layers_write_to_theirs(tmp_path):
    net = Saved()
    specs = [d2s.static.InputSpec([2], "float32"), d2s.static.InputSpec([], "float32")]
    d2s.jit.save(net, str(tmp_path / "net"), input_spec=specs)
    loaded = d2s.jit.load(str(tmp_path / "net"))
    for count in (3.0, 0.0, 9.0):
        x, n = d2s.to_tensor([0.5, 0.25]), d2s.to_tensor(count)
        assert loaded(x, n).tolist() == net(x, n).tolist()
    assert [buffer.tolist() for buffer in loaded.buffers()] == [net.counter.tolist()]
