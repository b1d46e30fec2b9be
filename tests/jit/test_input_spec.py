"""InputSpec, and calls checked against it."""

from __future__ import annotations

import numpy as np
import pytest

import d2s
from d2s.static import InputSpec


def test_shape_dtype_name_and_text():
    spec = InputSpec([None, -1, 3], "int64", name="ids", stop_gradient=True)
    assert spec.shape == (-1, -1, 3)
    assert spec.dtype == np.int64
    assert repr(spec) == "InputSpec(shape=(-1, -1, 3), dtype=int64, name=ids, stop_gradient=True)"
    assert repr(InputSpec([])) == "InputSpec(shape=(), dtype=float32, name=None, stop_gradient=False)"


def test_equality_and_hash():
    assert InputSpec([None, 2]) == InputSpec((-1, 2))
    assert hash(InputSpec([None, 2])) == hash(InputSpec((-1, 2)))
    different = [InputSpec([3, 2]), InputSpec([None, 2], "float64"), InputSpec([None, 2], name="x"),
                 InputSpec([None, 2], stop_gradient=True), (None, 2)]
    assert all(InputSpec([None, 2]) != other for other in different)


def test_from_tensor_and_from_numpy():
    tensor = d2s.ones([2, 3])
    tensor.name = "t"
    assert InputSpec.from_tensor(tensor) == InputSpec([2, 3], "float32", "t", stop_gradient=True)
    assert InputSpec.from_tensor(tensor, name="u").name == "u"
    assert InputSpec.from_tensor(d2s.ones([1])).name is None
    assert InputSpec.from_numpy(np.zeros((4,), "float64"), "a") == InputSpec([4], "float64", "a")


def test_batch_and_unbatch_change_the_spec_as_in_paddle():
    spec = InputSpec([3])
    assert spec.batch(4) is spec
    assert spec.shape == (4, 3)
    assert spec.batch(None).shape == (-1, 4, 3)
    assert spec.unbatch().unbatch().shape == (3,)
    with pytest.raises(d2s.ShapeError):
        InputSpec([]).unbatch()
    with pytest.raises(TypeError, match="batch_size"):
        spec.batch("4")


@pytest.mark.parametrize("shape", [[-2], [1.5], ["3"]])
def test_a_wrong_size_is_refused(shape):
    with pytest.raises(d2s.ShapeError, match="a size must be"):
        InputSpec(shape)


# --- calls -----------------------------------------------------------------------------------------------------------


@d2s.to_static(input_spec=[InputSpec([None, 2]), [InputSpec([3], "int64"), {"k": InputSpec([])}]])
def nested(x, pair, scale=2.0):
    return x * scale + pair[1]["k"]


IDS = d2s.to_tensor([1, 2, 3])


def test_calls_that_fit_run():
    for rows in (1, 4):
        found = nested(d2s.ones([rows, 2]), [IDS, {"k": d2s.to_tensor(1.0)}])
        assert found.numpy().tolist() == [[3.0, 3.0]] * rows
    assert nested(d2s.ones([1, 2]), (IDS, {"k": d2s.to_tensor(1.0)}), scale=0).numpy().tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("x", "pair", "text"),
    [
        (d2s.ones([2]), [IDS, {"k": d2s.ones([])}],
         r"x of nested .* got a tensor of shape \[2\], dtype float32, expected InputSpec\(shape=\(-1, 2\)"),
        (d2s.ones([1, 3]), [IDS, {"k": d2s.ones([])}], r"got a tensor of shape \[1, 3\]"),
        (d2s.ones([1, 2], "float64"), [IDS, {"k": d2s.ones([])}], "dtype float64, expected InputSpec.*dtype=float32"),
        (d2s.ones([1, 2]), [IDS[:2], {"k": d2s.ones([])}], r"pair\[0\] of nested"),
        (d2s.ones([1, 2]), [IDS, {"k": d2s.ones([1])}], r"pair\[1\]\['k'\] of nested"),
        (d2s.ones([1, 2]), [IDS, {"j": d2s.ones([])}], "got a dict with keys 'j', expected a dict with keys 'k'"),
        (d2s.ones([1, 2]), [IDS], "got a list of 1, expected a list of 2"),
        (3.0, [IDS, {"k": d2s.ones([])}], "got 3.0, expected InputSpec"),
    ],
)
def test_calls_that_do_not_fit_show_both(x, pair, text):
    programs = len(nested.program_cache)
    with pytest.raises(d2s.GuardError, match=text) as caught:
        nested(x, pair)
    assert isinstance(caught.value, ValueError)
    assert len(nested.program_cache) == programs


def test_more_specs_than_arguments_are_refused():
    f = d2s.to_static(lambda x: x, input_spec=[InputSpec([1]), InputSpec([1])])
    with pytest.raises(d2s.GuardError, match="has 2 entries, but the call has 1 argument "):
        f(d2s.ones([1]))


def test_methods_and_layers_leave_self_out():
    class Net(d2s.nn.Layer):
        def forward(self, x, *more):
            return x + len(more)

    net = d2s.to_static(Net(), input_spec=[InputSpec([None]), InputSpec([1])])
    assert net(d2s.ones([2]), d2s.ones([1])).numpy().tolist() == [2.0, 2.0]
    with pytest.raises(d2s.GuardError, match=r"more\[0\] of forward"):
        net(d2s.ones([2]), d2s.ones([2]))


def test_python_values_among_the_specs_must_be_given_so():
    f = d2s.to_static(lambda x, flag: x if flag else -x, input_spec=[InputSpec([1]), True])
    assert f(d2s.ones([1]), True).item() == 1.0
    for other in (False, 1):
        with pytest.raises(d2s.GuardError, match=f"flag of <lambda> .* got {other!r}, expected True"):
            f(d2s.ones([1]), other)


def test_specs_are_never_changed():
    spec = InputSpec([None, 2], name="x")
    before = repr(spec)
    f = d2s.to_static(lambda x: x * 2, input_spec=[spec])
    f(d2s.ones([3, 2]))
    assert repr(spec) == before


# --- sizes that InputSpec declares to be free ------------------------------------------------------------------------

functional = d2s.nn.functional


def rows_summed(x):
    total = d2s.zeros([4])
    for number, row in enumerate(x):
        total = total + row * number
    return total


def counted_up(x):
    total = 0.0
    for place in range(x.shape[0]):
        total = total + x[place] * place
    return total


def checked(x):
    assert x.shape[0] >= 2, "too small"
    return x * 2


def filled(x):
    y = d2s.zeros([x.shape[0], 4])
    y[0] = x[0]
    y[x.shape[0] - 1] = x[1]
    return y


def rows_chosen(x):
    found = []
    for row in x:
        if row.sum() > 2:
            found.append(row * 2)
        else:
            found.append(row)
    return d2s.stack(found)


def summed_up_to(x):
    for place in range(x.shape[0]):
        for before in range(place):
            x = x + x[before] * 0.1
    return x


def recurrent(x):
    state, states = d2s.zeros([4]), []
    for step in range(x.shape[0]):
        state = d2s.tanh(x[step] + state)
        states.append(state)
    return d2s.stack(states)


def reshaped_in_try(x):
    try:
        return x.reshape([3, -1]).sum()
    except ValueError:
        return x.sum() * 2


def indexed_in_try(x):
    try:
        return x[4]
    except IndexError:
        return x[0] * 3


def raised_in_try(x):
    try:
        for place in range(x.shape[0]):
            if place > 3:
                raise ValueError("far")
        return x.sum()
    except ValueError:
        return x.sum() * 2


def divided_in_try(x):
    try:
        return x.sum() / (x.shape[0] - 3)
    except ZeroDivisionError:
        return x.sum() * 7


def unpacked_in_try(x):
    try:
        a, b, c = x
    except ValueError:
        return x.sum()
    return a + b * c


def images(x):
    return x.reshape([1, 1, -1, 4])


# A Program of each serves all sizes greater than 1.
ONE_PROGRAM = {
    "tile": lambda x: d2s.tile(x[:1], [x.shape[0], 1]),
    "expand": lambda x: x[:1].expand([x.shape[0], 4]) * x[-1:].expand([x.shape[0], -1]),
    "expand_as": lambda x: x[:1].expand_as(x),
    "split": lambda x: d2s.split(x, [2, x.shape[0] - 2])[0],
    "split the rest": lambda x: d2s.split(x, [-1, 1])[0],
    "chunk": lambda x: d2s.chunk(d2s.concat([x, x]), 2)[1],
    "reshape": lambda x: x.reshape([x.shape[0] * 2, 2]) + x.reshape([-1, x.shape[1] // 2]),
    "full": lambda x: d2s.full([x.shape[0], 1], 2.0) + d2s.zeros(x.shape) + d2s.ones([*x.shape[:1], 4]),
    "arange": lambda x: x + d2s.arange(x.shape[0] - 1, -1, -1, dtype="float32").unsqueeze(1),
    "linspace": lambda x: x + d2s.linspace(0, 1, x.shape[0]).unsqueeze(1),
    "eye": lambda x: d2s.eye(x.shape[0]) @ x,
    "randint": lambda x: x[d2s.randint(0, x.shape[0], [3])].shape,
    "one_hot": lambda x: functional.one_hot(d2s.to_tensor([0, 1]), x.shape[0]) @ x,
    "pad": lambda x: functional.pad(images(x), [0, 1, x.shape[0], 1]),
    "roll": lambda x: d2s.roll(x, x.shape[0] - 1, 0),
    "slices": lambda x: x[x.shape[0] // 2:].sum(0) + x[:x.shape[0] - 1].sum(0) + x[::-1][0],
    "repeat_interleave": lambda x: d2s.repeat_interleave(x, 3, 0) * d2s.repeat_interleave(x[0], 3 * x.shape[0]).sum(),
    "interpolate": lambda x: functional.interpolate(images(x), scale_factor=2),
    "interpolate to": lambda x: functional.interpolate(images(x), size=[x.shape[0] + 1, 3], mode="bilinear"),
    "adaptive pool": lambda x: functional.adaptive_avg_pool2d(images(x), [2, 2]),
    "topk": lambda x: d2s.topk(x[:, 0], x.shape[0] - 1)[0],
    "meshgrid": lambda x: d2s.meshgrid(d2s.arange(x.shape[0]), d2s.arange(3))[0] * x[0, 0],
    "einsum": lambda x: d2s.einsum("ij,kj->ik", x, x),
    "tril_indices": lambda x: d2s.tril_indices(x.shape[0], x.shape[0]),
    "a loop over rows": rows_summed,
    "a loop over numbers": counted_up,
    "a list of rows": lambda x: d2s.stack([row * 2 for row in x]),
    "sum of rows": lambda x: sum(x[place] for place in range(x.shape[0])),
    "parts joined": lambda x: d2s.concat([x[place : place + 1] * place for place in range(x.shape[0])]),
    "pairs of rows": lambda x: sum((first * second).sum() for first, second in zip(x[:-1], x[1:] * 2, strict=False)),
    "rows chosen": rows_chosen,
    "a loop in a loop": summed_up_to,
    "a recurrence": recurrent,
    "an assertion": checked,
    "writes": filled,
    "conditions": lambda x: x * 2 if x.shape[0] > 4 and x.shape[0] % 2 == 0 else x + 1,
    "a condition on the shape": lambda x: x * 2 if x.shape == [4, 4] else x,
    "a size chosen": lambda x: d2s.zeros([x.shape[0] if x.shape[0] > 4 else 4]) + x.sum(),
}
# Layers that are given three axes, of which the first is free.
LAYERS = {
    "lstm": d2s.nn.LSTM(4, 3), "attention": d2s.nn.MultiHeadAttention(4, 2), "batch_norm": d2s.nn.BatchNorm1D(3),
    "encoder": d2s.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), "conv": d2s.nn.Conv1D(3, 2, 3),
    "embedding": lambda x: d2s.nn.functional.embedding((x[:, :, 0] > 0.5).cast("int64"), d2s.eye(2)),
}


@pytest.mark.parametrize("name", [*ONE_PROGRAM, *LAYERS])
def test_one_program_serves_every_size(name):
    function = {**ONE_PROGRAM, **LAYERS}[name]

    shape = [4]
    if name in LAYERS:
        shape = [3, 4]
        for parameter in getattr(function, "parameters", list)():
            parameter.stop_gradient = True

    def program(x):
        result = function(x)
        return result[0] if isinstance(result, tuple) else result

    static = d2s.to_static(program, input_spec=[InputSpec([None, *shape])])
    for size in (4, 2, 3, 5, 6, 7):
        seen = []
        for called in (program, static):
            d2s.seed(size)
            x = d2s.rand([size, *shape])
            x.stop_gradient = False
            result = called(x)
            if isinstance(result, d2s.Tensor):
                if not result.stop_gradient:
                    (result * result).sum().backward()
                seen.append((result.numpy(), result.stop_gradient, None if x.grad is None else x.grad.numpy()))
            else:
                seen.append(result)
        np.testing.assert_equal(seen[1], seen[0])
    assert len(static.program_cache) == 1
    assert static.program_cache.traces == 1


def test_sizes_that_do_not_fit_are_refused_in_the_words_of_eager_mode():
    for function in (
        lambda x: d2s.split(x, 2), lambda x: x.reshape([3, -1]), lambda x: d2s.ones([2, 4]) @ x, lambda x: x[4],
        lambda x: d2s.randint(4, x.shape[0], [2]), lambda x: d2s.topk(x[:, 0], 5), checked_to_be_even,
        lambda x: d2s.ones([2]) + d2s.ones([3]) if x.shape[0] > 4 else x,
    ):
        static = d2s.to_static(function, input_spec=[InputSpec([None, 4])])
        for size in (4, 5, 3, 7):
            messages = []
            for called in (function, static):
                try:
                    called(d2s.ones([size, 4]))
                except Exception as error:
                    messages.append((type(error), str(error)))
                else:
                    messages.append(None)
            assert messages[0] == messages[1]
    grouped = d2s.to_static(
        lambda x: functional.group_norm(x.reshape([1, -1, 4]), 2), input_spec=[InputSpec([None, 4])])
    assert grouped(d2s.ones([4, 4])).shape == [1, 4, 4]
    with pytest.raises(d2s.ShapeError, match="group_norm"):
        grouped(d2s.ones([5, 4]))


@pytest.mark.parametrize("function", [
    reshaped_in_try, indexed_in_try, raised_in_try, divided_in_try, unpacked_in_try])
def test_what_does_not_fit_comes_to_the_handlers_of_the_user(function):
    static = d2s.to_static(function, input_spec=[InputSpec([None, 4])])
    for size in (2, 3, 4, 5, 6):
        x = d2s.rand([size, 4])
        np.testing.assert_array_equal(static(x).numpy(), function(x).numpy())


def test_hooks_in_turns_over_a_free_size():
    log = []

    def program(x):
        total = 0.0
        for place in range(x.shape[0]):
            row = x[place] * 2
            row.register_hook(lambda g, place=place: log.append((place, g.tolist())))
            total = total + row * row * place
        return total

    static = d2s.to_static(program, input_spec=[InputSpec([None, 4])])
    for size in (2, 3, 5):
        seen = []
        for called in (program, static):
            log.clear()
            x = d2s.ones([size, 4])
            x.stop_gradient = False
            called(x).sum().backward()
            seen.append((list(log), x.grad.tolist()))
        assert seen[0] == seen[1]
    assert len(static.program_cache) == 1


def checked_to_be_even(x):
    if x.shape[0] % 2:
        raise ValueError(f"{x.shape[0]} is odd")
    return x


def test_where_a_graph_is_not_possible_each_size_has_its_program():
    """The list of parts is as long as the axis; Python has to know it."""
    static = d2s.to_static(lambda x: x.unbind(0)[-1], input_spec=[InputSpec([None, 4])])
    for size in (2, 3, 2):
        x = d2s.rand([size, 4])
        np.testing.assert_array_equal(static(x).numpy(), x.numpy()[-1])
    assert len(static.program_cache) == 2
