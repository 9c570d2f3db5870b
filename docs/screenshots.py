"""Pictures of the web page for the docs, taken from a running worker: ``make screenshots``.

Starts a worker with some connectors of its own, opens the page in Chromium and writes ``docs/images/ui-*.png``. Where
they are free, the worker has the port and the folder that a reader may well have, as both are seen on the pictures.
"""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from tests.docs.blocks import blocks_of  # noqa: E402
from tests.support.waiting import wait_until  # noqa: E402
from tests.support.worker import PenstockProcess  # noqa: E402
from tests.ui.chromium import find_chromium  # noqa: E402
from tests.ui.stage import TEXT, field, generator, offsets_of  # noqa: E402

IMAGES = ROOT / "docs" / "images"
HOME = Path("/opt/penstock")
PORT = 8083
WIDTH = 1200
HEIGHTS = (680, 1200)
FLOW_SECONDS = 60
READY_SECONDS = 300
STALLED_MS = 15_000
WAIT_MS = 120_000
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
WAREHOUSE = '''"""Stock of warehouses, and parcels that carriers have on their way."""

import time

from penstock.api import ConfigDef, ConfigKey, Plan, Record, SourceConnector, SourceTask, Split, Type

CLOSED = "warehouse3.example.com"


def connect(host):
    if host == CLOSED:
        raise ConnectionError(f"{host}:5432 refused the connection")


class StockTask(SourceTask):
    def plan(self, offsets):
        host = self.config["host"]
        seen, now = (offsets.get({"host": host}) or {"second": 0})["second"], int(time.time())
        connect(host)
        return Plan([Split({"second": now})], [({"host": host}, {"second": now})]) if now > seen else None

    def read(self, split):
        for number in range(10):
            yield Record(topic=self.config["topic"], key=f"sku-{number}", value=f"{split.payload['second']}")


class WarehouseSource(SourceConnector):
    version = "2.1"
    config = ConfigDef(ConfigKey("topic", Type.STRING), ConfigKey("hosts", Type.LIST))
    task = StockTask

    def configure(self, settings):
        self.settings = settings

    def task_configs(self, max_tasks):
        return [{**self.settings, "host": host} for host in self.settings["hosts"].split(",")]


class CarrierTask(StockTask):
    def read(self, split):
        time.sleep(3600)
        yield from super().read(split)


class CarrierSource(WarehouseSource):
    task = CarrierTask
'''


def furnish(worker: PenstockProcess, folder: Path) -> None:
    """Connectors in every state, with records under way."""
    invoices = folder / "invoices.txt"
    invoices.write_text('{"invoice": 4711, "total": 120.5}\n<invoice>4712</invoice>\n<invoice>4713</invoice>\n')
    worker.create("clickstream", {**generator("clicks", 40), "tasks.max": "2"})
    worker.create("orders", generator("orders", 12))
    sink = {"connector.class": "FileStreamSink", "topics": "orders", "file": str(folder / "orders.jsonl"), **TEXT}
    worker.create("orders-archive", sink)
    lines = {"connector.class": "FileStreamSource", "topic": "invoices", "file": str(invoices), **TEXT}
    worker.create("invoices", lines)
    queue = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "invoices-rejected"}
    headers = {"errors.deadletterqueue.context.headers.enable": "true"}
    ledger = {"connector.class": "FileStreamSink", "topics": "invoices", "file": str(folder / "ledger.jsonl")}
    worker.create("invoices-ledger", {**ledger, **JSON, **queue, **headers})
    hosts = ",".join(f"warehouse{number}.example.com" for number in range(1, 5))
    worker.create(
        "inventory", {"connector.class": "WarehouseSource", "topic": "stock", "tasks.max": "4", "hosts": hosts}
    )
    parcels = {"connector.class": "CarrierSource", "topic": "parcels", "hosts": "carrier.example.com"}
    worker.create("parcels", parcels)
    worker.create("payments", generator("payments"), initial_state="PAUSED")
    worker.create("orders-backfill", generator("orders-history", 100))
    wait_until(
        lambda: any(one["next"] > 1000 for one in offsets_of(worker, "orders-backfill")), "it moves", READY_SECONDS
    )
    worker.http.put("/connectors/orders-backfill/stop")
    wait_until(lambda: offsets_of(worker, "orders-archive"), "records move", READY_SECONDS)
    wait_until(
        lambda: worker.http.get("/connectors/parcels/health").json()["health"] == "stalled", "one stalls", READY_SECONDS
    )


def add_plugins(plugins: Path) -> None:
    """One of our own, and the connector of the guide "Your first connector" as its readers have it."""
    plugins.mkdir(parents=True)
    (plugins / "warehouse.py").write_text(WAREHOUSE)
    guide = blocks_of(ROOT / "docs" / "guides" / "first-connector.md")
    (source,) = [block.text for block in guide if block.told.get("file") == "commits/src/commits/source.py"]
    package = plugins / "commits"
    package.mkdir()
    (package / "__init__.py").write_text("from .source import CommitsSource\n")
    (package / "source.py").write_text(source)


def shoot(page: Page, name: str) -> None:
    """A picture as high as what is on it, within reason."""
    page.mouse.move(0, 0)
    needed = "document.querySelector('main > .view').offsetHeight + 48 + document.querySelector('.strip').offsetHeight"
    low, high = HEIGHTS
    page.set_viewport_size({"width": WIDTH, "height": min(high, max(low, page.evaluate(needed)))})
    page.screenshot(path=IMAGES / f"ui-{name}.png")
    print(f"docs/images/ui-{name}.png")


def shoot_lists(page: Page) -> None:
    page.goto("#/")
    page.wait_for_timeout(FLOW_SECONDS * 1000)
    shoot(page, "overview")
    page.goto("#/connectors")
    page.get_by_label("Choose orders", exact=True).check()
    page.get_by_label("Choose clickstream", exact=True).check()
    shoot(page, "connectors")
    page.goto("#/connectors/inventory")
    expect(page.get_by_label("Trace of task 2", exact=True)).to_be_visible()
    page.wait_for_timeout(20_000)
    shoot(page, "failed-task")


def shoot_forms(page: Page) -> None:
    fine = page.get_by_text("The worker finds nothing wrong with it.")
    page.goto("#/new/Generator")
    field(page, "name").fill("orders-test")
    field(page, "topic").fill("orders")
    expect(fine).to_be_visible()
    shoot(page, "form")
    page.goto("#/new/CommitsSource")
    field(page, "name").fill("history")
    field(page, "topic").fill("commits")
    field(page, "repository").fill(".")
    expect(fine).to_be_visible()
    shoot(page, "first-connector")
    page.goto("#/connectors/orders/config")
    field(page, "rate").fill("20")
    field(page, "tasks.max").fill("2")
    expect(page.get_by_text("2 keys changed, not saved yet.")).to_be_visible()
    expect(fine).to_be_visible()
    page.get_by_role("button", name="Review and save").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    shoot(page, "config-diff")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Undo changes").click()
    page.goto("#/connectors/orders-backfill/offsets")
    page.get_by_role("button", name="Edit the offset of", exact=False).first.click()
    shoot(page, "offsets")


def shoot_records(page: Page) -> None:
    page.goto("#/topics/orders")
    expect(page.locator("tr[data-record]").nth(20)).to_be_visible()
    page.set_viewport_size({"width": WIDTH, "height": 940})
    page.wait_for_timeout(10_000)
    hangs_over = "[...document.querySelectorAll('.tail .scroll')].map(one => (one.clientHeight - 33) % 53)[0]"
    page.set_viewport_size({"width": WIDTH, "height": 940 - page.evaluate(hangs_over)})
    page.mouse.move(0, 0)
    page.screenshot(path=IMAGES / "ui-tail.png")
    page.goto("#/connectors/invoices-ledger/dead-letters")
    page.locator("tr[data-letter] button").first.click()
    expect(page.locator("tr[data-opened]")).to_be_visible()
    shoot(page, "dead-letters")


def take_all(browser: Browser, worker: PenstockProcess) -> None:
    size = {"width": WIDTH, "height": HEIGHTS[1]}
    light = browser.new_context(base_url=f"{worker.url}/ui/", viewport=size, color_scheme="light").new_page()
    light.set_default_timeout(WAIT_MS)
    for part in (shoot_lists, shoot_forms, shoot_records):
        part(light)
    dark = browser.new_context(base_url=f"{worker.url}/ui/", viewport=size, color_scheme="dark").new_page()
    dark.goto("#/connectors/orders-archive")
    dark.wait_for_timeout(FLOW_SECONDS * 1000)
    shoot(dark, "dark")


@contextmanager
def folder_of_the_worker() -> Iterator[Path]:
    try:
        HOME.mkdir()
    except OSError:
        with tempfile.TemporaryDirectory(prefix="penstock-") as name:
            yield Path(name)
        return
    try:
        yield HOME
    finally:
        shutil.rmtree(HOME)


def is_free(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("localhost", port)) != 0


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    expect.set_options(timeout=WAIT_MS)
    with folder_of_the_worker() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        plugins = folder / "plugins"
        add_plugins(plugins)
        settings = {"plugin.path": str(plugins), "health.stalled.after.ms": str(STALLED_MS)}
        worker = PenstockProcess(folder / "worker", settings=settings)
        worker.port = PORT if is_free(PORT) else worker.port
        worker.listen_on("localhost")
        with worker:
            furnish(worker, folder)
            take_all(browser, worker)
        browser.close()


if __name__ == "__main__":
    main()
