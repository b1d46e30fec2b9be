"""Layers changed and chosen inside of static functions."""

from __future__ import annotations

import typing

import d2s
from d2s import nn
from tests.corpus.register import LOG, made


def net():
    d2s.seed(1)
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))


@made
def clears_gradients_inside():
    m = net()
    def f(x, c):
        m(x * c).sum().backward()
        g = m[0].weight.grad.clone()
        m.clear_gradients()
        return g
    return f


@made
def zero_grad_inside_a_branch():
    m = net()
    def f(x, c):
        if c > 0:
            m.zero_grad()
        m(x).sum().backward()
        return m[2].weight.grad.clone()
    return f


@made
def switches_modes_inside():
    m = net()
    def f(x, c):
        if c > 0:
            m.eval()
        else:
            m.train()
        return m(x), m.training, m[0].training
    return f


@made
def freezes_parameters_by_hand():
    m = net()
    def f(x, c):
        for p in m.parameters():
            p.stop_gradient = True
        y = m(x)
        for p in m.parameters():
            p.stop_gradient = False
        return y + m(x)
    return f


@made
def applies_a_function_inside():
    m = net()
    def f(x, c):
        def init(layer):
            if isinstance(layer, nn.Linear):
                with d2s.no_grad():
                    layer.bias.set_value(layer.bias + 1)
        if c > 0:
            m.apply(init)
        return m(x)
    return f


@made
def step_of_an_optimizer_inside():
    m = net()
    opt = d2s.optimizer.SGD(learning_rate=0.1, parameters=m.parameters())
    def f(x, c):
        loss = m(x).sum()
        loss.backward()
        if c > 0:
            opt.step()
        opt.clear_grad()
        return loss.detach(), m[2].bias.clone()
    return f


@made
def state_dict_inside():
    m = net()
    def f(x, c):
        total = 0
        for k, v in m.state_dict().items():
            total = total + (v * v).sum()
        return total, list(m.state_dict())
    return f


@made
def sets_parameter_data():
    m = net()
    def f(x, c):
        with d2s.no_grad():
            m[0].bias[0] = c
        return m(x)
    return f


@made
def register_hook_on_sublayers_inside():
    m = net()
    def f(x, c):
        h = m[0].register_forward_post_hook(lambda layer, i, o: LOG.append("post"))
        y = m(x)
        h.remove()
        return y
    return f


@made
def layerlist_at_index_of_run():
    d2s.seed(3)
    layers = nn.LayerList([nn.Linear(3, 3) for _ in range(3)])
    def f(x, n):
        return layers[n % 3](x)
    return f


@made
def layerlist_moe():
    d2s.seed(3)
    class MoE(nn.Layer):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(3, 4)
            self.experts = nn.LayerList([nn.Linear(3, 3) for _ in range(4)])
        def forward(self, x):
            k = self.gate(x).argmax()
            return self.experts[int(k)](x)
    m = MoE()
    def f(x):
        return m(x)
    return f


@made
def layerlist_loop_by_index():
    d2s.seed(3)
    layers = nn.LayerList([nn.Linear(3, 3) for _ in range(3)])
    def f(x, n):
        for i in range(n):
            x = layers[i % 3](x)
            if x.sum() > 10:
                break
        return x
    return f


@made
def layers_in_python_list():
    d2s.seed(3)
    layers = [nn.Linear(3, 3) for _ in range(3)]
    def f(x, n):
        return layers[n % 3](x)
    return f


@made
def layerdict_by_branch():
    d2s.seed(3)
    layers = nn.LayerDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 2)})
    def f(x, c):
        name = "a" if c > 0 else "b"
        return layers[name](x)
    return f


@made
def early_exit_network():
    d2s.seed(3)
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.blocks = nn.LayerList([nn.Linear(3, 3) for _ in range(4)])
            self.exits = 0
        def forward(self, x, c):
            outs = []
            for i, b in enumerate(self.blocks):
                x = d2s.tanh(b(x))
                outs.append(x)
                if x.sum() > c:
                    self.exits += 1
                    return outs[-1], i
            return d2s.stack(outs), -1
    net = Net()
    def f(x, c):
        return net(x, c), net.exits
    return f


@made
def adaptive_computation():
    d2s.seed(3)
    class ACT(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cell = nn.Linear(3, 3)
            self.halt = nn.Linear(3, 1)
        def forward(self, x, n):
            p = d2s.zeros([1])
            steps = 0
            state = x
            while p.sum() < 1.0 and steps < n:
                state = d2s.tanh(self.cell(state))
                p = p + d2s.nn.functional.sigmoid(self.halt(state))
                steps += 1
            return state, steps
    net = ACT()
    def f(x, n):
        return net(x, n)
    return f


@made
def greedy_decoder():
    d2s.seed(3)
    emb = nn.Embedding(5, 3)
    out = nn.Linear(3, 5)
    def f(x, n):
        tokens = [d2s.to_tensor(0)]
        h = x
        while len(tokens) < n + 1:
            h = d2s.tanh(h + emb(tokens[-1]))
            nxt = out(h).argmax()
            tokens.append(nxt)
            if nxt == 4:
                break
        return d2s.stack(tokens), h
    return f


@made
def namedtuple_loop_state():
    class State(typing.NamedTuple):
        h: typing.Any
        i: int
    def f(x, n):
        s = State(x, 0)
        while s.i < n:
            s = s._replace(h=s.h + s.i, i=s.i + 1)
        return s
    return f
