"""KIP-875: what callers may ask of offsets, checked in the KIP's order, and what they are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.api.errors import DataError
from penstock.storage.offset_store import check_format
from penstock.topics.interface import TopicPartition

from .requests import BadRequest, OffsetEntry, TargetState

NOTHING_GIVEN = "Partitions / offsets need to be provided for an alter offsets request"
LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1


def require_entries(offsets: Sequence[OffsetEntry] | None) -> Sequence[OffsetEntry]:
    """A request that alters offsets must name some."""
    if not offsets:
        raise BadRequest(NOTHING_GIVEN)
    return offsets


def require_stopped(name: str, target: TargetState, tasks: int) -> None:
    """Offsets may only change while nothing runs."""
    if target is not TargetState.STOPPED or tasks:
        raise BadRequest(
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
            f"specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
        )


def done_message(verb: str, connector_checked: bool) -> str:
    """``verb`` is ``altered`` or ``reset``; ``connector_checked`` is what the connector's hook returned."""
    if connector_checked:
        return f"The offsets for this connector have been {verb} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {verb} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {verb} in the system that the connector "
        "uses."
    )


def sink_changes(name: str, offsets: Sequence[OffsetEntry]) -> dict[TopicPartition, int | None]:
    """Sink offsets as positions; the last of several entries for one partition counts."""
    changes = {_sink_partition(entry.partition): _sink_offset(entry.offset) for entry in offsets}
    for at, position in changes.items():
        if at.partition < 0 or (position is not None and position < 0):
            raise BadRequest(
                f"Failed to modify offsets for sink connector {name}: neither partition nor offset may be negative, "
                f"but partition {at.partition} of topic {at.topic} was given {position}"
            )
    return changes


def require_partitions(name: str, places: Iterable[TopicPartition], topics: Mapping[str, int]) -> None:
    """Offsets of a sink are about partitions that are there. ``topics`` has the number of partitions of each topic."""
    missing = [at for at in places if at.partition >= topics.get(at.topic, 0)]
    if missing:
        raise BadRequest(
            f"Failed to modify offsets for sink connector {name}: there is no "
            f"{', no '.join(_missing(at, topics.get(at.topic)) for at in missing)}. No offset was changed. Correct the "
            "partition or leave it out, or make the topic first."
        )


def _missing(at: TopicPartition, count: int | None) -> str:
    if count is None:
        there = "there is no such topic"
    else:
        there = "it has partition 0 alone" if count == 1 else f"it has partitions 0 to {count - 1}"
    return f"partition {at.partition} of topic {at.topic} ({there})"


def sink_entries(positions: Mapping[TopicPartition, int]) -> list[OffsetEntry]:
    """Positions in the shape of the REST API."""
    return [
        OffsetEntry({"kafka_topic": at.topic, "kafka_partition": at.partition}, {"kafka_offset": position})
        for at, position in sorted(positions.items())
    ]


def source_changes(offsets: Sequence[OffsetEntry]) -> list[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """Source offsets as the store takes them: maps of primitive values, none without a partition."""
    changes: list[tuple[Mapping[str, Any], Mapping[str, Any] | None]] = []
    for entry in offsets:
        if entry.partition is None:
            raise BadRequest("The partition for a source connector offset cannot be null or missing")
        try:
            check_format(entry.partition)
            check_format(entry.offset)
        except DataError as error:
            raise BadRequest(str(error)) from error
        changes.append((entry.partition, entry.offset))
    return changes


def _sink_partition(partition: Mapping[str, Any] | None) -> TopicPartition:
    if partition is None:
        raise BadRequest("The partition for a sink connector offset cannot be null or missing")
    if "kafka_topic" not in partition or "kafka_partition" not in partition:
        raise BadRequest(
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"
        )
    topic, number = partition["kafka_topic"], partition["kafka_partition"]
    if not isinstance(topic, str):
        given = "" if topic is None else f". 'kafka_topic' is {_shown(topic)}: if that is the name, put it in quotes"
        raise BadRequest(f"Kafka topic names must be valid strings and may not be null{given}")
    if number is None:
        raise BadRequest("Kafka partitions must be valid numbers and may not be null")
    parsed = _integer(number, INT_MAX)
    if parsed is None:
        raise BadRequest(
            f"Failed to parse the following Kafka partition value in the provided offsets: '{_shown(number)}'. "
            "Partition values for sink connectors need to be integers."
        )
    return TopicPartition(topic, parsed)


def _sink_offset(offset: Mapping[str, Any] | None) -> int | None:
    if offset is None:
        return None
    if offset.get("kafka_offset") is None:
        raise BadRequest("The offset for a sink connector should either be null or contain the key 'kafka_offset'")
    value = offset["kafka_offset"]
    parsed = _integer(value, LONG_MAX)
    if parsed is None:
        raise BadRequest(
            f"Failed to parse the following Kafka offset value in the provided offsets: '{_shown(value)}'. "
            "Offset values for sink connectors need to be integers."
        )
    return parsed


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _integer(value: Any, largest: int) -> int | None:
    """An integer, or text of one, as Java parses it; ``None`` for anything else."""
    text = _shown(value)
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -largest - 1 <= number <= largest else None
