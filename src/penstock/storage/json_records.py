"""Values of internal records: JSON without schemas, in the bytes that Kafka Connect's internal converter writes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in an internal record")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode
_encode_sorted = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain).encode


def to_json(value: Any) -> bytes:
    """Compact UTF-8, members in the order given, characters beyond the BMP as escaped surrogates."""
    text = _BEYOND_BMP.sub(lambda found: json.dumps(found.group())[1:-1], _encode(value))
    return text.encode("utf-8", "surrogatepass")


def from_json(data: bytes) -> Any:
    """The value, or :class:`ValueError`."""
    return json.loads(data)


def canonical(value: Any) -> str:
    """One text for equal values, whatever the order of their members."""
    return _encode_sorted(value)
