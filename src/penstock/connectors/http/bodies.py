"""Records as the bodies of requests."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

from penstock.api import DataError, Record
from penstock.api.record import FrozenKey, Millis
from penstock.api.values import iso_text

ARRAY, LINES, SINGLE = "array", "lines", "single"
AS_JSON, AS_IS = "json", "raw"

CONTENT_TYPES = {ARRAY: "application/json", LINES: "application/x-ndjson", SINGLE: "application/json"}


def json_bytes(record: Record) -> bytes:
    """The value as JSON: bytes in base 64, decimals and dates as text."""
    return json.dumps(_plain(record.value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def raw_bytes(record: Record) -> bytes:
    """The value as it is: text or bytes that are JSON already, or whatever the service takes."""
    value = record.value
    if value is None:
        return b"null"
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise DataError(f"value.format=raw takes text and bytes, not {type(value).__name__}. Use value.format=json.")


ENCODERS: dict[str, Callable[[Record], bytes]] = {AS_JSON: json_bytes, AS_IS: raw_bytes}


def joined(encoded: Sequence[bytes], shape: str) -> bytes:
    """Encoded values as one body."""
    if shape == ARRAY:
        return b"[" + b",".join(encoded) + b"]"
    if shape == LINES:
        return b"".join(value + b"\n" for value in encoded)
    return encoded[0]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_name(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, FrozenKey):
        return _plain(value.value)
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | time | Millis):
        return iso_text(value)
    return value


def _name(key: Any) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain)
