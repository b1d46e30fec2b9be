"""What is around a network: data, schedules, clipping, groups, saving, metrics, accumulation, reinforcement."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from .register import classes, filled, numbers, program


@program
def linear_regression(paddle, static):
    x_data = paddle.to_tensor([[1.0], [3.0], [5.0], [9.0], [10.0], [20.0]])
    y_data = paddle.to_tensor([[12.0], [16.0], [20.0], [28.0], [30.0], [50.0]])
    linear = filled(paddle.nn.Linear(in_features=1, out_features=1))
    net = static(linear)
    mse_loss = paddle.nn.MSELoss()
    sgd_optimizer = paddle.optimizer.SGD(learning_rate=0.001, parameters=linear.parameters())
    for _ in range(50):
        y_predict = net(x_data)
        loss = mse_loss(y_predict, y_data)
        loss.backward()
        sgd_optimizer.step()
        sgd_optimizer.clear_grad()
    return loss.numpy(), linear.weight.item(), linear.bias.item()


@program
def data_sets(paddle, static):
    from importlib import import_module

    io = import_module(f"{paddle.__name__}.io")

    class RandomDataset(io.Dataset):
        def __init__(self, num_samples):
            self.num_samples = num_samples

        def __getitem__(self, idx):
            return np.full([3], idx, dtype="float32"), np.array([idx % 2], dtype="int64")

        def __len__(self):
            return self.num_samples

    class Stream(io.IterableDataset):
        def __iter__(self):
            yield from (np.array(i, "float32") for i in range(5))

    dataset = RandomDataset(7)
    seen = []
    for i, (image, label) in enumerate(io.DataLoader(dataset, batch_size=3, shuffle=False, drop_last=False)()):
        seen.append([i, image, label])
    sampler = io.BatchSampler(sampler=io.SequenceSampler(dataset), batch_size=2, drop_last=True)
    collate = lambda rows: np.stack([row[0] for row in rows]).sum(0)  # noqa: E731
    loader = io.DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)
    seen.append([np.asarray(batch) for batch in loader])
    seen.append([batch for batch in io.DataLoader(Stream(), batch_size=2)])
    first, second = io.Subset(dataset, [1, 3]), io.Subset(dataset, [0])
    joined = io.ConcatDataset([first, second])
    seen.append([len(joined), joined[2][0], len(loader), len(io.ComposeDataset([dataset, dataset])[0])])
    pairs = io.TensorDataset([paddle.to_tensor(numbers(4, 2)), paddle.to_tensor(classes(3, 4))])
    seen.append([part for part in io.DataLoader(pairs, batch_size=4)][0])
    mixed = [{"x": np.float32(i), "s": [i, (i * 2,)], "n": f"row {i}"} for i in range(2)]

    class Mixed(io.Dataset):
        def __getitem__(self, idx):
            return {key: mixed[idx][key] for key in ("x", "s")}

        def __len__(self):
            return 2

    batch = next(iter(io.DataLoader(Mixed(), batch_size=2)))
    seen.append([batch["x"], batch["s"][0], batch["s"][1][0]])
    return seen


@program
def schedules(paddle, static):
    lr = paddle.optimizer.lr
    made = {
        "noam": lr.NoamDecay(d_model=0.01, warmup_steps=10),
        "piecewise": lr.PiecewiseDecay([2, 4], [0.1, 0.2, 0.3]),
        "natural": lr.NaturalExpDecay(0.5, 0.1),
        "inverse": lr.InverseTimeDecay(0.5, 0.1),
        "polynomial": lr.PolynomialDecay(0.5, 4, cycle=True),
        "warmup": lr.LinearWarmup(0.5, 3, 0.0, 0.5),
        "warmed": lr.LinearWarmup(lr.StepDecay(0.5, 2), 3, 0.0, 0.5),
        "exponential": lr.ExponentialDecay(0.5, 0.9),
        "multistep": lr.MultiStepDecay(0.5, [2, 4], 0.8),
        "step": lr.StepDecay(0.5, 2, 0.8),
        "lambda": lr.LambdaDecay(0.5, lambda x: 0.95 ** x),
        "multiplicative": lr.MultiplicativeDecay(0.5, lambda x: 0.95),
        "cosine": lr.CosineAnnealingDecay(0.5, 4),
        "restarts": lr.CosineAnnealingWarmRestarts(0.5, 3, 2),
        "cycle": lr.OneCycleLR(1.0, total_steps=8, phase_pct=0.3),
        "cyclic": lr.CyclicLR(0.1, 1.0, 2, 3, mode="triangular2"),
        "linear": lr.LinearLR(0.2, total_steps=5),
    }
    seen = {name: [] for name in made}
    for _ in range(7):
        for name, scheduler in made.items():
            seen[name].append(scheduler())
            scheduler.step()
    plateau = lr.ReduceOnPlateau(0.5, factor=0.5, patience=1, verbose=False)
    for metric in (1.0, 0.9, 0.95, 0.97, 0.99, 0.5):
        plateau.step(paddle.to_tensor(metric))
        seen.setdefault("plateau", []).append(plateau())
    return sorted(seen), [seen[name] for name in sorted(seen)]


@program
def groups_and_clipping(paddle, static):
    nn = paddle.nn
    seen = []
    for clip in (nn.ClipGradByGlobalNorm(0.1), nn.ClipGradByNorm(0.05), nn.ClipGradByValue(0.02, -0.01)):
        one, two = filled(nn.Linear(3, 4)), filled(nn.Linear(4, 2), 1)
        net = static(nn.Sequential(one, nn.ReLU(), two))
        opt = paddle.optimizer.Momentum(
            learning_rate=0.1, weight_decay=0.01, momentum=0.9, grad_clip=clip, use_nesterov=True,
            parameters=[{"params": one.parameters()},
                        {"params": two.parameters(), "weight_decay": 0.001, "learning_rate": 0.5}])
        for _ in range(3):
            loss = net(paddle.to_tensor(numbers(5, 3))).square().mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
        seen.append([loss, two.weight])
    total = nn.utils.clip_grad_norm_([], 1.0)
    return seen, total


@program
def settings_of_parameters(paddle, static):
    nn = paddle.nn
    attr = paddle.ParamAttr(
        name="my_weight", learning_rate=0.5, regularizer=paddle.regularizer.L1Decay(0.1), trainable=True,
        initializer=nn.initializer.Assign(numbers(3, 2)))
    fc = nn.Linear(3, 2, weight_attr=attr, bias_attr=nn.initializer.Constant(0.3))
    net = static(fc)
    opt = paddle.optimizer.SGD(0.1, parameters=fc.parameters(), weight_decay=0.01)
    for _ in range(2):
        net(paddle.to_tensor(numbers(4, 3))).sum().backward()
        opt.step()
        opt.clear_grad()
    return fc.weight, fc.bias, fc.weight.name, fc.weight.trainable


@program
def saved_and_loaded(paddle, static):
    nn = paddle.nn

    net = filled(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Linear(4, 1)))

    schedule = paddle.optimizer.lr.StepDecay(0.1, 2)
    opt = paddle.optimizer.Adam(schedule, parameters=net.parameters())

    def train(turns):
        call = static(net)
        for turn in turns:
            loss = call(paddle.to_tensor(numbers(6, 3, seed=turn))).square().mean()
            loss.backward()
            opt.step()
            schedule.step()
            opt.clear_grad()
        return loss

    train(range(3))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "linear_net.pdparams")
        paddle.save(net.state_dict(), path)
        paddle.save({"opt": opt.state_dict(), "epoch": 3}, os.path.join(folder, "adam.pdopt"))
        expected = train(range(3, 5))
        net.set_state_dict(paddle.load(path))
        state = paddle.load(os.path.join(folder, "adam.pdopt"))
    opt.set_state_dict(state["opt"])
    found = train(range(3, 5))
    return expected, found, state["epoch"], schedule.last_epoch


@program
def metrics(paddle, static):
    accuracy = paddle.metric.Accuracy(topk=(1, 2))
    for seed in range(2):
        pred, label = paddle.to_tensor(numbers(6, 4, seed=seed)), paddle.to_tensor(classes(4, 6, 1, seed=seed))
        accuracy.update(accuracy.compute(pred, label))
    seen = [accuracy.accumulate(), accuracy.name()]
    accuracy.reset()
    for kind in (paddle.metric.Precision(), paddle.metric.Recall()):
        kind.update(np.array([0.1, 0.5, 0.6, 0.7]), np.array([0, 1, 1, 0]))
        seen.append(kind.accumulate())
    auc = paddle.metric.Auc()
    scores = 1 / (1 + np.exp(-numbers(8, 1)))
    auc.update(preds=np.concatenate((1 - scores, scores), axis=1), labels=classes(2, 8, 1))
    return *seen, auc.accumulate(), accuracy.accumulate()


@program
def accumulated_gradients(paddle, static):
    net = filled(paddle.nn.Linear(3, 1))
    call, seen = static(net), []
    opt = paddle.optimizer.Adadelta(0.5, parameters=net.parameters(), rho=0.9)
    for turn in range(4):
        loss = call(paddle.to_tensor(numbers(4, 3, seed=turn))).square().mean() / 2
        loss.backward()
        if (turn + 1) % 2 == 0:
            seen.append(net.weight.grad.numpy().copy())
            opt.step()
            opt.clear_grad()
    return seen, net.weight


@program
def averages_of_weights(paddle, static):
    nn = paddle.nn
    online, target = filled(nn.Linear(3, 2)), filled(nn.Linear(3, 2), 4)
    target.set_state_dict(online.state_dict())
    opt = paddle.optimizer.SGD(0.1, parameters=online.parameters())
    call = static(online)
    for turn in range(3):
        call(paddle.to_tensor(numbers(4, 3, seed=turn))).square().sum().backward()
        opt.step()
        opt.clear_grad()
        with paddle.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters()):
                slow.set_value(0.9 * slow + 0.1 * fast)
    return target.weight, target.bias


@program
def q_learning(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class QNet(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 3)

        def forward(self, obs):
            return self.fc2(F.relu(self.fc1(obs)))

    net, target = static(filled(QNet())), static(filled(QNet(), 1))
    opt = paddle.optimizer.Adam(1e-2, parameters=net.parameters())
    obs, following = paddle.to_tensor(numbers(5, 4)), paddle.to_tensor(numbers(5, 4, seed=1))
    action, reward = paddle.to_tensor(classes(3, 5)), paddle.to_tensor(numbers(5, 1))
    done = paddle.to_tensor((classes(2, 5, 1)).astype("float32"))
    losses = []
    for _ in range(3):
        with paddle.no_grad():
            best = paddle.max(target(following), axis=-1, keepdim=True)
            wanted = reward + (1 - done) * 0.9 * best
        taken = F.one_hot(action, 3)
        loss = F.mse_loss(paddle.sum(net(obs) * taken, axis=-1, keepdim=True), wanted)
        opt.clear_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.5)
        opt.step()
        losses.append([loss, norm])
    return losses


@program
def policy_gradient(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    actor = static(filled(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))))
    opt = paddle.optimizer.Adam(0.01, parameters=actor.parameters())
    rewards, returns, discounted = [1.0, 0.0, 2.0, 1.0], [], 0
    for reward in rewards[::-1]:
        discounted = reward + 0.99 * discounted
        returns.insert(0, discounted)
    returns = paddle.to_tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-9)
    log_probs = F.log_softmax(actor(paddle.to_tensor(numbers(4, 4))), axis=-1)
    chosen = paddle.take_along_axis(log_probs, paddle.to_tensor([[0], [1], [1], [0]]), axis=1).squeeze(1)
    entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
    loss = -(chosen * returns).sum() - 0.01 * entropy
    loss.backward()
    opt.step()
    return loss, returns, actor[0].weight


@program
def distillation(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    teacher, student = filled(nn.Linear(5, 4), 3), filled(nn.Linear(5, 4), 4)
    teacher.eval()
    call = static(student)
    x, y = paddle.to_tensor(numbers(6, 5)), paddle.to_tensor(classes(4, 6))
    with paddle.no_grad():
        soft = F.softmax(teacher(x) / 2.0)
    out = call(x)
    kl = F.kl_div(F.log_softmax(out / 2.0), soft, reduction="batchmean") * 4
    mixed = F.cross_entropy(out, F.label_smooth(F.one_hot(y, 4), epsilon=0.1), soft_label=True)
    (kl + mixed).backward()
    return kl, mixed, student.weight.grad


@program
def siamese_and_triplet(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    tower = static(filled(nn.Sequential(nn.Linear(4, 6), nn.ELU(), nn.Linear(6, 3))))
    a, p, n = (tower(paddle.to_tensor(numbers(5, 4, seed=i))) for i in range(3))
    triplet = nn.TripletMarginLoss(margin=0.5)(a, p, n)
    cosine = F.cosine_similarity(a, p)
    sign = paddle.to_tensor([1.0, -1.0, 1.0, -1.0, 1.0])
    pair = F.cosine_embedding_loss(a, n, sign, margin=0.1)
    embeddings = F.normalize(a, axis=1)
    similarities = paddle.einsum("ae, be -> ab", embeddings, F.normalize(p, axis=1)) / 0.2
    contrast = F.cross_entropy(similarities, paddle.arange(0, 5, dtype="int64"))
    (triplet + pair + contrast).backward()
    return triplet, pair, contrast, cosine, [q.grad for q in tower.parameters()]


@program
def recommender(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class DeepFM(nn.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Embedding(20, 1), nn.Embedding(20, 4)
            self.deep = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1))

        def forward(self, ids):
            first = self.first(ids).sum(axis=1)
            v = self.second(ids)
            second = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1, keepdim=True)
            return F.sigmoid(first + second + self.deep(v.flatten(1)))

    model = static(filled(DeepFM()))
    ids, click = paddle.to_tensor(classes(20, 6, 3)), paddle.to_tensor(classes(2, 6, 1).astype("float32"))
    opt = paddle.optimizer.Adam(0.05, parameters=model.parameters(), lazy_mode=False)
    losses = []
    for _ in range(3):
        loss = F.log_loss(model(ids), click).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss)
    return losses
