"""Arrow arrays from values without a schema, with types inferred as Spark infers those of JSON; and back to JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from .record import FrozenKey
from .values import to_text

_INT64 = range(-(2**63), 2**63)


def fitting_array(values: list[Any]) -> pa.Array:
    """One array for all values. Integers and decimals together are doubles; what has no common type becomes text."""
    try:
        kind = _storable(pa.infer_type(values))
        if kind is not None:
            return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    kind = _common_type(values)
    return pa.array([_fit(value, kind) for value in values], kind)


def json_like(value: Any) -> Any:
    """A value of an Arrow array as JSON knows it: decimals become numbers, dates and times ISO text, maps objects."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and _scale(value) <= 0 else float(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: json_like(item) for name, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return {str(json_like(key)): json_like(item) for key, item in value}
        return [json_like(item) for item in value]
    return value


def _scale(value: Decimal) -> int:
    return -int(value.as_tuple().exponent)


def _storable(kind: pa.DataType) -> pa.DataType | None:
    """The same type with text where only nulls are known; ``None`` for what Parquet or Spark has no type for."""
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_time(kind):
        return None
    if pa.types.is_list(kind):
        items = _storable(kind.value_type)
        return None if items is None else pa.list_(items)
    if pa.types.is_struct(kind):
        fields = [(field.name, _storable(field.type)) for field in kind]
        return pa.struct(fields) if fields and all(item is not None for _, item in fields) else None
    return kind


def _common_type(values: Iterable[Any]) -> pa.DataType:
    """The narrowest type that holds all values, text if there is no other."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, dict) and value for value in present):
        names = dict.fromkeys(name for value in present for name in value)
        if all(isinstance(name, str) for name in names):
            return pa.struct([(name, _common_type(value.get(name) for value in present)) for name in names])
    if present and all(isinstance(value, list) for value in present):
        return pa.list_(_common_type(item for value in present for item in value))
    kinds = {_scalar_type(value) for value in present}
    if kinds == {pa.int64(), pa.float64()}:
        return pa.float64()
    return kinds.pop() if len(kinds) == 1 else pa.string()


def _scalar_type(value: Any) -> pa.DataType:
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if value in _INT64 else pa.string()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, bytes):
        return pa.binary()
    if isinstance(value, datetime):
        return pa.timestamp("ms", "UTC")
    return pa.date32() if isinstance(value, date) else pa.string()


def _fit(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _fit(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_fit(item, kind.value_type) for item in value]
    if pa.types.is_floating(kind):
        return float(value)
    return _text(value) if pa.types.is_string(kind) else value


def _text(value: Any) -> str:
    """Text and what is written as such stay; anything else is written as JSON."""
    plain = _jsonable(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _jsonable(value: Any) -> Any:
    if isinstance(value, FrozenKey):
        return _jsonable(value.value)
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else _text(name): _jsonable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else to_text(value)
