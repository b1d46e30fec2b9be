"""The function or Layer of the program that is looked at."""

from __future__ import annotations

import inspect
import linecache
from types import FunctionType
from typing import Any

from d2s.jit import StaticFunction, to_static
from d2s.nn.layer import Layer


class Target:
    """
    What is called, and the program it stands in.

    Parameters
    ----------
    text, file : str
        The program, and the path of the file that holds it.
    name : str
        Of the function or Layer; empty, or gone, for the last one that is defined.
    """

    def __init__(self, text: str, file: str, name: str) -> None:
        self.code = compile(text, file, "exec", dont_inherit=True)
        self.file = file
        linecache.checkcache(file)
        namespace = self.namespace()
        self.names = [key for key, value in namespace.items() if _can_be_called(value, file)]
        if not self.names:
            raise LookupError(_nothing_to_call(namespace))
        self.name = name if name in self.names else self.names[-1]

    def namespace(self) -> dict[str, Any]:
        """The names of the program, run anew: no mode sees what the other has changed."""
        names: dict[str, Any] = {"__name__": "program", "__file__": self.file}
        exec(self.code, names)
        return names

    def in_mode(self, mode: str, names: dict[str, Any]) -> Any:
        """The function or Layer of these names, for a mode."""
        found = names[self.name]
        if mode == "static":
            return to_static(found)
        return found.dygraph_function if isinstance(found, StaticFunction) else found


def _nothing_to_call(namespace: dict[str, Any]) -> str:
    """Why there is nothing to call, and what to do."""
    layers = [value for value in namespace.values() if isinstance(value, type) and issubclass(value, Layer)
              and value.__module__ == namespace["__name__"]]
    if not layers:
        return "the program defines no function and no Layer"
    kind = layers[-1]
    parameters = inspect.signature(kind).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    given = ", ".join(f"{name}=..." for name in needed)
    name = "net" if "net" not in namespace else "layer"
    return (f"the program defines the class {kind.__name__}, but makes no object of it: "
            f"add a line like `{name} = {kind.__name__}({given})`")


def _can_be_called(value: Any, file: str) -> bool:
    if isinstance(value, StaticFunction | Layer):
        return True
    return isinstance(value, FunctionType) and value.__code__.co_filename == file
