"""The site is built without a warning, holds together, needs nothing from elsewhere, and leads everywhere quickly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks_of


class _Parts(HTMLParser):
    """Links of a page, addresses that a browser would load, and text of its paragraphs."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.paragraphs: list[str] = []
        self._inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.links.add(given.get("href", ""))
        elif tag in ("link", "script", "img", "iframe", "source"):
            self.loaded.add(given.get("src") or given.get("href") or "")
        if tag in ("p", "td", "li"):
            self._inside = True
            self.paragraphs.append("")
        elif tag in ("code", "pre"):
            self._inside = False

    def handle_endtag(self, tag: str) -> None:
        if tag in ("p", "td", "li", "pre"):
            self._inside = False
        elif tag == "code" and self.paragraphs:
            self._inside = True

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Parts]:
    return {path: _Parts(path.read_text()) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


@pytest.mark.integration
def test_every_page_is_there(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists()


@pytest.mark.integration
def test_there_is_no_map_of_a_site_without_an_address(site: Path) -> None:
    assert list(site.glob("sitemap*")) == []


@pytest.mark.integration
def test_a_reader_without_a_network_misses_nothing(pages: dict[Path, _Parts]) -> None:
    assert [(page.name, address) for page, parts in pages.items() for address in parts.loaded if "//" in address] == []


@pytest.mark.integration
def test_links_and_pictures_lead_to_files_of_the_site(pages: dict[Path, _Parts]) -> None:
    missing = [
        (page.name, link)
        for page, parts in pages.items()
        for link in {*parts.links, *parts.loaded}
        if link and "://" not in link and not link.startswith("#") and not (page.parent / link.split("#")[0]).exists()
    ]
    assert missing == []


@pytest.mark.integration
def test_every_page_is_two_clicks_away_from_every_other(pages: dict[Path, _Parts]) -> None:
    """By the navigation at the side, and by the first page, whose table is all that a reader of the repository has."""
    everything = {page.resolve() for page in pages if "adr" not in page.parts and "source" not in page.parts}
    for page in everything:
        leads_to = {(page.parent / link.split("#")[0]).resolve() for link in pages[page].links if link}
        assert everything - leads_to - {page} == set(), page.name


@pytest.mark.integration
def test_no_markup_is_left_in_the_text(pages: dict[Path, _Parts]) -> None:
    left = re.compile(r"```|\|---|\]\(|^ *- |\n- |\*\*")
    assert [(page.name, text) for page, parts in pages.items() for text in parts.paragraphs if left.search(text)] == []


def test_the_first_page_of_the_docs_and_the_readme_name_every_guide() -> None:
    plugins = (ROOT / "docs" / "reference" / "plugins.md").read_text()
    named_there = {Path(link).name for link in re.findall(r"\]\(([^)#.]+\.md)", plugins)}
    guides = {path.name for path in (ROOT / "docs").rglob("*.md") if "adr" not in path.parts} - {"index.md"}
    guides -= named_there - {path.name for path in (ROOT / "docs" / "guides").iterdir()}
    for page in (ROOT / "docs" / "index.md", ROOT / "README.md"):
        assert guides <= {Path(link).name for link in re.findall(r"\]\(([^)#]+)", page.read_text())}, page.name


@pytest.mark.integration
def test_the_button_beside_a_session_copies_its_commands_alone(site: Path) -> None:
    copied = re.compile(r'<div class="language-console highlight"( data-copy="([^"]*)")?')
    sessions = 0
    for page in (ROOT / "docs").rglob("*.md"):
        html = (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text()
        shown = [block for block in blocks_of(page) if block.language == "console"]
        expected = ["\n".join(command.text for command in block.commands) for block in shown]
        assert [unescape(found[2] or "nothing") for found in copied.finditer(html)] == expected, page
        sessions += len(shown)
    assert sessions > 20
