"""Layers that hold others, and layers that users write, in the form of `layer_cases`."""

from __future__ import annotations

import numpy as np

from .layer_cases import floats, one_of, sizes

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def layers_in_containers(r):
    width, by_name = int(r.integers(1, 5)), one_of(r, True, False)

    def make(nn):
        class Net(nn.Layer):
            def __init__(self):
                super().__init__()
                if by_name:
                    self.parts = nn.LayerDict({"first": nn.Linear(3, width), "second": nn.Linear(width, 2)})
                    self.parts["third"] = nn.Tanh()
                else:
                    self.parts = nn.LayerList([nn.Linear(3, width)])
                    self.parts.append(nn.Tanh())
                    self.parts.insert(0, nn.Identity())
                    self.parts.extend([nn.Linear(width, 2)])

            def forward(self, x):
                for part in self.parts.values() if by_name else self.parts:
                    x = part(x)
                return x

        return Net()

    return make, [floats(r, 4, 3)]


@case
def parameters_in_containers(r):
    count, by_name = int(r.integers(1, 4)), one_of(r, True, False)

    def make(nn):
        class Net(nn.Layer):
            def __init__(self):
                super().__init__()
                made = [self.create_parameter([3, 3]) for _ in range(count)]
                if by_name:
                    self.weights = nn.ParameterDict({f"w{place}": weight for place, weight in enumerate(made)})
                else:
                    self.weights = nn.ParameterList(made)
                self.bias = self.create_parameter([3], is_bias=True)

            def forward(self, x):
                for place in range(count):
                    x = x @ self.weights[f"w{place}" if by_name else place] + self.bias
                return x

        return Net()

    return make, [floats(r, 2, 3)]


@case
def cell_of_the_user(r):
    width, reverse = int(r.integers(1, 4)), one_of(r, True, False)

    def make(nn):
        class Cell(nn.RNNCellBase):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(3 + width, width)
                self.scale = self.create_parameter([width])

            @property
            def state_shape(self):
                return (width,)

            def forward(self, inputs, states=None):
                if states is None:
                    states = self.get_initial_states(inputs, self.state_shape)
                new = nn.functional.tanh(inputs @ self.inner.weight[:3] + states * self.scale + self.inner.bias)
                return new, new

        return nn.RNN(Cell(), is_reverse=reverse)

    return make, [floats(r, 2, int(r.integers(1, 5)), 3)]


@case
def dropouts_that_drop_nothing(r):
    p, evaluation = one_of(r, (0.3, True), (0.0, False))
    mode = one_of(r, "upscale_in_train", "downscale_in_infer")

    def make(nn):
        kinds = (lambda: nn.Dropout(p, mode=mode), lambda: nn.Dropout2D(p), lambda: nn.AlphaDropout(p))
        layers = nn.Sequential(*(kind() for kind in kinds), nn.Tanh())
        if evaluation:
            layers.eval()
        return layers

    return make, [floats(r, *sizes(r, 4, 1, 4))]


@case
def layers_by_hand(r):
    """What a layer is given by hand: parameters, buffers, hooks around `forward`."""
    shift = np.float64(r.uniform(-1, 1))

    def make(nn):
        class Block(nn.Layer):
            def __init__(self):
                super().__init__()
                self.scale = self.create_parameter([4], default_initializer=nn.initializer.Constant(2.0))
                self.add_sublayer("fc", nn.Linear(4, 4, bias_attr=nn.initializer.Constant(0.5)))
                self.add_parameter("gain", self.create_parameter([1]))
                self.register_buffer("shift", self.scale.detach() * float(shift))
                self.fc.register_forward_post_hook(lambda layer, inputs, output: output * self.gain)
                self.fc.register_forward_pre_hook(lambda layer, inputs: inputs[0] + self.shift)

            def forward(self, x):
                return self.fc(x) * self.scale

        return Block()

    return make, [floats(r, 3, 4)]
