"""The documentation as a site: it is built with warnings as errors, and no link in it is dead."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.docs.markdown import ROOT

pytest.importorskip("material", reason="pip install 'd2s[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Not `--quiet`: warnings that are not shown are not counted.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


def dead_links(site: Path) -> list[str]:
    """Every link and loaded file of the pages that is not there."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links begin at the root of the server
        for link in [*page.links, *page.loaded]:
            target, anchor = urldefrag(link)
            if target.startswith(("http:", "https:", "mailto:", "data:")):
                continue
            found = (path.parent / unquote(target)).resolve() if target else path
            found = found / "index.html" if found.is_dir() else found
            is_there = found.exists() and (not anchor or found not in pages or unquote(anchor) in pages[found].anchors)
            if not is_there:
                dead.append(f"{path.relative_to(site)}: {link}")
    return dead


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 30
    assert dead_links(site) == []


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = _Page(path.read_text(encoding="utf-8")).loaded
        assert [source for source in loaded if source.startswith(("http:", "https:", "//"))] == [], path


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html">1</a><a href="#top">2</a><a href="#no">3</a>')
    assert dead_links(tmp_path) == ["a.html: b.html", "a.html: #no"]
