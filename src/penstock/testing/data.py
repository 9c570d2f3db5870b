"""Records made of plain values, and values as bytes in a topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.api.converter import Converter
from penstock.api.record import Record, Schema
from penstock.converters.json import JsonConverter

TOPIC = "test"


def records(values: Iterable[Any], schema: Schema | None = None, topic: str = TOPIC, **attributes: Any) -> list[Record]:
    """A record for each value, with offsets from 0 on. ``attributes`` are the same for all, as in ``key="k"``."""
    common = {"topic": topic, "value_schema": schema, "partition": 0, "timestamp": 0, **attributes}
    return [Record(**{"value": value, "offset": number, **common}) for number, value in enumerate(values)]


def decoded(data: Iterable[bytes | str | None], converter: Converter | None = None, topic: str = TOPIC) -> list[Record]:
    """The records that a converter (JSON without schemas if none is given) makes of values in a topic."""
    reader = converter or _json()
    found = []
    for number, value in enumerate(data):
        schema, read = reader.to_data(topic, value.encode() if isinstance(value, str) else value)
        found += [record.with_(offset=number) for record in records([read], schema, topic)]
    return found


def encoded(records: Iterable[Record], converter: Converter | None = None) -> list[bytes | None]:
    """What a converter (JSON without schemas if none is given) writes to a topic for the records' values."""
    writer = converter or _json()
    return [writer.from_data(record.topic, record.value_schema, record.value) for record in records]


def _json() -> Converter:
    converter = JsonConverter()
    converter.configure_for({"schemas.enable": "false"}, is_key=False)
    return converter
