"""Headers that the worker configuration adds to answers: CORS and ``response.http.headers.config``."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate
from fnmatch import fnmatchcase

from penstock.api.errors import ConfigError

Header = tuple[bytes, bytes]

_HEADERS_KEY = "response.http.headers.config"
_RULE = re.compile(
    r"\s*(set|add|setdate|adddate)\s+([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([^\r\n\0]*?)\s*", re.IGNORECASE
)
_DEFAULT_METHODS = "GET,POST,HEAD"
_PREFLIGHT_HEADERS = b"X-Requested-With,Content-Type,Accept,Origin"


@dataclass(frozen=True)
class HeaderRule:
    """``value`` is text, or for a date the milliseconds from now."""

    replace: bool
    name: bytes
    value: str
    date: bool

    def header(self) -> Header:
        value = formatdate(time.time() + int(self.value) / 1000, usegmt=True) if self.date else self.value
        return self.name, value.encode("latin-1")


def parse_header_rules(text: str) -> tuple[HeaderRule, ...]:
    """Rules ``[set|add|setDate|addDate] name:value``, comma separated, quoted when they hold a comma."""
    items = next(csv.reader([text], skipinitialspace=True), []) if text.strip() else []
    return tuple(_rule(item) for item in items)


def _rule(item: str) -> HeaderRule:
    match = _RULE.fullmatch(item)
    if match is None:
        raise ConfigError.invalid(
            _HEADERS_KEY,
            item,
            "a rule reads '[set|add|setDate|addDate] name:value', for example 'set X-Frame-Options:DENY'",
        )
    action, name, value = match.group(1).lower(), match.group(2).lower().encode(), match.group(3)
    dated = action.endswith("date")
    if dated and not re.fullmatch(r"-?\d{1,15}", value):
        raise ConfigError.invalid(_HEADERS_KEY, item, "a date is given as milliseconds from now")
    if not dated and any(ord(character) > 255 for character in value):
        raise ConfigError.invalid(_HEADERS_KEY, item, "a header value is Latin-1 text")
    return HeaderRule(action.startswith("set"), name, value, dated)


@dataclass(frozen=True)
class Cors:
    """Which origins may read answers in a browser. ``origins`` may hold ``*`` as a wildcard.

    ``credentials``: whether their pages may send the password or token of a user.
    """

    origins: tuple[str, ...] = ()
    methods: str = _DEFAULT_METHODS
    credentials: bool = False

    @classmethod
    def parse(cls, origins: str, methods: str, credentials: bool = False) -> Cors:
        return cls(_items(origins), ",".join(_items(methods)) or _DEFAULT_METHODS, credentials)

    def headers(self, origin: bytes, preflight: bool) -> Sequence[Header]:
        shown = origin.decode("latin-1")
        if not any(fnmatchcase(shown, pattern) for pattern in self.origins):
            return ()
        found = [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        if preflight:
            allowed = _PREFLIGHT_HEADERS + (b",Authorization" if self.credentials else b"")
            found += [
                (b"access-control-allow-methods", self.methods.encode()),
                (b"access-control-allow-headers", allowed),
                (b"access-control-max-age", b"1800"),
            ]
        return found


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def apply_rules(headers: list[Header], rules: Sequence[HeaderRule]) -> list[Header]:
    for rule in rules:
        if rule.replace:
            headers = [header for header in headers if header[0] != rule.name]
        headers.append(rule.header())
    return headers
