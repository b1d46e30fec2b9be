"""From a tree to a function that lives where the original lives: same cells, globals, defaults, names."""

from __future__ import annotations
import __future__ as features

import functools
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

import gast

from d2s.transpiler.nodes import Node, duplicate, is_generated, walk
from d2s.transpiler.template import constant
from d2s.transpiler.template import function as make_function

_FEATURE_FLAGS = functools.reduce(
    lambda flags, name: flags | getattr(features, name).compiler_flag, features.all_feature_names, 0
)


@dataclass(frozen=True)
class CodeIdentity:
    """Whose place a compiled function takes: file, future features and names, as tracebacks and pickles see them."""

    file: str
    flags: int
    name: str
    qualname: str

    @classmethod
    def of(cls, code: CodeType) -> CodeIdentity:
        """The identity of an existing code object."""
        # What `types.coroutine` has made of a generator function is told by its code alone.
        flags = code.co_flags & (_FEATURE_FLAGS | inspect.CO_ITERABLE_COROUTINE)
        return cls(code.co_filename, flags, code.co_name, code.co_qualname)


def compile_function(
    definition: Node, identity: CodeIdentity, outer_names: Iterable[str], generated: frozenset[str] = frozenset()
) -> CodeType:
    """
    Compile a definition (a ``def``, or a lambda as an expression statement) to a code object of its own.

    Parameters
    ----------
    definition : gast node
        Decorators, defaults and annotations are left out: the ``def`` statement itself is never run.
    identity : CodeIdentity
        File and names to give to the code object.
    outer_names : iterable of str
        Names that the function finds in cells: the user's free names, and operators.
    generated : set of str
        Names of generated functions; these and generated lambdas bear the user's function name instead, so that
        tracebacks do not show them.
    """
    definition = _bare(duplicate(definition))
    _mark_lambdas(definition)
    if not isinstance(definition, gast.Expr):
        definition.name = "<def>"  # nobody can mean this name: the function's own name stays a global inside it
    # The factory is never run: it only makes the compiler treat the outer names as cells.
    factory = make_function("factory", list(outer_names), [definition], definition)
    module = gast.gast_to_ast(gast.fix_missing_locations(gast.Module(body=[factory], type_ignores=[])))
    code = compile(module, identity.file, "exec", flags=identity.flags & _FEATURE_FLAGS, dont_inherit=True)
    inner = _only_code(_only_code(code))
    inner = inner.replace(co_flags=inner.co_flags | identity.flags & inspect.CO_ITERABLE_COROUTINE)
    return _renamed(inner, inner.co_qualname, identity.qualname, identity.name, generated)


def _bare(definition: Node) -> Node:
    """The definition without what the `def` statement evaluates: decorators, defaults, annotations."""
    node = definition.value if isinstance(definition, gast.Expr) else definition
    args = node.args
    args.defaults = [constant(None) for _ in args.defaults]
    args.kw_defaults = [None if default is None else constant(None) for default in args.kw_defaults]
    if not isinstance(node, gast.Lambda):
        node.decorator_list, node.returns = [], None
        if hasattr(node, "type_params"):
            node.type_params = []
        for parameter in walk(args):
            if isinstance(parameter, gast.Name):
                parameter.annotation = None
    return gast.fix_missing_locations(definition)


# The last parameter of generated lambdas, which nobody passes: it tells their code from that of the user's lambdas.
_MARK = "<generated>"


def _mark_lambdas(definition: Node) -> None:
    for node in walk(definition):
        if isinstance(node, gast.Lambda) and is_generated(node):
            mark = gast.Name(id=_MARK, ctx=gast.Param(), annotation=None, type_comment=None)
            node.args.args.append(gast.copy_location(mark, node))
            node.args.defaults.append(gast.copy_location(constant(None), node))


def _only_code(code: CodeType) -> CodeType:
    (inner,) = (const for const in code.co_consts if isinstance(const, CodeType))
    return inner


def _renamed(code: CodeType, old: str, new: str, name: str, generated: frozenset[str]) -> CodeType:
    """Give `code` and everything inside the names they would have had without factory and generated functions."""
    consts: list[object] = []
    for const in code.co_consts:
        if isinstance(const, CodeType):
            inner_old = const.co_qualname
            # A generated function is part of the user's function: it bears its name, and adds no level to it.
            part_of_user = const.co_name in generated or _MARK in const.co_varnames[: const.co_argcount]
            if part_of_user:
                const = _renamed(const, inner_old, new, name, generated)
            elif inner_old.startswith(old):
                inner_new = new + inner_old[len(old) :]
                const = _renamed(const, inner_old, inner_new, const.co_name, generated)
        elif const == old:
            const = new  # a class body stores its own __qualname__
        consts.append(const)
    return code.replace(co_consts=tuple(consts), co_qualname=new, co_name=name)


def load_function(code: CodeType, fn: FunctionType, operators: dict[str, object]) -> FunctionType:
    """
    A function that runs `code` in the place of `fn`: same cells, globals, defaults, annotations and names.

    `operators` maps names in the code to what they stand for; they arrive as closure cells, so the user's globals are
    not touched.
    """
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    closure = tuple(cells[name] if name in cells else CellType(operators[name]) for name in code.co_freevars)
    loaded = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    loaded.__kwdefaults__ = fn.__kwdefaults__
    loaded.__qualname__, loaded.__module__, loaded.__doc__ = fn.__qualname__, fn.__module__, fn.__doc__
    _copy_annotations(fn, loaded)
    loaded.__dict__.update(fn.__dict__)
    loaded.__dict__["__wrapped__"] = fn
    return loaded


def _copy_annotations(source: Any, target: Any) -> None:
    if hasattr(source, "__type_params__"):
        target.__type_params__ = source.__type_params__
    if hasattr(source, "__annotate__"):  # Python 3.14: not evaluated until somebody asks
        target.__annotate__ = source.__annotate__
    else:
        target.__annotations__ = source.__annotations__
