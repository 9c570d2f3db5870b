"""The arithmetic of the benchmark: what it prints must follow from what it measured."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.chart import CHOSEN, chart
from bench.figures import Figure, Findings, percentile
from bench.lines import write_numbered
from bench.outcome import Outcome, recorded_peer
from bench.page import BEGIN, END
from bench.peer.topic_log import TopicLog
from bench.report import markdown, ratio, shown


def findings(*figures: Figure, system: str = "Penstock", version: str = "1") -> Findings:
    made = Findings(system, version, "2026-01-01T00:00:00+00:00", "a machine")
    made.add(figures)
    return made


def fast(value: float, target: float | None = None) -> Figure:
    return Figure("throughput.in.string.100", "file → topic", "records/s", value, "more", target)


def slow(value: float, target: float | None = None) -> Figure:
    return Figure("latency.p50", "latency", "ms", value, "less", target)


def test_a_ratio_above_one_means_that_we_are_better() -> None:
    assert ratio(fast(300_000), fast(100_000)) == "3.0 x"
    assert ratio(slow(10), slow(40)) == "4.0 x"


def test_a_ratio_below_one_means_that_we_are_worse() -> None:
    assert ratio(fast(50_000), fast(100_000)) == "0.50 x"
    assert ratio(slow(40), slow(10)) == "0.25 x"


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratio(slow(40), None) == ""
    assert ratio(slow(0), slow(10)) == ""


def test_targets_are_floors_for_speed_and_ceilings_for_cost() -> None:
    assert fast(2_000_000, target=2_000_000).reached(None)
    assert fast(1_999_999, target=2_000_000).reached(None) is False
    assert slow(100, target=100).reached(None)
    assert slow(101, target=100).reached(None) is False
    assert slow(1).reached(None) is None


def test_a_goal_against_the_peer_is_judged_by_the_ratio_of_one_run() -> None:
    twice = Figure("kafka.in.100", "file → Kafka", "records/s", 300.0, "more", times=2.0)
    assert [twice.reached(peer) for peer in (fast(150.0), fast(151.0), None)] == [True, False, None]
    cheap = Figure("kafka.in.100.cpu", "CPU", "s per million", 1.0, times=2.0)
    assert [cheap.reached(peer) for peer in (slow(2.0), slow(1.9))] == [True, False]


def test_a_missed_target_is_shown_as_missed() -> None:
    assert "✗" in markdown(findings(slow(150, target=100)), None, "peer")["Latency"]
    assert "✓" in markdown(findings(slow(50, target=100)), None, "peer")["Latency"]


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 51), (0.9, 91), (0.99, 100), (1.0, 100)])
def test_percentiles_of_one_to_a_hundred(share: float, expected: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == expected


@pytest.mark.parametrize(
    ("figure", "text"), [(fast(2_345_000), "2.35 M/s"), (fast(81_400), "81 k/s"), (slow(1_234.5), "1,234 ms")]
)
def test_values_are_shown_with_digits_that_mean_something(figure: Figure, text: str) -> None:
    assert shown(figure) == text


def test_findings_survive_being_saved() -> None:
    made = findings(fast(1.5, target=2.0), slow(3.25))
    assert Findings.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_the_chart_is_xml_and_its_bars_are_to_scale() -> None:
    picture = ElementTree.fromstring(chart(findings(fast(300)), findings(fast(100)), "a & b"))
    bars = [float(bar.attrib["width"]) for bar in picture.iter() if bar.attrib.get("height") == "15"]
    assert bars == [360, 120]


@pytest.mark.parametrize("length", [100, 1000])
def test_numbered_lines_have_their_length_and_are_all_different(tmp_path: Path, length: int) -> None:
    file = tmp_path / "lines"
    assert write_numbered(file, length, 30_000 * length) == 30_000
    lines = file.read_bytes().splitlines(keepends=True)
    assert {len(line) for line in lines} == {length}
    assert [int(line[:10]) for line in lines] == list(range(30_000))


def batch(first: int, count: int) -> bytes:
    """A record batch as far as offsets go: its header up to the last offset's delta, then some records."""
    body = struct.pack(">ibIhi", 0, 2, 0, 0, count - 1) + b"records"
    return struct.pack(">qi", first, len(body)) + body


def test_the_brokers_log_tells_the_next_offset_across_segments_and_half_written_batches(tmp_path: Path) -> None:
    log = TopicLog(tmp_path)
    assert log.end_offset() == 0
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(batch(0, 10) + batch(10, 5)[:-3])
    assert log.end_offset() == 10
    segment.write_bytes(batch(0, 10) + batch(10, 5))
    assert log.end_offset() == 15
    (tmp_path / "00000000000000000015.log").write_bytes(batch(15, 1))
    assert log.end_offset() == 16


def outcome(others: dict[str, float]) -> Outcome:
    return of_both([slow(10)], [slow(40)], others)


def of_both(ours: Sequence[Figure], theirs: Sequence[Figure], others: dict[str, float], version: str = "1") -> Outcome:
    peer = findings(*theirs, system="Kafka Connect", version=version)
    return Outcome("2026-01-02T00:00:00+00:00", findings(*ours), peer, True, 1.0, others)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recorded and the published figures and the page, somewhere else."""
    monkeypatch.setattr("bench.outcome.RECORDED", tmp_path / "recorded.json")
    monkeypatch.setattr("bench.outcome.PUBLISHED", tmp_path / "published.json")
    monkeypatch.setattr("bench.outcome.IMAGE", tmp_path / "benchmarks.svg")
    monkeypatch.setattr("bench.outcome.PAGE", tmp_path / "page.md")
    figures = "a picture\n\n### Throughput\n\nfast\n\n### Latency\n\nold\n\n### GET status\n\nquick"
    (tmp_path / "page.md").write_text(f"before\n{BEGIN}\n{figures}\n{END}\nafter\n")
    return tmp_path


def test_a_peer_that_was_slowed_down_by_others_is_not_recorded(files: Path) -> None:
    outcome({"latency": 100.0}).record_peer()
    assert recorded_peer() is None
    outcome({"latency": 0.0}).record_peer()
    kept = recorded_peer()
    assert kept is not None
    assert list(kept.figures) == ["latency.p50"]


@pytest.mark.parametrize(("cores", "warned"), [(0.0, False), (100.0, True)])
def test_the_page_says_when_its_figures_are_not_to_be_quoted(files: Path, cores: float, warned: bool) -> None:
    outcome({"latency": cores}).publish()
    page = (files / "page.md").read_text()
    assert ("Not to be quoted" in page) is warned
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    assert "old" not in page


def test_a_run_of_some_steps_leaves_the_figures_of_others_on_the_page(files: Path) -> None:
    outcome({}).publish()
    page = (files / "page.md").read_text()
    parts = ("a picture", "### Throughput\n\nfast", "### Latency", "10.0 ms | 40.0 ms | 4.0 x", "### GET status\n\nq")
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_the_chart_waits_for_all_it_shows_and_takes_each_from_the_last_run_that_had_it(files: Path) -> None:
    rest = [Figure(key, f"the other {key}", "ms", 1.0) for key in CHOSEN if not key.startswith("latency")]
    outcome({}).publish()
    assert not (files / "benchmarks.svg").exists()
    of_both(rest, rest, {}).publish()
    assert not (files / "benchmarks.svg").exists()
    latencies = [slow(20), Figure("latency.p99", "slow ones", "ms", 30.0)]
    of_both(latencies, latencies, {}).publish()
    picture = (files / "benchmarks.svg").read_text()
    assert rest[0].title in picture
    assert "20.0 ms" in picture
    assert "10.0 ms" not in picture


def test_figures_that_were_taken_of_another_version_of_the_peer_go_on_saying_so(files: Path) -> None:
    figures = [Figure(key, f"the {key}", "ms", 1.0) for key in CHOSEN]
    of_both(figures, figures, {}, "4.1.1").publish()
    of_both(figures, figures, {}, "4.1.1").record_peer()
    again = [figure for figure in figures if figure.step == "latency"]
    of_both(again, again, {}, "4.3.1").publish()
    of_both(again, again, {}, "4.3.1").record_peer()
    assert "Kafka Connect 4.1.1 and 4.3.1" in (files / "benchmarks.svg").read_text()
    kept = recorded_peer()
    assert kept is not None
    assert kept.version == "4.1.1 and 4.3.1"
    of_both(figures, figures, {}, "4.3.1").publish()
    of_both(figures, figures, {}, "4.3.1").record_peer()
    assert "4.1.1" not in (files / "benchmarks.svg").read_text()
    kept = recorded_peer()
    assert kept is not None
    assert kept.version == "4.3.1"
