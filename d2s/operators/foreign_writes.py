"""Writes in place that code which is not traced may have made to tensors that the trace goes on reading.

A tensor from outside is read again behind such code.  Of other values the run checks that they are still what their
Tensor shows: a value whose Tensor that code can have, one that may be a tensor from outside, as a branch or a turn has
chosen it, and views of these.  Gradients check what they have read of values that such code may have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from d2s.core.interpreter import TensorBase
from d2s.errors import UnsupportedSyntaxError, user_location
from d2s.operators.choices import views_of
from d2s.operators.reading_again import read_again
from d2s.operators.run_time import check_reads, check_shown, check_version_read, note_read
from d2s.operators.sharing import chosen_relatives, is_here, is_view, root_of, sharing_of
from d2s.static.program import Block, Operator, Value
from d2s.static.storage import shown_by
from d2s.static.variable import ObjectVariable, Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer

_SAME = frozenset(("check_bound", "constant", "stop_gradient"))
_CHOSEN = ("cond", "while")


def check_current(tracer: Tracer, variable: Variable, itself: bool = True) -> None:
    """Read the values of `variable` again, or have the run check that they have not been written over.

    Not `itself`: only that those have not with which it shares them.
    """
    is_read_again = read_again(tracer, variable)
    value = variable.value
    links = tuple(_links_of(tracer, value))
    for link in () if is_read_again else links:
        if itself or link is not value:
            _check_root(tracer, link)
    others = tracer.as_found(f"relatives: {id(value)}", lambda: _chosen_roots(tracer, variable, links[-1]))
    if not others:
        return
    is_copy = tracer.as_found(f"copied: {id(value)}", lambda: _may_be_copy(variable))
    array = None if is_copy else ObjectVariable(tracer, tracer.array_of(value))
    shown = _Shown(array, ObjectVariable(tracer, tracer.hook_point(value)))
    for other in others:
        _check_root(tracer, other, shown)
    outer = {id(tensor): tensor for other in others if (tensor := tracer.tensors.get(other)) is not None}
    for tensor in outer.values():
        _check_reads_inside(tracer, tensor, shown)


def note_read_inside(tracer: Tracer, value: Value) -> None:
    """Let the run note what a branch or a turn has read of a tensor from outside: views of it may leave."""
    tensor = tracer.tensors[value]
    reads = tracer.reads_inside.get(id(tensor))
    if reads is None:
        # Made at the top, so that it is in scope everywhere.
        reads = tracer.reads_inside[id(tensor)] = tracer.new_value(f"{value.name}@READS", None, kind=list)
        operator = Operator("python", (), (reads,), {"call": (list, (), {})})
        tracer.program.block.operators.insert(0, operator)
        tracer.definitions[reads] = (operator, tracer.program.block)
    held = ObjectVariable(tracer, tracer.hook_points[value])
    tracer.python_call(note_read, (ObjectVariable(tracer, reads), held), effect=True)


def materialise_outside(tracer: Tracer, value: Value, definition: Operator, block: Block) -> None:
    """Make the Tensor object of a value where that is defined, of which a branch or a turn needs one.

    There a gradient that is taken behind the branch still finds it, and sees whether it has been written to.
    """
    point = tracer.definitions[tracer.hook_point(value)][0]
    tensor = tracer.new_value(f"{value.name}@TENSOR", None, kind=TensorBase)
    version = tracer.new_value(f"{value.name}@VERSION", None, kind=tuple)
    made = Operator("materialise", (value,), (tensor,), location=definition.location)
    noted = Operator("version", (tensor, value), (version,), location=definition.location)
    place = block.operators.index(point) + 1
    block.operators[place:place] = [made, noted]
    tracer.definitions[tensor], tracer.definitions[version] = (made, block), (noted, block)
    tracer._materialised[value], tracer.program.versions[value] = tensor, version
    tracer.made_early.add(value)


def _check_reads_inside(tracer: Tracer, tensor: Any, shown: _Shown) -> None:
    """Have the run check what branches and turns have read of a tensor from outside, which `shown` may show."""
    reads = tracer.as_found(f"reads of {id(tensor)}", lambda: tracer.reads_inside.get(id(tensor)))
    if reads is not None:
        value = tracer.captured[id(tensor)][1]
        held = ObjectVariable(tracer, tracer.materialise(value))
        tracer.python_call(
            check_reads, (ObjectVariable(tracer, reads), held, tuple(shown), value.name), effect=True)


def _may_be_copy(variable: Variable) -> bool:
    """True if `variable` may be a view of a tensor by an op that has to copy where memory has another order."""
    for view in views_of(variable):
        while (shared := sharing_of(view)) is not None and shared.view is not None:
            parent = shared.view.parent
            if shared.view.op.name == "reshape" and is_view(parent):
                return True
            view = parent
    return False


def _chosen_roots(tracer: Tracer, variable: Variable, own: Value) -> list[Value]:
    """What else `variable` may be a view of, or detached from, as a branch or an earlier turn has made it."""
    found, checked, is_unknown = list[Value](), {own}, False
    for other in chosen_relatives(variable):
        tensor = root_of(other)
        source = _root_of(tracer, (tensor if is_here(tracer, tensor) else other).value)
        outer = tracer.tensors.get(source)
        if outer is not None:
            # In each version of it that is known here; as it was when the run began is known everywhere.
            found += [
                known for known, tensor in tracer.tensors.items() if tensor is outer and known not in checked
                and (known not in tracer.definitions or tracer.in_scope(known))]
            checked.update(found)
            continue
        if source in checked:
            continue
        checked.add(source)
        if tracer.in_scope(source) and tracer.may_have_left(source):
            found.append(source)
        elif source in tracer.left:
            raise UnsupportedSyntaxError(
                "what may be a view that a branch or an earlier turn of a loop has made is used behind a call "
                "that is not traced, which may have written to the tensor", user_location(),
                "Take the view behind the call.", kind="U12",
            )
        else:
            is_unknown |= not tracer.in_scope(source)
    if is_unknown:
        # What it is a view of may have become one of these.
        found += [left for left in tracer.left - checked if tracer.in_scope(left)]
    return found


def _root_of(tracer: Tracer, value: Value) -> Value:
    """The value that `value` is a view of, as far as this is known while tracing."""
    *_, root = _links_of(tracer, value)
    return root


def _links_of(tracer: Tracer, value: Value) -> Iterator[Value]:
    """A value, what it is a view of or the same as, what that is a view of, and so on; as far as this is known."""
    yield value
    while (defined := tracer.definitions.get(value)) is not None:
        operator = defined[0]
        shown = shown_by(operator)
        if shown is not None:
            value = shown
            yield value
            continue
        if operator.kind not in _SAME or not operator.inputs[0].is_tensor:
            break
        source = tracer.definitions.get(operator.inputs[0])
        if operator.kind == "check_bound" and (source is None or source[0].kind in _CHOSEN):
            # Before this it may be unbound.
            break
        value = operator.inputs[0]
        yield value


class _Shown(NamedTuple):
    """What may show values of another: its array, and where its Tensor is, if it has one."""

    array: ObjectVariable | None
    point: ObjectVariable


def _check_root(tracer: Tracer, root: Value, shown: _Shown | None = None) -> None:
    """Have the run check that `root` has not been written over; only if `shown` shows values of it."""
    if root.is_constant:
        return
    version = _version_of(tracer, root)
    defined = tracer.definitions.get(root)
    name = root.name if defined is None or defined[0].op is None else f"the result of {defined[0].kind}"
    view = () if shown is None else tuple(shown)
    if version is not None and tracer.in_scope(version):
        # What it was is looked at only beside a view.
        array = None if shown is None else ObjectVariable(tracer, tracer.array_of(root))
        tracer.python_call(check_version_read, (ObjectVariable(tracer, version), array, view, name), effect=True)
    elif root in tracer.tensors or tracer.may_have_left(root):
        known = tracer.tensor_object(root)
        tensor = ObjectVariable(tracer, tracer.hook_point(root) if known is None else known)
        array = ObjectVariable(tracer, tracer.array_of(root))
        tracer.python_call(check_shown, (tensor, array, view, name), effect=True)


def _version_of(tracer: Tracer, root: Value) -> Value | None:
    """What says in which version a tensor from outside was read, if that is known."""
    if root not in tracer.tensors:
        return None
    found = tracer.program.versions.get(root)
    if found is None and root not in tracer.definitions:
        # Noted at the top, so that it is in scope everywhere.
        top, found = tracer.program.block, tracer.new_value(f"{root.name}@VERSION", None, kind=tuple)
        tensor = tracer.hook_point(root)
        place = next(i for i, operator in enumerate(top.operators) if tensor in operator.outputs) + 1
        operator = Operator("version", (tensor, root), (found,))
        top.operators.insert(place, operator)
        tracer.definitions[found] = (operator, top)
        tracer.program.versions[root] = found
    return found


__all__ = ["check_current", "materialise_outside", "note_read_inside"]
