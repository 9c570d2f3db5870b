"""A record as Kafka Connect prints it in messages."""

from __future__ import annotations

from penstock.api.record import Header, Record, Schema
from penstock.api.text import java_text, schema_text


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
    headers = ", ".join(_header_text(header) for header in record.headers)
    listed = f"[{headers}]" if record.headers else ""
    return (
        f"{origin} ConnectRecord{{topic='{record.topic}', kafkaPartition={java_text(record.partition)}, "
        f"key={java_text(record.key, record.key_schema)}, keySchema={_schema_text(record.key_schema)}, "
        f"value={java_text(record.value, record.value_schema)}, valueSchema={_schema_text(record.value_schema)}, "
        f"timestamp={java_text(record.timestamp)}, headers=ConnectHeaders(headers={listed})}}"
    )


def _schema_text(schema: Schema | None) -> str:
    return "null" if schema is None else schema_text(schema)


def _header_text(header: Header) -> str:
    value = java_text(header.value, header.schema)
    return f"ConnectHeader(key={header.key}, value={value}, schema={_schema_text(header.schema)})"
