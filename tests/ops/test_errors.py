"""Wrong calls: the kind of the error, and a message with the shapes or dtypes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import d2s
from d2s import ops
from d2s.errors import D2SError, DTypeError, IndexOutOfRangeError, ShapeError


def x(*shape: int) -> Any:
    return d2s.ones(list(shape))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: x(2, 3) + x(2, 4), ShapeError, "operands of add of shapes [2, 3] and [2, 4] cannot be broadcast"),
        (lambda: x(2, 3) @ x(2, 3), ShapeError, "matmul of shapes [2, 3] and [2, 3]: 3 columns meet 2 rows"),
        (lambda: d2s.matmul(x(3, 2), x(3, 2), True, True), ShapeError, "matmul of shapes [3, 2] transposed"),
        (lambda: x(2) @ d2s.to_tensor(1.0), ShapeError, "at least one axis, got shapes [2] and []"),
        (lambda: x(2, 3).reshape([4, -1]), ShapeError, "cannot reshape a tensor of shape [2, 3] to [4, -1]"),
        (lambda: x(2, 3).reshape([5]), ShapeError, "cannot reshape a tensor of shape [2, 3] to [5]"),
        (lambda: x(2, 3).reshape([-1, -1]), ShapeError, "one may be -1"),
        (lambda: x(2, 3).reshape([2, 1.5]), DTypeError, "a size must be an int, got float"),
        (lambda: x(2, 3).sum(2), IndexOutOfRangeError, "axis 2 is out of range for a tensor of 2 axes"),
        (lambda: x(2, 3).sum([0, -2]), ShapeError, "names an axis twice"),
        (lambda: x(2, 3).mean("0"), DTypeError, "axis must be an int, got str"),
        (lambda: x(0, 3).max(0), ShapeError, "of no elements: shape [0, 3]"),
        (lambda: x(0).argmax(), ShapeError, "of no elements: shape [0]"),
        (lambda: x(2, 3).transpose([0, 0]), ShapeError, "perm [0, 0] does not name each axis of shape [2, 3] once"),
        (lambda: x(2, 3).transpose([0, 2]), IndexOutOfRangeError, "perm 2 is out of range"),
        (lambda: x(2, 3, 4).t(), ShapeError, "use transpose"),
        (lambda: x(2, 3).expand([2, 4]), ShapeError, "shape [2, 3] cannot be broadcast to [2, 4]"),
        (
            lambda: d2s.concat([x(2, 3), x(2, 4)]),
            ShapeError,
            "concat along axis 0 of shapes [2, 3] and [2, 4]: 3 is not 4",
        ),
        (lambda: d2s.concat([x(2, 3), x(2)]), ShapeError, "as many axes"),
        (lambda: d2s.concat([]), ShapeError, "concat needs at least one tensor"),
        (lambda: d2s.stack([x(2), x(3)]), ShapeError, "stack of different shapes: 2 is not 3"),
        (lambda: d2s.split(x(5), 2), ShapeError, "split into [2, 2] along axis 0 of shape [5]: the sum is not 5"),
        (lambda: d2s.split(x(5), [2, 2]), ShapeError, "the sum is not 5"),
        (lambda: d2s.topk(x(3), 4), ShapeError, "k must lie between 1 and the size"),
        (lambda: d2s.tril(x(3)), ShapeError, "at least 2 axes, got shape [3]"),
        (
            lambda: d2s.to_tensor([True]) - d2s.to_tensor([True]),
            DTypeError,
            "subtract is not defined for bool and bool",
        ),
        (lambda: x(2) & x(2), DTypeError, "bitwise_and is not defined for float32 and float32"),
        (lambda: ~x(2), DTypeError, "bitwise_not is not defined for float32"),
        (lambda: d2s.where(x(2), x(2), x(2)), DTypeError, "condition of where must be bool, got float32"),
        (lambda: d2s.exp("text"), DTypeError, "must be a tensor, an array or a number, got str"),
        (lambda: d2s.take_along_axis(x(2, 3), d2s.to_tensor([0]), 0), ShapeError, "as many axes in both"),
        (lambda: d2s.take_along_axis(x(2), d2s.to_tensor([2]), 0), IndexOutOfRangeError, "index 2 is out of bounds"),
        (lambda: d2s.gather(x(2), d2s.to_tensor([0.5])), DTypeError, "needs integer indices, got float32"),
        (lambda: d2s.gather(x(2, 3), d2s.to_tensor([2])), IndexOutOfRangeError, "out of bounds"),
        (lambda: d2s.zeros([-1]), ShapeError, "cannot have negative sizes, got [-1]"),
        (lambda: d2s.full([2], "1"), DTypeError, "fill_value must be a number, got str"),
        (lambda: d2s.arange(0, 5, 0), ShapeError, "step 0"),
        (lambda: d2s.inverse(x(2, 3)), ShapeError, "inverse needs square matrices, got shape [2, 3]"),
        (lambda: d2s.solve(x(2, 2), x(3, 1)), ShapeError, "does not fit"),
        (lambda: d2s.einsum("ij,jk->ik", x(2, 3), x(2, 3)), ShapeError, "'j' stands for the sizes 3 and 2"),
        (lambda: d2s.einsum("ij->k", x(2, 3)), ShapeError, "letters of the result"),
        (lambda: d2s.einsum("ij,j->i", x(2, 3)), ShapeError, "is for 2 tensors, got 1"),
        (
            lambda: ops.conv2d(x(1, 3, 4, 4), x(2, 4, 2, 2)),
            ShapeError,
            "the weight must be (out, 3 / 1, height, width)",
        ),
        (
            lambda: ops.conv2d(x(1, 1, 2, 2), x(1, 1, 3, 3)),
            ShapeError,
            "a window of 3 (dilation 1) does not fit into 2",
        ),
        (lambda: ops.conv2d(x(1, 2, 2), x(1, 1, 3, 3)), ShapeError, "4 axes (batch, channels, height, width)"),
        (lambda: ops.max_pool2d(x(1, 2, 2), 2), ShapeError, "4 axes"),
        (lambda: ops.layer_norm(x(2, 3), 4), ShapeError, "layer_norm over [4] does not fit a tensor of shape [2, 3]"),
        (lambda: ops.group_norm(x(1, 3, 2), 2), ShapeError, "3 channels cannot be split into 2 groups"),
        (lambda: ops.softmax(x(2, 3), 2), IndexOutOfRangeError, "axis 2 is out of range"),
        (
            lambda: ops.cross_entropy(x(2, 3), d2s.to_tensor([1, 1, 1])),
            ShapeError,
            "needs labels of shape [2], got [3]",
        ),
        (lambda: ops.cross_entropy(x(2, 3), x(3)), ShapeError, "needs soft labels of that shape, got [3]"),
        (lambda: ops.embedding(x(2), x(3, 4)), DTypeError, "classes must be integers, got float32"),
        (lambda: ops.one_hot(d2s.to_tensor([3]), 3), IndexOutOfRangeError, "class 3 is out of range for 3 classes"),
        (lambda: ops.dropout(x(2), 1.5), ValueError, "must lie in [0, 1], got 1.5"),
        (
            lambda: ops.pad(x(2, 3, 4), [1, 2, 3]),
            ShapeError,
            "pad of 3 widths does not fit a tensor of shape [2, 3, 4]",
        ),
        (
            lambda: ops.pad(x(2, 3, 4), [1, 2], mode="edge"),
            ValueError,
            "'reflect', 'replicate', 'circular', got 'edge'",
        ),
        (lambda: d2s.randint(3, 3), ValueError, "low < high, got 3 and 3"),
        (lambda: d2s.rand([2], "int64"), DTypeError, "floating point dtype, got int64"),
        (lambda: d2s.quantile(x(3), 1.5), ValueError, "shares in [0, 1], got 1.5"),
        (lambda: ops.batch_norm(x(2, 3), x(3), x(3), data_format="NC").reshape([7]), ShapeError, "to [7]"),
        (lambda: x(2).cast("string"), DTypeError, "string"),
    ],
)
def test_message(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        call()
    if error is not ValueError:
        assert isinstance(caught.value, D2SError)


@pytest.mark.parametrize(
    ("error", "builtin"), [(ShapeError, ValueError), (DTypeError, TypeError), (IndexOutOfRangeError, IndexError)]
)
def test_errors_are_children_of_what_a_user_would_catch(error: type, builtin: type) -> None:
    assert issubclass(error, builtin)


def test_a_singular_matrix_is_numpys_error() -> None:
    for call, words in (
        (lambda: d2s.inverse(d2s.zeros([2, 2])), r"inverse of shape \[2, 2\]: Singular matrix"),
        (lambda: d2s.linalg.cholesky(-d2s.eye(2)), r"cholesky of shape \[2, 2\]: Matrix is not positive definite"),
        (lambda: d2s.linalg.solve(d2s.ones([2, 2]), d2s.ones([2, 1])), r"solve of shapes \[2, 2\] and \[2, 1\]: Sing"),
    ):
        for function in (call, d2s.jit.to_static(call)):
            with pytest.raises(np.linalg.LinAlgError, match=words) as caught:
                function()
            assert isinstance(caught.value, D2SError)
            assert "test_errors.py" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: d2s.tile(d2s.ones([3]), [-1]), ValueError, "repeat_times must not be negative, got [-1]"),
        (lambda: d2s.nonzero("x"), TypeError, "an operand must be a tensor, an array or a number, got str"),
        (lambda: d2s.multinomial(d2s.ones([2, 2, 2])), ValueError, "weights of shape (n,) or (rows, n), got [2, 2, 2]"),
        (lambda: d2s.nn.functional.pad(d2s.ones([2, 3]), [1]), ValueError, "pad of 1 widths does not fit"),
    ],
)
def test_refused_alike_in_both_modes(call: Any, error: type[Exception], words: str) -> None:
    for function in (call, d2s.jit.to_static(call)):
        with pytest.raises(error, match=re.escape(words)) as caught:
            function()
        assert isinstance(caught.value, D2SError)
