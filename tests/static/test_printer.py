"""The text of Programs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import d2s
from d2s.static.printer import constant_text, text_of


def bare(program):
    """Text of a Program without the comments at the ends of its lines."""
    return re.sub(r"  # \S+$", "", str(program), flags=re.MULTILINE)


def double(g):
    return 2 * g


@d2s.to_static
def hooked_after_use(x):
    t = 3 * x
    x.register_hook(double)
    return t


def leaf(*values):
    return d2s.to_tensor(list(values), dtype="float32", stop_gradient=False)


def test_a_hook_is_shown_where_its_value_is_defined_and_after_the_sum_of_the_uses():
    hooked_after_use(leaf(2.0))
    lines = bare(hooked_after_use.main_program).splitlines()
    assert "  x: float32[1] = input  stop_gradient=False  hooks=[0]" in lines
    backward = lines[lines.index("backward of hooked_after_use") :]
    assert backward[-3:] == ["  x@GRAD += multiply_1", "  call_hooks(x@GRAD)", "  deliver(x@GRAD)"]


def test_the_call_of_the_hooks_stands_after_every_use():
    @d2s.to_static
    def f(x):
        x.register_hook(double)
        return x * x + x

    f(leaf(2.0))
    gradients_of_x = [line.strip() for line in bare(f.main_program).splitlines() if "x@GRAD" in line]
    uses, hooks, end = gradients_of_x[:-2], *gradients_of_x[-2:]
    assert len(uses) == 3
    assert all(use.startswith("x@GRAD += ") for use in uses)
    assert (hooks, end) == ("call_hooks(x@GRAD)", "deliver(x@GRAD)")


def test_after_branches_the_call_of_the_hooks_stands_at_the_end():
    @d2s.to_static
    def f(x):
        x.register_hook(double)
        if x.sum() > 1:
            y = x * x
        else:
            y = x
        return y * 2

    f(leaf(2.0))
    assert bare(f.main_program).splitlines()[-2:] == ["  call_hooks(x@GRAD)", "  deliver(x@GRAD)"]


def test_without_a_hook_there_is_no_call_of_one():
    @d2s.to_static
    def f(x):
        return 3 * x

    f(leaf(2.0))
    assert "call_hooks(x@GRAD)" not in str(f.main_program)
    assert "hooks=" not in str(f.main_program)


def test_registrations_are_counted_over_the_program_and_shown_per_value():
    @d2s.to_static
    def f(x):
        y = x * x
        x.register_hook(double)
        y.register_hook(double)
        x.register_hook(double)
        return y

    f(leaf(2.0))
    shown = re.findall(r"^  (\w+): .*hooks=(\[.*?\])", str(f.main_program), flags=re.MULTILINE)
    by_number = sorted(int(n) for _, numbers in shown for n in re.findall(r"\d+", numbers))
    assert by_number == [0, 1, 2]
    assert len(dict(shown)["x"].split(",")) == 2


def test_blocks_are_indented_and_say_what_they_give():
    @d2s.to_static
    def f(x):
        if x.sum() > 1:
            y = x * 2
        else:
            y = x
        while y.sum() < 10:
            y = y + x
        return y

    f(leaf(2.0))
    text = bare(f.main_program)
    forward, _, backward = text.partition("backward of f")
    assert "    then:\n      multiply: float32[1] = multiply(x, 2.0)\n" in forward
    assert re.search(r"    else:\n      give x", forward)
    assert re.search(r"    test\(.*\):\n(      .*\n)+      give \w+\n", forward)
    assert re.search(r"    body\(.*\):\n(      .*\n)+      give add", forward)
    assert "reversed_turns(" in backward


def test_lines_end_with_the_users_file_and_line():
    hooked_after_use(leaf(2.0))
    number = hooked_after_use.__wrapped__.__code__.co_firstlineno + 2
    assert f"= multiply(3.0, x)  # test_printer.py:{number}" in str(hooked_after_use.main_program)


def test_the_text_is_the_same_for_every_trace():
    def fresh():
        @d2s.to_static
        def f(x):
            x.register_hook(lambda g: g + 1)
            return (x * np.arange(100, dtype="float32")).sum()

        f(leaf(2.0))
        return str(f.main_program)

    assert fresh() == fresh()
    assert "0x" not in fresh()
    assert "<float32[100]>" in fresh()


def test_forward_and_backward_never_use_one_name_for_two_values():
    hooked_after_use(leaf(2.0))
    defined = re.findall(r"^ +(\S+): \S+ = ", bare(hooked_after_use.main_program), flags=re.MULTILINE)
    assert len(defined) == len(set(defined))


def test_an_empty_program_is_its_name():
    assert text_of(d2s.static.Program("nothing")) == "program nothing"


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        (np.float32(0.5), "0.5"),
        (np.array([True, False]), "[True, False]"),
        (np.zeros((3, 3), "int64"), "<int64[3, 3]>"),
        (np.dtype("float32"), "float32"),
        (..., "Ellipsis"),
        ("a" * 100, "'" + "a" * 36 + "..."),
        (double, "double"),
        (ValueError("bad", 3), "ValueError('bad', 3)"),
        (object(), "<object>"),
    ],
)
def test_constants_are_shown_in_brief(constant, text):
    assert constant_text(constant) == text
