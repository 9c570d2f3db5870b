"""The settings of a topic, under Kafka's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import TopicError

DAY_MS = 24 * 60 * 60 * 1000
MAX_NAME = 249
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What maintenance goes by. A negative retention keeps everything."""

    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    segment_bytes: int = 128 * 1024 * 1024
    delete_retention_ms: int = DAY_MS
    min_cleanable_dirty_ratio: float = 0.5
    compact: bool = False
    delete: bool = True

    @classmethod
    def parse(cls, topic: str, settings: Mapping[str, str]) -> TopicSettings:
        """Read what we know; other Kafka settings are kept with the topic but mean nothing here."""
        policies = {part.strip() for part in settings.get("cleanup.policy", "delete").split(",")}
        if not policies or policies - {"compact", "delete"}:
            raise _wrong(topic, "cleanup.policy", settings["cleanup.policy"], "'delete', 'compact' or both")
        return cls(
            retention_ms=_integer(topic, settings, "retention.ms", cls().retention_ms, -1),
            retention_bytes=_integer(topic, settings, "retention.bytes", cls().retention_bytes, -1),
            segment_bytes=_integer(topic, settings, "segment.bytes", cls().segment_bytes, 1),
            delete_retention_ms=_integer(topic, settings, "delete.retention.ms", cls().delete_retention_ms, 0),
            min_cleanable_dirty_ratio=_ratio(topic, settings, "min.cleanable.dirty.ratio", 0.5),
            compact="compact" in policies,
            delete="delete" in policies,
        )


def check_name(topic: str) -> None:
    """Kafka's rules for names, with its texts."""
    if not topic:
        raise TopicError("Topic name is invalid: the empty string is not allowed")
    if topic in (".", ".."):
        raise TopicError(f"Topic name is invalid: '{topic}' is not allowed")
    if len(topic) > MAX_NAME:
        raise TopicError(
            f"Topic name is invalid: the length of '{topic}' is longer than the max allowed length {MAX_NAME}"
        )
    if not _LEGAL_NAME.fullmatch(topic):
        raise TopicError(
            f"Topic name is invalid: '{topic}' contains one or more characters other than ASCII alphanumerics, "
            f"'.', '_' and '-'"
        )


def partition_count(topic: str, settings: Mapping[str, str], default: int) -> int:
    """The number of partitions a new topic gets."""
    return _integer(topic, settings, "partitions", default, 1)


def _integer(topic: str, settings: Mapping[str, str], key: str, default: int, least: int) -> int:
    text = settings.get(key)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        raise _wrong(topic, key, text, "an integer") from None
    if number < least:
        raise _wrong(topic, key, text, f"at least {least}")
    return number


def _ratio(topic: str, settings: Mapping[str, str], key: str, default: float) -> float:
    text = settings.get(key)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number <= 1:
        raise _wrong(topic, key, text, "a number from 0 to 1")
    return number


def _wrong(topic: str, key: str, value: str, wanted: str) -> TopicError:
    return TopicError(f"Invalid value {value} for setting {key} of topic '{topic}': must be {wanted}")
