"""Values as Java prints them: what StringConverter and the file sink write, and what messages name.

``Struct{a=1,b=x}``, ``{a=1, b=x}``, ``[1, 2]``, ``1.0E10``, ``Tue Nov 14 22:13:20 UTC 2023``. Floats have the fewest
digits that identify them, as Java prints them since version 19.
"""

from __future__ import annotations

import math
import struct
from datetime import date, time
from decimal import Decimal
from typing import Any

from .calendar import MILLIS_PER_DAY, java_date
from .logical import to_millis
from .record import Float32, FrozenKey, Int8, Int16, Int32, Millis, Schema, SchemaType

_WEEKDAYS = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_CLASSES: tuple[tuple[type, str], ...] = (
    (bool, "java.lang.Boolean"),
    (Int8, "java.lang.Byte"),
    (Int16, "java.lang.Short"),
    (Int32, "java.lang.Integer"),
    (Millis, "java.util.Date"),
    (int, "java.lang.Long"),
    (Float32, "java.lang.Float"),
    (float, "java.lang.Double"),
    (str, "java.lang.String"),
    (bytes, "[B"),
    (Decimal, "java.math.BigDecimal"),
    (date, "java.util.Date"),
    (time, "java.util.Date"),
    (list, "java.util.ArrayList"),
    (dict, "java.util.HashMap"),
)
_BY_SCHEMA = {
    (int, SchemaType.INT8): "java.lang.Byte",
    (int, SchemaType.INT16): "java.lang.Short",
    (int, SchemaType.INT32): "java.lang.Integer",
    (float, SchemaType.FLOAT32): "java.lang.Float",
    (dict, SchemaType.STRUCT): "org.apache.kafka.connect.data.Struct",
}


def java_class(value: Any, schema: Schema | None = None) -> str:
    """The Java class that Kafka Connect would hold the value in, as in ``java.lang.Long``."""
    if schema is not None:
        known = _BY_SCHEMA.get((type(value), schema.type))
        if known is not None:
            return known
    for python, java in _CLASSES:
        if isinstance(value, python):
            return java
    return f"{type(value).__module__}.{type(value).__qualname__}"


def java_double(value: float) -> str:
    """A 64-bit float as Java prints it."""
    return _java_float(value, repr(value))


def java_float(value: float) -> str:
    """A 32-bit float as Java prints it: the fewest digits that tell it from its neighbours."""
    single = round_to_float32(value)
    if not math.isfinite(single):
        return _java_float(single, repr(single))
    for digits in range(1, 10):
        shortest = f"{single:.{digits}g}"
        if round_to_float32(float(shortest)) == single:
            break
    return _java_float(single, repr(float(shortest)))


def round_to_float32(value: float) -> float:
    """The nearest number that 32 bits hold; infinity beyond the largest."""
    try:
        rounded: float = struct.unpack(">f", struct.pack(">f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def decimal_to_float32(value: Decimal | int) -> float:
    """The 32-bit float nearest to an exact number, rounded once."""
    try:
        double = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    bits: int = struct.unpack(">q", struct.pack(">d", double))[0]
    if bits & 0x1FFFFFFF == 0x10000000 and Decimal(double) != value:
        up = (Decimal(double) < value) == (double > 0)
        double = struct.unpack(">d", struct.pack(">q", bits + 1 if up else bits - 1))[0]
    return round_to_float32(double)


def _java_float(value: float, shortest: str) -> str:
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0.0 or 1e-3 <= abs(value) < 1e7:
        return shortest
    sign, digits, exponent = Decimal(shortest).as_tuple()
    if len(digits) == 1 or not any(digits[1:]):
        sign, digits, exponent = Decimal(f"{value:.2g}").as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    scientific = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{scientific}"


def java_date_text(value: date | time | Millis) -> str:
    """A date, time or timestamp as ``java.util.Date`` prints it, in UTC."""
    days, millis = divmod(to_millis(value), MILLIS_PER_DAY)
    year, month, day = java_date(days)
    clock = f"{millis // 3_600_000:02}:{millis // 60_000 % 60:02}:{millis // 1000 % 60:02}"
    shown = year if year > 0 else 1 - year
    return f"{_WEEKDAYS[days % 7]} {_MONTHS[month - 1]} {day:02} {clock} UTC {shown}"


def java_text(value: Any, schema: Schema | None = None) -> str:
    """A value as Java's ``toString`` gives it; ``null`` for ``None``."""
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, float):
        single = kind is Float32 or (schema is not None and schema.type is SchemaType.FLOAT32)
        return java_float(value) if single else java_double(value)
    if isinstance(value, (date, time, Millis)):
        return java_date_text(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, FrozenKey):
        return java_text(value.value, schema)
    if isinstance(value, dict):
        return _dict_text(value, schema)
    if isinstance(value, list):
        items = schema.value_schema if schema is not None else None
        return "[" + ", ".join([java_text(item, items) for item in value]) + "]"
    if isinstance(value, bytes):
        return f"[B@{hash(value) & 0x7FFFFFFF:x}"
    return str(value)


def schema_text(schema: Schema) -> str:
    """A schema as Java prints it."""
    name = f"{schema.name}:" if schema.name is not None else ""
    return f"Schema{{{name}{schema.type.name}}}"


def _dict_text(value: dict[Any, Any], schema: Schema | None) -> str:
    if schema is not None and schema.type is SchemaType.STRUCT:
        fields = ((f, value.get(f.name)) for f in schema.fields)
        return "Struct{" + ",".join([f"{f.name}={java_text(v, f.schema)}" for f, v in fields if v is not None]) + "}"
    keys, values = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
    return "{" + ", ".join([f"{java_text(k, keys)}={java_text(v, values)}" for k, v in value.items()]) + "}"
