"""What one more path or turn costs a trace does not grow with those that were traced before."""

from __future__ import annotations

import d2s
from d2s.core.spec import TensorSpec
from d2s.operators import choices
from d2s.operators.heap import Heap
from d2s.static.builder import StaticInterpreter
from d2s.static.program import Program
from d2s.static.variable import Variable


def _many_ways(x, n):
    w, z = x * 0.5, x * 2.0
    for t in x:
        try:
            z = z + t
            if n > 1:
                raise ValueError("here")
            z = z * w
        except ValueError:
            w = w + z[0]
    for _ in range(n):
        w = z
        w.add_(x)
    return z


def test_what_snapshots_hold_is_no_more_on_later_paths(monkeypatch):
    sizes = []
    take = Heap.__init__

    def counted(heap, *args):
        take(heap, *args)
        sizes.append(len(heap.nodes))

    monkeypatch.setattr(Heap, "__init__", counted)
    static = d2s.jit.to_static(_many_ways)
    args = d2s.to_tensor([0.3, -1.7, 0.5, 1.1]), d2s.to_tensor(2)
    assert static(*args).numpy().tolist() == _many_ways(*args).numpy().tolist()
    tenth = len(sizes) // 10
    assert tenth > 5
    assert max(sizes[-tenth:]) <= 1.25 * max(sizes[:tenth])


def test_what_may_be_one_tensor_is_noted_once_for_each():
    """Of tensors chosen among chosen ones, each has the origins of these: not a link to each of the others."""
    program = StaticInterpreter(Program("p"))
    spec = TensorSpec((2,), "float32")

    def made():
        return Variable(program, program.new_value("v", spec))

    first, other = made(), made()
    chosen = [first]
    for _ in range(50):
        chosen.append(made())
        choices.note(chosen[-1], chosen[-2])
        choices.note(chosen[-1], other)
    assert {len(list(choices.origins_of(variable))) for variable in chosen[1:]} == {2}
    for variable in chosen[1:]:
        others = {id(one) for one in choices.may_be_one(variable)}
        assert others == {id(one) for one in (*chosen, other) if one is not variable}
    # What is chosen together with another one need not be that.
    assert not any(one is other for one in choices.may_be_one(first))
