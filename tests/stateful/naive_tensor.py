"""The naive tape behind the surface of a Tensor, so that the same functions run on it."""

from __future__ import annotations

import numpy as np

from d2s.errors import LeafError
from tests.eager.naive import NaiveTape


class NaiveTensor:
    """A pair of numbers on a `NaiveTape`."""

    def __init__(self, tape, box):
        self.tape = tape
        self.box = box

    @property
    def stop_gradient(self):
        return not self.box.node.requires

    @property
    def is_leaf(self):
        return self.box.node.is_leaf

    @property
    def grad(self):
        return self.box.node.grad

    def numpy(self):
        return self.box.node.data

    def sum(self):
        """A plain number: for tests only."""
        return self.box.node.data.sum()

    def _node(self, name, other):
        box = other.box if isinstance(other, NaiveTensor) else self.tape.leaf([other, other], False)
        return self.tape.op(name, self.box, box)

    def _op(self, name, other):
        box = self.tape.leaf([0, 0], False)
        box.node = self._node(name, other)
        return NaiveTensor(self.tape, box)

    def __add__(self, other):
        return self._op("add", other)

    def __sub__(self, other):
        return self._op("sub", other)

    def __mul__(self, other):
        return self._op("mul", other)

    def _write(self, node):
        if self.box.node.requires and self.is_leaf and self.tape.records:
            raise LeafError("a leaf has been written")
        self.tape.write(self.box, node, recorded=self.tape.records and node.requires)

    def add_(self, other):
        self._write(self._node("add", other))

    def subtract_(self, other):
        self._write(self._node("sub", other))

    def multiply_(self, other):
        self._write(self._node("mul", other))

    def __getitem__(self, index):
        assert index == 1
        return self

    def __setitem__(self, index, element):
        assert index == 0
        self._write(self.tape.set_item(self.box, element.box))

    def register_hook(self, hook):
        if self.stop_gradient:
            raise RuntimeError("no gradient")
        return NaiveHandle(*self.tape.add_hook(self.box, hook))


class NaiveHandle:
    """Removes the hook with this number."""

    def __init__(self, hooks, number):
        self.hooks = hooks
        self.number = number

    def remove(self):
        return self.hooks.pop(self.number, None) is not None


class RecordingTape(NaiveTape):
    """A naive tape with a grad mode."""

    def __init__(self):
        super().__init__()
        self.records = True

    def tensor(self, data, requires):
        return NaiveTensor(self, self.leaf(data, requires))

    def backward(self, tensor, retain):
        self.walk(tensor.box.node, np.ones(2), retain)

    def grad(self, tensor, wanted):
        node = wanted.box.node
        return self.walk(tensor.box.node, np.ones(2), True, {node}).get(node)
