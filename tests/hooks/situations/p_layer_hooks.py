"""P: hooks around the forward of a Layer."""

from __future__ import annotations

import copy

from ..register import leaf, outcome, recorder, situation, val


def tripling(paddle):
    """A layer y = 3 * x."""

    class Triple(paddle.nn.Layer):
        def forward(self, x):
            return 3.0 * x

    return Triple()


@situation(
    "P01",
    (
        [("pre1", [1.0]), ("pre2", [2.0]), ("fwd", [20.0]), ("post1", [20.0], [60.0]), ("post2", [20.0], [61.0])],
        [610.0],
    ),
)
def order_and_composition(paddle, to_static):
    log = []

    class Net(paddle.nn.Layer):
        def forward(self, x):
            log.append(("fwd", val(x)))
            return 3.0 * x

    def pre(name, change):
        return lambda layer, inputs: log.append((name, val(inputs[0]))) or change(inputs[0])

    def post(name, change):
        return lambda layer, inputs, y: log.append((name, val(inputs[0]), val(y))) or change(y)

    net = Net()
    net.register_forward_pre_hook(pre("pre1", lambda x: x + 1))
    net.register_forward_pre_hook(pre("pre2", lambda x: x * 10))
    net.register_forward_post_hook(post("post1", lambda y: y + 1))
    net.register_forward_post_hook(post("post2", lambda y: y * 10))
    y = to_static(net)(paddle.to_tensor([1.0]))
    return log, val(y)


@situation("P02", ([15.0], [3.0], "TypeError"))
def results_of_a_pre_hook(paddle, to_static):
    found = []
    for result in (lambda x: x + 4, lambda x: None):
        net = tripling(paddle)
        net.register_forward_pre_hook(lambda layer, inputs, result=result: result(inputs[0]))
        found.append(val(to_static(net)(paddle.to_tensor([1.0]))))
    net = tripling(paddle)
    net.register_forward_pre_hook(lambda layer, inputs: [inputs[0]])
    return *found, outcome(lambda: to_static(net)(paddle.to_tensor([1.0])))


@situation("P03", [(True, "tuple", 1), ("tuple", 1, "Tensor")])
def arguments_of_the_hooks(paddle, to_static):
    log = []
    net = tripling(paddle)
    net.register_forward_pre_hook(
        lambda layer, inputs: log.append((layer is net, type(inputs).__name__, len(inputs)))
    )
    net.register_forward_post_hook(
        lambda layer, inputs, y: log.append((type(inputs).__name__, len(inputs), type(y).__name__))
    )
    to_static(net)(paddle.to_tensor([1.0]))
    return log


@situation("P03b", ([0], [3.0]))
def called_with_keywords_only(paddle, to_static):
    log = []
    net = tripling(paddle)
    net.register_forward_pre_hook(lambda layer, inputs: log.append(len(inputs)))
    return log, val(to_static(net)(x=paddle.to_tensor([1.0])))


@situation("P04", [300.0])
def pre_hook_with_kwargs(paddle, to_static):
    net = tripling(paddle)
    net.register_forward_pre_hook(
        lambda layer, inputs, kwargs: (inputs, {"x": kwargs["x"] * 100}), with_kwargs=True
    )
    return val(to_static(net)(x=paddle.to_tensor([1.0])))


@situation("P04b", [2, 1, 4, 3])
def prepended(paddle, to_static):
    log = []
    net = tripling(paddle)
    net.register_forward_pre_hook(lambda layer, inputs: log.append(1))
    net.register_forward_pre_hook(lambda layer, inputs: log.append(2), prepend=True)
    net.register_forward_post_hook(lambda layer, inputs, y: log.append(3))
    net.register_forward_post_hook(lambda layer, inputs, y: log.append(4), prepend=True)
    to_static(net)(paddle.to_tensor([1.0]))
    return log


@situation("P05", ([30.0], None, "no error", [3.0]))
def removed_between_calls(paddle, to_static):
    net = tripling(paddle)
    handle = net.register_forward_post_hook(lambda layer, inputs, y: y * 10)
    call = to_static(net)
    first = val(call(paddle.to_tensor([1.0])))
    removed = handle.remove()
    again = outcome(lambda: handle.remove())
    return first, removed, again, val(call(paddle.to_tensor([1.0])))


def changing_while_running(row, register, arity):
    """A situation: one hook removes itself, in two calls; then one hook adds another."""

    @situation(row, ([1, 2, 2], [1, 1, 2]))
    def program(paddle, to_static):
        log = []

        def noting(number):
            return lambda *args: log.append(number) if len(args) == arity else None

        net = tripling(paddle)

        def once(*args):
            log.append(1)
            handle.remove()

        handle = getattr(net, register)(once)
        getattr(net, register)(noting(2))
        call = to_static(net)
        call(paddle.to_tensor([1.0]))
        call(paddle.to_tensor([1.0]))
        first, log[:] = list(log), []

        other = tripling(paddle)
        added = []

        def adding(*args):
            log.append(1)
            if not added:
                added.append(getattr(other, register)(noting(2)))

        getattr(other, register)(adding)
        call = to_static(other)
        call(paddle.to_tensor([1.0]))
        call(paddle.to_tensor([1.0]))
        return first, log

    return program


changing_while_running("P06", "register_forward_pre_hook", 2)
changing_while_running("P06b", "register_forward_post_hook", 3)


def nested(paddle, log):
    class Outer(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = paddle.nn.Linear(1, 1)
            self.b = paddle.nn.Linear(1, 1)

        def forward(self, x):
            return self.b(self.a(x))

    outer = Outer()
    for name, layer in (("O", outer), ("a", outer.a), ("b", outer.b)):
        layer.register_forward_pre_hook(lambda layer, inputs, name=name: log.append(f"pre {name}"))
        layer.register_forward_post_hook(lambda layer, inputs, y, name=name: log.append(f"post {name}"))
    return outer


@situation("P07", ["pre O", "pre a", "post a", "pre b", "post b", "post O"] * 2)
def nested_layers(paddle, to_static):
    log = []
    call = to_static(nested(paddle, log))
    call(paddle.to_tensor([[1.0]]))
    call(paddle.to_tensor([[1.0]]))
    return log


@situation("P08", (["pre a", "post a", "pre b", "post b"]))
def forward_called_directly(paddle, to_static):
    """The hooks of the layer itself are skipped, those of its sublayers are not."""
    log = []
    net = nested(paddle, log)
    net.forward(paddle.to_tensor([[1.0]]))
    return log


@situation("P09", ("ValueError", "KeyError", ["always"]))
def errors(paddle, to_static):
    log = []

    def boom(layer, inputs, y):
        raise ValueError("boom")

    class Fails(paddle.nn.Layer):
        def forward(self, x):
            raise KeyError("f")

    net = tripling(paddle)
    net.register_forward_post_hook(boom)
    fails = Fails()
    fails.register_forward_post_hook(lambda layer, inputs, y: log.append("not called"))
    fails.register_forward_post_hook(lambda layer, inputs, y: log.append("always"), always_call=True)
    x = paddle.to_tensor([1.0])
    return outcome(lambda: to_static(net)(x), "boom"), outcome(lambda: to_static(fails)(x), "f"), log


@situation("P10", [30.0])
def deepcopy_keeps_layer_hooks(paddle, to_static):
    net = tripling(paddle)
    net.register_forward_post_hook(lambda layer, inputs, y: y * 10)
    return val(to_static(copy.deepcopy(net))(paddle.to_tensor([1.0])))


@situation("P11", ["0", "False", "()"])
def falsy_results_count(paddle, to_static):
    found = []
    for result in (0, False, ()):
        net = tripling(paddle)
        net.register_forward_post_hook(lambda layer, inputs, y, result=result: result)
        found.append(repr(to_static(net)(paddle.to_tensor([1.0]))))
    return found


@situation("P12", ([33.0], [5.0]))
def pre_hook_writes_and_post_hook_registers(paddle, to_static):
    def write(layer, inputs):
        with paddle.no_grad():
            inputs[0].add_(paddle.to_tensor([3.0]))

    def register(layer, inputs, y):
        y.register_hook(lambda g: g * 10 + 1)

    net = tripling(paddle)
    net.register_forward_pre_hook(write)
    net.register_forward_post_hook(register)
    x = leaf(paddle, 2.0)
    to_static(net)(x).backward()
    return val(x.grad), val(x)


@situation("P12b", [[4.0], [5.0], [6.0]])
def pre_hook_registers_on_every_call(paddle, to_static):
    net = tripling(paddle)

    def register(layer, inputs):
        inputs[0].register_hook(lambda g: g + 1)

    net.register_forward_pre_hook(register)
    call = to_static(net)
    x = leaf(paddle, 2.0)
    grads = []
    for _ in range(3):
        x.clear_grad()
        call(x).backward()
        grads.append(val(x.grad))
    return grads


@situation("P13", (["tuple"], "Tensor", [3.0]))
def several_outputs(paddle, to_static):
    log = []

    class Two(paddle.nn.Layer):
        def forward(self, x):
            return 3 * x, 4 * x

    def first(layer, inputs, outputs):
        log.append(type(outputs).__name__)
        return outputs[0]

    net = Two()
    net.register_forward_post_hook(first)
    found = to_static(net)(paddle.to_tensor([1.0]))
    return log, type(found).__name__, val(found)


@situation("P14", [12.0])
def same_function_twice_and_bound_method(paddle, to_static):
    class Net(paddle.nn.Layer):
        def forward(self, x):
            return 3.0 * x

        def shift(self, layer, inputs):
            return inputs[0] + 1

    def shift(layer, inputs):
        return inputs[0] + 1

    net = Net()
    net.register_forward_pre_hook(shift)
    net.register_forward_pre_hook(shift)
    net.register_forward_pre_hook(net.shift)
    return val(to_static(net)(paddle.to_tensor([1.0])))


@situation("P15", ([False, True], [True, True]))
def under_no_grad_and_eval(paddle, to_static):
    log, flags = [], []
    net = tripling(paddle)
    net.register_forward_post_hook(lambda layer, inputs, y: log.append(not y.stop_gradient))
    call = to_static(net)
    with paddle.no_grad():
        flags.append(call(leaf(paddle, 1.0)).stop_gradient)
    net.eval()
    flags.append(not call(leaf(paddle, 1.0)).stop_gradient)
    return log, flags


@situation("P16", [])
def no_layer_backward_hooks(paddle, to_static):
    names = ("register_full_backward_hook", "register_backward_hook", "register_full_backward_pre_hook")
    return [name for name in names if hasattr(paddle.nn.Layer, name)]


@situation("P/hook on an inner output", ([("inner", [[2.0]])], [[9.0]]))
def post_hook_of_a_sublayer_registers(paddle, to_static):
    log = []

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = paddle.nn.Linear(1, 1, bias_attr=False)

        def forward(self, x):
            return 2 * self.a(x)

    net = Net()

    def register(layer, inputs, y):
        y.register_hook(recorder(log, "inner", lambda g: g + 1))

    net.a.register_forward_post_hook(register)
    to_static(net)(paddle.to_tensor([[3.0]])).backward()
    return log, val(net.a.weight.grad)
