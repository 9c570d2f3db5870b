"""What a handler returns, and how values become JSON bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

JSON = b"application/json"


@dataclass(slots=True)
class Answer:
    """A finished response. ``content_type`` is sent when there is a body."""

    status: int
    body: bytes = b""
    headers: Sequence[tuple[bytes, bytes]] = ()
    content_type: bytes = JSON


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


_encoder = msgspec.json.Encoder(enc_hook=_plain)


def to_json(value: Any) -> bytes:
    """Compact JSON. Text that is not valid Unicode (a trace may hold some) is escaped rather than refused."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value, enc_hook=_plain), separators=(",", ":")).encode()


def ok(value: Any) -> Answer:
    return Answer(200, to_json(value))
