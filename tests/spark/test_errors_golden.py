"""Error tolerance and dead letters as observed on Kafka Connect 4.3.1 with its file sink (cases in ``errors.json``)."""

from __future__ import annotations

import base64
import importlib
import json
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import penstock.converters
import penstock.transforms
from penstock.spark.splits import ErrorPolicy, PluginRef, SinkWork, TaskSpec, TransformRef
from penstock.topics.interface import TopicPartition

from .pumping import MemoryTopics, without_faults

CASES = json.loads((Path(__file__).parent / "errors.json").read_text("utf-8"))["cases"]
PREFIX = "__connect.errors."


def _targets() -> dict[str, str]:
    """Java class name → where our class is."""
    found = {}
    for package in (penstock.converters, penstock.transforms):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for cls in vars(importlib.import_module(info.name)).values():
                java = isinstance(cls, type) and cls.__dict__.get("java_class")
                if java:
                    found[java] = f"{cls.__module__}:{cls.__qualname__}"
    return found


TARGETS = _targets()


def _below(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}


def _plugin(config: Mapping[str, str], key: str) -> PluginRef:
    return PluginRef(TARGETS[config[key]], _below(config, f"{key}."))


def _transform(config: Mapping[str, str], alias: str) -> TransformRef:
    settings = _below(config, f"transforms.{alias}.")
    kind, predicate = settings.pop("type"), settings.pop("predicate", None)
    ref = None
    if predicate is not None:
        own = _below(config, f"predicates.{predicate}.")
        ref = PluginRef(TARGETS[own.pop("type")], own)
    return TransformRef(alias, PluginRef(TARGETS[kind], settings), ref)


def _spec(config: Mapping[str, str], name: str, file: Path) -> TaskSpec:
    aliases = [alias for alias in config.get("transforms", "").split(",") if alias]
    topic = config.get("errors.deadletterqueue.topic.name", "")
    return TaskSpec(
        key=name,
        connector="the-sink",
        task=0,
        task_target=PluginRef("penstock.connectors.file.sink:FileStreamSinkTask", {"file": str(file)}),
        key_converter=_plugin(config, "key.converter"),
        value_converter=_plugin(config, "value.converter"),
        header_converter=_plugin(config, "header.converter"),
        transforms=[_transform(config, alias) for alias in aliases],
        errors=ErrorPolicy(
            tolerate_all=config.get("errors.tolerance") == "all",
            retry_timeout_ms=int(config.get("errors.retry.timeout", "0")),
            retry_delay_max_ms=int(config.get("errors.retry.delay.max.ms", "60000")),
            dead_letter_topic="dlq" if topic else "",
            dead_letter_headers=config.get("errors.deadletterqueue.context.headers.enable") == "true",
        ),
    )


def _bytes(given: Any) -> bytes | None:
    if given is None:
        return None
    if "text" in given:
        return str(given["text"]).encode()
    if "base64" in given:
        return base64.b64decode(given["base64"])
    return json.dumps(given["json"], separators=(",", ":"), ensure_ascii=False).encode()


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    headers = [{"key": key, "value": _bytes(value)} for key, value in record["headers"]]
    return {
        "timestamp": record["timestamp"],
        "key": _bytes(record["key"]),
        "value": _bytes(record["value"]),
        "headers": headers or None,
    }


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A dead letter as the cases show it: the stack trace by its first line, texts of the JSON library left out."""
    headers = []
    for header in row["headers"] or ():
        value = header["value"]
        if header["key"] == PREFIX + "exception.stacktrace":
            value = value.split(b"\n")[0]
        headers.append((header["key"], value))
    return {**row, "headers": headers}


def _expected(letter: Mapping[str, Any]) -> dict[str, Any]:
    row = _row(letter)
    named = {"${topic}": b"input", "${name}": b"the-sink"}
    headers = [(h["key"], named.get((h["value"] or b"").decode("latin-1"), h["value"])) for h in row["headers"] or ()]
    return {**row, "headers": headers}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_record_errors_are_handled_as_kafka_connect_does(case: dict[str, Any], tmp_path: Path) -> None:
    topics = MemoryTopics()
    file = tmp_path / "out.txt"
    where = topics.store("input", [_row(record) for record in case["records"]])
    receipt = without_faults(SinkWork(_spec(case["config"], case["name"], file), [where], topics, topics).run())
    expected = case["expect"]
    if expected["state"] == "FAILED":
        assert receipt.failure is not None
        trace = receipt.failure.trace.splitlines()
        assert trace[0] == expected["trace"][0]
        assert trace[1].startswith(expected["trace"][1])
    else:
        assert receipt.failure is None
        assert file.read_text().splitlines() == expected["lines"]
    letters = [_shown(row) for row in topics.written.get(TopicPartition("dlq", 0), [])]
    assert letters == [_expected(letter) for letter in expected["dlq"]]
