"""Values without a schema: a record that has a field for each class a value can be of."""

from __future__ import annotations

import struct
from typing import Any

from penstock.api.errors import DataError
from penstock.api.record import Float32, FrozenKey, Int8, Int16, Int32
from penstock.api.text import java_class

from .checks import float32_bytes

FIELDS = 9
_BOOLEAN, _BYTES, _DOUBLE, _FLOAT, _INT, _LONG, _STRING, _ARRAY, _MAP = range(FIELDS)
_pack_double = struct.Struct("<d").pack
_unpack_double = struct.Struct("<d").unpack_from
_unpack_float = struct.Struct("<f").unpack_from


def put_long(number: int, out: bytearray) -> None:
    """A number in Avro's variable-length form."""
    rest = number + number if number >= 0 else -number - number - 1
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)


def get_long(data: bytes, position: int) -> tuple[int, int]:
    """A number in Avro's variable-length form, and where it ends. ``IndexError`` when it does not."""
    rest = shift = 0
    while True:
        byte = data[position]
        position += 1
        rest |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (rest >> 1) ^ -(rest & 1), position
        if shift > 63:
            raise IndexError("a number of more than ten bytes")


def write_anything(value: Any, out: bytearray) -> None:
    """Append a value and what is in it."""
    if value is None:
        out += bytes(FIELDS)
        return
    field = _field_of(value)
    out += bytes(field)
    out.append(2)
    _write_content(field, value, out)
    out += bytes(FIELDS - 1 - field)


def _field_of(value: Any) -> int:
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, (Int8, Int16, Int32)):
        return _INT
    if isinstance(value, int) and type(value) is int:
        return _LONG
    if isinstance(value, float):
        return _FLOAT if isinstance(value, Float32) else _DOUBLE
    if isinstance(value, str):
        return _STRING
    if isinstance(value, FrozenKey):
        return _field_of(value.value)
    if isinstance(value, list):
        return _ARRAY
    if isinstance(value, dict):
        return _MAP
    raise DataError(f"Unknown Java type for schemaless data: class {java_class(value)}")


def _write_content(field: int, value: Any, out: bytearray) -> None:
    if isinstance(value, FrozenKey):
        value = value.value
    if field == _BOOLEAN:
        out.append(1 if value else 0)
    elif field in (_INT, _LONG):
        if not -(1 << 63) <= value < 1 << 63:
            raise DataError(f"{value} does not fit into 64 bits")
        put_long(int(value), out)
    elif field == _DOUBLE:
        out += _pack_double(value)
    elif field == _FLOAT:
        out += float32_bytes(value)
    elif field == _STRING:
        encoded = value.encode("utf-8", "replace")
        put_long(len(encoded), out)
        out += encoded
    elif field == _ARRAY:
        _write_items([(item,) for item in value], out)
    else:
        _write_items(list(value.items()), out)


def _write_items(items: list[Any], out: bytearray) -> None:
    if items:
        put_long(len(items), out)
    for item in items:
        for part in item:
            write_anything(part, out)
    out.append(0)


def read_anything(data: bytes, position: int) -> tuple[Any, int]:
    """A value and where it ends."""
    found: Any = None
    for field in range(FIELDS):
        branch, position = get_long(data, position)
        if branch:
            value, position = _read_content(field, data, position)
            found = value if found is None else found
    return found, position


def _read_content(field: int, data: bytes, position: int) -> tuple[Any, int]:
    if field == _BOOLEAN:
        return data[position] == 1, position + 1
    if field == _INT:
        number, position = get_long(data, position)
        return Int32(number), position
    if field == _LONG:
        return get_long(data, position)
    if field == _DOUBLE:
        return _unpack_double(data, position)[0], position + 8
    if field == _FLOAT:
        return Float32(_unpack_float(data, position)[0]), position + 4
    if field in (_BYTES, _STRING):
        size, position = get_long(data, position)
        end = position + size
        if size < 0 or end > len(data):
            raise IndexError("a text beyond the end")
        content = data[position:end]
        return (content if field == _BYTES else content.decode("utf-8", "replace")), end
    return _read_list(field, data, position)


def _read_list(field: int, data: bytes, position: int) -> tuple[Any, int]:
    items: list[Any] = []
    while True:
        count, position = get_long(data, position)
        if count == 0:
            break
        if count < 0:
            count = -count
            _, position = get_long(data, position)
        if count > len(data):
            raise IndexError("more items than bytes")
        for _ in range(count):
            item, position = read_anything(data, position)
            if field == _MAP:
                value, position = read_anything(data, position)
                item = (FrozenKey.of(item), value)
            items.append(item)
    return (dict(items) if field == _MAP else items), position
