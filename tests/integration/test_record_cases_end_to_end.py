"""A sample of the observed record cases through real connectors: a source of raw bytes, a topic, Spark, a file sink."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.records.casefile import same_message, to_bytes
from tests.support.probes import PLUGINS, wait_for_spark
from tests.support.raw_records import RawTopics
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CASES = Path(__file__).parents[1] / "records" / "public"
OF_ANOTHER_TOPIC = ("topic.field", "partition.field", "offset.field", "TopicNameMatches", "Router")
"""Words in configurations whose outcome depends on where the record was when it was observed."""

SECONDS = 120.0


def _eligible(case: dict[str, Any]) -> bool:
    """Whether a file sink shows everything that was observed of a case."""
    if case["kind"] != "sink" or any(word in json.dumps(case["config"]) for word in OF_ANOTHER_TOPIC):
        return False
    if any(r["timestamp"] is None or r["timestamp"] < 0 or r["partition"] != 0 for r in case["records"]):
        return False
    return all(_shown_by_a_file(entry) for entry in case.get("expect", [{}]))


def _shown_by_a_file(entry: dict[str, Any]) -> bool:
    error = entry.get("error", {})
    return "line" in entry or "dropped" in entry or error.get("side") in ("in", "transform")


def _sample() -> list[Any]:
    """One case from the middle of each group, and one of those with an error."""
    found = []
    for path in sorted(CASES.glob("*.json")):
        group = json.loads(path.read_text("utf-8"))
        if group["format"] == "records/1":
            cases = [case for case in group["cases"] if _eligible(case) and "expect" in case]
            failing = [case for case in cases if any("error" in entry for entry in case["expect"])]
            found += [*cases[len(cases) // 2 :][:1], *failing[len(failing) // 2 :][:1]]
    return [pytest.param(case, id=name) for name, case in {case["name"]: case for case in found}.items()]


SAMPLE = _sample()


@dataclass
class Running:
    """All cases of the sample on one worker, at the same time."""

    worker: PenstockProcess
    folder: Path

    def name(self, case: dict[str, Any]) -> str:
        return f"case-{[entry.values[0]['name'] for entry in SAMPLE].index(case['name'])}"

    def start(self, topics: RawTopics, case: dict[str, Any]) -> None:
        name = self.name(case)
        for record in case["records"]:
            headers = [(header, to_bytes(form)) for header, form in record["headers"]]
            key, value = to_bytes(record["key"]), to_bytes(record["value"])
            topics.send(f"{name}-in", value, key, headers, record["timestamp"])
        config = {
            "connector.class": "FileStreamSink",
            "topics": f"{name}-in",
            "file": str(self.folder / name),
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{name}-dead",
            "errors.deadletterqueue.context.headers.enable": "true",
        }
        self.worker.create(name, {**config, **case["in"], **case["config"]})

    def lines(self, case: dict[str, Any]) -> str:
        file = self.folder / self.name(case)
        return file.read_bytes().decode() if file.exists() else ""

    def dead_letters(self, case: dict[str, Any]) -> list[dict[str, Any]]:
        answer = self.worker.http.get(f"/connectors/{self.name(case)}/dead-letters")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["dead_letters"]
        return found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("cases")
    with PenstockProcess(folder / "worker", {"plugin.path": str(PLUGINS)}) as worker:
        wait_for_spark(worker, folder)
        topics = RawTopics(worker, folder)
        started = Running(worker, folder)
        for entry in SAMPLE:
            started.start(topics, entry.values[0])
        yield started


@pytest.mark.parametrize("case", SAMPLE)
def test_lines_and_dead_letters_are_as_observed(running: Running, case: dict[str, Any]) -> None:
    expected = case["expect"]
    lines = "".join(f"{entry['line']}\n" for entry in expected if "line" in entry)
    errors = [entry["error"] for entry in expected if entry.get("error", {}).get("side") in ("in", "transform")]
    wait_until(lambda: running.lines(case) == lines, f"the lines of {case['name']}", SECONDS)
    wait_until(lambda: len(running.dead_letters(case)) == len(errors), f"{len(errors)} dead letters", SECONDS)
    assert running.lines(case) == lines
    failed = [number for number, entry in enumerate(expected) if entry.get("error") in errors and "line" not in entry]
    for letter, error, number in zip(running.dead_letters(case), errors, failed, strict=True):
        raw = case["records"][number]
        assert letter["original"] == {"topic": f"{running.name(case)}-in", "partition": 0, "offset": number}
        assert _bytes_of(letter["value"]) == to_bytes(raw["value"])
        found = letter["error"]
        assert (found["stage"], found["class_name"]) == (error["stage"], error["class"])
        if error.get("message_from") != "java":
            assert found["exception"] == error["exception"]
            assert same_message(error["message"], found["message"])
    assert running.worker.status(running.name(case))["tasks"][0]["state"] == "RUNNING"


def _bytes_of(data: dict[str, str] | None) -> bytes | None:
    return None if data is None else to_bytes(data)
