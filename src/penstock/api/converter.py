"""Converters: bytes in a topic to values in flight, and back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .batch import Column, Part
from .plugin import Plugin
from .record import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class Converter(Plugin):
    """Turns keys or values into bytes and back. Runs on executors, one object for keys and one for values.

    Its forms for columns say ``None`` (or leave values out of their parts) where something must go value by value, bad
    values among it: what ``from_data`` and ``to_data`` raise, they do not. An exception of theirs has the same effect,
    but is a fault: it is logged, and counted in the metric ``penstock_task_column_fault_records_total``.
    """

    def configure_for(self, settings: Mapping[str, Any], is_key: bool) -> None:
        """Called instead of ``configure`` by the runtime; says which side it is for in ``converter.type``."""
        self.configure({**settings, "converter.type": "key" if is_key else "value"})

    @abstractmethod
    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """A value as bytes. ``None`` is a tombstone. ``DataError`` makes it a record-level error."""

    @abstractmethod
    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Bytes as a schema (or ``None``) and a value. ``DataError`` makes it a record-level error."""

    def encode(self, topic: str, column: Column) -> pa.Array | None:
        """A whole column as an Arrow binary array, or ``None`` when it must go value by value (the default).

        The bytes must be the same as ``from_data`` gives for each value.
        """
        return None

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        """A binary array as a column, or ``None`` when it must go value by value (the default).

        Values and schemas must be the same as ``to_data`` gives for each of them.
        """
        return None

    def decode_parts(self, topic: str, data: pa.Array) -> Sequence[Part]:
        """As many values of a binary array as can be columns; what is in no part goes value by value.

        Like ``decode``, for values that differ in schema or shape, or of which some are bad.
        """
        import numpy as np

        column = self.decode(topic, data)
        return [] if column is None else [Part(np.arange(len(data)), column)]


class HeaderConverter(Plugin):
    """Turns header values into bytes and back. Runs on executors.

    The runtime calls ``configure`` with ``converter.type`` set to ``header``.
    """

    @abstractmethod
    def from_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        """A header value as bytes. ``DataError`` makes it a record-level error."""

    @abstractmethod
    def to_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Header bytes as a schema (or ``None``) and a value. ``DataError`` makes it a record-level error."""
