"""Hooks of mkdocs: pages of the site that are no files of docs/, and links that leave docs/.

The documents are written to be read in the repository as well, where a link to README.md or to a program leads to that
file.  On the site README.md and CHANGELOG.md are pages, notebooks are shown as pages, and files that are not on the
site are named without a link.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent

# Files of the repository -> pages of the site.
PAGES = {"README.md": "start.md", "CHANGELOG.md": "changes.md"}

_OUTWARDS = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([\w./-]+)(#[\w-]+)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](").replace(
            "](CHANGELOG.md)", f"]({PAGES['CHANGELOG.md']})")
        text = re.sub(r"\[([^\]]*)\]\(LICENSE\)", r"\1", text)
        files.append(File.generated(config, page, content=text))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        text = markdown_of(json.loads(notebook.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=text))
        files.remove(files.src_uris[f"notebooks/{notebook.name}"])
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that leave docs/ into links to pages of the site, or into text."""
    depth = page.file.src_uri.count("/")

    def inside(link: re.Match[str]) -> str:
        words, target, anchor = link[1], link[2], link[3] or ""
        if link[0].count("../") <= depth:
            return link[0]
        return f"[{words}]({'../' * depth}{PAGES[target]}{anchor})" if target in PAGES else words

    markdown = re.sub(r"\((notebooks/\w+)\.ipynb\)", r"(\1.md)", markdown)
    return _OUTWARDS.sub(inside, markdown)


def markdown_of(notebook: dict[str, Any]) -> str:
    """A notebook with its outputs as a page."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output.get("data", {})
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            # Without blank lines, at which Markdown would end the block.
            html = re.sub(r"\n\s*\n", "\n", "".join(data[kind]))
            return f'<div class="d2s-output">\n{html}\n</div>'
    return f"```text\n{''.join(data.get('text/plain', ''))}\n```"
