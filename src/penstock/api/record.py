"""Records and their schemas: one model for connectors, converters and transforms.

A value is a plain Python value. With a :class:`Schema`, the schema gives its meaning:

=============================  ==================================================================================
Schema                         Python value
=============================  ==================================================================================
INT8 … INT64                   ``int``
FLOAT32, FLOAT64               ``float`` (a FLOAT32 is rounded to 32 bits before it is written)
BOOLEAN, STRING, BYTES         ``bool``, ``str``, ``bytes``
ARRAY                          ``list``
MAP                            ``dict`` (a key that Python cannot hash becomes a :class:`FrozenKey`)
STRUCT                         ``dict`` from field names; a field that is not in it is missing, which Kafka
                               Connect treats like null; read fields with :func:`get_field` to see defaults
Decimal                        :class:`decimal.Decimal`; its exponent is minus the scale
Date, Time, Timestamp          :class:`datetime.date`, :class:`datetime.time`, :class:`datetime.datetime` in UTC;
                               what those cannot hold is :class:`Millis` (see :mod:`penstock.api.logical`)
=============================  ==================================================================================

Without a schema the Python type stands for the Java class that Kafka Connect would hold: ``int`` is a Long, ``float``
a Double, ``dict`` a Map, ``list`` a List, ``bytes`` a ``byte[]``, ``date``, ``time``, ``datetime`` and ``Millis`` a
``java.util.Date``. The classes that no plain Python type stands for are :class:`Int8`, :class:`Int16`, :class:`Int32`
and :class:`Float32`; use them wherever a value without a schema (or of another class than its schema says) must be
narrower. They are numbers like any other, so code that reads values need not know them.

Values are shared between records: never change one in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
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

    __hash__ = object.__hash__


class Int8(int):
    """A Java Byte where no schema says so."""

    __slots__ = ()


class Int16(int):
    """A Java Short where no schema says so."""

    __slots__ = ()


class Int32(int):
    """A Java Integer where no schema says so."""

    __slots__ = ()


class Float32(float):
    """A Java Float where no schema says so; holds a number that 32 bits can hold."""

    __slots__ = ()


class Millis(int):
    """A ``java.util.Date`` that Python's date and time types cannot hold: milliseconds since 1970.

    Years outside 1 to 9999, and a Time of exactly 24:00.
    """

    __slots__ = ()


class FrozenKey(tuple[Any, ...]):
    """A list or dict as the key of a map: hashable, and ``value`` gives it back.

    Also a scalar beside one that only Python takes for the same, as 1 beside ``True``.
    """

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> Any:
        """``value`` itself if Python can hash it, else its frozen form."""
        if isinstance(value, list):
            return cls(("list", *map(cls.of, value)))
        if isinstance(value, dict):
            return cls(("dict", *((k, cls.of(v)) for k, v in value.items())))
        return value

    @classmethod
    def beside(cls, value: Any) -> FrozenKey:
        """A scalar as a key of its own."""
        return cls(("scalar", type(value), value))

    @property
    def value(self) -> Any:
        """What this key stands for."""
        return self._thaw(self)

    @classmethod
    def _thaw(cls, item: Any) -> Any:
        if not isinstance(item, FrozenKey):
            return item
        if item[0] == "scalar":
            return item[2]
        if item[0] == "list":
            return [cls._thaw(v) for v in item[1:]]
        return {k: cls._thaw(v) for k, v in item[1:]}


class NoDefault(Enum):
    """The type of :data:`NO_DEFAULT`."""

    NO_DEFAULT = "no default"


NO_DEFAULT = NoDefault.NO_DEFAULT
"""A schema without a default. ``None`` given as a default means the same, as in Kafka Connect."""


class Field(NamedTuple):
    """A named member of a STRUCT schema."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """What a value is. Immutable; two schemas are equal when all their attributes are."""

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

    def __post_init__(self) -> None:
        if self.default is None:
            object.__setattr__(self, "default", NO_DEFAULT)

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields of a STRUCT by their names."""
        return {f.name: f for f in self.fields}

    @cached_property
    def default_value(self) -> Any:
        """The default, or ``None`` when there is none."""
        return None if self.default is NO_DEFAULT else self.default

    def with_(self, **changes: Any) -> Schema:
        """A copy with some attributes changed."""
        return replace(self, **changes)

    @cached_property
    def _hash(self) -> int:
        members = tuple(f.name for f in self.fields)
        inner = (self.key_schema, self.value_schema)
        return hash((self.type.value, self.optional, self.name, self.version, members, inner))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema, tuple(getattr(self, attribute.name) for attribute in fields(self))


INT8 = Schema(SchemaType.INT8)
INT16 = Schema(SchemaType.INT16)
INT32 = Schema(SchemaType.INT32)
INT64 = Schema(SchemaType.INT64)
FLOAT32 = Schema(SchemaType.FLOAT32)
FLOAT64 = Schema(SchemaType.FLOAT64)
BOOLEAN = Schema(SchemaType.BOOLEAN)
STRING = Schema(SchemaType.STRING)
BYTES = Schema(SchemaType.BYTES)
OPTIONAL_INT8 = INT8.with_(optional=True)
OPTIONAL_INT16 = INT16.with_(optional=True)
OPTIONAL_INT32 = INT32.with_(optional=True)
OPTIONAL_INT64 = INT64.with_(optional=True)
OPTIONAL_FLOAT32 = FLOAT32.with_(optional=True)
OPTIONAL_FLOAT64 = FLOAT64.with_(optional=True)
OPTIONAL_BOOLEAN = BOOLEAN.with_(optional=True)
OPTIONAL_STRING = STRING.with_(optional=True)
OPTIONAL_BYTES = BYTES.with_(optional=True)


def struct_schema(*members: tuple[str, Schema], **attributes: Any) -> Schema:
    """A STRUCT schema of the given (name, schema) pairs."""
    return Schema(SchemaType.STRUCT, fields=tuple(Field(*member) for member in members), **attributes)


def array_schema(items: Schema | None, **attributes: Any) -> Schema:
    """An ARRAY schema; ``None`` where the items have no common type."""
    return Schema(SchemaType.ARRAY, value_schema=items, **attributes)


def map_schema(keys: Schema | None, values: Schema | None, **attributes: Any) -> Schema:
    """A MAP schema; ``None`` where keys or values have no common type."""
    return Schema(SchemaType.MAP, key_schema=keys, value_schema=values, **attributes)


def get_field(struct: Mapping[str, Any], member: Field, with_default: bool = True) -> Any:
    """A field of a struct: its value, the default when that is null or missing, or ``None``.

    ``with_default=False`` never gives the default (``replace.null.with.default=false``).
    """
    value = struct.get(member.name)
    return member.schema.default_value if value is None and with_default else value


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
