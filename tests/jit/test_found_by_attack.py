"""Programs that once differed from eager mode: tensors, iterators and containers that only the run knows."""

from __future__ import annotations

import itertools

import pytest

import d2s
from d2s.errors import UnsupportedSyntaxError
from tests.jit.both import both_modes, leaf


@both_modes
def test_training_by_hand(convert):
    def f(x):
        w = d2s.to_tensor([1.0], stop_gradient=False)
        for _ in range(3):
            (w * w * x).sum().backward()
            with d2s.no_grad():
                w.set_value(w - 0.1 * w.grad)
            w.clear_grad()
        return w * x

    y = convert(f)(x := leaf(0.5))
    y.sum().backward()
    assert y.tolist() == pytest.approx([0.5 * 0.9**3])
    assert x.grad.tolist() == pytest.approx([1 + 0.9**2 + 0.9**4 + 0.9**3])


@both_modes
def test_a_step_by_hand_on_tensors_of_the_caller(convert):
    def step(x, w):
        loss = ((x * w) ** 2).mean()
        loss.backward()
        with d2s.no_grad():
            w.add_(-0.1 * w.grad)
            w.clear_grad()
        return loss

    step, w = convert(step), leaf(2.0)
    losses = [step(leaf(0.5), w).item() for _ in range(3)]
    assert losses == pytest.approx([(0.5 * 2 * 0.95**k) ** 2 for k in range(3)])


@both_modes
def test_attributes_of_tensors_made_inside(convert):
    seen = []

    def f(x):
        y = x * 2
        y.tag = 5
        y.name = "doubled"
        y.register_hook(lambda g: seen.append((g.item(), y.tag)))
        return y, x.name

    x = leaf(1.0)
    x.name = "given"
    y, name = convert(f)(x)
    y.sum().backward()
    assert (y.tag, y.name, name, seen) == (5, "doubled", "given", [(1.0, 5)])


@both_modes
def test_a_view_stored_outside_before_a_write(convert):
    out = {}

    def through_the_view(x):
        b = x * 1
        v = out["v"] = b[0:1]
        v.multiply_(x[1:2])
        return v.sum()

    def through_the_base(x):
        b = x * 1
        out["v"] = b[0:1]
        b.multiply_(x)
        return b.sum()

    convert(through_the_view)(x := leaf(3.0, 2.0)).backward()
    assert (x.grad.tolist(), out["v"].tolist()) == ([2.0, 3.0], [6.0])
    convert(through_the_base)(x := leaf(3.0, 2.0)).backward()
    assert (x.grad.tolist(), out["v"].tolist()) == ([6.0, 4.0], [9.0])


@both_modes
@pytest.mark.parametrize("value", [3.0, -1.0])
def test_a_generator_advanced_in_a_branch(convert, value):
    def f(x):
        log = []
        numbers = (log.append(i) or i for i in range(9))
        next(numbers)
        if x.sum() > 0:
            x = x + next(numbers)
        return x + next(numbers), log

    y, log = convert(f)(leaf(value))
    assert (y.item(), log) == ((6.0, [0, 1, 2]) if value > 0 else (0.0, [0, 1]))


@both_modes
def test_questions_about_objects_of_the_run(convert):
    f = convert(lambda c: (callable(c.item()), hasattr(c.item(), "append"), hasattr(c.item(), "real")))
    assert f(d2s.to_tensor(1.0)) == (False, False, True)


def iterator_behind_its_loop(x):
    numbers = itertools.chain([1, 2, 3])
    for k in numbers:
        if x.sum() > k:
            break
    return x * next(numbers, 100)


def dict_with_two_names(x):
    a = b = {"v": x}
    for _ in range(int(x.max())):
        a = {"v": x}
    a["v"] = x * 5
    return b["v"]


@pytest.mark.parametrize(("function", "kind"), [
    (iterator_behind_its_loop, "U15"), (dict_with_two_names, "U33"),
])
def test_what_cannot_be_told_is_refused(function, kind):
    function(leaf(3.0))
    with pytest.raises(UnsupportedSyntaxError) as caught:
        d2s.to_static(function)(leaf(3.0))
    assert caught.value.kind == kind
    assert caught.value.location.line


def test_a_loop_tried_in_vain_before_a_decision():
    """The hook's cell is made outside of the loop, whose test reads again what an untraced call may have written."""

    def seen_of(convert):
        seen = []

        @d2s.jit.not_to_static
        def note(y):
            seen.append(y.tolist())

        def f(x, c, n):
            k = 0
            while k < n:
                k = k + 1
                x.register_hook(lambda g: g * 0.5 + x.detach())  # noqa: B023
                x = x * x
                note(x)
            if c > 0:
                x.no_such_attribute()
            return x * 3

        f = convert(f)
        for c, n in ((0, 2), (1, 1), (0, 0)):
            x = leaf(0.5)
            try:
                f(x, d2s.to_tensor(c), d2s.to_tensor(n)).sum().backward()
                seen.append(x.grad.tolist())
            except AttributeError as error:
                seen.append(str(error))
        return seen

    eager = seen_of(lambda function: function)
    assert len(eager) == 6
    assert seen_of(d2s.to_static) == eager


def test_an_item_beside_a_stored_one_depends_on_no_others():
    table, held = {"a": d2s.ones([1]), "n": 0}, [d2s.ones([1]), d2s.ones([1]), 0]

    @d2s.jit.to_static
    def f(x):
        table["k"] = x
        held[0] = x
        return table["a"] * table["k"] + held[1] * held[-2], "k" in table, "z" in table, bool(table)

    for number in range(4):
        table["n"], held[2] = [number] * number, str(number)
        assert f(d2s.full([1], 2.0 + number))[0].tolist() == [3.0 + number]
    assert f.program_cache.traces <= 2
    table["a"] = d2s.full([1], 5.0)
    assert f(d2s.full([1], 2.0))[0].tolist() == [11.0]


@both_modes
def test_a_place_that_a_loop_writes_first_is_not_asked_for_before(convert):
    asked = []

    class Outer:
        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

    outer = Outer()

    def f(x, n):
        while n > 0:
            outer.last = x * n
            n = n - 1
        return x

    convert(f)(d2s.ones([1]), d2s.to_tensor(2))
    assert asked == []
    assert outer.last.tolist() == [1.0]


@both_modes
def test_an_index_before_the_beginning_of_a_list_with_stored_items(convert):
    held = [d2s.ones([1]), d2s.zeros([1])]

    def f(x):
        held[0] = x
        return held[-3]

    with pytest.raises(IndexError):
        convert(f)(d2s.ones([1]))
