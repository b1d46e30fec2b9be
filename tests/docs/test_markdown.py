"""README, change log and docs/: the programs in them run and print what is said there, and links lead somewhere."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

import d2s
from tests.docs.error_page import PAGE
from tests.docs.markdown import DOCUMENTS, ROOT, Step, anchors_of, is_output, links_of, sessions_of
from tests.docs.programs import run

SESSIONS = [
    pytest.param(session, id=f"{document.relative_to(ROOT)}:{session[0].line}")
    for document in DOCUMENTS
    if document != PAGE  # made, and its programs run, by test_error_page
    for session in sessions_of(document.read_text(encoding="utf-8"))
]


def check(session: list[Step], folder: Path) -> None:
    """Run the programs of a session, one after the other, under the same names."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, step in enumerate(session):
        (folder / str(number)).mkdir()
        printed = run(step.program, folder / str(number), namespace)
        if not is_output(step.output, printed):
            pytest.fail(f"line {step.line}: the document says\n{step.output}\nbut the program prints\n{printed}", False)


@pytest.mark.parametrize("session", SESSIONS)
def test_programs_print_what_the_document_says(session: list[Step], tmp_path: Path) -> None:
    try:
        check(session, tmp_path)
    finally:
        d2s.disable_static()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    wrong = []
    for link in links_of(document.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in anchors_of(target.read_text(encoding="utf-8"))):
            wrong.append(link)
    assert wrong == []


def test_every_document_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links_of(index.read_text(encoding="utf-8"))}
    assert {path for path in DOCUMENTS if path.parent == index.parent} - {index} <= linked


def test_documents_name_no_place_of_one_machine() -> None:
    for document in DOCUMENTS:
        assert re.findall(r"(?<![\w.])/(?:work|home|root|tmp|usr)/\S*", document.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_of_d2s_in_the_text_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    wrong = []
    for name in sorted(set(re.findall(r"`(d2s(?:\.\w+)+)[`(]", text))):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            wrong.append(name)
    assert wrong == []


def d2s_names_of_tables(text: str) -> set[str]:
    """What tables of names say that d2s has: names of their last column, and of the first where that is "the same"."""
    found = set()
    for line in text.splitlines():
        if line.startswith("| "):
            first, *_, last = line.strip("|").split("|")
            cells = [first, last] if last.strip().startswith("the same") else [last]
            found |= {name for cell in cells for name in re.findall(r"`paddle((?:\.\w+)+)", cell)}
    return found


@pytest.mark.parametrize("name", ["from_paddle.md", "from_pytorch.md"])
def test_names_in_the_tables_of_names_exist(name: str) -> None:
    names = d2s_names_of_tables((ROOT / "docs" / name).read_text(encoding="utf-8"))
    assert len(names) > 10
    wrong = []
    for path in sorted(names):
        found: object = d2s
        for part in path.split(".")[1:]:
            found = getattr(found, part, None)
        if found is None:
            wrong.append(path)
    assert wrong == []


def test_wrong_names_in_tables_are_found() -> None:
    text = "| `torch.cat` | `paddle.no(x)`, `paddle.nn.Linear` |\n| `paddle.a` | the same |\n| `paddle.b` | nothing |\n"
    assert d2s_names_of_tables(text) == {".no", ".nn.Linear", ".a"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_named_in_the_text_exist(document: Path) -> None:
    names = re.findall(r"`((?:d2s|tests|docs|examples)/[\w/.]*)`", document.read_text(encoding="utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []


# --- tests of these tests --------------------------------------------------------------------------------------

PROGRAM = "```python\nprint(1 + 1)\n```\n"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"{PROGRAM}\n```\n2\n```\n", True),
        (f"{PROGRAM}\n```text\n...\n```\n", True),
        (f"{PROGRAM}\n```\n3\n```\n", False),
        (f"{PROGRAM}\nwords\n\n```\n2\n```\n", False),
        (PROGRAM, False),
        ("```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```\n1\n```\n", True),
        ("```python\nx = 1\n```\n\n```python\nimport d2s as paddle\nprint(x)\n```\n\n```\n1\n```\n", False),
        ("```python\n1 / 0\n```\n\n```\nZeroDivisionError: division by zero\n```\n", True),
        ("```python\n1 / 0\n```\n", False),
        ("```sh\nrm\n```\n\n```\nnothing\n```\n", True),
    ],
)
def test_wrong_output_is_found(text: str, right: bool, tmp_path: Path) -> None:
    found = []
    for number, session in enumerate(sessions_of(text)):
        (tmp_path / f"session{number}").mkdir()
        try:
            check(session, tmp_path / f"session{number}")
        except pytest.fail.Exception as error:
            found.append(str(error))
    assert (found == []) == right


def test_links_and_anchors_are_found() -> None:
    text = "# One `thing`, two\n[a](b.md) `[c](d)` ![e](f.png)\n```\n# no\n[g](h)\n```\n[i](#one-thing-two)\n"
    assert links_of(text) == ["b.md", "#one-thing-two"]
    assert anchors_of(text) == {"one-thing-two"}
