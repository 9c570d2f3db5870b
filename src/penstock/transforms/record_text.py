"""A record as Kafka Connect prints it in messages."""

from __future__ import annotations

from typing import Any

from penstock.api.record import Header, Record, Schema
from penstock.api.text import java_text, schema_text

from .java.hash_order import hash_map_order


def record_text(record: Record) -> str:
    """The record in words. Where it came from is taken to be where it is going."""
    if record.offset is None:
        origin = "SourceRecord{sourcePartition={}, sourceOffset={}}"
    else:
        kind = "NoTimestampType" if record.timestamp is None else "CreateTime"
        origin = (
            f"SinkRecord{{kafkaOffset={record.offset}, timestampType={kind}, originalTopic={record.topic}, "
            f"originalKafkaPartition={record.partition}, originalKafkaOffset={record.offset}}}"
        )
    key = java_text(_in_java_order(record.key), record.key_schema)
    value = java_text(_in_java_order(record.value), record.value_schema)
    headers = ", ".join(_header_text(header) for header in record.headers)
    listed = f"[{headers}]" if record.headers else ""
    return (
        f"{origin} ConnectRecord{{topic='{record.topic}', kafkaPartition={java_text(record.partition)}, "
        f"key={key}, keySchema={_schema_text(record.key_schema)}, "
        f"value={value}, valueSchema={_schema_text(record.value_schema)}, "
        f"timestamp={java_text(record.timestamp)}, headers=ConnectHeaders(headers={listed})}}"
    )


def _in_java_order(value: Any) -> Any:
    """Maps as Kafka Connect's JSON converter makes them: in the order of a hash table."""
    if isinstance(value, list):
        return [_in_java_order(item) for item in value]
    if not isinstance(value, dict):
        return value
    names = hash_map_order(value) if all(isinstance(name, str) for name in value) else list(value)
    return {name: _in_java_order(value[name]) for name in names}


def _schema_text(schema: Schema | None) -> str:
    return "null" if schema is None else schema_text(schema)


def _header_text(header: Header) -> str:
    held = _in_java_order(header.value) if header.schema is None else header.value
    value = java_text(held, header.schema)
    return f"ConnectHeader(key={header.key}, value={value}, schema={_schema_text(header.schema)})"
