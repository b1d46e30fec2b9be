"""O: copies, files, casts of what has hooks."""

from __future__ import annotations

import copy
import pickle

from ..register import leaf, plus_one, recorder, situation, val


@situation("O01", ([], [3.0], False, [4.0]))
def deepcopy_of_a_leaf(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, "x", plus_one))
    other = copy.deepcopy(x)
    f(other).backward()
    before = list(log)
    f(x).backward()
    return before, val(other.grad), other.stop_gradient, val(x.grad)


@situation("O02", ([], [[3.0]]))
def deepcopy_of_a_layer(paddle, to_static):
    log = []
    layer = paddle.nn.Linear(1, 1)
    layer.weight.register_hook(recorder(log, "w", plus_one))
    layer.weight._register_backward_hook(lambda: log.append("reduce"))
    other = copy.deepcopy(layer)

    @to_static
    def f(x):
        return other(x)

    f(paddle.to_tensor([[3.0]])).backward()
    return log, val(other.weight.grad)


@situation("O03", (False, [3.0]))
def pickle_of_a_leaf(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(plus_one)
    other = pickle.loads(pickle.dumps(x))
    f(other).backward()
    return other.stop_gradient, val(other.grad)


@situation("O04", ([4.0], True, [8.0]))
def deepcopy_of_an_intermediate(paddle, to_static):
    seen = []

    @to_static
    def f(x):
        y = x * 2
        y.register_hook(plus_one)
        seen.append(y)
        return 3 * y

    x = leaf(paddle, 2.0)
    z = f(x)
    other = copy.deepcopy(seen[0])
    z.backward()
    return val(other), other.is_leaf, val(x.grad)


@situation("O05", ([("w", [[3.0]])], [[4.0]]))
def hooks_survive_set_state_dict(paddle, to_static):
    log = []
    layer, other = paddle.nn.Linear(1, 1), paddle.nn.Linear(1, 1)
    layer.weight.register_hook(recorder(log, "w", plus_one))
    layer.set_state_dict(other.state_dict())

    @to_static
    def f(x):
        return layer(x)

    f(paddle.to_tensor([[3.0]])).backward()
    return log, val(layer.weight.grad)


@situation("O06", (["float64"], "float64", True))
def hooks_survive_a_cast_of_the_layer(paddle, to_static):
    log = []
    layer = paddle.nn.Linear(1, 1)
    weight = layer.weight
    weight.register_hook(lambda g: log.append(str(g.dtype).split(".")[-1]) or g + 1)
    layer.to(dtype="float64")

    @to_static
    def f(x):
        return layer(x)

    f(paddle.to_tensor([[3.0]], dtype="float64")).backward()
    return log, str(weight.grad.dtype).split(".")[-1], layer.weight is weight
