"""Private names of classes, written out: a method is converted outside of its class."""

from __future__ import annotations

from typing import Any

import gast

from d2s.transpiler.nodes import FUNCTIONS, Node


def mangle_private_names(tree: Node, class_name: str) -> None:
    """
    Replace ``__name`` by ``_Class__name`` everywhere, as the compiler does inside ``class Class``.

    >>> tree = gast.parse("def get(self, __k): return self.__table[__k].__len__()")
    >>> mangle_private_names(tree, "_Memo")
    >>> print(gast.unparse(tree).strip())
    def get(self, _Memo__k):
        return self._Memo__table[_Memo__k].__len__()
    """

    def mangled(name: str) -> str:
        return mangled_name(name, class_name)

    stack = [tree]
    while stack:
        node = stack.pop()
        for field, value in gast.iter_fields(node):
            if field in _NAME_FIELDS.get(type(node), ()):
                setattr(node, field, _apply(mangled, value))
        # A class inside mangles with its own name: by the time it is compiled, its own names are still `__name`.
        stack.extend(child for child in gast.iter_child_nodes(node) if not isinstance(child, gast.ClassDef))
        stack.extend(
            part
            for child in gast.iter_child_nodes(node)
            if isinstance(child, gast.ClassDef)
            for part in [*child.decorator_list, *child.bases, *child.keywords]
        )


def mangled_name(name: str, class_name: str) -> str:
    """``__name`` as written inside ``class class_name``; other names as they are."""
    owner = class_name.lstrip("_")  # a class called "___" mangles nothing
    is_private = name.startswith("__") and not name.endswith("__") and "." not in name
    return f"_{owner}{name}" if is_private and owner else name


def _apply(function: Any, value: Any) -> Any:
    if isinstance(value, list):
        return [function(item) for item in value]
    return function(value) if isinstance(value, str) else value


# Keywords of calls, classes and class patterns are not mangled.
_NAME_FIELDS: dict[type, tuple[str, ...]] = {
    gast.Name: ("id",),
    gast.Attribute: ("attr",),
    gast.Global: ("names",),
    gast.Nonlocal: ("names",),
    gast.alias: ("name", "asname"),
    gast.ImportFrom: ("module",),
    gast.MatchAs: ("name",),
    gast.MatchStar: ("name",),
    gast.MatchMapping: ("rest",),
    **dict.fromkeys(FUNCTIONS, ("name",)),
}
