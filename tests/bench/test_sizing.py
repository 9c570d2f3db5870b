"""The sizing page says what follows from the published figures, and nothing without them."""

from __future__ import annotations

from pathlib import Path

from bench.figures import Figure, Findings
from bench.published import Steps, publish, published
from bench.sizing import sizing_page

FIGURES = {
    "throughput.in.string.100.cpu": 0.7,
    "throughput.in.string.1000.cpu": 2.0,
    "throughput.out.string.100.cpu": 1.4,
    "throughput.out.string.1000.cpu": 3.0,
    "chains.out.transforms.cpu": 3.6,
    "kafka.in.100.cpu": 0.5,
    "kafka.in.1000.cpu": 3.0,
    "kafka.once.100.cpu": 0.6,
    "kafka.out.100.cpu": 0.4,
    "kafka.out.1000.cpu": 2.5,
    "connectors.moving.cpu": 100.0,
    "connectors.idle.0.pss": 500.0,
    "connectors.idle.0.cpu": 2.0,
    "connectors.idle.500.pss": 550.0,
    "connectors.idle.500.cpu": 12.0,
}


def found(figures: dict[str, float], date: str = "2026-01-01", machine: str = "a machine") -> Findings:
    made = Findings("Penstock", "1", f"{date}T00:00:00+00:00", machine)
    made.add(Figure(key, key, "", value) for key, value in figures.items())
    return made


def kept(run: Findings, file: Path) -> Steps:
    return publish([run], file)[run.system]


def of_step(step: str) -> dict[str, float]:
    return {key: value for key, value in FIGURES.items() if key.startswith(step)}


def test_wishes_are_computed_from_what_was_measured(tmp_path: Path) -> None:
    page = sizing_page(kept(found(FIGURES), tmp_path / "published"))
    assert page is not None
    assert "- 1 core into topics,\n- 3 cores into topics and out again,\n- 6 cores out of JSON topics" in page
    assert "| file → Kafka, without the broker | 0.50 s | 3.00 s |" in page
    assert "- 2 cores for the workers into Kafka and out again" in page
    assert "An idle connector costs 100 KB of memory and 0.0200 % of a core, on top of 500 MB" in page
    assert "- 1,500 MB and 2.0 cores when they are idle," in page
    assert "- 29 cores when each moves a record a second; with two cores a worker that is 15 workers." in page


def test_runs_that_have_some_steps_each_make_one_page(tmp_path: Path) -> None:
    file = tmp_path / "published"
    assert sizing_page(kept(found(of_step("throughput") | of_step("kafka")), file)) is None
    assert sizing_page(kept(found(of_step("connectors"), "2026-01-02"), file)) is None
    page = sizing_page(kept(found(of_step("chains"), "2026-01-02", "another machine"), file))
    assert page is not None
    assert "of 2026-01-01 and 2026-01-02 on a machine and another machine,\n" in page
    assert "that is 15 workers." in page


def test_what_a_later_run_publishes_takes_the_place_of_its_step_only(tmp_path: Path) -> None:
    file = tmp_path / "published"
    kept(found(FIGURES), file)
    kept(found({"chains.out.transforms.cpu": 1.0}, "2026-01-02"), file)
    steps = published(file)["Penstock"]
    assert steps["chains"].date[:10] == "2026-01-02"
    assert [figure.value for figure in steps["chains"].figures.values()] == [1.0]
    assert steps["throughput"] == found(of_step("throughput"))
