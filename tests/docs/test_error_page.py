"""The catalogue of errors: each example fails with its id, each fix works, and docs/errors.md is what they make."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import d2s
from d2s import errors
from d2s.catalogue import KINDS, Kind, find
from d2s.testing import ModesDiffer, WrongGradient, assert_same_in_both_modes, check_grads
from tests.docs.error_page import PAGE, entry, page
from tests.docs.markdown import blocks_of
from tests.docs.programs import run_alone

PACKAGE = Path(d2s.__file__).parent
CLASSES = {name: found for name, found in vars(errors).items() if isinstance(found, type) and name in errors.__all__
           and issubclass(found, errors.D2SError)}
# What `d2s.testing` raises.
FAILURES = {found.__name__: found for found in (ModesDiffer, WrongGradient)}
ALL = CLASSES | FAILURES
KINDS_BY_ID = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def on_page(kind: Kind) -> str:
    """The entry as it stands in docs/errors.md."""
    return re.search(rf"^### {kind.id}\n.*?(?=\n^##|\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]


@KINDS_BY_ID
def test_the_example_raises_this_error(kind: Kind) -> None:
    text = entry(kind)
    printed = blocks_of(text)[1].text
    last = re.findall(r"^d2s\.(\w+): .*\[(D2S-\w+)\]$", printed, re.MULTILINE)
    assert last == [(kind.error, kind.id)], printed
    assert re.search(r"^  program\.py:\d+$", printed, re.MULTILINE), "the message names no line of the example"
    assert text == on_page(kind), "run `python -m tests.docs`"


@KINDS_BY_ID
def test_the_fixed_program_runs(kind: Kind, tmp_path: Path) -> None:
    if kind.fixed:
        assert run_alone(kind.fixed, tmp_path) == ""
        assert kind.fixed != kind.example


def test_the_page_is_what_the_catalogue_makes() -> None:
    # The entries themselves are compared, one by one, by the first test.
    assert page(on_page) == PAGE.read_text(encoding="utf-8"), "run `python -m tests.docs`"


def raised(root: Path) -> Iterator[tuple[str, str, str | None]]:
    """Place, class and kind of every error of d2s that code below `root` makes."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ALL:
                kinds = [keyword.value for keyword in node.keywords if keyword.arg == "kind"]
                kind = kinds[0].value if kinds and isinstance(kinds[0], ast.Constant) else None
                yield f"{path.relative_to(root)}:{node.lineno}", node.func.id, kind


def without_entry(root: Path) -> list[str]:
    """What is raised with a kind that the catalogue does not have, or has for another class."""
    wrong = []
    for place, name, kind in raised(root):
        found = KINDS.get(f"D2S-{kind or ALL[name].general_kind}")
        if found is None or found.error != name:
            wrong.append(f"{place}: {name} of kind {kind}")
    return wrong


def test_every_error_that_is_raised_is_in_the_catalogue() -> None:
    assert without_entry(PACKAGE) == []


def test_no_id_is_given_twice() -> None:
    folder = PACKAGE / "catalogue"
    texts = [file.read_text(encoding="utf-8") for file in folder.glob("*.py")]
    names = [name for text in texts for name in re.findall(r'^        "([A-Z]\d\d)",$', text, re.M)]
    assert len(names) == len(set(names)) == len(KINDS)


def test_every_kind_of_the_catalogue_is_raised() -> None:
    kinds = {kind or ALL[name].general_kind for _, name, kind in raised(PACKAGE)}
    assert {kind.name for kind in KINDS.values()} - kinds == set()


@pytest.mark.parametrize("text", ['HookError("a")', 'HookError("a", kind="Z99")', 'HookError("a", kind="G01")'])
def test_an_error_without_entry_is_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(f"def f():\n    raise {text}\n", encoding="utf-8")
    assert len(without_entry(tmp_path)) == 1


# What Python itself says of an attribute that is not there, and what a caller inside of d2s catches.
PLAIN = {
    "__init__.py:__getattr__", "autograd/jacobians.py:__getattr__", "jit/reading.py:_error", "jit/reading.py:_flag",
    "jit/reading.py:_location", "jit/reading.py:_one_line", "jit/reading.py:_record", "jit/reading.py:spec",
    "jit/reading.py:tree",
    "jit/save_load.py:array", "jit/save_load.py:read",
    "nn/registry.py:__getattr__", "operators/access.py:delete_plainly", "operators/making.py:_initialise",
    "operators/native.py:_answer", "operators/native.py:checked_length", "operators/protocols.py:items_of",
    "operators/open_functions.py:unpacked", "operators/picking.py:list_place",
    "operators/asked_numbers.py:check_answer", "operators/special_methods.py:formatted",
    "operators/run_time.py:taken_apart", "operators/special_methods.py:search", "transpiler/interface.py:parts",
    "transpiler/interface.py:asked_class", "transpiler/interface.py:holds",
    "ops/gathering.py:take_op", "playground/target.py:__init__", "static/passes/merge_duplicates.py:_key_of_attrs",
    "static/variable.py:__getattr__", "testing/__init__.py:__getattr__", "transpiler/interface.py:_function",
}
BUILTIN = {
    "AttributeError", "IndexError", "KeyError", "LookupError", "OSError", "RuntimeError", "TypeError", "ValueError",
}


def plain(root: Path) -> set[str]:
    """File and function of every statement that raises an error of Python's own."""
    found = set()
    for path in sorted(root.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
                raised = node.exc if isinstance(node, ast.Raise) else None
                name = raised.func if isinstance(raised, ast.Call) else raised
                if isinstance(name, ast.Name) and name.id in BUILTIN:
                    found.add(f"{path.relative_to(root)}:{function.name}")
    return found


def test_errors_have_ids() -> None:
    assert plain(PACKAGE) == PLAIN


def test_every_class_of_errors_has_entries() -> None:
    assert {kind.error for kind in KINDS.values()} == ALL.keys() - {"D2SError"}


def test_ids_are_letters_of_their_class_and_numbers() -> None:
    letters = {kind.error: kind.name[0] for kind in KINDS.values()}
    assert len(set(letters.values())) == len(letters)
    for kind in KINDS.values():
        assert re.fullmatch(letters[kind.error] + r"\d\d", kind.name)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_an_error_keeps_its_id(name: str) -> None:
    error = CLASSES[name]("words", errors.Location("file.py", 3, "x = 1"), "advice", kind="T02")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.id, str(again)) == (type(error), "D2S-T02", str(error))
    assert str(error) == "words [D2S-T02]\n  file.py:3\n    x = 1\n  advice"
    assert error.message == "words"


@pytest.mark.parametrize("id", ["D2S-B01", "D2S-W01", "D2S-W02"])
def test_a_failed_assertion_keeps_its_id(id: str) -> None:
    def f(x):
        x.register_hook(lambda g: g * g + 1) if id == "D2S-W02" else None
        return x * x.detach() if id == "D2S-W01" else x if d2s.in_dynamic_mode() and id == "D2S-B01" else x * 2

    with pytest.raises(tuple(FAILURES.values())) as caught:
        (assert_same_in_both_modes if id == "D2S-B01" else check_grads)(f, d2s.to_tensor([3.0], stop_gradient=False))
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert error.id == again.id == id
    assert str(error).partition("\n")[0].endswith(f" [{id}]")
    assert (type(again), str(again), again.location) == (type(error), str(error), error.location)


def test_an_error_without_kind_shows_no_id() -> None:
    assert str(d2s.D2SError("words", errors.Location("file.py", 3, "x = 1"))) == "words\n  file.py:3\n    x = 1"


def test_entries_are_found_by_their_id() -> None:
    assert find("D2S-G01") is find("g01") is KINDS["D2S-G01"]
    with pytest.raises(KeyError):
        find("D2S-Z01")
