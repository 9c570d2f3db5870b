"""Transforms that exist twice: one form for the key of a record, one for its value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from pyarrow import nulls

from penstock.api.batch import Batch, Column
from penstock.api.record import Header, Record, Schema
from penstock.api.transform import Transform


def with_key(record: Record, schema: Schema | None, key: Any, headers: Sequence[Header] | None = None) -> Record:
    """The record with another key, and with other headers if any are given."""
    return Record(
        record.value,
        key,
        record.topic,
        record.partition,
        record.value_schema,
        schema,
        record.headers if headers is None else headers,
        record.timestamp,
        record.offset,
    )


def with_value(record: Record, schema: Schema | None, value: Any, headers: Sequence[Header] | None = None) -> Record:
    """The record with another value, and with other headers if any are given."""
    return Record(
        value,
        record.key,
        record.topic,
        record.partition,
        schema,
        record.key_schema,
        record.headers if headers is None else headers,
        record.timestamp,
        record.offset,
    )


def with_topic(record: Record, topic: str) -> Record:
    """The record on its way to another topic."""
    return Record(
        record.value,
        record.key,
        topic,
        record.partition,
        record.value_schema,
        record.key_schema,
        record.headers,
        record.timestamp,
        record.offset,
    )


def with_headers(record: Record, headers: Sequence[Header]) -> Record:
    """The record with other headers."""
    return Record(
        record.value,
        record.key,
        record.topic,
        record.partition,
        record.value_schema,
        record.key_schema,
        headers,
        record.timestamp,
        record.offset,
    )


class SidedTransform(Transform):
    """Changes the key or the value, whichever its subclass for a side hands to :meth:`change`."""

    is_key: ClassVar[bool]

    @abstractmethod
    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        """The new schema and the new key or value. The same two objects leave the record as it is."""

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        """The same for the keys or values of a batch, or ``None`` when they must go one by one (the default)."""
        return None


class KeySide(SidedTransform):
    """Changes the key."""

    is_key = True

    def apply(self, record: Record) -> Record | None:
        schema, key = self.change(record.key_schema, record.key, record)
        if key is record.key and schema is record.key_schema:
            return record
        return with_key(record, schema, key)

    def apply_owned(self, record: Record) -> Record | None:
        record.key_schema, record.key = self.change(record.key_schema, record.key, record)
        return record

    def apply_batch(self, batch: Batch) -> Batch | None:
        key = self.change_column(Column(nulls(len(batch))) if batch.key is None else batch.key, batch)
        return None if key is None else batch.with_(key=key)


class ValueSide(SidedTransform):
    """Changes the value."""

    is_key = False

    def apply(self, record: Record) -> Record | None:
        schema, value = self.change(record.value_schema, record.value, record)
        if value is record.value and schema is record.value_schema:
            return record
        return with_value(record, schema, value)

    def apply_owned(self, record: Record) -> Record | None:
        record.value_schema, record.value = self.change(record.value_schema, record.value, record)
        return record

    def apply_batch(self, batch: Batch) -> Batch | None:
        value = self.change_column(batch.value, batch)
        return None if value is None else batch.with_(value=value)
