"""Run a function eagerly and through `to_static`, and compare everything that a user can see.

Seen are: results (dtype, shape, bits, stop_gradient, which of them are one object or an argument), gradients of all
arguments, entries of the program's log and printed text in their order, errors (type and text) at the call that
raises them, in forward or backward.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass
from types import CodeType
from typing import Any

import numpy as np
import pytest

import d2s

# What the programs write to: hooks, effects.
LOG: list[Any] = []


@dataclass(frozen=True, eq=False)
class Leaf:
    """Data of a tensor argument: it becomes a new tensor in each mode."""

    data: Any
    stop_gradient: bool = False
    dtype: str | None = None

    def make(self) -> Any:
        return d2s.to_tensor(self.data, dtype=self.dtype, stop_gradient=self.stop_gradient)


@dataclass
class Seen:
    """What one mode has shown, as nested plain values."""

    calls: list[Any] = field(default_factory=list)
    traces: int = 0


def assert_same(
    make: Callable[[], Callable[..., Any]], calls: Sequence[tuple[Any, ...]], *, together: bool = False,
    backwards: int = 1, exact: bool = True,
) -> None:
    """
    Assert that the function that `make` gives does the same in both modes.

    Parameters
    ----------
    make : callable
        Called once in each mode, so that closures and objects begin anew.
    calls : sequence of tuples
        Arguments of the calls; a `Leaf` stands for a tensor, and the same `Leaf` for the same tensor in all calls.
    together : bool
        Backward once from the results of all calls, not after each.
    backwards : int
        How often backward runs from the same results.
    exact : bool
        False: what is logged need not come in the same order, and sums may be made in another order.
    """
    eager = observe(make(), calls, together, backwards)
    static = observe(d2s.to_static(make()), calls, together, backwards)
    for number, (expected, got) in enumerate(zip(eager.calls, static.calls, strict=True)):
        if not exact:
            for entry in (expected, got):
                entry["log"][1].sort(key=lambda logged: split_numbers(repr(logged), 2))
        if got != expected and (exact or not are_close(expected, got)):
            given = calls[number] if number < len(calls) else "backward of all"
            lines = [f"call {number}, {given}"]
            for part in dict.fromkeys((*expected, *got)):
                if expected.get(part) != got.get(part):
                    lines += [f"{part} eager:  {expected.get(part)}", f"{part} static: {got.get(part)}"]
            raise AssertionError("\n".join(lines))


def split_numbers(text: str, digits: int) -> tuple[list[str], list[float]]:
    """The text between the fractions in `text`, and these, rounded."""
    pattern = r"-?\d+\.\d+(?:e[-+]?\d+)?"
    return re.split(pattern, text), [float(f"{float(found):.{digits}g}") for found in re.findall(pattern, text)]


def are_close(expected: Any, got: Any) -> bool:
    """True if two entries differ in nothing but the last digits of fractions."""
    (words, numbers), (others, found) = (split_numbers(repr(entry), 17) for entry in (expected, got))
    return words == others and np.allclose(numbers, found, rtol=1e-3, atol=1e-5, equal_nan=True)


def assert_refused(function: Callable[..., Any], args: Sequence[Any]) -> None:
    """Assert that static mode refuses this call: by file and line of the user, before any effect."""
    LOG.clear()
    code = function.__code__
    made: dict[Leaf, Any] = {}
    static, given = d2s.to_static(function), [map_leaves(arg, made) for arg in args]
    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        pytest.raises(d2s.UnsupportedSyntaxError) as raised,
    ):
        static(*given)
    assert isinstance(raised.value, NotImplementedError)
    location = raised.value.location
    assert location is not None
    assert location.file == code.co_filename
    assert location.line in lines_of(code)
    assert not LOG
    assert not printed.getvalue()


def lines_of(code: CodeType) -> set[int]:
    """The lines of a function and of those inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return {line for _, _, line in code.co_lines() if line}.union(*map(lines_of, inner))


def observe(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], together: bool, backwards: int) -> Seen:
    """Call `function` with each tuple of arguments and differentiate what it returns."""
    d2s.seed(0)
    seen = Seen()
    leaves: dict[Leaf, Any] = {}
    results: list[Any] = []
    for call in calls:
        args = tuple(map_leaves(arg, leaves) for arg in call)
        with collected(seen, args) as entry:
            result = function(*args)
            entry["result"] = plain(result, Names(args))
            results.append(result)
            if not together:
                differentiate([result], backwards)
                results.clear()
    if together:
        with collected(seen, tuple(leaves.values())):
            differentiate(results, backwards)
    return seen


@contextlib.contextmanager
def collected(seen: Seen, args: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """One entry of what is seen: what happens inside, and the gradients of `args` afterwards."""
    entry: dict[str, Any] = {}
    LOG.clear()
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            yield entry
        except Exception as error:
            entry["error"] = type(error), message(error), [
                (type(part), message(part), getattr(part, "__notes__", [])) for part in chain(error)]
    entry["warned"] = [(w.category, str(w.message)) for w in warned]
    entry["printed"] = printed.getvalue()
    entry["log"] = plain(list(LOG), Names(args))
    entry["args"] = plain(args, Names(()))
    entry["grads"] = [plain(tensor.grad, Names(())) for tensor in tensors_in(args)]
    seen.calls.append(entry)


def message(error: BaseException) -> str:
    """The text of an error: without the place, which only static mode gives, all tensors and files named alike."""
    text = error.message if isinstance(error, d2s.errors.D2SError) else str(error)
    text = re.sub(r"generated_\d+", "generated", re.sub(r"(modified in place): .*", r"\1", text))
    return re.sub(r"tensor_[0-9a-f]+", "tensor", text)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error of the user, those in it, and what led to it; what one of d2s is made from is its own affair."""
    if error is None:
        return
    yield error
    if not isinstance(error, d2s.errors.D2SError):
        for part in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
            yield from chain(part)
        yield from chain(error.__cause__)
        yield from chain(None if error.__suppress_context__ else error.__context__)


def differentiate(results: Any, times: int) -> None:
    """Backward from every tensor in `results` that can be differentiated; each element gets a gradient of its own."""
    roots = list({id(t): t for t in tensors_in(results) if not (t.is_leaf or t.stop_gradient)}.values())
    seeds = [d2s.to_tensor(np.arange(1, t.size + 1, dtype=str(t.dtype)).reshape(t.shape) / 2) for t in roots]
    for left in reversed(range(times)):
        if roots:
            d2s.autograd.backward(roots, seeds, retain_graph=left > 0)


def map_leaves(tree: Any, made: dict[Leaf, Any]) -> Any:
    """`tree` with tensors in place of leaves."""
    if isinstance(tree, Leaf):
        if tree not in made:
            made[tree] = tree.make()
        return made[tree]
    if isinstance(tree, list):
        return [map_leaves(part, made) for part in tree]
    if isinstance(tree, tuple):
        parts = [map_leaves(part, made) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, dict):
        return {key: map_leaves(part, made) for key, part in tree.items()}
    return tree


def tensors_in(tree: Any) -> Iterator[Any]:
    """The tensors in nested containers and dataclasses."""
    if isinstance(tree, d2s.Tensor):
        yield tree
    elif isinstance(tree, list | tuple | set):
        for part in tree:
            yield from tensors_in(part)
    elif isinstance(tree, dict):
        yield from tensors_in(list(tree.values()))
    elif is_dataclass(tree) and not isinstance(tree, type):
        yield from tensors_in(vars(tree))


class Names:
    """Gives each tensor object a number, arguments first: two results that are one object get the same."""

    def __init__(self, args: Any) -> None:
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []
        for tensor in tensors_in(args):
            self.of(tensor)

    def of(self, tensor: Any) -> int:
        self._kept.append(tensor)
        return self._known.setdefault(id(tensor), len(self._known))


def plain(tree: Any, names: Names) -> Any:
    """A value as nested plain values that compare bit by bit."""
    if isinstance(tree, d2s.Tensor):
        array = tree.numpy()
        return "Tensor", names.of(tree), str(array.dtype), array.shape, repr(array.tolist()), tree.stop_gradient
    if isinstance(tree, np.ndarray | np.generic):
        return "array", str(tree.dtype), tree.shape, repr(tree.tolist())
    if isinstance(tree, list | tuple):
        return type(tree).__name__, [plain(part, names) for part in tree]
    if isinstance(tree, set):
        return "set", sorted((plain(part, names) for part in tree), key=repr)
    if isinstance(tree, dict):
        return "dict", [(key, plain(part, names)) for key, part in tree.items()]
    if isinstance(tree, BaseException):
        return type(tree).__name__, plain(tree.args, names)
    if isinstance(tree, bool | int | float | complex | str | bytes | None):
        return type(tree).__name__, repr(tree)
    if hasattr(tree, "__dict__") and not callable(tree):
        return type(tree).__qualname__, plain(vars(tree), names)
    return type(tree).__qualname__
