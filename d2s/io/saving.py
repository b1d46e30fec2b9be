"""save and load: nested containers of tensors, arrays and plain Python values in one file.

The format is a header line and a pickle in which tensors and arrays are stored as dtype, shape and bytes.  Loading
runs no code of the file: the unpickler knows `OrderedDict` and `complex`, and no other class or function.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from d2s.core.spec import as_dtype
from d2s.eager.tensor import Tensor, tensor_of
from d2s.errors import ArgumentError, DTypeError
from d2s.io import opcodes

__all__ = ["load", "save"]

HEADER = b"d2s data 1\n"
_KNOWN = {("collections", "OrderedDict"), ("builtins", "complex")}
# Of dtypes: numbers and texts.
_KINDS = "biufcSU"
_KINDS_OF_TENSORS = "biufc"
_PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)


def save(obj: Any, path: str | os.PathLike[str] | IO[bytes], protocol: int = 4) -> None:
    """Write tensors, arrays, numbers, strings and containers of these, such as a `state_dict()`.

    Parameters
    ----------
    obj : object
        What to write.  A tensor that occurs several times is written once.
    path : path or binary file
        Directories that are missing are made.  An existing file is replaced only when the new one is complete.
    protocol : int
        Ignored: the form of the file is d2s's own.

    Raises
    ------
    DTypeError
        If there is an object of another kind in `obj`; then an existing file stays as it is.
    """
    buffer = io.BytesIO()
    buffer.write(HEADER)
    _Pickler(buffer).dump(obj)
    if isinstance(path, str | os.PathLike):
        with _replacing(os.fspath(path)) as file:
            file.write(buffer.getbuffer())
    else:
        path.write(buffer.getbuffer())


def load(path: str | os.PathLike[str] | IO[bytes], return_numpy: bool = False) -> Any:
    """Read what `save` has written.

    Parameters
    ----------
    path : path or binary file
        The file.
    return_numpy : bool
        Give arrays instead of tensors.

    Returns
    -------
    object
        Parameters come back as tensors, with their `stop_gradient` and their name.

    Raises
    ------
    ValueError
        If the file was not written by `save`, or is damaged.
    """
    if not isinstance(path, str | os.PathLike):
        return _read(path, "the file", return_numpy)
    with open(path, "rb") as file:
        return _read(file, os.fspath(path), return_numpy)


def _read(file: IO[bytes], name: str, return_numpy: bool) -> Any:
    if file.read(len(HEADER)) != HEADER:
        raise ArgumentError(f"{name} was not written by d2s.save", kind="A02")
    try:
        if not file.seekable():
            file = io.BytesIO(file.read())
        opcodes.check(file)
        return _Unpickler(file, return_numpy).load()
    except Exception as error:
        # Whatever it is, it comes from what the file says, also that it needs more memory than there is.
        raise ArgumentError(f"{name} is damaged: {error}", kind="A02") from error


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` at the end, if nothing has raised."""
    directory = os.path.dirname(os.path.abspath(path))
    os.makedirs(directory, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=f".{os.path.basename(path)}.")
    try:
        with open(descriptor, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class _Pickler(pickle.Pickler):
    """Stores tensors, arrays and NumPy scalars as data; refuses what is not data."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=4)
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor | np.ndarray | np.generic):
            return None
        number = self._numbers.get(id(obj))
        if number is not None:
            return ("again", number)
        self._numbers[id(obj)] = len(self._kept)
        self._kept.append(obj)
        array = np.asarray(obj.data if isinstance(obj, Tensor) else obj)
        if array.dtype.kind not in _KINDS:
            raise DTypeError(f"save() cannot write an array of dtype {array.dtype}", kind="D03")
        stored = (array.dtype.str, array.shape, array.tobytes())
        if isinstance(obj, Tensor):
            return ("tensor", *stored, obj.stop_gradient, obj.__dict__.get("name"))
        return ("array" if isinstance(obj, np.ndarray) else "scalar", *stored)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and (obj.__module__, obj.__qualname__) in _KNOWN:
            return NotImplemented
        if type(obj) is OrderedDict and vars(obj):
            raise DTypeError(
                f"save() cannot write attributes of an OrderedDict: {', '.join(vars(obj))}",
                advice="Save a copy without them: dict(...).", kind="D03")
        if type(obj) in _PLAIN or (type(obj).__module__, type(obj).__qualname__) in _KNOWN:
            return NotImplemented
        what = obj.__qualname__ if isinstance(obj, type) else type(obj).__qualname__
        raise DTypeError(
            f"save() cannot write {what}",
            advice="Save its state_dict(), or the numbers in it.",
            kind="D03",
        )


class _Unpickler(pickle.Unpickler):
    """Makes tensors and arrays of data; finds no other classes or functions than those in `_KNOWN`."""

    def __init__(self, file: IO[bytes], return_numpy: bool) -> None:
        super().__init__(file)
        self._return_numpy = return_numpy
        self._made: list[Any] = []

    def persistent_load(self, pid: Any) -> Any:
        kind, *stored = pid
        if kind == "again":
            return self._made[stored[0]]
        dtype, shape, data, *rest = stored
        kinds = _KINDS_OF_TENSORS if kind == "tensor" else _KINDS
        if kind not in ("tensor", "array", "scalar") or not isinstance(dtype, str) or np.dtype(dtype).kind not in kinds:
            raise pickle.UnpicklingError(f"{kind} of {dtype}")
        array = np.frombuffer(data, dtype).reshape(shape).copy()
        if kind == "tensor" and not self._return_numpy:
            stop_gradient, name = rest
            if not isinstance(stop_gradient, bool) or not isinstance(name, str | None):
                raise pickle.UnpicklingError("flag or name of a tensor")
            if not stop_gradient and array.dtype.kind not in "fc":
                raise pickle.UnpicklingError(f"a tensor of {array.dtype} that wants a gradient")
            # As this machine computes with them.
            array = array.astype(as_dtype(array.dtype.newbyteorder("=")), copy=False)
            found: Any = tensor_of(array, stop_gradient)
            if name is not None:
                found.name = name
        else:
            found = array[()] if kind == "scalar" else array
        self._made.append(found)
        return found

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _KNOWN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a d2s file")
