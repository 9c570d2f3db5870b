"""Timestamps as Kafka Connect takes them: milliseconds, or -1 for none; any other negative one fails the task."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.errors import DataError

NO_TIMESTAMP = -1


def checked_timestamp(timestamp: int) -> int | None:
    """A record's timestamp. The error is outside of error handling: nothing tolerates it."""
    if timestamp >= 0:
        return timestamp
    if timestamp == NO_TIMESTAMP:
        return None
    raise DataError(f"Invalid record timestamp {timestamp}", "org.apache.kafka.common.InvalidRecordException")


def has_negative(timestamps: pa.Array | None) -> bool:
    """Whether some of the timestamps need a closer look."""
    if timestamps is None or len(timestamps) == 0:
        return False
    smallest = pc.min(timestamps).as_py()
    return smallest is not None and smallest < 0
