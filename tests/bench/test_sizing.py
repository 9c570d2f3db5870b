"""The sizing page says what follows from the figures, and nothing without them."""

from __future__ import annotations

from bench.figures import Figure, Findings
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


def found(figures: dict[str, float]) -> Findings:
    made = Findings("Penstock", "1", "2026-01-01T00:00:00+00:00", "a machine")
    made.add(Figure(key, key, "", value) for key, value in figures.items())
    return made


def test_wishes_are_computed_from_what_was_measured() -> None:
    page = sizing_page(found(FIGURES))
    assert page is not None
    assert "- 1 cores into topics,\n- 3 cores into topics and out again,\n- 6 cores out of JSON topics" in page
    assert "| file → Kafka, without the broker | 0.50 s | 3.00 s |" in page
    assert "- 2 cores for the workers into Kafka and out again" in page
    assert "An idle connector costs 100 KB of memory and 0.0200 % of a core, on top of 500 MB" in page
    assert "- 1,500 MB and 2.0 cores when they are idle," in page
    assert "- 29 cores when each moves a record a second; with two cores a worker that is 15 workers." in page


def test_a_run_that_left_out_a_step_writes_no_page() -> None:
    without = {key: value for key, value in FIGURES.items() if not key.startswith("chains")}
    assert sizing_page(found(without)) is None
