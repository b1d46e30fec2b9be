"""The public face: convert a function, or text."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias, TypeVar, cast

import gast

from d2s.errors import DTypeError
from d2s.transpiler.context import Context, HookReport, new_context
from d2s.transpiler.interface import PythonOperators, find_operator
from d2s.transpiler.loader import CodeIdentity, compile_function, load_function
from d2s.transpiler.nested import NestedFunction, number_nested_functions
from d2s.transpiler.nodes import Node, duplicate, is_generated, walk
from d2s.transpiler.passes import (
    asserts,
    fence,
    finally_exits,
    hook_placement,
    if_else,
    lifetimes,
    logical,
    loop_exits,
    loops,
    returns,
    super_calls,
    unbound_reads,
)
from d2s.transpiler.passes.instrument import run as run_instrument
from d2s.transpiler.source import SourceInfo, read_function, to_text
from d2s.transpiler.verify import CHECKS

Pass: TypeAlias = Callable[[Node, Context], Node]
F = TypeVar("F", bound=Callable[..., Any])

# `finally_exits` first: what leaves a `finally` becomes an exit like others.  Then `returns`: a return from a loop is
# then a break, which `loop_exits` lowers.  `logical` after them: flags are conditions too.  The rest only looks at what
# became a closure.
DEFAULT_PASSES: tuple[Pass, ...] = (
    fence.run,
    asserts.run,
    finally_exits.run,
    returns.run,
    loop_exits.run,
    logical.run,
    lifetimes.run,
    if_else.run,
    loops.run,
    super_calls.run,
    unbound_reads.run,
)
# Hooks move while blocks and exits are still the user's.
JIT_PASSES: tuple[Pass, ...] = (fence.run, hook_placement.run, *DEFAULT_PASSES[1:])


@dataclass(frozen=True)
class Converted:
    """A converted function with its text and what is known about it."""

    function: FunctionType
    prepared: Prepared = field(repr=False)

    @property
    def code(self) -> str:
        """The text of the converted function."""
        return self.prepared.code

    @property
    def tree(self) -> Node:
        """The converted tree."""
        return self.prepared.tree

    @property
    def source(self) -> SourceInfo:
        """Where the original stands."""
        return self.prepared.source

    @property
    def hook_report(self) -> list[HookReport]:
        """What became of each ``register_hook`` call."""
        return self.prepared.hook_report

    @property
    def nested(self) -> list[NestedFunction]:
        """The functions inside it, before conversion."""
        return self.prepared.nested


def convert(
    fn: FunctionType,
    passes: Sequence[Pass] | None = None,
    operators: Any = PythonOperators,
    instrument: bool = False,
) -> Converted:
    """
    Convert a plain function: read its tree, run the passes, load the result in the place of the original.

    Parameters
    ----------
    fn : function
        A function made by ``def`` or ``lambda``.
    passes : sequence of passes, optional
        `DEFAULT_PASSES` if not given.
    operators : object or callable
        Holds the operators as attributes; a callable is called with `fn` and returns that object.
    instrument : bool
        Load a copy in which loads, stores and calls are operators too; ``Converted.code`` shows the tree without them.
    """
    return prepare(fn, passes, instrument).load(fn, operators)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A conversion before it is loaded: what functions of one code object have in common."""

    compiled: CodeType
    operators: dict[str, str]
    tree: Node = field(repr=False)
    source: SourceInfo = field(repr=False)
    hook_report: list[HookReport] = field(repr=False)
    nested: list[NestedFunction] = field(repr=False)

    @functools.cached_property
    def code(self) -> str:
        """The text of the tree, printed when somebody wants to see it."""
        return to_text(self.tree)

    def load(self, fn: FunctionType, operators: Any = PythonOperators) -> Converted:
        """The converted form of `fn`, whose code this is, under `operators`."""
        namespace = operators(fn) if callable(operators) else operators
        cells = {name: find_operator(namespace, operator) for name, operator in self.operators.items()}
        return Converted(load_function(self.compiled, fn, cells), self)


_kept: dict[int, dict[tuple[tuple[Pass, ...], bool], Prepared]] = {}
"""What was prepared, by the identity of the code object: equal code may come from different places."""


_staying: dict[int, set[int]] = {}
"""Lines of hook registrations that must not be moved, by the identity of the code object."""


def keep_hooks_in_place(code: CodeType, lines: Iterable[int]) -> None:
    """Convert functions of this code anew from now on, with the hook registrations of these lines left where they are.

    A trace has shown that something between one of them and the definition of its tensor may raise, or runs code of the
    user: there it would make a difference which of the two comes first.
    """
    if id(code) not in _staying:
        _staying[id(code)] = set()
        weakref.finalize(code, _staying.pop, id(code), None)
    _staying[id(code)].update(lines)
    _kept.get(id(code), {}).clear()


def prepare(fn: FunctionType, passes: Sequence[Pass] | None = None, instrument: bool = False) -> Prepared:
    """Read, convert and compile `fn` without loading it, once for each code object; parameters as for `convert`."""
    code = fn.__code__
    if id(code) not in _kept:
        _kept[id(code)] = {}
        weakref.finalize(code, _kept.pop, id(code), None)
    kept, chosen = _kept[id(code)], DEFAULT_PASSES if passes is None else tuple(passes)
    if (chosen, instrument) not in kept:
        kept[chosen, instrument] = _prepare(fn, chosen, instrument)
    return kept[chosen, instrument]


def _prepare(fn: FunctionType, passes: Sequence[Pass], instrument: bool) -> Prepared:
    tree, source = read_function(fn)
    free = frozenset(fn.__code__.co_freevars)
    identity = CodeIdentity.of(fn.__code__)
    nested = number_nested_functions(tree.body[0], identity, free) if instrument else []
    ctx = new_context(tree, free, frozenset(_staying.get(id(fn.__code__), ())))
    tree = run_passes(tree, passes, ctx, free)
    loaded = tree
    if instrument:
        loaded = run_instrument(unbound_reads.run_everywhere(duplicate(tree), ctx), ctx, free)
    outer = [*free, *ctx.names.operators]
    code = compile_function(loaded.body[0], identity, outer, _generated_names(loaded))
    return Prepared(code, dict(ctx.names.operators), tree, source, ctx.hook_report, nested)


def run_passes(tree: Node, passes: Sequence[Pass], ctx: Context, outer: frozenset[str] = frozenset()) -> Node:
    """Run the passes in their order, with the checks between them; `outer` are names from outside of the tree."""
    for transform in passes:
        tree = transform(tree, ctx)
        for check in CHECKS:
            check(tree, outer, transform.__module__.rpartition(".")[2])
    return tree


def transpile(fn: F, passes: Sequence[Pass] | None = None) -> F:
    """
    The converted form of `fn` under plain-Python operators: it does exactly what `fn` does.

    Cells, globals, defaults, signature, annotations and names are those of `fn`; ``__wrapped__`` is `fn`.
    """
    if isinstance(fn, MethodType):
        return cast(F, MethodType(transpile(fn.__func__, passes), fn.__self__))
    if not isinstance(fn, FunctionType):
        raise DTypeError(f"transpile takes a Python function or method, got {type(fn).__name__}")
    return cast(F, convert(fn, passes).function)


def transpile_source(text: str, passes: Sequence[Pass] | None = None) -> str:
    """The text of a module with all its functions converted."""
    tree = gast.parse(text)
    return to_text(run_passes(tree, DEFAULT_PASSES if passes is None else passes, new_context(tree)))


def _generated_names(tree: Node) -> frozenset[str]:
    return frozenset(node.name for node in walk(tree) if isinstance(node, gast.FunctionDef) and is_generated(node))


__all__ = [
    "DEFAULT_PASSES",
    "JIT_PASSES",
    "Converted",
    "Prepared",
    "convert",
    "keep_hooks_in_place",
    "prepare",
    "run_passes",
    "transpile",
    "transpile_source",
]
