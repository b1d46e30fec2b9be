"""Values that code which is not traced may have written to in place are read anew from the Tensors that it has.

So the trace goes on with what is written to a tensor that it has made, to a view of one, to what is detached from one
or from a tensor from outside.  Where only the run knows which Tensor that is, `foreign_writes` has it check the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from d2s.operators.sharing import is_here, is_view, root_of, share_nothing, sharing_of
from d2s.operators.views import in_use
from d2s.static.program import Value
from d2s.static.variable import Variable

if TYPE_CHECKING:
    from d2s.operators.tracer import Tracer


def read_again(tracer: Tracer, variable: Variable) -> bool:
    """Let `variable`, and all that shares its values, be what their Tensors show now; False if that is not known."""
    root = root_of(variable)
    if not is_here(tracer, root):
        return False
    members = in_use(tracer, root)
    source = tracer.as_found(f"read again: {id(variable.value)}", lambda: _known(tracer, members))
    if source is None:
        return False
    shown = next(member for member in members if member.value is source)
    outer = tracer.tensors.get(source)
    if outer is None:
        _reload(tracer, shown)
    else:
        tracer.bound(tracer.canonical[id(outer)][1])
    for member in members:
        if not is_view(member) and member is not shown:
            _take_over(tracer, member, shown.value, is_view=True)
    for member in members:
        shared = sharing_of(member)
        if shared is not None and shared.view is not None:
            fresh = shared.view.of_parent(tracer)
            share_nothing(fresh)
            _take_over(tracer, member, fresh.value, is_view=True)
    return True


def _known(tracer: Tracer, family: list[Variable]) -> Value | None:
    """That of what shares values of which the Tensor is known: one from outside if there is one."""
    roots = [member for member in family if not is_view(member)]
    outer = [root for root in roots if root.value in tracer.tensors and _is_canonical(tracer, root)]
    made = [root for root in roots if root.value not in tracer.tensors and _has_older_tensor(tracer, root.value)]
    if not outer and not made:
        return None
    return (outer or made)[0].value


def _has_older_tensor(tracer: Tracer, value: Value) -> bool:
    """True if this run has made a Tensor of `value`, which a call that may have written to it could have."""
    is_known = value not in tracer.may_be_outer and value not in tracer.taken_values
    return is_known and tracer.tensor_object(value) is not None and tracer.is_left_before_calls(value)


def _is_canonical(tracer: Tracer, variable: Variable) -> bool:
    return tracer.canonical[id(tracer.tensors[variable.value])][1] is variable


def _reload(tracer: Tracer, variable: Variable) -> None:
    old = variable.value
    known: dict[str, Any] = {} if old in tracer.may_stop else {"stops": old.stop_gradient}
    fresh = tracer.new_value(old.name, old.spec, old.stop_gradient)
    fresh = tracer.emit("reload", (tracer.materialise(old),), (fresh,), known, effect=True).outputs[0]
    _take_over(tracer, variable, fresh, is_view=False)


def _take_over(tracer: Tracer, variable: Variable, data: Value, is_view: bool) -> None:
    """Let `variable` have the values of `data`, which its Tensor has already, if there is one."""
    old = variable.value
    tensor = tracer.tensor_object(old)
    tracer.rebind(variable, tracer.replaced(old, data, is_view))
    if tensor is not None:
        tracer.goes_on(variable.value, tensor)


__all__ = ["read_again"]
