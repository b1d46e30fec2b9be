"""Every public function on tensors, with one argument spoilt: what is raised names the function, shapes or dtypes.

The calls are those of the comparison with Paddle; in each an axis, the shape of a tensor, its dtype or the tensor
itself is replaced.
Both modes raise the same error, in the same words, with the user's line.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.errors import D2SError
from tests.oracle.calls import CALLS, Array, Call, Draw
from tests.oracle.calls_of_methods import PROGRAMS
from tests.oracle.test_calls import function_of, tensors_in

AXES = ("axis", "axes", "perm", "source", "destination", "axis1", "axis2", "start_axis", "stop_axis", "dim1", "dim2")
# Names of one function: its errors know one of them.
ALIASES = {
    "amax": "max", "amin": "min", "remainder": "mod", "row_stack": "vstack", "gammaln": "lgamma", "neg": "negative",
    "as_complex": "complex", "expand_as": "expand", "sgn": "sign", "linalg.inv": "inverse",
    "bitwise_invert": "bitwise_not", "Tensor.true_divide": "divide", "Tensor.permute": "transpose",
    **{f"Tensor.{name}": "cast" for name in ("bool", "double", "float", "half", "int", "long", "type_as")},
}
# What operators compute; reflected ones compute the same.
OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "mod",
    "pow": "pow", "lshift": "left_shift", "rshift": "right_shift",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul",
}
ALIASES |= {f"Tensor.__{reflected}{sign}__": name for sign, name in OPERATORS.items() for reflected in ("", "r")}
ALIASES |= {"Tensor.__lt__": "less_than", "Tensor.__le__": "less_equal", "Tensor.__gt__": "greater_than",
            "Tensor.__ge__": "greater_equal", "Tensor.__eq__": "equal", "Tensor.__ne__": "not_equal",
            "Tensor.__neg__": "negative", "Tensor.__invert__": "bitwise_not"}
# The op that computes the function refuses what only the values show, such as an index out of range.
BY_VALUE = {"nn.functional.embedding": "class_index",
            "expand": "broadcast_to", "index_put": "getitem", "gather_nd": "getitem", "index_fill": "setitem",
            "masked_scatter": "take", "take": "getitem", "gather": "take", "index_select": "take"}
# Sizes that are found in the run are no numbers while a function is traced.
OTHER_WORDS = {"index_put"}


def arrays_in(tree: Any) -> Iterator[Array]:
    if isinstance(tree, Array):
        yield tree
    elif isinstance(tree, list | tuple | dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from arrays_in(part)


def replaced(tree: Any, old: Array, new: Any) -> Any:
    if isinstance(tree, dict):
        return {key: replaced(part, old, new) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(replaced(part, old, new) for part in tree)
    return new if tree is old else tree


def spoilt(function: Callable[..., Any], call: Call, is_method: bool) -> Iterator[tuple[str, Call]]:
    """The call with an axis that is not there or no int, and with another shape or dtype of each tensor."""
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, call.args, strict=False)) | call.kwargs
    for name in AXES:
        if name in given and not isinstance(given[name], Array | type(None)):
            kept = {key: value for key, value in given.items() if key != name}
            bad = [9] * len(given[name]) if isinstance(given[name], list) else 9
            yield "shape", Call([], {**kept, name: bad})
            yield "axis", Call([], {**kept, name: 1.5})
    for array in arrays_in([call.args, call.kwargs]):
        data = np.asarray(array.data)
        others = [("shape", np.ones(shape, data.dtype)) for shape in ((3, 5, 7, 2), (), (0,), (2, 7))]
        others += [("dtype", data.real.astype(dtype)) for dtype in ("bool", "complex64", "int64")]
        if not (is_method and array is call.args[0]):
            yield "kind", Call(replaced(call.args, array, "text"), replaced(call.kwargs, array, "text"))
        for what, other in others:
            yield what, Call(replaced(call.args, array, Array(other)), replaced(call.kwargs, array, Array(other)))


def refusal(function: Callable[..., Any], call: Call, is_static: bool) -> tuple[Exception | None, list[Any]]:
    made: list[Any] = []
    args, kwargs = (tensors_in(tree, d2s.to_tensor, made) for tree in (call.args, call.kwargs))

    def program(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    try:
        (d2s.jit.to_static(program) if is_static else program)(*args, **kwargs)
    except Exception as error:
        return error, made
    return None, made


@pytest.mark.parametrize("name", [name for name in CALLS if name not in PROGRAMS])
def test_what_is_wrong_is_said(name: str) -> None:
    function = function_of(d2s, name)
    plain = name.partition("|")[0]
    short = ALIASES.get(plain, plain.rpartition(".")[2].strip("_"))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for what, call in spoilt(function, CALLS[name](Draw(1)), name.startswith("Tensor.")):
            error, tensors = refusal(function, call, False)
            if error is None:
                continue
            assert isinstance(error, D2SError), f"{what}: {error!r}"
            words = error.message
            known = "|".join({short, plain, BY_VALUE.get(short, short), BY_VALUE.get(plain, short)})
            # Operators have signs for names; the function `shape` is nothing but an attribute.
            is_sign = plain.startswith("Tensor.__") and what == "kind"
            assert is_sign or name == "shape" or re.search(rf"(?<![a-z])({known})(?![a-z])", words), words
            shapes = any(str(tensor.shape) in words for tensor in tensors)
            dtypes = any(tensor.dtype.name in words for tensor in tensors) or "bool" in words or "complex" in words
            assert {"shape": shapes or dtypes or short in BY_VALUE, "axis": "int" in words or "axes" in words,
                    "dtype": shapes or dtypes, "kind": "str" in words}[what], words
            assert error.location is not None
            assert error.location.file == __file__
            again, _ = refusal(function, call, True)
            assert type(again) is type(error)
            assert isinstance(again, D2SError)
            assert again.message == words or short in OTHER_WORDS
