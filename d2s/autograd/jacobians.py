"""Jacobian and Hessian matrices, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from d2s.eager.backward import grad_or_zeros
from d2s.eager.tensor import Tensor
from d2s.errors import ArgumentError, ShapeError
from d2s.ops.creation import zeros, zeros_like
from d2s.ops.joining import stack
from d2s.ops.reduction import sum as total
from d2s.ops.shape import reshape


class Jacobian:
    """The derivatives of `ys` by `xs`; a row is computed when it is asked for, and kept.

    Indexing gives Tensors; ``J[:]`` is the whole matrix, and everything else that a Tensor can do is done with that.

    Parameters
    ----------
    ys, xs : Tensor of at most one axis, or with `is_batched` of one or two axes
    is_batched : bool
        The first axis of both is the batch: one matrix for each entry.

    Raises
    ------
    ShapeError
        If a tensor has more axes.
    """

    __hash__ = object.__hash__

    def __init__(self, ys: Tensor, xs: Tensor, is_batched: bool = False) -> None:
        low = int(is_batched)
        for name, tensor in (("ys", ys), ("xs", xs)):
            if not low <= tensor.ndim <= low + 1:
                raise ShapeError(
                    f"{name} of a {'batched ' if is_batched else ''}Jacobian must have {low} or {low + 1} axes, "
                    f"got shape {tensor.shape}"
                )
        self._ys, self._xs, self._batch = ys, xs, low
        self._rows: dict[int, Tensor] = {}
        self._whole: Tensor | None = None

    @property
    def shape(self) -> list[int]:
        """Sizes: the batch, the elements of `ys`, the elements of `xs`; an axis that is not there is left out."""
        return [*self._ys.shape, *self._xs.shape[self._batch :]]

    def _row(self, number: int) -> Tensor:
        """Derivatives of one element of `ys` (in each entry of the batch)."""
        found = self._rows.get(number)
        if found is None:
            element: Any = self._ys
            if element.ndim > self._batch:
                element = element[:, number] if self._batch else element[number]
            if self._batch:
                element = total(element)
            is_constant = element.stop_gradient
            self._rows[number] = found = (
                zeros_like(self._xs) if is_constant else grad_or_zeros([element], [self._xs])[0])
        return found

    def whole(self) -> Tensor:
        """The whole matrix."""
        if self._whole is None:
            if self._ys.ndim == self._batch:
                self._whole = self._row(0)
            elif count := self._ys.shape[-1]:
                self._whole = stack([self._row(number) for number in range(count)], self._batch)
            else:
                self._whole = zeros(self.shape, self._xs.dtype)
        return self._whole

    def __getitem__(self, index: Any) -> Tensor:
        place = index if isinstance(index, tuple) else (index,)
        if self._ys.ndim > self._batch and len(place) > self._batch and isinstance(place[self._batch], int):
            row, size = place[self._batch], self._ys.shape[-1]
            if -size <= row < size:
                rest = place[: self._batch] + place[self._batch + 1 :]
                return self._row(row % size)[rest] if rest else self._row(row % size)
        found: Tensor = self.whole()[index]
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"


def _on_the_whole(name: str) -> Callable[[Jacobian, Any], Any]:
    def method(self: Jacobian, other: Any) -> Any:
        return getattr(self.whole(), name)(other.whole() if isinstance(other, Jacobian) else other)

    method.__name__ = name
    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv", "matmul", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Jacobian, f"__{_name}__", _on_the_whole(f"__{_name}__"))


class Hessian(Jacobian):
    """The second derivatives of one element by `xs`; see `Jacobian`."""


def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """
    The derivatives of every element of `ys` by every element of `xs`.

    Parameters
    ----------
    ys, xs : Tensor or sequence of Tensor
        Of at most one axis; with `batch_axis` of one or two.
    batch_axis : {None, 0}
        0: the first axis is the batch.

    Returns
    -------
    Jacobian, or tuple of them (for each of several `ys` or `xs`), or tuple of tuples (for both)
        ``J[:]`` is a Tensor of shape ``[M, N]``, or ``[B, M, N]`` with a batch.  It can be differentiated.

    Raises
    ------
    ShapeError
        If a tensor has more axes.
    ValueError
        If `batch_axis` is another number.

    Examples
    --------
    >>> x = to_tensor([1.0, 2.0], stop_gradient=False)
    >>> autograd.jacobian(x * x, x)[:].tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    batched = _is_batched(batch_axis)
    return _for_each(ys, lambda y: _for_each(xs, lambda x: Jacobian(y, x, batched)))


def hessian(ys: Tensor, xs: Any, batch_axis: int | None = None) -> Any:
    """
    The second derivatives of one number `ys` by `xs`.

    Parameters
    ----------
    ys : Tensor of one element; with `batch_axis` one for each entry of the batch
    xs : Tensor or sequence of Tensor
        Of at most one axis; with `batch_axis` of one or two.
    batch_axis : {None, 0}

    Returns
    -------
    Hessian, or tuple of tuples of Hessian for several `xs`

    Raises
    ------
    ShapeError
        If `ys` has more elements.
    ValueError
        If `batch_axis` is another number.

    Examples
    --------
    >>> x = to_tensor([1.0, 2.0], stop_gradient=False)
    >>> autograd.hessian((x * x * x).sum(), x)[:].tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    batched = _is_batched(batch_axis)
    if ys.size != (ys.shape[0] if batched and ys.ndim else 1):
        raise ShapeError(f"hessian needs one element{' for each entry of the batch' * batched}, got shape {ys.shape}")
    ys = reshape(ys, [-1] if batched else [])

    def second(one: Tensor) -> Any:
        first = Jacobian(ys, one, batched).whole()
        return _for_each(xs, lambda other: Hessian(first, other, batched))

    return _for_each(xs, second)


def _is_batched(batch_axis: int | None) -> bool:
    if batch_axis not in (None, 0):
        raise ArgumentError(f"batch_axis must be None or 0, got {batch_axis}")
    return batch_axis is not None


def _for_each(tensors: Tensor | Sequence[Tensor], make: Callable[[Tensor], Any]) -> Any:
    return tuple(map(make, tensors)) if isinstance(tensors, list | tuple) else make(tensors)  # type: ignore[arg-type]
