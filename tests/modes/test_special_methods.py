"""What Python asks of a tensor by special methods: both modes answer alike, or the static one names the user's line."""

from __future__ import annotations

import bisect
import copy
import heapq
import inspect
import itertools
import math
import operator
import random
import re
import statistics
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.errors import D2SError, DTypeError, ProgramError

OUTSIDE = np.arange(3, dtype="float32") + 1

# Three floats, a float, an integer, a matrix, a bool, integers, nothing.
USES: list[Callable[..., Any]] = [
    lambda x, s, i, m, b, li, e: (2.5 in x, 7.0 in x, 1 in li, s in [1, 2], None in x, "a" in x, x in [x]),
    lambda x, s, i, m, b, li, e: round(s),
    lambda x, s, i, m, b, li, e: round(x, 1),
    lambda x, s, i, m, b, li, e: math.trunc(s),
    lambda x, s, i, m, b, li, e: (math.floor(s), math.ceil(s), math.sqrt(s), math.isnan(s), math.gcd(i, 6)),
    lambda x, s, i, m, b, li, e: math.floor(x),
    lambda x, s, i, m, b, li, e: (math.fsum(x), math.prod(x), math.hypot(s, s)),
    lambda x, s, i, m, b, li, e: divmod(x, 2.0),
    lambda x, s, i, m, b, li, e: divmod(7.0, x),
    lambda x, s, i, m, b, li, e: divmod(OUTSIDE, x),
    lambda x, s, i, m, b, li, e: divmod(x, OUTSIDE),
    lambda x, s, i, m, b, li, e: divmod(s.item(), x),
    lambda x, s, i, m, b, li, e: pow(x, 2, 3),
    lambda x, s, i, m, b, li, e: (pow(x, 2), 2**x, abs(-x), +x, ~li, ~b),
    lambda x, s, i, m, b, li, e: ~x,
    lambda x, s, i, m, b, li, e: operator.index(i),
    lambda x, s, i, m, b, li, e: operator.index(s),
    lambda x, s, i, m, b, li, e: ([10, 11, 12, 13][i], [10, 11, 12, 13][:i], x[i - 2], np.ones(4)[i]),
    lambda x, s, i, m, b, li, e: "abc"[i - 2],
    lambda x, s, i, m, b, li, e: "ab" * i,
    lambda x, s, i, m, b, li, e: hex(i),
    lambda x, s, i, m, b, li, e: bytes(i),
    lambda x, s, i, m, b, li, e: [k * 2 for k in range(i)],
    lambda x, s, i, m, b, li, e: list(itertools.islice([1, 2, 3, 4], i)),
    lambda x, s, i, m, b, li, e: (complex(s), float(s), int(s), bool(s), int(i)),
    lambda x, s, i, m, b, li, e: float(x),
    lambda x, s, i, m, b, li, e: int(x),
    lambda x, s, i, m, b, li, e: complex(x),
    lambda x, s, i, m, b, li, e: not x,
    lambda x, s, i, m, b, li, e: bool(e),
    lambda x, s, i, m, b, li, e: (x and s),
    lambda x, s, i, m, b, li, e: (list(reversed(x)), list(x), [*m], {"a": x}["a"], list(zip(x, li, strict=True))),
    lambda x, s, i, m, b, li, e: list(reversed(s)),
    lambda x, s, i, m, b, li, e: list(s),
    lambda x, s, i, m, b, li, e: (len(x), len(e), len(m)),
    lambda x, s, i, m, b, li, e: len(s),
    lambda x, s, i, m, b, li, e: (operator.length_hint(x), operator.length_hint(s)),
    lambda x, s, i, m, b, li, e: (sum(x), max(x), min(x), sorted(x), any(x > 2), all(x), max(x, key=float)),
    lambda x, s, i, m, b, li, e: (hash(x) == hash(x), {x: 1}[x]),
    lambda x, s, i, m, b, li, e: (format(s, ".2f"), f"{i:>5}", f"{x}", f"{x!r}", f"{x!a}", "%d %s" % (i, x)),  # noqa: UP031
    lambda x, s, i, m, b, li, e: (str(x), repr(x), ascii(x), format(x)),
    lambda x, s, i, m, b, li, e: format(x, ".2f"),
    lambda x, s, i, m, b, li, e: "%.2f" % x,  # noqa: UP031
    lambda x, s, i, m, b, li, e: (m @ m, np.ones((2, 2), "float32") @ m, operator.imatmul(m, m)),
    lambda x, s, i, m, b, li, e: operator.matmul([[1.0, 2.0]], m),
    lambda x, s, i, m, b, li, e: m @ [1.0, 2.0],
    lambda x, s, i, m, b, li, e: 2 @ m,
    lambda x, s, i, m, b, li, e: (np.ones(3) + x, np.float32(2) * x, np.ones(3) == x, x + np.ones(3)),
    lambda x, s, i, m, b, li, e: np.add(np.ones(3), x),
    lambda x, s, i, m, b, li, e: np.sin(x),
    lambda x, s, i, m, b, li, e: (np.asarray(x), np.asarray(x, dtype="int32"), np.concatenate([x, x])),
    lambda x, s, i, m, b, li, e: np.from_dlpack(x),
    lambda x, s, i, m, b, li, e: (np.zeros(i), np.zeros((i, 2)), np.arange(i), np.ones(4)[li]),
    lambda x, s, i, m, b, li, e: (np.float32(s), np.int64(i), np.allclose(x, x)),
    lambda x, s, i, m, b, li, e: x.__dlpack_device__(),
    lambda x, s, i, m, b, li, e: (x < 2, x > 2, x == "a", x == None, x != None),  # noqa: E711
    lambda x, s, i, m, b, li, e: x < None,
    lambda x, s, i, m, b, li, e: x < "a",
    lambda x, s, i, m, b, li, e: x + None,
    lambda x, s, i, m, b, li, e: None + x,
    lambda x, s, i, m, b, li, e: x + "a",
    lambda x, s, i, m, b, li, e: "a" + x,
    lambda x, s, i, m, b, li, e: [1, 2, 3] + x,  # noqa: RUF005
    lambda x, s, i, m, b, li, e: x * [1],
    lambda x, s, i, m, b, li, e: x << 1,
    lambda x, s, i, m, b, li, e: (li << 1, 1 << li, li >> 1, li & 1, 1 | li, li ^ 3, x // 2, 2 // x, 5 % x, li // 2),
    lambda x, s, i, m, b, li, e: (li << 1, 1 << li, li >> 1, li & 1, 1 | li, li ^ 3, x // 2, 2 // x, 5 % x),
    lambda x, s, i, m, b, li, e: [f(li.clone(), 2) for f in (operator.iand, operator.ior, operator.ixor)],
    lambda x, s, i, m, b, li, e: [f(x.clone(), 2) for f in (operator.itruediv, operator.ipow)],
    lambda x, s, i, m, b, li, e: (copy.copy(x), copy.deepcopy(x), next(iter(x))),
    lambda x, s, i, m, b, li, e: iter(x),
    lambda x, s, i, m, b, li, e: x["a"],
    lambda x, s, i, m, b, li, e: (x[None], x[...], x[1:]),
    lambda x, s, i, m, b, li, e: operator.delitem(x, 0),
    lambda x, s, i, m, b, li, e: x(),
    lambda x, s, i, m, b, li, e: x.missing,
    lambda x, s, i, m, b, li, e: (x.__class__, x.__doc__, x.__module__, type(x), (x * 2).__class__, callable(x)),
    lambda x, s, i, m, b, li, e: (x.__array_priority__, x.__array_ufunc__, (x * 2).data, x.data),
    lambda x, s, i, m, b, li, e: memoryview(x),
    lambda x, s, i, m, b, li, e: struct.pack("f", s),
    lambda x, s, i, m, b, li, e: statistics.mean(x),
    lambda x, s, i, m, b, li, e: (bisect.bisect([1, 2, 3], s), heapq.nlargest(1, x), [1, 2, 3].index(i)),
    lambda x, s, i, m, b, li, e: random.Random(0).choice(x),
]
# The text of each is its id; the line that an error names is its own.
TEXTS = [
    inspect.getsource(use).strip().partition(": ")[2].rstrip(",").partition(",  # noqa")[0] for use in USES]


def operands() -> list[Any]:
    return [d2s.to_tensor(value) for value in (
        [1.25, 2.5, 3.0], 2.5, 3, [[1.0, 2.0], [3.0, 4.0]], True, [1, 2, 3], np.zeros((0, 3), "float32"))]


def outcome(function: Callable[..., Any]) -> tuple[str, BaseException | None]:
    """What a call gives, as text without identities; or the error."""
    try:
        return re.sub(r"0x[0-9a-f]+", "", repr(function(*operands()))), None
    except Exception as error:
        return "", error


@pytest.mark.parametrize("use", USES, ids=TEXTS)
def test_both_modes(use: Callable[..., Any]) -> None:
    eager, failed = outcome(use)
    static, refused = outcome(d2s.jit.to_static(use))
    if refused is None:
        assert (static, None) == (eager, failed)
    elif isinstance(refused, D2SError):
        assert f"{Path(__file__).name}:{use.__code__.co_firstlineno}" in str(refused)
    else:
        # Python's own words about what no tensor can do.
        assert type(failed) is type(refused)
        assert str(failed) == str(refused)


# In Programs built by hand nothing stands between Python and the Variable.
REFUSED: dict[str, Callable[[Any], Any]] = {
    "in": lambda v: 1.0 in v, "round": round, "trunc": math.trunc, "divmod": lambda v: divmod(v, 2),
    "divmod by it": lambda v: divmod(2, v), "pow modulo": lambda v: pow(v, 2, 3), "floor": math.floor,
    "ceil": math.ceil, "sqrt": math.sqrt, "complex": complex, "hex": hex, "chr": chr, "str": str,
    "range": range, "place": lambda v: [1, 2][v], "slice": lambda v: [1, 2][:v], "if": lambda v: 1 if v else 0,
    "del": lambda v: operator.delitem(v, 0), "stack": lambda v: np.stack([v, v]), "sorted": lambda v: sorted([v, v]),
    "largest": lambda v: heapq.nlargest(1, [v, v]), "choice": lambda v: random.randint(0, v),
    "any": lambda v: any([v]), "not": operator.not_,
    "decimal text": lambda v: operator.mod("%d", v), "hex text": lambda v: operator.mod("%x", v),
    "float text": lambda v: operator.mod("%.1f", (v,)), "bytes text": lambda v: operator.mod(b"%d", v), "bytes": bytes,
    "bytearray": bytearray, "ufunc": np.sin, "ufunc of two": lambda v: np.hypot(np.ones(1), v),
    "written over": lambda v: operator.iadd(np.ones(1), v), "out": lambda v: np.add(1, 2, out=v),
    "reduced": np.maximum.reduce, "at": lambda v: np.add.at(np.ones(1), 0, v),
    "array of it": np.zeros, "number of it": lambda v: bytes(v.item()),
}


def test_operators_of_arrays_and_variables_stay_operators() -> None:
    array = np.array([1.0, 2.0], "float32")
    names = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne")
    program = d2s.static.Program()
    with d2s.static.program_guard(program):
        variable = d2s.static.data("v", [2])
        results = [getattr(operator, name)(array, variable) for name in names]
        results += [getattr(operator, name)(np.float32(3), variable) for name in names]
    value = np.array([3.0, 0.5], "float32")
    found = d2s.static.Executor().run(program, {"v": value}, results)
    expected = [getattr(operator, name)(array, d2s.to_tensor(value)) for name in names]
    expected += [getattr(operator, name)(np.float32(3), d2s.to_tensor(value)) for name in names]
    assert [part.tobytes() for part in found] == [part.numpy().tobytes() for part in expected]


@pytest.mark.parametrize("use", REFUSED.values(), ids=REFUSED)
def test_variables_of_programs_built_by_hand(use: Callable[[Any], Any]) -> None:
    with d2s.static.program_guard(d2s.static.Program()):
        variable = d2s.static.data("v", [1], "int64")
        with pytest.raises((ProgramError, DTypeError)) as caught:
            use(variable)
    # Also where NumPy or the library of Python stands between.
    assert f"{Path(__file__).name}:" in str(caught.value)
    assert caught.value.advice
