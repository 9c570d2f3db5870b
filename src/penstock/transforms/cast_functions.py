"""One value from one type to another, by the rules of the Cast transform."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    days_from_date,
    is_java_date,
    millis_from_time,
    to_millis,
)
from penstock.api.record import Float32, Int8, Int16, Int32, Millis, Schema, SchemaType
from penstock.api.text import java_class
from penstock.api.values import to_text

from .java.numbers import parse_double, parse_float, parse_integer, to_double, to_float, to_integer

Cast = Callable[[Any], Any]

TARGETS = (
    SchemaType.INT8,
    SchemaType.INT16,
    SchemaType.INT32,
    SchemaType.INT64,
    SchemaType.FLOAT32,
    SchemaType.FLOAT64,
    SchemaType.BOOLEAN,
    SchemaType.STRING,
)
_SOURCES = (*TARGETS, SchemaType.BYTES)
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_NARROW: dict[SchemaType, Callable[[Any], Any]] = {
    SchemaType.INT8: Int8,
    SchemaType.INT16: Int16,
    SchemaType.INT32: Int32,
    SchemaType.FLOAT32: Float32,
}
_ENCODE: dict[str, Callable[[Any], int]] = {
    DATE_NAME: days_from_date,
    TIME_NAME: millis_from_time,
    TIMESTAMP_NAME: to_millis,
}
_INFERRED: dict[type, SchemaType] = {
    int: SchemaType.INT64,
    str: SchemaType.STRING,
    float: SchemaType.FLOAT64,
    bool: SchemaType.BOOLEAN,
    dict: SchemaType.MAP,
    list: SchemaType.ARRAY,
    bytes: SchemaType.BYTES,
    Int8: SchemaType.INT8,
    Int16: SchemaType.INT16,
    Int32: SchemaType.INT32,
    Float32: SchemaType.FLOAT32,
}


def inferred_type(value: Any, transform: str) -> SchemaType:
    """The type of a value without a schema; an error that names the transform when there is none for its class."""
    found = _INFERRED.get(type(value))
    if found is not None:
        return found
    for python in (dict, list, str, bytes):
        if isinstance(value, python):
            return _INFERRED[python]
    raise DataError(
        f"{transform} transformation was passed a value of type class {java_class(value)} "
        "which is not supported by Connect's data API"
    )


def type_list(types: tuple[SchemaType, ...]) -> str:
    """Types as Java prints a set of them."""
    return f"[{', '.join(t.name for t in types)}]"


def cast_with_schema(schema: Schema, target: SchemaType) -> Cast:
    """Casts values of one schema. Null stays null, whatever the schema."""
    if schema.type not in _SOURCES:
        return _refuse(schema.type)
    convert = _converter(target, schema)
    encode = _ENCODE.get(schema.name or "") if target is not SchemaType.STRING else None

    def cast(value: Any) -> Any:
        if value is None:
            return None
        if encode is not None:
            if not is_java_date(value):
                raise DataError(f"class {java_class(value)} cannot be cast to class java.util.Date", _CLASS_CAST)
            value = encode(value)
        return convert(value)

    return cast


def cast_schemaless(target: SchemaType) -> Cast:
    """Casts values without a schema, to the class that stands for the target."""
    convert = _converter(target, None)
    narrow = _NARROW.get(target)

    def cast(value: Any) -> Any:
        if value is None:
            return None
        source = inferred_type(value, "Cast")
        if source not in _SOURCES:
            raise _unsupported(source)
        return convert(value) if narrow is None else narrow(convert(value))

    return cast


_CLASS_CAST = "java.lang.ClassCastException"


def _unsupported(source: SchemaType) -> DataError:
    return DataError(
        f"Cast transformation does not support casting from {source.name}; supported types are {type_list(_SOURCES)}"
    )


def _refuse(source: SchemaType) -> Cast:
    def cast(value: Any) -> Any:
        if value is not None:
            raise _unsupported(source)
        return None

    return cast


def _converter(target: SchemaType, schema: Schema | None) -> Cast:
    if target is SchemaType.STRING:
        return lambda value: str(value) if type(value) is int else to_text(value, schema)
    if target is SchemaType.BOOLEAN:
        return _to_boolean
    if target is SchemaType.FLOAT32:
        return _to_number(to_float, parse_float)
    if target is SchemaType.FLOAT64:
        return _to_number(to_double, parse_double)
    bits = _BITS[target]
    return _to_number(lambda number: to_integer(number, bits), lambda text: parse_integer(text, bits))


def _to_number(narrow: Callable[[Any], Any], parse: Callable[[str], Any]) -> Cast:
    def convert(value: Any) -> Any:
        if isinstance(value, str):
            try:
                return parse(value)
            except ValueError:
                raise DataError(f"Value ({value}) was out of range for requested data type") from None
        if isinstance(value, (int, float, Decimal)) and not isinstance(value, Millis):
            return narrow(value)
        raise _unexpected(value)

    return convert


def _to_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() == "true"
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, Millis):
        return to_integer(value, 64) != 0
    raise _unexpected(value)


def _unexpected(value: Any) -> DataError:
    return DataError(f"Unexpected type in Cast transformation: class {java_class(value)}")
