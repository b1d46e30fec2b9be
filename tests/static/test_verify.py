"""What `verify` lets pass, and planted faults that it must find."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import d2s
from d2s.core.op import OP_TABLE
from d2s.core.spec import TensorSpec
from d2s.static.executor import BACKWARD_CHECKS, FORWARD_CHECKS
from d2s.static.kinds import KINDS
from d2s.static.program import Operator, Value
from d2s.static.verify import verify, verify_backward
from d2s.static.writers import WRITERS


def traced():
    """A fresh Program with a branch, a loop, hooks and random numbers."""

    @d2s.to_static
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g + 1)
        if y.sum() > 1:
            z = y * y
        else:
            z = y + d2s.rand([2])
        while z.sum() < 100:
            z = z + y
        return z

    f(d2s.to_tensor([1.0, 2.0], stop_gradient=False))
    return f.main_program


@pytest.fixture
def program():
    return traced()


def find(program, kind, block=None):
    operators = program.all_operators() if block is None else block.operators
    return next(operator for operator in operators if operator.kind == kind)


def test_a_traced_program_is_legal(program):
    verify(program)


def test_programs_built_by_hand_are_legal():
    program = d2s.static.Program()
    with d2s.static.program_guard(program):
        x = d2s.static.data("x", [None, 2])
        x.stop_gradient = False
        x.register_hook(lambda g: g)
        out = program.current_block().create_var(name="out", shape=[-1, 2], dtype="float32")
        d2s.static.py_func(lambda x: x, x, out, lambda *args: args[-1])
        d2s.static.append_backward((out * x).mean())
    verify(program)


def test_every_program_of_the_test_suite_is_checked():
    assert verify in FORWARD_CHECKS
    assert verify_backward in BACKWARD_CHECKS


def test_the_table_of_kinds_is_what_can_be_written():
    assert KINDS.keys() == WRITERS.keys()
    assert not KINDS.keys() & OP_TABLE.keys()


# --- planted faults: each takes a Program, breaks it, and names what must be said -----------------------------------


def drop_an_operator(program):
    program.operators.remove(find(program, "multiply"))
    return "used before it is defined"


def move_a_use_up(program):
    operator = find(program, "greater_than")
    program.operators.remove(operator)
    program.operators.insert(0, operator)
    return "greater_than: sum is used before it is defined"


def use_a_value_of_a_branch_outside(program):
    inner = find(program, "cond").blocks[0].operators[0].outputs[0]
    find(program, "materialise", program.block).inputs = (inner,)
    find(program, "while").inputs = (inner, *find(program, "while").inputs[1:])
    return f"{inner.name} is used before it is defined"


def define_twice(program):
    operator = find(program, "multiply")
    program.operators.insert(program.operators.index(operator), operator)
    return f"{operator.outputs[0].name} is defined a second time"


def reuse_a_name(program):
    first, second = find(program, "multiply"), find(program, "greater_than")
    second.outputs = (dataclasses.replace(second.outputs[0], name=first.outputs[0].name),)
    return f"another value is called {first.outputs[0].name} too"


def change(operator, **fields):
    """Replace the first output of `operator`; fields of the new Value."""
    operator.outputs = (dataclasses.replace(operator.outputs[0], **fields), *operator.outputs[1:])


def wrong_shape(program):
    change(find(program, "sum"), spec=TensorSpec((2,), np.dtype("float32")))
    return "float32[2], but infer says float32[]"


def wrong_dtype(program):
    change(find(program, "multiply"), spec=TensorSpec((2,), np.dtype("float64")))
    return "float64[2], but infer says float32[2]"


def inputs_that_do_not_fit(program):
    operator = find(program, "multiply")
    operator.inputs = (operator.inputs[0], Value("c", TensorSpec((3,), np.dtype("float32")), True, np.zeros(3), True))
    return "its inputs do not fit"


def an_object_in_place_of_a_tensor(program):
    operator = find(program, "multiply")
    operator.inputs = (operator.inputs[0], Value("c", None, True, "text", True))
    return "c is no tensor"


def an_unknown_kind(program):
    find(program, "item").kind = "itme"
    return "itme is no built-in operator"


def an_op_without_its_record(program):
    find(program, "multiply").op = None
    return "multiply is no built-in operator, but its operator carries no Op"


def the_wrong_op(program):
    find(program, "multiply").op = OP_TABLE["add"]
    return "its op is add, which is not the op multiply"


def no_effect_flag_on_a_hook(program):
    find(program, "register_hook").effect = False
    return "it has effects, but carries no effect flag"


def no_effect_flag_on_random_numbers(program):
    find(program, "uniform").effect = False
    return "it draws random numbers"


def no_effect_flag_on_a_region(program):
    find(program, "cond").effect = False
    return "it has effects, but carries no effect flag"


def a_branch_that_gives_too_little(program):
    block = find(program, "cond").blocks[1]
    block.outputs = block.outputs[:-1]
    return "a block gives"


def a_branch_that_gives_another_shape(program):
    cond = find(program, "cond")
    cond.blocks[0].outputs = (find(program, "sum").outputs[0], *cond.blocks[0].outputs[1:])
    return "a block gives sum (float32[]), the region takes"


def a_loop_that_carries_too_little(program):
    body = find(program, "while").blocks[1]
    body.outputs = body.outputs[:-1]
    return "a turn gives"


def a_missing_attribute(program):
    del find(program, "item").attrs["index"]
    return "the attribute index is missing"


def a_block_too_many(program):
    operator = find(program, "cond")
    operator.blocks += (operator.blocks[0],)
    return "it has 3 blocks, expected 2"


def something_behind_return(program):
    program.operators.append(Operator("arrived", (), (), {"edge": 0, "name": "x"}, effect=True))
    return "arrived can never run behind it"


def a_gradient_from_nowhere(program):
    change(find(program, "greater_than"), stop_gradient=False)
    return "bool[], which cannot carry a gradient"


def a_tensor_given_where_an_object_is_due(program):
    change(find(program, "item"), spec=TensorSpec((), np.dtype(bool)))
    return "it gives item (bool[]); expected o"


def an_output_that_nothing_defines(program):
    program.block.outputs += (Value("ghost", TensorSpec((), np.dtype("float32")), False),)
    return "its output ghost is not defined"


def a_backward_that_reads_what_no_run_keeps(program):
    find(program.backward, "call_hooks").inputs = (
        Value("ghost", TensorSpec((2,), np.dtype("float32"))), *find(program.backward, "call_hooks").inputs[1:])
    return "ghost is used before it is defined"


FAULTS = [
    drop_an_operator, move_a_use_up, use_a_value_of_a_branch_outside, define_twice, reuse_a_name, wrong_shape,
    wrong_dtype, inputs_that_do_not_fit, an_object_in_place_of_a_tensor, an_unknown_kind, an_op_without_its_record,
    the_wrong_op, no_effect_flag_on_a_hook, no_effect_flag_on_random_numbers, no_effect_flag_on_a_region,
    a_branch_that_gives_too_little, a_branch_that_gives_another_shape, a_loop_that_carries_too_little,
    a_missing_attribute, a_block_too_many, something_behind_return, a_gradient_from_nowhere,
    a_tensor_given_where_an_object_is_due, an_output_that_nothing_defines, a_backward_that_reads_what_no_run_keeps,
]


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(program, plant):
    text = plant(program)
    with pytest.raises(d2s.ProgramError, match=re.escape(text)):
        verify(program)


def test_the_message_names_the_operator_the_users_line_and_the_pass(program):
    wrong_dtype(program)
    with pytest.raises(d2s.ProgramError) as caught:
        verify(program, after="merge_duplicates")
    message = str(caught.value)
    assert message.startswith("f: multiply = multiply: ")
    assert "(after the pass merge_duplicates)" in message
    assert "test_verify.py:" in message
    assert "y = x * 2" in message
