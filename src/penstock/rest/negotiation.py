"""Content types: which requests we read, and which answers a client takes."""

from __future__ import annotations

from functools import lru_cache

_JSON_RANGES = frozenset({"application/json", "application/*", "*/*"})
_JSON_NAMED = frozenset({"application/json", "application/*"})
_PLAIN_RANGES = frozenset({"text/plain", "text/*", "*/*"})
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def _media_ranges(header: bytes) -> set[str]:
    """The media ranges of an Accept header that are not refused with ``q=0``."""
    wanted = set()
    for item in header.decode("latin-1").split(","):
        media, *parameters = (part.strip().lower() for part in item.split(";"))
        if media and not any(_refused(parameter) for parameter in parameters):
            wanted.add(media)
    return wanted


def _refused(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return False
    try:
        return float(value) <= 0
    except ValueError:
        return False


@lru_cache(maxsize=256)
def accepts_json(accept: bytes) -> bool:
    return not accept.strip() or not _JSON_RANGES.isdisjoint(_media_ranges(accept))


@lru_cache(maxsize=64)
def prefers_plain_text(accept: bytes) -> bool:
    """Whether OPTIONS lists the methods as text: only for a client that did not ask for JSON by name."""
    ranges = _media_ranges(accept) or {"*/*"}
    return _JSON_NAMED.isdisjoint(ranges) and not _PLAIN_RANGES.isdisjoint(ranges)


@lru_cache(maxsize=256)
def is_json(content_type: bytes) -> bool:
    """``application/json`` in any case, in UTF-8 (a charset may be named)."""
    media, *parameters = (part.strip().lower() for part in content_type.decode("latin-1").split(";"))
    if media != "application/json":
        return False
    charsets = [value.strip(' "') for name, _, value in (p.partition("=") for p in parameters) if name == "charset"]
    return all(charset in _CHARSETS for charset in charsets)
