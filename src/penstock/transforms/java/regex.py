"""Java's regular expressions and replacement strings, carried over to Python's ``re``."""

from __future__ import annotations

import re
from typing import Any

from penstock.api.errors import ConfigError, DataError
from penstock.api.java_regex.compiled import compile_java
from penstock.api.java_regex.syntax import PatternSyntaxError

_OUT_OF_BOUNDS = "java.lang.IndexOutOfBoundsException"
_ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class JavaPattern:
    """A compiled regular expression in Java's syntax. ``PatternSyntaxError`` when it is none, or too exotic for us."""

    def __init__(self, pattern: str) -> None:
        self._compiled, self._group_count, self._names = compile_java(pattern)

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self._compiled.fullmatch(text) is not None

    def replace_first(self, text: str, replacement: str) -> str:
        """The text with the first match replaced; ``$1``, ``${name}`` and ``\\`` mean what they mean in Java."""
        found = self._compiled.search(text)
        if found is None:
            return text
        return text[: found.start()] + self._expand(found, replacement) + text[found.end() :]

    def _expand(self, found: re.Match[str], replacement: str) -> str:
        parts: list[str] = []
        at = 0
        while at < len(replacement):
            char = replacement[at]
            if char == "\\":
                if at + 1 == len(replacement):
                    raise DataError("character to be escaped is missing", _ILLEGAL_ARGUMENT)
                parts.append(replacement[at + 1])
                at += 2
            elif char == "$":
                group, at = self._reference(replacement, at + 1)
                parts.append(found[f"g{group}"] or "" if group else found[0])
            else:
                parts.append(char)
                at += 1
        return "".join(parts)

    def _reference(self, replacement: str, at: int) -> tuple[int, int]:
        """The group that ``$`` before ``at`` refers to, and where the text goes on."""
        if at == len(replacement):
            raise DataError("Illegal group reference: group index is missing", _ILLEGAL_ARGUMENT)
        if replacement[at] == "{":
            return self._named_reference(replacement, at + 1)
        if replacement[at] not in "0123456789":
            raise DataError("Illegal group reference", _ILLEGAL_ARGUMENT)
        group = int(replacement[at])
        at += 1
        while at < len(replacement) and replacement[at] in "0123456789":
            longer = group * 10 + int(replacement[at])
            if longer > self._group_count:
                break
            group = longer
            at += 1
        if group > self._group_count:
            raise DataError(f"No group {group}", _OUT_OF_BOUNDS)
        return group, at

    def _named_reference(self, replacement: str, at: int) -> tuple[int, int]:
        name = _NAME.match(replacement, at)
        if name is None:
            start = replacement[at : at + 1]
            if start.isdigit():
                message = f"capturing group name {{{start}}} starts with digit character"
            else:
                message = "named capturing group has 0 length name"
            raise DataError(message, _ILLEGAL_ARGUMENT)
        if replacement[name.end() : name.end() + 1] != "}":
            raise DataError("named capturing group is missing trailing '}'", _ILLEGAL_ARGUMENT)
        group = self._names.get(name[0])
        if group is None:
            raise DataError(f"No group with name {{{name[0]}}}", _ILLEGAL_ARGUMENT)
        return group, name.end() + 1


def valid_regex(name: str, value: Any) -> None:
    """A configured regular expression has to be one; a missing one is an error too."""
    if value is None:
        raise ConfigError.invalid(name, None, "Invalid regex: there is none")
    try:
        JavaPattern(value)
    except PatternSyntaxError as error:
        raise ConfigError.invalid(name, value, f"Invalid regex: {error}") from None
