"""F: registration is an effect of running the line; what kinds of callables hooks are."""

from __future__ import annotations

import functools

from ..register import leaf, outcome, plus_one, recorder, situation, val


@situation("F01", [303.0])
def closure_variable_changed_later(paddle, to_static):
    k = 1

    @to_static
    def f(x):
        x.register_hook(lambda g: g * k + g)
        return 3 * x

    x = leaf(paddle, 2.0)
    y = f(x)
    k = 100
    y.backward()
    return val(x.grad)


@situation("F02", ([9.0], [6.0]))
def registered_in_a_loop(paddle, to_static):
    @to_static
    def late(x):
        for i in range(3):
            x.register_hook(lambda g: g + i)  # noqa: B023
        return 3 * x

    @to_static
    def early(x):
        for i in range(3):
            x.register_hook(lambda g, i=i: g + i)
        return 3 * x

    x, w = leaf(paddle, 2.0), leaf(paddle, 2.0)
    late(x).backward()
    early(w).backward()
    return val(x.grad), val(w.grad)


@situation("F02b", ([(2, [1.0]), (1, [4.0]), (0, [10.0])], [22.0]))
def registered_on_the_carried_tensor(paddle, to_static):
    log = []

    @to_static
    def f(x):
        y = x
        for i in range(3):
            y = y * 2
            y.register_hook(recorder(log, i, plus_one))
        return y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("F03", [[20.0], [6.0]])
def registered_in_one_branch(paddle, to_static):
    @to_static
    def f(x):
        y = x * 2
        if x.sum() > 0:
            y.register_hook(lambda g: g * g + 1)
        return 3 * y

    grads = []
    for value in (2.0, -2.0):
        x = leaf(paddle, value)
        f(x).backward()
        grads.append(val(x.grad))
    return grads


@situation("F04", [[10.0], [101.0], [10202.0]])
def registered_on_the_parameter_by_every_call(paddle, to_static):
    @to_static
    def f(w):
        w.register_hook(lambda g: g * g + 1)
        return 3 * w

    w = leaf(paddle, 2.0)
    grads = []
    for _ in range(3):
        w.clear_grad()
        f(w).backward()
        grads.append(val(w.grad))
    return grads


@situation("F04b", [[20.0], [20.0], [20.0]])
def registered_on_an_intermediate_by_every_call(paddle, to_static):
    @to_static
    def f(w):
        y = w * 2
        y.register_hook(lambda g: g * g + 1)
        return 3 * y

    w = leaf(paddle, 2.0)
    grads = []
    for _ in range(3):
        w.clear_grad()
        f(w).backward()
        grads.append(val(w.grad))
    return grads


@situation("F05", (1, [[[1.0, 1.0], [2.0, 2.0]]], [[2.0, 2.0], [5.0, 5.0]], [1.0, 1.0]))
def registered_by_the_constructor(paddle, to_static):
    log = []

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = paddle.nn.Linear(2, 2)
            self.linear.parameters()[0].register_hook(self.hook)

        def hook(self, g):
            log.append(val(g))
            return g * g + 1

        def forward(self, x):
            return self.linear(x)

    net = Net()
    call = to_static(net)
    call(paddle.to_tensor([[1.0, 2.0]])).sum().backward()
    weight, bias = net.linear.parameters()
    return len(log), log, val(weight.grad), val(bias.grad)


@situation("F06", ([("w", [[12.0]])], [[145.0]]))
def parameter_shared_by_two_layers(paddle, to_static):
    """y = 3 * w * w with w = 2: one hook call with the sum of both uses."""
    log = []
    first = paddle.nn.Linear(1, 1, bias_attr=False)
    second = paddle.nn.Linear(1, 1, bias_attr=False)
    second.weight = first.weight
    first.weight.set_value(paddle.to_tensor([[2.0]]))
    first.weight.register_hook(recorder(log, "w", lambda g: g * g + 1))

    @to_static
    def f(x):
        return second(first(x))

    f(paddle.to_tensor([[3.0]])).backward()
    return log, val(first.weight.grad)


class Adder:
    """Callable, and with a method to bind."""

    def __init__(self, amount):
        self.amount = amount

    def __call__(self, g):
        return g + self.amount

    def method(self, g):
        return g * g + self.amount


def add_scaled(k, g):
    return g * k + 1


@situation("F07", [[10.0], [13.0], [5.0], [3.0]])
def kinds_of_callables(paddle, to_static):
    @to_static
    def f(x, hook):
        x.register_hook(hook)
        return 3 * x

    grads = []
    for hook in (Adder(1).method, functools.partial(add_scaled, 4), Adder(2), abs):
        x = leaf(paddle, 2.0)
        f(x, hook).backward()
        grads.append(val(x.grad))
    return grads


@situation("F07b", (["TypeError", "TypeError"], [3.0]))
def not_callable(paddle, to_static):
    @to_static
    def f(x, hook):
        x.register_hook(hook)
        return 3 * x

    @to_static
    def plain(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    errors = [outcome(lambda hook=hook: f(x, hook), "callable") for hook in (None, 3)]
    plain(x).backward()
    return errors, val(x.grad)


@situation("F08", ("TypeError", "TypeError", None))
def generator_and_coroutine(paddle, to_static):
    def generator(g):
        yield g

    async def coroutine(g):
        return g

    @to_static
    def f(x):
        return 3 * x

    x, w = leaf(paddle, 2.0), leaf(paddle, 2.0)
    x.register_hook(generator)
    made = []

    def start(g):
        made.append(coroutine(g))
        return made[0]

    w.register_hook(start)
    first = outcome(lambda: f(x).backward(), "'generator'")
    second = outcome(lambda: f(w).backward(), "'coroutine'")
    made[0].close()
    return first, second, val(x.grad)


@situation("Q01", [True])
def thread_of_the_hook(paddle, to_static):
    import threading

    seen = []

    @to_static
    def f(x):
        x.register_hook(lambda g: seen.append(threading.current_thread() is threading.main_thread()))
        return 3 * x

    f(leaf(paddle, 2.0)).backward()
    return seen


@situation("Q02", True)
def the_same_object_for_both_hooks(paddle, to_static):
    seen = []

    @to_static
    def f(x):
        x.register_hook(lambda g: seen.append(g))
        x.register_hook(lambda g: seen.append(g))
        return 3 * x

    f(leaf(paddle, 2.0)).backward()
    return seen[0] is seen[1]


@situation("Q03", [True, True])
def attributes_of_the_gradient_are_there_for_the_next_hook(paddle, to_static):
    """The contract leaves it open; it is alike in both modes."""
    seen = []

    def mark(g):
        g.mark = "marked"

    @to_static
    def f(x):
        y = 3 * x
        for tensor in (y, x):
            tensor.register_hook(mark)
            tensor.register_hook(lambda g: seen.append(hasattr(g, "mark")))
        return y * 2

    f(leaf(paddle, 2.0)).backward()
    return seen


@situation("Q04", [True])
def gradient_has_a_name(paddle, to_static):
    seen = []

    @to_static
    def f(x):
        x.register_hook(lambda g: seen.append(isinstance(g.name, str)))
        return 3 * x

    f(leaf(paddle, 2.0)).backward()
    return seen


@situation("Q05", "freed")
def hook_that_closes_over_its_tensor(paddle, to_static):
    import gc
    import weakref

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * y)
        return 3 * y

    class Big:
        """Stands for what hangs on a tensor."""

    def run():
        big = Big()
        x = leaf(paddle, 2.0)
        x.register_hook(lambda g, big=big: g + x)
        f(x).backward()
        return weakref.ref(big)

    gone = run()
    gc.collect()
    return "freed" if gone() is None else "leaked"


@situation("Q07", ([("Tensor", [4, 2])], [[1.0, 1.0], [2.0, 2.0], [1.0, 1.0], [3.0, 3.0]]))
def gradient_of_an_embedding_is_dense(paddle, to_static):
    log = []
    embedding = paddle.nn.Embedding(4, 2)

    def hook(g):
        log.append((type(g).__name__, list(g.shape)))
        return g + 1

    embedding.weight.register_hook(hook)

    @to_static
    def f(rows):
        return embedding(rows).sum()

    f(paddle.to_tensor([1, 3, 3])).backward()
    return log, val(embedding.weight.grad)
