"""Pictures of the web page for the docs, taken from a running worker: ``make screenshots``.

Starts a worker with some connectors of its own, opens the page in Chromium and writes ``docs/images/ui-*.png``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from tests.docs.blocks import blocks_of  # noqa: E402
from tests.support.waiting import wait_until  # noqa: E402
from tests.support.worker import PenstockProcess  # noqa: E402
from tests.ui.chromium import find_chromium  # noqa: E402
from tests.ui.stage import TEXT, generator, offsets_of  # noqa: E402

IMAGES = ROOT / "docs" / "images"
PLUGINS = ROOT / "tests" / "support" / "plugins"
SIZE = {"width": 1200, "height": 750}
FLOW_SECONDS = 30
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}


def furnish(worker: PenstockProcess, folder: Path) -> None:
    """Connectors in every state, with records under way."""
    notes = folder / "notes.txt"
    notes.write_text('{"note": 1}\nnot JSON\n{"note": 3}\n')
    worker.create("clicks", {**generator("clicks", 40), "tasks.max": "2"})
    worker.create("orders", generator("orders", 12))
    sink = {"connector.class": "FileStreamSink", "topics": "orders", "file": str(folder / "orders.jsonl"), **TEXT}
    worker.create("orders-archive", sink)
    worker.create("notes", {"connector.class": "FileStreamSource", "topic": "notes", "file": str(notes), **TEXT})
    queue = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "notes-dead-letters"}
    headers = {"errors.deadletterqueue.context.headers.enable": "true"}
    copy = {"connector.class": "FileStreamSink", "topics": "notes", "file": str(folder / "copy.txt")}
    worker.create("notes-copy", {**copy, **JSON, **queue, **headers})
    broken = {
        "connector.class": "ProbeSource",
        "topic": "inventory",
        "tasks.max": "4",
        "tasks.made": "4",
        "count": "90",
    }
    worker.create("inventory", {**broken, "count": "90", "fail": "task.plan", "trouble.tasks": "2"})
    worker.create("payments", generator("payments"), initial_state="PAUSED")
    worker.create("history-load", generator("history"), initial_state="STOPPED")
    wait_until(lambda: offsets_of(worker, "orders-archive"), "records move", seconds=120)


def add_first_connector(plugins: Path) -> None:
    """The connector of the guide "Your first connector", as its readers have it."""
    guide = blocks_of(ROOT / "docs" / "guides" / "first-connector.md")
    (source,) = [block.text for block in guide if block.told.get("file") == "commits/src/commits/source.py"]
    package = plugins / "commits"
    package.mkdir()
    (package / "__init__.py").write_text("from .source import CommitsSource\n")
    (package / "source.py").write_text(source)


def shoot_first_connector(page: Page) -> None:
    page.goto("#/new/CommitsSource")
    page.locator("[data-field=name] input").fill("history")
    page.locator("[data-field=topic] input").first.fill("commits")
    page.locator("[data-field=repository] input").first.fill(".")
    expect(page.get_by_text("The worker finds nothing wrong with it.")).to_be_visible()
    shoot(page, "first-connector")


def shoot(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.screenshot(path=IMAGES / f"ui-{name}.png")
    print(f"docs/images/ui-{name}.png")


def take_all(browser: Browser, worker: PenstockProcess) -> None:
    light = browser.new_context(base_url=f"{worker.url}/ui/", viewport=SIZE, color_scheme="light").new_page()
    light.goto("#/")
    light.wait_for_timeout(FLOW_SECONDS * 1000)
    shoot(light, "overview")
    light.goto("#/connectors")
    light.get_by_label("Choose orders", exact=True).check()
    light.get_by_label("Choose clicks", exact=True).check()
    shoot(light, "connectors")
    light.goto("#/connectors/inventory")
    expect(light.get_by_label("Trace of task 2", exact=True)).to_be_visible()
    shoot(light, "failed-task")
    light.goto("#/new/Generator")
    light.locator("[data-field=name] input").fill("orders-test")
    light.locator("[data-field=topic] input").first.fill("orders")
    expect(light.get_by_text("The worker finds nothing wrong with it.")).to_be_visible()
    shoot(light, "form")
    shoot_first_connector(light)
    light.goto("#/topics/orders")
    expect(light.locator("tr[data-record]").first).to_be_visible()
    shoot(light, "tail")
    light.goto("#/connectors/notes-copy/dead-letters")
    light.locator("tr[data-letter] summary").first.click()
    shoot(light, "dead-letters")
    dark = browser.new_context(base_url=f"{worker.url}/ui/", viewport=SIZE, color_scheme="dark").new_page()
    dark.goto("#/connectors/orders-archive")
    dark.wait_for_timeout(FLOW_SECONDS * 1000)
    shoot(dark, "dark")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="penstock-") as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        plugins = shutil.copytree(PLUGINS, folder / "plugins", ignore=shutil.ignore_patterns("__pycache__"))
        add_first_connector(plugins)
        with PenstockProcess(folder / "worker", settings={"plugin.path": str(plugins)}) as worker:
            furnish(worker, folder)
            take_all(browser, worker)
        browser.close()


if __name__ == "__main__":
    main()
