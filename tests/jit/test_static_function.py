"""What a StaticFunction shows and can do besides being called."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import io
import logging
import pickle
import warnings

import numpy as np
import pytest

import d2s
from d2s.jit import fallback
from d2s.static import InputSpec


class Net(d2s.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = d2s.nn.Linear(2, 3)

    @d2s.jit.to_static
    def forward(self, x):
        return self.linear(x).sum()


def square(x):
    """Squares."""
    return x * x


X = d2s.ones([4, 2])


# --- attributes -------------------------------------------------------------------------------------------------------


def test_programs_of_a_method_belong_to_its_instance():
    first, second = Net(), Net()
    first(X)
    first(d2s.ones([5, 2]))
    assert (len(first.forward.program_cache), len(second.forward.program_cache)) == (2, 0)
    assert first.forward.class_instance is first
    assert Net.forward.class_instance is None
    programs = first.forward.program_cache.concrete_programs()
    assert first.forward.program_cache.last() in programs
    assert len(programs) == 2


def test_concrete_program():
    net = Net()
    net(X)
    concrete = net.forward.concrete_program
    assert concrete is net.forward.program_cache.last() is net.forward.get_concrete_program(X)
    assert {id(p) for p in concrete.parameters} == {id(p) for p in net.parameters()}
    assert [value.name for value in concrete.inputs] == ["x", "weight", "bias"]
    assert len(concrete.outputs) == 1
    assert concrete.main_program is net.forward.main_program
    assert (net.forward.inputs, net.forward.outputs) == (concrete.inputs, concrete.outputs)
    assert "matmul" in str(concrete.main_program) or "linear" in str(concrete.main_program)


def test_get_concrete_program_traces_without_running():
    calls = []

    @d2s.jit.to_static
    def f(x):
        calls.append(1)
        return x

    concrete = f.get_concrete_program(X)
    assert not calls
    f(X)
    assert calls == [1]
    assert f.concrete_program is concrete


def test_get_concrete_program_of_specs_leaves_sizes_open():
    static = d2s.jit.to_static(square)
    concrete = static.get_concrete_program(InputSpec([None, 2]))
    assert "x: float32[d0, 2] = input" in str(concrete.main_program)
    assert static.get_concrete_program(x=InputSpec([3])).inputs[0].spec.shape == (3,)
    assert len(static.program_cache) == 0
    with pytest.raises(d2s.GuardError, match="does not fit"):
        static.get_concrete_program(InputSpec([1]), InputSpec([1]))


def test_concrete_program_before_a_call_is_that_of_the_specs():
    static = d2s.jit.to_static(square, input_spec=[InputSpec([None, 3])])
    assert static.concrete_program is static.concrete_program
    assert "float32[d0, 3]" in str(static.main_program)
    assert len(static.program_cache) == 0
    static(d2s.ones([2, 3]))
    assert static.concrete_program is static.program_cache.last()
    with pytest.raises(LookupError, match="not been called"):
        d2s.jit.to_static(square).concrete_program  # noqa: B018


def test_metadata_is_that_of_the_function():
    static = d2s.jit.to_static(square)
    assert (static.__name__, static.__doc__, static.__module__) == ("square", "Squares.", __name__)
    assert static.__wrapped__ is static.dygraph_function is square
    assert inspect.signature(static) == inspect.signature(square)
    assert static.code == 'def square(x):\n    """Squares."""\n    return x * x\n'
    net = Net()
    assert net.forward.dygraph_function.__self__ is net


def test_rollback_gives_the_original_back():
    assert d2s.jit.to_static(square).rollback() is square
    layer = d2s.jit.to_static(d2s.nn.Linear(2, 2))
    assert isinstance(layer.forward, d2s.jit.StaticFunction)
    original = layer.forward.rollback()
    assert not isinstance(layer.forward, d2s.jit.StaticFunction)
    assert original.__self__ is layer
    assert layer(X).shape == [4, 2]


def test_deepcopy_has_programs_and_objects_of_its_own():
    net = Net()
    net(X)
    other = copy.deepcopy(net)
    assert len(other.forward.program_cache) == 0
    assert other.forward.class_instance is other
    bound = copy.deepcopy(net.forward)
    assert bound.class_instance is not net
    static = d2s.jit.to_static(square)
    static(X)
    again = copy.deepcopy(static)
    assert (len(again.program_cache), len(static.program_cache)) == (0, 1)
    np.testing.assert_array_equal(again(X).numpy(), static(X).numpy())


@d2s.jit.to_static
def decorated(x):
    return x * 3


SPECIFIED = d2s.jit.to_static(square, input_spec=[InputSpec([None, 2])])


def test_pickle():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    again = pickle.loads(pickle.dumps(SPECIFIED))
    assert again(X).numpy().tolist() == [[1.0, 1.0]] * 4
    with pytest.raises(d2s.GuardError):
        again(d2s.ones([3, 3]))
    net = Net()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(net.forward))(X).numpy(), net.forward(X).numpy())


def test_train_and_eval_belong_to_the_layer():
    net = Net()
    net.forward.train()
    with pytest.raises(RuntimeError, match=r"call eval\(\) of the Net"):
        net.forward.eval()
    net.eval()
    net.forward.eval()
    static = d2s.jit.to_static(square)
    static.eval()
    static.train()
    x = d2s.to_tensor([3.0], stop_gradient=False)
    static(x).backward()
    assert x.grad.item() == 6.0


def test_enable_to_static():
    calls = []

    def f(x):
        calls.append(type(x))
        return x

    static = d2s.jit.to_static(f)
    d2s.jit.enable_to_static(False)
    try:
        static(X)
    finally:
        d2s.jit.enable_to_static(True)
    assert len(static.program_cache) == 0
    assert calls == [d2s.Tensor]


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="ful_graph"):
        d2s.jit.to_static(square, ful_graph=False)


# --- full_graph=False -------------------------------------------------------------------------------------------------


def picks(x, log):
    log.append("called")
    y = x * x
    names = ["zero", "one", "two", "three", "four"]
    return y * 2, tuple(names)[int(x.sum()) :: int(x.sum()) + 1][0]


@pytest.fixture
def nothing_told(monkeypatch):
    monkeypatch.setattr(fallback, "_told", set())


def test_what_cannot_be_a_graph_runs_eagerly_with_one_warning(nothing_told):
    static = d2s.jit.to_static(picks, full_graph=False)
    log = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for value in (1.0, 2.0, 3.0):
            x = d2s.to_tensor([value], stop_gradient=False)
            y, name = static(x, log)
            y.backward()
            assert (name, x.grad.item()) == (["one", "two", "three"][int(value) - 1], 4 * value)
    assert log == ["called"] * 3
    (warning,) = caught
    assert (warning.filename, warning.lineno) == (__file__, picks.__code__.co_firstlineno + 4)
    assert warning.category is RuntimeWarning
    assert "an index needs a Python value that is known only when the Program runs" in str(warning.message)
    assert f"line {warning.lineno}" in str(warning.message)
    assert len(static.program_cache) == 0


def test_calls_that_can_be_graphs_are(nothing_told):
    def f(x, choose):
        if choose:
            return ("a", "b")[int(x.sum()) :: int(x.sum()) + 1][0]
        return x * 2

    static = d2s.jit.to_static(full_graph=False)(f)
    traced = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert static(d2s.ones([1]), True) == "b"
            assert static(d2s.ones([1]), False).item() == 2.0
            traced.append(len(static.program_cache))
    assert traced == [1, 1]
    assert len(caught) == 1


def test_the_refused_trace_is_not_repeated(nothing_told, monkeypatch):
    static = d2s.jit.to_static(picks, full_graph=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static(d2s.ones([1]), [])
        monkeypatch.setattr(type(static), "_traced", lambda *args: pytest.fail("traced again"))
        for value in (0.0, 1.0):
            static(d2s.full([1], value), [])


def test_full_graph_is_the_default():
    with pytest.raises(d2s.TracingError):
        d2s.jit.to_static(picks)(d2s.ones([1]), [])


def test_layers_and_methods_may_run_eagerly(nothing_told):
    class Chooses(d2s.nn.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = d2s.nn.Linear(2, 1), d2s.nn.Linear(2, 1)

        def forward(self, x):
            return (self.first, self.second)[int(x.sum() > 3) :: int(x.sum() > 3) + 1][0](x)

    layer = Chooses()
    expected = [layer(d2s.full([2], value)).numpy() for value in (1.0, 2.0)]
    d2s.jit.to_static(layer, full_graph=False)
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        found = [layer(d2s.full([2], value)).numpy() for value in (1.0, 2.0)]
    np.testing.assert_array_equal(found, expected)


def test_functions_without_source_run_eagerly(nothing_told):
    namespace = {}
    exec("def f(x): return x + 1", namespace)
    with pytest.warns(RuntimeWarning, match="cannot read the source of 'f'"):
        static = d2s.jit.to_static(namespace["f"], full_graph=False)
    assert static(d2s.ones([1])).item() == 2.0


def test_errors_of_the_user_are_no_reason_to_run_again(nothing_told):
    calls = []

    def fails(x):
        calls.append(1)
        raise ValueError("mine")

    static = d2s.jit.to_static(fails, full_graph=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for count in (1, 2):
            with pytest.raises(ValueError, match="mine"):
                static(X)
            assert len(calls) == count


# --- what it tells ----------------------------------------------------------------------------------------------------


@pytest.fixture
def settings_put_back():
    yield
    d2s.jit.set_code_level(0)
    d2s.jit.set_verbosity(0)


def branches(x):
    if x.sum() > 0:
        return x
    return -x


BRANCHES = """def branches(x):
    if x.sum() > 0:
        return x
    return -x
"""


def printed_by(level, also_to_stdout=False):
    err, out = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        d2s.jit.set_code_level(level, also_to_stdout)
        d2s.jit.to_static(branches)(d2s.ones([1]))
    return err.getvalue(), out.getvalue()


def test_set_code_level_prints_the_source_after_a_pass(settings_put_back):
    place = f"branches ({__file__}:{branches.__code__.co_firstlineno}) after "
    first, nothing = printed_by(1)
    assert first == f"{place}pass 1 (fence):\n{BRANCHES}\n"
    assert not nothing
    last, same = printed_by(100, also_to_stdout=True)
    assert last == same == f"{place}all passes:\n{d2s.jit.to_static(branches).code}\n"
    assert "if_else(x.sum() > 0, " in last
    assert printed_by(0) == ("", "")


def test_set_verbosity_tells_why(settings_put_back, capsys):
    d2s.jit.set_verbosity(2)

    def f(x, n):
        y = x * n
        z = y + 1
        y.register_hook(lambda g: None)
        return z

    static = d2s.jit.to_static(f)
    x = d2s.ones([1])
    x.stop_gradient = False
    static(x, 1)
    static(x, 2)
    line = f.__code__.co_firstlineno
    told = capsys.readouterr()
    assert f"f ({__file__}:{line}) is converted" in told.err
    assert f"the hook on y in line {line + 3} moves" in told.err
    assert "f is traced again: argument n changed from 1 to 2" in told.err
    assert not told.out
    d2s.jit.set_verbosity(0)
    static(x, 3)
    assert not capsys.readouterr().err
    assert not logging.getLogger("d2s.jit").handlers


@pytest.mark.parametrize("level", [-1, 1.5, True, None])
def test_levels_are_checked(level):
    for setting in (d2s.jit.set_code_level, d2s.jit.set_verbosity):
        with pytest.raises(ValueError, match="not negative"):
            setting(level)


# --- what may be given to it ------------------------------------------------------------------------------------------


def test_kinds_of_callables():
    class Scale:
        factor = 3

        def method(self, x):
            return x * self.factor

        def __call__(self, x):
            return x * self.factor

        @classmethod
        def of_class(cls, x):
            return x * cls.factor

        @staticmethod
        def of_none(x):
            return x * 3

    scale = Scale()
    partial = functools.partial(lambda x, n: x * n, n=3)
    for callable_ in (scale.method, scale, Scale.of_class, Scale.of_none, partial):
        static = d2s.jit.to_static(callable_)
        assert static(X).numpy().tolist() == [[3.0, 3.0]] * 4
    assert d2s.jit.to_static(static) is static or isinstance(static, functools.partial)


def test_an_item_that_is_read_by_a_known_key_depends_on_no_other():
    table, row = {"a": d2s.to_tensor([1.0])}, [d2s.to_tensor([2.0])]

    @d2s.to_static
    def f():
        return table["a"] * row[0]

    f()
    table["b"] = 1
    row.append(3)
    assert f().tolist() == [2.0]
    assert f.program_cache.traces == 1


class Counting(d2s.nn.Layer):
    """A Layer that counts its calls and keeps its last result."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.linear = d2s.nn.Linear(2, 2)

    def forward(self, x):
        self.calls += 1
        self.last = self.linear(x)
        return self.last * self.calls


@pytest.mark.parametrize("of", ["a Sequential", "a LayerList", "its parameters"])
def test_what_layers_keep_for_themselves_is_not_a_new_trace_for_the_layers_of_d2s_around(of):
    layer = Counting()
    if of == "a Sequential":
        net = d2s.nn.Sequential(layer, d2s.nn.ReLU())
        function = d2s.to_static(lambda x: net(x))
    elif of == "a LayerList":
        layers = d2s.nn.LayerList([layer])
        function = d2s.to_static(lambda x: next(inner(x) for inner in layers))
    else:
        function = d2s.to_static(lambda x: layer(x) + sum(p.sum() for p in layer.parameters()))
    for _ in range(8):
        function(d2s.ones([1, 2]))
    assert layer.calls == 8
    # The number of calls becomes an input.
    assert function.program_cache.traces == 3


def loop_with_two_exits(x):
    while True:
        x = x * 1.5 + 0.3
        if x.sum() > 8:
            return x
        if x.min() < -4:
            return None


def iterator_in_a_loop(x):
    steps = iter([1.0, 2.0, 3.0])
    while x.sum() < 3:
        x = x + next(steps)
    return x


def many_ways(x):
    return [row for row in d2s.concat([x] * 6) if row > 0]


def list_in_a_list(x):
    rows = []
    while x.sum() < 3:
        row = [x]
        rows.append(row)
        row.append(x + 1)
        x = x + 1
    return rows


@pytest.mark.parametrize("function", [loop_with_two_exits, iterator_in_a_loop, many_ways, list_in_a_list])
def test_a_trace_that_begins_anew_serves_the_next_calls(function):
    """What was noted of the arguments before it began anew must not be asked of them again."""
    static = d2s.to_static(function)
    for _ in range(3):
        static(d2s.to_tensor([0.5, -1.0], stop_gradient=False))
    assert static.program_cache.traces == 1
