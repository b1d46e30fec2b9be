"""An LSTM that guesses the next letter of Python's help topics; a hook keeps the gradients of its states short.

    python examples/char_lstm.py
"""

from __future__ import annotations

import numpy as np
from both_modes import Run, compare
from text_of_topics import LETTERS, entropy_of_letters, numbers, windows

import d2s as paddle
from d2s import nn, optimizer

LENGTH, BATCH, STEPS = 16, 32, 120


class CharLSTM(nn.Layer):
    """Letters to vectors, an LSTM, and scores of the next letter."""

    def __init__(self, run: Run, width: int = 64):
        super().__init__()
        self.run = run
        self.embedding = nn.Embedding(len(LETTERS), 32)
        self.lstm = nn.LSTM(32, width)
        self.output = nn.Linear(width, len(LETTERS))

    def forward(self, letters):
        states, _ = self.lstm(self.embedding(letters))
        scores = self.output(states)
        if self.training:
            states.register_hook(self.shorten)
        return scores

    def shorten(self, gradient):
        """Scale the gradient of each state down to the length 0.002 (Pascanu et al., 2013)."""
        lengths = paddle.sqrt((gradient * gradient).sum(axis=-1, keepdim=True))
        self.run.note("states", lengths.max())
        return gradient * paddle.clip(0.002 / (lengths + 1e-12), max=1.0)


def train(run: Run) -> None:
    generator = np.random.default_rng(1)
    text, test = numbers()
    net = CharLSTM(run)
    loss_function = nn.CrossEntropyLoss()
    adam = optimizer.Adam(0.01, parameters=net.parameters())

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
    net.eval()
    with paddle.no_grad():
        letters, following = windows(test, LENGTH, 200, generator)
        loss = loss_function(run.convert(net)(paddle.to_tensor(letters)), paddle.to_tensor(following))
    run.results["nats per letter of the test"] = loss.item()
    run.results["by frequency alone"] = entropy_of_letters(test)


if __name__ == "__main__":
    results = compare(train).results
    assert results["nats per letter of the test"] < results["by frequency alone"] - 0.6
