"""Images: LeNet, residual networks, segmentation, patches, super-resolution, style."""

from __future__ import annotations

from .register import classes, filled, numbers, program


@program
def lenet_with_accuracy(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class LeNet(nn.Layer):
        def __init__(self, num_classes=10):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2D(1, 6, 3, stride=1, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2),
                nn.Conv2D(6, 16, 5, stride=1, padding=0), nn.ReLU(), nn.MaxPool2D(2, 2))
            self.fc = nn.Sequential(nn.Linear(144, 32), nn.Linear(32, 20), nn.Linear(20, num_classes))

        def forward(self, inputs):
            x = self.features(inputs)
            x = paddle.flatten(x, 1)
            return self.fc(x)

    model = static(filled(LeNet()))
    optim = paddle.optimizer.Adam(learning_rate=0.001, parameters=model.parameters())
    images, labels = numbers(12, 1, 20, 20), classes(10, 12, 1)
    seen = []
    model.train()
    for epoch in range(2):
        for begin in range(0, 12, 4):
            x_data = paddle.to_tensor(images[begin : begin + 4])
            y_data = paddle.to_tensor(labels[begin : begin + 4])
            predicts = model(x_data)
            loss = F.cross_entropy(predicts, y_data)
            acc = paddle.metric.accuracy(predicts, y_data)
            loss.backward()
            seen.append([epoch, loss.item(), acc.numpy()])
            optim.step()
            optim.clear_grad()
    model.eval()
    with paddle.no_grad():
        return seen, F.softmax(model(paddle.to_tensor(images)), axis=-1)


@program
def residual_blocks(paddle, static):
    nn = paddle.nn

    class BasicBlock(nn.Layer):
        expansion = 1

        def __init__(self, inplanes, planes, stride=1, downsample=None, norm_layer=None):
            super().__init__()
            norm_layer = norm_layer or nn.BatchNorm2D
            self.conv1 = nn.Conv2D(inplanes, planes, 3, padding=1, stride=stride, bias_attr=False)
            self.bn1 = norm_layer(planes)
            self.relu = nn.ReLU()
            self.conv2 = nn.Conv2D(planes, planes, 3, padding=1, bias_attr=False)
            self.bn2 = norm_layer(planes)
            self.downsample = downsample

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    class ResNet(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inplanes = 4
            self.conv1 = nn.Conv2D(3, 4, kernel_size=3, stride=1, padding=1, bias_attr=False)
            self.bn1 = nn.BatchNorm2D(4)
            self.relu = nn.ReLU()
            self.maxpool = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
            self.layer1 = self._make_layer(BasicBlock, 4, 1)
            self.layer2 = self._make_layer(BasicBlock, 8, 2, stride=2)
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
            self.fc = nn.Linear(8 * BasicBlock.expansion, 5)

        def _make_layer(self, block, planes, blocks, stride=1):
            downsample = None
            if stride != 1 or self.inplanes != planes * block.expansion:
                downsample = nn.Sequential(
                    nn.Conv2D(self.inplanes, planes * block.expansion, 1, stride=stride, bias_attr=False),
                    nn.BatchNorm2D(planes * block.expansion))
            layers = [block(self.inplanes, planes, stride, downsample)]
            self.inplanes = planes * block.expansion
            for _ in range(1, blocks):
                layers.append(block(self.inplanes, planes))
            return nn.Sequential(*layers)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer2(self.layer1(x))
            x = paddle.flatten(self.avgpool(x), 1)
            return self.fc(x)

    model = static(filled(ResNet()))
    scheduler = paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=0.1, T_max=3)
    optimizer = paddle.optimizer.Momentum(
        learning_rate=scheduler, momentum=0.9, parameters=model.parameters(),
        weight_decay=paddle.regularizer.L2Decay(1e-4))
    criterion = nn.CrossEntropyLoss()
    x, y = paddle.to_tensor(numbers(4, 3, 12, 12)), paddle.to_tensor(classes(5, 4))
    losses = []
    for _ in range(3):
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        scheduler.step()
        losses.append([float(loss), optimizer.get_lr()])
    model.eval()
    return losses, model(x), model.bn1._mean, model.bn1._variance, sorted(model.state_dict().keys())


@program
def u_net(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Down(nn.Layer):
        def __init__(self, i, o):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2D(i, o, 3, padding="same"), nn.BatchNorm2D(o), nn.ReLU())

        def forward(self, x):
            return self.conv(x)

    class Net(nn.Layer):
        def __init__(self, num_classes):
            super().__init__()
            self.downs = nn.LayerList([Down(3, 4), Down(4, 6)])
            self.pool = nn.MaxPool2D(2, 2, return_mask=False)
            self.bottom = Down(6, 8)
            self.ups = nn.LayerList([nn.Conv2DTranspose(8, 6, 2, stride=2), nn.Conv2DTranspose(6, 4, 2, stride=2)])
            self.convs = nn.LayerList([Down(12, 6), Down(8, 4)])
            self.head = nn.Conv2D(4, num_classes, 1)

        def forward(self, x):
            skips = []
            for down in self.downs:
                x = down(x)
                skips.append(x)
                x = self.pool(x)
            x = self.bottom(x)
            for up, conv, skip in zip(self.ups, self.convs, reversed(skips)):
                x = conv(paddle.concat([up(x), skip], axis=1))
            return self.head(x)

    model = static(filled(Net(4)))
    optimizer = paddle.optimizer.RMSProp(learning_rate=0.001, parameters=model.parameters(), centered=True)
    x, y = paddle.to_tensor(numbers(2, 3, 8, 8)), paddle.to_tensor(classes(4, 2, 1, 8, 8))
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(model(x), y, axis=1)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss)
    return losses, paddle.argmax(model(x), axis=1, keepdim=True).shape


@program
def super_resolution(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class SubPixel(nn.Layer):
        def __init__(self, upscale_factor):
            super().__init__()
            self.conv1 = nn.Conv2D(1, 8, 5, stride=1, padding=2)
            self.conv2 = nn.Conv2D(8, 4, 3, stride=1, padding=1)
            self.conv3 = nn.Conv2D(4, upscale_factor ** 2, 3, stride=1, padding=1)
            self.shuffle = nn.PixelShuffle(upscale_factor)

        def forward(self, x):
            x = F.tanh(self.conv1(x))
            x = F.leaky_relu(self.conv2(x), negative_slope=0.1)
            return self.shuffle(self.conv3(x))

    model = static(filled(SubPixel(3)))
    x = paddle.to_tensor(numbers(2, 1, 5, 4))
    target = F.interpolate(x, scale_factor=3, mode="bicubic", align_corners=False)
    optimizer = paddle.optimizer.AdamW(0.01, parameters=model.parameters(), weight_decay=0.02)
    for _ in range(3):
        loss = F.smooth_l1_loss(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    psnr = 10 * paddle.log10(1.0 / F.mse_loss(model(x), target))
    return loss, psnr, target


@program
def vision_transformer(paddle, static):
    nn = paddle.nn

    class PatchEmbed(nn.Layer):
        def __init__(self, img_size=8, patch_size=4, in_chans=3, embed_dim=8):
            super().__init__()
            self.num_patches = (img_size // patch_size) ** 2
            self.proj = nn.Conv2D(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

        def forward(self, x):
            B, C, H, W = x.shape
            return self.proj(x).flatten(2).transpose([0, 2, 1])

    class Attention(nn.Layer):
        def __init__(self, dim, num_heads=2, qkv_bias=True):
            super().__init__()
            self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
            self.qkv = nn.Linear(dim, dim * 3, bias_attr=qkv_bias)
            self.proj = nn.Linear(dim, dim)

        def forward(self, x):
            N, C = x.shape[1:]
            qkv = self.qkv(x).reshape((-1, N, 3, self.num_heads, C // self.num_heads)).transpose((2, 0, 3, 1, 4))
            q, k, v = qkv[0], qkv[1], qkv[2]
            attn = q.matmul(k.transpose((0, 1, 3, 2))) * self.scale
            attn = nn.functional.softmax(attn, axis=-1)
            x = (attn.matmul(v)).transpose((0, 2, 1, 3)).reshape((-1, N, C))
            return self.proj(x)

    class Block(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.norm1, self.attn = nn.LayerNorm(dim, epsilon=1e-6), Attention(dim)
            self.norm2 = nn.LayerNorm(dim, epsilon=1e-6)
            self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(0.0), nn.Linear(2 * dim, dim))

        def forward(self, x):
            x = x + self.attn(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class VisionTransformer(nn.Layer):
        def __init__(self, embed_dim=8, depth=2, class_dim=3):
            super().__init__()
            self.patch_embed = PatchEmbed(embed_dim=embed_dim)
            zeros_ = nn.initializer.Constant(value=0.0)
            self.pos_embed = self.create_parameter(
                shape=(1, self.patch_embed.num_patches + 1, embed_dim), default_initializer=zeros_)
            self.add_parameter("pos_embed", self.pos_embed)
            self.cls_token = self.create_parameter(shape=(1, 1, embed_dim), default_initializer=zeros_)
            self.add_parameter("cls_token", self.cls_token)
            self.blocks = nn.LayerList([Block(embed_dim) for _ in range(depth)])
            self.norm = nn.LayerNorm(embed_dim)
            self.head = nn.Linear(embed_dim, class_dim) if class_dim > 0 else nn.Identity()

        def forward(self, x):
            B = x.shape[0]
            x = self.patch_embed(x)
            cls_tokens = self.cls_token.expand((B, -1, -1))
            x = paddle.concat((cls_tokens, x), axis=1)
            x = x + self.pos_embed
            for blk in self.blocks:
                x = blk(x)
            return self.head(self.norm(x)[:, 0])

    model = static(filled(VisionTransformer()))
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    optimizer = paddle.optimizer.AdamW(
        learning_rate=0.01, parameters=model.parameters(), weight_decay=0.05, grad_clip=clip,
        apply_decay_param_fun=lambda name: "w_0" in name)
    x, y = paddle.to_tensor(numbers(4, 3, 8, 8)), paddle.to_tensor(classes(3, 4))
    losses = []
    for _ in range(3):
        loss = paddle.nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss)
    return losses


@program
def style_of_an_image(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    extractor = filled(nn.Sequential(nn.Conv2D(3, 4, 3), nn.ReLU(), nn.AvgPool2D(2), nn.Conv2D(4, 6, 3)))
    for parameter in extractor.parameters():
        parameter.stop_gradient = True

    def gram_matrix(tensor):
        n, c, h, w = tensor.shape
        tensor = tensor.reshape([n * c, h * w])
        return paddle.matmul(tensor, tensor, transpose_y=True) / (c * h * w)

    style = gram_matrix(extractor(paddle.to_tensor(numbers(1, 3, 12, 12, seed=1))))
    image = paddle.create_parameter([1, 3, 12, 12], "float32")
    image.set_value(numbers(1, 3, 12, 12, seed=2))
    optimizer = paddle.optimizer.Adam(0.05, parameters=[image])

    @static
    def loss_of(image):
        variation = paddle.mean(paddle.abs(image[:, :, 1:, :] - image[:, :, :-1, :]))
        return F.mse_loss(gram_matrix(extractor(image)), style) * 100 + 0.1 * variation

    losses = []
    for _ in range(4):
        loss = loss_of(image)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.numpy().item())
    return losses, image


@program
def features_by_hooks(paddle, static):
    nn = paddle.nn
    net = filled(nn.Sequential(("conv", nn.Conv2D(1, 4, 3)), ("norm", nn.GroupNorm(2, 4)), ("act", nn.Swish()),
                               ("pool", nn.AdaptiveMaxPool2D(1)), ("flat", nn.Flatten()), ("fc", nn.Linear(4, 3))))
    features, gradients = {}, {}

    def keep(name):
        def hook(layer, inputs, output):
            features[name] = output
            output.register_hook(lambda grad: gradients.update({name: grad.numpy()}))
        return hook

    handles = [layer.register_forward_post_hook(keep(name)) for name, layer in net.named_children()]
    model = static(net)
    x = paddle.to_tensor(numbers(2, 1, 6, 6), stop_gradient=False)
    scores = model(x)
    scores[:, 1].sum().backward()
    cam = (features["act"].numpy() * gradients["act"].mean((2, 3), keepdims=True)).sum(1)
    for handle in handles:
        handle.remove()
    features.clear()
    model(x)
    return scores, cam, sorted(gradients), len(features), x.grad
