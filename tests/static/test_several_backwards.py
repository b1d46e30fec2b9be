"""Static functions that go back several times: two losses of one step, gradients that add up, errors of eager mode."""

from __future__ import annotations

import pytest

from d2s.optimizer import SGD, Adam
from tests.static.test_whole_step import assert_same


def changed_by_the_first_step(setting):
    """The second loss goes through a product with what the first step has changed."""
    w, b = setting.w, setting.b
    first, second = Adam(0.05, parameters=[w]), SGD(0.1, parameters=[b])

    def step(x):
        made = (x.matmul(w) + b).tanh()
        loss = (made.detach() * w.mean()).square().mean() + (x.matmul(w) * 0.3).mean()
        loss.backward()
        first.step()
        first.clear_grad()
        second.clear_grad()
        other = (made * b).sum() - (x.matmul(w).detach() * b).mean()
        other.backward()
        second.step()
        first.clear_grad()
        second.clear_grad()
        return loss + other.detach()

    return step


def adversaries(setting):
    """Two optimizers take turns."""
    w, b = setting.w, setting.b
    first, second = Adam(0.05, parameters=[w]), SGD(0.1, parameters=[b])

    def step(x):
        loss = (x.matmul(w) + b.detach()).square().mean()
        loss.backward()
        first.step()
        first.clear_grad()
        other = (x.matmul(w).detach() * b).sum().tanh() + (b * b).sum()
        other.backward()
        second.step()
        second.clear_grad()
        return loss.detach() + other.detach()

    return step


def accumulated(setting):
    """The gradients of parts of the data add up; hooks see each part."""
    w, b = setting.w, setting.b
    optimizer = SGD(0.1, parameters=[w, b])

    def step(x):
        total = 0.0
        for part in (x[0:2], x[2:4], x[4:5]):
            h = part.matmul(w)
            h.register_hook(setting.noted("h", lambda g: g * g + 0.1))
            loss = (h + b).square().mean()
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.clear_grad()
        return total

    return step


def kept(setting):
    """The first backward keeps what the second one goes through as well."""
    w, b = setting.w, setting.b

    def step(x):
        h = (x.matmul(w) + b).tanh()
        first = (h * h).sum()
        first.backward(retain_graph=True)
        second = (h * 0.3).sum() * first
        second.backward()
        return first.detach() + second.detach()

    return step


def used_up(setting):
    """The second backward comes to what the first one has used up."""
    w, b = setting.w, setting.b

    def step(x):
        h = (x.matmul(w) + b).tanh()
        (h * h).sum().backward()
        (h * 0.3).sum().backward()
        return h.sum()

    return step


def changed_before_it_is_read(setting):
    """Both losses are computed before the step that writes to what the second one's gradient reads."""
    w, b = setting.w, setting.b
    optimizer = SGD(0.1, parameters=[w, b])

    def step(x):
        h = x.matmul(w)
        first, second = (h + b).square().mean(), (w * w * b).sum()
        first.backward()
        optimizer.step()
        second.backward()
        return first.detach()

    return step


def left_open(setting):
    """The caller may go back from the result."""
    w, b = setting.w, setting.b

    def step(x):
        h = x.matmul(w)
        h.sum().backward(retain_graph=True)
        return (h * b).sum()

    return step


def chosen(setting):
    """Branches on tensors in both parts."""
    w, b = setting.w, setting.b
    optimizer = SGD(0.1, parameters=[w, b])

    def step(x):
        h = x.matmul(w)
        if h.sum() > 0:
            h = h * 1.3
        loss = h.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        other = (x.matmul(w) * b)
        if other.sum() > 0.5:
            other = other.tanh()
        second = other.sum()
        second.backward()
        return loss.detach() + second.detach()

    return step


@pytest.mark.parametrize("make", [adversaries, accumulated, kept, chosen], ids=lambda given: given.__name__)
def test_one_function(make):
    assert_same(make, calls=5)


@pytest.mark.parametrize("make", [adversaries, accumulated, kept], ids=lambda given: given.__name__)
def test_with_hooks_of_parameters(make):
    def prepare(setting):
        setting.w.register_hook(setting.noted("w", lambda g: g * g + 1))
        setting.b.register_hook(setting.noted("b"))
        setting.b._register_backward_hook(lambda: setting.log.append(("reduced", setting.state())))

    assert_same(make, prepare)


def test_a_hook_that_raises_in_the_second():
    def prepare(setting):
        def raises(g):
            if len(setting.log) > 4:
                raise ValueError("enough")

        setting.w.register_hook(setting.noted("w"))
        setting.w.register_hook(raises)

    assert_same(accumulated, prepare, calls=4)


@pytest.mark.parametrize("make", [used_up, left_open], ids=lambda given: given.__name__)
def test_by_the_walk(make):
    assert_same(make, whole=False)


@pytest.mark.parametrize(
    "make", [changed_by_the_first_step, changed_before_it_is_read], ids=lambda given: given.__name__)
def test_what_was_written_to_in_between(make):
    log = assert_same(make, whole=None)
    assert "modified in place" in log[0][1]
