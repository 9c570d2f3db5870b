"""``errors.retry.timeout`` holds for whatever a record passes: converters of keys, values, headers, and transforms."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.api import Converter, Record, RetriableError, Transform
from penstock.api.converter import HeaderConverter
from penstock.api.record import Header, Schema
from penstock.spark.splits import ErrorPolicy, PluginRef, Receipt, TaskSpec, TransformRef
from penstock.topics.interface import TopicPartition

from .pumping import HEADERS, STRING, Given, Keeping, MemoryTopics, here, put_all, read_all

PATIENT = ErrorPolicy(retry_timeout_ms=60_000, retry_delay_max_ms=1)
IMPATIENT = ErrorPolicy(
    tolerate_all=True,
    retry_timeout_ms=0,
    retry_delay_max_ms=1,
    dead_letter_topic="dlq",
    dead_letter_headers=True,
)
STAGES = ("KEY_CONVERTER", "VALUE_CONVERTER", "HEADER_CONVERTER", "TRANSFORMATION")
VALUES = ("a", "b")


class Flaky:
    """Fails twice with each thing it is given, then works."""

    tries: Counter[Any] = Counter()

    def trying(self, thing: Any) -> None:
        Flaky.tries[thing] += 1
        if Flaky.tries[thing] < 3:
            raise RetriableError(f"not yet: {thing}")


class FlakyConverter(Converter, Flaky):
    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        self.trying(value)
        return str(value).encode()

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        self.trying(data)
        return None, (data or b"").decode()


class FlakyHeaders(HeaderConverter, Flaky):
    def from_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        self.trying(value)
        return str(value).encode()

    def to_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        self.trying(data)
        return None, (data or b"").decode()


class FlakyTransform(Transform, Flaky):
    def apply(self, record: Record) -> Record | None:
        self.trying(record.value)
        return record


def _spec(task: type[Any], stage: str, errors: ErrorPolicy) -> TaskSpec:
    """A task in which one stage is flaky."""
    key, value = (
        PluginRef(here(FlakyConverter) if stage == f"{role}_CONVERTER" else STRING) for role in ("KEY", "VALUE")
    )
    header = PluginRef(here(FlakyHeaders) if stage == "HEADER_CONVERTER" else HEADERS)
    chain = [TransformRef("t", PluginRef(here(FlakyTransform)))] if stage == "TRANSFORMATION" else []
    name = f"{task.__name__}-{stage}-{errors.retry_timeout_ms}"
    return TaskSpec(name, "c", 0, PluginRef(here(task)), key, value, header, chain, errors)


def _sink(topics: MemoryTopics, stage: str, errors: ErrorPolicy) -> Receipt:
    Flaky.tries.clear()
    rows = [
        {"key": b"k-" + v, "value": v, "headers": [{"key": "h", "value": b"h-" + v}]}
        for v in (value.encode() for value in VALUES)
    ]
    return put_all(topics, [topics.store("t", rows)], _spec(Keeping, stage, errors))


def _source(topics: MemoryTopics, stage: str, errors: ErrorPolicy) -> Receipt:
    Flaky.tries.clear()
    records = [Record(v, f"k-{v}", "t", headers=[Header("h", f"h-{v}")]) for v in VALUES]
    return read_all(topics, records, _spec(Given, stage, errors))


@pytest.mark.parametrize("stage", STAGES)
def test_a_sink_tries_again_until_it_works(stage: str) -> None:
    receipt = _sink(MemoryTopics(), stage, PATIENT)
    assert receipt.failure is None
    assert [record.value for record in Keeping.kept] == list(VALUES)
    assert receipt.retries == 2 * len(VALUES)


@pytest.mark.parametrize("stage", STAGES)
def test_a_source_tries_again_until_it_works(stage: str) -> None:
    topics = MemoryTopics()
    receipt = _source(topics, stage, PATIENT)
    assert receipt.failure is None
    assert topics.values("t") == [value.encode() for value in VALUES]
    assert receipt.retries == 2 * len(VALUES)


@pytest.mark.parametrize("run", [_sink, _source])
@pytest.mark.parametrize("stage", STAGES)
def test_without_time_to_try_again_records_are_set_aside_with_their_stage(stage: str, run: Any) -> None:
    topics = MemoryTopics()
    receipt = run(topics, stage, IMPATIENT)
    assert receipt.failure is None
    letters = topics.written[TopicPartition("dlq", 0)]
    headers = [{header["key"]: header["value"] for header in letter["headers"]} for letter in letters]
    assert [found["__connect.errors.stage"] for found in headers] == [stage.encode()] * len(VALUES)
    named = {found["__connect.errors.exception.class.name"] for found in headers}
    assert named == {b"org.apache.kafka.connect.errors.RetriableException"}
    assert receipt.retries == 0
