"""From a function to its syntax tree, by position in the user's file; and from a tree to text."""

from __future__ import annotations

import ast
import functools
import linecache
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import TypeAlias

import gast

from d2s.errors import Location, SourceError
from d2s.transpiler.mangling import mangle_private_names
from d2s.transpiler.nodes import Node

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Entry: TypeAlias = tuple[_Definition, tuple[str, ...]]


@dataclass(frozen=True)
class SourceInfo:
    """Where a function stands in the user's file, and its lines as they are there."""

    file: str
    first_line: int
    lines: tuple[str, ...]
    name: str

    def location(self, line: int, column: int | None = None) -> Location:
        """A place for an error message."""
        index = line - self.first_line
        text = self.lines[index].rstrip("\n") if 0 <= index < len(self.lines) else ""
        return Location(self.file, line, text, column)


@functools.lru_cache(maxsize=64)
def _parse_file(text: str, file: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user saw them when the file was compiled
        return ast.parse(text, file)


def _definitions_at(line: int, node: ast.AST, classes: tuple[str, ...] = ()) -> Iterator[_Entry]:
    """The functions below `node` whose text begins at this line, each with the names of the classes around it."""
    if isinstance(node, ast.ClassDef):
        # Decorators and bases stand outside the class, but no function in them can tell.
        classes = (*classes, node.name)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and not _first_line(child) <= line <= (child.end_lineno or line):
            continue
        if isinstance(child, _Definition) and _first_line(child) == line:
            yield child, classes
        yield from _definitions_at(line, child, classes)


def _first_line(node: ast.stmt | ast.Lambda) -> int:
    """Where the text of a node begins: with its first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _name(node: _Definition) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _parameter_names(node: _Definition) -> list[str]:
    args = node.args
    extra = [arg.arg for arg in (args.vararg, args.kwarg) if arg is not None]
    return [arg.arg for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]] + extra


def _code_parameters(code: CodeType) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    return list(code.co_varnames[: count + bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)])


def _span_of_code(code: CodeType) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """First and last position that the instructions of `code` came from, if the interpreter keeps columns."""
    starts, ends = [], []
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None or end_column == 0:
            continue
        starts.append((line, column))
        ends.append((end_line, end_column))
    return (min(starts), max(ends)) if starts else None


def _span_of_body(node: _Definition) -> tuple[tuple[int, int], tuple[int, int]]:
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    first, last = body[0], body[-1]
    return (first.lineno, first.col_offset), (last.end_lineno or 0, last.end_col_offset or 0)


def _narrow_by_position(candidates: list[_Entry], code: CodeType) -> list[_Entry]:
    """Of several definitions on one line keep the one that the instructions of `code` came from."""
    span = _span_of_code(code)
    if span is None:
        return candidates
    exact = [entry for entry in candidates if _span_of_body(entry[0]) == span]
    if exact:
        return exact
    around = [
        entry for entry in candidates if _span_of_body(entry[0])[0] <= span[0] and span[1] <= _span_of_body(entry[0])[1]
    ]
    return sorted(around, key=lambda entry: _span_of_body(entry[0]))[-1:]


def _why_no_lines(file: str, name: str) -> tuple[str, str]:
    if file in ("<string>", "<stdin>") or file.startswith("<"):
        what = "was made by exec, eval, -c or typed at a prompt that keeps no source"
        return f"cannot read the source of {name!r}: it {what} (its file is {file!r})", "Put it into a file."
    try:
        with tokenize.open(file) as opened:
            opened.read()
    except (SyntaxError, UnicodeDecodeError) as error:
        return (f"cannot read the source of {name!r}: {file!r} cannot be decoded ({error})",
                "Save it in UTF-8, or name its encoding in the first line, as in # -*- coding: latin-1 -*-")
    except OSError:
        pass
    return f"cannot read the source of {name!r}: {file!r} is not a readable file", "Ship the .py file with the program."


def _compiles_to(text: str, file: str, code: CodeType) -> bool:
    """True if a function with the instructions of `code` is found in `text`."""
    try:
        stack = [compile(text, file, "exec", dont_inherit=True)]
    except SyntaxError:
        return False
    while stack:
        found = stack.pop()
        if _instructions(found) == _instructions(code):
            return True
        stack += [const for const in found.co_consts if isinstance(const, CodeType)]
    return False


def _instructions(code: CodeType) -> tuple[object, ...]:
    plain = [repr(const) for const in code.co_consts if not isinstance(const, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, code.co_name, plain


def read_function(fn: FunctionType) -> tuple[Node, SourceInfo]:
    """
    Syntax tree (a gast module holding just this function) and place of a plain Python function.

    The file is parsed as a whole and the definition looked up by position, so decorators, odd indents, continuation
    lines and several lambdas on one line cannot lead astray.

    Raises
    ------
    SourceError
        If there is no source, or the file on disk is no longer the one that was loaded.
    """
    code = fn.__code__
    file, name = code.co_filename, code.co_name
    linecache.checkcache(file)
    lines = linecache.getlines(file, fn.__globals__)
    if not lines or (file.startswith("<") and not _compiles_to("".join(lines), file, code)):
        # One such name may stand for many texts: `exec` and `-c` share "<string>".
        message, advice = _why_no_lines(file, fn.__qualname__)
        raise SourceError(message, None, advice, kind="F01")
    try:
        tree = _parse_file("".join(lines), file)
    except (SyntaxError, ValueError) as error:
        raise _changed(fn, f"it no longer parses: {error}") from error
    found = [
        entry
        for entry in _definitions_at(code.co_firstlineno, tree)
        if _name(entry[0]) == name and _parameter_names_match(entry, code)
    ]
    if not found:
        raise _changed(fn, f"no {name!r} with these parameters starts at line {code.co_firstlineno}")
    if len(found) > 1:
        found = _narrow_by_position(found, code)
    if len({ast.dump(node) for node, _ in found}) != 1:
        raise SourceError(
            f"cannot tell which of {len(found)} functions on this line is {fn.__qualname__!r}",
            Location(file, code.co_firstlineno, lines[code.co_firstlineno - 1]),
            "Write one function per line (or run without -X no_debug_ranges).",
            kind="F01",
        )
    node, classes = found[0]
    definition = gast.ast_to_gast(ast.Expr(value=node) if isinstance(node, ast.Lambda) else node)
    if isinstance(node, ast.Lambda):
        gast.copy_location(definition, definition.value)
    if classes:
        mangle_private_names(definition, classes[-1])
    first, last = code.co_firstlineno, node.end_lineno or node.lineno
    place = SourceInfo(file, first, tuple(lines[first - 1 : last]), name)
    return gast.Module(body=[definition], type_ignores=[]), place


def _parameter_names_match(entry: _Entry, code: CodeType) -> bool:
    written, compiled = _parameter_names(entry[0]), _code_parameters(code)
    return len(written) == len(compiled) and all(c.endswith(w) for w, c in zip(written, compiled, strict=True))


def _changed(fn: FunctionType, how: str) -> SourceError:
    code = fn.__code__
    return SourceError(
        f"the file of {fn.__qualname__!r} is not the one that was loaded: {how}",
        Location(code.co_filename, code.co_firstlineno),
        "The file changed on disk after it was imported; start Python again.",
        kind="F03",
    )


def to_text(tree: Node) -> str:
    """The tree as text: printed by astor where it prints the tree faithfully, else by `ast.unparse`."""
    native = gast.gast_to_ast(tree)
    text = _print_with_astor(native)
    if text is None or not _is_same_tree(text, native):
        text = ast.unparse(ast.fix_missing_locations(native))
    return text if text.endswith("\n") else text + "\n"


def _print_with_astor(tree: ast.AST) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # astor names nodes that Python deprecated
        try:
            import astor
            from astor.source_repr import split_lines

            return str(astor.to_source(tree, pretty_source=lambda source: "".join(split_lines(source, maxline=119))))
        except Exception:  # astor has no error type of its own: it fails with whatever its printer stumbled over
            return None


def _is_same_tree(text: str, tree: ast.AST) -> bool:
    try:
        again = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return ast.dump(again) == ast.dump(tree)
