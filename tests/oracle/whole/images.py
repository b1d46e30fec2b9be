"""Images: reading text, segments, boxes, where a network looks, augmentation."""

from __future__ import annotations

import numpy as np

from .register import classes, filled, numbers, program


@program
def text_in_images(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class CRNN(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(
                nn.Conv2D(1, 4, kernel_size=3, padding=1),
                nn.ReLU(),
                nn.MaxPool2D(kernel_size=2, stride=2),
                nn.Conv2D(4, 6, (3, 3), padding=(1, 1), bias_attr=False),
                nn.BatchNorm2D(6),
                nn.LeakyReLU(),
                nn.MaxPool2D((2, 1)),
                nn.Conv2D(6, 6, (2, 1)),
                nn.ReLU(),
            )
            self.rnn = nn.LSTM(6, 5, direction="bidirectional", time_major=False)
            self.fc = nn.Linear(10, 7)

        def forward(self, x):
            x = self.cnn(x)
            b, c, h, w = x.shape
            assert h == 1
            x = x.squeeze(2).transpose((0, 2, 1))
            x, _ = self.rnn(x)
            return F.log_softmax(self.fc(x), axis=2)

    net = static(filled(CRNN()))
    opt = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    x, y = paddle.to_tensor(numbers(2, 1, 8, 12)), paddle.to_tensor(classes(7, 2, 6))
    log = []
    for _ in range(2):
        out = net(x)
        loss = F.nll_loss(out.transpose([0, 2, 1]), y, reduction="mean")
        loss.backward()
        opt.step()
        opt.clear_grad()
        log.append(loss)
    best = out.argmax(-1)
    keep = paddle.concat([paddle.ones([2, 1], dtype="bool"), best[:, 1:] != best[:, :-1]], axis=1)
    return log, best, keep


@program
def segmentation_with_dice(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class DoubleConv(nn.Sequential):
        def __init__(self, i, o):
            super().__init__(
                nn.Conv2D(i, o, 3, padding=1),
                nn.GroupNorm(2, o),
                nn.Silu(),
                nn.Conv2D(o, o, 3, padding="same"),
                nn.InstanceNorm2D(o),
                nn.ReLU(),
            )

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.d1, self.d2 = DoubleConv(1, 4), DoubleConv(4, 4)
            self.up = nn.Conv2DTranspose(4, 4, 2, stride=2)
            self.u1 = DoubleConv(8, 4)
            self.bilinear = nn.UpsamplingBilinear2D(scale_factor=2)
            self.out = nn.Conv2D(4, 2, 1)
            self.aux = nn.Conv2D(4, 2, 1)

        def forward(self, x):
            a = self.d1(x)
            b = self.d2(F.max_pool2d(a, 2))
            y = self.u1(paddle.concat([self.up(b), a], axis=1))
            return self.out(y), self.aux(self.bilinear(b))

    def dice(logits, labels):
        p = F.softmax(logits, axis=1)[:, 1].flatten(1)
        t = labels.astype("float32").flatten(1)
        return 1 - ((2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()

    net = static(filled(Net()))
    x, y = paddle.to_tensor(numbers(2, 1, 6, 6)), paddle.to_tensor(classes(2, 2, 6, 6))
    opt = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), weight_decay=0.01)
    log = []
    for _ in range(2):
        out, aux = net(x)
        loss = (
            dice(out, y)
            + F.cross_entropy(out, y, axis=1)
            + 0.4 * F.cross_entropy(aux, y, axis=1, weight=paddle.to_tensor([0.3, 0.7]))
        )
        loss.backward()
        opt.step()
        opt.clear_grad()
        log.append(loss)
    pred = out.argmax(1)
    inter, union = (pred & y).astype("float32").sum(), (pred | y).astype("float32").sum()
    return log, pred, inter / (union + 1e-6)


@program
def depthwise_and_squeeze(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class SE(nn.Layer):
        def __init__(self, c, r=2):
            super().__init__()
            self.pool = nn.AdaptiveAvgPool2D(1)
            self.fc1, self.fc2 = nn.Conv2D(c, c // r, 1), nn.Conv2D(c // r, c, 1)

        def forward(self, x):
            return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(self.pool(x)))), slope=0.2, offset=0.5)

    class Block(nn.Layer):
        def __init__(self, c_in, c, c_out, stride):
            super().__init__()
            self.expand = nn.Sequential(nn.Conv2D(c_in, c, 1, bias_attr=False), nn.BatchNorm2D(c), nn.Hardswish())
            self.depth = nn.Conv2D(c, c, 3, stride=stride, padding=1, groups=c, bias_attr=False)
            self.norm, self.se = nn.BatchNorm2D(c, momentum=0.9, epsilon=1e-3), SE(c)
            self.project = nn.Sequential(nn.Conv2D(c, c_out, 1, bias_attr=False), nn.BatchNorm2D(c_out))
            self.same = stride == 1 and c_in == c_out

        def forward(self, x):
            y = self.project(self.se(F.swish(self.norm(self.depth(self.expand(x))))))
            return x + y if self.same else y

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2D(3, 4, 3, 2, 1)
            self.blocks = nn.Sequential(("b0", Block(4, 8, 4, 1)), ("b1", Block(4, 8, 6, 2)))
            self.shuffle = nn.ChannelShuffle(2)
            self.head = nn.Linear(6, 3)

        def forward(self, x):
            x = self.shuffle(self.blocks(self.stem(x)))
            return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))

    net = filled(Net())
    call = static(net)
    x = paddle.to_tensor(numbers(3, 3, 8, 8), stop_gradient=False)
    out = call(x)
    F.cross_entropy(out, paddle.to_tensor([0, 1, 2]), weight=paddle.to_tensor([1.0, 2.0, 0.5])).backward()
    net.eval()
    return out, x.grad, call(x), [p.grad for p in net.parameters() if p.grad is not None]


@program
def detection_head(paddle, static):
    F = paddle.nn.functional

    def iou(a, b):
        lt = paddle.maximum(a.unsqueeze(1)[..., :2], b.unsqueeze(0)[..., :2])
        rb = paddle.minimum(a.unsqueeze(1)[..., 2:], b.unsqueeze(0)[..., 2:])
        wh = (rb - lt).clip(min=0)
        inter = wh[..., 0] * wh[..., 1]
        areas = [(z[:, 2] - z[:, 0]) * (z[:, 3] - z[:, 1]) for z in (a, b)]
        return inter / (areas[0].unsqueeze(1) + areas[1] - inter + 1e-9)

    def suppressed(boxes, scores, limit=0.3):
        order, keep = paddle.argsort(scores, descending=True), []
        while order.shape[0] > 0:
            i = order[0]
            keep.append(int(i))
            if order.shape[0] == 1:
                break
            overlap = iou(boxes[i].unsqueeze(0), boxes[order[1:]])[0]
            order = order[1:][overlap <= limit]
        return keep

    @static
    def loss_of(raw, scores, truth, labels):
        boxes = paddle.concat([raw[:, :2], raw[:, :2] + F.softplus(raw[:, 2:])], axis=1)
        match = iou(boxes, truth)
        best, which = match.max(axis=1), match.argmax(axis=1)
        positive = best > 0.1
        target = paddle.where(positive, paddle.gather(labels, which), paddle.zeros_like(which))
        hot = F.one_hot(target, scores.shape[1])
        p = F.sigmoid(scores)
        focal = F.binary_cross_entropy_with_logits(scores, hot, reduction="none") * (hot * (1 - p) + (1 - hot) * p) ** 2
        wanted = truth[which]
        reg = (F.smooth_l1_loss(boxes, wanted, reduction="none", delta=0.5).sum(-1) * positive.astype("float32")).sum()
        return focal.sum() / paddle.clip(positive.sum().astype("float32"), min=1.0) + reg, boxes

    raw = paddle.to_tensor(np.abs(numbers(6, 4)) * 2, stop_gradient=False)
    scores = paddle.to_tensor(numbers(6, 3), stop_gradient=False)
    truth = paddle.to_tensor(np.array([[0, 0, 2, 2], [1, 1, 3, 4]], "float32"))
    loss, boxes = loss_of(raw, scores, truth, paddle.to_tensor([1, 2]))
    loss.backward()
    with paddle.no_grad():
        kept = suppressed(boxes, F.sigmoid(scores).max(axis=1))
    return loss, boxes, raw.grad, scores.grad, kept


@program
def dense_and_inception(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Dense(nn.Layer):
        def __init__(self, c, growth, count):
            super().__init__()
            self.layers = nn.LayerList(
                [
                    nn.Sequential(
                        nn.BatchNorm2D(c + k * growth), nn.ReLU(), nn.Conv2D(c + k * growth, growth, 3, padding=1)
                    )
                    for k in range(count)
                ]
            )

        def forward(self, x):
            seen = [x]
            for layer in self.layers:
                seen.append(layer(paddle.concat(seen, axis=1)))
            return paddle.concat(seen, 1)

    class Inception(nn.Layer):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv2D(c, 2, 1), nn.Conv2D(c, 2, (1, 3), padding=(0, 1))
            self.c, self.d = (
                nn.Conv2D(c, 2, (3, 1), padding=[1, 0], dilation=1),
                nn.Conv2D(c, 2, 3, padding=2, dilation=2),
            )
            self.pool = nn.AvgPool2D(3, stride=1, padding=1, exclusive=False)

        def forward(self, x):
            return paddle.concat([F.relu(f(x)) for f in (self.a, self.b, self.c, self.d)] + [self.pool(x)], axis=1)

    net = filled(
        nn.Sequential(
            nn.Conv2D(2, 3, 3, padding=1, padding_mode="reflect"),
            Dense(3, 2, 2),
            Inception(7),
            nn.AdaptiveMaxPool2D((2, 3)),
            nn.Flatten(1),
            nn.Dropout(0.5),
        )
    )
    call = static(net)
    net.eval()
    x = paddle.to_tensor(numbers(2, 2, 6, 7), stop_gradient=False)
    out = call(x)
    (out * out).mean().backward()
    return out, x.grad, net[0].weight.grad


@program
def where_the_network_looks(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    net = filled(
        nn.Sequential(
            nn.Conv2D(1, 3, 3),
            nn.ReLU(),
            nn.Conv2D(3, 4, 3),
            nn.ReLU(),
            nn.AdaptiveAvgPool2D(1),
            nn.Flatten(),
            nn.Linear(4, 2),
        )
    )
    kept = {}

    def forward_hook(layer, inputs, output):
        kept["features"] = output
        if not output.stop_gradient:
            output.register_hook(lambda g: kept.update(grads=g))

    handle = net[2].register_forward_post_hook(forward_hook)
    x = paddle.to_tensor(numbers(1, 1, 8, 8), stop_gradient=False)
    out = static(net)(x)
    net.clear_gradients()
    out[0, int(out.argmax())].backward()
    weights = kept["grads"].mean(axis=[2, 3], keepdim=True)
    cam = F.relu((weights * kept["features"]).sum(1, keepdim=True))
    cam = (cam - cam.min()) / (cam.max() - cam.min() + 1e-8)
    cam = F.interpolate(cam, size=[8, 8], mode="bilinear", align_corners=True)
    handle.remove()
    saliency = x.grad.abs().max(axis=1)
    return cam, saliency, out


@program
def capsules(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    def squash(v, axis=-1):
        n2 = paddle.sum(paddle.square(v), axis=axis, keepdim=True)
        return n2 / (1 + n2) * v / paddle.sqrt(n2 + 1e-9)

    class Caps(nn.Layer):
        def __init__(self, i=4, o=3, di=2, do=3):
            super().__init__()
            self.w = self.create_parameter([1, o, i, do, di])

        def forward(self, u):
            hat = paddle.matmul(self.w, u[:, None, :, :, None]).squeeze(-1)
            b = paddle.zeros(hat.shape[:3])
            for it in range(3):
                c = F.softmax(b, axis=1)
                s = (c.unsqueeze(-1) * (hat if it == 2 else hat.detach())).sum(2)
                v = squash(s)
                if it < 2:
                    b = b + (hat.detach() * v.unsqueeze(2)).sum(-1)
            return v

    net = static(filled(Caps()))
    u = paddle.to_tensor(numbers(2, 4, 2), stop_gradient=False)
    v = net(u)
    length = paddle.sqrt((v**2).sum(-1) + 1e-9)
    t = F.one_hot(paddle.to_tensor([0, 2]), 3)
    loss = (t * F.relu(0.9 - length) ** 2 + 0.5 * (1 - t) * F.relu(length - 0.1) ** 2).sum(1).mean()
    loss.backward()
    return v, loss, u.grad, net.parameters()[0].grad


@program
def gated_dilated_convolutions(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class WaveNet(nn.Layer):
        def __init__(self, c=4, classes_=6):
            super().__init__()
            self.start = nn.Conv1D(classes_, c, 1)
            self.filters = nn.LayerList([nn.Conv1D(c, 2 * c, 2, dilation=2**k) for k in range(3)])
            self.res, self.skip = (
                nn.LayerList([nn.Conv1D(c, c, 1) for _ in range(3)]),
                nn.LayerList([nn.Conv1D(c, c, 1) for _ in range(3)]),
            )
            self.end = nn.Sequential(nn.ReLU(), nn.Conv1D(c, classes_, 1))

        def forward(self, ids):
            x = self.start(F.one_hot(ids, 6).transpose([0, 2, 1]))
            skips = 0
            for k, (f, r, s) in enumerate(zip(self.filters, self.res, self.skip)):
                y = f(F.pad(x, [2**k, 0], data_format="NCL"))
                a, b = paddle.chunk(y, 2, axis=1)
                y = paddle.tanh(a) * F.sigmoid(b)
                skips = skips + s(y)
                x = x + r(y)
            return self.end(skips)

    net = static(filled(WaveNet()))
    ids = paddle.to_tensor(classes(6, 2, 10))
    out = net(ids)
    loss = F.cross_entropy(out[:, :, :-1], ids[:, 1:], axis=1)
    loss.backward()
    return out, loss, [p.grad for p in net.parameters()]


@program
def generator_of_images(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    init = paddle.ParamAttr(initializer=nn.initializer.Normal(0.0, 0.02))
    G = nn.Sequential(
        nn.Linear(4, 2 * 4 * 4),
        nn.Unflatten(1, [2, 4, 4]),
        nn.Conv2DTranspose(2, 4, 4, stride=2, padding=1, weight_attr=init, bias_attr=False),
        nn.BatchNorm2D(4),
        nn.ReLU(),
        nn.Conv2DTranspose(4, 1, 3, stride=2, padding=1, output_padding=1, weight_attr=init),
        nn.Tanh(),
    )
    D = nn.Sequential(
        nn.Conv2D(1, 4, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2D(4, 1, 4, 2, 1, bias_attr=False),
        nn.AdaptiveAvgPool2D(1),
        nn.Flatten(),
    )
    filled(G), filled(D, 1)
    g, d = static(G), static(D)
    opt_g = paddle.optimizer.Adam(2e-3, beta1=0.5, parameters=G.parameters())
    opt_d = paddle.optimizer.Adam(2e-3, beta1=0.5, parameters=D.parameters())
    bce, log = nn.BCEWithLogitsLoss(), []
    for step in range(2):
        real, z = paddle.to_tensor(numbers(3, 1, 16, 16, seed=step)), paddle.to_tensor(numbers(3, 4, seed=step))
        fake = g(z)
        loss_d = bce(d(real), paddle.ones([3, 1])) + bce(d(fake.detach()), paddle.zeros([3, 1]))
        opt_d.clear_grad()
        loss_d.backward()
        opt_d.step()
        loss_g = F.softplus(-d(fake)).mean()
        opt_g.clear_grad()
        loss_g.backward()
        opt_g.step()
        log += [loss_d, loss_g]
    return log, fake.shape, G[2].weight


@program
def batches_of_images(paddle, static):
    F = paddle.nn.functional

    def augmented(x):
        x = paddle.flip(x, axis=[3])
        x = F.pad(x, [1, 1, 2, 2], mode="reflect")
        x = x[:, :, 1:-1, 2:9]
        x = paddle.roll(x, shifts=[1, -1], axis=[2, 3])
        x = paddle.rot90(x, k=1, axes=[2, 3])
        mean, std = x.mean(axis=(0, 2, 3), keepdim=True), x.std(axis=(0, 2, 3), keepdim=True)
        x = (x - mean) / (std + 1e-5)
        patches = F.unfold(x, kernel_sizes=[3, 3], strides=2, paddings=1)
        back = F.fold(patches, output_sizes=x.shape[2:], kernel_sizes=3, strides=2, paddings=1)
        small = F.interpolate(x, scale_factor=0.5, mode="nearest")
        big = F.interpolate(x, size=(9, 11), mode="bicubic")
        area = F.adaptive_avg_pool2d(x, output_size=[3, None])
        space = F.pixel_unshuffle(x[:, :, :6, :6], 2)
        return (
            patches,
            back,
            small,
            big,
            area,
            F.pixel_shuffle(space, 2),
            F.local_response_norm(x, 3),
            F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
            F.max_pool2d(x, kernel_size=3, stride=2, ceil_mode=True),
        )

    x = paddle.to_tensor(numbers(2, 3, 8, 9), stop_gradient=False)
    parts = static(augmented)(x)
    sum((part * part).sum() for part in parts).backward()
    return parts, x.grad
