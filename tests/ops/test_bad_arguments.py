"""Every public function on tensors, with one argument spoilt: what is raised names the function, shapes or dtypes.

The calls are those of the comparison with Paddle; in each an axis, the shape of a tensor, its dtype or the tensor
itself is replaced.
Both modes raise the same error, in the same words, with the user's line.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.errors import D2SError, DTypeError
from tests.oracle.calls import CALLS, Array, Call, Draw
from tests.oracle.calls_of_methods import PROGRAMS
from tests.oracle.test_calls import function_of, tensors_in

AXES = ("axis", "axes", "perm", "source", "destination", "axis1", "axis2", "start_axis", "stop_axis", "dim1", "dim2")
# Names of one function: its errors know one of them.
ALIASES = {
    "remainder": "mod", "row_stack": "vstack", "gammaln": "lgamma", "neg": "negative", "bitwise_invert": "bitwise_not",
    "linalg.inv": "inverse",
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
            # Operators have signs for names; the function `shape` is nothing but an attribute.
            is_sign = plain.startswith("Tensor.__") and what == "kind"
            assert is_sign or name == "shape" or re.search(rf"(?<![a-z_]){short}(?![a-z])", words), words
            shapes = any(str(tensor.shape) in words for tensor in tensors)
            dtypes = any(tensor.dtype.name in words for tensor in tensors) or "bool" in words or "complex" in words
            assert {"shape": shapes or dtypes, "axis": "int" in words or "axes" in words,
                    "dtype": shapes or dtypes, "kind": "str" in words}[what], words
            assert error.location is not None
            assert error.location.file == __file__
            again, _ = refusal(function, call, True)
            assert type(again) is type(error)
            assert isinstance(again, D2SError)
            assert again.message == words or short in OTHER_WORDS


# What is looked into while a function is traced, and takes its arguments as any function of the user.
PLAIN = {"array_length", "array_read", "array_write", "create_array"}


def public_functions() -> dict[str, Callable[..., Any]]:
    found = {}
    for path in ("", "nn.functional.", "linalg.", "fft.", "tensor."):
        module = d2s.ops if not path else operator.attrgetter(path[:-1])(d2s)
        for name in getattr(module, "__all__", None) or dir(module):
            one = getattr(module, name)
            if inspect.isfunction(one) and one.__module__.startswith("d2s.ops.") and name not in PLAIN:
                found[path + name] = one
    return found


@pytest.mark.parametrize("name", public_functions())
@pytest.mark.parametrize("convert", [lambda function: function, d2s.jit.to_static], ids=["eager", "static"])
def test_an_argument_that_is_not_there(name: str, convert: Any) -> None:
    function = public_functions()[name]
    parameters = inspect.signature(inspect.unwrap(function)).parameters

    def program(x: Any) -> Any:
        return function(*[x] * min(len(parameters), 1), not_there=1)

    with pytest.raises(DTypeError, match="D2S-D06") as caught:
        convert(program)(d2s.ones([2]))
    error = caught.value
    assert inspect.unwrap(function).__name__ in error.message
    assert error.location is not None
    assert (error.location.file, error.location.line) == (__file__, program.__code__.co_firstlineno + 1)
    assert all(known in (error.advice or "") for known in parameters)


def calls_with(function: Callable[..., Any], wrong: Any) -> Iterator[list[Any]]:
    """Arguments for `function`, in each of them something else in place of one tensor."""
    parameters = list(inspect.signature(inspect.unwrap(function)).parameters.values())
    x = d2s.ones([2, 2])
    rights = {"Tensor": x, "Sequence[Tensor]": [x, x]}
    for place, spoilt in enumerate(parameters):
        if spoilt.annotation in rights:
            before = [rights.get(one.annotation, 0) for one in parameters[:place]]
            after = parameters[place + 1 :]
            yield [*before, wrong, *(rights.get(one.annotation, 0) for one in after if one.default is one.empty)]


@contextlib.contextmanager
def told() -> Iterator[list[Any]]:
    """Which line an error of d2s names."""
    found: list[Any] = []
    try:
        yield found
    except D2SError as error:
        found.append(error.location and (error.location.file, error.location.line))
        raise


@pytest.mark.parametrize("name", public_functions())
@pytest.mark.parametrize("convert", [lambda function: function, d2s.jit.to_static], ids=["eager", "static"])
def test_an_argument_of_another_kind(name: str, convert: Any) -> None:
    function = public_functions()[name]
    for wrong in (3, None, "text", ["text"]):
        for args in calls_with(function, wrong):

            def program(args: Any = args) -> Any:
                return function(*args)

            # Some of it is taken: numbers and lists by functions that make tensors of them.
            with contextlib.suppress(D2SError), told() as place:
                convert(program)()
            assert place in ([], [(__file__, program.__code__.co_firstlineno + 1)])


@pytest.mark.parametrize("convert", [lambda function: function, d2s.jit.to_static], ids=["eager", "static"])
@pytest.mark.parametrize(("call", "words"), [
    (lambda x: d2s.outer(x, 5), "outer: y is of type int, expected a Tensor"),
    (lambda x: d2s.concat(3), "concat: x is of type int, expected a list of Tensors"),
    (lambda x: d2s.nn.functional.dropout(None), "dropout: x is None, expected a Tensor"),
    (lambda x: d2s.nn.functional.instance_norm([1.0]), "instance_norm: x is a list of float, expected a Tensor"),
    (lambda x: d2s.abs_(3), "abs_: an operand must be a tensor or an array, got int"),
    (lambda x: d2s.fft.fft2(x, 5), "fft2: an argument is not of the kind that it takes"),
], ids=["outer", "concat", "dropout", "instance_norm", "abs_", "fft2"])  # fmt: skip
def test_what_is_of_another_kind_is_said(convert: Any, call: Any, words: str) -> None:
    with pytest.raises(DTypeError, match=words) as caught:
        convert(call)(d2s.ones([2, 2]))
    assert caught.value.location is not None
    assert caught.value.location.line == call.__code__.co_firstlineno


@pytest.mark.parametrize("kind", [AttributeError, IndexError, ValueError])
def test_errors_of_code_of_the_user_are_left_alone(kind: type[Exception]) -> None:
    class Odd:
        def __index__(self) -> int:
            raise kind("of the user")

    with pytest.raises(kind, match=r"^of the user$") as caught:
        d2s.roll(d2s.ones([2]), Odd())
    assert not isinstance(caught.value, D2SError)


def test_other_names_of_arguments() -> None:
    x = d2s.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert d2s.sum(input=x, dim=0).tolist() == x.sum(dim=0).tolist() == [4.0, 6.0]
    assert d2s.jit.to_static(lambda x: d2s.concat(tensors=[x, x], dim=1))(x).shape == [2, 4]
    for call in (lambda: d2s.sum(x, input=x), lambda: d2s.sum(x, axis=0, dim=0), lambda: d2s.sum(input=x, x=x)):
        with pytest.raises(DTypeError, match="twice: one name of it is"):
            call()
    with pytest.raises(DTypeError, match="missing 1 required positional argument: 'y'"):
        d2s.matmul(x)
    # The largest along `dim` is something else in the library that says so; Paddle refuses it, too.
    with pytest.raises(DTypeError, match="unexpected keyword argument 'dim'"):
        d2s.max(x, dim=0)


def test_an_error_of_the_function_itself_is_left_alone() -> None:
    with pytest.raises(DTypeError, match="D2S-D01"):
        d2s.exp("text")


def test_layers_are_named() -> None:
    for layer, shape in (
        (d2s.nn.Linear(3, 4), [2, 5]), (d2s.nn.LSTM(3, 4), [2, 5, 7]), (d2s.nn.Conv2D(3, 4, 3), [2, 5, 7, 7]),
        (d2s.nn.MultiHeadAttention(8, 2), [2, 5, 7]), (d2s.nn.LayerNorm(3), [2, 5]), (d2s.nn.GRUCell(3, 4), [2, 5]),
    ):
        messages = []
        for convert in (lambda function: function, d2s.jit.to_static):

            def program(x: Any, layer: Any = layer) -> Any:
                return layer(x)

            with pytest.raises(d2s.ShapeError) as caught:
                convert(program)(d2s.ones(shape))
            assert caught.value.location is not None
            assert caught.value.location.line == program.__code__.co_firstlineno + 1
            messages.append(caught.value.message)
        assert messages[0] == messages[1]
        assert messages[0].startswith(type(layer).__name__)
        assert str(shape) in messages[0] or str(shape[:1] + shape[2:]) in messages[0]


def test_functions_made_of_others_are_named_by_the_run() -> None:
    """Which class or row there is, only the run knows: it names what was called, not the op that looks."""
    functional, bad = d2s.nn.functional, d2s.to_tensor([7])
    for name, program in {
        "cross_entropy": lambda i: functional.cross_entropy(d2s.ones([1, 3]), i),
        "embedding": lambda i: functional.embedding(i, d2s.ones([3, 2])),
        "one_hot": lambda i: functional.one_hot(i, 3),
        "index_select": lambda i: d2s.index_select(d2s.ones([2, 3]), i),
        "gather": lambda i: d2s.gather(d2s.ones([2, 3]), i),
        "gather_nd": lambda i: d2s.gather_nd(d2s.ones([2, 3]), i.reshape([1, 1])),
        "scatter": lambda i: d2s.scatter(d2s.ones([2, 3]), i, d2s.ones([1, 3])),
        "scatter_nd_add": lambda i: d2s.scatter_nd_add(d2s.ones([2, 3]), i.reshape([1, 1]), d2s.ones([1, 3])),
        "scatter_": lambda i: d2s.ones([2, 3]).scatter_(i, d2s.ones([1, 3])),
    }.items():
        messages = []
        for convert in (lambda function: function, d2s.jit.to_static):
            with pytest.raises(d2s.IndexOutOfRangeError) as caught:
                convert(program)(bad)
            messages.append(caught.value.message)
        assert messages[0] == messages[1]
        assert messages[0].startswith((f"{name}:", f"{name} of shape"))


def public_classes() -> dict[str, type]:
    found = {}
    for path in ("nn", "optimizer", "optimizer.lr", "io", "metric", "nn.initializer"):
        module = operator.attrgetter(path)(d2s)
        for name in getattr(module, "__all__", None) or dir(module):
            one = getattr(module, name)
            if isinstance(one, type) and one.__module__.startswith("d2s.") and "__init__" in vars(one):
                kinds = {part.kind for part in inspect.signature(one).parameters.values()}
                if inspect.Parameter.VAR_KEYWORD not in kinds:
                    found[f"{path}.{name}"] = one
    return found


@pytest.mark.parametrize("name", public_classes())
def test_a_class_is_given_what_it_does_not_take(name: str) -> None:
    made = public_classes()[name]
    for convert in (lambda function: function, d2s.jit.to_static):

        def program() -> Any:
            return made(not_there=1)

        with pytest.raises(DTypeError, match=rf"(?s){made.__qualname__}\.__init__\(\).*D2S-D06.*It takes") as caught:
            convert(program)()
        assert caught.value.location is not None
        assert (caught.value.location.file, caught.value.location.line) == (
            __file__, program.__code__.co_firstlineno + 1)


def test_a_class_of_the_user_answers_for_itself() -> None:
    class Mine(d2s.nn.Linear):
        def __init__(self) -> None:
            super().__init__(2, 3, wrong=1)

    with pytest.raises(TypeError, match="unexpected keyword argument 'other'") as caught:
        Mine(other=1)
    assert not isinstance(caught.value, D2SError)
    with pytest.raises(DTypeError, match=r"Linear.__init__\(\) got an unexpected keyword argument 'wrong'") as again:
        Mine()
    assert again.value.location.line == Mine.__init__.__code__.co_firstlineno + 1
