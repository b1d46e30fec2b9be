"""A graph in the languages of other tools: DOT (Graphviz) and Mermaid."""

from __future__ import annotations

from collections.abc import Iterator

from d2s.drawing import theme
from d2s.drawing.graph import Edge, Graph, Group, Node

_DOT_SHAPES = {"port": "plaintext", "exit": "point", "input": "oval", "parameter": "oval", "gradient": "oval"}
_MERMAID_SHAPES = {
    "port": ("([", "])"), "exit": ("((", "))"), "input": ("([", "])"), "parameter": ("([", "])"),
    "gradient": ("([", "])"), "hook": ("{{", "}}"), "effect": ("[[", "]]"), "end": ("([", "])"),
}


def dot_of(graph: Graph) -> str:
    """The graph in DOT, with a cluster for each group."""
    lines = [
        "digraph d2s {",
        f"  label={_dot_text(graph.title)}; compound=true; fontname=Courier;",
        "  node [shape=box, style=\"rounded,filled\", fontname=Courier, fontsize=11];",
        "  edge [color=\"#7b8798\", arrowsize=0.7];",
        *_dot_members(graph.root, 1),
        *(_dot_edge(graph, edge) for edge in graph.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _dot_members(group: Group, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for member in group.members:
        if isinstance(member, Node):
            fill, line, _ = theme.NODES[member.kind]
            shape = _DOT_SHAPES.get(member.kind)
            more = f", shape={shape}" if shape else ""
            text = _dot_text("\n".join(_lines(member)))
            yield f'{indent}{member.key} [label={text}, fillcolor="{fill}", color="{line}"{more}];'
        else:
            fill, line, _ = theme.GROUPS[member.kind]
            yield f"{indent}subgraph cluster_{member.key} {{"
            yield f'{indent}  label={_dot_text(_title(member))}; labeljust=l; color="{line}"; bgcolor="{fill}";'
            yield from _dot_members(member, depth + 1)
            yield f"{indent}}}"


def _dot_edge(graph: Graph, edge: Edge) -> str:
    colour, dashes = theme.EDGES[edge.kind]
    options = [f'color="{colour}"', *(["style=dashed"] if dashes else [])]
    ends = []
    for end, name in ((edge.source, "ltail"), (edge.target, "lhead")):
        group = next((group for group in graph.root.groups() if group.key == end), None)
        if group is not None:
            # DOT joins clusters by a node inside.
            end = next(group.nodes()).key
            options.append(f"{name}=cluster_{group.key}")
        ends.append(end)
    return f"  {ends[0]} -> {ends[1]} [{', '.join(options)}];"


def _dot_text(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'


def mermaid_of(graph: Graph) -> str:
    """The graph as Mermaid flowchart, with a subgraph for each group."""
    lines = ["flowchart TB", *_mermaid_members(graph.root, 1)]
    lines += [f"  {edge.source} {'-->' if edge.kind == 'value' else '-.->'} {edge.target}" for edge in graph.edges]
    members: list[Node | Group] = [*graph.root.nodes(), *graph.root.groups()]
    for kind, (fill, line, text) in {**theme.NODES, **theme.GROUPS}.items():
        keys = [member.key for member in members if member.kind == kind]
        if keys:
            lines.append(f"  classDef {kind}_ fill:{fill},stroke:{line},color:{text}")
            lines.append(f"  class {','.join(keys)} {kind}_")
    return "\n".join(lines) + "\n"


def _mermaid_members(group: Group, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for member in group.members:
        if isinstance(member, Node):
            left, right = _MERMAID_SHAPES.get(member.kind, ("[", "]"))
            yield f"{indent}{member.key}{left}{_mermaid_text('<br/>'.join(map(_no_markup, _lines(member))))}{right}"
        else:
            yield f"{indent}subgraph {member.key} [{_mermaid_text(_no_markup(_title(member)))}]"
            yield f"{indent}  direction TB"
            yield from _mermaid_members(member, depth + 1)
            yield f"{indent}end"


def _no_markup(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _mermaid_text(text: str) -> str:
    return '"' + (text or " ").replace('"', "#quot;") + '"'


def _lines(node: Node) -> list[str]:
    return [f"{node.title} {node.place}".strip(), *node.lines]


def _title(group: Group) -> str:
    return f"{group.title} {group.place}".strip()
