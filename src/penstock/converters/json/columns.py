"""Whole columns of strings as JSON and back, with vectorised kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Column
from penstock.api.record import Schema, SchemaType

from .encoding import quote

_QUOTE, _BACKSLASH = 0x22, 0x5C
_FIRST_PRINTABLE, _FIRST_BEYOND_BASIC_PLANE = 0x20, 0xF0
_ESCAPED_ALONE = r"[\x00-\x1f\x{10000}-\x{10ffff}]"


def is_string_schema(schema: Schema | None) -> bool:
    """Whether values of the schema are just strings."""
    return schema is not None and schema.type is SchemaType.STRING and schema.name is None


def is_plain_string(column: Column) -> bool:
    """Whether the column holds strings and its schema, if it has one, says so."""
    kind = column.array.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return is_text and (column.schema is None or is_string_schema(column.schema))


def quoted(array: pa.Array, prefix: str = "", suffix: str = "") -> pa.Array:
    """Each string as a JSON string, between prefix and suffix; null stays null."""
    text_type = array.type
    content = _content(array)
    escaped = array
    if content.count(_BACKSLASH):
        escaped = pc.replace_substring(escaped, "\\", "\\\\")
    if content.count(_QUOTE):
        escaped = pc.replace_substring(escaped, '"', '\\"')
    opening, closing = pa.scalar(f'{prefix}"', text_type), pa.scalar(f'"{suffix}', text_type)
    joined = pc.binary_join_element_wise(opening, escaped, closing, pa.scalar("", text_type))
    if content.low < _FIRST_PRINTABLE or content.high >= _FIRST_BEYOND_BASIC_PLANE:
        odd = pc.fill_null(pc.match_substring_regex(array, _ESCAPED_ALONE), False)
        one_by_one = [f"{prefix}{quote(text)}{suffix}" for text in array.filter(odd).to_pylist()]
        joined = pc.replace_with_mask(joined, odd, pa.array(one_by_one, text_type))
    return joined


def wrapped(texts: pa.Array, prefix: str, suffix: str) -> pa.Array:
    """Each text between prefix and suffix."""
    if not prefix and not suffix:
        return texts
    before, after, nothing = (pa.scalar(text, texts.type) for text in (prefix, suffix, ""))
    return pc.binary_join_element_wise(before, texts, after, nothing)


def as_bytes(texts: pa.Array, tombstones: pa.Array | None) -> pa.Array:
    """Texts as a binary array; null where ``tombstones`` is."""
    if tombstones is not None and tombstones.null_count:
        texts = pc.if_else(tombstones.is_valid(), texts, pa.scalar(None, texts.type))
    return texts.cast(pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary())


def decode_strings(data: pa.Array, prefix: str, suffix: str) -> pa.Array | None:
    """The strings between prefix and suffix, or ``None`` when a value is anything but a simple JSON string there."""
    opening, closing = f'{prefix}"'.encode(), f'"{suffix}'.encode()
    first = data[0].as_py() if len(data) else None
    if first is not None and not first.startswith(opening):
        return None
    content = _content(data)
    filled = len(data) - data.null_count
    if content.low < _FIRST_PRINTABLE or content.count(_BACKSLASH) != prefix.count("\\") * filled:
        return None
    if content.count(_QUOTE) != (opening.count(b'"') + closing.count(b'"')) * filled:
        return None
    framed = pc.and_(pc.starts_with(data, opening), pc.ends_with(data, closing))
    if not pc.all(framed, min_count=0).as_py():
        return None
    inner = pc.binary_slice(data, len(opening), -len(closing))
    try:
        return inner.cast(pa.large_string() if pa.types.is_large_binary(data.type) else pa.string())
    except pa.ArrowInvalid:
        return None


def string_prefix(data: pa.Array) -> str | None:
    """What stands before the string of the first value in an envelope, if it is one that ends with its payload."""
    first = data[0].as_py() if len(data) else None
    if first is None or data.null_count:
        return None
    head, found, _ = first.partition(b'"payload":"')
    try:
        return f'{head.decode()}"payload":' if found else None
    except UnicodeDecodeError:
        return None


class _Content:
    """The bytes of all values of an array, looked at as one array of numbers."""

    def __init__(self, values: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        self._bytes = values
        self.low = int(values.min()) if len(values) else _FIRST_PRINTABLE
        self.high = int(values.max()) if len(values) else 0

    def count(self, byte: int) -> int:
        return int(np.count_nonzero(self._bytes == byte)) if self.low <= byte <= self.high else 0


def _content(array: pa.Array) -> _Content:
    """Only what lies between the first and the last offset, so that slices cost what they hold."""
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return _Content(np.empty(0, np.uint8))
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)
    start, end = bounds[array.offset], bounds[array.offset + len(array)]
    return _Content(np.frombuffer(data, np.uint8)[start:end])
