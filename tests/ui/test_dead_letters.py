"""Records that failed: mended, chosen and taken through their connector again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .stage import TEXT, state_badge

pytestmark = pytest.mark.integration


def _sink(topic: str, out: Path) -> dict[str, str]:
    """A sink that wants JSON, and puts what is none into a queue."""
    return {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "file": str(out),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dlq",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


def test_a_dead_letter_is_mended_and_replayed(page: Page, ui_worker: PenstockProcess, tmp_path: Path) -> None:
    lines, out = tmp_path / "in.txt", tmp_path / "out.txt"
    lines.write_text("{broken\n")
    ui_worker.create("letters", {"connector.class": "FileStreamSource", "topic": "letters", "file": str(lines), **TEXT})
    ui_worker.create("letters-out", _sink("letters", out))
    page.goto("#/connectors/letters-out/dead-letters")
    letter = page.locator("tr[data-letter='0-0']")
    expect(letter).to_contain_text("letters 0:0")
    letter.get_by_role("button", expanded=False).click()
    opened = page.locator("tr[data-opened='0-0']")
    opened.get_by_label("Value: mend it and replay").fill('{"broken": false}')
    opened.get_by_role("button", name="Replay with this value").click()
    expect(page.get_by_role("dialog")).to_contain_text("penstock dlq replay letters-out 0-0 --value")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(letter).to_contain_text("replayed")
    wait_until(lambda: "broken" in out.read_text(), "the mended record is in the file")


def test_some_dead_letters_are_chosen_and_replayed(page: Page, ui_worker: PenstockProcess, tmp_path: Path) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("{first\n{second\n{third\n")
    ui_worker.create("some", {"connector.class": "FileStreamSource", "topic": "some", "file": str(lines), **TEXT})
    ui_worker.create("some-out", _sink("some", tmp_path / "out"))
    page.goto("#/connectors/some-out/dead-letters")
    expect(page.locator("tr[data-letter]")).to_have_count(3)
    expect(page.get_by_role("tab", name="Dead letters")).to_have_text("Dead letters 3")
    expect(state_badge(page)).to_have_text("Degraded")
    page.get_by_label("Choose 0-0").check()
    page.get_by_label("Choose 0-2").check()
    page.get_by_role("button", name="Replay 2 chosen").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"penstock dlq replay some-out 0-0 0-2 --url {ui_worker.url}")
    dialog.get_by_role("button", name="Replay", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("2 failed again")
    expect(page.locator("tr[data-letter='0-0']")).to_contain_text("replayed")
    expect(page.locator("tr[data-letter='0-2']")).to_contain_text("replayed")
    expect(page.locator("tr[data-letter='0-1']")).not_to_contain_text("replayed")
    expect(page.locator("tr[data-letter]")).to_have_count(5)
    expect(page.get_by_role("tab", name="Dead letters")).to_have_text("Dead letters 3")
    page.goto("#/")
    line = page.get_by_role("region", name="Needs attention").get_by_role("listitem").filter(has_text="some-out")
    expect(line).to_contain_text(re.compile(r"degraded.*records failed.*they are dead letters in topic some-dlq"))


def test_pages_of_dead_letters_have_commands_of_their_own(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("".join(f"{{{number}\n" for number in range(130)))
    ui_worker.create("paged", {"connector.class": "FileStreamSource", "topic": "paged", "file": str(lines), **TEXT})
    ui_worker.create("paged-out", _sink("paged", tmp_path / "out"))
    page.goto("#/connectors/paged-out/dead-letters")
    expect(page.locator("#command")).to_contain_text("penstock dlq list paged-out --limit 100 --url")
    expect(page.get_by_role("tab", name="Dead letters")).to_have_text("Dead letters 100+")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#command")).to_contain_text("penstock dlq list paged-out --limit 100 --after 0-99 --url")
    expect(page.locator("tr[data-letter]")).to_have_count(30)
    page.get_by_role("button", name="Back").click()
    expect(page.locator("tr[data-letter='0-0']")).to_be_visible()
    expect(page.locator("#command")).not_to_contain_text("--after")
