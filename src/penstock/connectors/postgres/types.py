"""PostgreSQL's types as schemas, and columns of PostgreSQL's texts as Arrow arrays.

Snapshots and the stream of changes both give values as text; one way from text to values serves both. Schemas carry the
names that Debezium gives them, so that consumers and sinks know what a number or a text stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import Schema, SchemaType
from penstock.api.arrow import MAX_DECIMAL_DIGITS, arrow_type
from penstock.api.logical import DATE, TIME, TIMESTAMP, decimal_schema
from penstock.api.record import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    array_schema,
    struct_schema,
)

from . import literals

Convert = Callable[[pa.Array], pa.Array]

BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID = 16, 17, 18, 19, 20, 21, 23, 25, 26
JSON, XML, FLOAT4, FLOAT8, MONEY = 114, 142, 700, 701, 790
BPCHAR, VARCHAR, DATE_OID, TIME_OID, TIMESTAMP_OID = 1042, 1043, 1082, 1083, 1114
TIMESTAMPTZ, INTERVAL, TIMETZ, BIT, VARBIT, NUMERIC, UUID, JSONB = 1184, 1186, 1266, 1560, 1562, 1700, 2950, 3802

JSON_NAME, XML_NAME, UUID_NAME = "io.debezium.data.Json", "io.debezium.data.Xml", "io.debezium.data.Uuid"
ENUM_NAME, BITS_NAME = "io.debezium.data.Enum", "io.debezium.data.Bits"
VARIABLE_DECIMAL_NAME = "io.debezium.data.VariableScaleDecimal"
DATE_NAME, TIME_NAME, MICRO_TIME_NAME = "io.debezium.time.Date", "io.debezium.time.Time", "io.debezium.time.MicroTime"
TIMESTAMP_NAME, MICRO_TIMESTAMP_NAME = "io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"
ZONED_TIMESTAMP_NAME, ZONED_TIME_NAME = "io.debezium.time.ZonedTimestamp", "io.debezium.time.ZonedTime"
INTERVAL_NAME, MICRO_DURATION_NAME = "io.debezium.time.Interval", "io.debezium.time.MicroDuration"

VARIABLE_DECIMAL = struct_schema(("scale", INT32), ("value", BYTES), name=VARIABLE_DECIMAL_NAME, version=1)


@dataclass(frozen=True)
class TypeInfo:
    """What the catalogue says of a column's type; a domain counts as what it is made of.

    ``output`` is the function that writes its values as text; empty where only the stream has told of the column.
    """

    oid: int
    modifier: int = -1
    element: int = 0
    labels: Sequence[str] = ()
    output: str = ""


@dataclass(frozen=True)
class Handling:
    """The keys that let users choose how some types appear."""

    decimals: str = "precise"
    times: str = "adaptive"
    intervals: str = "numeric"


@dataclass(frozen=True)
class ColumnType:
    """How a column's values appear: their (required) schema, and what makes them from text."""

    schema: Schema
    convert: Convert = field(repr=False)

    @property
    def takes_placeholder(self) -> bool:
        """Whether a text may stand for a value that is not known."""
        return self.schema.type in (SchemaType.STRING, SchemaType.BYTES) and self.schema.parameters is None


def column_type(info: TypeInfo, handling: Handling) -> ColumnType:
    """How values of a PostgreSQL type appear. A type that is not known is text."""
    if info.element:
        return _array(column_type(TypeInfo(info.element, info.modifier), handling))
    if info.labels:
        return _named(ENUM_NAME, {"allowed": ",".join(info.labels)})
    if info.oid in _SIMPLE:
        return _SIMPLE[info.oid]
    make = _BY_HANDLING.get(info.oid)
    return _TEXT if make is None else make(info.modifier, handling)


def _cast(kind: pa.DataType) -> Convert:
    return lambda texts: pc.cast(texts, kind)


def _each(function: Callable[[str], Any], kind: pa.DataType) -> Convert:
    return lambda texts: pa.array([None if text is None else function(text) for text in texts.to_pylist()], kind)


def _or_each(fast: Convert, function: Callable[[str], Any], kind: pa.DataType) -> Convert:
    """All values at once where they are of the usual form, else one by one."""

    def convert(texts: pa.Array) -> pa.Array:
        try:
            return fast(texts)
        except pa.ArrowInvalid:
            return _each(function, kind)(texts)

    return convert


def _same(texts: pa.Array) -> pa.Array:
    return texts


def _named(name: str, parameters: dict[str, str] | None = None) -> ColumnType:
    return ColumnType(Schema(SchemaType.STRING, name=name, version=1, parameters=parameters), _same)


def _micros(texts: pa.Array) -> pa.Array:
    """ISO timestamps as microseconds since 1970."""
    return pc.cast(pc.cast(texts, pa.timestamp("us")), pa.int64())


def _clock_micros(texts: pa.Array) -> pa.Array:
    """Times of day as microseconds since midnight."""
    day = pa.scalar("1970-01-01", pa.string())
    return _micros(pc.binary_join_element_wise(day, texts, pa.scalar(" ", pa.string())))


def _millis(micros: Convert, kind: pa.DataType) -> Convert:
    """The same in milliseconds, cut down to them as the clock does."""

    def convert(texts: pa.Array) -> pa.Array:
        numbers = micros(texts)
        down = pc.if_else(pc.less(numbers, 0), pc.subtract(numbers, 999), numbers)
        return pc.cast(pc.divide(down, 1000), kind)

    return convert


def _decimal(modifier: int, handling: Handling) -> ColumnType:
    if handling.decimals == "string":
        return _TEXT
    if handling.decimals == "double":
        return ColumnType(FLOAT64, _cast(pa.float64()))
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4 & 0x7FF ^ 0x400) - 0x400
    if modifier < 0 or precision > MAX_DECIMAL_DIGITS or not 0 <= scale <= precision:
        kind = arrow_type(VARIABLE_DECIMAL)
        return ColumnType(VARIABLE_DECIMAL, _each(literals.variable_decimal, kind))
    kind = pa.decimal128(MAX_DECIMAL_DIGITS, scale)
    return ColumnType(decimal_schema(scale), _or_each(_cast(kind), lambda text: literals.decimal(text, scale), kind))


def _date(_: int, handling: Handling) -> ColumnType:
    if handling.times == "connect":
        return ColumnType(DATE, _or_each(_cast(pa.date32()), literals.date, pa.date32()))
    schema = Schema(SchemaType.INT32, name=DATE_NAME, version=1)
    days = _or_each(lambda texts: pc.cast(pc.cast(texts, pa.date32()), pa.int32()), literals.days, pa.int32())
    return ColumnType(schema, days)


def _time(modifier: int, handling: Handling) -> ColumnType:
    if handling.times == "connect" or 0 <= modifier <= 3:
        schema = TIME if handling.times == "connect" else Schema(SchemaType.INT32, name=TIME_NAME, version=1)
        fast = _millis(_clock_micros, pa.int32())
        return ColumnType(schema, _or_each(fast, lambda text: literals.time_micros(text) // 1000, pa.int32()))
    schema = Schema(SchemaType.INT64, name=MICRO_TIME_NAME, version=1)
    return ColumnType(schema, _or_each(_clock_micros, literals.time_micros, pa.int64()))


def _timestamp(modifier: int, handling: Handling) -> ColumnType:
    if handling.times == "connect" or 0 <= modifier <= 3:
        debezium = Schema(SchemaType.INT64, name=TIMESTAMP_NAME, version=1)
        schema = TIMESTAMP if handling.times == "connect" else debezium
        kind = arrow_type(schema)
        fast = _millis(_micros, kind)
        return ColumnType(schema, _or_each(fast, lambda text: literals.timestamp_micros(text) // 1000, kind))
    schema = Schema(SchemaType.INT64, name=MICRO_TIMESTAMP_NAME, version=1)
    return ColumnType(schema, _or_each(_micros, literals.timestamp_micros, pa.int64()))


def _zoned_timestamp(texts: pa.Array) -> pa.Array:
    """``2024-02-29 12:30:00.5+00`` as ``2024-02-29T12:30:00.5Z``; ``infinity`` and years before Christ stay."""
    return pc.replace_substring_regex(texts, r"^(\d{4,}-\d\d-\d\d) ([0-9:.]+)\+00$", r"\1T\2Z")


def _interval(_: int, handling: Handling) -> ColumnType:
    if handling.intervals == "string":
        return _named(INTERVAL_NAME)
    schema = Schema(SchemaType.INT64, name=MICRO_DURATION_NAME, version=1)
    return ColumnType(schema, _each(literals.interval_micros, pa.int64()))


def _bits(modifier: int, _: Handling) -> ColumnType:
    if modifier == 1:
        return ColumnType(BOOLEAN, lambda texts: pc.equal(texts, "1"))
    parameters = {"length": str(modifier if modifier > 0 else 2147483647)}
    schema = Schema(SchemaType.BYTES, name=BITS_NAME, version=1, parameters=parameters)
    return ColumnType(schema, _each(literals.bits, pa.binary()))


def _array(element: ColumnType) -> ColumnType:
    """Arrays of one dimension; those with more are flattened."""
    kind = pa.list_(arrow_type(element.schema))

    def convert(texts: pa.Array) -> pa.Array:
        rows = [None if text is None else literals.array_items(text) for text in texts.to_pylist()]
        counts = [0 if row is None else len(row) for row in rows]
        items = pa.array([item for row in rows if row is not None for item in row], pa.string())
        ends = pa.array([None if row is None else 0 for row in rows], pa.int32())
        offsets = pc.cumulative_sum(pa.array([0, *counts], pa.int32()))
        return pa.ListArray.from_arrays(offsets, element.convert(items), kind, mask=ends.is_null())

    return ColumnType(array_schema(element.schema.with_(optional=True)), convert)


_TEXT = ColumnType(STRING, _same)
_SIMPLE = {
    BOOL: ColumnType(BOOLEAN, lambda texts: pc.equal(texts, "t")),
    BYTEA: ColumnType(BYTES, _each(literals.bytea, pa.binary())),
    INT8: ColumnType(INT64, _cast(pa.int64())),
    INT2: ColumnType(INT16, _cast(pa.int16())),
    INT4: ColumnType(INT32, _cast(pa.int32())),
    OID: ColumnType(INT64, _cast(pa.int64())),
    FLOAT4: ColumnType(FLOAT32, _or_each(_cast(pa.float32()), float, pa.float32())),
    FLOAT8: ColumnType(FLOAT64, _or_each(_cast(pa.float64()), float, pa.float64())),
    MONEY: ColumnType(decimal_schema(2), _each(literals.money, pa.decimal128(MAX_DECIMAL_DIGITS, 2))),
    JSON: _named(JSON_NAME),
    JSONB: _named(JSON_NAME),
    XML: _named(XML_NAME),
    UUID: _named(UUID_NAME),
    TIMESTAMPTZ: ColumnType(Schema(SchemaType.STRING, name=ZONED_TIMESTAMP_NAME, version=1), _zoned_timestamp),
    TIMETZ: ColumnType(
        Schema(SchemaType.STRING, name=ZONED_TIME_NAME, version=1), _each(literals.zoned_time, pa.string())
    ),
}
_BY_HANDLING: dict[int, Callable[[int, Handling], ColumnType]] = {
    NUMERIC: _decimal,
    DATE_OID: _date,
    TIME_OID: _time,
    TIMESTAMP_OID: _timestamp,
    INTERVAL: _interval,
    BIT: _bits,
    VARBIT: _bits,
}
