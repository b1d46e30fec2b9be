"""Pages of HTML that stand alone: nothing in them is loaded from elsewhere, and no script runs."""

from __future__ import annotations

from html import escape

from d2s.drawing import theme
from d2s.drawing.graph import Graph
from d2s.drawing.svg import svg_of

_STYLE = f"""
body {{ margin: 0; padding: 24px; background: #f6f7f9; color: #1f2937; font: 14px/1.5 system-ui, sans-serif; }}
h1 {{ font-size: 18px; margin: 0 0 16px; }}
h2 {{ font-size: 14px; margin: 24px 0 8px; }}
figure, pre {{ margin: 0; background: #fff; border: 1px solid #dfe3e9; border-radius: 8px; overflow: auto; }}
pre {{ padding: 12px 16px; font: 12px/1.5 {theme.MONOSPACE}; }}
.d2s-legend {{ margin: 0 0 12px; }}
.d2s-legend span {{ display: inline-block; margin: 0 12px 4px 0; font-size: 12px; }}
.d2s-legend i {{ display: inline-block; width: 11px; height: 11px; margin-right: 5px; border: 1px solid;
  border-radius: 3px; vertical-align: -1px; }}
.d2s-legend i.d2s-order {{ height: 0; border: 0; border-top: 2px dotted {theme.EDGES["order"][0]}; border-radius: 0;
  vertical-align: 4px; }}
@media (prefers-color-scheme: dark) {{
:root {{ color-scheme: dark; }}
body {{ background: #0b0e12; color: #dbe2ec; }}
figure, pre {{ background: #0f1318; border-color: #2c3442; }}
{theme.dark_style()}}}
"""
_LEGEND = {
    "parameter": "input with gradient", "input": "input, carried value", "op": "op", "hook": "hook",
    "effect": "effect, Python call", "end": "end", "gradient": "gradient", "port": "value from outside",
}


def page(title: str, body: str, style: str = "") -> str:
    """A page with `body` (HTML) under its title."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{_STYLE}{style}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def _key(kind: str, words: str) -> str:
    """What the colour of a kind of nodes stands for."""
    fill, line, _ = theme.NODES[kind]
    return f'<span><i class="d2s-{kind}" style="background:{fill};border-color:{line}"></i>{escape(words)}</span>'


def page_of_graph(graph: Graph, text: str) -> str:
    """The picture of a graph above its text form."""
    used = {node.kind for node in graph.root.nodes()}
    legend = "".join(_key(kind, words) for kind, words in _LEGEND.items() if kind in used)
    if any(edge.kind == "order" for edge in graph.edges):
        legend += '<span><i class="d2s-order"></i>order of effects</span>'
    return page(
        graph.title,
        f'<p class="d2s-legend">{legend}</p>\n<figure>{svg_of(graph)}</figure>\n'
        f"<h2>As text</h2>\n<pre>{escape(text)}</pre>",
    )
