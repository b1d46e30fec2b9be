"""Functions that do another thing in one mode: the error names the line, also where no value is another one."""

from __future__ import annotations

import inspect
import types
import warnings
from typing import Any

import pytest

import d2s
from d2s.testing import ModesDiffer, assert_same_in_both_modes, same

# A module is nothing that a comparison puts back.
now: Any = types.ModuleType("now")
now.static = False


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
        return [y]
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


WORDS = {
    hook_beside_an_unused_result: ["hook call 1", "part: add"],
    number_beside_an_unused_result: ["the output[1]", "every operator gives the same"],
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
def test_the_line_is_named(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = same._Comparison.run

    def noting_the_mode(self: Any, mode: Any, *args: Any, **kwargs: Any) -> Any:
        now.static = mode.is_static
        return run(self, mode, *args, **kwargs)

    monkeypatch.setattr(same._Comparison, "run", noting_the_mode)
    with pytest.raises(ModesDiffer) as raised:
        assert_same_in_both_modes(function, d2s.to_tensor([1.0, 2.0], stop_gradient=False))
    lines, first = inspect.getsourcelines(function)
    assert raised.value.location is not None
    assert raised.value.location.line == first + next(n for n, line in enumerate(lines) if "# FAULT" in line)
    for words in WORDS[function]:
        assert words in str(raised.value)
