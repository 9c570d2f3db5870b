"""Where the records of a sink's split came from, for those that fail on their way or in ``put``."""

from __future__ import annotations

import pyarrow.compute as pc

from penstock.api.batch import Batch
from penstock.api.record import Record

from .copies import Copy
from .errors import Origin
from .pieces import Piece
from .splits import ErrorPolicy

Place = tuple[str, int | None, int | None]
"""Topic, partition and offset of a record as it was read."""


class Origins:
    """Finds the row that a record was, also when transforms have given it another topic or partition.

    Rows are only kept where the error policy writes them down, in a log or as dead letters; elsewhere only the place
    of a record is told.
    """

    def __init__(self, copy: Copy, policy: ErrorPolicy) -> None:
        self._copy = copy
        self._kept = policy.log or bool(policy.dead_letter_topic)
        self._pieces: list[Piece] = []
        self._moved: dict[Place, tuple[str, int | None]] = {}
        self._moved_batches: list[tuple[Batch, str]] = []

    def read(self, piece: Piece) -> None:
        """A piece is on its way into the sink."""
        if self._kept:
            self._pieces.append(piece)

    def move(self, before: Place, changed: Record) -> None:
        """A record came out of the chain."""
        if self._kept and (changed.topic, changed.partition) != before[:2]:
            self._moved[(changed.topic, changed.partition, changed.offset)] = before[:2]

    def move_batch(self, topic: str, changed: Batch) -> None:
        """A batch that was read from a topic came out of the chain."""
        if self._kept and changed.topic != topic:
            self._moved_batches.append((changed, topic))

    def at(self, place: Place) -> Origin:
        """What was read at a place."""
        return self._find(place) or Origin(*place)

    def of(self, record: Record) -> Origin:
        """What a record was before the chain."""
        place = (record.topic, record.partition, record.offset)
        if not self._kept:
            return Origin(*place)
        before = self._moved.get(place) or self._before_batch(place) or place[:2]
        return self._find((*before, record.offset)) or self._made_up(record)

    def _before_batch(self, place: Place) -> tuple[str, int | None] | None:
        topic, partition, offset = place
        for batch, before in reversed(self._moved_batches):
            if batch.topic != topic or batch.offset is None or batch.partition is None or offset is None:
                continue
            if pc.index(batch.offset, offset).as_py() >= 0 and batch.partition[0].as_py() == partition:
                return before, partition
        return None

    def _find(self, place: Place) -> Origin | None:
        topic, partition, offset = place
        for piece in self._pieces:
            if (
                (piece.topic, piece.partition) == (topic, partition)
                and offset is not None
                and 0 <= offset - piece.start < len(piece.rows)
            ):
                return piece.origin(offset - piece.start)
        return None

    def _made_up(self, record: Record) -> Origin:
        """For a record that the task made itself: its bytes come from the converters."""
        copy = self._copy
        return Origin(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            key=copy.key_converter.from_data(record.topic, record.key_schema, record.key),
            value=copy.value_converter.from_data(record.topic, record.value_schema, record.value),
            headers=[
                (h.key, copy.header_converter.from_header(record.topic, h.key, h.schema, h.value))
                for h in record.headers
            ],
        )
