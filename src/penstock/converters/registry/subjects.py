"""Under which subject of the registry a schema lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api.errors import ConfigError, DataError

Subject = Callable[[str, "str | None"], str]
"""From a topic and the name of the record's schema to a subject. ``DataError`` when the name is needed and missing."""

_PACKAGE = "io.confluent.kafka.serializers.subject."
TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME = "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"
_STRATEGIES = (TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME)


def strategy_name(text: str) -> str | None:
    """The strategy that a Java class name, its last part, or that without ``Strategy`` means."""
    short = text.removeprefix(_PACKAGE)
    return next((name for name in _STRATEGIES if short in (name, name.removesuffix("Strategy"))), None)


def check_strategy(key: str, value: Any) -> None:
    """The validator of the two strategy keys."""
    if value is not None and strategy_name(value) is None:
        raise ConfigError.invalid(key, value, f"Must be one of {', '.join(_STRATEGIES)}")


def subject_strategy(text: str, is_key: bool) -> Subject:
    """The function behind a strategy's name."""
    name = strategy_name(text)
    suffix = "-key" if is_key else "-value"
    if name == TOPIC_NAME:
        return lambda topic, record: topic + suffix

    def record_name(record: str | None) -> str:
        if record is not None:
            return record
        side = "key" if is_key else "value"
        raise DataError(
            f"In configuration {side}.subject.name.strategy = {_PACKAGE}{name}, "
            f"the message {side} must only be a record schema"
        )

    if name == RECORD_NAME:
        return lambda topic, record: record_name(record)
    return lambda topic, record: f"{topic}-{record_name(record)}"
