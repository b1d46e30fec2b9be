"""Functions that do another thing in one mode: the error names the line, also where no value is another one."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

import d2s
from d2s.testing import ModesDiffer, assert_same_in_both_modes
from tests.testing.mode_of_faults import now, told_of_the_mode  # noqa: F401


def cast_in_static_mode(x):
    y = x * 2
    if now.static:
        y = y.astype("float64")  # FAULT
    z = y + 1
    return z * 3


def cast_in_eager_mode(x):
    y = x * 2
    if not now.static:
        y = y.astype("float64")  # FAULT
    z = y + 1
    return z * 3


def cast_of_an_operand_in_static_mode(x):
    y = x * 2
    z = y.astype("float64") if now.static else y  # FAULT
    return z + 1


def cast_of_an_operand_in_eager_mode(x):
    y = x * 2
    z = y if now.static else y.astype("float64")  # FAULT
    return z + 1


def cast_of_the_result_in_static_mode(x):
    y = x * 2
    return y.astype("float64") if now.static else y  # FAULT


def cast_of_the_result_in_eager_mode(x):
    y = x * 2
    return y if now.static else y.astype("float64")  # FAULT


def another_step_in_static_mode(x):
    y = x * 2
    z = y * 1.5 if now.static else y  # FAULT
    return (z + 1).sum()


def warning_in_static_mode(x):
    y = x * 2
    if now.static:
        warnings.warn("odd", stacklevel=1)  # FAULT
    return y


def warning_in_eager_mode(x):
    y = x * 2
    if not now.static:
        warnings.warn("odd", stacklevel=1)  # FAULT
    return y


def clone_in_eager_mode(x):
    y = x * 2
    z = x if now.static else x.clone()  # FAULT
    return y, z


def clone_in_static_mode(x):
    y = x * 2
    z = x.clone() if now.static else x  # FAULT
    return y, z


def clone_of_a_result_in_static_mode(x):
    y = x * 2
    z = y.clone() if now.static else y  # FAULT
    return y, z


def copy_of_a_list_in_eager_mode(x, items=[1, 2]):  # noqa: B006
    y = x * 2
    return y, items if now.static else list(items)  # FAULT


def list_in_place_of_a_tuple(x):
    y = x * 2
    if now.static:
        return [y]  # FAULT
    return (y,)  # FAULT


def hook_beside_an_unused_result(x):
    unused = x.exp()  # noqa: F841
    y = x * 2
    if now.static:
        y.register_hook(lambda g: g * 3)
    else:
        y.register_hook(lambda g: g + 1)  # FAULT
    return y


def number_beside_an_unused_result(x):
    unused = x.exp().log()  # noqa: F841
    y = x * 2
    return y, 1 if now.static else 2  # FAULT


def print_beside_constants(x):
    y = x * 2
    y.add_(d2s.ones([2]) * 3)
    if not now.static:
        print("odd")  # FAULT
    return y


def detach_in_static_mode(x):
    y = x * 2
    z = y.detach() if now.static else y  # FAULT
    w = z * 3
    return w + y


def detach_in_eager_mode(x):
    y = x * 2
    z = y if now.static else y.detach()  # FAULT
    w = z * 3
    return w + y


def detach_of_the_result_in_eager_mode(x):
    y = x * 2
    z = y if now.static else y.detach()  # FAULT
    return z


def detach_of_the_result_in_static_mode(x):
    y = x * 2
    z = y.detach() if now.static else y  # FAULT
    return z


def detach_of_an_argument_in_static_mode(x):
    y = x.detach() if now.static else x  # FAULT
    z = y * 3
    return z.sum()


def detach_of_an_argument_in_eager_mode(x):
    y = x if now.static else x.detach()  # FAULT
    z = y * 3
    return z.sum()


def detach_in_a_branch_in_static_mode(x):
    y = x * 2
    if now.static:
        y = y.detach()  # FAULT
    z = y * 3
    w = z + 1
    return w


def detach_in_a_branch_in_eager_mode(x):
    y = x * 2
    if not now.static:
        y = y.detach()  # FAULT
    z = y * 3
    w = z + 1
    return w + x


def stop_gradient_in_eager_mode(x):
    y = x * 2
    if not now.static:
        y.stop_gradient = True  # FAULT
    z = y * 3
    w = z + 1
    return w + x


def no_grad_in_eager_mode(x):
    y = x * 2
    if not now.static:
        with d2s.no_grad():
            z = y * 3  # FAULT
    else:
        z = y * 3
    w = z + 1
    return w + x


def number_returned(x):
    y = x * 2
    n = 3 if now.static else 4  # FAULT
    z = y + 1
    return z, n


def number_behind_a_number(x):
    y = x * 2
    n = 3 if now.static else 4  # FAULT
    m = n + 1
    z = y * m
    w = z + 1
    return w


def number_of_a_branch(x):
    y = x * 2
    n = 3.0
    if now.static:
        n = 4.0  # FAULT
    z = y * n
    w = z + 1
    return w


def number_of_a_tensor(x):
    y = x * 2
    n = y.sum().item() + (1 if now.static else 0)  # FAULT
    m = n * 2
    z = y + 1
    return z, m


def number_in_a_list(x):
    y = x * 2
    items = [1, 2, 3]
    items.append(5 if now.static else 4)  # FAULT
    m = sum(items)
    z = y * m
    return z


def number_added_in_eager_mode(x):
    n = x.shape[0]
    if not now.static:
        n += 1  # FAULT
    y = x * 2
    z = y + n
    return z


def axis_that_is_a_number(x):
    n = x.reshape([1, 2])
    k = 1 if now.static else 0  # FAULT
    y = n * 2
    z = d2s.sum(y, axis=k)
    return z * 2


def number_of_a_helper(x):
    def scale(k):
        return k + (1 if now.static else 2)  # FAULT

    y = x * 2
    n = scale(3)
    return y * n


WORDS = {
    detach_in_static_mode: ["a float32 tensor that requires no gradient"],
    detach_in_eager_mode: ["a float32 tensor that requires no gradient"],
    detach_of_the_result_in_eager_mode: ["a float32 tensor that requires no gradient"],
    detach_of_the_result_in_static_mode: ["a float32 tensor that requires no gradient"],
    detach_of_an_argument_in_static_mode: ["a float32 tensor that requires no gradient"],
    detach_of_an_argument_in_eager_mode: ["a float32 tensor that requires no gradient"],
    detach_in_a_branch_in_static_mode: ["a float32 tensor that requires no gradient"],
    detach_in_a_branch_in_eager_mode: ["a float32 tensor that requires no gradient"],
    stop_gradient_in_eager_mode: ["a float32 tensor that requires no gradient"],
    no_grad_in_eager_mode: ["part: multiply", "it ran in eager mode only"],
    number_returned: ["first name with another value"],
    number_behind_a_number: ["first name with another value"],
    number_of_a_branch: ["first name with another value"],
    number_of_a_tensor: ["first name with another value: n", "eager:  6.0", "static: 7.0"],
    number_in_a_list: ["first name with another value: items", "static: list of 1, 2, 3, 5"],
    number_added_in_eager_mode: ["first name with another value"],
    axis_that_is_a_number: ["first name with another value"],
    number_of_a_helper: ["first name with another value: the result"],
    hook_beside_an_unused_result: ["hook call 1", "part: add"],
    number_beside_an_unused_result: ["the output[1]", "first name with another value: the result"],
    print_beside_constants: ["printed line 1", "every operator gives the same"],
    cast_in_static_mode: ["(float32, shape [2])", "(float64, shape [2])", "part: cast", "it ran in static mode only"],
    cast_in_eager_mode: ["part: cast", "it ran in eager mode only"],
    cast_of_an_operand_in_static_mode: ["part: cast"],
    cast_of_an_operand_in_eager_mode: ["part: cast"],
    cast_of_the_result_in_static_mode: ["part: cast"],
    cast_of_the_result_in_eager_mode: ["part: cast"],
    another_step_in_static_mode: ["part: multiply"],
    warning_in_static_mode: ["warning 1", "static: 'UserWarning: odd'"],
    warning_in_eager_mode: ["warning 1", "eager:  'UserWarning: odd'"],
    clone_in_eager_mode: ["static: [1.0, 2.0] (the same tensor as x, requires a gradient)"],
    clone_in_static_mode: ["eager:  [1.0, 2.0] (the same tensor as x, requires a gradient)"],
    clone_of_a_result_in_static_mode: ["(the same tensor as the output[0], requires a gradient)"],
    copy_of_a_list_in_eager_mode: ["static: list of 2 (the same list as default 0 of copy_of_a_list_in_eager_mode)"],
    list_in_place_of_a_tuple: ["tuple of 1", "list of 1"],
}


@pytest.mark.parametrize("function", WORDS, ids=lambda function: function.__name__)
def test_the_line_is_named(function: Any) -> None:
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(function, d2s.to_tensor([1.0, 2.0], stop_gradient=False))
    lines, first = inspect.getsourcelines(function)
    assert raised.value.location is not None
    assert raised.value.location.line in [first + n for n, line in enumerate(lines) if "# FAULT" in line]
    for words in WORDS[function]:
        assert words in str(raised.value)
