"""Where hooks are registered: in a function, in those that it reaches by name, and on the Layers in its reach."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

from d2s.drawing.table import table
from d2s.errors import D2SError, Location
from d2s.jit import StaticFunction
from d2s.nn.layer import Layer
from d2s.operators import policy
from d2s.testing.reach import Reach
from d2s.transpiler.context import HookReport
from d2s.transpiler.convert import JIT_PASSES, prepare
from d2s.transpiler.template import text_of

_OF_LAYERS = ("register_forward_pre_hook", "register_forward_post_hook", "register_forward_hook")
_OF_TENSORS = ("register_hook", "_register_backward_hook")
_WHY_EAGER = "the function is kept eager: it registers when it runs"
_WHY_LAYERS = "a hook of a Layer, which counts for the calls behind this line"
_NONE = "no hook is registered in this function, in those that it may call, or on a Layer in its reach\n"


def registrations(target: Any, main: FunctionType) -> str:
    """All registrations in reach of `target`, whose source is that of `main`, as text."""
    parts = [_text(_rows(main, None), main, None)]
    called = target
    while isinstance(called, functools.partial | StaticFunction):
        called = called.func if isinstance(called, functools.partial) else called.dygraph_function
    reach = Reach(called, {})
    for function in sorted(reach.functions(), key=lambda f: (f.__code__.co_filename, f.__code__.co_firstlineno)):
        if function.__code__ is not main.__code__ and function.__name__ != "__init__":
            parts.append(_text(_rows(function, function), function, function))
    parts.append(_layers(reach))
    return "\n".join(filter(None, parts)) or _NONE


def _rows(function: FunctionType, helper: FunctionType | None) -> list[HookReport]:
    """The registrations in the source of a function; none if a helper has no source that can be read."""
    try:
        tree = prepare(function, ()).tree
        found = list(_named(tree, _OF_TENSORS, _WHY_EAGER)) if policy.is_kept_eager(function) else list(
            prepare(function, JIT_PASSES).hook_report)
    except D2SError:
        if helper is None:
            raise
        return []
    return sorted([*found, *_named(tree, _OF_LAYERS, _WHY_LAYERS)], key=lambda report: report.line)


def _named(tree: Any, names: tuple[str, ...], reason: str) -> Iterator[HookReport]:
    """The places at which a method with one of these names is taken."""
    # Nodes of any Python: they are no nodes of `ast` itself.
    nodes: Iterator[Any] = ast.walk(tree)
    for node in nodes:
        if getattr(node, "attr", None) in names:
            yield HookReport(node.lineno, text_of(node.value), None, reason)


def _text(reports: list[HookReport], function: FunctionType, helper: FunctionType | None) -> str:
    """A table under the name of the function."""
    if not reports:
        return ""
    rows = [
        [str(report.line), report.target, "stays" if report.moved_to is None else f"behind line {report.moved_to}",
         report.reason]
        for report in reports
    ]
    head = f"in {function.__qualname__} ({_place(function)}){'' if helper is None else ', which it may call'}:\n"
    warnings = "".join(
        f"warning: line {report.line}: {report.warning}\n" for report in reports
        if report.warning and not _is_given(report.target, helper))
    return head + table(["line", "tensor", "moved", "because"], rows, right=[0]) + "\n" + warnings


def _is_given(target: str, helper: FunctionType | None) -> bool:
    """True for a parameter of a helper: it may well be a tensor of this call."""
    return helper is not None and target.partition(".")[0] in helper.__code__.co_varnames[: helper.__code__.co_argcount]


def _layers(reach: Reach) -> str:
    """The hooks that Layers have now."""
    rows = []
    for path, layer in reach.objects():
        if isinstance(layer, Layer):
            for when, hooks in (("before", layer._forward_pre_hooks), ("after", layer._forward_post_hooks)):
                rows += [[path, type(layer).__name__, when, _name(hook.function)] for hook in hooks.values()]
    return "" if not rows else "on Layers, before the call:\n" + table(
        ["Layer", "class", "runs", "hook"], rows) + "\n"


def _name(hook: Callable[..., Any]) -> str:
    plain = hook.__func__ if isinstance(hook, MethodType) else hook
    name = getattr(plain, "__qualname__", type(plain).__qualname__)
    return f"{name} ({_place(plain)})" if isinstance(plain, FunctionType) else name


def _place(function: FunctionType) -> Location:
    return Location(function.__code__.co_filename, function.__code__.co_firstlineno)
