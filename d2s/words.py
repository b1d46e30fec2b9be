"""Numbers with the nouns that they count, as messages show them."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "Program"), counted(2, "Program"), counted(3, "axis", "axes")
    ('1 Program', '2 Programs', '3 axes')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def times(number: int) -> str:
    """How often.

    >>> times(1), times(2)
    ('once', '2 times')
    """
    return "once" if number == 1 else f"{number} times"
