"""Version requirements of plugins: Maven's range syntax, where a bare version means exactly that one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.config_values import trim
from penstock.api.errors import ConfigError

_PIECE = re.compile(r"\s*([\[(])\s*([^,\[\]()]*?)\s*(?:(,)\s*([^,\[\]()]*?)\s*)?([\])])\s*")


class InvalidVersionSpec(ValueError):
    """The text is no version and no range."""


@dataclass(frozen=True)
class _Span:
    low: str
    high: str
    low_included: bool
    high_included: bool

    def contains(self, version: str) -> bool:
        order = _order(version)
        above = not self.low or order > _order(self.low) or (self.low_included and order == _order(self.low))
        below = not self.high or order < _order(self.high) or (self.high_included and order == _order(self.high))
        return above and below


@dataclass(frozen=True)
class VersionRange:
    """One or more spans of versions, as written in ``text``."""

    text: str
    spans: Sequence[_Span]

    @classmethod
    def parse(cls, spec: str | None) -> VersionRange | None:
        """``None`` (any version) for nothing and for ``latest``. Raises :class:`InvalidVersionSpec`."""
        text = trim(spec or "")
        if spec is None or text.lower() == "latest":
            return None
        if not text:
            raise InvalidVersionSpec("A version must not be empty")
        if text[0] not in "[(":
            text = f"[{text}]"
        spans: list[_Span] = []
        place = 0
        while place < len(text):
            piece = _PIECE.match(text, place + 1 if spans and text[place] == "," else place)
            if piece is None:
                raise InvalidVersionSpec(f"Invalid version range: {spec}")
            spans.append(_span(piece, spec))
            place = piece.end()
        return cls(text, tuple(spans))

    def contains(self, version: str) -> bool:
        return any(span.contains(version) for span in self.spans)

    def __str__(self) -> str:
        return self.text


def version_spec(name: str, value: Any) -> None:
    """Validator: a version, a range of versions, ``latest`` or nothing."""
    try:
        VersionRange.parse(value)
    except InvalidVersionSpec as error:
        raise ConfigError.invalid(name, value, str(error)) from None


def _span(piece: re.Match[str], spec: str) -> _Span:
    opening, low, comma, high, closing = piece.groups()
    if comma is None:
        if opening != "[" or closing != "]" or not low:
            raise InvalidVersionSpec(f"Single version must be surrounded by []: {spec}")
        return _Span(low, low, True, True)
    if low and high and _order(high) < _order(low):
        raise InvalidVersionSpec(f"Range defies version ordering: {spec}")
    return _Span(low, high, opening == "[", closing == "]")


def _order(version: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key: numbers by value, words (``rc1``, ``SNAPSHOT``) before the release they lead to."""
    parts = [part for part in re.split(r"[.\-_+]", version.lower()) if part]
    key: list[tuple[int, int | str]] = [(1, int(part)) if part.isdigit() else (-1, part) for part in parts]
    while key and key[-1] == (1, 0):
        key.pop()
    return (*key, (0, 0))
