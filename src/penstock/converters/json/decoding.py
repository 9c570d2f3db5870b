"""JSON trees to values of a schema, with Kafka Connect's conversions and its words for what does not fit.

A payload of the wrong JSON type is not an error in Kafka Connect: a number reads as 0, a boolean as false, a string
or bytes as null.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    date_from_days,
    decimal_from_bytes,
    decimal_to_long,
    from_millis,
    time_from_millis,
    wrap,
)
from penstock.api.record import FrozenKey, Schema, SchemaType
from penstock.api.text import decimal_to_float32, java_class

from .reader import MISSING, to_plain

Read = Callable[[Any], Any]

_BASE64 = re.compile(r"(?:[\x00-\x20]*[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==))*[\x00-\x20]*")
_NO_BLANKS = dict.fromkeys(range(33))
_CONTAINERS = (SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT)
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}


def reader_for(schema: Schema | None, replace_null: bool, location: str | None = None) -> Read:
    """A function from JSON trees to values of the schema.

    ``location`` is set inside a struct, where a value that reads as null though it is required is refused.
    """
    if schema is None:
        return _plain
    if schema.name not in _LOGICAL:
        read = _by_type(schema, replace_null, location)
    elif location is not None and schema.type in _CONTAINERS:
        read = _misnamed_reader(schema)
    else:
        read = _LOGICAL[schema.name](schema)
    if schema.default_value is not None and replace_null:
        return lambda node: schema.default_value if node is None else read(node)
    if schema.optional:
        return lambda node: None if node is None else read(node)

    def required(node: Any) -> Any:
        if node is None:
            raise DataError(f"Invalid null value for required {schema.type.name} field")
        return read(node)

    return required


def node_type(node: Any) -> str:
    """What Jackson calls the type of a node."""
    if node is None or node is MISSING:
        return "NULL" if node is None else "MISSING"
    if isinstance(node, bool):
        return "BOOLEAN"
    if isinstance(node, str):
        return "STRING"
    if isinstance(node, list):
        return "ARRAY"
    return "OBJECT" if isinstance(node, dict) else "NUMBER"


def base64_bytes(text: str) -> bytes:
    """Base64 with padding and white space between groups; ``ValueError`` otherwise."""
    if _BASE64.fullmatch(text) is None:
        raise ValueError("no base64")
    groups = re.findall(r"[^=]+=*", text.translate(_NO_BLANKS))
    return b"".join([b64decode(group) for group in groups])


def _plain(node: Any) -> Any:
    return None if node is MISSING else to_plain(node)


def _by_type(schema: Schema, replace_null: bool, location: str | None) -> Read:
    kind = schema.type
    if kind in _BITS:
        return _integer_reader(_BITS[kind])
    if kind is SchemaType.STRUCT:
        return _struct_reader(schema, replace_null)
    if kind is SchemaType.ARRAY:
        return _array_reader(schema, replace_null, location)
    if kind is SchemaType.MAP:
        return _map_reader(schema, replace_null, location)
    if kind in (SchemaType.STRING, SchemaType.BYTES):
        return _text_reader(schema, location)
    return {SchemaType.FLOAT32: _float32, SchemaType.FLOAT64: _float64, SchemaType.BOOLEAN: _boolean}[kind]


def _misnamed_reader(schema: Schema) -> Read:
    """A container with the name of a logical type reads as that type, which then cannot go into a struct."""
    read = _LOGICAL[schema.name](schema)

    def refuse(node: Any) -> Any:
        found = java_class(read(node))
        raise DataError(f"class {found} cannot be cast to {schema.type.name}", "java.lang.ClassCastException")

    return refuse


def _integer_reader(bits: int) -> Read:
    half = 1 << (bits - 1)

    def read(node: Any) -> int:
        if type(node) is int:
            return node if -half <= node < half else wrap(node, bits)
        return wrap(decimal_to_long(node), bits) if isinstance(node, Decimal) else 0

    return read


def _float64(node: Any) -> float:
    if isinstance(node, Decimal):
        return float(node) if node else 0.0
    if type(node) is not int:
        return 0.0
    try:
        return float(node)
    except OverflowError:
        return float("inf") if node > 0 else float("-inf")


def _float32(node: Any) -> float:
    return decimal_to_float32(node) if type(node) is int or (isinstance(node, Decimal) and node) else 0.0


def _boolean(node: Any) -> bool:
    return node is True


def _text_reader(schema: Schema, location: str | None) -> Read:
    is_bytes = schema.type is SchemaType.BYTES

    def read(node: Any) -> str | bytes | None:
        if isinstance(node, str):
            return _bytes(node) if is_bytes else node
        if location is not None and not schema.optional:
            kind = schema.type.name
            raise DataError(f"Invalid value: null used for required {location}, schema type: {kind}")
        return None

    return read


def _bytes(text: str) -> bytes:
    try:
        return base64_bytes(text)
    except ValueError:
        raise DataError("Invalid bytes field") from None


def _struct_reader(schema: Schema, replace_null: bool) -> Read:
    members = [(f.name, reader_for(f.schema, replace_null, f'field: "{f.name}"')) for f in schema.fields]

    def read(node: Any) -> dict[str, Any]:
        if not isinstance(node, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
        get = node.get
        return {name: read_member(get(name)) for name, read_member in members}

    return read


def _array_reader(schema: Schema, replace_null: bool, location: str | None) -> Read:
    inner = reader_for(schema.value_schema, replace_null, location and f"element of array {location}")

    def read(node: Any) -> list[Any]:
        if isinstance(node, dict):
            node = node.values()
        elif not isinstance(node, list):
            return []
        return [inner(item) for item in node]

    return read


def _map_reader(schema: Schema, replace_null: bool, location: str | None) -> Read:
    read_key = reader_for(schema.key_schema, replace_null, location and f"key of map {location}")
    read_value = reader_for(schema.value_schema, replace_null, location and f"value of map {location}")

    def read_object(node: Any) -> dict[Any, Any]:
        if not isinstance(node, dict):
            found = node_type(node)
            raise DataError(f"Maps with string fields should be encoded as JSON objects, but found {found}")
        return {key: read_value(value) for key, value in node.items()}

    def read_pairs(node: Any) -> dict[Any, Any]:
        if not isinstance(node, list):
            found = node_type(node)
            raise DataError(f"Maps with non-string fields should be encoded as JSON array of tuples, but found {found}")
        return dict(map(read_pair, node))

    def read_pair(entry: Any) -> tuple[Any, Any]:
        if not isinstance(entry, list):
            raise DataError(f"Found invalid map entry instead of array tuple: {node_type(entry)}")
        if len(entry) != 2:
            raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
        return FrozenKey.of(read_key(entry[0])), read_value(entry[1])

    by_name = schema.key_schema is not None and schema.key_schema.type is SchemaType.STRING
    return read_object if by_name else read_pairs


def _decimal_reader(schema: Schema) -> Read:
    def read(node: Any) -> Decimal:
        if isinstance(node, Decimal):
            return node if node else node.copy_abs()
        if type(node) is int:
            return Decimal(node)
        if not isinstance(node, str):
            found = node_type(node)
            raise DataError(
                f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {found}"
            )
        try:
            return decimal_from_bytes(schema, base64_bytes(node))
        except (DataError, ValueError):
            raise DataError("Invalid bytes for Decimal field") from None

    return read


def _int32_reader(kind: str, convert: Callable[[int], Any]) -> Callable[[Schema], Read]:
    def read(node: Any) -> Any:
        if type(node) is not int or not -(2**31) <= node < 2**31:
            found = node_type(node)
            raise DataError(f"Invalid type for {kind}, underlying representation should be integer but was {found}")
        return convert(node)

    return lambda schema: read


def _timestamp(node: Any) -> Any:
    if type(node) is not int:
        found = node_type(node)
        raise DataError(f"Invalid type for Timestamp, underlying representation should be integral but was {found}")
    return from_millis(wrap(node, 64))


_LOGICAL: dict[str | None, Callable[[Schema], Read]] = {
    DECIMAL_NAME: _decimal_reader,
    DATE_NAME: _int32_reader("Date", date_from_days),
    TIME_NAME: _int32_reader("Time", time_from_millis),
    TIMESTAMP_NAME: lambda schema: _timestamp,
}
