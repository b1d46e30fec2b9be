"""Arrays of NumPy from outside, changed between calls: rows, slices and what is computed of them."""

import numpy as np
import pytest

import d2s as paddle
import d2s.nn.functional as F

table = np.arange(8, dtype="float32").reshape(4, 2)
places = np.array([1, 0, 1])
rows = np.array([2, 0, 3, 1])
FUNCTIONS = []


def program(function):
    FUNCTIONS.append(function)
    return function


@paddle.jit.not_to_static
def change():
    table[0, 0] += 1


@program
def slice_in_arithmetic(x):
    return x + table[:1] * 2 - 1


@program
def row_and_maximum(x):
    return x * table[1] / table.max()


@program
def matrix_product(x):
    return x @ table[:2]


@program
def tensor_of_a_slice(x):
    return paddle.to_tensor(table[:2]) @ x


@program
def index_arrays(x):
    return x[np.arange(4)[:1]] + x[places[:1]]


@program
def changed_between_two_reads(x):
    v = table[:2]
    q = paddle.to_tensor(v * 2)
    change()
    w = paddle.to_tensor(v * 2)
    return x * q[0], w


@program
def rows_in_a_comprehension(x):
    return [x * r for r in table[:3]]


@program
def elements_of_rows(x):
    s = 0
    for r in table:
        for v in r:
            s = s + x * v
    return s


@program
def tensor_of_elements(x):
    return paddle.to_tensor([table[0][0], table[1, 1]]) * x


@program
def tensor_of_rows(x):
    return paddle.to_tensor(list(table)).sum() * x


@program
def stacked_rows(x):
    return paddle.to_tensor(np.stack([table[0], table[1]])) + x


@program
def function_of_the_array_of_a_tensor(x):
    return paddle.to_tensor(np.tanh(x.numpy())) * x


@program
def slice_of_the_array_of_a_tensor(x):
    return paddle.to_tensor(x.numpy()[:1]) * x


@program
def leaf_of_a_row(x):
    t = paddle.to_tensor(table[2], stop_gradient=False)
    t.register_hook(lambda g: g * g)
    return x * t, t


@program
def chosen_rows(x):
    return x + table[rows][0]


@program
def chosen_elements(x):
    return x + np.where(table[0] > 0, table[0], -1.0)


@program
def other_dtypes(x):
    return x * table[0].astype("float64"), x * table[0].astype("int64"), x + table[0].astype(bool)


@program
def product_with_a_slice(x):
    return paddle.matmul(x.reshape([1, 2]), table[:2])


@program
def operands_of_functions(x):
    return paddle.concat([x, paddle.to_tensor(table[0])]), paddle.add(x, table[0]), paddle.maximum(x, table[1])


@program
def written_to_a_tensor(x):
    y = x * 1
    y[0] = table[1, 1]
    y[:] = table[2]
    return y


@program
def condition(x):
    if table[:2].sum() > 3:
        return x * 2
    return x


@program
def means(x):
    return x.sum() * paddle.to_tensor(table.mean(axis=0)), x * float(table[:2].mean())


@program
def unpacked(x):
    a, b = table[:2]
    return x * a + b


@program
def length_and_shape(x):
    return len(table[:3]) * x, table[:3].shape, x * table[:3].shape[0]


@program
def as_a_list(x):
    return paddle.to_tensor(table[:2].tolist()) * x


@program
def operators_of_python(x):
    return x + (table[0] > 1), x * (-table[0]), x ** table[0]


@program
def computed_with_arrays_made_inside(x):
    return np.ones((2, 2), "float32") @ table[:2], x * (np.ones(2, "float32") + table[0])


@program
def numbers_and_functions(x):
    return paddle.full([2], table[1, 1]) * x, F.relu(x - table[1])


@program
def index_of_the_run(x):
    n = int(x.sum())
    return x * table[n % 4], paddle.to_tensor(table[n % 4])


@program
def index_of_a_turn(x):
    i = paddle.to_tensor(0)
    s = x
    while i < 3:
        s = s + paddle.to_tensor(table[int(i)])
        i = i + 1
    return s


@program
def in_branches(x):
    for j in range(4):
        if x.sum() > table[j].sum():
            x = x * table[j]
    return x


def seen(value):
    if isinstance(value, paddle.Tensor):
        return value.dtype.name, value.numpy().tolist(), value.stop_gradient
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.tolist()
    return [seen(part) for part in value] if isinstance(value, (list, tuple)) else value


def log_of(function):
    """Results and gradients of three calls between which the arrays change."""
    table[:] = np.arange(8).reshape(4, 2)
    log = []
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    for turn in range(3):
        table[1, 1], table[2], places[0] = turn + 1, turn, turn % 2
        results = function(x)
        log.append(seen(results))
        parts = results if isinstance(results, (list, tuple)) else [results]
        sum(t.sum() for t in parts if isinstance(t, paddle.Tensor) and not t.stop_gradient).backward()
        log.append([x.grad.tolist(), *(seen(t.grad) for t in parts if isinstance(t, paddle.Tensor) and t.is_leaf)])
    return log


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_same_in_both_modes(function):
    assert log_of(paddle.jit.to_static(function)) == log_of(function)


def test_how_many_a_mask_chooses_is_not_known():
    @paddle.jit.to_static
    def positive(x):
        return x + paddle.to_tensor(table[table > 0])

    with pytest.raises(paddle.TracingError, match="known only when the Program runs"):
        positive(paddle.ones([1]))


def test_the_array_is_another_one_in_the_run():
    held = np.zeros((2, 2), "float32")

    @paddle.jit.not_to_static
    def reshape():
        held.shape = (4,)

    @paddle.jit.to_static
    def function(x):
        reshape()
        return x + paddle.to_tensor(held[:1])

    with pytest.raises(paddle.ExecutionError, match=r"is float32\[1\], and was float32\[1, 2\]"):
        function(paddle.ones([1]))
