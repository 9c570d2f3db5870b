"""The page of a worker with users: nothing without a password, everything to see and nothing to do for readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx2
import pytest
from playwright.sync_api import Browser, Error, Page, expect

from penstock.rest.users import PasswordHash, Role, User
from tests.support.worker import PenstockProcess

from .conftest import PLUGINS, WAIT_MS
from .stage import generator, state_badge
from .watch import watched

pytestmark = pytest.mark.integration

ADMIN, READER = ("ops", "correct horse"), ("viewer", "battery staple")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    folder = tmp_path_factory.mktemp("guarded")
    users = folder / "users.txt"
    roles = ((ADMIN, Role.ADMIN), (READER, Role.READ_ONLY))
    users.write_text("".join(f"{User(name, role, PasswordHash.of(word))}\n" for (name, word), role in roles))
    worker = PenstockProcess(folder, {"plugin.path": str(PLUGINS), "rest.auth.users.file": str(users)})
    worker.http.auth = httpx2.BasicAuth(*ADMIN)
    with worker:
        worker.create("made", {**generator("made"), "my.password": "hunter22"})
        worker.wait_state("made", "RUNNING")
        yield worker


@contextmanager
def window(browser: Browser, worker: PenstockProcess, user: tuple[str, str] | None) -> Iterator[Page]:
    """A window whose user types this name and password when the browser asks; ``None``: he closes the prompt."""
    credentials = None if user is None else {"username": user[0], "password": user[1]}
    context = browser.new_context(
        base_url=f"{worker.url}/ui/",
        viewport={"width": 1360, "height": 850},
        http_credentials=credentials,  # type: ignore[arg-type]
    )
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    with watched(page, worker.url):
        yield page
    context.close()


@pytest.mark.parametrize("user", [None, (ADMIN[0], "wrong"), ("nobody", ADMIN[1])])
def test_nothing_is_shown_to_strangers(
    browser: Browser, guarded: PenstockProcess, user: tuple[str, str] | None
) -> None:
    answers: list[int] = []
    with window(browser, guarded, user) as page:
        page.on("response", lambda answer: answers.append(answer.status))
        with suppress(Error):
            page.goto("")
        assert page.locator("nav").count() == 0
        assert "made" not in page.content()
    assert set(answers) <= {401}


def test_the_command_with_curl_has_a_user(browser: Browser, guarded: PenstockProcess) -> None:
    with window(browser, guarded, ADMIN) as page:
        page.goto("#/connectors/made")
        page.get_by_role("button", name="Commands are shown for penstock").click()
        expect(page.locator("#command")).to_have_text(f"curl -u ops {guarded.url}/connectors/made/status")


def test_an_admin_sees_who_he_is_and_acts(browser: Browser, guarded: PenstockProcess) -> None:
    with window(browser, guarded, ADMIN) as page:
        page.goto("#/connectors/made")
        expect(page.locator(".facts")).to_contain_text("ops, admin")
        expect(state_badge(page)).to_have_text("Running")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(state_badge(page)).to_have_text("Paused")
        page.get_by_role("button", name="Resume", exact=True).click()
        expect(state_badge(page)).to_have_text("Running")


def test_a_reader_sees_everything_but_secrets_and_is_offered_nothing_that_he_may_not(
    browser: Browser, guarded: PenstockProcess
) -> None:
    told = "viewer may only read: this needs the role admin."
    with window(browser, guarded, READER) as page:
        page.goto("")
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        expect(page.locator(".facts")).to_contain_text("viewer, may only read")
        page.goto("#/connectors/made")
        expect(state_badge(page)).to_have_text("Running")
        for label in ("Pause", "Stop", "Restart", "Delete", "Restart task 0"):
            expect(page.get_by_role("button", name=label, exact=True)).to_be_disabled()
        expect(page.get_by_role("button", name="Pause", exact=True)).to_have_attribute("title", told)
        expect(page.get_by_role("button", name="Configuration of task 0")).to_be_enabled()
        expect(page.get_by_role("link", name="New connector")).to_have_count(0)
        page.get_by_role("tab", name="Configuration").click()
        expect(page.get_by_text(told).last).to_be_visible()
        row = page.get_by_role("table", name="Configuration").get_by_role("row", name="my.password")
        expect(row).to_contain_text("[hidden]")
        assert "hunter22" not in page.content()
        page.goto("#/new/Generator")
        expect(page.get_by_text(told).last).to_be_visible()
    assert guarded.status("made")["connector"]["state"] == "RUNNING"
