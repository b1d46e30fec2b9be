"""What the pickle in a file of `save` may do, looked at before it is done.

A pickle builds what it likes out of tuples, one inside of the other, a million deep, or each twice in the next: to
hash one for a dict or set then overflows the stack, or never ends.  So the opcodes are followed first, and each tuple
is known by its depth and by how much it would hold if nothing in it were shared.
"""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Sequence
from typing import IO, TypeAlias

_Form: TypeAlias = tuple[int, int]
"""Of what is on the stack: how deep tuples are in it, and how many things a walk through them meets."""

# Everything that is no tuple: lists and dicts have no hash, frozensets keep theirs.
_LEAF: _Form = (0, 1)
MAX_DEPTH = 200
MAX_HASHED = 10_000_000

_PUSHING = frozenset({
    "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "SHORT_BINUNICODE",
    "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET",
    "EMPTY_TUPLE",
})
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_TAKING = {"STACK_GLOBAL": 2, "REDUCE": 2, "BINPERSID": 1}


def check(file: IO[bytes]) -> None:
    """Raise UnpicklingError for what `save` does not write; the file is left where it was."""
    begin = file.tell()
    stack = _Stack()
    for opcode, argument, _ in pickletools.genops(file):
        stack.follow(opcode.name, argument)
    file.seek(begin)


class _Stack:
    """What is on the stack of an unpickler."""

    def __init__(self) -> None:
        self._forms: list[_Form] = []
        self._marks: list[int] = []
        self._memo: list[_Form] = []
        self._hashed = 0

    def follow(self, name: str, argument: object) -> None:
        """What one opcode does."""
        if name in _PUSHING:
            self._forms.append(_LEAF)
        elif name in _TUPLES:
            self._push_tuple(self._take(_TUPLES[name]))
        elif name == "TUPLE":
            self._push_tuple(self._marked())
        elif name in _TAKING:
            self._take(_TAKING[name])
            self._forms.append(_LEAF)
        elif name == "FROZENSET":
            self._hash(self._marked())
            self._forms.append(_LEAF)
        elif name == "MEMOIZE":
            self._memo.append(self._forms[-1])
        elif name in ("BINGET", "LONG_BINGET"):
            assert isinstance(argument, int)
            self._forms.append(self._memo[argument])
        elif name == "MARK":
            self._marks.append(len(self._forms))
        elif name in ("APPENDS", "POP_MARK"):
            self._marked()
        elif name == "SETITEMS":
            self._hash(self._marked()[::2])
        elif name == "ADDITEMS":
            self._hash(self._marked())
        elif name == "SETITEM":
            self._hash(self._take(2)[:1])
        elif name in ("APPEND", "POP", "STOP"):
            self._take(1)
        elif name not in ("PROTO", "FRAME"):
            raise pickle.UnpicklingError(f"{name} is not allowed in a d2s file")

    def _take(self, count: int) -> list[_Form]:
        if len(self._forms) - (self._marks[-1] if self._marks else 0) < count:
            raise pickle.UnpicklingError("something is taken that is not there")
        taken = self._forms[-count:]
        del self._forms[-count:]
        return taken

    def _marked(self) -> list[_Form]:
        first = self._marks.pop()
        taken = self._forms[first:]
        del self._forms[first:]
        return taken

    def _push_tuple(self, parts: Sequence[_Form]) -> None:
        depth = 1 + max((depth for depth, _ in parts), default=0)
        self._forms.append((depth, min(1 + sum(size for _, size in parts), MAX_HASHED + 1)))

    def _hash(self, keys: Sequence[_Form]) -> None:
        self._hashed += sum(size for _, size in keys if size > 1)
        if self._hashed > MAX_HASHED or any(depth > MAX_DEPTH for depth, _ in keys):
            raise pickle.UnpicklingError("a key, or a member of a set, is a tuple that is too deep or too large")
