"""Graphs, sets, Gaussian processes, Newton's method, transport, filters, forecasts."""

from __future__ import annotations

import numpy as np

from .register import classes, filled, numbers, program


@program
def graph_attention(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class GAT(nn.Layer):
        def __init__(self, i, o):
            super().__init__()
            self.lin, self.src, self.dst = (
                nn.Linear(i, o, bias_attr=False),
                self.create_parameter([o, 1]),
                self.create_parameter([o, 1]),
            )

        def forward(self, x, edges):
            h, n = self.lin(x), x.shape[0]
            s, d = edges[0], edges[1]
            e = F.leaky_relu((h @ self.src).squeeze(-1)[s] + (h @ self.dst).squeeze(-1)[d], negative_slope=0.2)
            e = paddle.exp(e - e.max().detach())
            total = paddle.scatter_nd_add(paddle.zeros([n]), d.unsqueeze(-1), e)
            alpha = e / (paddle.gather(total, d) + 1e-16)
            out = paddle.index_add(paddle.zeros([n, h.shape[1]]), d, 0, h[s] * alpha.unsqueeze(-1))
            return F.elu(out)

    net = filled(nn.LayerList([GAT(4, 5), GAT(5, 3)]))

    @static
    def model(x, edges):
        for layer in net:
            x = layer(x, edges)
        return x

    x = paddle.to_tensor(numbers(6, 4), stop_gradient=False)
    edges = paddle.to_tensor(np.array([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]]))
    out = model(x, edges)
    mask = paddle.to_tensor([True, False, True, True, False, False])
    loss = F.cross_entropy(out[mask], paddle.to_tensor([0, 2, 1]))
    loss.backward()
    return out, loss, x.grad, [p.grad for p in net.parameters()]


@program
def messages_and_pooling(paddle, static):
    nn = paddle.nn
    edge_net, node_net, read = (filled(nn.Linear(*s), k) for k, s in enumerate(((7, 4), (7, 3), (3, 1))))

    @static
    def model(x, e, send, receive, graph):
        for _ in range(2):
            m = nn.functional.relu(
                edge_net(paddle.concat([paddle.index_select(x, send), paddle.index_select(x, receive), e], axis=1))
            )
            agg = paddle.scatter(paddle.zeros([x.shape[0], 4]), receive, m, overwrite=False)
            x = x + node_net(paddle.concat([x, agg], axis=1))
        hot = nn.functional.one_hot(graph, 2)
        pooled = paddle.matmul(hot, x, transpose_x=True) / hot.sum(0).unsqueeze(-1)
        return read(pooled)

    x = paddle.to_tensor(numbers(5, 3), stop_gradient=False)
    out = model(
        x,
        paddle.to_tensor(numbers(6, 1)),
        paddle.to_tensor([0, 1, 2, 3, 4, 0]),
        paddle.to_tensor([1, 0, 1, 4, 3, 2]),
        paddle.to_tensor([0, 0, 0, 1, 1]),
    )
    out.sum().backward()
    return out, x.grad, edge_net.weight.grad


@program
def sets_of_points(paddle, static):
    nn = paddle.nn

    class ISAB(nn.Layer):
        def __init__(self, d, k):
            super().__init__()
            self.inducing = self.create_parameter([1, k, d], default_initializer=nn.initializer.XavierNormal())
            self.a, self.b = nn.MultiHeadAttention(d, 2), nn.MultiHeadAttention(d, 2, dropout=0.0, need_weights=True)
            self.norm = nn.LayerNorm([d])

        def forward(self, x):
            i = paddle.expand(self.inducing, [x.shape[0], -1, -1])
            h = self.a(i, x, x)
            y, w = self.b(x, h, h)
            return self.norm(x + y), w

    net = filled(nn.Sequential(nn.Linear(2, 4)))
    block = filled(ISAB(4, 3), 1)

    @static
    def model(x):
        y, w = block(net(x))
        return paddle.max(y, axis=1), w

    x = paddle.to_tensor(numbers(2, 5, 2), stop_gradient=False)
    out, w = model(x)
    (out.sum() + w.square().sum()).backward()
    order = paddle.to_tensor([4, 2, 0, 1, 3])
    moved, _ = model(x.detach()[:, order])
    return out, w, x.grad, paddle.allclose(out, moved, atol=1e-5).item(), block.inducing.grad


@program
def gaussian_process(paddle, static):
    log_length, log_noise = (paddle.to_tensor(v, dtype="float64", stop_gradient=False) for v in (0.1, -1.0))
    x = paddle.to_tensor(np.linspace(-1, 1, 6))
    y = paddle.sin(3 * x)

    def kernel(a, b):
        return paddle.exp(-0.5 * ((a.unsqueeze(1) - b.unsqueeze(0)) / paddle.exp(log_length)) ** 2)

    @static
    def nll(x, y):
        n = x.shape[0]
        K = kernel(x, x) + (paddle.exp(2 * log_noise) + 1e-6) * paddle.eye(n, dtype="float64")
        L = paddle.linalg.cholesky(K)
        alpha = paddle.inverse(K) @ y.unsqueeze(1)
        return (
            0.5 * paddle.dot(y, alpha[:, 0]) + paddle.log(paddle.diag(L)).sum() + 0.5 * n * np.log(2 * np.pi)
        ), alpha

    log = []
    for _ in range(3):
        loss, alpha = nll(x, y)
        loss.backward()
        with paddle.no_grad():
            for p in (log_length, log_noise):
                p.set_value(p - 0.05 * p.grad)
                p.clear_grad()
        log.append(loss)
    mean = kernel(paddle.to_tensor([0.3, 0.7], dtype="float64"), x) @ alpha
    return log, mean, log_length, log_noise


@program
def newton_by_hessians(paddle, static):
    F = paddle.nn.functional
    x, y = paddle.to_tensor(numbers(12, 3).astype("float64")), paddle.to_tensor(classes(2, 12).astype("float64"))
    w = paddle.zeros([3], dtype="float64")
    w.stop_gradient = False

    @static
    def loss_of(w):
        p = F.sigmoid(paddle.matmul(x, w.unsqueeze(-1)).squeeze(-1))
        return -(y * paddle.log(p) + (1 - y) * paddle.log(1 - p)).sum() + 0.05 * (w * w).sum()

    log = []
    for _ in range(3):
        loss = loss_of(w)
        (grad,) = paddle.grad([loss], [w], create_graph=True)
        rows = [paddle.grad(grad[i], w, retain_graph=True)[0] for i in range(3)]
        step = paddle.linalg.solve(paddle.stack(rows), grad.detach())
        w = (w - step).detach()
        w.stop_gradient = False
        log += [loss, grad.norm()]
    return log, w, rows


@program
def jacobians_and_hessians(paddle, static):
    x = paddle.to_tensor(numbers(3).astype("float64"), stop_gradient=False)
    b = paddle.to_tensor(numbers(4, 3).astype("float64"), stop_gradient=False)

    def f(x):
        return paddle.stack([x[0] * x[1], paddle.sin(x[2]), x[0] * x[1] * x[2]])

    y = f(x)
    J = paddle.autograd.jacobian(y, x)
    H = paddle.autograd.hessian((f(x) ** 2).sum(), x)
    z = b**3
    JB = paddle.autograd.jacobian(z, b, batch_axis=0)
    return J[:], J[0], J[1, 2], H[:], H[0, 1], JB[:], list(J.shape), list(JB.shape)


@program
def factors_of_a_matrix(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class DeepFM(nn.Layer):
        def __init__(self, sizes, d=3):
            super().__init__()
            self.offsets = paddle.to_tensor(np.cumsum([0, *sizes[:-1]]))
            total = sum(sizes)
            self.linear, self.embed = nn.Embedding(total, 1), nn.Embedding(total, d, sparse=False)
            self.bias = self.create_parameter([1], is_bias=True)
            self.mlp = nn.Sequential(nn.Linear(len(sizes) * d, 6), nn.ReLU(), nn.Dropout(0.0), nn.Linear(6, 1))

        def forward(self, ids):
            ids = ids + self.offsets
            e = self.embed(ids)
            square, sums = paddle.sum(e, axis=1) ** 2, paddle.sum(e**2, axis=1)
            fm = 0.5 * paddle.sum(square - sums, axis=1, keepdim=True)
            return F.sigmoid(self.linear(ids).sum(1) + self.bias + fm + self.mlp(e.flatten(start_axis=1))).squeeze(1)

    net = static(filled(DeepFM([4, 3, 5])))
    opt = paddle.optimizer.Adam(0.02, parameters=net.parameters(), lazy_mode=True)
    ids = np.stack([classes(n, 8, seed=n) for n in (4, 3, 5)], 1)
    y, log = paddle.to_tensor(classes(2, 8).astype("float32")), []
    auc, acc = paddle.metric.Auc(num_thresholds=100), paddle.metric.Accuracy()
    for _ in range(3):
        p = net(paddle.to_tensor(ids))
        loss = F.binary_cross_entropy(p, y)
        loss.backward()
        opt.step()
        opt.clear_grad()
        log.append(loss)
        auc.update(preds=paddle.stack([1 - p, p], 1), labels=y.unsqueeze(1))
        acc.update(acc.compute(paddle.stack([1 - p, p], 1), y.astype("int64").unsqueeze(1)))
    return log, auc.accumulate(), acc.accumulate()


@program
def transport_and_ranking(paddle, static):
    F = paddle.nn.functional

    @static
    def sinkhorn(c, eps=0.5, turns=5):
        n, m = c.shape
        f, g = paddle.zeros([n]), paddle.zeros([m])
        a, b = paddle.full([n], -float(np.log(n))), paddle.full([m], -float(np.log(m)))
        for _ in range(turns):
            f = eps * (a - paddle.logsumexp((g.unsqueeze(0) - c) / eps, axis=1))
            g = eps * (b - paddle.logsumexp((f.unsqueeze(1) - c) / eps, axis=0))
        plan = paddle.exp((f.unsqueeze(1) + g.unsqueeze(0) - c) / eps)
        return (plan * c).sum(), plan

    a = paddle.to_tensor(numbers(4, 2), stop_gradient=False)
    b = paddle.to_tensor(numbers(3, 2, seed=1))
    cost, plan = sinkhorn(paddle.cdist(a, b, p=2.0) ** 2)
    rank = F.margin_ranking_loss(a[:, 0], a[:, 1], paddle.sign(a[:, 0].detach()), margin=0.3)
    hinge = F.hinge_embedding_loss(a, paddle.sign(a.detach()), margin=1.0)
    cos = F.cosine_embedding_loss(a[:3], b, paddle.to_tensor([1, -1, 1]), margin=0.1)
    trip = F.triplet_margin_loss(a[:3], b, b.flip(0), margin=0.5, swap=True)
    soft = F.soft_margin_loss(a, paddle.sign(a.detach()))
    many = F.multi_label_soft_margin_loss(a, (a.detach() > 0).astype("float32"))
    pois = F.poisson_nll_loss(a, paddle.abs(a.detach()), log_input=True, full=False)
    gauss = F.gaussian_nll_loss(a[:, 0], b.mean().expand([4]), paddle.exp(a[:, 1]).detach())
    total = cost + rank + hinge + cos + trip + soft + many + pois + gauss
    total.backward()
    return cost, plan, rank, hinge, cos, trip, soft, many, pois, gauss, a.grad


@program
def filters_and_signals(paddle, static):
    @static
    def kalman(zs, q, r):
        A = paddle.to_tensor([[1.0, 0.1], [0.0, 1.0]])
        C = paddle.to_tensor([[1.0, 0.0]])
        x, P = paddle.zeros([2, 1]), paddle.eye(2)
        out = []
        for t in range(zs.shape[0]):
            x, P = A @ x, A @ P @ A.t() + paddle.diag(paddle.stack([q, q]))
            S = C @ P @ C.t() + r
            K = P @ C.t() @ paddle.inverse(S)
            x = x + K @ (zs[t].reshape([1, 1]) - C @ x)
            P = (paddle.eye(2) - K @ C) @ P
            out.append(x[0, 0])
        return paddle.stack(out), paddle.trace(P)

    q, r = (paddle.to_tensor(v, stop_gradient=False) for v in (0.1, 0.5))
    zs = paddle.to_tensor(numbers(6))
    est, tr = kalman(zs, q, r)
    ((est - zs) ** 2).sum().backward()
    spec = paddle.fft.rfft(zs)
    smooth = paddle.nn.functional.conv1d(zs.reshape([1, 1, -1]), paddle.full([1, 1, 3], 1 / 3), padding=1)
    return (
        est,
        tr,
        q.grad,
        r.grad,
        paddle.abs(spec),
        paddle.fft.irfft(spec, n=6),
        smooth,
        paddle.cumsum(zs),
        paddle.diff(zs),
    )


@program
def clusters_and_components(paddle, static):
    x = paddle.to_tensor(numbers(12, 3))

    @static
    def assign(x, centres):
        d = ((x.unsqueeze(1) - centres.unsqueeze(0)) ** 2).sum(-1)
        which = d.argmin(axis=1)
        hot = paddle.nn.functional.one_hot(which, centres.shape[0])
        count = hot.sum(0).unsqueeze(-1)
        return which, paddle.where(count > 0, (hot.t() @ x) / paddle.maximum(count, paddle.ones_like(count)), centres)

    centres = x[:3].clone()
    for _ in range(10):
        which, new = assign(x, centres)
        if paddle.equal_all(new, centres):
            break
        centres = new
    centred = x - x.mean(axis=0, keepdim=True)
    cov = paddle.linalg.cov(x, rowvar=False)
    values, vectors = paddle.linalg.eigh(cov)
    _, s, _ = paddle.linalg.svd(centred, full_matrices=False)
    low = centred @ paddle.abs(vectors[:, -2:])
    counts = paddle.bincount(which, minlength=3)
    u, inverse, c = paddle.unique(which, return_inverse=True, return_counts=True)
    hist = paddle.histogram(x, bins=4, min=-2, max=2)
    return (
        which,
        centres,
        values,
        s,
        low,
        counts,
        u,
        inverse,
        c,
        hist,
        paddle.median(x, axis=0),
        paddle.quantile(x, 0.25, axis=1),
        paddle.linalg.corrcoef(x.t()),
    )


@program
def hyper_networks(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Hyper(nn.Layer):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 6), nn.Softplus(beta=2.0), nn.Linear(6, 3 * 2 + 2))
            self.bil = nn.Bilinear(2, 2, 3)

        def forward(self, x, task):
            w = self.net(task)
            weight, bias = w[:, :6].reshape([-1, 3, 2]), w[:, 6:]
            y = paddle.bmm(x, weight) + bias.unsqueeze(1)
            return F.glu(paddle.concat([y, y.tanh()], -1), axis=-1), self.bil(y[:, 0], y[:, 1])

    net = static(filled(Hyper()))
    x = paddle.to_tensor(numbers(2, 4, 3), stop_gradient=False)
    a, b = net(x, paddle.to_tensor(numbers(2, 2)))
    (a.sum() + b.prod(axis=-1).sum()).backward()
    return a, b, x.grad, [p.grad for p in net.parameters()]


@program
def forecasting(paddle, static):
    nn = paddle.nn

    class Block(nn.Layer):
        def __init__(self, back, ahead):
            super().__init__()
            self.fc = nn.Sequential(nn.Linear(back, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
            self.back, self.ahead = nn.Linear(8, back), nn.Linear(8, ahead)

        def forward(self, x):
            h = self.fc(x)
            return self.back(h), self.ahead(h)

    class NBeats(nn.Layer):
        def __init__(self):
            super().__init__()
            self.blocks = nn.LayerList(Block(6, 2) for _ in range(3))

        def forward(self, x):
            total = paddle.zeros([x.shape[0], 2])
            for block in self.blocks:
                back, ahead = block(x)
                x, total = x - back, total + ahead
            return total

    class Windows(paddle.io.Dataset):
        def __init__(self, series):
            self.series = series

        def __getitem__(self, i):
            return self.series[i : i + 6], self.series[i + 6 : i + 8]

        def __len__(self):
            return len(self.series) - 7

    series = np.sin(np.arange(30) * 0.5).astype("float32")
    loader = paddle.io.DataLoader(Windows(series), batch_size=8, shuffle=False, drop_last=False)
    net = static(filled(NBeats()))
    sched = paddle.optimizer.lr.OneCycleLR(max_learning_rate=0.02, total_steps=9)
    opt = paddle.optimizer.Adam(sched, parameters=net.parameters())
    quant = paddle.to_tensor([0.1, 0.9])
    log = []
    for epoch in range(2):
        total = 0.0
        for x, y in loader:
            e = y - net(x)
            loss = paddle.maximum(quant * e, (quant - 1) * e).mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            sched.step()
            total += float(loss)
        log.append(total / len(loader))
    return log, sched.get_lr()
