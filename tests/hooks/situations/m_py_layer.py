"""M: ops with a gradient of the user's own."""

from __future__ import annotations

from ..register import leaf, outcome, plus_one, recorder, situation, val


def double_layer(paddle):
    class Double(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return Double


def split_layer(paddle, seen):
    """x -> (2x, 3x); backward notes what it gets."""

    class Split(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append(("bw", val(a), val(b)))
            return a * 2 + b * 3

    return Split


@situation("M01", ([("y", [3.0]), ("x", [20.0])], [21.0]))
def hooks_on_output_and_input(paddle, to_static):
    log = []
    double = double_layer(paddle)

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", plus_one))
        y = double.apply(x)
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("M03", ([False, "no error", True, "RuntimeError"], [("in", [6.0])], [7.0]))
def registered_inside_forward(paddle, to_static):
    log, seen = [], []

    class Inside(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            seen.append(x.stop_gradient)
            seen.append(outcome(lambda: x.register_hook(recorder(log, "in", plus_one))))
            y = x * 2
            seen.append(y.stop_gradient)
            seen.append(outcome(lambda: y.register_hook(plus_one), "stop gradient"))
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    @to_static
    def f(x):
        return 3 * Inside.apply(x)

    x = leaf(paddle, 2.0)
    f(x).backward()
    return seen, log, val(x.grad)


@situation("M05", ([("a", [1.0]), ("b", [0.0]), ("bw", [2.0], [1.0])], [7.0]))
def one_output_not_used(paddle, to_static):
    log = []
    split = split_layer(paddle, log)

    @to_static
    def f(x):
        a, b = split.apply(x)
        a.register_hook(recorder(log, "a", plus_one))
        b.register_hook(recorder(log, "b", plus_one))
        return a

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("M06", ([("y", [3.0]), ("x", [50.0])], [51.0]))
def forward_returns_its_input(paddle, to_static):
    log = []

    class Identity(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    @to_static
    def f(x):
        x.register_hook(recorder(log, "x", plus_one))
        y = Identity.apply(x)
        y.register_hook(recorder(log, "y", lambda g: g * g + 1))
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("M07", ("no error", [("g", None)], [6.0]))
def registered_inside_backward(paddle, to_static):
    log, errors = [], []

    class Inside(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            errors.append(outcome(lambda: g.register_hook(recorder(log, "never", plus_one))))
            log.append(("g", None))
            return g * 2

    @to_static
    def f(x):
        return 3 * Inside.apply(x)

    x = leaf(paddle, 2.0)
    f(x).backward()
    return errors[0], log, val(x.grad)


@situation("X02", [[20.0], [71.0], [20.0], [14.0]])
def results_on_outputs_count(paddle, to_static):
    double, split = double_layer(paddle), split_layer(paddle, [])

    def output(x):
        y = double.apply(x)
        y.register_hook(lambda g: g * g + 1)
        return 3 * y

    def outputs(x):
        a, b = split.apply(x)
        a.register_hook(lambda g: g * g + 1)
        b.register_hook(lambda g: g * g + 1)
        return 3 * a + 4 * b

    def intermediate(x):
        y = x * 1
        y.register_hook(lambda g: g * g / 3 + 8)
        return 3 * double.apply(y)

    def leaf_input(x):
        x.register_hook(lambda g: g + 8)
        return 3 * double.apply(x)

    grads = []
    for function in (output, outputs, intermediate, leaf_input):
        x = leaf(paddle, 2.0)
        to_static(function)(x).backward()
        grads.append(val(x.grad))
    return grads


@situation("X03", ("no error", [[0.0]], [5.0]))
def hook_on_unused_output_computes(paddle, to_static):
    seen = []
    split = split_layer(paddle, [])

    @to_static
    def f(x):
        a, b = split.apply(x)
        b.register_hook(lambda g: seen.append(val(g)) or g * 2 + 1)
        return a

    x = leaf(paddle, 2.0)
    return outcome(lambda: f(x).backward()), seen, val(x.grad)
