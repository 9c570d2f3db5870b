"""Bytes in topics of a worker, put there through the RawRecords connector."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .worker import PenstockProcess

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

RawHeaders = Sequence[tuple[str, bytes | None]]


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


class RawTopics:
    """Sends records to any topic of a worker whose ``plugin.path`` has the connector."""

    def __init__(self, worker: PenstockProcess, folder: Path, name: str = "raw-records") -> None:
        self._file = folder / f"{name}.jsonl"
        self._file.touch()
        self.config: dict[str, Any] = {
            "connector.class": "RawRecords",
            "records.file": str(self._file),
            **{f"{side}.converter": BYTES for side in ("key", "value", "header")},
        }
        worker.create(name, self.config)

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: RawHeaders = (),
        timestamp: int = 1_700_000_000_000,
    ) -> None:
        """One record, as it is; it arrives in the topic before long."""
        record = {
            "topic": topic,
            "key": _text(key),
            "value": _text(value),
            "headers": [(name, _text(data)) for name, data in headers],
            "timestamp": timestamp,
        }
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
