"""A graph as SVG: one element that stands alone, without scripts, fonts or anything else from outside."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from d2s.drawing import theme
from d2s.drawing.graph import Edge, Graph, Group, Node
from d2s.drawing.layout import CHARACTER, LINE, SMALL, Box, Point, arrange

MARGIN = 12.0


def svg_of(graph: Graph) -> str:
    """
    The picture of `graph`.

    Returns
    -------
    str
        An ``<svg>`` element: a whole file, or a part of a page.
    """
    layout = arrange(graph)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="d2s-graph" role="img" aria-label={quoteattr(graph.title)} '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.1f} {height:.1f}" '
        f"font-family={quoteattr(theme.MONOSPACE)}>",
        f"<title>{escape(graph.title)}</title>",
        _arrows(),
        '<rect class="d2s-ground" width="100%" height="100%" fill="#ffffff"/>'
        f'<g transform="translate({MARGIN:.0f} {MARGIN:.0f})">',
        *(_frame(group, layout.boxes[group.key]) for group in graph.root.groups()),
        *(_line(edge, points) for edge, points in layout.paths),
        *(part for node in graph.root.nodes() for part in _box(node, layout.boxes[node.key])),
        *(_heading(group, layout.boxes[group.key]) for group in graph.root.groups()),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"


def _arrows() -> str:
    """Heads of arrows, one for each kind of edge."""
    heads = "".join(
        f'<marker id="d2s-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path class="d2s-head-{kind}" d="M0 0.8 L8 4 L0 7.2 z" fill="{colour}"/></marker>'
        for kind, (colour, _) in theme.EDGES.items()
    )
    return f"<defs>{heads}</defs>"


def _frame(group: Group, box: Box) -> str:
    fill, line, _ = theme.GROUPS[group.kind]
    return (
        f'<rect class="d2s-frame-{group.kind}" x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="8" fill="{fill}" stroke="{line}"/>'
    )


def _heading(group: Group, box: Box) -> str:
    """The title of a group, with a rim that keeps it readable above edges."""
    fill, _, text = theme.GROUPS[group.kind]
    place = f'<tspan font-size="10" opacity="0.7">  {escape(group.place)}</tspan>' if group.place else ""
    # The rim as a text of its own: not every program knows `paint-order`.
    rim, letters = (
        f'<text x="{box.left + 10:.1f}" y="{box.top + 16:.1f}" font-size="12" font-weight="600" {paint} '
        f'xml:space="preserve">{escape(group.title)}{place}</text>'
        for paint in (
            f'class="d2s-rim-{group.kind}" fill="none" stroke="{fill}" stroke-width="4" stroke-linejoin="round"',
            f'class="d2s-title-{group.kind}" fill="{text}"')
    )
    return rim + letters


def _box(node: Node, box: Box) -> Iterator[str]:
    fill, line, text = theme.NODES[node.kind]
    if node.kind == "exit":
        yield (f'<g class="d2s-exit"><title>{escape(node.full)}</title>'
               f'<circle cx="{box.x:.1f}" cy="{box.y:.1f}" r="{box.width / 2:.1f}" fill="{fill}"/></g>')
        return
    radius = box.height / 2 if node.kind in ("port", "input", "parameter", "gradient") else 5
    yield (
        f'<g class="d2s-node d2s-{node.kind}"><title>{escape(node.full or node.title)}</title>'
        f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{min(radius, 14):.1f}" fill="{fill}" stroke="{line}" stroke-width="1.2"/>'
    )
    y = box.top + 15
    if node.place:
        length = len(node.title) * CHARACTER + (len(node.place) + 2) * SMALL
        left = box.x - length / 2
        yield (
            f'<text x="{left:.1f}" y="{y:.1f}" font-size="12" font-weight="600" fill="{text}">{escape(node.title)}'
            f'</text><text x="{left + length:.1f}" y="{y:.1f}" font-size="10" text-anchor="end" fill="{text}" '
            f'opacity="0.55">{escape(node.place)}</text>'
        )
    else:
        weight = "400" if node.kind == "port" else "600"
        yield (f'<text x="{box.x:.1f}" y="{y:.1f}" font-size="12" font-weight="{weight}" text-anchor="middle" '
               f'fill="{text}">{escape(node.title)}</text>')
    for line_of_text in node.lines:
        y += LINE
        yield (f'<text x="{box.x:.1f}" y="{y:.1f}" font-size="10" text-anchor="middle" fill="{text}" opacity="0.8">'
               f"{escape(line_of_text)}</text>")
    yield "</g>"


def _line(edge: Edge, points: list[Point]) -> str:
    colour, dashes = theme.EDGES[edge.kind]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path class="d2s-edge-{edge.kind}" d="{_curve(points)}" fill="none" stroke="{colour}" stroke-width="1.3"'
        f'{dashed} marker-end="url(#d2s-{edge.kind})"/>'
    )


def _curve(points: list[Point]) -> str:
    """A path through `points` that leaves and enters each of them straight down."""
    (x, y), *rest = points
    path = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if abs(to_x - x) < 0.5:
            path.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            half = (y + to_y) / 2
            path.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return " ".join(path)
