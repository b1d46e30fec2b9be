"""A recurrent network along a sequence whose length only the run knows: one loop of the Program for every length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from d2s.core.interpreter import bind, grad_enabled
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.ops.creation import full
from d2s.ops.rows import add_row_op, no_rows, row_op
from d2s.ops.selection import where
from d2s.ops.shape import unsqueeze


def along_open_time(
    cell: Any, inputs: Any, states: Any, sequence_length: Any, time: int, steps: Any, is_reverse: bool,
    kwargs: dict[str, Any],
) -> tuple[Any, Any]:
    """
    Call `cell` with each of the slices of `inputs` along the axis `time`, and the states that it has given before.

    Parameters
    ----------
    steps : symbolic int
        The size of that axis, at least 1.

    Returns
    -------
    outputs, final_states
        To the bit what a loop in Python gives that stacks the outputs, and so are their gradients: each value gets
        its contributions in the same order.
    """
    recorder = inputs.interpreter
    if grad_enabled():
        # Where the length can be known, a Program for each is several times as fast in training.
        recorder.known_if_possible(steps)

    def turn(step: Any, states: Any) -> tuple[Any, Any]:
        part = bind(row_op, inputs, step, axis=time)
        value = part.value
        output, new = cell(part, states, **kwargs)
        if part.value is not value:
            raise UnsupportedSyntaxError(
                "a cell writes in place to its inputs, along an axis whose size only the run knows", user_location(),
                "Write to a clone of them.", kind="U12")
        return output, new if sequence_length is None else kept_states(states, new, sequence_length > step)

    def collected(outputs: Any, output: Any, step: Any) -> Any:
        return bind(add_row_op, outputs, output, step, axis=time)

    length = full([], steps, "int64")
    zero = full([], 0, "int64")
    first, end, stride = (length - 1, zero - 1, -1) if is_reverse else (zero, length, 1)
    output, states = turn(first, states)
    # A state that is the output is collected one turn later, behind what the cell makes of it: so the gradient that
    # comes from the outputs is its first one, as it is where they are stacked behind the loop.
    held = _flattened(states)
    form = states
    place = next((number for number, state in enumerate(held) if state is output), None)
    outputs = no_rows(output, time, steps)
    if place is None:
        outputs = collected(outputs, output, first)

    def goes_on(step: Any, *carried: Any) -> Any:
        return step != end

    def body(step: Any, outputs: Any, *held: Any) -> list[Any]:
        output, new = turn(step, _rebuilt(form, iter(held)))
        if place is None:
            outputs = collected(outputs, output, step)
        else:
            outputs = collected(outputs, held[place], step - stride)
        return [step + stride, outputs, *_flattened(new)]

    step, outputs, *held = recorder.while_loop(goes_on, body, [first + stride, outputs, *held])
    if place is not None:
        outputs = collected(outputs, held[place], step - stride)
    return outputs, _rebuilt(form, iter(held))


def kept_states(old: Any, new: Any, goes_on: Any) -> Any:
    """The new states of the sequences that go on, the old ones of those that have ended."""
    if isinstance(new, list | tuple):
        return type(new)([kept_states(one, other, goes_on) for one, other in zip(old, new, strict=True)])
    for _ in range(new.ndim - 1):
        goes_on = unsqueeze(goes_on, -1)
    return where(goes_on, new, old)


def _flattened(states: Any) -> list[Any]:
    """The tensors of nested lists and tuples, in order."""
    if isinstance(states, list | tuple):
        return [tensor for part in states for tensor in _flattened(part)]
    return [states]


def _rebuilt(form: Any, tensors: Iterator[Any]) -> Any:
    """The same lists and tuples, of other tensors."""
    if isinstance(form, list | tuple):
        return type(form)([_rebuilt(part, tensors) for part in form])
    return next(tensors)
