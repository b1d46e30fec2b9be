"""The interpreter that looks for NaN in every result."""

from __future__ import annotations

from typing import Any

from d2s.core.arrays import check_nan
from d2s.core.op import Op
from d2s.eager.interpreter import EagerInterpreter
from d2s.eager.lines import note_line
from d2s.eager.tensor import Tensor


class CheckingInterpreter(EagerInterpreter):
    """Computes at once, as its base does, and raises AnomalyError at the first NaN."""

    checks_nan = True

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any], links: bool = True) -> Any:
        result = super().process(op, args, attrs, links)
        arrays = [arg.data if isinstance(arg, Tensor) else arg for arg in args]
        for part in result if isinstance(result, tuple) else (result,):
            check_nan(op.name, part.data, *arrays)
            note_line(part._node)
        return result


CHECKING = CheckingInterpreter()
