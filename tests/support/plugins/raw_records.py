"""A source of exactly the bytes a test wants in a topic: use it with ``ByteArrayConverter`` for keys, values, headers.

``records.file`` has one JSON object a line: ``topic``, ``timestamp``, and ``key``, ``value`` and the values of
``headers`` (a list of pairs) in base64 or null. Lines that are added later are sent too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from penstock.api import ConfigDef, ConfigKey, Header, Plan, Record, SourceConnector, SourceTask, Split, Type

PARTITION = {"file": "records"}


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class RawRecordsTask(SourceTask):
    """Sends the lines behind the committed one."""

    def plan(self, offsets: Any) -> Plan | None:
        sent = (offsets.get(PARTITION) or {"lines": 0})["lines"]
        with open(self.config["records.file"], encoding="utf-8") as file:
            there = sum(line.endswith("\n") for line in file)
        return Plan([Split({"from": sent, "to": there})], [(PARTITION, {"lines": there})]) if there > sent else None

    def read(self, split: Split) -> Iterator[Record]:
        with open(self.config["records.file"], encoding="utf-8") as file:
            lines = file.readlines()[split.payload["from"] : split.payload["to"]]
        for raw in map(json.loads, lines):
            yield Record(
                value=_bytes(raw["value"]),
                key=_bytes(raw["key"]),
                topic=raw["topic"],
                partition=0,
                headers=[Header(name, _bytes(value)) for name, value in raw["headers"]],
                timestamp=raw["timestamp"],
            )


class RawRecords(SourceConnector):
    """Bytes from a file of JSON lines."""

    version = "1.0"
    config = ConfigDef(ConfigKey("records.file", Type.STRING, doc="The file with the records."))
    task = RawRecordsTask
