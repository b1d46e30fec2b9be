"""What surrounds training: resuming, averaging, freezing, schedules, containers, mixed precision."""

from __future__ import annotations

import copy
import os
import tempfile

import numpy as np

from .register import classes, filled, numbers, program


@program
def resumed_training(paddle, static):
    nn = paddle.nn

    def parts():
        net = filled(nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1D(6, momentum=0.8), nn.Hardswish(), nn.Linear(6, 2)))
        sched = paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=0.1, T_max=5, eta_min=0.01)
        opt = paddle.optimizer.Momentum(
            learning_rate=sched, parameters=net.parameters(), weight_decay=paddle.regularizer.L2Decay(0.01)
        )
        return net, sched, opt

    def train(net, sched, opt, first, last):
        call = static(net)
        for step in range(first, last):
            x, y = paddle.to_tensor(numbers(5, 4, seed=step)), paddle.to_tensor(classes(2, 5, seed=step))
            loss = nn.functional.cross_entropy(call(x), y)
            loss.backward()
            opt.step()
            opt.clear_grad()
            sched.step()
        return loss

    net, sched, opt = parts()
    straight = train(net, sched, opt, 0, 4)
    net, sched, opt = parts()
    train(net, sched, opt, 0, 2)
    with tempfile.TemporaryDirectory() as folder:
        paddle.save(net.state_dict(), os.path.join(folder, "a.pdparams"))
        paddle.save({"sched": sched.state_dict(), "epoch": 2, "best": 0.5}, os.path.join(folder, "b.pdopt"))
        net, sched, opt = parts()
        net.set_state_dict(paddle.load(os.path.join(folder, "a.pdparams")))
        saved = paddle.load(os.path.join(folder, "b.pdopt"))
        sched.set_state_dict(saved["sched"])
    resumed = train(net, sched, opt, saved["epoch"], 4)
    return straight, resumed, sched.last_epoch, sched.last_lr, saved["best"], net.state_dict()["1._mean"]


@program
def average_of_parameters(paddle, static):
    nn = paddle.nn

    class EMA:
        def __init__(self, model, decay=0.9):
            self.model, self.decay = model, decay
            self.shadow = {n: p.clone().detach() for n, p in model.named_parameters() if not p.stop_gradient}
            self.backup = {}

        def update(self):
            for name, p in self.model.named_parameters():
                if not p.stop_gradient:
                    self.shadow[name] = (1.0 - self.decay) * p.detach() + self.decay * self.shadow[name]

        def apply(self):
            for name, p in self.model.named_parameters():
                self.backup[name] = p.numpy().copy()
                p.set_value(self.shadow[name])

        def restore(self):
            for name, p in self.model.named_parameters():
                p.set_value(self.backup[name])

    net = filled(nn.Sequential(nn.Linear(3, 4), nn.PReLU(num_parameters=4), nn.Linear(4, 1)))
    ema, call = EMA(net), static(net)
    opt = paddle.optimizer.Adamax(0.05, parameters=net.parameters())
    for step in range(3):
        call(paddle.to_tensor(numbers(4, 3, seed=step))).abs().mean().backward()
        opt.step()
        opt.clear_grad()
        ema.update()
    x = paddle.to_tensor(numbers(2, 3))
    before = call(x)
    ema.apply()
    averaged = call(x)
    ema.restore()
    return before, averaged, call(x)


@program
def containers_of_parameters(paddle, static):
    nn = paddle.nn

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.weights = nn.ParameterList([paddle.create_parameter([3, 3], "float32") for _ in range(3)])
            self.layers = nn.LayerDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
            self.more = nn.LayerDict([["relu", nn.ReLU()], ["leaky", nn.LeakyReLU(0.1)]])
            self.scales = nn.ParameterList()
            for k in range(2):
                self.scales.append(self.create_parameter(shape=[1], attr=paddle.ParamAttr(name=f"scale_{k}")))
            self.steps = nn.LayerList([nn.Linear(3, 3) for _ in range(2)])
            self.steps.append(nn.Linear(3, 3))
            self.steps.insert(0, nn.Identity())
            self.steps.extend([nn.Softsign()])

        def forward(self, x, which):
            for i, w in enumerate(self.weights):
                x = paddle.mm(x, w) * self.scales[i % len(self.scales)]
            x = self.more["leaky"](self.layers[which](x))
            for step in self.steps:
                x = step(x)
            return x

    net = filled(Net())
    call = static(net)
    out = [call(paddle.to_tensor(numbers(2, 3)), which) for which in ("a", "b", "a")]
    sum(one.sum() for one in out).backward()
    return (
        out,
        len(net.weights),
        sorted(net.layers.keys()),
        [n for n, _ in net.named_sublayers()],
        [p.grad for p in net.parameters()],
        [n for n, _ in net.named_parameters()],
    )


@program
def finder_of_learning_rates(paddle, static):
    nn = paddle.nn
    net = filled(nn.Linear(4, 1))
    state = copy.deepcopy({k: v.numpy() for k, v in net.state_dict().items()})
    opt = paddle.optimizer.SGD(1e-4, parameters=net.parameters())
    call, log, rate = static(net), [], 1e-4
    for step in range(5):
        opt.set_lr(rate)
        loss = nn.functional.mse_loss(call(paddle.to_tensor(numbers(6, 4, seed=step))), paddle.ones([6, 1]))
        loss.backward()
        opt.step()
        opt.clear_grad()
        log.append((opt.get_lr(), loss.item()))
        if step and loss.item() > 4 * log[0][1]:
            break
        rate *= 3
    net.set_state_dict({k: paddle.to_tensor(v) for k, v in state.items()})
    return log, net.weight


@program
def reparametrised_weights(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class WeightNorm(nn.Layer):
        def __init__(self, n, m):
            super().__init__()
            self.v = self.create_parameter([n, m])
            self.g = self.create_parameter([m], default_initializer=nn.initializer.Constant(2.0))
            self.bias = self.create_parameter([m], is_bias=True)

        def forward(self, x):
            return F.linear(x, self.g * self.v / paddle.norm(self.v, p=2, axis=0, keepdim=True), self.bias)

    class Spectral(nn.Layer):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer
            self.register_buffer("u", F.normalize(paddle.to_tensor(numbers(layer.weight.shape[0])), axis=0))

        def forward(self, x):
            w = self.layer.weight
            with paddle.no_grad():
                v = F.normalize(paddle.mv(w.t(), self.u), axis=0)
                u = F.normalize(paddle.mv(w, v), axis=0)
                if self.training:
                    self.u.set_value(u)
            sigma = paddle.dot(u, paddle.mv(w, v))
            return F.linear(x, w / sigma, self.layer.bias)

    class LoRA(nn.Layer):
        def __init__(self, base, rank=2, alpha=4):
            super().__init__()
            self.base = base
            for p in self.base.parameters():
                p.trainable = False
            self.a = self.create_parameter([base.weight.shape[0], rank])
            self.b = self.create_parameter([rank, base.weight.shape[1]], default_initializer=nn.initializer.Constant(0))
            self.scale = alpha / rank

        def forward(self, x):
            return self.base(x) + paddle.matmul(paddle.matmul(x, self.a), self.b) * self.scale

    net = filled(nn.Sequential(WeightNorm(4, 5), nn.ELU(), Spectral(nn.Linear(5, 4)), LoRA(filled(nn.Linear(4, 2)))))
    call = static(net)
    opt = paddle.optimizer.Adagrad(
        0.1,
        parameters=[p for p in net.parameters() if not p.stop_gradient],
        epsilon=1e-5,
        initial_accumulator_value=0.1,
    )
    for step in range(3):
        loss = call(paddle.to_tensor(numbers(4, 4, seed=step))).pow(2).sum()
        loss.backward()
        opt.step()
        opt.clear_grad()
    net.eval()
    return (
        loss,
        call(paddle.to_tensor(numbers(2, 4))),
        net[2].u,
        net[3].base.weight.grad is None,
        [p.stop_gradient for p in net.parameters()],
    )


@program
def own_schedule_and_decay(paddle, static):
    nn, lr = paddle.nn, paddle.optimizer.lr

    class Noisy(lr.LRScheduler):
        def __init__(self, learning_rate, period, last_epoch=-1, verbose=False):
            self.period = period
            super().__init__(learning_rate, last_epoch, verbose)

        def get_lr(self):
            return self.base_lr * (0.5 if self.last_epoch % self.period else 1.0)

    net = filled(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)))
    decay = [p for n, p in net.named_parameters() if p.ndim > 1]
    plain = [p for n, p in net.named_parameters() if p.ndim <= 1]
    sched = Noisy(0.1, 2)
    opt = paddle.optimizer.AdamW(
        learning_rate=sched,
        parameters=[
            {"params": decay, "weight_decay": 0.1},
            {"params": plain, "weight_decay": 0.0, "learning_rate": 0.5},
        ],
    )
    call, rates = static(net), []
    for step in range(4):
        loss = call(paddle.to_tensor(numbers(3, 3, seed=step))).logsumexp(axis=-1).sum()
        l1 = sum(p.abs().sum() for p in decay)
        (loss + 1e-3 * l1).backward()
        opt.step()
        opt.clear_grad()
        rates.append(sched())
        sched.step()
    return rates, sched.state_dict(), [p.numpy() for p in net.parameters()], loss


@program
def layers_frozen_by_turns(paddle, static):
    nn = paddle.nn
    body = filled(
        nn.Sequential(
            nn.Conv1D(2, 3, 3, padding=1), nn.BatchNorm1D(3), nn.ReLU(), nn.AdaptiveAvgPool1D(1), nn.Flatten()
        )
    )
    head = filled(nn.Linear(3, 2), 1)
    net = nn.Sequential(body, head)
    call, log = static(net), []
    for phase in range(3):
        frozen = phase == 0
        for p in body.parameters():
            p.stop_gradient = frozen
        if phase == 2:
            body[1].eval()
        opt = paddle.optimizer.SGD(0.1, parameters=[p for p in net.parameters() if not p.stop_gradient])
        loss = nn.functional.cross_entropy(
            call(paddle.to_tensor(numbers(4, 2, 5, seed=phase))), paddle.to_tensor([0, 1, 0, 1])
        )
        loss.backward()
        log += [loss, body[0].weight.grad is None]
        opt.step()
        opt.clear_grad()
    return log, body[1]._mean, body[1]._variance, body[0].weight


@program
def mixed_examples(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    net = static(
        filled(
            nn.Sequential(
                nn.Conv2D(3, 4, 3, stride=2, padding="SAME"),
                nn.BatchNorm2D(4),
                nn.ReLU6(),
                nn.MaxPool2D(2),
                nn.Flatten(),
                nn.Linear(16, 5),
            )
        )
    )
    opt = paddle.optimizer.Momentum(
        parameters=net.parameters(), learning_rate=paddle.optimizer.lr.PiecewiseDecay([1, 2], [0.1, 0.05, 0.01])
    )
    smooth, log = nn.CrossEntropyLoss(soft_label=True), []
    rng = np.random.default_rng(0)
    for step in range(3):
        x, y = paddle.to_tensor(numbers(4, 3, 8, 8, seed=step)), paddle.to_tensor(classes(5, 4, seed=step))
        lam = float(rng.beta(1.0, 1.0))
        order = paddle.to_tensor(rng.permutation(4))
        hot = F.label_smooth(F.one_hot(y, num_classes=5), epsilon=0.1)
        if step % 2:
            x = lam * x + (1 - lam) * x[order]
        else:
            r1, r2, c1, c2 = 1, 5, 2, 6
            x = x.clone()
            x[:, :, r1:r2, c1:c2] = x.index_select(order)[:, :, r1:r2, c1:c2]
            lam = 1 - (r2 - r1) * (c2 - c1) / 64
        loss = smooth(net(x), lam * hot + (1 - lam) * hot[order])
        loss.backward()
        opt.step()
        opt.clear_grad()
        log.append(loss)
    return log, net(paddle.to_tensor(numbers(2, 3, 8, 8)))


@program
def teacher_and_student(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    teacher, student = filled(nn.Linear(4, 3)), filled(nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 3)), 1)
    teacher.eval()

    @static
    def distil(x, y, T=2.0, alpha=0.3):
        with paddle.no_grad():
            wanted = F.softmax(teacher(x) / T, axis=1)
        out = student(x)
        soft = nn.KLDivLoss(reduction="batchmean")(F.log_softmax(out / T, axis=1), wanted) * T * T
        return alpha * F.cross_entropy(out, y) + (1 - alpha) * soft, F.cosine_similarity(out, wanted, axis=1).mean()

    opt = paddle.optimizer.Adadelta(learning_rate=1.0, parameters=student.parameters())
    best, patience, log = float("inf"), 0, []
    for epoch in range(6):
        loss, close = distil(
            paddle.to_tensor(numbers(5, 4, seed=epoch % 2)), paddle.to_tensor(classes(3, 5, seed=epoch % 2))
        )
        opt.clear_grad()
        loss.backward()
        opt.step()
        log.append([loss, close])
        if float(loss) < best - 1e-4:
            best, patience = float(loss), 0
        else:
            patience += 1
        if patience >= 2:
            break
    return log, best, [p.grad is None for p in teacher.parameters()]


@program
def gradient_surgery(paddle, static):
    nn = paddle.nn
    net = filled(nn.Sequential(nn.Linear(3, 4), nn.Tanh()))
    heads = nn.LayerList([filled(nn.Linear(4, 1), k) for k in range(2)])
    shared = net.parameters()
    call = static(lambda x: [head(net(x)).mean() for head in heads])
    losses = call(paddle.to_tensor(numbers(5, 3)))
    flat = []
    for loss in losses:
        grads = paddle.grad(loss, shared, retain_graph=True)
        flat.append(paddle.concat([g.reshape([-1]) for g in grads]))
    if paddle.dot(flat[0], flat[1]) < 0:
        flat[0] = flat[0] - paddle.dot(flat[0], flat[1]) / paddle.dot(flat[1], flat[1]) * flat[1]
    total, start = flat[0] + flat[1], 0
    for p in shared:
        size = int(np.prod(p.shape))
        p.set_value(p - 0.1 * total[start : start + size].reshape(p.shape))
        start += size
    return losses, flat, nn.utils.parameters_to_vector(shared)


@program
def uncertainty_of_tasks(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Multi(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 6)
            self.cls, self.reg = nn.Linear(6, 3), nn.Linear(6, 1)
            self.log_var = self.create_parameter(
                [2], default_initializer=nn.initializer.Assign(np.array([0.1, -0.2], "float32"))
            )

        def forward(self, x, y, t):
            h = F.elu(self.body(x), alpha=0.5)
            parts = paddle.stack([F.cross_entropy(self.cls(h), y), F.mse_loss(self.reg(h), t)])
            return (paddle.exp(-self.log_var) * parts + self.log_var).sum(), parts

    net = static(filled(Multi()))
    opt = paddle.optimizer.Adam(0.01, 0.8, 0.95, 1e-7, parameters=net.parameters())
    log = []
    for step in range(3):
        loss, parts = net(
            paddle.to_tensor(numbers(5, 4, seed=step)), paddle.to_tensor(classes(3, 5)), paddle.to_tensor(numbers(5, 1))
        )
        opt.minimize(loss)
        net.clear_gradients()
        log.append([loss, parts])
    return log, net.log_var


@program
def mixed_precision(paddle, static):
    nn = paddle.nn
    net = filled(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)))
    opt = paddle.optimizer.Momentum(0.1, parameters=net.parameters(), grad_clip=nn.ClipGradByNorm(1.0))
    net, opt = paddle.amp.decorate(models=net, optimizers=opt, level="O2", dtype="float16")
    scaler, log = paddle.amp.GradScaler(init_loss_scaling=1024), []

    @static
    def forward(x, y):
        with paddle.amp.auto_cast(custom_black_list={"log_softmax"}, level="O1"):
            return nn.functional.cross_entropy(net(x), y)

    @paddle.amp.auto_cast(enable=False)
    def plain(x):
        return net(x)

    for step in range(4):
        x, y = paddle.to_tensor(numbers(6, 4, seed=step)), paddle.to_tensor(classes(3, 6, seed=step))
        loss = forward(x, y)
        scaled = scaler.scale(loss)
        scaled.backward()
        if step % 2:
            scaler.unscale_(opt)
            scaler.step(opt)
            scaler.update()
        else:
            scaler.minimize(opt, scaled)
        opt.clear_grad()
        log.append(loss)
    return log, plain(x), scaler.state_dict(), scaler.is_enable()


@program
def mixed_precision_step(paddle, static):
    nn = paddle.nn
    net = filled(nn.Linear(4, 3))
    opt = paddle.optimizer.Adam(0.1, parameters=net.parameters())
    scaler, log = paddle.amp.GradScaler(), []

    @static
    def train(x, y):
        with paddle.amp.auto_cast():
            loss = nn.functional.cross_entropy(net(x), y)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(opt)
        scaler.update()
        opt.clear_grad()
        return loss

    for step in range(3):
        log.append(train(paddle.to_tensor(numbers(6, 4, seed=step)), paddle.to_tensor(classes(3, 6, seed=step))))
    return log, net.weight
