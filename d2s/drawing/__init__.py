"""Pictures: graphs with nested groups as SVG, DOT, Mermaid and HTML, and texts side by side.

Knows nothing of tensors and Programs, and needs no program outside of Python.
"""
