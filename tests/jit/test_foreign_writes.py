"""Writes in place by code that is not traced: by calls marked `not_to_static`, by hooks, and by the caller.

Each program is played in both modes, twice from the start and twice on; what is seen is the result of each call, and
the gradients or the error of a backward behind it.
"""

from __future__ import annotations

import pytest

import d2s

PROGRAMS = {}
# Where only the path of a run tells whether a write reaches what is read, the static mode says so.
REFUSED = {
    "chosen_behind_call": "X12",
    "chosen_before_call": "X12",
    "chosen_by_place": "X12",
    "chosen_before_by_place": "X12",
    "chosen_by_place_in_turns": "X12",
    "list_made_inside": "X12",
    "other_operand_of_choice": "X12",
    "hook_writes_to_chosen": "G16",
    "hook_writes_to_other": "G16",
    "hook_writes_to_what_turns_carry": "G16",
    "read_by_place_behind_call": "X12",
}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def leaf():
    return d2s.to_tensor([1.0, 1.0], stop_gradient=False)


def ones(*shape):
    return d2s.ones(list(shape) or [2])


class World:
    """Tensors outside of the function, and a call that writes to one of them."""

    def __init__(self, static):
        self.static = static
        self.x, self.w, self.v = leaf(), d2s.to_tensor([2.0, 3.0]), d2s.to_tensor([5.0, 7.0])
        self.logged = []
        self.log = d2s.jit.not_to_static(lambda tensor: self.logged.append(float(tensor.sum())))

    def untraced(self, function):
        return d2s.jit.not_to_static(function)

    def writer(self, tensor=None):
        tensor = self.w if tensor is None else tensor
        return d2s.jit.not_to_static(lambda: tensor.add_(ones()))


def seen(make, static):
    """Results, gradients and errors of two calls, twice from the start."""
    found = []
    for _ in range(2):
        world = World(static)
        try:
            act = make(world)
            for _ in range(2):
                y, after = act(), None
                if isinstance(y, tuple):
                    y, after = y
                if y is not None:
                    found.append(y.tolist())
                if after is not None:
                    after()
                try:
                    if y is not None:
                        y.sum().backward()
                    found.append(None if world.x.grad is None else world.x.grad.tolist())
                except d2s.D2SError as error:
                    found.append(error.kind)
        except d2s.D2SError as error:
            found.append(error.kind)
        found += world.logged
    return found


@program
def in_turns(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        y = x
        i = d2s.zeros([])
        while i < 3:
            bump()
            y = y + x * w
            i = i + 1
        return y

    return lambda: f(x, w)


@program
def in_first_turn(world):
    x, w = world.x, world.w

    @world.untraced
    def bump(i):
        if float(i) == 0:
            w.add_(ones())

    @world.static
    def f(x, w):
        y = x
        i = d2s.zeros([])
        while i < 3:
            bump(i)
            y = y + x * w
            i = i + 1
        return y

    return lambda: f(x, w)


@program
def chosen_behind_call(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        bump()
        if x.sum() > 0:
            z = w
        else:
            z = v
        return x * z

    return lambda: f(x, w, v)


@program
def chosen_before_call(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            z = w
        else:
            z = v
        bump()
        return x * z

    return lambda: f(x, w, v)


@program
def chosen_other_before_call(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        if x.sum() < 0:
            z = w
        else:
            z = v
        bump()
        return x * z

    return lambda: f(x, w, v)


@program
def in_branch(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            bump()
        return x * w

    return lambda: f(x, w, v)


@program
def read_before_and_behind_branch(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        q = x * w
        if x.sum() > 0:
            bump()
        return x * w + q

    return lambda: f(x, w, v)


@program
def chosen_by_place(world):
    x, w, v = world.x, world.w, world.v
    b = [w, v]
    bump = world.writer()

    @world.static
    def f(x, k):
        bump()
        return x * b[int(k)]

    return lambda: f(x, d2s.to_tensor(0))


@program
def chosen_before_by_place(world):
    x, w, v = world.x, world.w, world.v
    b = [w, v]
    bump = world.writer()

    @world.static
    def f(x, k):
        z = b[int(k)]
        bump()
        return x * z

    return lambda: f(x, d2s.to_tensor(0))


@program
def chosen_by_place_in_turns(world):
    x, w, v = world.x, world.w, world.v
    b = [w, v]
    bump = world.writer()

    @world.static
    def f(x):
        y = x * 1.0
        for i in d2s.arange(2):
            bump()
            y = y + x * b[int(i)]
        return y

    return lambda: f(x)


@program
def list_made_inside(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        b = [w, v]
        y = x * 1.0
        for i in d2s.arange(2):
            bump()
            y = y + x * b[i]
        return y

    return lambda: f(x, w, v)


@program
def view_from_outside(world):
    x, w = world.x, world.w
    vw = w[0:2]
    bump = world.writer()

    @world.static
    def f(x, vw):
        y = x * vw
        bump()
        return x * vw + y

    return lambda: f(x, vw)


@program
def view_made_inside(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        vw = w[0:2]
        bump()
        return x * vw

    return lambda: f(x, w)


@program
def view_made_before_turns(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        vw = w[0:2]
        y = x * 1.0
        for _i in d2s.arange(2):
            bump()
            y = y + x * vw
        return y

    return lambda: f(x, w)


@program
def detached_inside(world):
    x, w = world.x, world.w

    @world.untraced
    def bump():
        with d2s.no_grad():
            w.add_(ones())

    @world.static
    def f(x, w):
        vw = w.detach()
        bump()
        return x * vw

    return lambda: f(x, w)


@program
def made_inside(world):
    x, w = world.x, world.w

    @world.untraced
    def bump(t):
        t.add_(ones())

    @world.static
    def f(x, w):
        t = w * 2.0
        bump(t)
        return x * t

    return lambda: f(x, w)


@program
def made_before_turns(world):
    x, w = world.x, world.w

    @world.untraced
    def bump(t):
        t.add_(ones())

    @world.static
    def f(x, w):
        t = w * 2.0
        y = x * 1.0
        for _i in d2s.arange(2):
            bump(t)
            y = y + x * t
        return y

    return lambda: f(x, w)


@program
def made_before_branch(world):
    x, w = world.x, world.w

    @world.untraced
    def bump(t):
        t.add_(ones())

    @world.static
    def f(x, w):
        t = w * 2.0
        if x.sum() > 0:
            bump(t)
        return x * t

    return lambda: f(x, w)


@program
def made_and_kept(world):
    x, w = world.x, world.w
    kept = []

    @world.untraced
    def keep(t):
        kept.append(t)

    @world.untraced
    def bump():
        kept[-1].add_(ones())

    @world.static
    def f(x, w):
        t = w * 2.0
        keep(t)
        bump()
        return x * t

    return lambda: f(x, w)


@program
def buffer_in_turns(world):
    x, w = world.x, world.w

    class N(d2s.nn.Layer):
        def __init__(s):
            super().__init__()
            s.register_buffer("w", w)

        def forward(s, x):
            y = x * 1.0
            for _i in d2s.arange(2):
                bump()
                y = y + x * s.w
            return y

    n = N()
    bump = world.writer()
    m = world.static(n)
    return lambda: m(x)


@program
def other_operand_of_choice(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        z = w if x.sum() > 0 else v
        bump()
        return x * z

    return lambda: f(x, w, v)


@program
def in_turns_with_break(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        y = x * 1.0
        while True:
            y = y + x * w
            bump()
            if y.sum() > 30:
                break
        return y

    return lambda: f(x, w, v)


@program
def read_by_test_of_loop(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        y = x * 1.0
        while w.sum() < 12:
            y = y + x
            bump()
        return y

    return lambda: f(x, w, v)


@program
def given_back(world):
    x, w, v = world.x, world.w, world.v

    @world.untraced
    def bump():
        w.add_(ones())
        return w

    @world.static
    def f(x, w, v):
        y = x * 1.0
        for _i in d2s.arange(2):
            bump()
            y = y + x * w
        return y

    return lambda: f(x, w, v)


@program
def in_turns_of_python(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        y = x * 1.0
        for _i in range(3):
            bump()
            y = y + x * w
        return y

    return lambda: f(x, w, v)


@program
def number_read_in_turns(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        y = x * 1.0
        for _i in d2s.arange(2):
            bump()
            y = y + x * float(w.sum())
        return y

    return lambda: f(x, w, v)


@program
def returned_behind_turns(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        y = x * 1.0
        for _i in d2s.arange(2):
            bump()
            w2 = w
        return w2, y + w2

    return lambda: f(x, w, v)[1]


@program
def chosen_and_written_by_caller(world):
    x, w, v = world.x, world.w, world.v

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            z = w
        else:
            z = v
        return x * z

    def act():
        y = f(x, w, v)
        return y, lambda: w.add_(ones())

    return act


@program
def other_written_by_caller(world):
    x, w, v = world.x, world.w, world.v

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            z = w
        else:
            z = v
        return x * z

    def act():
        y = f(x, w, v)
        return y, lambda: v.add_(ones())

    return act


@program
def written_again(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w
        bump()
        return y

    return lambda: f(x, w)


@program
def written_and_read_again(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w
        bump()
        return y + x * w

    return lambda: f(x, w)


@program
def written_by_caller(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w
        return y

    def act():
        y = f(x, w)
        return y, lambda: w.add_(ones())

    return act


@program
def by_place_written_behind(world):
    x, w, v = world.x, world.w, world.v
    box = [w, v]
    bump = world.writer()

    @world.static
    def f(x, k):
        y = x * box[int(k)]
        bump()
        return y

    return lambda: f(x, d2s.to_tensor(0))


@program
def by_place_other_written(world):
    x, w, v = world.x, world.w, world.v
    box = [w, v]
    bump = world.writer(world.v)

    @world.static
    def f(x, k):
        y = x * box[int(k)]
        bump()
        return y

    return lambda: f(x, d2s.to_tensor(0))


@program
def by_place_written_by_caller(world):
    x, w, v = world.x, world.w, world.v
    box = [w, v]

    @world.static
    def f(x, k):
        return x * box[int(k)]

    def act():
        y = f(x, d2s.to_tensor(0))
        return y, lambda: w.add_(ones())

    return act


@program
def written_in_branch_taken(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w
        if x.sum() > 0:
            bump()
        return y

    return lambda: f(x, w)


@program
def written_in_branch_not_taken(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w
        if x.sum() < 0:
            bump()
        return y

    return lambda: f(x, w)


@program
def view_of_what_was_read_again(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w.reshape([1, 2])[0]
        bump()
        return y

    return lambda: f(x, w)


@program
def written_inside(world):
    x, w = world.x, world.w

    @world.untraced
    def bump():
        pass

    @world.static
    def f(x, w):
        bump()
        y = x * w
        w.add_(ones())
        return y

    return lambda: f(x, w)


@program
def whole_step(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w
        bump()
        y.sum().backward()

    def act():
        f(x, w)

    return act


@program
def whole_step_written_later(world):
    x, w = world.x, world.w
    bump = world.writer()

    @world.static
    def f(x, w):
        bump()
        y = x * w
        y.sum().backward()
        bump()

    def act():
        f(x, w)

    return act


@program
def whole_step_by_place(world):
    x, w, v = world.x, world.w, world.v
    box = [w, v]

    @world.static
    def f(x, k):
        y = x * box[int(k)]
        w.add_(ones())
        y.sum().backward()

    def act():
        f(x, d2s.to_tensor(0))

    return act


@program
def whole_step_chosen(world):
    x, w, v = world.x, world.w, world.v
    bump = world.writer()

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            z = w
        else:
            z = v
        y = x * z
        bump()
        y.sum().backward()

    def act():
        f(x, w, v)

    return act


@program
def set_value(world):
    x, w = world.x, world.w

    @world.untraced
    def bump():
        w.set_value(w.numpy() + 1)

    @world.static
    def f(x, w):
        bump()
        y = x * w
        bump()
        return y

    return lambda: f(x, w)


@program
def inside_then_caller(world):
    x, w = world.x, world.w

    @world.static
    def f(x, w):
        w.add_(ones())
        return x * w

    def act():
        y = f(x, w)
        return y, lambda: w.add_(ones())

    return act


@program
def inside_only(world):
    x, w = world.x, world.w

    @world.static
    def f(x, w):
        w.add_(ones())
        return x * w

    return lambda: f(x, w)


@program
def inside_branch_then_caller(world):
    x, w = world.x, world.w

    @world.static
    def f(x, w):
        if x.sum() > 0:
            w.add_(ones())
        return x * w

    def act():
        y = f(x, w)
        return y, lambda: w.add_(ones())

    return act


@program
def branch_not_taken_then_caller(world):
    x, w = world.x, world.w

    @world.static
    def f(x, w):
        if x.sum() < 0:
            w.add_(ones())
        return x * w

    def act():
        y = f(x, w)
        return y, lambda: w.add_(ones())

    return act


@program
def inside_branch_only(world):
    x, w = world.x, world.w

    @world.static
    def f(x, w):
        if x.sum() > 0:
            w.add_(ones())
        return x * w

    return lambda: f(x, w)


@program
def hook_writes(world):
    x, w = world.x, world.w

    def h(g):
        w.add_(ones())

    @world.static
    def f(x, w):
        y = x * w
        z = y * 3.0
        z.register_hook(h)
        return z

    return lambda: f(x, w)


@program
def hook_writes_to_chosen(world):
    x, w, v = world.x, world.w, world.v

    def h(g):
        w.add_(ones())

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            q = w
        else:
            q = v
        y = x * q
        z = y * 3.0
        z.register_hook(h)
        return z

    return lambda: f(x, w, v)


@program
def hook_writes_to_other(world):
    x, w, v = world.x, world.w, world.v

    def h(g):
        v.add_(ones())

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            q = w
        else:
            q = v
        y = x * q
        z = y * 3.0
        z.register_hook(h)
        return z

    return lambda: f(x, w, v)


@program
def hook_writes_to_read_again(world):
    x, w, v = world.x, world.w, world.v

    def h(g):
        w.add_(ones())

    bump = world.writer()

    @world.static
    def f(x, w, v):
        bump()
        y = x * w
        z = y * 3.0
        z.register_hook(h)
        return z

    return lambda: f(x, w, v)


@program
def hook_writes_to_written(world):
    x, w, v = world.x, world.w, world.v

    def h(g):
        w.add_(ones())

    @world.static
    def f(x, w, v):
        w.add_(ones())
        y = x * w
        z = y * 3.0
        z.register_hook(h)
        return z

    return lambda: f(x, w, v)


@program
def hook_writes_in_whole_step(world):
    x, w, v = world.x, world.w, world.v

    def h(g):
        w.add_(ones())

    bump = world.writer()

    @world.static
    def f(x, w, v):
        bump()
        y = x * w
        z = y * 3.0
        z.register_hook(h)
        z.sum().backward()

    def act():
        f(x, w, v)

    return act


@program
def carried_and_written_by_caller(world):
    x, w = world.x, world.w

    @world.static
    def f(x, h):
        i = d2s.zeros([])
        while i < 3:
            h = h * x
            i = i + 1
        return h

    def act():
        y = f(x, w)
        return y, lambda: w.add_(ones())

    return act


@program
def carried_unread(world):
    x, w = world.x, world.w

    @world.static
    def f(x, h):
        i = d2s.zeros([])
        while i < 3:
            h = h + x
            i = i + 1
        return h * x

    def act():
        y = f(x, w)
        return y, lambda: w.add_(ones())

    return act


@program
def hook_writes_to_what_turns_carry(world):
    x, w = world.x, world.w

    def hk(g):
        w.add_(ones())

    @world.static
    def f(x, h):
        i = d2s.zeros([])
        while i < 3:
            h = h * x
            i = i + 1
        z = h * 2.0
        z.register_hook(hk)
        return z

    return lambda: f(x, w)


@program
def result_of_branch(world):
    x = world.x

    @world.static
    def f(x):
        if x.sum() > 0:
            z = x * 2.0
            u = z * z
        else:
            z = x * 3.0
            u = z
        return z, u

    def act():
        z, u = f(x)
        return u, lambda: z.add_(ones())

    return act


@program
def result_of_other_branch(world):
    x = world.x

    @world.static
    def f(x):
        if x.sum() < 0:
            z = x * 2.0
            u = z * z
        else:
            z = x * 3.0
            u = z + x
        return z, u

    def act():
        z, u = f(x)
        return u, lambda: z.add_(ones())

    return act


@program
def read_by_place_behind_call(world):
    x, w, v = world.x, world.w, world.v
    box = [w, v]
    bump = world.writer()

    @world.static
    def f(x, k, w):
        x * w.sum()
        bump()
        y = x * box[int(k)]
        return y

    return lambda: f(x, d2s.to_tensor(0), w)


@program
def average_of_weights(world):
    x = world.x
    net = d2s.nn.Linear(2, 2)
    net.weight.set_value(d2s.to_tensor([[0.5, 0.25], [1.0, 2.0]]))
    ema = d2s.zeros([2, 2])

    @world.untraced
    def upd():
        ema.set_value(ema * 0.5 + net.weight.detach() * 0.5)

    @world.static
    def f(x):
        y = net(x)
        upd()
        return y + ema.sum()

    return lambda: f(x)


@program
def training_in_turns_of_python(world):
    x = world.x
    net = d2s.nn.Linear(2, 2)
    net.weight.set_value(d2s.to_tensor([[0.5, 0.25], [1.0, 2.0]]))
    opt = d2s.optimizer.SGD(0.1, parameters=net.parameters())

    @world.untraced
    def step():
        opt.step()
        opt.clear_grad()

    @world.static
    def f(x):
        for _i in range(3):
            loss = net(x).sum()
            loss.backward()
            step()
        return net(x)

    return lambda: f(x.detach())


@program
def training_in_turns(world):
    x = world.x
    net = d2s.nn.Linear(2, 2)
    net.weight.set_value(d2s.to_tensor([[0.5, 0.25], [1.0, 2.0]]))
    opt = d2s.optimizer.SGD(0.1, parameters=net.parameters())

    @world.untraced
    def step():
        opt.step()
        opt.clear_grad()

    @world.static
    def f(x):
        for _i in d2s.arange(3):
            loss = net(x).sum()
            loss.backward()
            step()
        return net(x)

    return lambda: f(x.detach())


@program
def logged(world):
    x, w = world.x, world.w
    log = world.log

    @world.static
    def f(x, w):
        h = x * w
        log(h)
        loss = h * h
        log(loss)
        return loss

    return lambda: f(x, w)


@program
def logged_in_turns(world):
    x, w = world.x, world.w
    log = world.log

    @world.static
    def f(x, w):
        h = x * w
        for _i in d2s.arange(3):
            log(h)
            h = h * w
            log(h)
        return h

    return lambda: f(x, w)


@program
def logged_in_branch(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        if x.sum() > 0:
            h = x * w
            log(h)
        else:
            h = x * v
        log(h)
        z = h if h.sum() > 3 else w
        log(z)
        return h * z

    return lambda: f(x, w, v)


@program
def logged_views(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        h = (x * w).reshape([2, 1])
        a = h[0]
        log(h)
        b = h[1]
        log(a)
        y = a * b
        log(y)
        return y + h.reshape([2])

    return lambda: f(x, w, v)


@program
def logged_with_carried_view(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        h = x * w
        a = h[0:1]
        y = h
        for _i in d2s.arange(3):
            y = y * a
            log(y)
            a = y[1:2]
        return y

    return lambda: f(x, w, v)


@program
def logged_with_chosen_view(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        a = w[0:1]
        y = x
        for i in d2s.arange(3):
            y = y * a
            log(y)
            a = v[1:2] if i == 1 else w[1:2]
        return y

    return lambda: f(x, w, v)


@program
def written_by_traced_code(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        t = w * 2.0
        log(t)
        t.add_(v)
        log(t)
        t[0] = 5.0
        y = x * t
        log(y)
        return y

    return lambda: f(x, w, v)


@program
def written_by_traced_turns(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        t = w * 2.0
        y = x
        for _i in d2s.arange(3):
            log(t)
            t.add_(v)
            y = y + x * t.clone()
        return y

    return lambda: f(x, w, v)


@program
def logged_with_list(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        xs = [x * w, x * v, w]
        y = x
        for i in d2s.arange(3):
            y = y * xs[i]
            log(y)
        return y

    return lambda: f(x, w, v)


@program
def logged_with_growing_list(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        xs = []
        for i in d2s.arange(3):
            xs.append(x * w * i)
            log(xs[-1])
        return d2s.stack(xs).sum(0) * xs[1]

    return lambda: f(x, w, v)


@program
def logged_by_hook(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        h = x * w
        h.register_hook(lambda g: log(g))
        log(h)
        y = h * h
        y.register_hook(lambda g: g + 1)
        log(y)
        return y * h

    return lambda: f(x, w, v)


@program
def logged_scalars(world):
    x, w, v = world.x, world.w, world.v
    log = world.log

    @world.static
    def f(x, w, v):
        s = (x * w).sum()
        log(s)
        y = x * s
        m = y.mean()
        log(m)
        return y * m * s

    return lambda: f(x, w, v)


@program
def whole_step_and_number(world):
    x = world.x
    net = d2s.nn.Linear(2, 2)
    net.weight.set_value(d2s.to_tensor([[0.5, 0.25], [1.0, 2.0]]))
    opt = d2s.optimizer.Adam(0.1, parameters=net.parameters())

    @world.static
    def f(x):
        loss = (net(x) ** 2).sum()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss * 1.0, float(loss)

    return lambda: f(x.detach())[0]


@program
def made_inside_and_returned(world):
    x, w = world.x, world.w

    @world.untraced
    def bump(t):
        t.add_(ones())

    @world.static
    def f(x, w):
        t = w * 2.0
        y = x * 1.0
        bump(t)
        return y, t

    return lambda: f(x, w)[0] + f(x, w)[1]


@program
def history_of_element(world):
    """What an element of a list was when it was taken, not what it is in backward."""
    x, w = world.x, world.w
    box = [x * 2.0, w]

    @world.static
    def f(x, k):
        return x + box[int(k)] * 3.0

    def act():
        box[0] = x * 2.0
        y = f(x, d2s.to_tensor(0))
        return y, lambda: box[0].multiply_(x)

    return act


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_modes(name):
    eager, static = (seen(PROGRAMS[name], static) for static in (lambda f: f, d2s.to_static))
    if name in REFUSED:
        assert static[-1] == REFUSED[name]
        assert static[: len(static) // 2] == static[len(static) // 2 :]
    else:
        assert static == eager
