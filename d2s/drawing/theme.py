"""Colours, in one place: of nodes by kind, and of lines of code by mark; for light pages and for dark ones."""

from __future__ import annotations

# Kind of node -> fill, line, text.
NODES = {
    "input": ("#e3f4ea", "#3c9a63", "#14532d"),
    "parameter": ("#def3f0", "#2b948b", "#134e4a"),
    "op": ("#eaf1fe", "#5684dd", "#1e3a6e"),
    "constant": ("#f2f3f5", "#9aa1ac", "#3f4651"),
    "hook": ("#f3e8ff", "#9254de", "#581c87"),
    "effect": ("#fff1dc", "#d98b1f", "#7a4300"),
    "end": ("#e9ecf1", "#59647a", "#1f2937"),
    "gradient": ("#fdeaec", "#d0596c", "#7f1d2d"),
    "port": ("#ffffff", "#b6bdc9", "#59647a"),
    "exit": ("#59647a", "#59647a", "#59647a"),
}
# Kind of group -> fill, line, title.
GROUPS = {
    "root": ("none", "none", "none"),
    "program": ("#fbfcfe", "#8fa3c4", "#3b5179"),
    "backward": ("#fffafa", "#dba0a9", "#9a3446"),
    "region": ("#ffffff", "#a9b3c2", "#475569"),
}
# Kind of edge -> line, dashes.
EDGES = {
    "value": ("#7b8798", ""),
    "hook": ("#9254de", "5 3"),
    "next": ("#a9b3c2", "2 3"),
    "order": ("#d98b1f", "2 3"),
}
# Mark of a line of code -> background, accent, and the colour on a terminal.
MARKS = {
    "same": ("transparent", "#8a94a3", ""),
    "changed": ("#eaf1fe", "#5684dd", "36"),
    "removed": ("#fdeaec", "#d0596c", "31"),
    "added": ("#e3f4ea", "#3c9a63", "32"),
    "hook left": ("#f3e8ff", "#9254de", "35"),
    "hook placed": ("#f3e8ff", "#9254de", "35;1"),
    "hook kept": ("#fff1dc", "#d98b1f", "33"),
}
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# The same for dark pages.
_DARK_NODES = {
    "input": ("#12281c", "#3c9a63", "#b7e4c7"),
    "parameter": ("#102b29", "#2b948b", "#a7e3dc"),
    "op": ("#16233d", "#5684dd", "#c5d8fb"),
    "constant": ("#23272e", "#6b7280", "#cbd2dc"),
    "hook": ("#2a1a40", "#9254de", "#e2ccff"),
    "effect": ("#33230d", "#d98b1f", "#ffd9a3"),
    "end": ("#252b36", "#8792a6", "#e5e9f0"),
    "gradient": ("#3a171d", "#d0596c", "#f8c4cc"),
    "port": ("#1b2029", "#59647a", "#aab4c4"),
    "exit": ("#8792a6", "#8792a6", "#8792a6"),
}
_DARK_GROUPS = {
    "program": ("#12161d", "#41506b", "#9fb4d8"),
    "backward": ("#1a1214", "#7a3a44", "#e39aa6"),
    "region": ("#171b22", "#475063", "#aab4c4"),
}
_DARK_EDGES = {"value": "#8a96a8", "hook": "#b07cf0", "next": "#5b6675", "order": "#d98b1f"}
_DARK_MARKS = {
    "changed": "#16233d", "removed": "#3a171d", "added": "#12281c", "hook left": "#2a1a40", "hook placed": "#2a1a40",
    "hook kept": "#33230d",
}


def class_of(mark: str) -> str:
    """The class of cells with a mark."""
    return f"d2s-mark-{mark.replace(' ', '-')}"


def style_of_marks() -> str:
    """The rules for marked lines of code."""
    return "".join(
        f".{class_of(mark)} {{ background: {ground}; }}\n"
        f".n.{class_of(mark)} {{ border-left-color: {accent} !important; }}\n"
        f"i.{class_of(mark)} {{ border-color: {accent} !important; }}\n"
        for mark, (ground, accent, _) in MARKS.items() if mark != "same")


def dark_style() -> str:
    """
    The rules that give pictures and code the colours of a dark page.

    They are for pages that are dark themselves; a picture that stands alone, or in a notebook, keeps its light ground.
    """
    rules = [".d2s-graph .d2s-ground { fill: #0f1318; }"]
    for kind, (fill, line, text) in _DARK_NODES.items():
        rules += [
            f".d2s-graph .d2s-{kind} rect {{ fill: {fill}; stroke: {line}; }}",
            f".d2s-graph .d2s-{kind} text {{ fill: {text}; }}",
            f".d2s-graph .d2s-{kind} circle {{ fill: {fill}; }}",
            f".d2s-legend .d2s-{kind} {{ background: {fill} !important; border-color: {line} !important; }}",
        ]
    for kind, (fill, line, text) in _DARK_GROUPS.items():
        rules += [
            f".d2s-graph .d2s-frame-{kind} {{ fill: {fill}; stroke: {line}; }}",
            f".d2s-graph .d2s-rim-{kind} {{ stroke: {fill}; }}",
            f".d2s-graph .d2s-title-{kind} {{ fill: {text}; }}",
        ]
    for kind, colour in _DARK_EDGES.items():
        rules += [f".d2s-graph .d2s-edge-{kind} {{ stroke: {colour}; }}",
                  f".d2s-graph .d2s-head-{kind} {{ fill: {colour}; }}"]
    rules += [
        # The table has its own style with it.
        "body .d2s-code table { background: #12161d; color: #dbe2ec; border-color: #2c3442; }",
        "body .d2s-code th { background: #1b2029; color: #aab4c4; border-color: #2c3442; }",
        "body .d2s-code em { color: #9aa5b5; }",
        *(f"body .d2s-code .{class_of(mark)} {{ background: {ground}; }}" for mark, ground in _DARK_MARKS.items()),
    ]
    return "\n".join(rules) + "\n"
