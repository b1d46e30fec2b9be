"""A training step in one static function: the same as eager, and without the walk where that cannot be noticed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import d2s
from d2s.optimizer import SGD, Adam, AdamW, Momentum


def values(seed, *shapes):
    r = np.random.default_rng(seed)
    return [r.standard_normal(shape).astype("float32") for shape in shapes]


class Setting:
    """Parameters, data and a log, the same in each mode."""

    def __init__(self, make_step, static, **options):
        w, b, x, self.more = values(1, (3, 4), (4,), (5, 3), (5, 3))
        self.w, self.b = (d2s.to_tensor(data, stop_gradient=False) for data in (w, b))
        self.x = d2s.to_tensor(x)
        self.log = []
        self.step = make_step(self, **options)
        self.static = None
        if static:
            self.step = self.static = d2s.to_static(self.step)

    def noted(self, name, change=lambda g: None):
        def hook(g):
            self.log.append((name, g.numpy().tolist(), self.state()))
            return change(g)

        return hook

    def state(self):
        return [None if t.grad is None else t.grad.numpy().tolist() for t in (self.w, self.b)]

    @property
    def is_whole(self):
        return self.static.concrete_program.traced.compiled.step is not None


def assert_same(make_step, prepare=lambda setting: None, calls=3, whole=True, **options):
    """The same log, gradients, parameters and results in both modes."""
    seen = []
    for static in (False, True):
        setting = Setting(make_step, static, **options)
        prepare(setting)
        for _ in range(calls):
            try:
                setting.log.append(("result", setting.step(setting.x).numpy().tolist()))
            except Exception as error:
                setting.log.append((type(error), getattr(error, "message", str(error)).partition(": shape")[0]))
            setting.log.append(("state", setting.state(), setting.w.numpy().tolist(), setting.b.numpy().tolist()))
        if static:
            assert whole is None or setting.is_whole is whole
        seen.append(setting.log)
    assert seen[0] == seen[1]
    return seen[1]


def plain(s):
    def step(x):
        h = d2s.tanh(d2s.matmul(x, s.w) + s.b)
        loss = (h * h).sum()
        loss.backward()
        return loss

    return step


def hooked(s):
    def step(x):
        a = d2s.matmul(x, s.w) + s.b
        a.register_hook(s.noted("a", lambda g: g + 1))
        h = d2s.tanh(a)
        h.register_hook(s.noted("h", lambda g: g * g))
        h.register_hook(s.noted("h again"))
        loss = (h * h + a).mean()
        loss.register_hook(s.noted("loss", lambda g: g * 3))
        loss.backward()
        return loss, h, a

    return lambda x: step(x)[0]


def test_gradients_accumulate():
    assert_same(plain)


def test_hooks_see_what_they_see_in_eager_mode():
    def prepare(s):
        s.w.register_hook(s.noted("w", lambda g: g * g + 1))
        s.b.register_hook(s.noted("b", lambda g: g + 1))
        s.w._register_backward_hook(lambda: s.log.append(("w complete", s.state())))
        s.b._register_backward_hook(lambda: s.log.append(("b complete", s.state())))

    log = assert_same(hooked, prepare)
    assert [entry[0] for entry in log[:9]] == [
        "loss", "h", "h again", "a", "b", "b complete", "w", "w complete", "result"]


def test_a_leaf_is_finished_before_hooks_of_earlier_values():
    def make(s):
        def step(x):
            a = d2s.matmul(x, s.w)
            a.register_hook(s.noted("a"))
            loss = (a * s.b).sum()
            loss.backward()
            return loss

        return step

    log = assert_same(make, calls=1)
    # The gradient of b is there when the hook of a runs, that of w is not.
    name, _, (w, b) = log[0]
    assert name == "a"
    assert w is None
    assert b is not None


def test_hooks_that_come_and_go_between_calls():
    seen = []
    for static in (False, True):
        setting = Setting(plain, static)
        handle = None
        for call in range(4):
            if call == 1:
                handle = setting.w.register_hook(setting.noted("w", lambda g: g + 1))
            elif call == 3:
                handle.remove()
            setting.log.append(setting.step(setting.x).numpy().tolist())
            setting.log.append(setting.state())
        seen.append(setting.log)
    assert seen[0] == seen[1]
    assert [entry[0] for entry in seen[0] if type(entry) is tuple].count("w") == 2


def test_an_error_in_a_hook_leaves_the_leaves_that_were_finished():
    class Stop(Exception):
        pass

    def prepare(s):
        def refuse(g):
            raise Stop("w")

        s.w.register_hook(refuse)

    log = assert_same(plain, prepare)
    assert log[0] == (Stop, "w")
    assert log[1][1][1] is not None
    assert log[1][1][0] is None


def test_a_hook_that_writes_to_a_parameter_is_noticed():
    def prepare(s):
        def write(g):
            s.w.set_value(s.w.numpy() + 1)

        s.b.register_hook(write)

    def make(s):
        def step(x):
            loss = (d2s.matmul(x, s.w) * s.w.sum() + s.b).sum()
            loss.backward()
            return loss

        return step

    log = assert_same(make, prepare)
    assert log[0][0] is d2s.errors.GradientError


def test_backward_has_used_the_step_up():
    setting = Setting(plain, True)
    loss = setting.step(setting.x)
    assert setting.is_whole
    with pytest.raises(d2s.errors.GradientError, match="second time"):
        loss.backward()
    with pytest.raises(d2s.errors.GradientError, match="second time"):
        d2s.autograd.grad(loss, setting.w)


def test_other_results_have_lost_their_graph_too():
    setting = Setting(lambda s: _two_results(s), True)
    _, h = setting.step(setting.x)
    assert setting.is_whole
    assert not h.stop_gradient
    with pytest.raises(d2s.errors.GradientError, match="second time"):
        h.sum().backward()


def _two_results(s):
    def step(x):
        h = d2s.matmul(x, s.w)
        loss = h.sum()
        loss.backward()
        return loss, h

    return step


def test_two_names_of_one_leaf_go_by_the_walk():
    def prepare(s):
        s.b = s.w.alias()
        s.w.register_hook(s.noted("both", lambda g: g * g))

    def make(s):
        def step(x):
            loss = (s.w * s.w + s.b).sum()
            loss.backward()
            return loss

        return step

    log = assert_same(make, prepare)
    assert [entry[0] for entry in log[:2]] == ["both", "result"]


def test_a_parameter_with_history_goes_by_the_walk():
    seen = []
    for static in (False, True):
        setting = Setting(plain, static)
        source = setting.w
        for _ in range(2):
            setting.w = source * 2
            setting.step(setting.x)
            setting.log.append(source.grad.numpy().tolist())
        seen.append(setting.log)
    assert seen[0] == seen[1]


def test_gradients_in_a_loop_of_the_run():
    def make(s):
        def step(x):
            h = x
            turns = 0
            while (h * h).sum() > 0.5:
                h = d2s.tanh(d2s.matmul(h, s.w[:, :3]) * 0.3)
                turns = turns + 1
            loss = (h * s.w.sum()).sum()
            loss.backward()
            return loss

        return step

    assert_same(make)
    # With a hook on the leaf, contributions have to be counted.
    assert_same(make, lambda s: s.w.register_hook(s.noted("w", lambda g: g + 1)))


def optimizers():
    d = d2s.optimizer.lr.StepDecay(0.1, step_size=2)
    clip = d2s.nn.ClipGradByGlobalNorm(0.5)
    return {
        "sgd": lambda p: SGD(0.1, parameters=p),
        "sgd with decay and clipping": lambda p: SGD(0.1, parameters=p, weight_decay=0.1, grad_clip=clip),
        "sgd with a schedule": lambda p: SGD(d2s.optimizer.lr.StepDecay(0.1, step_size=2), parameters=p),
        "momentum": lambda p: Momentum(0.1, parameters=p),
        "nesterov": lambda p: Momentum(0.1, parameters=p, use_nesterov=True),
        "adam": lambda p: Adam(0.1, parameters=p),
        "adamw": lambda p: AdamW(0.1, parameters=p),
        "adam with a schedule": lambda p: Adam(
            d2s.optimizer.lr.LinearWarmup(d, warmup_steps=2, start_lr=0.0, end_lr=0.1), parameters=p),
    }


@pytest.mark.parametrize("name", optimizers())
def test_optimizers_change_the_same_bits(name):
    def make(s):
        optimizer = optimizers()[name]([s.w, s.b])
        s.optimizer = optimizer

        def step(x):
            loss = (d2s.tanh(d2s.matmul(x, s.w) + s.b) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        return step

    def prepare(s):
        inner = s.step

        def step(x):
            result = inner(x)
            rate = s.optimizer._learning_rate
            if not isinstance(rate, float):
                rate.step()
            return result

        s.step = step

    log = assert_same(make, prepare, calls=5)
    assert log[1][2] != log[3][2]


def test_parameters_are_changed_in_place():
    w, b, x = values(2, (300, 200), (200,), (50, 300))
    w, b = (d2s.to_tensor(data, stop_gradient=False) for data in (w, b))
    x = d2s.to_tensor(x)
    optimizer = SGD(0.1, parameters=[w, b])

    @d2s.to_static
    def step(x):
        loss = (d2s.matmul(x, w) + b).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    step(x)
    before = w.data, b.data
    places = [id(array) for array in before]
    del before
    step(x)
    assert [id(w.data), id(b.data)] == places


def test_threads_run_one_step():
    """Each thread has data of its own; the gradients of the shared parameter add up."""
    w, = values(3, (40, 40))
    w = d2s.to_tensor(np.round(w), stop_gradient=False)
    data = [np.round(x) for x in values(4, *[(64, 40)] * 4)]

    def step(x):
        loss = d2s.matmul(x, w).sum()
        loss.backward()
        return loss

    static = d2s.to_static(step)
    expected = [float(step(d2s.to_tensor(x))) for x in data]
    total = w.grad.numpy()
    w.clear_grad()
    found = [[] for _ in data]

    def work(number):
        found[number] += [float(static(d2s.to_tensor(data[number]))) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(data))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[loss] * 20 for loss in expected]
    # Whole numbers: the order of the sum does not matter.
    np.testing.assert_array_equal(w.grad.numpy(), total * 20)


def test_names_of_the_user_do_not_collide_with_those_of_generated_code():
    def make(s):
        def forward(x):
            return x

        keep = d2s.jit.not_to_static(forward)

        def step(x):
            keep(x)
            loss = (x * s.w.sum() + s.b.sum()).sum()
            loss.backward()
            return loss

        return step

    assert_same(make)


def test_what_backward_reads_and_the_step_returns():
    """Integers that leave behind the backward: their version is noted only there."""

    def step(x):
        values, places = d2s.topk(x, 2, axis=-1)
        loss = (d2s.take_along_axis(x * x, places, 1) * values).sum()
        loss.backward()
        return loss, places

    static, found = d2s.to_static(step), []
    for function in (step, static, static):
        x = d2s.to_tensor(np.random.default_rng(0).standard_normal((3, 4)), stop_gradient=False)
        found.append([tensor.numpy().tobytes() for tensor in (*function(x), x.grad)])
    assert static.concrete_program.traced.compiled.step is not None
    assert found[0] == found[1] == found[2]
