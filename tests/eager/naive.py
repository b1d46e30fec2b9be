"""A second tape, as plain as can be: the whole graph in one list, searched at every step.  For comparison only."""

from __future__ import annotations

import itertools

import numpy as np


class NaiveError(Exception):
    """The graph was used up, or a value it reads has been written."""


class Node:
    """One version of a value.

    `inputs` holds (node, rule) pairs, a leaf has none; `reads` holds (box, version, whether it is the first operand).
    """

    def __init__(self, tape, data, requires, inputs=(), reads=()):
        self.tape = tape
        self.data = np.asarray(data, "float64")
        self.requires = requires
        self.inputs = inputs if requires else ()
        self.reads = reads
        self.hooks = {}
        self.grad = None
        self.released = False
        tape.nodes.append(self)

    @property
    def is_leaf(self):
        return not self.inputs


class Box:
    """What a name refers to: a node, and how often it has been written in place."""

    def __init__(self, node):
        self.node = node
        self.version = 0


class NaiveTape:
    """Hooks, leaves, versions and order as the contract says, each by brute force."""

    def __init__(self):
        self.nodes = []
        self.log = []
        self._ids = itertools.count()

    def leaf(self, data, requires):
        return Box(Node(self, data, requires))

    @np.errstate(all="ignore")
    def op(self, name, a, b):
        """The node of ``a + b``, ``a - b`` or ``a * b``."""
        x, y = a.node, b.node
        requires = x.requires or y.requires
        inputs, reads = [], []
        pairs = ((x, y, b, 1, False), (y, x, a, -1 if name == "sub" else 1, True))
        for node, other, box, sign, is_first in pairs:
            if node.requires:
                if name == "mul":
                    data = other.data
                    inputs.append((node, lambda g, data=data: g * data))
                    reads.append((box, box.version, is_first))
                else:
                    inputs.append((node, lambda g, sign=sign: sign * g))
        data = {"add": x.data + y.data, "sub": x.data - y.data, "mul": x.data * y.data}[name]
        return Node(self, data, requires, tuple(inputs), tuple(reads))

    def set_item(self, a, b):
        """The node of `a` after ``a[0] = b[1]``."""
        x, y = a.node, b.node
        data = x.data.copy()
        data[0] = y.data[1]
        inputs = []
        if x.requires:
            inputs.append((x, lambda g: g * [0, 1]))
        if y.requires:
            inputs.append((y, lambda g: np.array([0.0, g[0]])))
        return Node(self, data, x.requires or y.requires, tuple(inputs))

    def write(self, a, node, recorded):
        """Make `a` name `node`; without grad mode only its values change.

        An op whose result is written goes on reading what its first operand was; not so its second, if that is `a` too.
        """
        if recorded:
            node.reads = tuple(read for read in node.reads if read[0] is not a or not read[2])
            a.node = node
        else:
            a.node.data = node.data
        a.version += 1

    def add_hook(self, box, hook):
        number = next(self._ids)
        box.node.hooks[number] = hook
        return box.node.hooks, number

    def hooked(self, node, g):
        for number in sorted(node.hooks):
            result = node.hooks[number](g)
            g = g if result is None else result
        return g

    def below(self, root):
        """Nodes that `root` leads to, newest first."""
        found = {root}
        for node in reversed(self.nodes):
            if node in found:
                found.update(node_below for node_below, _ in node.inputs)
        return [node for node in reversed(self.nodes) if node in found]

    def walk(self, root, seed, retain, targets=None):
        reachable = self.below(root)
        needed = set(reachable) if targets is None else {n for n in reachable if set(self.below(n)) & set(targets)}
        grads = {root: seed}
        captured = {}

        def finish(node):
            if node.is_leaf and node in grads and node.requires and (targets is None or node in targets):
                g = self.hooked(node, grads.pop(node))
                if targets is None:
                    node.grad = g if node.grad is None else node.grad + g
                captured[node] = g

        finish(root)
        for node in [node for node in reachable if not node.is_leaf and node in needed]:
            goes_on = targets is None or any(below in needed for below, _ in node.inputs)
            if goes_on and node.released:
                raise NaiveError("second time")
            if goes_on and any(box.version != version for box, version, _ in node.reads):
                raise NaiveError("modified in place")
            g = captured[node] = self.hooked(node, grads[node])
            if not goes_on:
                continue
            node.released = not retain
            for below, rule in node.inputs:
                if below in needed:
                    grads[below] = grads.get(below, 0) + rule(g)
            for below, _ in node.inputs:
                later = [n for n in reachable if n in needed and self.nodes.index(n) < self.nodes.index(node)]
                if not any(below in [b for b, _ in n.inputs] for n in later):
                    finish(below)
        return captured
