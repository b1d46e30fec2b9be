"""Colours, in one place: of nodes by kind, and of lines of code by mark."""

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
