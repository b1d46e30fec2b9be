"""Pictures of Programs, and code side by side."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

import d2s
from d2s.drawing.graph import Group
from d2s.drawing.layout import arrange
from d2s.drawing.theme import dark_style
from d2s.static.picture import picture_of
from d2s.testing import assert_golden
from d2s.testing.generated import load
from tests.corpus.register import PROGRAMS
from tests.modes import test_corpus  # noqa: F401  (fills PROGRAMS)
from tests.modes.harness import map_leaves


def hooked(x, w):
    y = x * x
    z = 3 * y
    y.register_hook(lambda g: g + 1)
    k = 0
    while z.sum() < 10:
        z = z * w
        k = k + 1
    if z.mean() > 20:
        print("big", k)
        z = z - 1
    return z


def traced(function=hooked):
    static = d2s.to_static(function)
    static(d2s.to_tensor([1.0, 2.0], stop_gradient=False), d2s.to_tensor(1.5, stop_gradient=False))
    return static


def groups_by_title(root: Group) -> dict[str, Group]:
    return {group.title: group for group in root.groups()}


def test_the_picture_has_blocks_hooks_and_backward() -> None:
    graph = picture_of(traced().main_program).graph
    groups = groups_by_title(graph.root)
    assert {"program hooked", "while", "test", "body", "if", "then", "backward of hooked"} <= groups.keys()
    titles = {node.title: node for node in graph.root.nodes()}
    registered = titles["register_hook"]
    line = hooked.__code__.co_firstlineno
    assert (registered.kind, registered.place, registered.lines) == ("hook", f":{line + 3}", ("on multiply",))
    called = [node for node in groups["backward of hooked"].nodes() if node.title == "call hooks"]
    assert f":{line + 1}" in {node.place for node in called}
    then = groups_by_title(groups["program hooked"])["then"]
    assert any(node.title == "print" and node.kind == "effect" for node in then.nodes())
    # The dashed edge leads from the value that the hook is on.
    (edge,) = [edge for edge in graph.edges if edge.kind == "hook"]
    assert edge.target == registered.key
    source = next(node for node in graph.root.nodes() if node.key == edge.source)
    assert (source.title, source.place) == ("multiply", f":{line + 1}")
    assert {"x.grad", "w.grad"} <= titles.keys()


PROGRAM = """
def f(x, w):
    y = x * x
    y.register_hook(print)
    z = (y @ w).tanh()
    while z.sum() < 10:
        z = z * 2
    if z.mean() > 5:
        print("large")
        z = z - 1
    return z


def call(static, x, w):
    return static(x, w)
"""


def test_the_picture_in_the_documents_is_what_is_drawn() -> None:
    function = load(PROGRAM)
    static = d2s.to_static(function)
    x = d2s.ones([4, 3])
    x.stop_gradient = False
    # From the same file, so that all lines are of that file.
    function.__globals__["call"](static, x, d2s.ones([3, 1]))
    root = Path(__file__).parent.parent.parent
    picture = re.sub(r"generated_\d+", "program", static.main_program.picture().svg())
    assert_golden(picture, root / "docs" / "pictures" / "program.svg")


def test_the_order_of_effects_is_shown() -> None:
    net = d2s.nn.Linear(2, 1)
    sgd = d2s.optimizer.SGD(0.1, parameters=net.parameters())

    def step(x):
        print("before")
        loss = net(x).sum()
        if loss > 0:
            print("inside")
        loss.backward()
        sgd.step()
        return loss

    static = d2s.to_static(step)
    static(d2s.ones([3, 2]))
    graph = picture_of(static.main_program).graph
    titles = {node.key: node.title for node in graph.root.nodes()} | {
        group.key: group.title for group in graph.root.groups()}
    order = [(titles[edge.source], titles[edge.target]) for edge in graph.edges if edge.kind == "order"]
    assert order == [("print", "if"), ("if", "backward"), ("backward", "Optimizer.step")]
    # Looks at what the trace has read are no effects of the user's; the text has them.
    assert not any("check_unchanged" in title for title in titles.values())
    assert "check_unchanged" in picture_of(static.main_program).text
    # In the drawing each stands below the one before.
    boxes = arrange(graph).boxes
    for edge in graph.edges:
        if edge.kind == "order":
            assert boxes[edge.source].bottom < boxes[edge.target].top


def test_dark_pages_have_a_colour_for_all_that_is_drawn() -> None:
    page = traced().main_program.picture().html() + traced().side_by_side().html()
    _, _, dark = page.partition("@media (prefers-color-scheme: dark)")
    assert "#ffffff" in page
    assert dark
    used = set(re.findall(r'class="(?:d2s-node )?(d2s-[a-z-]+)"', page)) - {"d2s-graph", "d2s-legend", "d2s-code"}
    used |= {name for found in re.findall(r'class="n (d2s-mark-[a-z-]+)"', page) for name in [found]}
    assert {"d2s-op", "d2s-hook", "d2s-frame-program", "d2s-edge-value", "d2s-mark-hook-placed"} <= used
    styled = set(re.findall(r"\.(d2s-[a-z-]+)", dark_style())) | {"d2s-mark-same", "d2s-order"}
    assert used <= styled


def test_backward_can_be_left_out() -> None:
    program = traced().main_program
    titles = [group.title for group in program.picture(backward=False).graph.root.groups()]
    assert "program hooked" in titles
    assert not any("backward" in title for title in titles)
    assert "backward of" not in program.picture(backward=False).text


@pytest.mark.parametrize("name", sorted(name for name, found in PROGRAMS.items() if not found.is_refused)[::3])
def test_programs_of_the_corpus_have_pictures(name: str) -> None:
    found = PROGRAMS[name]
    static = d2s.to_static(found.make())
    call = found.calls("tensor")[0]
    try:
        static(*map_leaves(call, {}))
    except Exception:
        if not len(static.program_cache):
            pytest.skip("it raises before there is a Program")
    program = static.main_program
    picture = program.picture()
    ET.fromstring(picture.svg())
    # Whatever has an effect outside is to be seen.
    for operator in program.all_operators():
        if operator.kind in ("register_hook", "return", "raise", "py_func", "backward"):
            assert any(node.title == operator.kind for node in picture.graph.root.nodes())
    known = {node.key for node in picture.graph.root.nodes()} | {group.key for group in picture.graph.root.groups()}
    assert {end for edge in picture.graph.edges for end in (edge.source, edge.target)} <= known


def test_marks_of_moved_hooks() -> None:
    def moved(x):
        y = x * x
        z = 3 * y
        y.register_hook(lambda g: g + 1)
        for t in [y, z]:
            t.retain_grads(), t.register_hook(lambda g: g * 2)
        return z

    static = d2s.to_static(moved)
    first = moved.__code__.co_firstlineno
    reports = static.hook_report()
    assert [(report.line - first, report.target) for report in reports] == [(3, "y"), (5, "t")]
    assert reports[0].moved_to == first + 1
    assert reports[1].moved_to is None
    marks = {(row.left_number, row.left_mark) for row in static.side_by_side().rows if row.left_number}
    assert (first + 3, "hook left") in marks
    placed = [row for row in static.side_by_side().rows if row.right_mark == "hook placed"]
    assert [row.right.strip() for row in placed] == ["y.register_hook(lambda g: g + 1)"]
    text = static.side_by_side().text(100)
    assert max(map(len, text.splitlines()[:-3])) <= 100
    assert f"hook on y moves behind line {first + 1}" in text
    assert "\x1b[" not in text
    assert "\x1b[35" in static.side_by_side().text(100, colour=True)


def test_all_lines_of_both_sides_are_shown_once() -> None:
    static = d2s.to_static(hooked)
    rows = static.side_by_side().rows
    left = [row.left_number for row in rows if row.left_number is not None]
    assert left == list(range(left[0], left[0] + len(left)))
    right = [row.right for row in rows if row.right_number is not None]
    assert right == [line for line in static.code.splitlines() if line.strip()]


class _Parser(HTMLParser):
    """Collects the tags that are open, and what is loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [name for name, _ in attrs if name in ("src", "href")]
        if tag not in ("meta", "col"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [name for name, _ in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_pages_are_whole_and_stand_alone() -> None:
    static = traced()
    for text in (static.side_by_side().html(), static.main_program.picture().html(), static._repr_html_(),
                 static.main_program._repr_html_()):
        parser = _Parser()
        parser.feed(text)
        assert parser.open == []
        assert parser.loaded == []
        assert not re.search(r"<script|@import|url\((?!#)", text)


def test_reprs() -> None:
    static = d2s.to_static(hooked)
    place = f"test_pictures.py:{hooked.__code__.co_firstlineno}"
    assert repr(static) == f"<StaticFunction hooked(x, w) at {place}, 0 Programs>"
    static = traced()
    assert repr(static) == f"<StaticFunction hooked(x, w) at {place}, 1 Program>"
    assert repr(static.program_cache) == "<ProgramCache: 1 Program of 1 trace>"
    assert repr(static.concrete_program).startswith("<ConcreteProgram hooked(x: float32[2], w: float32[]): ")
    assert repr(static.main_program).startswith("<Program hooked: ")
    svg = static.main_program.picture().svg()
    for shown in (static.main_program, static.concrete_program, static.main_program.picture()):
        assert shown._repr_svg_() == svg
    assert static.concrete_program._repr_html_() == static.main_program._repr_html_() == svg
    assert static.side_by_side()._repr_html_() == static.side_by_side().table()
    parameter = d2s.nn.Linear(1, 1).bias
    assert repr(parameter) == (
        "Parameter containing:\nTensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [0.])")
    assert repr(d2s.nn.Sequential(d2s.nn.ReLU())) == "Sequential(\n  (0): ReLU()\n)"


def test_a_function_that_has_not_run_shows_its_code() -> None:
    assert "<svg" not in d2s.to_static(hooked)._repr_html_()
    assert "<svg" in traced()._repr_html_()


def test_a_branch_that_only_chooses_is_shown_with_its_condition() -> None:
    def chooses(x, w):
        return x if x.sum() > 0 else w

    static = d2s.to_static(chooses)
    static(*(d2s.to_tensor(values, stop_gradient=False) for values in ([1.0], [2.0])))
    graph = static.main_program.picture().graph
    branch = groups_by_title(graph.root)["if"]
    (test,) = [edge.source for edge in graph.edges if edge.target == branch.key]
    assert next(node.title for node in graph.root.nodes() if node.key == test) == "item"
    assert {node.title for node in branch.nodes() if node.kind == "port"} == {"x", "w"}
