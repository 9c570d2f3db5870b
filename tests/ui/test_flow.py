"""Curves and lag: what was never committed, what begins far from zero, and how axes are drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .stage import TEXT, generator, modules

pytestmark = pytest.mark.integration

DRAWN = """async ({modules, values, whole, spread}) => {
  const { chart } = await import(modules + "chart.js");
  const made = chart("Drawn", "records", { whole });
  document.body.append(made.node);
  const end = Date.now();
  made.update(values.map((value, index) => ({ at: end - (values.length - 1 - index) * spread, value })));
  const axis = [...made.node.querySelectorAll("text.axis")].slice(0, 3).map((one) => one.textContent);
  const name = made.node.querySelector("svg").getAttribute("aria-label");
  made.node.remove();
  return { axis, name };
}"""


def test_a_sink_that_never_committed_is_behind_by_all_records(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{number}\n" for number in range(40)))
    ui_worker.create("waited", {"connector.class": "FileStreamSource", "topic": "waited", "file": str(lines), **TEXT})
    wait_until(lambda: _end(ui_worker, "waited") == 40, "records are there", seconds=120)
    sink = {"connector.class": "FileStreamSink", "topics": "waited", "file": str(tmp_path / "out")}
    ui_worker.create("waiting", sink, initial_state="STOPPED")
    page.goto("#/connectors/waiting")
    lag = page.get_by_role("region", name="Lag").locator(".now")
    expect(lag).to_have_text("40 records")
    ui_worker.create("nowhere", {**sink, "topics": "not-there"}, initial_state="STOPPED")
    page.goto("#/connectors/nowhere")
    expect(lag).to_have_text("not known")


def test_a_first_commit_far_from_zero_is_no_speed(page: Page, ui_worker: PenstockProcess, tmp_path: Path) -> None:
    ui_worker.create("far", generator("far", 50))
    wait_until(lambda: _end(ui_worker, "far") > 1000, "there are records", seconds=120)
    ui_worker.http.put("/connectors/far/stop")
    sink = {"connector.class": "FileStreamSink", "topics": "far", "file": str(tmp_path / "out")}
    ui_worker.create("far-out", sink, initial_state="STOPPED")
    page.goto("#/connectors/far-out")
    moved = page.get_by_role("region", name="Records delivered").locator(".now")
    expect(moved).to_have_text("0 records/s")
    place = {"partition": {"kafka_topic": "far", "kafka_partition": 0}, "offset": {"kafka_offset": 1000}}
    assert ui_worker.http.patch("/connectors/far-out/offsets", json={"offsets": [place]}).status_code == 200
    lag = page.get_by_role("region", name="Lag").locator(".now")
    expect(lag).to_have_text(re.compile(rf"^{_end(ui_worker, 'far') - 1000} records?$"))
    curve = page.get_by_role("region", name="Records delivered").get_by_role("img")
    expect(curve).to_have_accessible_name(re.compile("0 records/s now, between 0 and 0 in"))


def test_nothing_that_was_not_measured_yet_is_called_zero(page: Page) -> None:
    """One look at offsets tells no speed: until the next one, the largest topics come first."""
    asked: list[str] = []

    def topics(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            ends = {"a-small": 5, "b-large": 500}
            parts = {name: [{"partition": 0, "start": 0, "end": end}] for name, end in ends.items()}
            route.fulfill(json=[{"name": name, "partitions": part, "settings": {}} for name, part in parts.items()])

    page.route("**/topics", topics)
    page.goto("#/")
    rows = page.get_by_role("table", name="Busiest topics").locator("tbody tr")
    expect(rows).to_have_text(["b-large\N{EN DASH}500", "a-small\N{EN DASH}5"])
    expect(page.get_by_role("region", name="Records into topics").locator(".now")).to_have_text("measuring …")
    page.unroute_all(behavior="ignoreErrors")


def test_charts_have_their_place_before_they_have_something_to_show(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("placed", generator("placed"), initial_state="STOPPED")
    page.route("**/topics", lambda _: None)
    page.goto("#/connectors/placed")
    expect(page.locator("section.panel h2")).to_have_text(["Health", "Records into its topics", "Tasks"])
    page.unroute_all(behavior="ignoreErrors")
    assert ui_worker.http.delete("/connectors/placed").status_code == 204


def test_an_axis_has_steps_that_fit(page: Page) -> None:
    page.goto("")
    assert _drawn(page, [3, 52])["axis"] == ["0", "30", "60"]
    assert _drawn(page, [3, 75])["axis"] == ["0", "40", "80"]
    assert _drawn(page, [0, 1], whole=True)["axis"] == ["0", "1.0", "2.0"]
    assert _drawn(page, [0, 5], whole=True)["axis"] == ["0", "3.0", "6.0"]


def test_a_peak_that_is_no_longer_shown_does_not_set_the_scale(page: Page) -> None:
    page.goto("")
    found = _drawn(page, [1000, *[4] * 8], spread=60_000)
    assert found["axis"] == ["0", "2.0", "4.0"]
    assert "1K" not in found["name"]


def _drawn(page: Page, values: list[int], whole: bool = False, spread: int = 1000) -> dict[str, Any]:
    given = {"modules": modules(page), "values": values, "whole": whole, "spread": spread}
    found: dict[str, Any] = page.evaluate(DRAWN, given)
    return found


def _end(worker: PenstockProcess, topic: str) -> int:
    found = worker.http.get(f"/topics/{topic}")
    return sum(part["end"] for part in found.json()["partitions"]) if found.status_code == 200 else 0
