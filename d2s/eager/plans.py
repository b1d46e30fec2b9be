"""Backward passes as straight code.

A training loop builds the same graph in each turn: ops of the same cases, joined in the same way.  From the third
backward on a graph that is known is not walked any more: one function over arrays calls the gradient rules (which are
straight code themselves) in the order of the walk, and sums up in the same order.

Where nothing can be seen on the way, everything that could be an error is looked at before the plan begins, and left to
the walk.  Where hooks are called, they may write to values, register, or use up the graph: such a plan asks each node
and leaf when it comes to it, in the order of the walk, and raises what the walk would raise there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from d2s.core import interpreter
from d2s.eager.cases import Case
from d2s.eager.tape import LeafNode, Node, OpNode

if TYPE_CHECKING:
    from d2s.eager.tensor import Tensor
    from d2s.eager.walk import Walk

# ``plan(nodes, leaves, walk, gradient)`` runs backward and gives True, or does nothing and gives False.
Plan = Callable[[Sequence[OpNode], Sequence[LeafNode], "Walk", Any], bool]
# True if there are hooks; of each node the case, and where its gradients go, of a node with several outputs to which
# one; then the order of the nodes.
Key = tuple[Case | int | tuple[int, int] | None, ...]

# The code of larger graphs would take long to compile; programs of ever new graphs start again from time to time.
LARGEST = 500
LIMIT = 200
# So many elements are worth a look at whether a sum can be written over.
_LARGE = 1 << 12
# None: the graph has no plan.  Graphs that have come once, or whose rules are not written yet, are in `_met` only.
_plans: dict[Key, Plan | None] = {}
_met: set[Key] = set()


def run(walk: Walk, root: Node, grad: Tensor) -> bool:
    """Run a plain walk from `root` by a plan; False, and nothing is done, if there is none that fits."""
    if type(root) is not OpNode or len(root.specs) != 1:
        return False
    has_hooks = root.hooks is not None
    # Nodes by position, leaves by -1, -2, ...
    places: dict[Node, int] = {root: 0}
    nodes: list[OpNode] = [root]
    leaves: list[LeafNode] = []
    found: list[Any] = []
    for node in nodes:
        found.append(node.case)
        for edge in node.edges:
            if edge is not None:
                target = edge[0]
                place = places.get(target)
                if place is None:
                    if target.hooks is not None:
                        has_hooks = True
                    if type(target) is LeafNode:
                        if target.reduce_hooks is not None:
                            has_hooks = True
                        leaves.append(target)
                        place = -len(leaves)
                    elif type(target) is OpNode:
                        place = len(nodes)
                        if place == LARGEST:
                            return False
                        nodes.append(target)
                    else:
                        return False
                    places[target] = place
                found.append((place, edge[1]) if isinstance(target, OpNode) and len(target.specs) > 1 else place)
            else:
                found.append(None)
    ages = [node.sequence for node in nodes]
    if ages != sorted(ages, reverse=True):
        # The order of the visits.
        found += sorted(range(len(nodes)), key=ages.__getitem__, reverse=True)
    key = (has_hooks, *found)
    plan = _plans.get(key)
    if plan is None:
        if key in _plans or not _is_due(key):
            return False
        plan = _plans[key] = _planned(nodes, places, has_hooks)
        if plan is None:
            return False
    if has_hooks:
        # Hooks are called in the context of the caller.
        return plan(nodes, leaves, walk, grad.data)
    return walk.quietly(plan, nodes, leaves, walk, grad.data)  # type: ignore[no-any-return]


def _is_due(key: Key) -> bool:
    """True if it is time to look whether a graph can have a plan."""
    if key not in _met:
        # What comes once only is not worth it.
        if len(_met) >= LIMIT:
            _met.clear()
            _plans.clear()
        _met.add(key)
        return False
    # Those without a case have no plan; the rules of the others have been wanted once, and have to be twice.
    return all(part.is_written for part in key if type(part) is Case)


def _planned(nodes: Sequence[OpNode], places: dict[Node, int], has_hooks: bool) -> Plan | None:
    """The plan of a graph, if it can have one."""
    head = [
        "def plan(nodes, leaves, walk, g0_0):",
        "    retain_graph, quietly = walk.retain_graph, walk.quietly",
        f"    {''.join(f'n{place}, ' for place in range(len(nodes)))}= nodes",
        f"    {''.join(f'l{~place}, ' for place in places.values() if place < 0)}= leaves",
    ]
    body: list[str] = []
    namespace: dict[str, Any] = {
        "add": np.add, "add_to": _add_to, "asarray": np.asarray, "zeros": np.zeros, "wrap": interpreter.wrap,
        "hooked": _hooked}
    visits = sorted(nodes, key=attrgetter("sequence"), reverse=True)
    last = {places[edge[0]]: node for node in visits for edge in node.edges if edge is not None}
    # Of the gradients summed up so far, by place and output; and those of which nobody else has the array.
    specs = {(0, 0): nodes[0].specs[0]}
    own: set[tuple[int, int]] = set()
    for node in visits:
        place, case = places[node], node.case
        straight = None if case is None else case.written
        if case is None or straight is None:
            return None
        for output, its_spec in enumerate(node.specs):
            if len(node.specs) > 1 and (place, output) not in specs:
                # The node is reached by another output.
                namespace[f"s{place}_{output}"] = its_spec.shape, its_spec.dtype
                body.append(f"    {_gradient((place, output))} = zeros(*s{place}_{output})")
            elif specs.get((place, output)) != its_spec:
                return None
        namespace[f"f{place}"] = straight.function
        targets = [None if edge is None else (places[edge[0]], edge[1]) for edge in node.edges]
        if has_hooks:
            body += _visit(place, case)
        else:
            head += _check(place, case)
        results, sums = [], []
        for index, (target, spec) in enumerate(zip(targets, straight.specs, strict=True)):
            if target is None:
                results.append("_")
            elif spec is None or spec != specs.get(target, spec):
                return None
            elif target not in specs:
                specs[target] = spec
                results.append(_gradient(target))
            else:
                results.append(f"r{index}")
                operands, adding = f"{_gradient(target)}, r{index}", "add_to" if target in own else "add"
                total = f"quietly({adding}, {operands})" if has_hooks else f"{adding}({operands})"
                if math.prod(spec.shape) >= _LARGE:  # type: ignore[arg-type]
                    own.add(target)
                sums.append(f"    {_gradient(target)} = {total if spec.shape else f'asarray({total})'}; del r{index}")
        body += _call(place, case, results, has_hooks)
        body += sums
        # A leaf is finished by its last edge.
        finished = dict.fromkeys(reversed([
            target for target in targets if target is not None and target[0] < 0 and last[target[0]] is node]))
        for target in reversed(finished):
            body += _finish(f"l{~target[0]}", _gradient(target), has_hooks)
    exec(_code_of("\n".join([*head, *body, "    return True"])), namespace)
    found: Plan = namespace["plan"]
    return found


def _add_to(total: Any, more: Any) -> Any:
    """The sum of two gradients, in the array of the first if it lies there as it would in a new one."""
    in_order = total.flags.c_contiguous and more.flags.c_contiguous
    return np.add(total, more, total if in_order else None)


def _gradient(of: tuple[int, int]) -> str:
    """The name of the gradient of an output of a node, or of a leaf."""
    place, output = of
    return f"g{place}_{output}" if place >= 0 else f"h{~place}"


def _gradients(place: int, case: Case) -> list[str]:
    """The names of the gradients of all outputs of a node."""
    return [_gradient((place, output)) for output in range(len(case.specs))]


def _check(place: int, case: Case) -> list[str]:
    """Lines that end a plan before it begins if the walk would have something to say of a node."""
    node = f"n{place}"
    lines = [f"    if {node}.released or {node}.written is not None: return False"]
    if case.saved:
        lines += [f"    i{place} = {node}.inputs; v = {node}.versions", f"    if {_changed(place, case)}: return False"]
    return lines


def _visit(place: int, case: Case) -> list[str]:
    """Lines that come to a node as the walk does: a node that cannot be used raises, before its hooks and after."""
    node, grads = f"n{place}", ", ".join(_gradients(place, case))
    lines = [
        f"    if {node}.hooks is not None:",
        f"        {node}.check_usable()",
        f"        {grads}, = hooked(walk, {node}, {grads})",
        f"    if {node}.released or {node}.written is not None: {node}.check_usable()",
    ]
    if case.saved:
        lines += [
            f"    i{place} = {node}.inputs; v = {node}.versions",
            f"    if {_changed(place, case)}: {node}.check_usable()",
        ]
    return lines


def _changed(place: int, case: Case) -> str:
    """True where a value that a node has saved was written to."""
    return " or ".join(f"i{place}[{index}].version != v[{index}]" for index in case.saved)


def _call(place: int, case: Case, results: Sequence[str], has_hooks: bool) -> list[str]:
    """Lines that call the rules of a node and free what they have read."""
    node, grads = f"n{place}", _gradients(place, case)
    if case.shares:
        read = [f"*{node}.parts"]
    else:
        read = [f"{'*' if len(grads) > 1 else ''}{node}.out_data"] if case.reads_out else []
        read += [f"i{place}[{index}].data" for index in case.saved]
    arguments = ", ".join([*grads, *read])
    own = [*grads, *([f"i{place}"] if case.saved else [])]
    return [
        f"    {', '.join(results)}, = {f'quietly(f{place}, {arguments})' if has_hooks else f'f{place}({arguments})'}",
        f"    del {', '.join(own)}",
        f"    if not retain_graph: {node}.release()",
    ]


def _finish(leaf: str, gradient: str, has_hooks: bool) -> list[str]:
    """Lines that add the whole gradient of a leaf to what it holds."""
    if not has_hooks:
        return [f"    {leaf}.add({gradient}); del {gradient}"]
    return [
        f"    if {leaf}.hooks is None and {leaf}.reduce_hooks is None: {leaf}.add({gradient})",
        f"    else: walk.complete({leaf}, wrap({gradient}))",
        f"    del {gradient}",
    ]


def _hooked(walk: Walk, node: OpNode, *arrays: Any) -> list[Any]:
    """The gradients of the outputs of a node after its hooks."""
    grads = [*map(interpreter.wrap, arrays)]
    node.run_hooks(walk, grads)
    return [grad.data for grad in grads]


@lru_cache(maxsize=100)
def _code_of(text: str) -> CodeType:
    return compile(text, "<d2s backward>", "exec")
