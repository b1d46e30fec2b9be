"""Containers and objects that a static function has changed before it reads them as a whole: never the old content."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import D2SError


class Holder:
    """An object of the user."""


def outside():
    holder = Holder()
    holder.a, holder.n = leaf([1.0, 1.0]), 1
    return [leaf([1.0, 1.0])], {"k": leaf([2.0, 2.0])}, holder


def leaf(values):
    return d2s.to_tensor(values, stop_gradient=False)


def stack_after_append(h, d, o, x):
    h.append(x)
    return d2s.stack(h).sum()


def concat_after_item(h, d, o, x):
    h[0] = x
    return d2s.concat(h)


def add_n_after_insert(h, d, o, x):
    h.insert(0, x)
    return d2s.add_n(h)


def append_on_a_condition(h, d, o, x):
    if x.sum() > 0:
        h.append(x)
    return d2s.stack(h)


def merged_into_a_dict(h, d, o, x):
    d["k"] = x
    return {**d, "p": x}


def named_arguments(h, d, o, x):
    d["k"] = x
    return (lambda k: k * 2)(**d)


def update_from(h, d, o, x):
    d["k"] = x
    q = {}
    q.update(d)
    return q["k"] * 2


def extend_by(h, d, o, x):
    h[0] = x
    q = []
    q.extend(h)
    return q[0] * 2


def part_replaced_by(h, d, o, x):
    h[0] = x
    q = [0, 0]
    q[0:1] = h
    return q[0] * 2


def taken_apart(h, d, o, x):
    h[0] = x
    (p,) = h
    return p * 2


def shape_from_a_list(h, d, o, x):
    h.clear()
    h.append(1)
    h.append(2)
    return x.reshape(h)


def through_vars(h, d, o, x):
    vars(o)["a"] = x
    return o.a * 2


def read_through_dict(h, d, o, x):
    o.a = x
    return o.__dict__["a"] * 2


def text_of_an_attribute(h, d, o, x):
    o.n += 1
    return "{o.n}".format(o=o), x  # noqa: UP032


@d2s.jit.not_to_static
def double_the_first(q):
    q.append(q[0] * 2)


def changed_by_eager_code(h, d, o, x):
    double_the_first(h)
    return d2s.stack(h)


def made_here_changed_by_eager_code(h, d, o, x):
    q = [x]
    double_the_first(q)
    return d2s.stack(q)


PROGRAMS = [
    stack_after_append, concat_after_item, add_n_after_insert, append_on_a_condition, merged_into_a_dict,
    named_arguments, update_from, extend_by, part_replaced_by, taken_apart, shape_from_a_list, through_vars,
    read_through_dict, text_of_an_attribute, changed_by_eager_code, made_here_changed_by_eager_code,
]


def plain(result):
    if isinstance(result, d2s.Tensor):
        return result.tolist()
    if isinstance(result, dict):
        return {key: plain(part) for key, part in result.items()}
    return [plain(part) for part in result] if isinstance(result, tuple) else result


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_as_eager_or_refused(program):
    eager, static = outside(), outside()
    function = d2s.to_static(program)
    for k in (1.0, 2.0):
        expected = plain(program(*eager, leaf([k, 5.0])))
        refused = None
        try:
            found = plain(function(*static, leaf([k, 5.0])))
        except D2SError as error:
            refused = error
        if refused is not None:
            told = [str(refused), *getattr(refused, "__notes__", ())]
            assert any("test_changed_containers.py" in text for text in told)
            return
        assert found == expected


def test_a_list_that_eager_code_leaves_alone_can_be_used_afterwards():
    @d2s.jit.not_to_static
    def look(q):
        return len(q)

    def f(x):
        q = [x, x * 2]
        look(q)
        return d2s.stack(q)

    x = d2s.to_tensor([1.0, 2.0])
    assert d2s.to_static(f)(x).tolist() == f(x).tolist()


class Refusal(Exception):
    """Takes two arguments and keeps one."""

    def __init__(self, text, number):
        super().__init__(text)
        self.number = number


def test_errors_with_a_constructor_of_their_own_are_raised_as_they_are():
    @d2s.to_static
    def f(x):
        if x.sum() > 0:
            raise Refusal("positive", 3)
        return x

    for _ in range(2):
        with pytest.raises(Refusal, match="positive") as caught:
            f(leaf([1.0]))
        assert caught.value.number == 3


@pytest.mark.parametrize("name", ["prod", "max", "min", "logsumexp", "norm", "sum", "mean", "std", "cumsum"])
def test_gradients_of_reductions_over_a_size_of_the_run(name):
    def f(x, n):
        part = getattr(d2s, name)(x[:n])
        return (part * part).sum()

    gradients = []
    for function in (f, d2s.to_static(f)):
        x = leaf([1.0, 2.0, 0.5])
        function(x, d2s.to_tensor(2)).backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize("place", [-1, 0])
@pytest.mark.parametrize("is_read_directly", [False, True])
def test_a_tensor_read_behind_an_append(place, is_read_directly):
    def seen(convert):
        first, log = leaf([1.0, 2.0]), []
        kept = [first]
        first.register_hook(lambda g: log.append(g.tolist()))

        @convert
        def f(x):
            log.append("called")
            kept.append(x.detach() if place == -1 else x * 2)
            y = x * kept[place]
            return y + first * x if is_read_directly else y

        for _ in range(2):
            x = leaf([3.0, 5.0])
            y = f(x)
            log.append((y.tolist(), y.stop_gradient))
            y.sum().backward()
            log.append((x.grad.tolist(), None if first.grad is None else first.grad.tolist()))
        return log

    assert seen(d2s.to_static) == seen(lambda f: f)


def test_a_list_that_grows_from_call_to_call_is_read_by_one_program():
    kept = []

    @d2s.to_static
    def f(x):
        kept.append(x.detach())
        return d2s.stack(kept).sum() * x

    for turn in range(1, 6):
        x = leaf([1.0, 2.0])
        y = f(x)
        y.sum().backward()
        assert y.tolist() == [3.0 * turn, 6.0 * turn]
        assert x.grad.tolist() == [3.0 * turn] * 2
    assert len(f.program_cache) <= 2


def test_an_element_of_such_a_list_is_not_written_in_place():
    kept = [leaf([1.0, 1.0]).detach()]

    @d2s.to_static
    def f(x):
        kept.append(x)
        for part in kept:
            part.add_(x)
        return x

    with pytest.raises(d2s.UnsupportedSyntaxError, match="written in place"):
        f(leaf([1.0, 2.0]).detach())
    assert len(kept) == 1
