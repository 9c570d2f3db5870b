"""Header values as readable text whose type is guessed when it is read."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any, ClassVar

from penstock.api.converter import HeaderConverter
from penstock.api.record import BYTES, Schema
from penstock.api.values import parse_text, to_text

from .common import KAFKA_VERSION
from .string import decode_java_utf8

_SHORT = 64


@lru_cache(maxsize=4096)
def _parse_short(data: bytes) -> tuple[Schema | None, Any]:
    """Headers repeat from record to record, so short ones are remembered."""
    return parse_text(decode_java_utf8(data))


logger = logging.getLogger(__name__)


class SimpleHeaderConverter(HeaderConverter):
    """Kafka Connect's default for headers: ``1`` reads as a number, ``[1,2]`` as an array, ``abc`` as a string."""

    version: ClassVar[str] = KAFKA_VERSION
    java_class: ClassVar[str] = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

    def from_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        text = to_text(value, schema)
        return None if text is None else text.encode("utf-8", "replace")

    def to_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            return _parse_short(data) if len(data) <= _SHORT else parse_text(decode_java_utf8(data))
        except (OverflowError, RecursionError) as error:
            logger.warning("Header %r on topic %r cannot be read, so it stays bytes: %s", key, topic, error)
            return BYTES, data
