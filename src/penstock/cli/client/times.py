"""Points in time as users write them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from .problems import Wrong

_AGE = re.compile(r"(\d{1,6})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_time(text: str) -> str:
    """``earliest``, ``latest``, or milliseconds since 1970 as text. Times without a zone are local."""
    if text in ("earliest", "latest"):
        return text
    if text.isascii() and text.isdigit():
        return text
    age = _AGE.fullmatch(text)
    if age:
        return str(int((time.time() - int(age[1]) * _SECONDS[age[2]]) * 1000))
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise Wrong(
            f"'{text}' is not a point in time.",
            "earliest, latest, 2026-01-31, 2026-01-31T12:00:00Z, milliseconds since 1970, or an age such as 30m or 2d.",
        ) from None
    return str(int(found.timestamp() * 1000))


def time_text(millis: int) -> str:
    """A timestamp of a record, in UTC."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    except (ValueError, OverflowError, OSError):
        return str(millis)
