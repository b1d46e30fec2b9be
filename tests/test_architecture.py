"""Who may import whom: the table, checked against the import statements."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "d2s"

FOUNDATION = {"caller", "errors", "dtypes", "device", "regularizer", "words"}
LOW = FOUNDATION | {"core", "ops"}
HIGH = {"autograd", "nn", "optimizer", "io", "metric"}

# For every part of the package, the parts it may import.  A part may always import itself.
MAY_IMPORT: dict[str, set[str]] = {
    "caller": set(),
    "errors": {"caller"},
    "words": set(),
    "constants": set(),
    "dtypes": set(),
    "regularizer": {"errors"},
    "device": {"errors"},
    # Boxes, lines and texts: knows nothing of tensors.
    "drawing": set(),
    "progress": set(),
    "core": {"caller", "errors", "dtypes"},
    "ops": {"errors", "dtypes", "device", "words", "core"},
    "tensor": LOW,
    "linalg": LOW,
    "fft": LOW,
    "distribution": LOW,
    "eager": LOW,
    "static": LOW | {"drawing"},
    "transpiler": {"errors"},
    "operators": LOW | {"eager", "static", "transpiler"},
    "autograd": LOW | {"eager"},
    "nn": LOW | {"eager"},
    "optimizer": LOW | {"eager"},
    "io": LOW | {"eager"},
    "amp": {"core", "errors"},
    "metric": LOW | {"eager"},
    "watching": LOW | {"eager", "static"},
    "profiler": FOUNDATION | {"watching", "drawing"},
    "layer_table": LOW | {"eager", "nn", "jit", "drawing"},
    "jit": LOW | {"transpiler", "operators", "static", "eager", "nn", "drawing"},
    "distributed": LOW | {"nn", "autograd", "io"},
    "onnx": LOW | {"static", "jit"},
    "native": LOW | {"static"},
}
# These see everything, and nobody sees them; the same holds for the list of public names, d2s/__init__.py.
OPEN_ENDS = {"catalogue", "cli", "playground", "testing", "__main__"}

TRANSPILER_OUTSIDE = set(sys.stdlib_module_names) | {"astor", "beniget", "gast"}


def imports_of(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that the module at `path` imports, wherever in it the statement stands."""
    package = [root.name, *path.relative_to(root).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def part_of(path: Path, root: Path) -> str:
    """Folder (or module) directly below the package that `path` belongs to; "" for its `__init__`."""
    first = path.relative_to(root).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def is_allowed(part: str, name: str) -> bool:
    """True if a module of `part` may import ``d2s.<name>`` (with an empty name: all of d2s)."""
    target = name.partition(".")[0]
    if part in ("", target) or part in OPEN_ENDS:
        return True
    return any(name == allowed or name.startswith(f"{allowed}.") for allowed in MAY_IMPORT[part])


def violations(root: Path) -> list[str]:
    """Every forbidden import below `root`, as text."""
    found = []
    for path in sorted(root.rglob("*.py")):
        part = part_of(path, root)
        for line, name in imports_of(path, root):
            if name.partition(".")[0] == "d2s":
                if not is_allowed(part, name.removeprefix("d2s").removeprefix(".")):
                    found.append(f"{path.relative_to(root.parent)}:{line} imports {name}")
            elif part == "transpiler" and name.partition(".")[0] not in TRANSPILER_OUTSIDE:
                found.append(f"{path.relative_to(root.parent)}:{line} imports {name}")
    return found


def test_imports_follow_the_table() -> None:
    assert "\n".join(violations(PACKAGE)) == ""


def test_every_part_is_in_the_table() -> None:
    parts = {part_of(path, PACKAGE) for path in PACKAGE.rglob("*.py")}
    assert parts - {""} <= MAY_IMPORT.keys() | OPEN_ENDS


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("core/spec.py", "from d2s.ops import relu"),
        ("ops/shape.py", "import d2s.eager.tensor"),
        ("eager/tape.py", "from d2s.static import program"),
        ("static/codegen.py", "from d2s.eager.tensor import Tensor"),
        ("static/codegen.py", "def late():\n    from ..eager import tensor"),
        ("transpiler/loader.py", "from d2s.core.spec import Dim"),
        ("transpiler/loader.py", "import numpy as np"),
        ("transpiler/passes/calls.py", "from ... import ops"),
        ("operators/branches.py", "from d2s.nn.layer import Layer"),
        ("drawing/svg.py", "from d2s.static.program import Program"),
        ("nn/layer.py", "from d2s.jit import to_static"),
        ("nn/layer.py", "import d2s"),
        ("watching/operators.py", "from d2s.jit.trace import Traced"),
        ("io/dataset.py", "from d2s.testing import golden"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, file: str, statement: str) -> None:
    planted = tmp_path / "d2s" / file
    planted.parent.mkdir(parents=True)
    planted.write_text(f"import ast\n{statement}\n", encoding="utf-8")
    found = violations(tmp_path / "d2s")
    assert len(found) == 1
    assert found[0].startswith(f"d2s/{file}:")


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("jit/trace.py", "from d2s.transpiler import loader"),
        ("jit/trace.py", "from d2s.static.builder import StaticInterpreter"),
        ("eager/tensor.py", "from d2s.ops.methods import TensorMethods"),
        ("operators/branches.py", "from d2s.transpiler.interface import Operators"),
        ("transpiler/loader.py", "from d2s.errors import SourceError"),
        ("cli/main.py", "import d2s"),
    ],
)
def test_what_the_table_allows_is_no_violation(tmp_path: Path, file: str, statement: str) -> None:
    module = tmp_path / "d2s" / file
    module.parent.mkdir(parents=True)
    module.write_text(f"{statement}\n", encoding="utf-8")
    assert violations(tmp_path / "d2s") == []
