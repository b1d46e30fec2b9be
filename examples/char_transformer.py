"""A small Transformer that guesses the next letter of Python's help topics; a hook looks at the embeddings' gradients.

    python examples/char_transformer.py
"""

from __future__ import annotations

import numpy as np
from both_modes import Run, compare
from text_of_topics import LETTERS, entropy_of_letters, numbers, windows

import d2s as paddle
from d2s import nn, optimizer

LENGTH, BATCH, STEPS, WIDTH = 24, 16, 120, 48


class CharTransformer(nn.Layer):
    """Letters and places to vectors, two layers of masked self-attention, and scores of the next letter."""

    def __init__(self, run: Run):
        super().__init__()
        self.run = run
        self.letters = nn.Embedding(len(LETTERS), WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.05, activation="gelu", normalize_before=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(WIDTH))
        self.output = nn.Linear(WIDTH, len(LETTERS))
        self.register_buffer("mask", paddle.triu(paddle.full([LENGTH, LENGTH], float("-inf")), 1), persistable=False)

    def forward(self, letters):
        vectors = self.letters(letters) + self.places(paddle.arange(LENGTH))
        scores = self.output(self.encoder(vectors, self.mask))
        if self.training:
            vectors.register_hook(self.damp)
        return scores

    def damp(self, gradient):
        """Halve the gradients of the first quarter of the letters, which see little of the text."""
        self.run.note("vectors", gradient.abs().mean())
        early = (paddle.arange(LENGTH) < LENGTH // 4).astype("float32").reshape([1, LENGTH, 1])
        return gradient * (1 - 0.5 * early)


def train(run: Run) -> None:
    generator = np.random.default_rng(1)
    text, test = numbers()
    net = CharTransformer(run)
    loss_function = nn.CrossEntropyLoss()
    schedule = optimizer.lr.LinearWarmup(optimizer.lr.CosineAnnealingDecay(0.004, STEPS - 20), 20, 0.0, 0.004)
    adam = optimizer.AdamW(schedule, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))

    def step(letters, following):
        loss = loss_function(net(letters), following)
        loss.backward()
        adam.step()
        return loss

    step = run.convert(step)
    for _ in range(STEPS):
        letters, following = windows(text, LENGTH, BATCH, generator)
        run.losses.append(step(paddle.to_tensor(letters), paddle.to_tensor(following)).item())
        run.note_gradients(net)
        adam.clear_grad()
        schedule.step()
    net.eval()
    with paddle.no_grad():
        letters, following = windows(test, LENGTH, 200, generator)
        loss = loss_function(run.convert(net)(paddle.to_tensor(letters)), paddle.to_tensor(following))
    run.results["nats per letter of the test"] = loss.item()
    run.results["by frequency alone"] = entropy_of_letters(test)


if __name__ == "__main__":
    results = compare(train).results
    assert results["nats per letter of the test"] < results["by frequency alone"] - 0.4
