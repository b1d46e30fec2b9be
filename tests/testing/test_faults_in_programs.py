"""Compiled Programs are tampered with, a line at a time; `assert_same_in_both_modes` names the line each time."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import d2s
from d2s.static import executor
from d2s.testing import ModesDiffer, assert_same_in_both_modes


class Model:
    def __init__(self) -> None:
        self.scale = 2.0
        self.log: dict[str, float] = {}
        self.items = [1, 2, 3]


MODEL = Model()
B = d2s.to_tensor([0.1, 0.2], stop_gradient=False)


def program(x, w, v):
    x.register_hook(lambda g: g * g)  # HOOK OF X
    y = x * w  # PRODUCT
    z = y * MODEL.scale  # SCALE
    MODEL.log["sum"] = z.sum().item()  # STORE
    MODEL.items.pop()  # POP
    v.add_(x.detach())  # WRITE
    while z.sum() < 20:  # LOOP
        z = z * 1.5 + B  # BODY
    q = d2s.mean(z)  # MEAN
    r = d2s.rand([2])  # RANDOM
    print("one")  # ONE
    print("two")  # TWO
    y.register_hook(lambda g: g + 1)  # HOOK OF Y
    return q * r, z  # RETURN


# What stands in the generated code, what it is replaced by, and the line that is at fault then.
FAULTS = {
    "the gradient of another operand": (
        "multiply_5 = np.multiply(multiply_GRAD_1, x)", "multiply_5 = np.multiply(multiply_GRAD_1, w)", "PRODUCT"),
    "hooks that are not called": (
        "run.call_hooks(walk, multiply_GRAD, multiply_HOOKS, None)", "multiply_GRAD", "HOOK OF Y"),
    "a hook on another value": ("register_hook(multiply_HOOKS,", "register_hook(multiply_1_HOOKS,", "HOOK OF Y"),
    "a hook registered twice": (
        "handle_1 = register_hook(multiply_HOOKS, make_function_1)",
        "handle_1 = [register_hook(multiply_HOOKS, make_function_1) for _ in range(2)]", "HOOK OF Y"),
    "a lost hook of an argument": ("handle = register_hook(x_HOOKS, make_function)", "handle = None", "HOOK OF X"),
    "a stale constant": ("np.multiply(multiply, k_3)", "np.multiply(multiply, np.float32(5))", "SCALE"),
    "a lost call": ("pop_1 = outside(pop)", "pop_1 = None", "POP"),
    "another value stored": ("'sum', item)", "'sum', item + 1)", "STORE"),
    "a lost write in place": ("set_value(v_TENSOR, array)", "None", "WRITE"),
    "a turn too few": ("if not item_1:", "if not item_1 or turns:", "BODY"),
    "another turn": ("np.add(multiply_3, B)", "np.add(multiply_3, multiply_3)", "BODY"),
    "a lost gradient in a loop": ("run.accumulate(walk, 2, z_GRAD_3_1)", "pass", "BODY"),
    "another dtype": (
        "mean = (np.add.reduce(z_2, None) / np.float32(2))", "mean = np.float64(np.add.reduce(z_2, None) / 2)", "MEAN"),
    "a sum for a mean, backward": ("average=True)", "average=False)", "MEAN"),
    "random numbers drawn twice": (
        "uniform = uniform_op(", "uniform = uniform_op(shape=(2,), dtype=k_6, min=0, max=1); uniform = uniform_op(",
        "RANDOM"),
    "another text": ("outside(print, 'one')", "outside(print, 'eins')", "ONE"),
    "a line printed twice": ("outside(print, 'two')", "outside(print, 'two'); outside(print, 'two')", "TWO"),
    "another tensor returned": (
        "return (multiply_4_TENSOR, z_2_TENSOR)", "return (multiply_4_TENSOR, multiply_4_TENSOR)", "RETURN"),
}


class Net(d2s.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = d2s.nn.Linear(3, 2)
        self.bn = d2s.nn.BatchNorm1D(2)
        self.register_buffer("steps", d2s.to_tensor([0.0]))
        self.history = []

    def forward(self, x, flag):
        h = self.fc(x)  # LINEAR
        h = self.bn(h)  # NORM
        self.steps.add_(d2s.ones([1]))  # STEPS
        if flag.sum() > 0:
            h = h * 2  # THEN
            h.register_hook(lambda g: g * 3)  # HOOK IN BRANCH
        else:
            h = h - 1
        self.history.append(h.mean().item())  # HISTORY
        v = h[:, 0]  # COLUMN
        v = d2s.exp(v)  # EXP
        warnings.warn("careful", stacklevel=1)  # WARN
        if v.max() > 1000:
            raise ValueError("large")  # RAISE
        d = d2s.concat([h, v.unsqueeze(1)], axis=1)  # CONCAT
        return {"d": d, "v": v}  # RETURN OF NET


FAULTS_OF_NET = {
    "wrong bias gradient": (
        'run.finish(walk, 2, unbroadcast_2)', 'run.finish(walk, 2, unbroadcast_2 + 1)',
        "LINEAR"),
    "running mean not written": (
        'set_value(_mean_TENSOR, array)', 'None',
        "NORM"),
    "buffer written twice": (
        'np.add(steps, k_2)', 'np.add(np.add(steps, k_2), k_2)',
        "STEPS"),
    "other branch": (
        'if item:', 'if not item:',
        "THEN"),
    "hook in branch not registered": (
        'register_hook(multiply_5_HOOKS, make_function)', 'None',
        "HOOK IN BRANCH"),
    "append of another number": (
        'outside(append, item_1)', 'outside(append, -item_1)',
        "HISTORY"),
    "another column": (
        'multiply_5_1[::, 0]', 'multiply_5_1[::, 1]',
        "COLUMN"),
    "gradient put elsewhere": (
        'put_op(multiply, index=(slice(None, None, None), 0)', 'put_op(multiply, index=(slice(None, None, None), 1)',
        "COLUMN"),
    "exp of exp": (
        'exp = np.exp(getitem)', 'exp = np.exp(np.exp(getitem))',
        "EXP"),
    "no warning": (
        "warn = _warn('careful', None, 0, k_8, None)", 'warn = None',
        "WARN"),
    "an error of one mode": (
        'if item_2:', 'if True:',
        "RAISE"),
    "concat of another thing": (
        'concat_op(multiply_5_1, reshape_6', 'concat_op(multiply_5_1 * 2, reshape_6',
        "CONCAT"),
    "entries swapped": (
        "(('d', concat_TENSOR), ('v', exp_TENSOR))", "(('v', exp_TENSOR), ('d', concat_TENSOR))",
        "RETURN OF NET"),
    "lost gradient of x": (
        'run.accumulate(walk, 0, matmul)', 'pass',
        "LINEAR"),
    "matmul not transposed scale": (
        'np.matmul(x.T, standardize_gradient)', '-np.matmul(x.T, standardize_gradient)',
        "LINEAR"),
    "variance for mean": (
        'np.multiply(mean_1, k_1)', 'np.multiply(mean_1, k)',
        "NORM"),
    "nan": (
        'add_3 = np.add(multiply_4, reshape_2)', 'add_3 = np.add(multiply_4, np.nan)',
        "NORM"),
    "float64 inside": (
        'np.exp(getitem)', "np.exp(getitem).astype('float64')",
        "EXP"),
}


def arguments() -> list[Any]:
    return [d2s.to_tensor([1.0, 2.0], stop_gradient=False), d2s.to_tensor([0.5, 1.5], stop_gradient=False),
            d2s.to_tensor([1.0, 1.0])]


def net_and_arguments() -> tuple[Net, list[Any]]:
    d2s.seed(3)
    return Net(), [d2s.to_tensor([[0.1, 0.2, 0.3], [1.0, -1.0, 2.0]], stop_gradient=False), d2s.to_tensor([1.0])]


def line_of(mark: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, text in enumerate(file, 1) if text.rstrip().endswith(f"  # {mark}"))


def test_nothing_differs_without_a_fault() -> None:
    assert_same_in_both_modes(program, *arguments())
    net, inputs = net_and_arguments()
    assert_same_in_both_modes(net, *inputs)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_line_is_named(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_fault(program, arguments(), FAULTS[fault], monkeypatch)


@pytest.mark.parametrize("fault", FAULTS_OF_NET)
def test_the_line_in_a_layer_is_named(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_fault(*net_and_arguments(), FAULTS_OF_NET[fault], monkeypatch)


def check_fault(target: Any, inputs: list[Any], fault: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tamper, compare, and look at the line that is named."""
    right, wrong, mark = fault
    load, changed = executor.load, []

    def tampered(source: executor.Source, name: str) -> Any:
        changed.extend(line for line in source.lines if right in line)
        source.lines[:] = [line.replace(right, wrong) for line in source.lines]
        return load(source, name)

    monkeypatch.setattr(executor, "load", tampered)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(target, *inputs, calls=1)
    assert changed, f"no line of the generated code has {right!r} any more: plant the fault otherwise"
    assert raised.value.location is not None
    assert raised.value.location.line == line_of(mark), str(raised.value)
    assert f"# {mark}" in str(raised.value)
