"""Where everything in a graph goes: layers from top to bottom, groups inside of groups.

Each group is laid out by itself, innermost first, and is then one large box for the group around it.  An edge into
a group enters it straight above its target and leaves it straight below its source; therefore such targets are put
into the first layer, and such sources, if nothing follows them, into the last.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field

from d2s.drawing.graph import Edge, Graph, Group, Node
from d2s.drawing.placing import Item, Link, place

CHARACTER = 7.3  # width of a character of the title, in pixels; the font is monospaced
SMALL = 6.1
LINE = 14.0
PADDING = 18.0
HEADER = 22.0
EXIT = 8.0

Point = tuple[float, float]


@dataclass
class Box:
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2


@dataclass
class Layout:
    """Boxes by key, and the points that each edge runs through."""

    width: float
    height: float
    boxes: dict[str, Box]
    paths: list[tuple[Edge, list[Point]]]


@dataclass
class _Arranged:
    """A group laid out by itself, with its corner at the origin."""

    width: float
    height: float
    boxes: dict[str, Box] = field(default_factory=dict)
    bends: dict[int, list[Point]] = field(default_factory=dict)


def size_of(node: Node) -> tuple[float, float]:
    """Width and height of the box of a node."""
    if node.kind == "exit":
        return EXIT, EXIT
    place = f"  {node.place}" if node.place else ""
    title = len(node.title) * CHARACTER + len(place) * SMALL
    width = max(title, *(len(line) * SMALL for line in node.lines), 0.0) + 18
    return max(width, 34.0), 22 + LINE * len(node.lines)


def arrange(graph: Graph) -> Layout:
    """The layout of a graph."""
    return _Arrangement(graph).whole()


class _Arrangement:
    """Lays out one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.way: dict[str, tuple[str, ...]] = {}
        self._note_ways(graph.root, ())
        # For each group: the edges between two of its members, by number and with the members; the members that edges
        # enter from outside; those that they leave to outside.
        self.inside: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        self.entered: dict[str, set[str]] = defaultdict(set)
        self.left: dict[str, set[str]] = defaultdict(set)
        for number, edge in enumerate(graph.edges):
            self._sort(number, self.way[edge.source], self.way[edge.target])

    def _sort(self, number: int, source: tuple[str, ...], target: tuple[str, ...]) -> None:
        """Note an edge at the innermost group around both ends, and at those between that group and each end."""
        common = 0
        while common < min(len(source), len(target)) and source[common] == target[common]:
            common += 1
        if common < len(source) and common < len(target):
            self.inside[source[common - 1]].append((number, source[common], target[common]))
        for outer, member in itertools.pairwise(source[common:]):
            self.left[outer].add(member)
        for outer, member in itertools.pairwise(target[common:]):
            self.entered[outer].add(member)

    def _note_ways(self, group: Group, above: tuple[str, ...]) -> None:
        """For every key, the keys of the groups around it and its own, outermost first."""
        way = (*above, group.key)
        self.way[group.key] = way
        for member in group.members:
            if isinstance(member, Group):
                self._note_ways(member, way)
            else:
                self.way[member.key] = (*way, member.key)

    def whole(self) -> Layout:
        arranged = self.group(self.graph.root)
        paths = []
        for number, edge in enumerate(self.graph.edges):
            source, target = arranged.boxes[edge.source], arranged.boxes[edge.target]
            bends = arranged.bends.get(number, [])
            paths.append((edge, [(source.x, source.bottom), *bends, (target.x, target.top)]))
        return Layout(arranged.width, arranged.height, arranged.boxes, paths)

    def group(self, group: Group) -> _Arranged:
        """Lay out the members of a group, then find the places of all that is in it."""
        inner: dict[str, _Arranged] = {}
        items: dict[str, Item] = {}
        for member in group.members:
            if isinstance(member, Group):
                done = inner[member.key] = self.group(member)
                items[member.key] = Item(done.width, done.height)
            else:
                items[member.key] = Item(*size_of(member))
        links = []
        for number, one, other in self.inside[group.key]:
            edge = self.graph.edges[number]
            links.append(Link(number, one, other, _offset(inner, one, edge.source), _offset(inner, other, edge.target)))
        frame = 0.0 if group.kind == "root" else PADDING
        header = 0.0 if group.kind == "root" else HEADER
        width, height, bends = place(items, links, self.entered[group.key], self.left[group.key])
        # Small type beside a title needs its own room.
        width = max(width, len(group.title) * CHARACTER + len(group.place) * SMALL + 12 - frame)
        result = _Arranged(width + 2 * frame, height + 2 * frame + header * 0.7)
        top = frame + header * 0.7
        for key, item in items.items():
            result.boxes[key] = Box(item.x + frame, item.y + top, item.width, item.height)
            if key in inner:
                left, above = item.x - item.width / 2 + frame, item.y - item.height / 2 + top
                for below, box in inner[key].boxes.items():
                    result.boxes[below] = Box(box.x + left, box.y + above, box.width, box.height)
                for number, points in inner[key].bends.items():
                    result.bends[number] = [(x + left, y + above) for x, y in points]
        for link in links:
            result.bends[link.number] = self._bends(link, items, bends[link.number], frame, top)
        return result

    def _bends(
        self, link: Link, items: dict[str, Item], between: list[Point], frame: float, top: float
    ) -> list[Point]:
        """The points of one edge between its ends, among them where it leaves and enters groups."""
        source, target = items[link.source], items[link.target]
        points = [(x + frame, y + top) for x, y in between]
        edge = self.graph.edges[link.number]
        if link.source != edge.source:
            points.insert(0, (source.x + link.leaves + frame, source.y + source.height / 2 + top))
        if link.target != edge.target:
            points.append((target.x + link.enters + frame, target.y - target.height / 2 + top))
        return points


def _offset(inner: dict[str, _Arranged], outer: str, key: str) -> float:
    """How far right of the middle of the group `outer` the node `key` in it stands; 0 for a node itself."""
    done = inner.get(outer)
    return 0.0 if done is None or key == outer else done.boxes[key].x - done.width / 2
