"""N: hooks and `recompute`, which runs its function again in backward."""

from __future__ import annotations

from ..register import leaf, named, recorder, situation, times_ten, val


def recomputed(reentrant):
    @situation(f"N01_{reentrant}", (2, [("y", [3.0])], [120.0]))
    def on_a_value_inside(paddle, to_static):
        log = []

        def part(x):
            y = x * 4
            log.append("reg")
            y.register_hook(recorder(log, "y", times_ten))
            return y * 3

        x = leaf(paddle, 2.0)
        f = to_static(lambda x: paddle.autograd.recompute(part, x, use_reentrant=reentrant))
        f(x).backward()
        return log.count("reg"), [entry for entry in log if entry != "reg"], val(x.grad)

    @situation(f"N02_{reentrant}", (["o", "x", "w", "Rw"], [12.0], [9.0]))
    def on_leaves_and_output(paddle, to_static):
        log = []
        x, w = leaf(paddle, 4.0), leaf(paddle, 3.0)
        x.register_hook(named(log, "x"))
        w.register_hook(named(log, "w"))
        w._register_backward_hook(lambda: log.append("Rw"))

        def f(x):
            out = paddle.autograd.recompute(lambda x: x * w * 3, x, use_reentrant=reentrant)
            out.register_hook(named(log, "o"))
            return out

        to_static(f)(x).backward()
        return log, val(w.grad), val(x.grad)

    @situation(f"N03_{reentrant}", ([2], [200.0]))
    def on_a_parameter(paddle, to_static):
        count = []
        x, w = leaf(paddle, 2.0), leaf(paddle, 3.0)

        def part(x):
            w.register_hook(recorder(count, "w", times_ten))
            return x * w

        to_static(lambda x: paddle.autograd.recompute(part, x, use_reentrant=reentrant))(x).backward()
        return [len(count)], val(w.grad)


for reentrant in (True, False):
    recomputed(reentrant)
