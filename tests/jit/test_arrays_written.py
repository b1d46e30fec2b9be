"""Arrays of NumPy that a static function writes to: from outside, and made inside."""

import numpy as np
import pytest

import d2s as paddle

arr = np.arange(4.0)
mat = np.arange(6.0, dtype="float32").reshape(3, 2)
kept = []
FUNCTIONS = []


def program(function):
    FUNCTIONS.append(function)
    return function


@paddle.jit.not_to_static
def poke(array):
    array[0] = 9.0


@program
def write_a_number_of_the_run(x):
    arr[0] = float(x.sum())
    return x * arr[0]


@program
def write_to_a_slice(x):
    arr[1:3] += 1
    return x * float(arr[2])


@program
def result_into_an_argument(x):
    np.add(arr, 1, out=arr)
    return x + paddle.to_tensor(arr[:2].astype("float32"))


@program
def reversed_and_sorted(x):
    arr[:] = arr[::-1].copy()
    arr.sort()
    return x * arr[0]


@program
def filled(x):
    arr.fill(3)
    return x * arr[1]


@program
def buffer_of_numbers_of_the_run(x):
    buf = np.zeros(3, "float32")
    buf[0] = x.sum().item()
    buf[1] = 2
    return x * float(buf[0]), buf


@program
def buffer_filled_in_a_loop(x):
    buf = np.zeros((2,), "float32")
    for i in range(2):
        buf[i] = float(x[i]) * 2
    return paddle.to_tensor(buf) + x


@program
def write_through_a_row(x):
    v = mat[0]
    v[0] = 7
    return x * paddle.to_tensor(mat[0]), mat[0, 0]


@program
def row_changed_in_place(x):
    v = mat[0]
    v += 1
    return x * v, v


@program
def write_in_a_branch(x):
    if x.sum() > 2:
        arr[0] = 5.0
    return x * arr[0]


@program
def writes_in_branches_of_a_loop(x):
    for i in range(3):
        if x.sum() > i:
            arr[i] += 1
    return x * arr.sum()


@program
def second_name(x):
    c = arr
    c[0] = 2.0
    return x * arr[0]


@program
def copy_of_the_array_of_a_tensor(x):
    y = x.numpy()
    y2 = y.copy()
    y2[0] = 9
    return paddle.to_tensor(y2) * x, y2


@program
def mean_and_norm(x):
    return np.asarray(x.numpy()).mean() * x, np.linalg.norm(x.numpy()) * x


@program
def largest_of_numbers(x):
    lst = [float(v) for v in x.numpy()]
    return x * max(lst), lst


@program
def mask_of_a_tensor(x):
    m = x.numpy() > 1
    return x * paddle.to_tensor(m.astype("float32")), int(m.sum())


@program
def unit_matrix(x):
    return x * paddle.to_tensor(np.eye(2)[0].astype("float32")), np.eye(2)


@program
def copy_into_a_buffer(x):
    out = np.empty(2)
    out[:] = x.detach().numpy()
    return out


@program
def joined_with_an_array_from_outside(x):
    return paddle.to_tensor(np.concatenate([x.numpy(), mat[0]]))


@program
def arrays_kept_and_written(x):
    h = []
    for i in range(2):
        h.append(x.numpy()[i])
        arr[i] = h[-1]
    return x * sum(h), arr.copy()


@program
def numbers_of_a_tensor(x):
    return x.numpy().tolist(), x.tolist()[0] * x, [int(v) for v in x.numpy()]


@program
def array_of_numbers_of_the_run(x):
    a = np.array([x.sum().item(), 2.0])
    return x * paddle.to_tensor(a.astype("float32"))


@program
def array_of_elements(x):
    a = np.array([float(v) for v in x])
    return x * a.max()


@program
def where_and_clip(x):
    y = (x * 2).numpy()
    y = np.where(y > 1, y, 0)
    z = np.clip(y, 0, 3).astype("float32")
    return paddle.to_tensor(z, stop_gradient=False) * x


@program
def in_place_by_a_second_name(x):
    v = arr
    v += 1
    return x * float(v[1])


@program
def result_into_a_buffer(x):
    buf = np.zeros(4)
    np.add(arr, 1, out=buf)
    return x * buf[0], buf


@program
def buffer_plus_array(x):
    buf = np.zeros(4)
    buf += arr
    return x * buf[1], buf


@program
def buffer_set_to_array(x):
    buf = np.zeros(4)
    buf[:] = arr
    return x * buf[1], buf


@program
def slice_of_a_buffer(x):
    buf = np.zeros(4)
    v = buf[:2]
    v += 1
    v[0] = 3
    return x * buf[1], buf


@program
def clipped_in_place(x):
    np.clip(arr, 0, 2, out=arr)
    return x * arr[3]


@program
def summed_in_place(x):
    np.cumsum(arr, out=arr)
    arr.cumsum(out=arr)
    return x * arr[3]


@program
def copied_over(x):
    np.copyto(arr, 5.0)
    return x * arr[3]


@program
def view_of_all(x):
    m = mat.view()
    m[0] = 9
    return x * paddle.to_tensor(mat[0])


@program
def reshaped_view(x):
    t = arr.reshape(2, 2)
    t *= 2
    return x * arr[3]


@program
def in_a_list(x):
    held = [arr]
    held[0] += 1
    return x * arr[3]


@program
def in_a_dict(x):
    d = {"k": arr}
    d["k"] -= 1
    return x * arr[3]


@program
def in_a_helper(x):
    def h(q):
        q += 1
        return q

    h(arr)
    return x * arr[3]


@program
def at_places(x):
    np.subtract.at(arr, [0, 1], 1)
    return x * arr[0]


@program
def sorted_and_put(x):
    arr.sort()
    arr.put([0], [5.0])
    return x * arr[0]


@program
def diagonal_and_column(x):
    np.fill_diagonal(mat, 7)
    mat.T[0] = 1
    return x * paddle.to_tensor(mat[0])


@program
def flat_places(x):
    mat.flat[0] = 5
    mat.ravel()[1] = 6
    return x * paddle.to_tensor(mat[0])


@program
def swapped_places(x):
    arr[[0, 1]] = arr[[1, 0]]
    return x * arr[0]


@program
def view_by_einsum(x):
    np.einsum("i->i", arr)[:] = 1
    return x * arr[3]


@program
def swapped_elements(x):
    a, b = arr[:2]
    arr[0], arr[1] = b, a
    return x * arr[0]


@program
def masked(x):
    mask = arr > 1
    arr[mask] = 0
    return x * arr.sum()


@program
def summed_in_a_loop(x):
    s = 0.0
    for v in arr:
        s += v
    return x * s, s


@program
def element_changed(x):
    s = arr[0]
    s += 1
    s *= 2
    return x * float(s), arr[0]


@program
def count_in_branches(x):
    i = 0
    for v in x:
        if v > 1.5:
            i += 1
    k = np.full(2, i)
    return k, x


@program
def buffer_written_in_branches(x):
    buf = np.zeros(2, "float32")
    if x.sum() > 3.5:
        buf[0] = 1
    else:
        buf[1] = 2
    return x * paddle.to_tensor(buf)


@program
def buffer_written_in_turns(x):
    buf = np.zeros(2, "float32")
    i = paddle.to_tensor(0)
    while i < 3:
        buf[0] += 1
        i = i + 1
    return x * paddle.to_tensor(buf)


@program
def buffer_bound_again_in_a_branch(x):
    buf = np.zeros(2, "float32")
    if x.sum() > 3.5:
        buf = buf + 1
    return x * paddle.to_tensor(buf)


@program
def buffer_given_to_eager_code(x):
    buf = np.zeros(2, "float32")
    poke(buf)
    return x * paddle.to_tensor(buf), buf


@program
def one_buffer_twice(x):
    buf = np.zeros(2, "float32")
    a = [buf, buf]
    return a, a[0] is a[1], buf


@program
def buffer_written_by_a_hook(x):
    buf = np.zeros(2, "float32")
    x2 = x * 2
    x2.register_hook(lambda g: buf.__setitem__(0, float(g.sum())))
    return x2 * 1, buf


@program
def buffer_written_in_branches_of_a_loop(x):
    buf = np.zeros(2, "float32")
    for i in range(2):
        if x[i] > 1.5:
            buf[i] = 1
    return buf, x * paddle.to_tensor(buf)


@program
def buffer_in_a_dict(x):
    d = {"n": np.zeros(2, "float32")}
    if x.sum() > 3.5:
        d["n"][0] = 5
    return d["n"]


@program
def buffer_written_before_an_exception(x):
    buf = np.zeros(2, "float32")
    try:
        if x.sum() > 3.5:
            buf[0] = 1
            raise ValueError
    except ValueError:
        buf[1] = 1
    return buf


@program
def methods_of_buffers(x):
    return np.ones(4).dot(arr), np.ones(4).take([0, 1])


@program
def put(x):
    buf = np.zeros(4)
    buf.put([0, 1], arr[:2])
    return buf


@program
def row_set_to_row(x):
    v = np.arange(6.0).reshape(2, 3)
    if x.sum() > 3.5:
        v[0] = v[1]
    return v.sum(0)


@program
def view_written_in_a_branch(x):
    a = np.zeros(2)
    b = a[:1]
    if x.sum() > 3.5:
        b[0] = 5.0
    return a, b


@program
def copied_into_a_buffer(x):
    buf = np.zeros(2)
    np.copyto(buf, arr[:2])
    return buf


@program
def copies_kept(x):
    out = []
    buf = np.zeros(2)
    for i in range(2):
        buf[0] = i
        out.append(buf.copy())
        out.append(x * float(buf[0]))
    return out


@program
def kept_outside_and_written(x):
    buf = np.zeros(2)
    buf[0] = 1
    kept.append(buf)
    buf[1] = 2
    return x * buf[1]


@program
def views_are_returned(x):
    a = np.zeros(4)
    return a, a[:2], [a]


@program
def view_and_base_are_returned(x):
    a = np.arange(4.0)
    b = a.reshape(2, 2)
    b[0, 0] = 5
    return a, b, x * a[0]


@program
def mask_of_a_hook(x):
    m = np.array([1.0, 0.0], "float32")
    y = x * 2
    y.register_hook(lambda g: g * paddle.to_tensor(m))
    return y * 1


@program
def position_encoding(x):
    pe = np.zeros((3, 2), "float32")
    for p in range(3):
        for i in range(2):
            pe[p, i] = np.sin(p / 10**i)
    t = paddle.to_tensor(pe)
    if x.sum() > 3.2:
        return x + t[0]
    return x + t[1]


@program
def best_places(x):
    best = np.full(2, -1)
    n = 0
    while n < 2:
        if x[n] > 1.2:
            best[n] = n
        n += 1
    return best, best.sum(), x


@program
def confusion_matrix(x):
    conf = np.zeros((2, 2), "int64")
    for t, p in zip([0, 1], x, strict=False):
        conf[t, int(p > 1.3)] += 1
    return conf, x * paddle.to_tensor(conf.astype("float32")).sum()


@program
def history(x):
    hist = []
    for _i in range(3):
        x = x * 0.5
        hist.append(x.detach().numpy())
    h = np.stack(hist)
    return x, h, h.mean()


@program
def two_names_of_a_buffer(x):
    a = np.zeros(2)
    b = a
    b += 1
    if x.sum() > 3.2:
        a[0] = 7
    return a, b, a is b


@program
def bound_again_by_a_nested_function(x):
    a = np.zeros(2)

    def h():
        nonlocal a
        a = a + 1

    if x.sum() > 3.2:
        h()
    return a


@program
def numbers_of_numpy(x):
    a = np.ones(2)
    return x * a, x * np.float32(2), x * a.sum(), x * a[0], x + np.array(1.0), np.float64(3) * x.numpy()


@program
def place_of_the_largest(x):
    a = np.zeros(3)
    a[:2] = x.numpy()
    i = int(np.argmax(a))
    return x * i, i


@program
def mask_of_attention(x):
    n = x.shape[0]
    mask = np.triu(np.ones((n, n), "float32"), 1)
    mask[mask == 1] = -np.inf
    if x.max() > 1.5:
        mask = np.zeros_like(mask)
    return paddle.to_tensor(mask) + x


@program
def index_out_of_bounds_in_try(x):
    z = np.zeros(2, "float32")
    try:
        z[5] = 1
    except IndexError:
        z[0] = 1
    if x.sum() > 3.2:
        z[1] = 1
    return x + paddle.to_tensor(z)


@program
def sum_of_rows(x):
    s = np.zeros(2)
    for r in mat:
        s += r
    return x * paddle.to_tensor(s.astype("float32")), s


def seen(value):
    if isinstance(value, paddle.Tensor):
        return value.dtype.name, value.tolist(), value.stop_gradient
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.name, repr(value.tolist())
    return [seen(part) for part in value] if isinstance(value, (list, tuple)) else value


def log_of(function):
    """Results, gradients and arrays of three calls between which the arrays change."""
    arr[:], mat[:] = np.arange(4), np.arange(6).reshape(3, 2)
    kept.clear()
    log = []
    for turn in range(3):
        x = paddle.to_tensor([1.0 + turn, 2.0 - turn * 0.5], stop_gradient=False)
        arr[1:3] = turn + 3, turn
        results = function(x)
        parts = results if isinstance(results, (list, tuple)) else [results]
        tensors = [part for part in parts if isinstance(part, paddle.Tensor) and not part.stop_gradient]
        if tensors:
            sum(tensor.sum() for tensor in tensors).backward()
            log.append(x.grad.tolist())
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        if arrays:
            # Which results are views of others shows when one is written to.
            arrays[0].reshape(-1)[0] += 1
        log.append([seen(results), arr.tolist(), mat.tolist(), seen(kept)])
    return log


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_same_in_both_modes(function):
    assert log_of(paddle.jit.to_static(function)) == log_of(function)
