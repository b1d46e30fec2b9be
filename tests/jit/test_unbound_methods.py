"""Methods of `Tensor` taken from the class: in traced code they are the bound ones."""

from __future__ import annotations

import functools
import operator

import pytest

import d2s as paddle
from d2s.jit import to_static

Tensor = paddle.Tensor
LOG = []


def plus_one(g):
    LOG.append(g.tolist())
    return g + 1


def squared(g):
    LOG.append(g.tolist())
    return g * g


class Holder:
    register = Tensor.register_hook


def from_the_class(x, y):
    Tensor.register_hook(y, plus_one)
    type(y).register_hook(x, squared)
    return y * y


def by_keywords(x, y):
    Tensor.register_hook(self=y, hook=plus_one).remove()
    Tensor.register_hook(y, hook=squared)
    return y * y


def by_map_and_partial(x, y):
    list(map(Tensor.register_hook, [y, x], [plus_one, squared]))
    functools.partial(Tensor.register_hook, y)(squared)
    functools.partial(Tensor.register_hook, hook=plus_one)(y)
    return y * y


def held_by_another_class(x, y):
    Holder.register(y, plus_one)
    operator.methodcaller("register_hook", squared)(y)
    operator.attrgetter("register_hook")(y)(plus_one)
    return y * y


def by_getattribute(x, y):
    y.__getattribute__("register_hook")(plus_one)
    Tensor.__getattribute__(y, "register_hook")(squared)
    object.__getattribute__(y, "register_hook")(plus_one)
    return y * y


def reduce_hooks(x, y):
    Tensor._register_backward_hook(x, lambda: LOG.append(("reduced", x.grad.tolist())))
    return y * y


def retained(x, y):
    Tensor.retain_grads(y)
    z = Tensor.sum(y * y)
    Tensor.backward(z)
    return y.grad, z.detach()


def values(x, y):
    return (
        Tensor.numpy(y).sum() + 0.0, Tensor.item(y), Tensor.tolist(y), Tensor.__len__(y), Tensor.__float__(y),
        Tensor.__bool__(y), Tensor.__repr__(y), Tensor.__str__(y), y.__bool__(), y.__float__(),
        y.__getattribute__("tolist")(), Tensor.__int__(y), next(Tensor.__iter__(y)),
    )


def results(x, y):
    z = Tensor.__mul__(y, 3) + Tensor.__rsub__(y, 1) + Tensor.add(y, x)
    return Tensor.astype(Tensor.exp(z), "float64"), Tensor.detach(z), Tensor.__getitem__(z, 0), Tensor.clone(y)


def properties(x, y):
    Tensor.stop_gradient.fset(y, True)
    return x * y, Tensor.shape.fget(y), Tensor.stop_gradient.fget(y), Tensor.T.fget(x)


def keys(x, y):
    return max([x, y], key=Tensor.item) * x, list(map(Tensor.item, [x, y]))


def cleared(x, y):
    (x * x).sum().backward()
    Tensor.clear_grad(x)
    return y * y


def other_objects(x, y):
    Tensor.register_hook(3, plus_one)


def plain(thing):
    if isinstance(thing, tuple | list):
        return [plain(part) for part in thing]
    return (thing.tolist(), thing.stop_gradient) if isinstance(thing, Tensor) else thing


def observed(function):
    LOG.clear()
    found = []
    for value in (1.0, -3.0):
        x = paddle.to_tensor([value], stop_gradient=False)
        try:
            result = function(x, x * 2)
        except AttributeError as error:
            found.append(str(error))
            continue
        found.append(plain(result))
        first = result[0] if isinstance(result, tuple) else result
        if isinstance(first, Tensor) and not first.stop_gradient:
            first.sum().backward()
        found += [plain(x.grad), list(LOG)]
    return found


FUNCTIONS = (
    from_the_class, by_keywords, by_map_and_partial, held_by_another_class, by_getattribute, reduce_hooks, retained,
    values, results, properties, keys, cleared, other_objects,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_static_is_as_eager(function):
    def inside(x, y):
        # What `function` gets is a tensor of the run.
        return function(x, y * 1)

    assert observed(to_static(inside)) == observed(inside)
    assert observed(to_static(function)) == observed(function)
