"""Parameters from a shape and settings: for Layers, and by themselves."""

from __future__ import annotations

from typing import Any

from d2s.core.interpreter import current_interpreter
from d2s.core.spec import DType, as_dtype
from d2s.errors import DTypeError
from d2s.nn.initializer import Constant, Initializer, XavierUniform, global_initializer
from d2s.nn.parameter import ParamAttr, Parameter, make_parameter
from d2s.nn.structure import Names, unique_name


def parameter_by(
    attr: Any, shape: Any, dtype: DType, is_bias: bool, default_initializer: Initializer | None, names: Names
) -> Parameter | None:
    """The parameter that `attr` asks for, or None if it is False; see `Layer.create_parameter`."""
    if attr is False:
        return None
    if attr is None or attr is True:
        attr = ParamAttr()
    elif isinstance(attr, str):
        attr = ParamAttr(name=attr)
    elif isinstance(attr, Initializer):
        attr = ParamAttr(initializer=attr)
    elif not isinstance(attr, ParamAttr):
        raise DTypeError(
            f"a parameter attribute must be ParamAttr, Initializer, str, bool or None, got {type(attr).__name__}"
        )
    note = getattr(current_interpreter(), "note_setting", None)
    if note is not None:
        note(global_initializer, is_bias)
    default_initializer = global_initializer(is_bias) or default_initializer
    if default_initializer is None:
        default_initializer = Constant(0.0) if is_bias else XavierUniform()
    name = names.new("b" if is_bias else "w")
    return make_parameter(tuple(int(size) for size in shape), dtype, attr, default_initializer, name)


def create_parameter(
    shape: Any,
    dtype: Any,
    name: str | None = None,
    attr: ParamAttr | Initializer | str | bool | None = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter | None:
    """
    A parameter that belongs to no Layer, until it is assigned to an attribute of one.

    Parameters
    ----------
    shape : sequence of int
        Its sizes.
    dtype : dtype or str
        Floating point or complex.
    name : str, optional
        Made from a counter if neither it nor `attr` names one.
    attr : ParamAttr, Initializer, str or bool, optional
        Settings; an Initializer or a name alone stands for a ParamAttr with it; False: no parameter.
    is_bias : bool
        Changes the default of the first values from Xavier uniform to zeros.
    default_initializer : Initializer, optional
        First values if neither `attr` nor `set_global_initializer` names others.

    Returns
    -------
    Parameter or None
        None if `attr` is False.

    Raises
    ------
    DTypeError
        If `dtype` is no floating point or complex dtype, or `attr` is something else.
    """
    if name is not None and (attr is None or attr is True):
        attr = ParamAttr(name=name)
    names = Names(unique_name("create_parameter"))
    return parameter_by(attr, shape, as_dtype(dtype), is_bias, default_initializer, names)
