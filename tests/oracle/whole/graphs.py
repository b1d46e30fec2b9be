"""Static mode as Paddle's guides show it: InputSpec, conditions and loops, saved Programs, Programs built by hand."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from .register import classes, filled, numbers, program


@program
def input_spec(paddle, static):
    InputSpec = paddle.static.InputSpec

    class SimpleNet(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = paddle.nn.Linear(10, 3)

        @paddle.jit.to_static(input_spec=[InputSpec(shape=[None, 10], name="x"), InputSpec(shape=[3], name="y")])
        def forward(self, x, y):
            return self.linear(x) + y

    net = filled(SimpleNet())
    seen = []
    for rows in (2, 5, 2, 7):
        out = net(paddle.to_tensor(numbers(rows, 10)), paddle.to_tensor(numbers(3)))
        out.sum().backward()
        seen.append([out, net.linear.weight.grad.numpy().copy()])
    return seen


@program
def conditions_and_loops(paddle, static):
    def depend_on_tensor_if(x):
        if paddle.mean(x) > 0:
            y = x - 1
        else:
            y = x + 1
        return y

    def func(x):
        total = paddle.zeros([1])
        for i in range(3):
            if i == 1:
                continue
            total = total + x.sum() * i
        n = paddle.to_tensor(0)
        while n < 4 and total.sum() < 100:
            total = total * 2 + 1
            n = n + 1
        return total if n > 2 else -total

    one, two = static(depend_on_tensor_if), static(func)
    seen = []
    for sign in (1.0, -1.0):
        x = paddle.to_tensor(np.abs(numbers(3)) * sign, stop_gradient=False)
        y, z = one(x), two(x)
        (y.sum() + z.sum()).backward()
        seen.append([y, z, x.grad])
    return seen


@program
def control_flow_of_the_api(paddle, static):
    nn = paddle.static.nn

    def f(x, i):
        a = nn.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1)
        limit = paddle.full(shape=[1], fill_value=5, dtype="int64")
        i, b = nn.while_loop(lambda i, v: i < limit, lambda i, v: [i + 1, v * 1.5], [i, x * 1])
        c = nn.case(pred_fn_pairs=[(x.max() > 5, lambda: x + 10), (x.max() > 0, lambda: x + 20)], default=lambda: x)
        d = nn.switch_case(branch_index=paddle.full([1], 1, "int32"),
                           branch_fns={1: lambda: x * 7, 2: lambda: x * 8}, default=lambda: x)
        return a, i, b, c, d

    x = paddle.to_tensor(numbers(3), stop_gradient=False)
    results = static(f)(x, paddle.zeros([1], "int64"))
    sum(part.sum() for part in (results[0], results[2], results[3], results[4])).backward()
    return results, x.grad


@program
def saved_program(paddle, static):
    nn = paddle.nn
    net = filled(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    net.eval()
    x = paddle.to_tensor(numbers(5, 4))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "inference")
        paddle.jit.save(net, path, input_spec=[paddle.static.InputSpec(shape=[None, 4], dtype="float32")])
        loaded = paddle.jit.load(path)
        loaded.eval()
        return net(x), loaded(x), loaded(x[:2])


@program
def arrays_of_tensors(paddle, static):
    def f(x):
        array = paddle.tensor.create_array(dtype="float32")
        i = paddle.tensor.fill_constant(shape=[1], dtype="int64", value=0)
        array = paddle.tensor.array_write(x, i, array=array)
        i = paddle.increment(i)
        array = paddle.tensor.array_write(x * 2, i, array=array)
        return paddle.tensor.array_read(array, i), paddle.tensor.array_length(array)

    return static(f)(paddle.to_tensor(numbers(2, 3)))


@program
def layers_not_converted(paddle, static):
    log = []

    @paddle.jit.not_to_static
    def tail(x):
        log.append(tuple(x.shape))
        return x.flip(0)

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = paddle.nn.Linear(2, 2)
            self.steps = 0

        def forward(self, x):
            x = self.fc(x)
            for layer in (paddle.nn.functional.relu, paddle.tanh):
                x = layer(x)
            return tail(x)

    net = static(filled(Net())) if paddle.__name__ == "d2s" else filled(Net())
    x = paddle.to_tensor(numbers(3, 2), stop_gradient=False)
    out = net(x)
    out.sum().backward()
    return out, x.grad, len(log)


@program
def tour_of_tensors(paddle, static):
    def f(x, m):
        parts = [x[0], x[-1], x[0:2], x[::2, 1:], x[:, None, -1], x[..., 0], paddle.reshape(x, [-1, 2])]
        parts += [paddle.unsqueeze(x, [0, 2]), paddle.squeeze(x[:, 0:1], axis=1), paddle.concat([x, x], axis=-1)]
        parts += list(paddle.split(x, num_or_sections=[1, 3], axis=1)) + list(paddle.chunk(x, 2, axis=1))
        parts += [paddle.tile(x[0], [2, 1]), paddle.expand(x[:1], [3, 4]), paddle.roll(x, 1, axis=0), x.T @ x]
        parts += [paddle.where(x > 0, x, paddle.zeros_like(x)), paddle.clip(x, min=-0.5, max=0.5), x.cumsum(0)]
        parts += [paddle.index_select(x, index=paddle.to_tensor([0, 2]), axis=0), x.std(axis=1), x.var()]
        parts += [paddle.gather_nd(x, paddle.to_tensor([[0, 1], [2, 3]])), paddle.masked_select(x, m), x.flatten()]
        parts += [paddle.scatter(x, paddle.to_tensor([2, 1]), x[:2] * 5), paddle.pow(x, 2), paddle.add_n([x, x])]
        parts += [paddle.sort(x, axis=-1, descending=True), paddle.argsort(x), paddle.flip(x, [0, 1]), x.norm(p=1)]
        parts += [paddle.stack([x, -x], 1).shape, paddle.shape(x), paddle.numel(x), x.astype("int64"), x.mean([0, 1])]
        parts += [paddle.unbind(x, axis=0)[1], paddle.kron(x[0], x[1]), paddle.tril(x), paddle.dot(x[0], x[1])]
        parts += [paddle.nn.functional.pad(x, [1, 2], mode="constant", value=0.5), x.abs().log1p().max(axis=0)]
        return parts

    x = paddle.to_tensor(numbers(3, 4), stop_gradient=False)
    results = static(f)(x, paddle.to_tensor(numbers(3, 4, seed=1) > 0))
    floats = [part for part in results if "float" in str(getattr(part, "dtype", ""))]
    sum(part.sum() for part in floats if not part.stop_gradient).backward()
    shown = [[list(part) for part in results if isinstance(part, list)], x.grad]
    made = [paddle.arange(1, 10, 3), paddle.linspace(0, 1, 5), paddle.eye(2, 3), paddle.full([2], 7, "int32"),
            paddle.ones([2]), paddle.zeros([1, 2], "bool"), paddle.to_tensor(3.5), paddle.to_tensor([1, 2]).dtype.name
            if paddle.__name__ == "d2s" else "int64", *paddle.meshgrid(paddle.arange(2), paddle.arange(3))]
    return [part for part in results if not isinstance(part, list)], shown, made


@program
def writes_in_place(paddle, static):
    def f(x):
        y = paddle.zeros([3, 4])
        y[0] = x[0] * 2
        y[:, 1] = x[:, 0]
        y[1:, 2:] += x[1:, 2:]
        y.scale_(2.0)
        y.clip_(-2.0, 2.0)
        y[x > 1] = -1.0
        return y * x

    x = paddle.to_tensor(numbers(3, 4), stop_gradient=False)
    out = static(f)(x)
    out.sum().backward()
    return out, x.grad


@program
def linear_algebra(paddle, static):
    def f(a, b):
        spd = a @ a.t() + 3.0 * paddle.eye(3)
        low = paddle.linalg.cholesky(spd)
        x = paddle.linalg.solve(spd, b)
        log_det = 2 * paddle.log(paddle.diagonal(low)).sum()
        trace = paddle.trace(paddle.linalg.inv(spd))
        u, s, vh = paddle.linalg.svd(a, full_matrices=False)
        w, _ = paddle.linalg.eigh(spd)
        return x, log_det, trace, s, w, paddle.linalg.det(spd), paddle.linalg.norm(a), paddle.linalg.pinv(a)

    a, b = (paddle.to_tensor(numbers(3, n).astype("float64"), stop_gradient=False) for n in (3, 2))
    results = static(f)(a, b)
    sum(part.sum() for part in results).backward()
    return results, a.grad, b.grad


@program
def spectra(paddle, static):
    def low_pass(x):
        spectrum = paddle.fft.rfft(x)
        keep = (paddle.arange(spectrum.shape[-1]) < 3).astype("float32")
        return paddle.fft.irfft(spectrum * keep, n=x.shape[-1])

    x = paddle.to_tensor(numbers(2, 8), stop_gradient=False)
    out = static(low_pass)(x)
    (out ** 2).sum().backward()
    return out, x.grad


@program
def temporal_convolution(paddle, static):
    nn = paddle.nn

    class Chomp(nn.Layer):
        def __init__(self, size):
            super().__init__()
            self.size = size

        def forward(self, x):
            return x[:, :, : -self.size]

    class Block(nn.Layer):
        def __init__(self, i, o, dilation):
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv1D(i, o, 3, padding=2 * dilation, dilation=dilation), Chomp(2 * dilation), nn.PReLU(o))
            self.down = nn.Conv1D(i, o, 1) if i != o else None

        def forward(self, x):
            residual = x if self.down is None else self.down(x)
            return nn.functional.relu(self.net(x) + residual)

    model = static(filled(nn.Sequential(Block(2, 4, 1), Block(4, 4, 2), nn.InstanceNorm1D(4))))
    x = paddle.to_tensor(numbers(2, 2, 9), stop_gradient=False)
    out = model(x)
    (out * out).mean().backward()
    return out, x.grad, [p.grad for p in model.parameters()]


@program
def experts(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Mixture(nn.Layer):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 3, bias_attr=False)
            self.experts = nn.LayerList([nn.Linear(4, 2) for _ in range(3)])

        def forward(self, x):
            weights, chosen = paddle.topk(F.softmax(self.gate(x)), k=2, axis=-1)
            weights = weights / weights.sum(axis=-1, keepdim=True)
            out = paddle.zeros([x.shape[0], 2])
            for place, expert in enumerate(self.experts):
                share = (weights * (chosen == place).astype("float32")).sum(-1, keepdim=True)
                out = out + share * expert(x)
            return out

    model = static(filled(Mixture()))
    out = model(paddle.to_tensor(numbers(6, 4)))
    out.square().sum().backward()
    return out, [p.grad for p in model.parameters()]


@program
def tools_of_layers(paddle, static):
    nn = paddle.nn
    net = nn.Sequential(nn.Conv2D(1, 2, 3), nn.BatchNorm2D(2), nn.Flatten(), nn.Linear(8, 3))

    def init_weights(layer):
        if type(layer) is nn.Linear:
            layer.weight.set_value(paddle.full(layer.weight.shape, 0.9))

    net.apply(init_weights)
    info = paddle.summary(net, (1, 1, 4, 4))
    vector = nn.utils.parameters_to_vector(filled(net)[3].parameters())
    nn.utils.vector_to_parameters(vector * 2, net[3].parameters())
    names = [name for name, p in net.named_parameters() if not p.stop_gradient]
    names += [name for name, _ in net.named_sublayers()]
    frozen = [p for p in net.parameters() if not p.stop_gradient]
    net.eval()
    out = static(net)(paddle.to_tensor(numbers(2, 1, 4, 4)))
    return info["trainable_params"], vector, names, len(frozen), out, net.training


@program
def no_gradient_here(paddle, static):
    x = paddle.to_tensor(numbers(2, 2), stop_gradient=False)
    w = paddle.to_tensor(numbers(2, 2, seed=1), stop_gradient=False)

    def f(x, w):
        y = x * 2
        with paddle.no_grad():
            z = w * y
        y.stop_gradient = True
        return (y * w + z * x).sum()

    loss = static(f)(x, w)
    got = paddle.grad(loss, [x, w], allow_unused=True, retain_graph=True)
    unused = paddle.grad((x * x).sum(), [w], allow_unused=True)
    loss.backward()
    return got, unused[0] is None, x.grad, w.grad, classes(2, 3)
