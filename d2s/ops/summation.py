"""Einstein summation, as a chain of matrix products: no rule of its own."""

from __future__ import annotations

import math
import string
from typing import Any

from d2s.core.arrays import need_tensors
from d2s.core.public import public
from d2s.errors import ShapeError
from d2s.ops.annotations import Tensor
from d2s.ops.axes import sizes_agree
from d2s.ops.diagonals import diagonal
from d2s.ops.products import matmul
from d2s.ops.reduction import sum
from d2s.ops.shape import broadcast_to, reshape, transpose
from d2s.words import counted


@public()
def einsum(equation: str, *operands: Tensor) -> Tensor:
    """
    Products of the elements of several tensors, summed over letters.

    Parameters
    ----------
    equation : str
        For each tensor a letter per axis, and the letters of the result: ``"ij,jk->ik"``.  Letters that are not in
        the result are summed over.  Without ``->`` the result has the letters that occur once, in order; ``...``
        stands for further axes, which broadcast.
    *operands : Tensor

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If the letters do not fit the tensors, or a letter stands for different sizes.
    """
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], list | tuple) else list(operands)
    need_tensors(*tensors)
    terms, result = _parsed(equation, tensors)
    _check_sizes(equation, terms, tensors)
    parts = [_without_repeats(term, tensor) for term, tensor in zip(terms, tensors, strict=True)]
    term, product = parts.pop(0)
    while parts:
        other_term, other = parts.pop(0)
        needed = set(result).union(*[set(later) for later, _ in parts])
        term, product = _pairwise(term, product, other_term, other, needed)
    term, product = _summed(term, product, set(result))
    return transpose(product, [term.index(letter) for letter in result]) if term != result else product


def _parsed(equation: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """The letters of each tensor and of the result, with letters in place of the dots."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ShapeError(f"einsum {equation!r} is for {counted(len(terms), 'tensor')}, got {len(tensors)}")
    unused = [letter for letter in string.ascii_letters if letter not in equation]
    dotted = [
        tensor.ndim - len(term.replace("...", "")) for term, tensor in zip(terms, tensors, strict=True) if "..." in term
    ]
    dots = "".join(unused[: max(dotted, default=0)])
    if not arrow:
        once = sorted(letter for letter in set(left) - set(",.") if left.count(letter) == 1)
        result = ("..." if dotted else "") + "".join(once)
    spelled = []
    for term, tensor in zip(terms, tensors, strict=True):
        count = tensor.ndim - len(term.replace("...", ""))
        if count < 0 or (count and "..." not in term):
            raise ShapeError(f"einsum {equation!r}: {term!r} does not name the axes of shape {tensor.shape}")
        spelled.append(term.replace("...", dots[len(dots) - count :]))
    result = result.replace("...", dots)
    if len(set(result)) != len(result) or not set(result) <= set("".join(spelled)):
        raise ShapeError(f"einsum {equation!r}: the letters of the result must differ, and occur in a tensor")
    return spelled, result


def _check_sizes(equation: str, terms: list[str], tensors: list[Tensor]) -> None:
    sizes: dict[str, Any] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        for letter, size in zip(term, tensor.spec.shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size != 1 and not sizes_agree(known, size):
                raise ShapeError(f"einsum {equation!r}: {letter!r} stands for the sizes {known} and {size}")


def _without_repeats(term: str, tensor: Tensor) -> tuple[str, Tensor]:
    """A letter that a tensor has twice stands for its diagonal."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            tensor = diagonal(tensor, 0, first, second)
            term = "".join(other for place, other in enumerate(term) if place not in (first, second)) + letter
    return term, tensor


def _summed(term: str, tensor: Tensor, needed: set[str]) -> tuple[str, Tensor]:
    """Sum over the letters that nobody needs."""
    axes = [place for place, letter in enumerate(term) if letter not in needed]
    if not axes:
        return term, tensor
    return "".join(letter for letter in term if letter in needed), sum(tensor, axes)


def _pairwise(x_term: str, x: Tensor, y_term: str, y: Tensor, needed: set[str]) -> tuple[str, Tensor]:
    """Product of two tensors, summed over the letters that only they have: one batch of matrix products."""
    x_term, x = _summed(x_term, x, needed | set(y_term))
    y_term, y = _summed(y_term, y, needed | set(x_term))
    x_sizes, y_sizes = dict(zip(x_term, x.shape, strict=True)), dict(zip(y_term, y.shape, strict=True))
    shared = [letter for letter in x_term if letter in y_term]
    batch = [letter for letter in shared if letter in needed]
    inner = [letter for letter in shared if letter not in needed]
    rows = [letter for letter in x_term if letter not in shared]
    columns = [letter for letter in y_term if letter not in shared]
    sizes = {**x_sizes, **y_sizes, **{k: x_sizes[k] if y_sizes[k] == 1 else y_sizes[k] for k in shared}}
    left = _as_matrices(x_term, x, (batch, rows, inner), sizes)
    right = _as_matrices(y_term, y, (batch, inner, columns), sizes)
    letters = [*batch, *rows, *columns]
    return "".join(letters), reshape(matmul(left, right), [sizes[letter] for letter in letters])


def _as_matrices(term: str, tensor: Tensor, groups: tuple[list[str], ...], sizes: dict[str, Any]) -> Tensor:
    """The axes in the order of `groups`, each group as one axis."""
    order = [letter for group in groups for letter in group]
    tensor = transpose(tensor, [term.index(letter) for letter in order])
    wanted = [sizes[letter] for letter in order]
    if tensor.shape != wanted:
        tensor = broadcast_to(tensor, wanted)
    return reshape(tensor, [math.prod(sizes[letter] for letter in group) for group in groups])


@public()
def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``x1[n] @ weight[k] @ x2[n] + bias[k]`` for each example n and output k: shape (N, K).

    Parameters
    ----------
    x1, x2 : Tensor, shapes (N, I) and (N, J)
    weight : Tensor, shape (K, I, J)
    bias : Tensor, shape (1, K), optional
    """
    product = einsum("ni,kij,nj->nk", x1, weight, x2)
    return product if bias is None else product + bias
