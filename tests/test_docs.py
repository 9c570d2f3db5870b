"""What the documentation says about the code is true."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from penstock.rest.table import ROUTES

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_reference_is_what_the_code_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    folder = ROOT / "docs" / "reference"
    written = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert written == importlib.import_module("generate").pages(), "docs/reference is out of date: run make docs"


def test_the_rest_reference_shows_parameters_body_and_status_of_each_endpoint() -> None:
    sections = (ROOT / "docs" / "reference" / "rest.md").read_text().split("\n### ")
    for route in ROUTES:
        (section,) = [text for text in sections if text.startswith(f"`{route.method} {route.path}`\n")]
        for parameter in route.parameters:
            assert f"| `{parameter.name}` | {parameter.place} |" in section
            assert parameter.description in section
        for code, meaning in [*((code, reply.meaning) for code, reply in route.replies.items()), *route.errors.items()]:
            assert f"| {code} | {meaning} |" in section
        assert ("\nBody: " in section) == (route.body is not None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    asked = set(re.findall(r"make ([a-z]+)", (ROOT / "README.md").read_text()))
    assert asked <= targets
    assert {"setup", "run", "test", "lint", "bench", "docs", "clean"} <= targets


def test_all_pages_promise_the_same_time_for_a_first_connector() -> None:
    texts = [(ROOT / page).read_text() for page in ("README.md", "docs/index.md", "docs/guides/first-connector.md")]
    assert [len(re.findall(r"in\s+about\s+ten\s+minutes", text)) for text in texts] == [1, 1, 1]
    assert not [text for text in texts if "quarter of an" in text]


def test_the_connector_guide_shows_the_example_that_is_tested() -> None:
    guide = (ROOT / "docs" / "guides" / "writing-connectors.md").read_text()
    example = (ROOT / "examples" / "plugins" / "countdown.py").read_text()
    for line in ("return Plan([Split({", 'yield Record(value={"left": number}', "with (folder / f"):
        (shown,) = [text.strip() for text in guide.splitlines() if line in text]
        assert shown in example
