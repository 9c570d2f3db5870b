"""Records and their schemas: one model for connectors, converters and transforms.

A value with a :class:`Schema` is a plain Python value whose meaning the schema gives: a STRUCT or MAP is a
``dict``, an ARRAY a ``list``, BYTES ``bytes``, and the logical types are :class:`decimal.Decimal`,
:class:`datetime.date`, :class:`datetime.time` and :class:`datetime.datetime` (UTC). A field that is missing
from a struct's ``dict`` is missing, not null. Without a schema, a ``dict`` is a map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple


class SchemaType(Enum):
    """The types of Kafka Connect's data model."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


class NoDefault(Enum):
    """The type of :data:`NO_DEFAULT`, so that a default of ``None`` differs from no default."""

    NO_DEFAULT = "no default"


NO_DEFAULT = NoDefault.NO_DEFAULT


class Field(NamedTuple):
    """A named member of a STRUCT schema."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """What a value is. Immutable, comparable, hashable by identity of its parts."""

    type: SchemaType
    optional: bool = False
    default: Any = NO_DEFAULT
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = None
    fields: tuple[Field, ...] = ()
    key_schema: Schema | None = None
    value_schema: Schema | None = None

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields of a STRUCT by their names."""
        return {f.name: f for f in self.fields}

    def with_(self, **changes: Any) -> Schema:
        """A copy with some attributes changed."""
        return replace(self, **changes)

    __hash__ = object.__hash__


STRING = Schema(SchemaType.STRING)
OPTIONAL_STRING = Schema(SchemaType.STRING, optional=True)
BYTES = Schema(SchemaType.BYTES)
OPTIONAL_BYTES = Schema(SchemaType.BYTES, optional=True)


class Header(NamedTuple):
    """One header of a record; names may repeat."""

    key: str
    value: Any
    schema: Schema | None = None


@dataclass(slots=True)
class Record:
    """A record in flight, between a connector and a converter.

    ``topic`` and ``partition`` say where it goes (or came from); ``partition=None`` leaves it to the
    partitioner. ``offset`` is only set for records read from a topic. ``timestamp`` is milliseconds since 1970.
    """

    value: Any = None
    key: Any = None
    topic: str = ""
    partition: int | None = None
    value_schema: Schema | None = None
    key_schema: Schema | None = None
    headers: Sequence[Header] = field(default_factory=tuple)
    timestamp: int | None = None
    offset: int | None = None

    def with_(self, **changes: Any) -> Record:
        """A copy with some attributes changed."""
        return replace(self, **changes)
