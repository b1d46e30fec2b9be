"""Models of text that decode: caches, beams, attention, copying, trees, hidden states."""

from __future__ import annotations

import math

import numpy as np

from .register import classes, filled, numbers, program


@program
def gpt_with_a_cache(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Block(nn.Layer):
        def __init__(self, d, heads):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d, epsilon=1e-6)
            self.qkv, self.proj = nn.Linear(d, 3 * d, bias_attr=False), nn.Linear(d, d)
            self.mlp = nn.Sequential(
                nn.Linear(d, 4 * d), nn.GELU(approximate=True), nn.Linear(4 * d, d), nn.Dropout(p=0.1)
            )
            self.heads = heads

        def forward(self, x, cache=None):
            b, t, d = x.shape
            qkv = self.qkv(self.ln1(x)).reshape([b, t, 3, self.heads, d // self.heads]).transpose([2, 0, 3, 1, 4])
            q, k, v = qkv[0], qkv[1], qkv[2]
            if cache is not None:
                k = paddle.concat([cache[0], k], axis=2)
                v = paddle.concat([cache[1], v], axis=2)
            att = paddle.matmul(q, k, transpose_y=True) * (1.0 / math.sqrt(q.shape[-1]))
            total = k.shape[2]
            mask = paddle.tril(paddle.ones([total, total], dtype="bool"))[total - t :]
            att = paddle.where(mask, att, paddle.full([1], -1e4, dtype=att.dtype))
            y = paddle.matmul(F.softmax(att, axis=-1), v).transpose([0, 2, 1, 3]).reshape([b, t, d])
            x = x + self.proj(y)
            return x + self.mlp(self.ln2(x)), (k, v)

    class GPT(nn.Layer):
        def __init__(self, vocab=13, d=8, layers=2):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(16, d)
            self.blocks = nn.LayerList([Block(d, 2) for _ in range(layers)])
            self.ln = nn.LayerNorm(d)

        def forward(self, ids, caches=None):
            past = 0 if caches is None else caches[0][0].shape[2]
            pos = paddle.arange(past, past + ids.shape[1], dtype="int64").unsqueeze(0)
            x = self.wte(ids) + self.wpe(pos)
            new = []
            for i, block in enumerate(self.blocks):
                x, kv = block(x, None if caches is None else caches[i])
                new.append(kv)
            return F.linear(self.ln(x), self.wte.weight.t()), new

    net = static(filled(GPT()))
    net.eval()
    opt = paddle.optimizer.AdamW(
        learning_rate=1e-2,
        beta2=0.95,
        parameters=net.parameters(),
        weight_decay=0.1,
        apply_decay_param_fun=lambda name: "norm" not in name,
        grad_clip=nn.ClipGradByGlobalNorm(1.0),
    )
    ids = paddle.to_tensor(classes(13, 2, 7))
    losses = []
    for _ in range(2):
        logits, _ = net(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape([-1, 13]), ids[:, 1:].reshape([-1]), label_smoothing=0.0)
        loss.backward()
        opt.step()
        opt.clear_grad(set_to_zero=False)
        losses.append(loss)
    with paddle.no_grad():
        logits, caches = net(ids[:, :3])
        step = paddle.argmax(logits[:, -1:], axis=-1)
        made = [step]
        for _ in range(3):
            logits, caches = net(step, caches)
            step = logits[:, -1].argmax(-1, keepdim=True)
            made.append(step)
        whole = paddle.concat([ids[:, :3], *made[:-1]], axis=1)
        full, _ = net(whole)
    return losses, paddle.concat(made, 1), paddle.allclose(full[:, -1], logits[:, 0], atol=1e-5).item()


@program
def bert_pretraining(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Bert(nn.Layer):
        def __init__(self, vocab=17, d=8):
            super().__init__()
            self.word, self.kind, self.place = (
                nn.Embedding(vocab, d, padding_idx=0),
                nn.Embedding(2, d),
                nn.Embedding(10, d),
            )
            self.norm, self.drop = nn.LayerNorm(d), nn.Dropout(0.0)
            layer = nn.TransformerEncoderLayer(d, nhead=2, dim_feedforward=16, dropout=0.0, activation="gelu")
            self.encoder = nn.TransformerEncoder(layer, num_layers=2)
            self.pool = nn.Linear(d, d)
            self.transform = nn.Linear(d, d)
            self.bias = self.create_parameter(shape=[vocab], is_bias=True)
            self.pairs = nn.Linear(d, 2)

        def forward(self, ids, kinds, where):
            mask = (ids == 0).astype(self.word.weight.dtype).unsqueeze([1, 2]) * -1e4
            x = self.word(ids) + self.kind(kinds) + self.place(paddle.arange(ids.shape[1]))
            x = self.encoder(self.drop(self.norm(x)), src_mask=mask)
            pooled = F.tanh(self.pool(x[:, 0]))
            flat = x.reshape([-1, x.shape[-1]])
            chosen = paddle.gather(flat, where, axis=0)
            scores = paddle.matmul(F.gelu(self.transform(chosen)), self.word.weight, transpose_y=True) + self.bias
            return scores, self.pairs(pooled)

    net = static(filled(Bert()))
    sched = paddle.optimizer.lr.LinearWarmup(paddle.optimizer.lr.PolynomialDecay(0.01, 10, 0.0), 2, 0.0, 0.01)
    opt = paddle.optimizer.Lamb(learning_rate=sched, lamb_weight_decay=0.01, parameters=net.parameters())
    ids, kinds = classes(16, 2, 6) + 1, classes(2, 2, 6)
    ids[1, 4:] = 0
    where = np.array([1, 3, 7])
    log = []
    for _ in range(3):
        scores, pairs = net(paddle.to_tensor(ids), paddle.to_tensor(kinds), paddle.to_tensor(where))
        loss = F.cross_entropy(scores, paddle.to_tensor(ids.reshape(-1)[where])) + F.cross_entropy(
            pairs, paddle.to_tensor([0, 1])
        )
        loss.backward()
        opt.step()
        sched.step()
        opt.clear_grad()
        log += [loss, opt.get_lr()]
    return log, net.bias, net.word.weight[0]


@program
def attention_decoder(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Decoder(nn.Layer):
        def __init__(self, vocab, d):
            super().__init__()
            self.embed = nn.Embedding(vocab, d)
            self.cell = nn.LSTMCell(2 * d, d)
            self.score = nn.Linear(d, d, bias_attr=False)
            self.out = nn.Linear(2 * d, vocab)

        def forward(self, target, memory, mask, state):
            context = paddle.zeros_like(memory[:, 0])
            outs = []
            for t in range(target.shape[1]):
                x = paddle.concat([self.embed(target[:, t]), context], axis=-1)
                h, state = self.cell(x, state)
                weights = paddle.bmm(self.score(memory), h.unsqueeze(2)).squeeze(2)
                weights = F.softmax(paddle.where(mask, weights, paddle.full_like(weights, -1e9)))
                context = (weights.unsqueeze(-1) * memory).sum(axis=1)
                outs.append(self.out(paddle.concat([h, context], axis=-1)))
            return paddle.stack(outs, axis=1)

    enc_embed, encoder = filled(nn.Embedding(11, 5)), filled(nn.GRU(5, 5, direction="bidirect"), 1)
    bridge, decoder = filled(nn.Linear(10, 5), 2), filled(Decoder(9, 5), 3)
    layers = nn.LayerList([enc_embed, encoder, bridge, decoder])

    @static
    def model(source, lengths, target):
        outputs, last = encoder(enc_embed(source), sequence_length=lengths)
        memory = bridge(outputs)
        h = paddle.tanh(bridge(paddle.concat([last[0], last[1]], axis=-1)))
        mask = paddle.arange(source.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)
        return decoder(target, memory, mask, (h, paddle.zeros_like(h)))

    opt = paddle.optimizer.RMSProp(0.01, parameters=layers.parameters(), centered=True, momentum=0.5)
    src, tgt = classes(11, 3, 6), classes(9, 3, 5)
    log = []
    for _ in range(2):
        logits = model(paddle.to_tensor(src), paddle.to_tensor([6, 3, 5]), paddle.to_tensor(tgt[:, :-1]))
        loss = F.cross_entropy(logits, paddle.to_tensor(tgt[:, 1:]), ignore_index=2, reduction="none")
        loss = loss.sum() / (paddle.to_tensor(tgt[:, 1:]) != 2).astype("float32").sum()
        loss.backward()
        opt.step()
        opt.clear_grad()
        log.append(loss)
    return log, logits


@program
def truncated_backward(paddle, static):
    nn = paddle.nn
    cell = filled(nn.GRUCell(3, 4))
    head = filled(nn.Linear(4, 1), 1)
    opt = paddle.optimizer.SGD(0.1, parameters=[*cell.parameters(), *head.parameters()])

    def window(xs, h):
        total = 0.0
        for t in range(xs.shape[0]):
            _, h = cell(xs[t], h)
            total = total + (head(h) - xs[t].mean(-1, keepdim=True)).square().mean()
        return total / xs.shape[0], h

    call, series = static(window), paddle.to_tensor(numbers(9, 2, 3))
    h, log = cell.get_initial_states(series[0]), []
    for start in range(0, 9, 3):
        h = h.detach()
        loss, h = call(series[start : start + 3], h)
        loss.backward()
        opt.step()
        opt.clear_grad()
        log.append(float(loss))
    return log, h


@program
def llama_block(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Norm(nn.Layer):
        def __init__(self, d):
            super().__init__()
            self.weight = self.create_parameter([d], default_initializer=nn.initializer.Constant(1.0))

        def forward(self, x):
            return x * paddle.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    class Attention(nn.Layer):
        def __init__(self, d, heads, groups):
            super().__init__()
            self.h, self.g, self.hd = heads, groups, d // heads
            self.q, self.k = nn.Linear(d, d, bias_attr=False), nn.Linear(d, groups * self.hd, bias_attr=False)
            self.v, self.o = nn.Linear(d, groups * self.hd, bias_attr=False), nn.Linear(d, d, bias_attr=False)
            inv = 1.0 / (100.0 ** (paddle.arange(0, self.hd, 2, dtype="float32") / self.hd))
            angles = paddle.outer(paddle.arange(8, dtype="float32"), inv)
            self.register_buffer("cos", paddle.cos(paddle.concat([angles, angles], -1)), persistable=False)
            self.register_buffer("sin", paddle.sin(paddle.concat([angles, angles], -1)), persistable=False)

        def rope(self, x):
            half = x.shape[-1] // 2
            turned = paddle.concat([-x[..., half:], x[..., :half]], axis=-1)
            t = x.shape[1]
            return x * self.cos[:t, None] + turned * self.sin[:t, None]

        def forward(self, x):
            b, t, _ = x.shape
            q = self.rope(self.q(x).reshape([b, t, self.h, self.hd]))
            k = self.rope(self.k(x).reshape([b, t, self.g, self.hd]))
            v = self.v(x).reshape([b, t, self.g, self.hd])
            k, v = (paddle.repeat_interleave(one, self.h // self.g, axis=2) for one in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o(y.reshape([b, t, -1]))

    class Block(nn.Layer):
        def __init__(self, d=8):
            super().__init__()
            self.att, self.n1, self.n2 = Attention(d, 4, 2), Norm(d), Norm(d)
            self.gate, self.up, self.down = (nn.Linear(*s, bias_attr=False) for s in ((d, 12), (d, 12), (12, d)))

        def forward(self, x):
            x = x + self.att(self.n1(x))
            y = self.n2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    block = static(filled(Block()))
    x = paddle.to_tensor(numbers(2, 5, 8), stop_gradient=False)
    y = block(x)
    y.square().mean().backward()
    return y, x.grad, sorted(block.state_dict().keys()), [p.grad for p in block.parameters()]


@program
def beam_search_by_hand(paddle, static):
    F = paddle.nn.functional
    table = paddle.to_tensor(numbers(6, 6))

    @static
    def grow(tokens, scores):
        logp = F.log_softmax(paddle.index_select(table, tokens[:, -1], axis=0), axis=-1)
        total = (scores.unsqueeze(1) + logp).flatten()
        best, where = paddle.topk(total, k=3)
        rows, words = paddle.floor_divide(where, paddle.to_tensor(6)), where % 6
        return paddle.concat([paddle.gather(tokens, rows), words.unsqueeze(1)], axis=1), best

    tokens, scores = paddle.zeros([1, 1], dtype="int64"), paddle.zeros([1])
    for _ in range(4):
        tokens, scores = grow(tokens, scores)
    return tokens, scores


@program
def pointer_and_copy(paddle, static):
    F = paddle.nn.functional
    w = paddle.to_tensor(numbers(4, 7), stop_gradient=False)
    gate = paddle.to_tensor(numbers(4, 1, seed=3), stop_gradient=False)

    @static
    def distribution(h, attention, source):
        p_gen = F.sigmoid(paddle.mm(h, gate))
        vocab = p_gen * F.softmax(paddle.mm(h, w), axis=1)
        copied = (1 - p_gen) * F.softmax(attention, axis=1)
        return paddle.put_along_axis(vocab, source, copied, axis=1, reduce="add")

    h = paddle.to_tensor(numbers(3, 4))
    att = paddle.to_tensor(numbers(3, 5), stop_gradient=False)
    p = distribution(h, att, paddle.to_tensor(classes(7, 3, 5)))
    loss = F.nll_loss(paddle.log(p + 1e-12), paddle.to_tensor([1, 2, 3]))
    loss.backward()
    return p, p.sum(1), loss, w.grad, gate.grad, att.grad


@program
def hidden_markov_model(paddle, static):
    F = paddle.nn.functional
    start, move, emit = (paddle.to_tensor(numbers(*s), stop_gradient=False) for s in ((3,), (3, 3), (3, 4)))

    @static
    def log_likelihood(seq):
        a, b = F.log_softmax(move, axis=1), F.log_softmax(emit, axis=1)
        alpha = F.log_softmax(start, axis=0) + b[:, seq[0]]
        for t in range(1, seq.shape[0]):
            alpha = paddle.logsumexp(alpha.unsqueeze(1) + a, axis=0) + b[:, seq[t]]
        return paddle.logsumexp(alpha, axis=0)

    @static
    def viterbi(seq):
        a, b = F.log_softmax(move, axis=1), F.log_softmax(emit, axis=1)
        delta, back = F.log_softmax(start, axis=0) + b[:, seq[0]], []
        for t in range(1, seq.shape[0]):
            scores = delta.unsqueeze(1) + a
            back.append(scores.argmax(axis=0))
            delta = scores.max(axis=0) + b[:, seq[t]]
        path = [delta.argmax(axis=0)]
        for pointers in back[::-1]:
            path.append(pointers[path[-1]])
        return paddle.stack(path[::-1])

    seq = paddle.to_tensor(classes(4, 6))
    ll = log_likelihood(seq)
    (-ll).backward()
    return ll, viterbi(seq), start.grad, move.grad, emit.grad


@program
def memory_reader(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class MemN2N(nn.Layer):
        def __init__(self, vocab=9, d=4, hops=3):
            super().__init__()
            self.tables = nn.LayerList([nn.Embedding(vocab, d) for _ in range(hops + 1)])
            self.hops = hops

        def forward(self, story, query):
            u = self.tables[0](query).sum(axis=1)
            for hop in range(self.hops):
                m, c = self.tables[hop](story).sum(2), self.tables[hop + 1](story).sum(2)
                p = F.softmax(paddle.sum(m * u.unsqueeze(1), -1), -1)
                u = u + paddle.einsum("bm,bmd->bd", p, c)
            return paddle.matmul(u, self.tables[self.hops].weight, False, True)

    net = static(filled(MemN2N()))
    logits = net(paddle.to_tensor(classes(9, 2, 3, 4)), paddle.to_tensor(classes(9, 2, 3)))
    loss = nn.NLLLoss(weight=paddle.to_tensor(np.linspace(0.5, 1.5, 9, dtype="float32")))(
        F.log_softmax(logits), paddle.to_tensor([3, 8])
    )
    loss.backward()
    return logits, loss, [p.grad for p in net.parameters()]
