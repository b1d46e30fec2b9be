"""Two networks, sampled numbers, gradients of gradients: GAN, penalties, VAE, flows, mixtures, energies."""

from __future__ import annotations

import numpy as np

from .register import classes, filled, numbers, program


@program
def gan(paddle, static):
    nn = paddle.nn

    class Generator(nn.Layer):
        def __init__(self):
            super().__init__()
            self.gen = nn.Sequential(
                nn.Conv2DTranspose(6, 8, 3, 1, 0, bias_attr=False), nn.BatchNorm2D(8), nn.ReLU(True),
                nn.Conv2DTranspose(8, 1, 4, 2, 1, bias_attr=False), nn.Tanh())

        def forward(self, x):
            return self.gen(x)

    class Discriminator(nn.Layer):
        def __init__(self):
            super().__init__()
            self.dis = nn.Sequential(
                nn.Conv2D(1, 4, 4, 2, 1, bias_attr=False), nn.LeakyReLU(0.2), nn.Conv2D(4, 1, 3, 1, 0), nn.Sigmoid())

        def forward(self, x):
            return self.dis(x)

    netG, netD = static(filled(Generator())), static(filled(Discriminator(), 1))
    loss = nn.BCELoss()
    optimizerD = paddle.optimizer.Adam(parameters=netD.parameters(), learning_rate=0.002, beta1=0.5, beta2=0.999)
    optimizerG = paddle.optimizer.Adam(parameters=netG.parameters(), learning_rate=0.002, beta1=0.5, beta2=0.999)
    real_label = paddle.full((4, 1, 1, 1), 1, dtype="float32")
    fake_label = paddle.full((4, 1, 1, 1), 0, dtype="float32")
    seen = []
    for turn in range(2):
        optimizerD.clear_grad()
        errD_real = loss(netD(paddle.to_tensor(numbers(4, 1, 6, 6, seed=turn))), real_label)
        errD_real.backward()
        noise = paddle.to_tensor(numbers(4, 6, 1, 1, seed=turn))
        fake = netG(noise)
        errD_fake = loss(netD(fake.detach()), fake_label)
        errD_fake.backward()
        optimizerD.step()
        optimizerG.clear_grad()
        errG = loss(netD(fake), real_label)
        errG.backward()
        optimizerG.step()
        seen.append([errD_real + errD_fake, errG, fake.mean()])
    return seen


@program
def gradient_penalty(paddle, static):
    nn = paddle.nn
    critic = static(filled(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))))
    opt = paddle.optimizer.RMSProp(0.01, parameters=critic.parameters())
    losses = []
    for turn in range(3):
        real, fake = paddle.to_tensor(numbers(5, 3, seed=turn)), paddle.to_tensor(numbers(5, 3, seed=turn + 9))
        alpha = paddle.to_tensor(np.linspace(0, 1, 5, dtype="float32").reshape(5, 1))
        interpolates = alpha * real + (1 - alpha) * fake
        interpolates.stop_gradient = False
        pred = critic(interpolates)
        gradients = paddle.grad(outputs=pred, inputs=interpolates, grad_outputs=paddle.ones_like(pred),
                                create_graph=True, retain_graph=True, only_inputs=True)[0]
        gradients = paddle.reshape(gradients, [gradients.shape[0], -1])
        norms = paddle.norm(gradients, 2, 1)
        penalty = ((norms - 1) ** 2).mean() * 10
        loss = critic(fake).mean() - critic(real).mean() + penalty
        opt.clear_grad()
        loss.backward()
        opt.step()
        losses.append([loss, penalty])
    return losses


@program
def variational_autoencoder(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class VAE(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(9, 8), nn.Linear(8, 3), nn.Linear(8, 3)
            self.fc3, self.fc4 = nn.Linear(3, 8), nn.Linear(8, 9)

        def encode(self, x):
            h1 = F.relu(self.fc1(x))
            return self.fc21(h1), self.fc22(h1)

        def reparameterize(self, mu, logvar, eps):
            return mu + eps * paddle.exp(0.5 * logvar)

        def decode(self, z):
            return F.sigmoid(self.fc4(F.relu(self.fc3(z))))

        def forward(self, x, eps):
            mu, logvar = self.encode(x.reshape([-1, 9]))
            return self.decode(self.reparameterize(mu, logvar, eps)), mu, logvar

    def loss_function(recon_x, x, mu, logvar):
        BCE = F.binary_cross_entropy(recon_x, x.reshape([-1, 9]), reduction="sum")
        return BCE - 0.5 * paddle.sum(1 + logvar - mu.pow(2) - logvar.exp())

    model = static(filled(VAE()))
    optimizer = paddle.optimizer.Adam(learning_rate=1e-2, parameters=model.parameters())
    x = paddle.to_tensor((numbers(4, 1, 3, 3) > 0).astype("float32"))
    losses = []
    for turn in range(3):
        recon, mu, logvar = model(x, paddle.to_tensor(numbers(4, 3, seed=turn)))
        loss = loss_function(recon, x, mu, logvar)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses, recon


@program
def convolutional_autoencoder(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Encoder(nn.Layer):
        def __init__(self, num_channels, num_filters):
            super().__init__()
            self.conv1 = nn.Conv2D(num_channels, num_filters, 3, stride=2, padding=1)
            self.bn1 = nn.BatchNorm(num_filters)

        def forward(self, inputs):
            return F.relu(self.bn1(self.conv1(inputs)))

    class Decoder(nn.Layer):
        def __init__(self, num_channels, num_filters):
            super().__init__()
            self.up = nn.Upsample(scale_factor=2.0)
            self.conv1 = nn.Conv2DTranspose(num_channels, num_filters, 3, padding=1)
            self.bn1 = nn.BatchNorm(num_filters)

        def forward(self, inputs):
            return F.sigmoid(self.bn1(self.conv1(self.up(inputs))))

    class AutoEncoder(nn.Layer):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = Encoder(3, 6), Decoder(6, 3)

        def forward(self, inputs):
            return self.decoder(self.encoder(inputs))

    model = static(filled(AutoEncoder()))
    opt = paddle.optimizer.Adagrad(0.05, parameters=model.parameters(), initial_accumulator_value=0.1)
    x = paddle.to_tensor(np.abs(numbers(2, 3, 8, 8)))
    losses = []
    for _ in range(3):
        loss = F.mse_loss(model(x), x)
        loss.backward()
        opt.minimize(loss)
        opt.clear_grad()
        losses.append(loss)
    return losses


@program
def coupling_flow(paddle, static):
    nn = paddle.nn

    class Coupling(nn.Layer):
        def __init__(self, mask):
            super().__init__()
            self.register_buffer("mask", paddle.to_tensor(mask))
            self.s = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2), nn.Tanh())
            self.t = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2))

        def forward(self, x):
            fixed = x * self.mask
            s, t = self.s(fixed) * (1 - self.mask), self.t(fixed) * (1 - self.mask)
            return fixed + (1 - self.mask) * (x * paddle.exp(s) + t), s.sum(-1)

    class Flow(nn.Layer):
        def __init__(self):
            super().__init__()
            self.parts = nn.LayerList([Coupling(np.array(m, "float32")) for m in ([1, 0], [0, 1], [1, 0])])

        def log_prob(self, x):
            total = paddle.zeros([x.shape[0]])
            for part in self.parts:
                x, log_det = part(x)
                total = total + log_det
            return total - 0.5 * (x ** 2 + np.log(2 * np.pi)).sum(-1)

        def forward(self, x):
            return -self.log_prob(x).mean()

    model = static(filled(Flow()))
    opt = paddle.optimizer.Adamax(0.02, parameters=model.parameters())
    losses = []
    for _ in range(3):
        loss = model(paddle.to_tensor(numbers(6, 2)))
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss)
    return losses, sorted(model.state_dict())[:2]


@program
def mixture_density(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    net = filled(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 9)))

    @static
    def nll(x, y):
        logits, mu, log_sigma = paddle.split(net(x), 3, axis=-1)
        z = (y - mu) / log_sigma.exp()
        log_p = -0.5 * z.square() - log_sigma - 0.9189385
        return -paddle.logsumexp(F.log_softmax(logits, axis=-1) + log_p, axis=-1).mean()

    opt = paddle.optimizer.Lamb(0.01, parameters=net.parameters(), lamb_weight_decay=0.01)
    x, y = paddle.to_tensor(numbers(7, 1)), paddle.to_tensor(numbers(7, 1, seed=3))
    losses = []
    for _ in range(3):
        loss = nll(x, y)
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss)
    return losses


@program
def second_order(paddle, static):
    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    x = paddle.to_tensor([0.5, -0.5, 1.2], dtype="float64", stop_gradient=False)
    f = static(rosenbrock)
    y = f(x)
    dx = paddle.grad(y, x, create_graph=True)[0]
    rows = [paddle.grad(dx[i], x, retain_graph=True)[0] for i in range(3)]
    hessian = paddle.stack(rows)
    step = paddle.linalg.solve(hessian, dx.detach().unsqueeze(-1)).squeeze(-1)
    full = paddle.autograd.hessian(rosenbrock(x), x)
    jacobian = paddle.autograd.jacobian(paddle.sin(x) * x[0], x)
    return y, dx, hessian, step, full[:], jacobian[:]


@program
def physics_informed(paddle, static):
    nn = paddle.nn
    net = static(filled(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))))
    opt = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    losses = []
    for turn in range(2):
        xt = paddle.to_tensor(numbers(6, 2, seed=turn), stop_gradient=False)
        u = net(xt)
        du = paddle.grad(u, xt, create_graph=True)[0]
        u_x, u_t = du[:, 0:1], du[:, 1:2]
        u_xx = paddle.grad(u_x, xt, create_graph=True)[0][:, 0:1]
        residual = u_t + u * u_x - 0.01 * u_xx
        loss = (residual ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss)
    return losses


@program
def custom_functions(paddle, static):
    class cus_tanh(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, func1, func2=paddle.square):
            ctx.func = func2
            y = func1(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            (y,) = ctx.saved_tensor()
            return dy * (1 - ctx.func(y))

    class Reversed(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x * 1.0

        @staticmethod
        def backward(ctx, grad):
            return -ctx.strength * grad

    def f(data):
        z = cus_tanh.apply(data, func1=paddle.tanh)
        return (Reversed.apply(z, 0.5) * z).mean()

    data = paddle.to_tensor(numbers(2, 3), stop_gradient=False)
    loss = static(f)(data)
    loss.backward()
    return loss, data.grad


@program
def domain_adaptation(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional
    features, label, domain = (filled(nn.Linear(*size), i) for i, size in enumerate(((4, 6), (6, 3), (6, 2))))

    def losses_of(x, y, d):
        h = F.relu(features(x))
        reverse = h * 1.0
        reverse.register_hook(lambda g: -0.3 * g)
        return F.cross_entropy(label(h), y), F.cross_entropy(domain(reverse), d)

    step = static(losses_of) if paddle.__name__ == "d2s" else losses_of
    one, two = step(paddle.to_tensor(numbers(5, 4)), paddle.to_tensor(classes(3, 5)), paddle.to_tensor(classes(2, 5)))
    (one + two).backward()
    return one, two, features.weight.grad, domain.weight.grad
