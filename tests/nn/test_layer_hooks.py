"""Forward hooks of layers: the rows P01 to P15 of the contract, as PyTorch 2.13 and PaddlePaddle 3.3.1 answer them."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s import nn


class Triple(nn.Layer):
    def __init__(self, log: list[Any] | None = None) -> None:
        super().__init__()
        self.log = log

    def forward(self, x: Any, y: float = 0.0) -> Any:
        if self.log is not None:
            self.log.append(("forward", x))
        return 3.0 * x + y


def test_hooks_run_in_order_and_each_sees_the_last_result() -> None:
    log: list[Any] = []
    layer = Triple(log)
    layer.register_forward_pre_hook(lambda m, i: (log.append(("pre1", i[0])), i[0] + 1)[1])
    layer.register_forward_pre_hook(lambda m, i: (log.append(("pre2", i[0])), i[0] * 10)[1])
    layer.register_forward_post_hook(lambda m, i, o: (log.append(("post1", i[0], o)), o + 1)[1])
    layer.register_forward_post_hook(lambda m, i, o: (log.append(("post2", i[0], o)), o * 10)[1])
    assert layer(1.0) == 610.0
    assert log == [("pre1", 1.0), ("pre2", 2.0), ("forward", 20.0), ("post1", 20.0, 60.0), ("post2", 20.0, 61.0)]


@pytest.mark.parametrize(("result", "expected"), [(5.0, 15.0), (None, 3.0), ((7.0,), 21.0)])
def test_a_pre_hook_replaces_the_inputs_unless_it_returns_none(result: Any, expected: float) -> None:
    layer = Triple()
    layer.register_forward_pre_hook(lambda m, i: result)
    assert layer(1.0) == expected


def test_a_list_from_a_pre_hook_is_one_argument() -> None:
    layer = Triple()
    layer.register_forward_pre_hook(lambda m, i: [5.0])
    with pytest.raises(TypeError):
        layer(1.0)


def test_hooks_get_the_layer_and_a_tuple_of_positional_arguments() -> None:
    layer, seen = Triple(), []
    layer.register_forward_pre_hook(lambda m, i: seen.append((m is layer, i)))
    layer.register_forward_post_hook(lambda m, i, o: seen.append((m is layer, i, o)))
    assert layer(x=1.0) == 3.0
    assert layer(2.0, y=1.0) == 7.0
    assert seen == [(True, ()), (True, (), 3.0), (True, (2.0,)), (True, (2.0,), 7.0)]


def test_hooks_with_kwargs() -> None:
    layer, seen = Triple(), []
    layer.register_forward_pre_hook(lambda m, i, k: ((i[0] * 100,), {"y": k["y"] + 1}), with_kwargs=True)
    layer.register_forward_post_hook(lambda m, i, k, o: seen.append((i, k, o)), with_kwargs=True)
    assert layer(1.0, y=2.0) == 303.0
    assert seen == [((100.0,), {"y": 3.0}, 303.0)]


def test_a_pre_hook_with_kwargs_must_return_a_pair() -> None:
    layer = Triple()
    layer.register_forward_pre_hook(lambda m, i, k: i, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"None or \(args, kwargs\)"):
        layer(1.0)


def test_prepended_hooks_run_first() -> None:
    layer, order = Triple(), []
    layer.register_forward_pre_hook(lambda m, i: order.append(1))
    layer.register_forward_pre_hook(lambda m, i: order.append(2), prepend=True)
    layer.register_forward_post_hook(lambda m, i, o: order.append(3))
    layer.register_forward_post_hook(lambda m, i, o: order.append(4), prepend=True)
    layer(1.0)
    assert order == [2, 1, 4, 3]


def test_removal_returns_none_and_may_be_repeated() -> None:
    layer = Triple()
    handle = layer.register_forward_pre_hook(lambda m, i: 10.0)
    other = layer.register_forward_post_hook(lambda m, i, o: o + 1)
    assert layer(1.0) == 31.0
    assert handle.remove() is None
    assert handle.remove() is None
    assert layer(1.0) == 4.0
    other.remove()
    assert layer(1.0) == 3.0


@pytest.mark.parametrize("register", ["register_forward_pre_hook", "register_forward_post_hook"])
def test_changes_made_by_a_running_hook_count_from_the_next_call_on(register: str) -> None:
    layer, ran = Triple(), []

    def remove_myself(*arguments: Any) -> None:
        ran.append(1)
        handle.remove()

    def add_another(*arguments: Any) -> None:
        ran.append(2)
        getattr(layer, register)(lambda *arguments: ran.append(3))

    handle = getattr(layer, register)(remove_myself)
    getattr(layer, register)(add_another)
    assert layer(1.0) == 3.0
    assert ran == [1, 2]
    layer(1.0)
    assert ran == [1, 2, 2, 3]


def test_hooks_of_nested_layers() -> None:
    log: list[str] = []
    net = nn.Sequential(Triple(), Triple())
    for name, layer in [("outer", net), ("a", net[0]), ("b", net[1])]:
        layer.register_forward_pre_hook(lambda m, i, name=name: log.append(f"pre {name}"))
        layer.register_forward_post_hook(lambda m, i, o, name=name: log.append(f"post {name}"))
    assert net(1.0) == 9.0
    assert log == ["pre outer", "pre a", "post a", "pre b", "post b", "post outer"]


def test_calling_forward_itself_skips_the_hooks() -> None:
    layer = Triple()
    layer.register_forward_post_hook(lambda m, i, o: 0.0)
    assert layer.forward(1.0) == 3.0


def test_errors_reach_the_caller_and_only_always_call_hooks_still_run() -> None:
    class Failing(nn.Layer):
        def forward(self, x: Any) -> Any:
            raise KeyError("forward")

    layer, ran = Failing(), []
    layer.register_forward_post_hook(lambda m, i, o: ran.append("plain"))
    layer.register_forward_post_hook(lambda m, i, o: ran.append(("always", i, o)), always_call=True)
    with pytest.raises(KeyError, match="forward"):
        layer(1.0)
    assert ran == [("always", (1.0,), None)]


def test_an_always_call_hook_does_not_run_twice() -> None:
    def fail(*arguments: Any) -> None:
        raise ValueError("post")

    layer, ran = Triple(), []
    layer.register_forward_post_hook(lambda m, i, o: ran.append(o), always_call=True)
    layer.register_forward_post_hook(fail)
    layer.register_forward_post_hook(lambda m, i, o: ran.append("late"), always_call=True)
    with pytest.raises(ValueError, match="post"):
        layer(1.0)
    assert ran == [3.0, "late"]


def test_an_error_of_an_always_call_hook_becomes_a_warning() -> None:
    def fail(*arguments: Any) -> None:
        raise ValueError("second")

    layer = Triple()
    layer.register_forward_pre_hook(lambda m, i: {}["first"])
    layer.register_forward_post_hook(fail, always_call=True)
    with pytest.warns(RuntimeWarning, match="second"), pytest.raises(KeyError, match="first"):
        layer(1.0)


@pytest.mark.parametrize("result", [0, False, ()])
def test_falsy_results_of_a_post_hook_count(result: Any) -> None:
    layer = Triple()
    layer.register_forward_post_hook(lambda m, i, o: result)
    assert layer(1.0) == result
    assert type(layer(1.0)) is type(result)


def test_a_post_hook_of_a_layer_with_several_outputs_gets_and_replaces_the_tuple() -> None:
    class Pair(nn.Layer):
        def forward(self, x: Any) -> Any:
            return x, x + 1

    layer, seen = Pair(), []
    layer.register_forward_post_hook(lambda m, i, o: (seen.append(o), o[1])[1])
    assert layer(1.0) == 2.0
    assert seen == [(1.0, 2.0)]


def test_hooks_may_register_gradient_hooks() -> None:
    x = d2s.to_tensor([1.0], stop_gradient=False)
    layer = Triple()
    layer.register_forward_pre_hook(lambda m, i: i[0].register_hook(lambda g: g * g) and None)
    layer.register_forward_post_hook(lambda m, i, o: o.register_hook(lambda g: g + 1) and None)
    grads = []
    for _ in range(2):
        layer(x).sum().backward()
        grads.append(x.grad.item())
        x.grad = None
    # (1 + 1) * 3 reaches x, squared once in the first call, and by two hooks in the second.
    assert grads == [36.0, 1296.0]


def test_one_function_registered_twice_runs_twice() -> None:
    layer = Triple()

    def add(m: Any, i: Any, o: Any) -> Any:
        return o + 1

    handle = layer.register_forward_post_hook(add)
    layer.register_forward_post_hook(add)
    assert layer(1.0) == 5.0
    handle.remove()
    assert layer(1.0) == 4.0


@pytest.mark.parametrize("register", ["register_forward_pre_hook", "register_forward_post_hook"])
def test_a_hook_must_be_callable(register: str) -> None:
    layer = Triple()
    with pytest.raises(TypeError, match="callable, got int"):
        getattr(layer, register)(3)
    assert layer(1.0) == 3.0
