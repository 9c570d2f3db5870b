"""Bytes of a request to a JSON value, refusing everything that would have to be guessed at.

Numbers stay text, since a configuration value keeps the spelling its author chose (``1.50`` stays ``1.50``).
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from .problems import bad_request

_MAX_DEPTH = 100
_MAX_NUMBER_LENGTH = 1000
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89abcdefABCDEF]")


class IntegerText(str):
    """A JSON integer as written."""


class DecimalText(str):
    """A JSON number with a fraction or an exponent, as written."""


def _short(text: str, kind: type[str]) -> str:
    if len(text) > _MAX_NUMBER_LENGTH:
        raise bad_request(f"Number value length ({len(text)}) exceeds the maximum allowed ({_MAX_NUMBER_LENGTH})")
    return kind(text)


def _no_constant(text: str) -> NoReturn:
    raise bad_request(f"Non-standard token '{text}': JSON has no such number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise bad_request(f"Duplicate field {_quoted(key)}: every key may be given once")
            seen.add(key)
    return found


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=lambda text: _short(text, IntegerText),
    parse_float=lambda text: _short(text, DecimalText),
    parse_constant=_no_constant,
)


def parse(body: bytes) -> Any:
    """The value of a request body; ``HttpProblem`` 400 says what is wrong and where."""
    if not body.strip():
        raise bad_request("The request body is empty, a JSON value is expected")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad_request(f"Invalid UTF-8 in the request body at byte {error.start}") from None
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise bad_request(_syntax_text(error)) from None
    except RecursionError:
        raise bad_request(_too_deep()) from None
    if body.count(b"{") + body.count(b"[") > _MAX_DEPTH or _SURROGATE_ESCAPE.search(body):
        _inspect(value)
    return value


def _syntax_text(error: json.JSONDecodeError) -> str:
    place = f"at line {error.lineno}, column {error.colno}"
    if error.msg.startswith("Extra data"):
        return f"Unexpected content after the JSON value {place}"
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"Unexpected end-of-input {place}: the request body is not complete JSON"
    found = error.doc[error.pos]
    return f"Unexpected character ({_quoted(found)} (code {ord(found)})) {place}: {error.msg}"


def _too_deep() -> str:
    return f"The request body is nested more than {_MAX_DEPTH} levels deep"


def _inspect(value: Any) -> None:
    """Refuse deep nesting, and escapes of half a character, which no store could keep."""
    level = [value]
    for _ in range(_MAX_DEPTH + 1):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _whole_characters(item)
            elif isinstance(item, dict):
                deeper.extend(item)
                deeper.extend(item.values())
            elif isinstance(item, list):
                deeper.extend(item)
        if not deeper:
            return
        level = deeper
    raise bad_request(_too_deep())


def _whole_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = text[: error.start]
        raise bad_request(f"Unpaired surrogate in a JSON string after {_quoted(shown)}: not a character") from None


def _quoted(text: str) -> str:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
