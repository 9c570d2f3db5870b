"""Values of records on their way into PostgreSQL: which column type they want, and how they are written."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import Schema, SchemaType, logical
from penstock.api.record import FrozenKey, Millis

from . import types

_INFINITE = (1 << 63) - 1
_EARLY = r"^(0000|-\d+)-"
_BY_TYPE = {
    SchemaType.INT8: "smallint",
    SchemaType.INT16: "smallint",
    SchemaType.INT32: "integer",
    SchemaType.INT64: "bigint",
    SchemaType.FLOAT32: "real",
    SchemaType.FLOAT64: "double precision",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.STRING: "text",
    SchemaType.BYTES: "bytea",
    SchemaType.MAP: "jsonb",
    SchemaType.STRUCT: "jsonb",
}
_BY_NAME = {
    logical.DATE_NAME: "date",
    logical.TIME_NAME: "time",
    logical.TIMESTAMP_NAME: "timestamp",
    types.DATE_NAME: "date",
    types.TIME_NAME: "time(3)",
    types.MICRO_TIME_NAME: "time",
    types.TIMESTAMP_NAME: "timestamp(3)",
    types.MICRO_TIMESTAMP_NAME: "timestamp",
    types.ZONED_TIMESTAMP_NAME: "timestamptz",
    types.ZONED_TIME_NAME: "timetz",
    types.INTERVAL_NAME: "interval",
    types.MICRO_DURATION_NAME: "interval",
    types.JSON_NAME: "jsonb",
    types.XML_NAME: "xml",
    types.UUID_NAME: "uuid",
    types.BITS_NAME: "bit varying",
    types.VARIABLE_DECIMAL_NAME: "numeric",
}
_BY_ARROW: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_decimal, "numeric"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_large_binary, "bytea"),
    (pa.types.is_nested, "jsonb"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "timestamptz"),
)


def column_type(schema: Schema | None, kind: pa.DataType) -> str:
    """The PostgreSQL type for a column; without a schema the Arrow type decides."""
    if schema is None:
        return next((name for fits, name in _BY_ARROW if fits(kind)), "text")
    if schema.name == logical.DECIMAL_NAME:
        return f"numeric(38,{scale})" if 0 < (scale := logical.schema_scale(schema)) < 38 else "numeric"
    if schema.name in _BY_NAME:
        return _BY_NAME[schema.name]
    if schema.type is SchemaType.ARRAY:
        inner = schema.value_schema
        return "jsonb" if inner is None or inner.type in _NESTED else f"{column_type(inner, pa.null())}[]"
    return _BY_TYPE[schema.type]


_NESTED = (SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT)


def csv_column(array: pa.Array, schema: Schema | None) -> pa.Array:
    """A column that Arrow's CSV writer writes as PostgreSQL reads it."""
    kind = array.type
    if schema is not None and schema.name in _WRITERS:
        return _WRITERS[schema.name](array)
    if schema is not None and schema.name == types.BITS_NAME:
        length = int((schema.parameters or {}).get("length", "0"))
        return _each(array, lambda value: _bits(value, length))
    if schema is not None and schema.type is SchemaType.ARRAY and column_type(schema, kind) != "jsonb":
        return _array_literals(array, schema)
    if pa.types.is_nested(kind):
        return _each(array, _json)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _each(array, lambda value: "\\x" + value.hex())
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or _is_text(kind):
        return array
    return pc.cast(array, pa.string())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind))


def _each(array: pa.Array, function: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if value is None else function(value) for value in array.to_pylist()], pa.string())


def _cast(*kinds: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def cast(array: pa.Array) -> pa.Array:
        for kind in kinds:
            array = pc.cast(array, kind)
        return pc.cast(array, pa.string())

    return cast


def _timestamps(unit: str) -> Callable[[pa.Array], pa.Array]:
    """Numbers since 1970 as timestamps; the largest and smallest ones are infinity."""

    def cast(array: pa.Array) -> pa.Array:
        numbers = pc.cast(array, pa.int64())
        limit = _INFINITE // (1000 if unit == "ms" else 1)
        endless = pc.greater_equal(pc.abs(numbers), limit)
        texts = _with_eras(pc.cast(pc.cast(pc.if_else(endless, 0, numbers), pa.timestamp(unit)), pa.string()))
        infinite = pc.if_else(pc.less(numbers, 0), "-infinity", "infinity")
        return pc.if_else(endless, infinite, texts)

    return cast


def _dates(array: pa.Array) -> pa.Array:
    numbers = pc.cast(array, pa.int32())
    endless = pc.greater_equal(pc.abs(pc.cast(numbers, pa.int64())), (1 << 31) - 1)
    days = pc.if_else(endless, pa.scalar(0, pa.int32()), numbers)
    texts = _with_eras(pc.cast(pc.cast(days, pa.date32()), pa.string()))
    infinite = pc.if_else(pc.less(numbers, 0), "-infinity", "infinity")
    return pc.if_else(endless, infinite, texts)


def _with_eras(texts: pa.Array) -> pa.Array:
    """Dates whose years before the first one count backwards: 0000 and -0043 are 1 BC and 44 BC."""
    if not pc.any(pc.match_substring_regex(texts, _EARLY)).as_py():
        return texts
    return _each(texts, lambda text: re.sub(_EARLY + "(.*)", _before_christ, text))


def _before_christ(match: re.Match[str]) -> str:
    return f"{1 - int(match[1]):04}-{match[2]} BC"


def _clock(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}"


def _variable_decimal(value: dict[str, Any]) -> str:
    return str(logical.decimal_of(int.from_bytes(value["value"], "big", signed=True), value["scale"]))


def _bits(value: bytes, length: int) -> str:
    text = f"{int.from_bytes(value, 'little'):b}"
    return text.rjust(length if 0 < length < 2147483647 else 8 * len(value), "0")


def _json(value: Any) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, FrozenKey):
        return value.value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Millis):
        return int(value)
    if isinstance(value, date | time | datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _array_literals(array: pa.Array, schema: Schema) -> pa.Array:
    """Arrays as ``{1,NULL,"a"}``."""
    items = csv_column(array.flatten(), schema.value_schema)
    texts = iter("NULL" if item is None else _item(item) for item in items.to_pylist())
    counts = pc.list_value_length(array).to_pylist()
    rows = [None if count is None else "{" + ",".join([next(texts) for _ in range(count)]) + "}" for count in counts]
    return pa.array(rows, pa.string())


def _item(value: Any) -> str:
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


_WRITERS: dict[str, Callable[[pa.Array], pa.Array]] = {
    logical.DATE_NAME: lambda array: _with_eras(pc.cast(pc.cast(array, pa.date32()), pa.string())),
    logical.TIME_NAME: _cast(pa.int32(), pa.time32("ms")),
    logical.TIMESTAMP_NAME: _timestamps("ms"),
    types.DATE_NAME: _dates,
    types.TIME_NAME: lambda array: _each(array, lambda millis: _clock(millis * 1000)),
    types.MICRO_TIME_NAME: lambda array: _each(array, _clock),
    types.TIMESTAMP_NAME: _timestamps("ms"),
    types.MICRO_TIMESTAMP_NAME: _timestamps("us"),
    types.MICRO_DURATION_NAME: lambda array: _each(array, lambda micros: f"{micros} microseconds"),
    types.VARIABLE_DECIMAL_NAME: lambda array: _each(array, _variable_decimal),
}
