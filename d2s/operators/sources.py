"""Where a value that a trace read came from: a path by which it is found again on each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

from d2s.operators.equality import PRIMITIVES

_NAMED = (FunctionType, MethodType, BuiltinFunctionType, ModuleType, type)


class Source:
    """A path to a value: a root (argument, global, cell, constant object) and attribute and item steps."""

    __slots__ = ()

    def expression(self, names: GuardNames) -> str:
        """Python expression that reads the value again."""
        raise NotImplementedError

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells this path from others, by the identity of the objects it starts from."""
        raise NotImplementedError

    @property
    def by_type(self) -> bool:
        """True if objects at this path may be others of the same type on each call (arguments and what they hold)."""
        return False


@dataclass(frozen=True)
class Argument(Source):
    """A parameter of the converted function."""

    name: str

    def expression(self, names: GuardNames) -> str:
        return f"args[{self.name!r}]"

    @property
    def by_type(self) -> bool:
        return True

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("argument", self.name)

    def __str__(self) -> str:
        return f"argument {self.name}"


@dataclass(frozen=True, eq=False)
class Global(Source):
    """A name in the globals of a function."""

    namespace: dict[str, Any]
    name: str

    def expression(self, names: GuardNames) -> str:
        return f"{names.of(self.namespace)}[{self.name!r}]"

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("global", id(self.namespace), self.name)

    def __str__(self) -> str:
        return f"global {self.name}"


@dataclass(frozen=True, eq=False)
class Cell(Source):
    """A closure cell from outside the converted function."""

    cell: CellType
    name: str

    def expression(self, names: GuardNames) -> str:
        return f"{names.of(self.cell)}.cell_contents"

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("cell", id(self.cell))

    def __str__(self) -> str:
        return f"closure variable {self.name}"


@dataclass(frozen=True, eq=False)
class Constant(Source):
    """An object that is what it is: a module, a class, a Layer guarded by identity."""

    value: Any

    def expression(self, names: GuardNames) -> str:
        return names.of(self.value)

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("object", id(self.value))

    def __str__(self) -> str:
        # Of an object of the user's class nothing is asked that the program does not ask.
        if isinstance(self.value, ModuleType):
            name = vars(self.value).get("__name__")
        else:
            name = self.value.__qualname__ if isinstance(self.value, _NAMED) else None
        return str(name) if name else f"{type(self.value).__name__} object"


@dataclass(frozen=True)
class Attribute(Source):
    """An attribute of the object at another path."""

    base: Source
    name: str

    def expression(self, names: GuardNames) -> str:
        found = f"{self.base.expression(names)}.{self.name}"
        # All that an object holds is read by several guards.
        return names.held(found) if self.name == "__dict__" and isinstance(self.base, Constant) else found

    @property
    def by_type(self) -> bool:
        return self.base.by_type

    @property
    def identity(self) -> tuple[Any, ...]:
        return (*self.base.identity, "attribute", self.name)

    def __str__(self) -> str:
        return f"{self.base}.{self.name}"


@dataclass(frozen=True)
class Held(Attribute):
    """What the object at another path holds itself under a name: nothing else is asked for it."""

    def expression(self, names: GuardNames) -> str:
        return f"{Attribute(self.base, '__dict__').expression(names)}[{self.name!r}]"


@dataclass(frozen=True)
class Item(Source):
    """An item of the container at another path; `key` is a plain value.

    `kind` is the built-in type whose way of reading it is meant, where the container's class has its own.
    """

    base: Source
    key: Any
    kind: type | None = None

    def expression(self, names: GuardNames) -> str:
        key = repr(self.key) if isinstance(self.key, PRIMITIVES) else names.of(self.key)
        base = self.base.expression(names)
        if isinstance(self.base, Held):
            # A table of a Layer, of which most often several items are read.
            base = names.held(base)
        return f"{base}[{key}]" if self.kind is None else f"{names.of(self.kind)}.__getitem__({base}, {key})"

    @property
    def by_type(self) -> bool:
        return self.base.by_type

    @property
    def identity(self) -> tuple[Any, ...]:
        return (*self.base.identity, "item", type(self.key), self.key, self.kind)

    def __str__(self) -> str:
        return f"{self.base}[{self.key!r}]"


@dataclass(frozen=True, eq=False)
class Called(Source):
    """What a function gives that keeps its results: the call is the path.  Arguments are known by identity or value."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def expression(self, names: GuardNames) -> str:
        return f"{names.of(self.function)}(*{names.of(self.args)}, **{names.of(self.kwargs)})"

    @property
    def identity(self) -> tuple[Any, ...]:
        return ("called", id(self.function), id(self.args), id(self.kwargs))

    def __str__(self) -> str:
        return f"what {getattr(self.function, '__name__', 'a function')}() gives"


class GuardNames:
    """Names for the objects that a generated guard refers to."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self._known: dict[int, str] = {}
        self._locals: dict[str, str] = {}
        self._held: dict[str, str] = {}

    def local(self, expression: str) -> str:
        """The name of a variable of the guard for what `expression` gives."""
        return self._locals.setdefault(expression, f"t{len(self._locals)}")

    def held(self, expression: str) -> str:
        """The name of a variable that a function has for what `expression` gives, from its `beginning` on."""
        return self._held.setdefault(expression, f"d{len(self._held)}")

    def beginning(self) -> list[str]:
        """The assignments that a function begins with in which expressions stand."""
        return [f"{name} = {expression}" for expression, name in self._held.items()]

    def of(self, thing: Any) -> str:
        found = self._known.get(id(thing))
        if found is None:
            found = self._known[id(thing)] = f"o{len(self._known)}"
            self.namespace[found] = thing
        return found


def fetcher(sources: Sequence[Source]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """A function of the arguments that reads the values at `sources`."""
    names = GuardNames()
    parts = ", ".join(source.expression(names) for source in sources)
    lines = ["def fetch(args):", *names.beginning(), f"return ({parts}{',' if sources else ''})"]
    text = "\n    ".join(lines)
    namespace = names.namespace
    exec(compile(text, "<d2s inputs>", "exec"), namespace)
    fetch: Callable[[dict[str, Any]], tuple[Any, ...]] = namespace["fetch"]
    return fetch
