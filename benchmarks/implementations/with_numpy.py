"""Flat NumPy by hand, forward and backward into buffers made before: what NumPy itself allows, not a library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.implementations import Built
from benchmarks.workloads import LEARNING_RATE, Workload

Array = np.ndarray[Any, Any]
# What a workload is made of: computes the gradients into its arrays and returns the loss.
Pass = Callable[[], Any]


def _e(*shape: int) -> Array:
    return np.empty(shape, np.float32)


def build(w: Workload, variant: str) -> Built:
    params = {name: array.copy() for name, array in w.params.items()}
    grads = {name: np.empty_like(array) for name, array in params.items()}
    run: Pass = globals()[w.kind](w, params, grads)
    rate = np.float32(LEARNING_RATE)
    pairs = [(params[name], grads[name]) for name in params]

    def gradients() -> tuple[float, dict[str, Array]]:
        loss = run()
        return float(loss), {name: grad.copy() for name, grad in grads.items()}

    def step() -> None:
        run()
        for param, grad in pairs:
            np.multiply(grad, rate, out=grad)
            np.subtract(param, grad, out=param)

    return Built(gradients, step if w.train else run, lambda: {name: p.copy() for name, p in params.items()})


def tiny(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    a, b = w.params["a"], w.params["b"]
    y, g, ga, gb = _e(4), _e(4), G["a"], G["b"]
    mul, tanh, sub, addr = np.multiply, np.tanh, np.subtract, np.add.reduce
    one = np.float32(1)

    def fb():
        mul(a, b, y)
        tanh(y, y)
        loss = addr(y)
        mul(y, y, g)
        sub(one, g, g)
        mul(g, b, ga)
        mul(g, a, gb)
        return loss

    return fb


def mlp(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    x, y = w.inputs["x"], w.inputs["y"]
    B = len(x)
    hooked = w.kind == "mlphook"
    W1, b1, W2, b2, W3, b3 = (P[k] for k in ("W1", "b1", "W2", "b2", "W3", "b3"))
    h1, h2, z = (_e(B, bias.size) for bias in (b1, b2, b3))
    g1, g2 = np.empty_like(h1), np.empty_like(h2)
    m1, m2 = np.empty(h1.shape, bool), np.empty(h2.shape, bool)
    mx, s = _e(B, 1), _e(B, 1)
    ar = np.arange(B)
    invB, half, two, zero = np.float32(1 / B), np.float32(.5), np.float32(2), np.float32(0)
    xT, h1T, h2T = x.T, h1.T, h2.T
    mm, add, mul, maxi, gt = np.matmul, np.add, np.multiply, np.maximum, np.greater

    def fb():
        mm(x, W1, out=h1)
        add(h1, b1, h1)
        maxi(h1, zero, out=h1)
        mm(h1, W2, out=h2)
        add(h2, b2, h2)
        maxi(h2, zero, out=h2)
        mm(h2, W3, out=z)
        add(z, b3, z)
        np.maximum.reduce(z, 1, None, mx, True)
        np.subtract(z, mx, z)
        picked = z[ar, y]
        np.exp(z, z)
        np.add.reduce(z, 1, None, s, True)
        loss = float((np.log(s[:, 0]) - picked).mean())
        np.divide(z, s, z)
        z[ar, y] -= 1
        mul(z, invB, z)
        mm(h2T, z, out=G["W3"])
        np.add.reduce(z, 0, None, G["b3"])
        mm(z, W3.T, out=g2)
        gt(h2, zero, m2)
        mul(g2, m2, g2)
        mm(h1T, g2, out=G["W2"])
        np.add.reduce(g2, 0, None, G["b2"])
        mm(g2, W2.T, out=g1)
        if hooked:
            mul(G["W2"], two, G["W2"])
            mul(g1, half, g1)
        gt(h1, zero, m1)
        mul(g1, m1, g1)
        mm(xT, g1, out=G["W1"])
        np.add.reduce(g1, 0, None, G["b1"])
        return loss

    return fb


mlphook = mlp

C0, C1 = np.float32(np.sqrt(2 / np.pi)), np.float32(0.044715)


def chain(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    x, wt = w.params["x"], w.params["w"]
    n = x.size
    inv = np.float32(1 / n)
    u, u2, th, g, s, e, gg, gs, t1 = (_e(n) for _ in range(9))
    gx, gw = G["x"], G["w"]
    mul, add, sub = np.multiply, np.add, np.subtract
    one, half = np.float32(1), np.float32(.5)

    def fb():
        mul(x, wt, u)
        mul(u, u, u2)
        mul(u2, C1, th)
        add(th, one, th)
        mul(th, u, th)
        mul(th, C0, th)
        np.tanh(th, th)
        add(th, one, g)
        mul(g, u, g)
        mul(g, half, g)
        np.negative(g, s)
        np.exp(s, s)
        add(s, one, s)
        np.reciprocal(s, s)
        mul(s, x, e)
        np.negative(e, e)
        np.exp(e, e)
        mul(e, g, t1)
        add(t1, s, t1)
        loss = float(t1.sum() * inv)
  # backward: y = e*g + s, dy = inv
        mul(e, g, gs)  # d(-s*x)
        mul(gs, inv, gs)
        mul(gs, s, gx)  # dx from exp
        np.negative(gx, gx)
        mul(gs, x, gs)  # ds = inv - x*e*g*inv
        sub(inv, gs, gs)
        sub(one, s, t1)  # dg via sigmoid
        mul(t1, s, t1)
        mul(gs, t1, gs)
        mul(e, inv, gg)
        add(gg, gs, gg)
        mul(th, th, t1)  # 1 - th^2
        sub(one, t1, t1)
        mul(u2, np.float32(3 * C1), u2)
        add(u2, one, u2)
        mul(u2, C0, u2)
        mul(t1, u2, t1)
        mul(t1, u, t1)
        add(t1, th, t1)
        add(t1, one, t1)
        mul(t1, half, t1)
        mul(gg, t1, gg)  # du
        mul(gg, x, gw)
        mul(gg, wt, gg)
        add(gx, gg, gx)
        return loss

    return fb


def smln(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    x, gm, b, t = w.params["x"], w.params["g"], w.params["b"], w.inputs["t"]
    N, D = x.shape
    xh, p, q = _e(N, D), _e(N, D), _e(N, D)
    m, r, mx = _e(N, 1), _e(N, 1), _e(N, 1)
    gx, gg, gb = G["x"], G["g"], G["b"]
    invD = np.float32(1 / D)
    mul, sub, add = np.multiply, np.subtract, np.add

    def fb():
        add.reduce(x, 1, None, m, True)
        mul(m, invD, m)
        sub(x, m, xh)
        np.einsum("nd,nd->n", xh, xh, out=r[:, 0])
        mul(r, invD, r)
        add(r, np.float32(1e-5), r)
        np.sqrt(r, r)
        np.reciprocal(r, r)
        mul(xh, r, xh)
        mul(xh, gm, p)
        add(p, b, p)
        np.maximum.reduce(p, 1, None, mx, True)
        sub(p, mx, p)
        np.exp(p, p)
        add.reduce(p, 1, None, m, True)
        np.reciprocal(m, m)
        mul(p, m, p)
        np.einsum("nd,nd->n", p, t, out=m[:, 0])
        loss = float(m.sum())
        sub(t, m, q)  # d(logits)
        mul(q, p, q)
        add.reduce(q, 0, None, gb)
        np.einsum("nd,nd->d", q, xh, out=gg)
        mul(q, gm, q)
        np.einsum("nd,nd->n", q, xh, out=mx[:, 0])
        mul(mx, invD, mx)
        add.reduce(q, 1, None, m, True)
        mul(m, invD, m)
        mul(xh, mx, gx)
        sub(q, gx, gx)
        sub(gx, m, gx)
        mul(gx, r, gx)
        return loss

    return fb


def lstm(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    T, B, H = (w.meta[k] for k in "TBH")
    x, tgt = w.inputs["x"], w.inputs["t"]
    Wx, Wh, b = P["Wx"], P["Wh"], P["b"]
    gates, tc, hs, cs = _e(T, B, 4 * H), _e(T, B, H), _e(T + 1, B, H), _e(T + 1, B, H)
    hs[0] = 0
    cs[0] = 0
    dg, dh, dc, tmp, t4 = _e(T, B, 4 * H), _e(B, H), _e(B, H), _e(B, H), _e(B, 4 * H)
    one = np.float32(1)
    mul, add, sub, mm, tanh = np.multiply, np.add, np.subtract, np.matmul, np.tanh
    x2 = x.reshape(T * B, -1)
    scale = np.float32(2.0 / (B * H))
  # sigmoid(v) = .5*tanh(.5 v)+.5: one tanh over all four gates, order i f g o
    pre = np.full(4 * H, .5, np.float32)
    pre[2 * H:3 * H] = 1
    post = np.zeros(4 * H, np.float32) + .5
    post[2 * H:3 * H] = 0

    def fb():
        mm(x2, Wx, out=gates.reshape(T * B, 4 * H))
        add(gates, b, gates)
        for t in range(T):
            a = gates[t]
            mm(hs[t], Wh, out=t4)
            add(a, t4, a)
            mul(a, pre, a)
            tanh(a, a)
            mul(a, pre, a)
            add(a, post, a)
            i, f, g, o = a[:, :H], a[:, H:2 * H], a[:, 2 * H:3 * H], a[:, 3 * H:]
            c = cs[t + 1]
            mul(f, cs[t], c)
            mul(i, g, tmp)
            add(c, tmp, c)
            tanh(c, tc[t])
            mul(o, tc[t], hs[t + 1])
        sub(hs[T], tgt, dh)
        loss = float((dh * dh).mean())
        mul(dh, scale, dh)
        dc.fill(0)
        for t in range(T - 1, -1, -1):
            a, d = gates[t], dg[t]
            i, f, g, o = a[:, :H], a[:, H:2 * H], a[:, 2 * H:3 * H], a[:, 3 * H:]
            di, df, dG, do = d[:, :H], d[:, H:2 * H], d[:, 2 * H:3 * H], d[:, 3 * H:]
            mul(dh, tc[t], do)
            mul(tc[t], tc[t], tmp)
            sub(one, tmp, tmp)
            mul(tmp, o, tmp)
            mul(tmp, dh, tmp)
            add(dc, tmp, dc)
            mul(dc, g, di)
            mul(dc, cs[t], df)
            mul(dc, i, dG)
            mul(dc, f, dc)
            sub(one, a, t4)  # s(1-s) for i f o
            mul(t4, a, t4)
            mul(g, g, tmp)
            sub(one, tmp, t4[:, 2 * H:3 * H])
            mul(d, t4, d)
            mm(d, Wh.T, out=dh)
        d2 = dg.reshape(T * B, 4 * H)
        mm(x2.T, d2, out=G["Wx"])
        mm(hs[:T].reshape(T * B, H).T, d2, out=G["Wh"])
        add.reduce(d2, 0, None, G["b"])
        return loss

    return fb


def power(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    A, v0 = w.params["A"], w.inputs["v"]
    n, tol, mi = len(v0), w.meta["tol"], w.meta["max_turns"]
    V, GW, N, tmp = _e(mi + 1, n), _e(mi + 1, n), np.empty(mi, np.float32), _e(n)
    V[0] = v0
    gA = G["A"]
    AT = A.T

    def fb():
        i, err = 0, np.inf
        while err > tol and i < mi:
            v, u = V[i], V[i + 1]
            np.dot(A, v, out=u)
            N[i] = nn = np.sqrt(np.dot(u, u))
            np.multiply(u, np.float32(1) / nn, u)
            np.subtract(u, v, tmp)
            np.abs(tmp, tmp)
            err = tmp.max()
            i += 1
        v = V[i]
        av = np.dot(A, v, out=GW[i])
        lam = float(np.dot(v, av))
        g = av + np.dot(AT, v)  # d lam / d v
        GW[i] = v  # outer(v, v) term
        for k in range(i - 1, -1, -1):
            u = V[k + 1]
            np.multiply(u, np.dot(u, g), tmp)
            np.subtract(g, tmp, GW[k])
            np.multiply(GW[k], np.float32(1) / N[k], GW[k])
            np.dot(AT, GW[k], out=g)
        np.matmul(GW[:i + 1].T, V[:i + 1], out=gA)
        return lam

    return fb


def lenet(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    x, y = w.inputs["x"], w.inputs["y"]
    B = len(x)
    ar = np.arange(B)
    mm, add, mul = np.matmul, np.add, np.multiply
  # channel-major (C, B, H, W): a convolution is one GEMM W(O, CKK) @ cols(CKK, B*OH*OW)
    xp = np.zeros((1, B, 32, 32), np.float32)
    xp[0, :, 2:30, 2:30] = x[:, 0]
    k1, k2 = _e(1, 5, 5, B, 28, 28), _e(6, 5, 5, B, 10, 10)
    k1f, k2f = k1.reshape(25, -1), k2.reshape(150, -1)
    a1, a2 = _e(6, B, 28, 28), _e(16, B, 10, 10)
    p1, p2 = _e(6, B, 14, 14), _e(16, B, 5, 5)
    ga1, ga2, gp1, gk2 = np.empty_like(a1), np.empty_like(a2), np.empty_like(p1), _e(6, 5, 5, B, 10, 10)
    f0, f1, f2, z = _e(B, 400), _e(B, 120), _e(B, 84), _e(B, 10)
    gf0, gf1, gf2 = np.empty_like(f0), np.empty_like(f1), np.empty_like(f2)
    zero, invB = np.float32(0), np.float32(1 / B)
    sl = [(slice(None), slice(None), slice(None, None, 2) if i == 0 else slice(1, None, 2),
           slice(None, None, 2) if j == 0 else slice(1, None, 2)) for i in (0, 1) for j in (0, 1)]
    masks = {id(p): (np.empty(p.shape, bool), np.empty(p.shape, bool)) for p in (p1, p2)}

    def pool(a, p):
        np.maximum(a[sl[0]], a[sl[1]], out=p)
        np.maximum(p, a[sl[2]], out=p)
        np.maximum(p, a[sl[3]], out=p)

    def poolbwd(a, p, gp, ga):
        m, free = masks[id(p)]
        free.fill(True)
        for s in sl:  # first maximum wins, as in torch
            np.equal(a[s], p, m)
            np.logical_and(m, free, m)
            mul(gp, m, ga[s])
            np.logical_xor(free, m, free)

    def fb():
        for i in range(5):
            for j in range(5):
                k1[0, i, j] = xp[0, :, i:i + 28, j:j + 28]
        mm(P["C1"].reshape(6, 25), k1f, out=a1.reshape(6, -1))
        add(a1, P["c1"][:, None, None, None], a1)
        pool(a1, p1)
        r1 = np.maximum(p1, zero)
        for i in range(5):
            for j in range(5):
                k2[:, i, j] = r1[:, :, i:i + 10, j:j + 10]
        mm(P["C2"].reshape(16, 150), k2f, out=a2.reshape(16, -1))
        add(a2, P["c2"][:, None, None, None], a2)
        pool(a2, p2)
        r2 = np.maximum(p2, zero)
        f0.reshape(B, 16, 25)[...] = r2.reshape(16, B, 25).transpose(1, 0, 2)
        mm(f0, P["F1"], out=f1)
        add(f1, P["f1"], f1)
        np.maximum(f1, zero, out=f1)
        mm(f1, P["F2"], out=f2)
        add(f2, P["f2"], f2)
        np.maximum(f2, zero, out=f2)
        mm(f2, P["F3"], out=z)
        add(z, P["f3"], z)
        z_ = z - z.max(1, keepdims=True)
        e = np.exp(z_)
        s = e.sum(1, keepdims=True)
        loss = float((np.log(s[:, 0]) - z_[ar, y]).mean())
        e /= s
        e[ar, y] -= 1
        e *= invB
        mm(f2.T, e, out=G["F3"])
        add.reduce(e, 0, None, G["f3"])
        mm(e, P["F3"].T, out=gf2)
        mul(gf2, f2 > 0, gf2)
        mm(f1.T, gf2, out=G["F2"])
        add.reduce(gf2, 0, None, G["f2"])
        mm(gf2, P["F2"].T, out=gf1)
        mul(gf1, f1 > 0, gf1)
        mm(f0.T, gf1, out=G["F1"])
        add.reduce(gf1, 0, None, G["f1"])
        mm(gf1, P["F1"].T, out=gf0)
        gp2 = gf0.reshape(B, 16, 25).transpose(1, 0, 2).reshape(16, B, 5, 5) * (p2 > 0)
        poolbwd(a2, p2, gp2, ga2)
        g2f = ga2.reshape(16, -1)
        mm(g2f, k2f.T, out=G["C2"].reshape(16, 150))
        add.reduce(g2f, 1, None, G["c2"])
        mm(P["C2"].reshape(16, 150).T, g2f, out=gk2.reshape(150, -1))
        gp1.fill(0)
        for i in range(5):
            for j in range(5):
                v = gp1[:, :, i:i + 10, j:j + 10]
                add(v, gk2[:, i, j], v)
        mul(gp1, p1 > 0, gp1)
        poolbwd(a1, p1, gp1, ga1)
        g1f = ga1.reshape(6, -1)
        mm(g1f, k1f.T, out=G["C1"].reshape(6, 25))
        add.reduce(g1f, 1, None, G["c1"])
        return loss

    return fb


def transformer(w: Workload, P: dict[str, Array], G: dict[str, Array]) -> Pass:
    B, S, D, NH, FF = (w.meta[k] for k in ("B", "S", "D", "heads", "hidden"))
    N, Dh = B * S, D // NH
    x, t = w.inputs["x"].reshape(N, D), w.inputs["t"].reshape(N, D)
    mm, add, mul, sub = np.matmul, np.add, np.multiply, np.subtract
    one, half = np.float32(1), np.float32(.5)
    sc, invD, invN = np.float32(1 / np.sqrt(Dh)), np.float32(1 / D), np.float32(1 / (N * D))
    xh1, n1, xh2, n2, tmp, x1, o, gx1, g = (_e(N, D) for _ in range(9))
    r1, r2, m, mx = (_e(N, 1) for _ in range(4))
    qkv, gqkv = _e(N, 3 * D), _e(N, 3 * D)
    att, gatt = _e(B, NH, S, S), _e(B, NH, S, S)
    rowm = _e(B, NH, S, 1)
    oh = _e(B, NH, S, Dh)
    u, th, a, ga, t4 = (_e(N, FF) for _ in range(5))

    def hv(z, k):
        return z.reshape(B, S, 3, NH, Dh)[:, :, k].transpose(0, 2, 1, 3)

    q, k, v = (hv(qkv, i) for i in range(3))
    gq, gk, gv = (hv(gqkv, i) for i in range(3))

    def ln(z, xh, r, gam, bet, out):
        add.reduce(z, 1, None, m, True)
        mul(m, invD, m)
        sub(z, m, xh)
        np.einsum("nd,nd->n", xh, xh, out=r[:, 0])
        mul(r, invD, r)
        add(r, np.float32(1e-5), r)
        np.sqrt(r, r)
        np.reciprocal(r, r)
        mul(xh, r, xh)
        mul(xh, gam, out)
        add(out, bet, out)

    def lnb(gy, xh, r, gam, gg, gb, out):  # out += dx ; gy is destroyed
        add.reduce(gy, 0, None, gb)
        np.einsum("nd,nd->d", gy, xh, out=gg)
        mul(gy, gam, gy)
        np.einsum("nd,nd->n", gy, xh, out=mx[:, 0])
        mul(mx, invD, mx)
        add.reduce(gy, 1, None, m, True)
        mul(m, invD, m)
        mul(xh, mx, tmp)
        sub(gy, tmp, gy)
        sub(gy, m, gy)
        mul(gy, r, gy)
        add(out, gy, out)

    def fb():
        ln(x, xh1, r1, P["g1"], P["e1"], n1)
        mm(n1, P["Wqkv"], out=qkv)
        add(qkv, P["bqkv"], qkv)
        mm(q, k.swapaxes(-1, -2), out=att)
        mul(att, sc, att)
        np.maximum.reduce(att, 3, None, rowm, True)
        sub(att, rowm, att)
        np.exp(att, att)
        add.reduce(att, 3, None, rowm, True)
        np.divide(att, rowm, att)
        mm(att, v, out=oh)
        o.reshape(B, S, NH, Dh)[...] = oh.transpose(0, 2, 1, 3)
        mm(o, P["Wo"], out=x1)
        add(x1, P["bo"], x1)
        add(x1, x, x1)
        ln(x1, xh2, r2, P["g2"], P["e2"], n2)
        mm(n2, P["W1"], out=u)
        add(u, P["b1"], u)
        mul(u, u, th)
        mul(th, C1, t4)
        add(t4, one, t4)
        mul(t4, u, t4)
        mul(t4, C0, t4)
        np.tanh(t4, t4)
        add(t4, one, a)
        mul(a, u, a)
        mul(a, half, a)
        mm(a, P["W2"], out=g)
        add(g, P["b2"], g)
        add(g, x1, g)
        mul(g, t, g)
        loss = float(g.sum() * invN)
        mul(t, invN, gx1)  # dy
        mm(a.T, gx1, out=G["W2"])
        add.reduce(gx1, 0, None, G["b2"])
        mm(gx1, P["W2"].T, out=ga)
        mul(th, np.float32(3 * C1), th)
        add(th, one, th)
        mul(th, C0, th)
        mul(th, u, th)
        mul(t4, t4, a)
        sub(one, a, a)
        mul(a, th, a)
        add(a, t4, a)
        add(a, one, a)
        mul(a, half, a)
        mul(ga, a, ga)
        mm(n2.T, ga, out=G["W1"])
        add.reduce(ga, 0, None, G["b1"])
        mm(ga, P["W1"].T, out=g)
        lnb(g, xh2, r2, P["g2"], G["g2"], G["e2"], gx1)
        mm(o.T, gx1, out=G["Wo"])
        add.reduce(gx1, 0, None, G["bo"])
        mm(gx1, P["Wo"].T, out=g)
        go = g.reshape(B, S, NH, Dh).transpose(0, 2, 1, 3)
        mm(go, v.swapaxes(-1, -2), out=gatt)
        gv[...] = mm(att.swapaxes(-1, -2), go)
        np.einsum("bhij,bhij->bhi", gatt, att, out=rowm[..., 0])
        sub(gatt, rowm, gatt)
        mul(gatt, att, gatt)
        mul(gatt, sc, gatt)
        gq[...] = mm(gatt, k)
        gk[...] = mm(gatt.swapaxes(-1, -2), q)
        mm(n1.T, gqkv, out=G["Wqkv"])
        add.reduce(gqkv, 0, None, G["bqkv"])
        mm(gqkv, P["Wqkv"].T, out=g)
        lnb(g, xh1, r1, P["g1"], G["g1"], G["e1"], gx1)
        return loss

    return fb
