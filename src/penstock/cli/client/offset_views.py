"""Offsets on a screen: what is committed, and what would change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .screen import answers

Entry = Mapping[str, Any]


def compact(value: Any) -> str:
    """JSON on one line, ``-`` for nothing."""
    return "-" if value is None else json.dumps(value, ensure_ascii=False)


def is_sink(entry: Entry) -> bool:
    """Whether an entry is about a topic partition."""
    return isinstance(entry.get("partition"), Mapping) and "kafka_topic" in entry["partition"]


def place(entry: Entry) -> str:
    """The partition of an entry, short."""
    partition = entry["partition"]
    return f"{partition['kafka_topic']}-{partition['kafka_partition']}" if is_sink(entry) else compact(partition)


def position(entry: Entry) -> str:
    """The offset of an entry, short."""
    offset = entry.get("offset")
    if offset is None:
        return "-"
    return str(offset.get("kafka_offset")) if is_sink(entry) else compact(offset)


def offsets_table(found: Mapping[str, Sequence[Entry]]) -> None:
    """Committed offsets of some connectors."""
    rows = [[name, place(entry), position(entry)] for name, entries in found.items() for entry in _sorted(entries)]
    if rows:
        answers().table(["CONNECTOR", "PARTITION", "OFFSET"], rows)
    else:
        answers().line("No offsets are committed.")


def changes(before: Sequence[Entry], after: Sequence[Entry]) -> list[tuple[Any, Any, Any]]:
    """(partition, offset now, new offset) of every partition in ``after`` whose offset differs."""
    now = {compact(entry["partition"]): entry.get("offset") for entry in before}
    found = [(entry["partition"], now.get(compact(entry["partition"])), entry.get("offset")) for entry in after]
    return [change for change in found if change[1] != change[2]]


def changes_table(name: str, found: Iterable[tuple[Any, Any, Any]]) -> None:
    """What would become of offsets."""
    rows = []
    for partition, now, new in found:
        one, other = {"partition": partition, "offset": now}, {"partition": partition, "offset": new}
        rows.append([name, place(one), position(one), "(start)" if new is None else position(other)])
    if rows:
        answers().table(["CONNECTOR", "PARTITION", "NOW", "NEW"], rows)
    else:
        answers().line(f"{name}: nothing changes.")


def _sorted(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: _key(entry["partition"]))


def _key(partition: Mapping[str, Any]) -> tuple[str, int, str]:
    if "kafka_topic" in partition:
        return str(partition["kafka_topic"]), int(partition["kafka_partition"]), ""
    return "", 0, compact(partition)
