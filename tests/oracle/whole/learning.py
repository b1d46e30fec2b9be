"""Other ways to learn: contrastive, adversarial, reinforced, by meta-gradients, diffusion, differential equations."""

from __future__ import annotations

from .register import classes, filled, numbers, program


@program
def contrastive_views(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Projector(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1D(8), nn.ReLU(), nn.Linear(8, 4, bias_attr=False))

        def forward(self, x):
            return F.normalize(self.body(x), p=2, axis=-1)

    def nt_xent(a, b, temperature=0.5):
        z = paddle.concat([a, b], axis=0)
        n = z.shape[0]
        sim = paddle.matmul(z, z, transpose_y=True) / temperature
        sim = sim - 1e9 * paddle.eye(n)
        targets = paddle.concat([paddle.arange(n // 2, n), paddle.arange(0, n // 2)])
        return F.cross_entropy(sim, targets)

    net = static(filled(Projector()))
    opt = paddle.optimizer.Momentum(
        0.1, momentum=0.9, parameters=net.parameters(), use_nesterov=True, weight_decay=1e-3
    )
    losses = []
    for step in range(3):
        x = paddle.to_tensor(numbers(5, 6, seed=step))
        noisy = x + 0.1 * paddle.to_tensor(numbers(5, 6, seed=step + 9))
        loss = nt_xent(net(x), net(noisy))
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(float(loss))
    net.eval()
    return losses, net(paddle.to_tensor(numbers(2, 6)))


@program
def momentum_contrast(paddle, static):
    import copy

    nn, F = paddle.nn, paddle.nn.functional
    query = filled(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)))
    key = copy.deepcopy(query)
    for p in key.parameters():
        p.stop_gradient = True
    queue = F.normalize(paddle.to_tensor(numbers(3, 8)), axis=0)
    opt = paddle.optimizer.SGD(learning_rate=0.2, parameters=query.parameters())
    q_call, k_call = static(query), static(key)
    out = []
    for step in range(3):
        x = paddle.to_tensor(numbers(4, 5, seed=step))
        q = F.normalize(q_call(x), axis=1)
        with paddle.no_grad():
            for pq, pk in zip(query.parameters(), key.parameters()):
                pk.set_value(pk * 0.99 + pq * 0.01)
            k = F.normalize(k_call(x + 0.05), axis=1)
        pos = paddle.einsum("nc,nc->n", q, k).unsqueeze(-1)
        neg = paddle.einsum("nc,ck->nk", q, queue.clone().detach())
        logits = paddle.concat([pos, neg], axis=1) / 0.07
        loss = F.cross_entropy(logits, paddle.zeros([logits.shape[0]], dtype="int64"))
        loss.backward()
        opt.step()
        opt.clear_grad()
        queue = paddle.concat([k.t(), queue], axis=1)[:, :8]
        out += [loss.item(), queue.mean()]
    return out


@program
def adversarial_examples(paddle, static):
    nn = paddle.nn
    net = static(filled(nn.Sequential(nn.Flatten(), nn.Linear(12, 10), nn.GELU(), nn.Linear(10, 3))))
    x, y = paddle.to_tensor(numbers(4, 3, 4)), paddle.to_tensor(classes(3, 4))
    adv = x.clone()
    for _ in range(3):
        adv = adv.detach()
        adv.stop_gradient = False
        loss = nn.CrossEntropyLoss(reduction="sum")(net(adv), y)
        grad = paddle.grad(outputs=loss, inputs=adv, retain_graph=False, create_graph=False)[0]
        adv = adv + 0.1 * paddle.sign(grad)
        adv = paddle.minimum(paddle.maximum(adv, x - 0.2), x + 0.2)
        adv = paddle.clip(adv, -1.0, 1.0)
    return adv, net(adv), all(p.grad is None for p in net.parameters())


@program
def meta_learning(paddle, static):
    F = paddle.nn.functional
    w1 = paddle.to_tensor(numbers(1, 6), stop_gradient=False)
    b1 = paddle.zeros([6])
    b1.stop_gradient = False
    w2 = paddle.to_tensor(numbers(6, 1), stop_gradient=False)
    params = [w1, b1, w2]

    def forward(x, w1, b1, w2):
        return paddle.matmul(F.relu(paddle.matmul(x, w1) + b1), w2)

    call = static(forward)
    meta = []
    for task in range(2):
        x = paddle.to_tensor(numbers(6, 1, seed=task))
        y = paddle.sin(x + task)
        inner = F.mse_loss(call(x, *params), y)
        grads = paddle.grad(inner, params, create_graph=True)
        fast = [p - 0.1 * g for p, g in zip(params, grads)]
        meta.append(F.mse_loss(call(x * 0.5, *fast), paddle.sin(x * 0.5 + task)))
    total = paddle.add_n(meta) / len(meta)
    total.backward()
    return total, [p.grad for p in params]


@program
def actor_critic(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class ActorCritic(nn.Layer):
        def __init__(self):
            super().__init__()
            self.shared = nn.Linear(4, 8)
            self.pi, self.v = nn.Linear(8, 3), nn.Linear(8, 1)

        def forward(self, s):
            h = paddle.tanh(self.shared(s))
            return F.softmax(self.pi(h), axis=-1), self.v(h).squeeze(-1)

    def gae(rewards, values, gamma=0.9, lam=0.8):
        out, last = [], 0.0
        for t in reversed(range(len(rewards))):
            delta = rewards[t] + gamma * values[t + 1] - values[t]
            last = delta + gamma * lam * last
            out.insert(0, last)
        return paddle.to_tensor(out, dtype="float32")

    net = static(filled(ActorCritic()))
    opt = paddle.optimizer.Adam(
        learning_rate=paddle.optimizer.lr.ExponentialDecay(0.01, 0.9), parameters=net.parameters()
    )
    states = paddle.to_tensor(numbers(6, 4))
    actions = paddle.to_tensor(classes(3, 6))
    old_probs, values = net(states)
    old = paddle.take_along_axis(old_probs, actions.unsqueeze(1), axis=1).squeeze(1).detach()
    advantage = gae(numbers(6).tolist(), [*values.numpy().tolist(), 0.0])
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    returns = advantage + values.detach()
    log = []
    for _ in range(3):
        probs, values = net(states)
        new = paddle.take_along_axis(probs, actions.unsqueeze(1), axis=1).squeeze(1)
        ratio = new / old
        clipped = paddle.clip(ratio, 1 - 0.2, 1 + 0.2)
        policy = -paddle.minimum(ratio * advantage, clipped * advantage).mean()
        entropy = -(probs * paddle.log(probs + 1e-10)).sum(axis=-1).mean()
        loss = policy + 0.5 * F.smooth_l1_loss(values, returns) - 0.01 * entropy
        opt.clear_grad()
        loss.backward()
        opt.step()
        opt._learning_rate.step()
        log.append([loss, entropy, opt.get_lr()])
    return log


@program
def vector_quantised(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Quantizer(nn.Layer):
        def __init__(self, count, dim):
            super().__init__()
            self.embedding = nn.Embedding(count, dim)
            self.register_buffer("usage", paddle.zeros([count]))

        def forward(self, z):
            flat = z.reshape([-1, z.shape[-1]])
            w = self.embedding.weight
            d = flat.pow(2).sum(1, keepdim=True) - 2 * paddle.matmul(flat, w.t()) + (w * w).sum(1)
            idx = paddle.argmin(d, axis=1)
            self.usage.set_value(self.usage + F.one_hot(idx, w.shape[0]).sum(0))
            q = self.embedding(idx).reshape(z.shape)
            loss = F.mse_loss(q.detach(), z) * 0.25 + F.mse_loss(q, z.detach())
            return z + (q - z).detach(), loss, idx

    enc, quant, dec = filled(nn.Linear(6, 3)), filled(Quantizer(5, 3), 1), filled(nn.Linear(3, 6), 2)

    @static
    def model(x):
        q, loss, idx = quant(enc(x))
        return dec(q), loss, idx

    opt = paddle.optimizer.AdamW(2e-2, parameters=enc.parameters() + quant.parameters() + dec.parameters())
    log = []
    for step in range(3):
        x = paddle.to_tensor(numbers(2, 4, 6, seed=step))
        out, commit, idx = model(x)
        loss = F.l1_loss(out, x) + commit
        loss.backward()
        opt.step()
        opt.clear_grad()
        log += [loss, idx]
    return log, quant.usage, quant.state_dict()["embedding.weight"]


@program
def denoising_diffusion(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    betas = paddle.linspace(1e-4, 0.02, 10)
    bar = paddle.cumprod(1.0 - betas, dim=0)

    class Denoiser(nn.Layer):
        def __init__(self):
            super().__init__()
            self.time = nn.Embedding(10, 4)
            self.net = nn.Sequential(nn.Linear(7, 16), nn.Silu(), nn.Linear(16, 3))

        def forward(self, x, t):
            return self.net(paddle.concat([x, self.time(t)], axis=-1))

    net = static(filled(Denoiser()))
    opt = paddle.optimizer.Adam(0.01, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(clip_norm=0.5))
    losses = []
    for step in range(3):
        x0, noise = (paddle.to_tensor(numbers(6, 3, seed=step + k)) for k in (0, 5))
        t = paddle.to_tensor(classes(10, 6, seed=step))
        a = paddle.gather(bar, t).unsqueeze(-1)
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        loss = F.mse_loss(net(xt, t), noise)
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss.numpy())
    x = paddle.to_tensor(numbers(2, 3))
    with paddle.no_grad():
        for t in range(9, -1, -1):
            eps = net(x, paddle.full([2], t, dtype="int64"))
            alpha = 1 - betas[t]
            x = (x - betas[t] / paddle.sqrt(1 - bar[t]) * eps) / paddle.sqrt(alpha)
    return losses, x


@program
def neural_ode(paddle, static):
    nn = paddle.nn
    field = filled(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)))

    @static
    def integrate(x, steps=4, h=0.25):
        path = [x]
        for _ in range(steps):
            k1 = field(x)
            k2 = field(x + h / 2 * k1)
            k3 = field(x + h / 2 * k2)
            k4 = field(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(x)
        return paddle.stack(path, axis=1)

    x = paddle.to_tensor(numbers(3, 2), stop_gradient=False)
    path = integrate(x)
    (path[:, -1] ** 2).sum().backward()
    return path, x.grad, [p.grad for p in field.parameters()]


@program
def implicit_image(paddle, static):
    nn = paddle.nn

    class Sine(nn.Layer):
        def __init__(self, n_in, n_out, w0=5.0):
            super().__init__()
            self.w0 = w0
            bound = (6 / n_in) ** 0.5 / w0
            self.linear = nn.Linear(
                n_in, n_out, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Uniform(-bound, bound))
            )

        def forward(self, x):
            return paddle.sin(self.w0 * self.linear(x))

    net = filled(nn.Sequential(Sine(2, 8), Sine(8, 8), nn.Linear(8, 1)))
    ys, xs = paddle.meshgrid(paddle.linspace(-1, 1, 4), paddle.linspace(-1, 1, 4))
    coords = paddle.stack([xs, ys], axis=-1).reshape((-1, 2))
    coords.stop_gradient = False
    out = static(net)(coords)
    grad = paddle.grad(out.sum(), coords, create_graph=True)[0]
    loss = ((grad.norm(axis=-1) - 1) ** 2).mean() + out.abs().mean()
    loss.backward()
    return loss, out, [p.grad for p in net.parameters()]
