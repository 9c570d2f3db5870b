"""A Java pattern ready to match."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from .syntax import PatternSyntaxError, translate


class Compiled(NamedTuple):
    """``pattern`` matches as Java's would; its groups are called ``g1``, ``g2``, …, ``names`` are those of Java."""

    pattern: re.Pattern[str]
    group_count: int
    names: Mapping[str, int]


@lru_cache(maxsize=256)
def compile_java(text: str) -> Compiled:
    """Raises :class:`PatternSyntaxError` when the text is no pattern of Java, or one that Python cannot do."""
    translated = translate(text)
    try:
        pattern = re.compile(translated.python, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternSyntaxError(str(error)) from None
    return Compiled(pattern, translated.group_count, translated.names)
