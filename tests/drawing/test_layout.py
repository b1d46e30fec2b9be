"""Random graphs with nested groups: nothing overlaps, edges run downwards, and all forms say the same."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from d2s.drawing.graph import KINDS, Edge, Graph, Group, Node
from d2s.drawing.languages import dot_of, mermaid_of
from d2s.drawing.layout import Box, arrange
from d2s.drawing.page import page_of_graph
from d2s.drawing.svg import svg_of

titles = st.sampled_from(["add", "a < b & \"c\"", "a very long title indeed", ""])
lines = st.lists(st.sampled_from(["float32[8, 784]", "x", "]>"]), max_size=3).map(tuple)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Edges lead from earlier nodes to later ones that are in the same group or in a group in a group around it."""
    numbers = itertools.count()

    def group(depth: int) -> Group:
        made = Group(f"g{next(numbers)}", draw(titles), "region" if depth else "root", "f.py:1" if depth == 2 else "")
        for _ in range(draw(st.integers(1, 4))):
            if depth < 3 and draw(st.booleans()):
                made.members.append(group(depth + 1))
            else:
                kind, place = draw(st.sampled_from(KINDS)), draw(st.sampled_from(["", ":7"]))
                made.members.append(Node(f"n{next(numbers)}", kind, draw(titles), draw(lines), place, "all of it"))
        return made

    root = group(0)
    nodes = [node.key for node in root.nodes()]
    found = {(a, b) for a, b in draw(st.lists(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)), max_size=12))}
    edges = [Edge(a, b) for a, b in sorted(found) if nodes.index(a) < nodes.index(b)]
    return Graph("a <graph>", root, edges)


def inside(inner: Box, outer: Box) -> bool:
    right = inner.left + inner.width
    return inner.left >= outer.left - 0.01 and right <= outer.left + outer.width + 0.01 and (
        inner.top >= outer.top - 0.01 and inner.bottom <= outer.bottom + 0.01)


def apart(one: Box, other: Box) -> bool:
    return (
        one.left + one.width <= other.left + 0.01 or other.left + other.width <= one.left + 0.01
        or one.bottom <= other.top + 0.01 or other.bottom <= one.top + 0.01)


def check_group(group: Group, boxes: dict[str, Box]) -> None:
    for member in group.members:
        assert inside(boxes[member.key], boxes[group.key])
        if isinstance(member, Group):
            check_group(member, boxes)
    for one, other in itertools.combinations(group.members, 2):
        assert apart(boxes[one.key], boxes[other.key])


@given(graph=graphs())
def test_boxes_do_not_overlap_and_stay_in_their_groups(graph: Graph) -> None:
    layout = arrange(graph)
    boxes = {graph.root.key: Box(layout.width / 2, layout.height / 2, layout.width, layout.height), **layout.boxes}
    check_group(graph.root, boxes)


@given(graph=graphs())
def test_an_edge_begins_and_ends_at_its_boxes(graph: Graph) -> None:
    layout = arrange(graph)
    assert [edge for edge, _ in layout.paths] == graph.edges
    for edge, points in layout.paths:
        source, target = layout.boxes[edge.source], layout.boxes[edge.target]
        assert points[0] == (source.x, source.bottom)
        assert points[-1] == (target.x, target.top)


@given(graph=graphs())
def test_edges_of_one_group_run_downwards(graph: Graph) -> None:
    layout = arrange(graph)
    home = {member.key: group.key for group in [graph.root, *graph.root.groups()] for member in group.members}
    for edge, points in layout.paths:
        if home[edge.source] == home[edge.target]:
            assert all(one[1] <= other[1] + 0.01 for one, other in itertools.pairwise(points))


def test_an_edge_out_of_a_short_group_passes_beside_its_tall_neighbour() -> None:
    short = Group("short", "short", members=[Node("a", "op", "a")])
    tall = Group("tall", "tall", members=[Node(f"b{number}", "op", "a wide title of an op") for number in range(5)])
    end = Node("end", "op", "end")
    edges = [Edge(f"b{number}", f"b{number + 1}") for number in range(4)] + [Edge("a", "end"), Edge("b4", "end")]
    layout = arrange(Graph("", Group("root", "", "root", members=[short, tall, end]), edges))
    (points,) = [points for edge, points in layout.paths if edge.source == "a"]
    box = layout.boxes["tall"]
    # Down to below the neighbour it runs straight.
    assert [x for x, y in points if y <= box.bottom + 0.01] == [points[0][0]] * (len(points) - 1)
    assert points[-2][1] >= box.bottom - 0.01


@given(graph=graphs())
def test_all_forms_are_well_formed_and_name_every_node(graph: Graph) -> None:
    nodes = [node.key for node in graph.root.nodes()]
    picture = ET.fromstring(svg_of(graph))
    paths = [e for e in picture.iter("{http://www.w3.org/2000/svg}path") if e.get("marker-end")]
    assert len(paths) == len(graph.edges)
    assert svg_of(graph) == svg_of(graph)
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page_of_graph(graph, "<text>"))
    dot, mermaid = dot_of(graph), mermaid_of(graph)
    assert dot.count("{") == dot.count("}") or '"' in dot
    assert len(re.findall(r"^ *n\d+ \[", dot, re.MULTILINE)) == len(nodes)
    assert len(re.findall(r"^  \w+ -> \w+", dot, re.MULTILINE)) == len(graph.edges)
    assert len(re.findall(r"^ *n\d+(?! -)[(\[{]", mermaid, re.MULTILINE)) == len(nodes)
    assert len(re.findall(r"^ *subgraph ", mermaid, re.MULTILINE)) == len(re.findall(r"^ *end$", mermaid, re.MULTILINE))
    assert len(re.findall(r"^  \w+ -", mermaid, re.MULTILINE)) == len(graph.edges)
