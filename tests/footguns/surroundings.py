"""What surrounds a call: filters, levels, error states, processes, memories of the user, code exchanged at run time."""

from __future__ import annotations

import gc
import logging
import os
import types
import warnings
import weakref

import numpy as np

import d2s
from d2s import nn
from tests.footguns.stage import footgun
from tests.footguns.things import Box, constant, x


@footgun
def error_state_of_the_caller(stage):
    f = stage.static(lambda z: z / 0.0)
    for kind in ("warn", "ignore", "raise", "warn"):
        with np.errstate(divide=kind):
            stage(f, x())


@footgun
def warnings_that_become_errors(stage):
    def f(z):
        warnings.warn("careful", stacklevel=1)
        stage.log.append("behind")
        return z

    f = stage.static(f)
    for action in ("always", "error", "ignore", "always"):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            stage(f, x())


@footgun
def level_of_a_logger(stage):
    logger = logging.getLogger("footguns.levels")

    def f(z):
        if logger.isEnabledFor(logging.DEBUG):
            z = z + 1
        logger.debug("detail %s", 1)
        logger.warning("shape %s", z.shape)
        return z

    f = stage.static(f)
    for level in (logging.WARNING, logging.DEBUG, logging.ERROR, logging.NOTSET):
        logger.setLevel(level)
        stage(f, x())


@footgun
def attribute_made_by_a_module():
    module = types.ModuleType("made")
    module.value = 3.0

    def made(name):
        if name == "lazy":
            return module.value
        raise AttributeError(name)

    module.__getattr__ = made

    def f(z):
        return z * module.lazy

    yield f
    module.value = 5.0
    yield f
    module.lazy = 9.0
    yield f
    del module.lazy
    yield f


@footgun
def forked_process(stage):
    f = stage.static(lambda z: (z * 2).sum())
    stage(f, x())
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, repr([f(x(1.0, 2.0)).item(), f(x()).item()]).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    stage.note(os.read(reading, 100).decode())
    os.close(reading)
    os.close(writing)


@footgun
def objects_that_die(stage):
    box = Box(value=2.0)
    reference, table = weakref.ref(box), weakref.WeakValueDictionary(box=box)

    def f(z):
        held = reference()
        return z * (held.value if held is not None else 5.0) * len(table)

    f = stage.static(f)
    stage(f, x())
    box.value = 3.0
    stage(f, x())
    del box
    gc.collect()
    stage(f, x())


@footgun
def memories_of_tensors(stage):
    by_key, box = {}, Box()

    def f(z, k):
        if k not in by_key:
            stage.log.append("missed")
            by_key[k] = d2s.ones([3]) * k
        if not hasattr(box, "first"):
            box.first = z.detach() * 2
        return z * by_key[k] + box.first

    f = stage.static(f)
    for k in (1, 2, 1, 2):
        stage(f, x(), k)
    del box.first, by_key[1]
    stage(f, x(1.0, 1.0, 1.0), 1)
    stage.note(by_key, box.first)


@footgun
def mutable_defaults(stage):
    def counted(z, kept={}):
        kept["n"] = kept.get("n", 0) + 1
        return z * kept["n"]

    f = stage.static(lambda z: counted(z) + counted(z))
    for _ in range(3):
        stage(f, x())
    counted.__defaults__[0]["n"] = 10
    stage(f, x())
    counted.__defaults__ = ({"n": 100},)
    stage(f, x())


@footgun
def descriptor_exchanged():
    class Doubled:
        factor = 2.0

        def __get__(self, owner, cls=None):
            return self.factor * owner.n

        def __set__(self, owner, value):
            owner.n = value

    class Holder:
        part = Doubled()
        n = 1.0

    holder = Holder()

    def f(z):
        holder.part = holder.n + 1
        return z * holder.part

    yield f
    yield f
    Doubled.factor = 3.0
    yield f
    Holder.part = type("Fixed", (Doubled,), {"__get__": lambda self, owner, cls=None: 10.0})()
    yield f
    del Holder.part
    yield f


@footgun
def truth_and_length_exchanged(stage):
    class Bag:
        held = ()

        def __bool__(self):
            stage.log.append("truth")
            return bool(self.held)

        def __len__(self):
            stage.log.append("length")
            return len(self.held)

    bag = Bag()
    f = stage.static(lambda z: (z * 2 if bag else z) + len(bag))
    stage(f, x())
    bag.held = (1,)
    stage(f, x())
    Bag.__bool__ = lambda self: False
    stage(f, x())
    del Bag.__bool__
    stage(f, x())


@footgun
def counter_of_a_function(stage):
    def f(z):
        held.calls += 1
        return z * held.calls

    held, f.calls = f, 0
    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
    held.calls = 10
    stage(f, x())
    stage.note(held.calls)


@footgun
def attribute_made_by_a_layer(stage):
    class Net(nn.Layer):
        def __getattr__(self, name):
            return self.base * 2 if name == "made" else super().__getattr__(name)

        def forward(self, z):
            return z * self.made * (self.late if hasattr(self, "late") else 1.0)

    net = Net()
    net.base = 1.0
    stage.static(net)
    stage(net, x())
    net.base = 4.0
    stage(net, x())
    net.register_buffer("late", d2s.to_tensor([3.0]))
    stage(net, x())
    net.late = d2s.to_tensor([5.0])
    stage(net, x())
    del net.late
    stage(net, x())


@footgun
def rate_and_schedule_of_an_optimizer(stage):
    w = stage.watch(x())
    schedule = d2s.optimizer.lr.StepDecay(0.1, 1)
    optimizer = d2s.optimizer.Adam(schedule, parameters=[w])

    def f(z):
        loss = ((z * w) ** 2).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        return loss.detach()

    f = stage.static(f)
    for _ in range(4):
        stage(f, constant())
        stage.note(optimizer.get_lr())


@footgun
def write_to_one_of_several_views(stage):
    def f(a, b):
        with d2s.no_grad():
            a[0] = 9.0
        return (a * 1).sum() + (b * 2).sum()

    f, base = stage.static(f), stage.watch(constant(1.0, 2.0, 3.0, 4.0))
    for a, b in ((base[:2], base[1:3]), (base[:2], base[:2]), (base, base[2:]), (constant(1.0), constant(3.0))):
        stage(f, a, b)
