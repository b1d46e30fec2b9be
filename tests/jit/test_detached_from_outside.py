"""Tensors from outside of which a static function detaches one, call after call: writes reach all that show them."""

from __future__ import annotations

import pytest

import d2s


class World:
    """A tensor from outside, what the caller has of it, and a call that is not traced and writes to it."""

    def __init__(self, kind):
        self.base = d2s.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        self.v = {"whole": self.base, "part": self.base[0], "detached": self.base.detach()}[kind]
        self.bystanders = [self.base[1], self.v[:], self.v.detach(), self.v.detach()[..., :1]]
        self.bump = d2s.jit.not_to_static(self._bump)

    def _bump(self, t):
        with d2s.no_grad():
            t.add_(d2s.full([1], 0.5))

    def seen(self, *tensors):
        return [t.tolist() for t in (*tensors, self.base, self.v, *self.bystanders)]


def given_behind(world, v):
    u = v.detach()
    world.bump(v)
    return u


def both_given(world, v):
    u = v.detach()
    world.bump(v)
    world.bump(u)
    return u


def detached_written(world, v):
    u = v.detach()
    world.bump(u)
    return u


def view_of_detached(world, v):
    u = v.detach()[:]
    world.bump(v)
    return u


def detached_view(world, v):
    u = v[:].detach()
    world.bump(v)
    return u


def twice_detached(world, v):
    u = v.detach().detach()
    world.bump(v)
    return u


def only_detached(world, v):
    return v.detach()


def only_shown(world, v):
    return v[:]


def view_written(world, v):
    u = v[:]
    world.bump(u)
    return u


def view_and_detached_written(world, v):
    u, d = v[:], v.detach()
    world.bump(d)
    world.bump(u)
    return u


def detached_part_written(world, v):
    d = v.detach()
    world.bump(d[..., :1])
    return d


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", ["whole", "part", "detached"])
@pytest.mark.parametrize("function", [
    given_behind, both_given, detached_written, view_of_detached, detached_view, twice_detached, only_detached,
    only_shown, view_written, view_and_detached_written, detached_part_written])
def test_writes_reach_what_is_detached(function, kind, kept):
    def play(static):
        world, log, held = World(kind), [], []
        run = static(lambda v: function(world, v))
        for number in range(3):
            u = run(world.v)
            if kept:
                held.append(u)
            log.append(world.seen(u, *held))
            world._bump((u, world.v, world.base)[number])
            log.append(world.seen(u, *held))
        for bystander in world.bystanders:
            world._bump(bystander)
            log.append(world.seen(*held))
        return log

    assert play(d2s.to_static) == play(lambda run: run)


def made_and_read(x, bump):
    u = x + 1.0
    t = u[:].detach()
    bump(t)
    return u * 1.0


def made_and_shown(x, bump):
    u = x + 1.0
    t = u[:].detach()
    bump(t)
    return t[:]


def made_and_given(x, bump):
    u = x + 1.0
    t = u.detach().detach()
    bump(t)
    return u


@pytest.mark.parametrize("function", [made_and_read, made_and_shown, made_and_given])
@pytest.mark.parametrize("writes", [True, False])
def test_writes_to_what_is_detached_from_tensors_made_inside(function, writes):

    def play(static):
        def bump(t):
            if writes:
                with d2s.no_grad():
                    t.add_(d2s.full([1], 0.5))

        bump = d2s.jit.not_to_static(bump)
        return static(lambda x: function(x, bump))(d2s.to_tensor([1.0, 2.0], stop_gradient=False)).tolist()

    assert play(d2s.to_static) == play(lambda run: run)
