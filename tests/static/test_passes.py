"""IR passes: what each makes of a Program, as text; and planted faults that the check after each pass must find."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import d2s
from d2s.errors import ProgramError
from d2s.static import passes
from d2s.static.passes import fold_constants, merge_duplicates, optimized, recompute, remove_dead, simplify
from d2s.static.passes.rewriting import Rewriter
from d2s.static.program import Block
from d2s.static.verify import verify_pass
from d2s.static.whole_step import inner_backwards, whole_step
from tests.modes import programs

FOLDER = Path(__file__).parents[1] / "golden" / "ir_passes"
FILES = sorted(FOLDER.glob("*.txt"))
MARK = "\n----\n"
PASSES = {**dict(passes.PIPELINE), **dict(passes.REASSOCIATING)}


def traced(text):
    """The Program of the function `f` in `text`, for two tensors; of a whole step with its backward in place."""
    static = d2s.to_static(programs.load("import d2s\n" + text))
    data = np.arange(6, dtype="float32").reshape(2, 3)
    arguments = [d2s.to_tensor(data + number, stop_gradient=False) for number in (1, 2)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passes, "PIPELINE", ())
        static(*arguments)
    compiled = static.concrete_program.traced.compiled
    if compiled.step is not None:
        (backward,) = inner_backwards(compiled.program)
        return whole_step(compiled.program, compiled.edges, [(backward, compiled._whole_plan)]).program
    return dataclasses.replace(compiled.program, backward=None)


def shown(program):
    return re.sub(r"  # \S+$", "", str(program), flags=re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden(file, monkeypatch):
    """A file holds a function, its Program, and what the pass named at the beginning of its name makes of it."""
    monkeypatch.setattr(recompute, "SMALLEST", 1)
    source, before, after = file.read_text().rstrip("\n").split(MARK)
    program = traced(source)
    assert shown(program) == before
    name = next(name for name in PASSES if file.stem.startswith(name))
    result = PASSES[name](program, frozenset(program.outputs))
    verify_pass(result, program, name)
    assert shown(result) == after


def test_every_pass_has_a_golden_text():
    for name in PASSES:
        assert any(file.stem.startswith(name) for file in FILES), name


HOOKED = """
def f(x, y):
    a = x * y
    a.register_hook(lambda g: g + 1)
    b = a * 1.0
    b.register_hook(lambda g: g * g)
    print(1)
    return a * b
"""


def planted(change):
    """A pass that does `change` to the list of operators."""
    def run(program, kept):
        operators = list(program.operators)
        change(operators)
        return dataclasses.replace(program, block=Block(program.inputs, operators, program.outputs))

    return run


def _index(operators, kind, number=0):
    return [i for i, operator in enumerate(operators) if operator.kind == kind][number]


def across_a_hook(operators):
    operators.insert(_index(operators, "register_hook"), operators.pop(_index(operators, "python", 2)))


def drop_an_effect(operators):
    place = next(i for i, o in enumerate(operators) if o.kind == "python" and o.effect)
    del operators[place]


def merge_two_hook_points(operators):
    del operators[_index(operators, "hook_point", 1)]


def one_hook_twice(operators):
    operators.append(operators[_index(operators, "register_hook")])


def use_before_definition(operators):
    operators.reverse()


@pytest.mark.parametrize(
    "fault", [across_a_hook, drop_an_effect, merge_two_hook_points, one_hook_twice, use_before_definition])
def test_faults_are_found_and_the_pass_is_named(fault, monkeypatch):
    program = traced(HOOKED)
    monkeypatch.setattr(passes, "PIPELINE", (("faulty", planted(fault)),))
    with pytest.raises(ProgramError, match="after the pass faulty"):
        optimized(program)


def test_a_pass_that_changes_nothing_gives_the_program_itself():
    program = traced("def f(x, y):\n    return x * y")
    for run in (fold_constants.run, simplify.run, merge_duplicates.run, remove_dead.run):
        assert run(program, frozenset(program.outputs)) is program
    assert Rewriter(lambda operator, rewriter: operator).program(program) is program


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1.5])
def test_simplified_to_the_bit(value):
    def f(x):
        return x * 1.0, x / 1.0, x - 0.0, x + 0.0, 1.0 * x, x - (-0.0)

    x = d2s.to_tensor([value])
    for eager, static in zip(f(x), d2s.to_static(f)(x), strict=True):
        assert eager.numpy().tobytes() == static.numpy().tobytes()


def sum_of_a_part(x):
    return (x[:, 1:-3] * 1.0).sum()


def sums_of_a_product_with_one_number(x):
    # In both: what has its rows one after another times what has its columns so.
    loss = (x.T + x[:, 0]).tanh().sum()
    return loss * loss


@pytest.mark.parametrize("f", [sum_of_a_part, sums_of_a_product_with_one_number])
@pytest.mark.parametrize("rows", [9, 33, 100])
def test_what_is_simplified_lies_in_memory_as_before(f, rows):
    """In which order a sum adds up depends on that."""
    def step(x):
        loss = f(x)
        loss.backward()
        return loss

    data = np.random.default_rng(rows).standard_normal((rows, 3 * rows + 4)).astype("float32")
    seen = []
    for function in (step, d2s.to_static(step)):
        x = d2s.to_tensor(data, stop_gradient=False)
        seen.append((function(x).numpy().tobytes(), x.grad.numpy().tobytes()))
    assert seen[0] == seen[1]


def test_a_result_is_a_tensor_of_its_own_also_if_nothing_was_computed():
    def f(x):
        return x * 1.0, x / 1.0, x * 1.0, d2s.ones([3]) * 2.0, d2s.ones([3]) * 2.0

    for stop_gradient in (True, False):
        x = d2s.to_tensor([1.0, 2.0, 3.0], stop_gradient=stop_gradient)
        static = d2s.to_static(f)
        results = [x, *static(x), *static(x)]
        assert len(set(map(id, results))) == len(results)


def test_equal_numbers_of_other_types_are_not_merged():
    def f(x):
        return x.astype("int64") * 2 + x.astype("int64"), (x * 0.0, x * -0.0), x.sum(0), x.sum(0, keepdim=True)

    x = d2s.to_tensor([[1.5, -2.5]])
    eager, static = f(x), d2s.to_static(f)(x)
    assert repr(eager) == repr(static)
    assert np.signbit(static[1][0].numpy()).tolist() != np.signbit(static[1][1].numpy()).tolist()


def test_what_would_raise_is_not_removed():
    @d2s.to_static
    def f(x, index):
        x[index]
        return x * 2

    f(d2s.to_tensor([1.0, 2.0]), d2s.to_tensor([1]))
    with pytest.raises(IndexError):
        f(d2s.to_tensor([1.0, 2.0]), d2s.to_tensor([7]))


def recurrent(dtype):
    """A recurrent network in a loop of known length, with hooks."""
    r = np.random.default_rng(5)
    w, u, x = (d2s.to_tensor(r.standard_normal(shape), dtype=dtype, stop_gradient=False)
               for shape in ((7, 5), (5, 5), (12, 3, 7)))
    log = []
    u.register_hook(lambda g: log.append(("u", g.numpy())) or g * 0.5)

    def step():
        h = d2s.zeros([3, 5], dtype=dtype)
        for k in range(12):
            h = d2s.tanh(d2s.matmul(x[k], w) + d2s.matmul(h, u))
            if k == 7:
                h.register_hook(lambda g: log.append(("h", g.numpy())) or g + 0.1)
        loss = (h * h).mean()
        loss.backward()
        return loss

    return step, (w, u, x), log


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12)])
def test_batched_products_keep_the_tolerance_and_the_hooks(dtype, tolerance):
    seen = []
    for strategy in (None, d2s.static.BuildStrategy(batch_products=True)):
        step, leaves, log = recurrent(dtype)
        static = step if strategy is None else d2s.to_static(step, build_strategy=strategy)
        loss = static()
        seen.append((loss.numpy(), [leaf.grad.numpy() for leaf in leaves], log))
    assert "batch_products" in static.explain()
    kinds = [operator.kind for operator in static.main_program.operators]
    assert kinds.count("matmul") == 24
    # 12 forward and 12 back through h @ u, 11 for the gradient of x, and few for all the rest together; without: 71.
    text = static.concrete_program.traced.compiled.step.source.text
    assert len(re.findall(r"= (np\.matmul|matmul_op)\(", text)) < 24 + 24
    (loss, gradients, log), (other, found, other_log) = seen
    np.testing.assert_allclose(other, loss, rtol=tolerance)
    assert [name for name, _ in other_log] == [name for name, _ in log] == ["h", "u"]
    for expected, got in zip([*gradients, *(g for _, g in log)], [*found, *(g for _, g in other_log)], strict=True):
        np.testing.assert_allclose(got, expected, atol=tolerance * np.abs(expected).max(), rtol=0)


def test_products_are_not_batched_unless_asked_for():
    step, _, _ = recurrent("float32")
    static = d2s.to_static(step)
    static()
    assert "batch_products" not in static.explain()
    assert static._strategy == d2s.static.BuildStrategy()


def turned(dtype, turns):
    """A recurrent network in a tensor loop, and a power iteration, with hooks; and how often the loop turns."""
    r = np.random.default_rng(6)
    w, a, x = (d2s.to_tensor(r.standard_normal(shape) * 0.4, dtype=dtype, stop_gradient=False)
               for shape in ((5, 5), (4, 4), (3, 5)))
    count, v = d2s.to_tensor(float(turns), dtype=dtype), d2s.ones([4], dtype=dtype)
    log = []
    w.register_hook(lambda g: log.append(("w", g.numpy())) or g * g)

    def step():
        h, u, k = x * 1.0, v, d2s.zeros([], dtype=dtype)
        while k < count:
            h = d2s.tanh(d2s.matmul(h, w) + x)
            u = d2s.matmul(a, u)
            u = u / (u * u).sum()
            k = k + 1.0
        loss = (h * h).mean() + (u * u * u).sum() + w.sum()
        loss.backward()
        return loss

    return step, (w, a, x), log


@pytest.mark.parametrize("turns", [0, 1, 9])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12)])
def test_products_of_turns_keep_the_tolerance_and_the_hooks(dtype, tolerance, turns):
    seen = []
    for strategy in (None, d2s.static.BuildStrategy(batch_products=True)):
        step, leaves, log = turned(dtype, turns)
        static = step if strategy is None else d2s.to_static(step, build_strategy=strategy)
        loss = static()
        seen.append((loss.numpy(), [leaf.grad for leaf in leaves], log))
    assert static.concrete_program.traced.compiled.step.source.text.count("product_of_rows(") == 2
    (loss, gradients, log), (other, found, other_log) = seen
    np.testing.assert_array_equal(other, loss)
    assert [name for name, _ in other_log] == [name for name, _ in log] == ["w"]
    np.testing.assert_allclose(other_log[0][1], log[0][1], atol=tolerance * np.abs(log[0][1]).max(), rtol=0)
    for expected, got in zip(gradients, found, strict=True):
        if expected is None or got is None:
            assert expected is got
        else:
            limit = tolerance * np.abs(expected.numpy()).max()
            np.testing.assert_allclose(got.numpy(), expected.numpy(), atol=limit, rtol=0)


def lose_rows(operators):
    turns = operators[_index(operators, "reversed_turns")]
    block, = turns.blocks
    inner = [operator for operator in block.operators if operator.kind != "add_to_sum"]
    operators[operators.index(turns)] = dataclasses.replace(turns, blocks=(block.derived(inner, block.outputs),))


def test_a_lost_contribution_is_found(monkeypatch):
    source = (FOLDER / "batch_turns_of_a_while.txt").read_text().split(MARK)[0]
    monkeypatch.setattr(passes, "PIPELINE", (("faulty", planted(lose_rows)),))
    with pytest.raises(ProgramError, match="other contributions to a gradient"):
        optimized(traced(source))


def test_what_is_computed_without_gradients_does_not_stand_for_what_carries_them():
    def program(w):
        with d2s.no_grad():
            fixed = w * 3
        return (fixed + -(w * 3)).sum()

    w = d2s.to_tensor([0.5, 1.0], stop_gradient=False)
    d2s.jit.to_static(program)(w).backward()
    assert w.grad.tolist() == [-3, -3]
