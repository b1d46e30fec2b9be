"""Words and sequences: recurrent networks, attention, Transformers, embeddings, decoding."""

from __future__ import annotations

import numpy as np

from .register import classes, filled, numbers, program


@program
def lstm_text_classification(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class MyRNN(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20, 6, padding_idx=0)
            self.rnn = nn.LSTM(6, 5, num_layers=2, direction="bidirectional")
            self.linear = nn.Linear(in_features=5 * 2, out_features=2)
            self.dropout = nn.Dropout(0.0)

        def forward(self, inputs):
            emb = self.dropout(self.embedding(inputs))
            output, (hidden, _) = self.rnn(emb)
            hidden = paddle.concat((hidden[-2, :, :], hidden[-1, :, :]), axis=1)
            hidden = self.dropout(hidden)
            return self.linear(hidden)

    model = static(filled(MyRNN()))
    opt = paddle.optimizer.Adam(learning_rate=0.01, parameters=model.parameters())
    sent, label = paddle.to_tensor(classes(20, 4, 7)), paddle.to_tensor(classes(2, 4, 1))
    losses = []
    for _ in range(3):
        logits = model(sent)
        loss = F.cross_entropy(logits, label)
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss)
    return losses, model(sent), model.embedding.weight[0]


@program
def gru_with_lengths(paddle, static):
    nn = paddle.nn

    class Encoder(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding, self.gru = nn.Embedding(12, 4), nn.GRU(4, 5, time_major=False)

        def forward(self, ids, lengths):
            outputs, state = self.gru(self.embedding(ids), sequence_length=lengths)
            mask = nn.functional.sequence_mask(lengths, maxlen=ids.shape[1], dtype="float32").unsqueeze(-1)
            return (outputs * mask).sum(1) / mask.sum(1), state

    model = static(filled(Encoder()))
    mean, state = model(paddle.to_tensor(classes(12, 3, 6)), paddle.to_tensor([6, 2, 4]))
    (mean * mean).sum().backward()
    return mean, state, [p.grad for p in model.parameters()]


@program
def sequence_to_sequence(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Encoder(nn.Layer):
        def __init__(self):
            super().__init__()
            self.emb, self.lstm = nn.Embedding(11, 6), nn.LSTM(6, 5)

        def forward(self, x):
            return self.lstm(self.emb(x))

    class AttentionDecoder(nn.Layer):
        def __init__(self):
            super().__init__()
            self.emb, self.lstm = nn.Embedding(9, 6), nn.LSTM(input_size=6 + 5, hidden_size=5)
            self.attention_linear1, self.attention_linear2 = nn.Linear(10, 5), nn.Linear(5, 1)
            self.outlinear = nn.Linear(5, 9)

        def forward(self, x, previous_hidden, previous_cell, encoder_outputs):
            x = self.emb(x)
            hidden = paddle.transpose(previous_hidden, [1, 0, 2])
            tiled = paddle.tile(hidden, repeat_times=[1, encoder_outputs.shape[1], 1])
            attention = F.tanh(self.attention_linear1(paddle.concat((encoder_outputs, tiled), axis=-1)))
            weights = F.softmax(self.attention_linear2(attention), axis=1)
            context = paddle.sum(weights * encoder_outputs, axis=1, keepdim=True)
            x, (hidden, cell) = self.lstm(paddle.concat((x, context), axis=-1), (previous_hidden, previous_cell))
            return self.outlinear(x).squeeze(1), hidden, cell

    encoder, decoder = static(filled(Encoder())), static(filled(AttentionDecoder(), 1))
    opt = paddle.optimizer.Adam(learning_rate=0.01, parameters=encoder.parameters() + decoder.parameters())
    source, target = paddle.to_tensor(classes(11, 3, 5)), paddle.to_tensor(classes(9, 3, 4))
    losses = []
    for _ in range(2):
        outputs, (hidden, cell) = encoder(source)
        loss = paddle.zeros([1])
        for i in range(target.shape[1] - 1):
            logits, hidden, cell = decoder(target[:, i : i + 1], hidden, cell, outputs)
            loss += F.cross_entropy(logits, target[:, i + 1])
        loss = loss / (target.shape[1] - 1)
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss)
    return losses


@program
def transformer_encoder_classifier(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(30, 8), nn.Embedding(10, 8)
            layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", normalize_before=True)
            self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8))
            self.classifier = nn.Linear(8, 3)

        def forward(self, ids):
            ones = paddle.ones_like(ids, dtype="int64")
            positions = paddle.cumsum(ones, axis=-1) - ones
            mask = paddle.unsqueeze((ids == 0).astype("float32") * -1e4, axis=[1, 2])
            x = self.encoder(self.token(ids) + self.position(positions), src_mask=mask)
            return self.classifier(paddle.mean(x, axis=1))

    model = static(filled(Net()))
    lr = paddle.optimizer.lr.LinearWarmup(
        paddle.optimizer.lr.PolynomialDecay(0.01, decay_steps=5, end_lr=0.0), warmup_steps=2, start_lr=0.0, end_lr=0.01)
    opt = paddle.optimizer.AdamW(lr, parameters=model.parameters(), beta2=0.98)
    ids, y = paddle.to_tensor(classes(30, 4, 6)), paddle.to_tensor(classes(3, 4))
    seen = []
    for _ in range(4):
        loss = F.cross_entropy(model(ids), y)
        loss.backward()
        opt.step()
        lr.step()
        opt.clear_gradients()
        seen.append([loss, opt.get_lr()])
    return seen


@program
def transformer_translation(paddle, static):
    nn = paddle.nn
    model = filled(nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=2, dim_feedforward=12,
                                  dropout=0.0))
    source, target = paddle.to_tensor(numbers(2, 4, 8)), paddle.to_tensor(numbers(2, 5, 8))
    mask = model.generate_square_subsequent_mask(5)
    memory_mask = paddle.ones([2, 1, 5, 4], dtype="bool")
    layer = static(model)
    out = layer(source, target, tgt_mask=mask, memory_mask=memory_mask)
    loss = (out ** 2).mean()
    loss.backward()
    grads = {name: p.grad.norm() for name, p in sorted(model.named_parameters()) if "encoder.layers.0" in name}
    return out, loss, list(grads), list(grads.values())


@program
def attention_with_a_cache(paddle, static):
    nn = paddle.nn
    attention = filled(nn.MultiHeadAttention(8, 2))
    attention.eval()
    x = paddle.to_tensor(numbers(2, 3, 8))
    cache = attention.gen_cache(x[:, :0])
    steps = []
    call = static(lambda query, cache: attention(query, query, query, None, cache))
    for i in range(3):
        out, cache = call(x[:, i : i + 1], cache)
        steps.append(out)
    causal = paddle.tensor.triu(paddle.full([3, 3], -1e9), 1)
    return steps, attention(x, attn_mask=causal), cache.k.shape


@program
def word_vectors(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class SkipGram(nn.Layer):
        def __init__(self, vocab_size, embedding_size, init_scale=0.1):
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, embedding_size, weight_attr=paddle.ParamAttr(
                name="embedding_para", initializer=nn.initializer.Uniform(low=-0.5 / 6, high=0.5 / 6)))
            self.embedding_out = nn.Embedding(vocab_size, embedding_size, weight_attr=paddle.ParamAttr(
                initializer=nn.initializer.Uniform(low=-init_scale, high=init_scale)))

        def forward(self, center_words, target_words, label):
            center = self.embedding(center_words)
            target = self.embedding_out(target_words)
            word_sim = paddle.sum(paddle.multiply(center, target), axis=-1)
            pred = F.sigmoid(paddle.reshape(word_sim, shape=[-1]))
            return pred, F.binary_cross_entropy(pred, label).mean()

    model = static(filled(SkipGram(15, 6)))
    adam = paddle.optimizer.Adam(learning_rate=0.01, parameters=model.parameters())
    center, target = paddle.to_tensor(classes(15, 8)), paddle.to_tensor(classes(15, 8, seed=1))
    label = paddle.to_tensor(classes(2, 8).astype("float32"))
    losses = []
    for _ in range(3):
        _, loss = model(center, target, label)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss)
    x, y = model.embedding.weight[3], model.embedding.weight
    similarity = paddle.matmul(y, x) / paddle.sqrt(paddle.sum(y * y, axis=1) * paddle.sum(x * x) + 1e-9)
    return losses, paddle.topk(similarity, k=3)


@program
def greedy_decoding(paddle, static):
    nn = paddle.nn

    class Decoder(nn.Layer):
        def __init__(self):
            super().__init__()
            self.emb, self.cell, self.out = nn.Embedding(7, 4), nn.GRUCell(4, 5), nn.Linear(5, 7)

        def forward(self, token, state):
            words = []
            step = paddle.zeros([], dtype="int64")
            while step < 6:
                _, state = self.cell(self.emb(token), state)
                token = paddle.argmax(self.out(state), axis=-1)
                words.append(token)
                step = step + 1
                if token[0] == 2:
                    break
            return paddle.stack(words, axis=1), state

    model = static(filled(Decoder(), 5))
    words, state = model(paddle.to_tensor([1, 3]), paddle.to_tensor(numbers(2, 5)))
    return words, state


@program
def linear_chain_likelihood(paddle, static):
    def forward_algorithm(emissions, transitions):
        alpha = emissions[0]
        for i in range(1, emissions.shape[0]):
            alpha = paddle.logsumexp(alpha.unsqueeze(1) + transitions, axis=0) + emissions[i]
        return paddle.logsumexp(alpha, axis=-1)

    def score(emissions, transitions, tags):
        index = paddle.stack([paddle.arange(tags.shape[0]), tags], axis=1)
        total = paddle.gather_nd(emissions, index).sum()
        pairs = paddle.stack([tags[:-1], tags[1:]], axis=1)
        return total + paddle.gather_nd(transitions, pairs).sum()

    emissions = paddle.to_tensor(numbers(6, 4), stop_gradient=False)
    transitions = paddle.to_tensor(numbers(4, 4), stop_gradient=False)
    tags = paddle.to_tensor(classes(4, 6))
    nll = static(lambda e, t, y: forward_algorithm(e, t) - score(e, t, y))(emissions, transitions, tags)
    nll.backward()
    return nll, emissions.grad, transitions.grad


@program
def rotary_embeddings(paddle, static):
    def rotary(x, theta=10000.0):
        b, s, h, d = x.shape
        inv_freq = 1.0 / (theta ** (paddle.arange(0, d, 2, dtype="float32") / d))
        freqs = paddle.einsum("i,j->ij", paddle.arange(s, dtype="float32"), inv_freq)
        emb = paddle.concat([freqs, freqs], axis=-1)
        cos, sin = emb.cos()[None, :, None, :], emb.sin()[None, :, None, :]
        x1, x2 = x[..., : d // 2], x[..., d // 2 :]
        return x * cos + paddle.concat([-x2, x1], axis=-1) * sin

    def block(q, k, v):
        q, k = rotary(q), rotary(k)
        return paddle.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    q, k, v = (paddle.to_tensor(numbers(2, 5, 2, 4, seed=i), stop_gradient=False) for i in range(3))
    out = static(block)(q, k, v)
    out.sum().backward()
    return out, q.grad, k.grad, v.grad


@program
def masked_language_model(paddle, static):
    nn, F = paddle.nn, paddle.nn.functional

    class Tied(nn.Layer):
        def __init__(self, vocab, width):
            super().__init__()
            self.embeddings = nn.Embedding(vocab, width)
            self.transform = nn.Linear(width, width)
            self.norm = nn.LayerNorm(width, epsilon=1e-12)
            self.decoder_weight = self.embeddings.weight
            self.decoder_bias = self.create_parameter(shape=[vocab], is_bias=True)

        def forward(self, ids, masked_positions):
            hidden = self.embeddings(ids)
            flat = paddle.reshape(hidden, [-1, hidden.shape[-1]])
            picked = paddle.gather(flat, masked_positions)
            x = self.norm(F.gelu(self.transform(picked)))
            return paddle.tensor.matmul(x, self.decoder_weight, transpose_y=True) + self.decoder_bias

    model = static(filled(Tied(10, 4)))
    logits = model(paddle.to_tensor(classes(10, 2, 5)), paddle.to_tensor(np.array([0, 3, 7])))
    loss = F.cross_entropy(logits, paddle.to_tensor([[4], [-100], [2]]), ignore_index=-100, reduction="mean")
    loss.backward()
    return loss, model.embeddings.weight.grad, len(model.parameters())
