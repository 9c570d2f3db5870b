"""How far each source connector has come: source partitions and their offsets."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import DataError

from .json_records import canonical, from_json, to_json
from .log import Log, LogRecord

logger = logging.getLogger(__name__)

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]
Change = tuple[Partition, Offset | None]


@dataclass(slots=True)
class _Entry:
    """One source partition; ``keys`` are the record keys that name it (field order makes different bytes).

    A ``lost`` one is remembered from a log that is gone.
    """

    partition: Partition
    offset: Offset
    keys: set[bytes] = field(default_factory=set)
    lost: bool = False


@dataclass(frozen=True)
class OffsetKeys:
    """Makes log records of a connector's offsets as :meth:`OffsetStore.records` does, wherever it is sent.

    ``unusual`` are the keys of partitions, by their canonical text, that might get others by their fields' order.
    """

    connector: str
    unusual: Mapping[str, Sequence[bytes]]

    def __call__(self, offsets: Iterable[tuple[Partition, Offset]]) -> list[LogRecord]:
        """The last offset of each partition. Raises :class:`~penstock.api.errors.DataError`."""
        newest = {canonical(partition): (partition, offset) for partition, offset in offsets}
        records = []
        for name, (partition, offset) in newest.items():
            check_format(partition)
            check_format(offset)
            keys = self.unusual.get(name) or [to_json([self.connector, partition])]
            records += [LogRecord(key, to_json(offset)) for key in keys]
        return records


class OffsetStore:
    """Source offsets on a :class:`~penstock.storage.log.Log`. Reads answer from memory, on any thread.

    Partitions are the same when their fields are, in whatever order. A partition known from the log keeps the exact
    key bytes it has there.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self._lock = threading.Lock()
        self._connectors: dict[str, dict[str, _Entry]] = {}

    def start(self) -> None:
        """Read everything; returns when the store is complete."""
        self.log.start(self._learn)

    def stop(self) -> None:
        self.log.stop()

    def renew(self, log: Log) -> None:
        """Go on with a new log, since what the one before had is lost. What the new one has counts.

        What it has not is remembered and told by :meth:`lost`. Raises what starting the log raises, and goes on with
        the old one then.
        """
        with self._lock:
            for entries in self._connectors.values():
                for entry in entries.values():
                    entry.lost = True
        log.start(self._learn)
        old, self.log = self.log, log
        old.stop()

    def lost(self, connector: str) -> Sequence[tuple[Partition, Offset]]:
        """What is remembered of a connector from a log that is gone, and is not in the one that took its place."""
        with self._lock:
            entries = self._connectors.get(connector, {}).values()
            return [(entry.partition, entry.offset) for entry in entries if entry.lost]

    def log_of(self, connector: str) -> Log:
        """The log that has the offsets of a connector."""
        return self.log

    def get(self, connector: str, partition: Partition) -> Offset | None:
        """The committed offset of one source partition, or ``None``."""
        with self._lock:
            entry = self._connectors.get(connector, {}).get(canonical(partition))
            return entry.offset if entry else None

    def all(self, connector: str) -> Sequence[tuple[Partition, Offset]]:
        """Every committed source partition of a connector with its offset."""
        with self._lock:
            return [(entry.partition, entry.offset) for entry in self._connectors.get(connector, {}).values()]

    def connectors(self) -> Sequence[str]:
        """The connectors that have offsets."""
        with self._lock:
            return sorted(name for name, entries in self._connectors.items() if entries)

    def put(self, connector: str, changes: Iterable[Change]) -> Future[None]:
        """Set offsets, or (``None``) forget them; all or nothing. Checks them first."""
        return self.log.append(self.records(connector, changes))

    def change(self, connector: str, changes: Iterable[Change]) -> Future[None]:
        """What :meth:`put` does, for somebody who alters or resets offsets while nothing of the connector runs."""
        return self.put(connector, changes)

    def reset(self, connector: str) -> Future[None]:
        """Forget every offset of a connector; all or nothing."""
        return self.change(connector, [(partition, None) for partition, _ in self.all(connector)])

    def check(self, changes: Iterable[Change]) -> None:
        """Raises :class:`~penstock.api.errors.DataError` for what is not a map of primitive values."""
        for partition, offset in changes:
            check_format(partition)
            check_format(offset)

    def records(self, connector: str, changes: Iterable[Change]) -> list[LogRecord]:
        """The log records that make these changes."""
        changes = list(changes)
        self.check(changes)
        with self._lock:
            known = self._connectors.get(connector, {})
            return [record for change in changes for record in _records(connector, change, known)]

    def keys(self, connector: str) -> OffsetKeys:
        """What makes such records without the store."""
        with self._lock:
            known = self._connectors.get(connector, {})
            unusual = {
                name: sorted(entry.keys)
                for name, entry in known.items()
                if len(entry.partition) > 1 or entry.keys != {to_json([connector, entry.partition])}
            }
        return OffsetKeys(connector, unusual)

    def _learn(self, entries: Sequence[tuple[int, LogRecord]]) -> None:
        with self._lock:
            for _, record in entries:
                self._learn_one(record)

    def _learn_one(self, record: LogRecord) -> None:
        try:
            connector, partition = from_json(record.key)
            offset = None if record.value is None else from_json(record.value)
        except (ValueError, TypeError):
            connector, partition, offset = None, None, None
        if not isinstance(connector, str) or not isinstance(partition, dict) or not isinstance(offset, dict | None):
            logger.warning("Ignoring an offset record with an unexpected format: key %r", record.key[:200])
            return
        entries = self._connectors.setdefault(connector, {})
        name = canonical(partition)
        entry = entries.get(name)
        if offset is not None:
            keys = {record.key} | (entry.keys if entry else set())
            entries[name] = _Entry(partition, offset, keys)
        elif entry:
            entry.keys.discard(record.key)
            if not entry.keys:
                del entries[name]


def _records(connector: str, change: Change, known: Mapping[str, _Entry]) -> Iterable[LogRecord]:
    partition, offset = change
    entry = known.get(canonical(partition))
    value = None if offset is None else to_json(offset)
    if entry is None:
        yield LogRecord(to_json([connector, partition]), value)
        return
    for key in sorted(entry.keys):
        yield LogRecord(key, value)


def check_format(data: object) -> None:
    """What Kafka Connect demands of partitions and offsets, with its texts."""
    if data is None:
        return
    if not isinstance(data, Mapping):
        raise DataError("Offsets must be specified as a Map")
    for key, value in data.items():
        if not isinstance(key, str):
            raise DataError("Offsets may only use String keys")
        if value is not None and not isinstance(value, str | int | float | bytes):
            raise DataError(
                f"Offsets may only contain primitive types as values, but field {key} contains {_type_name(value)}"
            )


def _type_name(value: object) -> str:
    if isinstance(value, Mapping):
        return "MAP"
    if isinstance(value, list | tuple):
        return "ARRAY"
    return type(value).__name__
