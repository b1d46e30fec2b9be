"""Makes docs/reference/ from the docstrings of all public names."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

import d2s
from d2s import constants, dtypes, ops
from tests.docs.markdown import ROOT
from tests.docs.numpydoc import to_markdown
from tests.docs.shapes import NOT_ON_TENSORS, call_of, result_of

# PaddlePaddle's name for reduce hooks.
_PUBLIC_ALTHOUGH = {"_register_backward_hook"}

FOLDER = ROOT / "docs" / "reference"

# Page -> the modules whose public names it has, and what it begins with.
PAGES = {
    "d2s": (["d2s"], "Names of `d2s` itself; import it as `paddle`. Functions on tensors are in [ops](ops.md)."),
    "tensor": ([], "The class of all tensors."),
    "ops": (
        ["d2s.ops"],
        "Functions on tensors; all are names of `d2s`. Most are methods of `Tensor` too.\n\nBesides the errors that "
        "are listed: `ShapeError` where shapes do not fit, `DTypeError` where a dtype or a kind of argument does not, "
        "`IndexOutOfRangeError` where there is no such axis or element; see [Errors](../errors.md).",
    ),
    "linalg": (
        ["d2s.linalg", "d2s.fft", "d2s.tensor"],
        "Functions of matrices, and lists of tensors, under PaddlePaddle's names. What is a name of `d2s` too is on "
        "the page of [functions](ops.md).",
    ),
    "distribution": (["d2s.distribution"], "Probability distributions, made of functions on tensors."),
    "nn": (["d2s.nn"], "Layers, losses and what they are made of."),
    "functional": (["d2s.nn.functional"], "The functions behind the Layers."),
    "initializer": (["d2s.nn.initializer"], "First values of parameters."),
    "optimizer": (
        ["d2s.optimizer", "d2s.optimizer.lr", "d2s.regularizer", "d2s.nn.utils"],
        "Optimizers, schedules of their learning rates, weight decay, and clipping in place.",
    ),
    "metric": (["d2s.metric"], "Measures of how good predictions are."),
    "io": (["d2s.io"], "Data sets, samplers and loaders."),
    "autograd": (["d2s.autograd"], "Gradients on demand, grad mode, and functions with gradients of their own."),
    "jit": (["d2s.jit"], "Static mode."),
    "static": (["d2s.static"], "Programs, built by hand or traced."),
    "profiler": (["d2s.profiler"], "Where the time goes, by line and by operator."),
    "testing": (["d2s.testing", "d2s.testing.strategies"], "For tests of programs that use d2s."),
    "errors": (["d2s.errors"], "Classes of errors. What each kind of error means is in [Errors](../errors.md)."),
    "device": (["d2s.device", "d2s.amp"], "Where tensors live, and what belongs to other devices."),
}


def public_names(module: ModuleType) -> dict[str, Any]:
    """The documented names of a module: its ``__all__``, or what it defines without underscore."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name, found in vars(module).items() if not name.startswith("_") and _is_own(found, module)]
    return {name: getattr(module, name) for name in sorted(names, key=str.lower)}


def _is_own(found: Any, module: ModuleType) -> bool:
    return callable(found) and getattr(found, "__module__", "").startswith(module.__name__.rpartition(".")[0])


def names_of(page: str) -> Iterator[tuple[str, str, Any]]:
    """Module, name and object of everything on a page."""
    for place in PAGES[page][0]:
        for name, found in public_names(importlib.import_module(place)).items():
            if isinstance(found, (ModuleType, np.dtype)) or name in (*constants.__all__, *dtypes.__all__):
                continue
            if place in ("d2s.linalg", "d2s.fft", "d2s.tensor") and name in ops.__all__:
                continue
            if place == "d2s" and (name in ops.__all__ or found is d2s.Tensor or found in _passed_on()):
                continue
            yield place, name, found


def _passed_on() -> list[Any]:
    """What `d2s` only passes on from a module with a page of its own."""
    places = ("d2s.errors", "d2s.device", "d2s.autograd")
    return [found for place in places for found in public_names(importlib.import_module(place)).values()]


def pages() -> dict[str, str]:
    """Text of every page, by the name of its file."""
    texts = {f"{page}.md": _page(page) for page in PAGES}
    texts["index.md"] = _index()
    return texts


def _index() -> str:
    firsts = {page: _plain(words.partition("\n")[0]) for page, (_, words) in PAGES.items()}
    rows = "\n".join(f"* [{_title(page)}]({page}.md): {first}" for page, first in firsts.items())
    return (
        "# Reference\n\nAll public names with their signatures, arguments and errors. These pages are made from the "
        f"docstrings by `python -m tests.docs`.\n\n{rows}\n"
    )


def _plain(words: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)


def _title(page: str) -> str:
    places = PAGES[page][0]
    return places[0] if places else "d2s.Tensor"


def _page(page: str) -> str:
    parts = [f"# {_title(page)}", PAGES[page][1]]
    if page == "tensor":
        parts.append(_tensor())
    if page == "d2s":
        parts += [_dtypes(), _constants()]
    last = None
    for place, name, found in names_of(page):
        if last is not None and place != last:
            parts.append(f"# {place}")
        last = place
        parts.append(entry(place, name, found))
    return "\n\n".join(parts) + "\n"


def _dtypes() -> str:
    names = ", ".join(f"`{name}`" for name in dtypes.__all__)
    return f"## dtypes\n\n{names}: NumPy's dtypes. Where a dtype is asked for, its name as text will do."


def _constants() -> str:
    return f"## constants\n\n{', '.join(f'`{name}`' for name in constants.__all__)}: numbers, and None as an index."


def entry(place: str, name: str, found: Any) -> str:
    """What the reference says of one name."""
    parts = [f"## {name}", _call(f"{'d2s' if place == 'd2s.ops' else place}.{name}", signature_of(found))]
    parts.append(to_markdown(docstring_of(found)))
    if getattr(ops, name, None) is found and name not in NOT_ON_TENSORS:
        call = call_of(name)
        parts.append(f"For example `{call}` gives `{result_of(call, found)}`.")
    if isinstance(found, type):
        parts += _members(found)
    return "\n\n".join(part for part in parts if part)


def _call(name: str, signature: str) -> str:
    """A signature as a block, with a line for each argument if it is long."""
    text = name + signature
    if len(text) > 78:
        _, arrow, result = signature.rpartition(") -> ")
        lines = "".join(f"    {argument},\n" for argument in _arguments_of(signature))
        text = f"{name}(\n{lines}){' -> ' + result if arrow else ''}"
    return f"```text\n{text}\n```"


def _arguments_of(signature: str) -> Iterator[str]:
    """The parts between the outermost commas of ``(a: int, b: tuple[int, int] = (1, 1)) -> x``."""
    depth, part = 0, ""
    for sign in signature:
        if sign in ")]}":
            depth -= 1
        if depth == 0 and sign == ")":
            break
        if depth == 1 and sign == ",":
            yield part.strip()
            part = ""
        elif depth > 0:
            part += sign
        if sign in "([{":
            depth += 1
    if part.strip():
        yield part.strip()


def docstring_of(found: Any) -> str:
    """The docstring, that of the constructor added to that of the class."""
    own = inspect.getdoc(found) or ""
    init = vars(found).get("__init__") if isinstance(found, type) else None
    return f"{own}\n\n{inspect.getdoc(init)}" if init is not None and init.__doc__ and init.__doc__ not in own else own


def signature_of(found: Any) -> str:
    """``(x: Tensor, axis: int = 0) -> Tensor``; empty for what has none."""
    try:
        text = str(inspect.signature(found))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r"'([^']*)'(?=[,)\]=\s]|$)", r"\1", text)
    text = re.sub(r"<(?:function|class|built-in function) '?([\w.]+)'?[^>]*>", r"\1", text)
    return text.removesuffix(" -> None")


def _members(found: type) -> Iterator[str]:
    for name, member in members_of(found):
        doc = inspect.getdoc(member)
        shown = name if isinstance(member, property) else f"{name}{signature_of(member).replace('(self, ', '(')}"
        yield f"**`{shown.replace('(self)', '()')}`**\n\n{to_markdown(doc or '')}"


def members_of(found: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class itself defines."""
    for name, member in vars(found).items():
        if name.startswith("_") and name not in _PUBLIC_ALTHOUGH:
            continue
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(plain) or isinstance(plain, property):
            yield name, plain


def _tensor() -> str:
    parts = [entry("d2s", "Tensor", d2s.Tensor)]
    known = {name for name, _ in members_of(d2s.Tensor)}
    rows = []
    for name in sorted(dir(d2s.Tensor)):
        member = getattr(d2s.Tensor, name)
        if name.startswith("_") or name in known:
            continue
        summary = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
        shown = f"[`{name}`](ops.md#{name.lower()})" if name in ops.__all__ else f"`{name}`"
        rows.append(f"| {shown} | {summary.replace('|', chr(92) + '|')} |")
    table = "\n".join(["| Name | |", "|---|---|", *rows])
    return "\n\n".join([*parts, "## Other methods and attributes", table])
