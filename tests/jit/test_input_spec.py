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
