"""Executor side: reads bounded ranges of Kafka topics with clients that this process keeps."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from ..interface import Range, RangeReader, TopicPartition
from .clients import Settings
from .errors import ReadFailed, read_failure
from .message_cursor import MessageCursor
from .wire.connection import Unsupported
from .wire.cursor import WireCursor
from .wire.decoding import Corrupt, OldFormat
from .wire.errors import Answered
from .wire.options import CONSUMER, options_for

logger = logging.getLogger(__name__)

MOST_CONSUMERS = 4
"""Clients of one configuration that a process keeps; they take turns when there are more partitions."""

Cursor = WireCursor | MessageCursor

_cursors: dict[Settings, list[Cursor]] = {}
_left_to_librdkafka: set[Settings] = set()


def _cursor_for(settings: Settings, ranges: Sequence[Range]) -> Cursor:
    """The client that stands where these ranges begin; else the one that was idle for longest, or a new one."""
    kept = _cursors.setdefault(settings, [])
    best = max(kept, key=lambda cursor: cursor.follows(ranges), default=None)
    if best is None or not best.follows(ranges):
        if len(kept) < MOST_CONSUMERS:
            best = _new_cursor(settings)
            kept.append(best)
        else:
            best = min(kept, key=lambda cursor: cursor.used)
    best.used = time.monotonic()
    return best


def _new_cursor(settings: Settings) -> Cursor:
    options = None if settings in _left_to_librdkafka else options_for(settings, CONSUMER)
    return MessageCursor(settings) if options is None else WireCursor(settings, options)


@dataclass(frozen=True)
class KafkaReader(RangeReader):
    """Reads with this process's clients."""

    settings: Settings

    def prepare(self, ranges: Sequence[Range]) -> None:
        if not ranges:
            return
        with self._cursor(ranges) as cursor:
            cursor.follow(ranges)

    def stream(self, rows: Range) -> Iterator[tuple[int, pa.Table]]:
        taken = False
        while not taken:
            with self._cursor([rows]) as cursor:
                for first, table in cursor.read(rows):
                    yield first, table
                    rows = replace(rows, start=first + len(table))
                cursor.rest()
                taken = True

    @contextmanager
    def _cursor(self, ranges: Sequence[Range]) -> Iterator[Cursor]:
        """A client for these ranges, used no more after a failure.

        What our own cannot read is left to librdkafka's for good: then the block just ends where it was.
        """
        cursor = _cursor_for(self.settings, ranges)
        try:
            yield cursor
        except (OldFormat, Unsupported) as reason:
            self._forget(cursor)
            logger.debug("librdkafka's client is used: %s", reason)
            _left_to_librdkafka.add(self.settings)
        except Corrupt as error:
            self._forget(cursor)
            at = ranges[0]
            raise ReadFailed(f"The records of {at.topic}-{at.partition} cannot be read. {error}") from error
        except Answered as error:
            self._forget(cursor)
            raise read_failure(error.error, TopicPartition(ranges[0].topic, ranges[0].partition)) from error
        except Exception:
            self._forget(cursor)
            raise

    def _forget(self, cursor: Cursor) -> None:
        _cursors[self.settings].remove(cursor)
        cursor.close()
