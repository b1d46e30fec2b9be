"""The text that the examples with characters read: Python's own help topics."""

from __future__ import annotations

from pydoc_data.topics import topics

import numpy as np

TEXT = "".join(topics[name] for name in sorted(topics))
LETTERS = sorted(set(TEXT))


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """The text as numbers of letters: nine tenths to train on, one tenth to test."""
    place = {letter: number for number, letter in enumerate(LETTERS)}
    everything = np.array([place[letter] for letter in TEXT], np.int64)
    end = len(everything) * 9 // 10
    return everything[:end], everything[end:]


def windows(text: np.ndarray, length: int, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`count` pieces of `length` letters, and for each letter the one that follows."""
    starts = generator.integers(0, len(text) - length - 1, count)
    pieces = text[starts[:, None] + np.arange(length + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def entropy_of_letters(text: np.ndarray) -> float:
    """Nats per letter for one who knows only how frequent each letter is."""
    shares = np.bincount(text, minlength=len(LETTERS)) / len(text)
    return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())
