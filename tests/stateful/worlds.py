"""The three worlds in which the machine does the same."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np

import d2s
from d2s import GradientError
from tests.eager.naive import NaiveError

from .functions import functions
from .naive_tensor import NaiveTensor, RecordingTape


class World:
    """Names, handles and a log, and the functions as they are in this world."""

    def __init__(self, convert=lambda function: function):
        self.names = []
        self.handles = []
        self.log = []
        self.functions = [convert(function) for function in functions(self.record, self.no_grad, self.tensor)]

    def record(self, name, change=lambda g: None):
        log = self.log

        def hook(g):
            log.append((f"{name} {self.finished()}", g.tolist()))
            return change(g)

        return hook

    def finished(self):
        """Which names are leaves that have a gradient by now."""
        return [place for place, tensor in enumerate(self.names) if tensor.is_leaf and tensor.grad is not None]

    def pick(self, place):
        return self.names[place % len(self.names)]

    def attempt(self, action):
        """What `action` gives on this world, or the kind of error it raises."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                return "gives", action(self)
            except (GradientError, NaiveError):
                return "raises", "gradient"
            except (ValueError, KeyError) as error:
                return "raises", type(error).__name__
            except d2s.D2SError as error:
                return "raises", "RuntimeError" if isinstance(error, d2s.HookError) else repr(error)
            except RuntimeError:
                return "raises", "RuntimeError"


class D2S(World):
    """Tensors of d2s."""

    def tensor(self, data, requires):
        return d2s.to_tensor(list(data), dtype="float64", stop_gradient=not requires)

    def numbers(self, c, n, as_tensors):
        return (d2s.to_tensor(c, dtype="float64"), d2s.to_tensor(n)) if as_tensors else (c, n)

    def backward(self, tensor, retain):
        tensor.backward(d2s.ones([2], "float64"), retain_graph=retain)

    def grad(self, tensor, wanted):
        found = d2s.grad(tensor, [wanted], d2s.ones([2], "float64"), retain_graph=True, allow_unused=True)[0]
        return None if found is None else found.numpy()

    def clear(self, tensor):
        tensor.clear_gradient(False)

    no_grad = staticmethod(d2s.no_grad)


class Naive(World):
    """Tensors of the naive tape."""

    def __init__(self):
        self.tape = RecordingTape()
        self.tensor = self.tape.tensor
        super().__init__()
        self.backward = self.tape.backward
        self.grad = self.tape.grad

    def numbers(self, c, n, as_tensors):
        return c, n

    def clear(self, tensor):
        tensor.box.node.grad = None

    @contextlib.contextmanager
    def no_grad(self):
        self.tape.records = False
        try:
            yield
        finally:
            self.tape.records = True


def is_tensor(value):
    return isinstance(value, d2s.Tensor | NaiveTensor)


def state_of(world):
    """What can be seen of the names: values, flags, gradients of leaves, and which are one object."""
    first = {}
    seen = []
    for place, tensor in enumerate(world.names):
        grad = tensor.grad if tensor.is_leaf else None
        seen.append((
            first.setdefault(id(tensor), place), tensor.stop_gradient, tensor.is_leaf, np.array(tensor.numpy()),
            None if grad is None else np.array(grad.numpy() if is_tensor(grad) else grad),
        ))
    return seen
