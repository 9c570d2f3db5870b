"""The way of a stranger: from a clone to a connector of one's own, in the browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.docs import stages
from tests.docs.blocks import ROOT, blocks_of
from tests.docs.origin import NAME, make_origin
from tests.docs.programs import add_pip, imports
from tests.docs.sandbox import Sandbox
from tests.ui.chromium import find_chromium

PATIENCE = 120_000


@pytest.mark.integration
@pytest.mark.slow
def test_the_guide_leads_from_a_clone_to_a_connector_in_the_browser(tmp_path: Path) -> None:
    blocks = blocks_of(ROOT / "docs" / "guides" / "first-connector.md")
    in_the_browser = next(number for number, block in enumerate(blocks) if "git commit" in block.text)
    with Sandbox(tmp_path) as sandbox:
        sandbox.substitutions.append((NAME, str(make_origin(tmp_path / ".origin", sandbox.variables))))
        python = add_pip(sandbox)
        sandbox.do("pip install 'penstock'")
        sandbox.run(blocks[:in_the_browser])
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
            page = browser.new_context(base_url=f"{sandbox.url}/ui/").new_page()
            page.set_default_timeout(PATIENCE)
            expect.set_options(timeout=PATIENCE)
            try:
                create(page)
                look(page)
            finally:
                browser.close()
        sandbox.run(blocks[in_the_browser:])
        assert "history" not in stages.ask(sandbox, "/connectors")
        imports(python, "commits.source")


def create(page: Page) -> None:
    page.goto("#/")
    page.get_by_role("link", name="New connector").first.click()
    page.get_by_role("link", name="CommitsSource").click()
    expect(page.get_by_text("The folder of the repository.")).to_be_visible()
    page.get_by_label("Connector name").fill("history")
    page.locator("[data-field=topic] input").first.fill("commits")
    page.locator("[data-field=repository] input").first.fill(".")
    expect(page.get_by_text("The worker finds nothing wrong with it.")).to_be_visible()
    page.get_by_role("button", name="Create connector").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("history")


def look(page: Page) -> None:
    """The records of the clone's history are on the page of the topic."""
    page.get_by_role("link", name="Topics", exact=True).first.click()
    page.get_by_role("link", name="commits", exact=True).first.click()
    expect(page.locator("tr[data-record]", has_text="Second").first).to_be_visible()
