"""One record case through the real plugins.

raw record -> "in" converters -> transforms with their predicates -> "out" converters -> raw record
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from penstock.api.converter import Converter, HeaderConverter
from penstock.api.errors import ConfigError
from penstock.api.plugin import Plugin
from penstock.api.record import Header, Record
from penstock.api.text import java_text
from penstock.runtime.connector_config import converter_ref, transform_chain
from penstock.runtime.plugins import Plugins
from penstock.runtime.providers import References
from penstock.runtime.validation import validate
from penstock.spark.chain import Link
from penstock.spark.loading import load
from penstock.spark.splits import PluginRef, TransformRef
from tests.records.casefile import same_message, same_record, to_bytes

REPORTED = ("side", "stage", "class", "exception")


@cache
def plugins() -> Plugins:
    return Plugins()


class Failed(Exception):
    """A record failed: ``found`` is what error reporting names."""

    def __init__(self, side: str, stage: str, plugin: Plugin, cause: Exception) -> None:
        super().__init__(str(cause))
        self.found = {
            "side": side,
            "stage": stage,
            "class": plugin.java_class,
            "exception": getattr(cause, "exception", type(cause).__name__),
            "message": cause.args[0] if cause.args else None,
        }


def guarded(side: str, stage: str, plugin: Plugin, call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except Exception as error:
        raise Failed(side, stage, plugin, error) from error


@dataclass
class Side:
    """The three converters of one side of a case."""

    key: Converter
    value: Converter
    header: HeaderConverter

    @classmethod
    def of(cls, config: dict[str, str]) -> Side:
        refs = {role: converter_ref(plugins(), {}, config, f"{role}.converter") for role in ("key", "value", "header")}
        key, value, header = (load(ref.target)() for ref in refs.values())
        key.configure_for(refs["key"].settings, is_key=True)
        value.configure_for(refs["value"].settings, is_key=False)
        header.configure(refs["header"].settings)
        return cls(key, value, header)

    def read(self, raw: dict[str, Any], is_source: bool) -> Record:
        topic = raw["topic"]
        key_schema, key = guarded("in", "KEY_CONVERTER", self.key, self.key.to_data, topic, to_bytes(raw["key"]))
        schema, value = guarded("in", "VALUE_CONVERTER", self.value, self.value.to_data, topic, to_bytes(raw["value"]))
        headers = []
        for name, form in raw["headers"]:
            arguments = (topic, name, to_bytes(form))
            found = guarded("in", "HEADER_CONVERTER", self.header, self.header.to_header, *arguments)
            headers.append(Header(name, found[1], found[0]))
        return Record(
            value=value,
            key=key,
            topic=topic,
            partition=raw["partition"],
            value_schema=schema,
            key_schema=key_schema,
            headers=headers,
            timestamp=raw["timestamp"],
            offset=None if is_source else raw["offset"],
        )

    def write(self, record: Record) -> tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
        topic, headers = record.topic, []
        for name, value, schema in record.headers:
            arguments = (topic, name, schema, value)
            headers.append((name, guarded("out", "HEADER_CONVERTER", self.header, self.header.from_header, *arguments)))
        key = (topic, record.key_schema, record.key)
        value = (topic, record.value_schema, record.value)
        return (
            guarded("out", "KEY_CONVERTER", self.key, self.key.from_data, *key),
            guarded("out", "VALUE_CONVERTER", self.value, self.value.from_data, *value),
            headers,
        )


@dataclass
class Pipeline:
    """Everything a case configures."""

    source: Side
    sink: Side
    links: list[Link] = field(default_factory=list)

    @classmethod
    def of(cls, case: dict[str, Any]) -> Pipeline:
        source, sink = Side.of(case["in"]), Side.of(case["out"])
        return cls(source, sink, [link_of(ref) for ref in transform_chain(plugins(), case["config"])])

    def transform(self, record: Record) -> Record | None:
        for link in self.links:
            changed = guarded("transform", "TRANSFORMATION", link.transform, link.apply, record)
            if changed is None:
                return None
            record = changed
        return record


class Refused(ConfigError):
    """How a task's trace names a transform that refuses its settings."""

    exception = "org.apache.kafka.connect.errors.ConnectException"


def link_of(ref: TransformRef) -> Link:
    return Link(configured(ref.transform), ref.predicate and configured(ref.predicate), ref.negate)


def configured(ref: PluginRef) -> Any:
    plugin = load(ref.target)()
    try:
        plugin.configure(ref.settings)
    except ConfigError as error:
        raise Refused(f"{error.exception}: {error}") from error
    return plugin


def validation_errors(case: dict[str, Any]) -> dict[str, list[str]]:
    """What the validate endpoint says about a case's configuration."""
    sink = {"name": "case", "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"}
    config = sink | {"topics": "unused", "file": "unused"} | case["in"] | case["config"]
    found = validate(plugins(), {}, References({}), config)
    values = [entry["value"] for entry in found.configs]
    return {value["name"]: list(value["errors"]) for value in values if value["errors"]}


def outcome(pipeline: Pipeline, raw: dict[str, Any], is_source: bool) -> dict[str, Any]:
    """What becomes of one record: ``dropped``, ``error``, or ``record`` (as ``same_record`` takes it) and ``line``."""
    try:
        record = pipeline.transform(pipeline.source.read(raw, is_source))
        if record is None:
            return {"dropped": True}
        line = java_text(record.value, record.value_schema)
        key, value, headers = pipeline.sink.write(record)
    except Failed as failure:
        return {"error": failure.found}
    return {"line": line, "record": (record.topic, record.partition, record.timestamp, key, value, headers)}


def check_record(pipeline: Pipeline, raw: dict[str, Any], expected: dict[str, Any], is_source: bool) -> None:
    """Run one record and compare with what was observed."""
    found = outcome(pipeline, raw, is_source)
    if "error" in found:
        check_error(expected.get("error", {}), found["error"])
    elif "dropped" in found:
        assert expected == found
    else:
        assert "record" in expected, f"{found}\nbut expected\n{expected}"
        assert found["line"] == expected.get("line", found["line"])
        assert same_record(expected["record"], *found["record"]), f"{found}\nbut expected\n{expected['record']}"


def check_error(expected: dict[str, Any], found: dict[str, Any]) -> None:
    assert expected, f"failed with {found}"
    exact = REPORTED if expected.get("message_from") != "java" else REPORTED[:3]
    assert {name: found[name] for name in exact} == {name: expected[name] for name in exact}, found["message"]
    if expected.get("message_from") != "java":
        assert same_message(expected["message"], found["message"]), f"{found}\nbut expected\n{expected}"
