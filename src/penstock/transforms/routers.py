"""RegexRouter and TimestampRouter: another topic for records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.api.batch import Batch
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.errors import DataError
from penstock.api.record import Record
from penstock.api.transform import RowsDeclined, Transform

from .java.date_format import DateFormatter
from .java.date_pattern import DatePatternError, parse_pattern, shortest_period
from .java.regex import JavaPattern, valid_regex
from .record_text import record_text
from .sides import with_topic
from .structs import ILLEGAL_ARGUMENT

_CACHE_SIZE = 4096


class RegexRouter(Transform):
    """Renames topics whose whole name matches a regular expression."""

    java_class = "org.apache.kafka.connect.transforms.RegexRouter"
    config = ConfigDef(
        ConfigKey(
            "regex",
            Type.STRING,
            importance=Importance.HIGH,
            validator=valid_regex,
            doc="The regular expression, in Java's syntax, that the whole name of a topic has to match.",
        ),
        ConfigKey(
            "replacement",
            Type.STRING,
            importance=Importance.HIGH,
            doc="The new name. $1 or ${name} stands for what a group of the expression matched.",
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._pattern = JavaPattern(parsed["regex"])
        self._replacement: str = parsed["replacement"]
        self._known: dict[str, str] = {}

    def apply(self, record: Record) -> Record | None:
        topic = self._known.get(record.topic)
        if topic is None:
            topic = self._route(record.topic)
            if len(self._known) >= _CACHE_SIZE:
                self._known.clear()
            self._known[record.topic] = topic
        return record if topic == record.topic else with_topic(record, topic)

    def apply_batch(self, batch: Batch) -> Batch | None:
        try:
            return batch.with_(topic=self._route(batch.topic))
        except DataError:  # A replacement that names no group: each record says so.
            return None

    def _route(self, topic: str) -> str:
        return self._pattern.replace_first(topic, self._replacement) if self._pattern.matches(topic) else topic


class TimestampRouter(Transform):
    """Makes the name of the topic from its old name and the record's timestamp."""

    java_class = "org.apache.kafka.connect.transforms.TimestampRouter"
    config = ConfigDef(
        ConfigKey(
            "topic.format",
            Type.STRING,
            "${topic}-${timestamp}",
            Importance.HIGH,
            "The new name; ${topic} stands for the old one and ${timestamp} for the formatted timestamp.",
        ),
        ConfigKey(
            "timestamp.format",
            Type.STRING,
            "yyyyMMdd",
            Importance.HIGH,
            "How to format the timestamp (in UTC): a pattern as for Java's SimpleDateFormat.",
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._topic_format: str = parsed["topic.format"]
        self._formatter: DateFormatter | None = None
        self._broken: str | None = None
        self._period = 1
        try:
            tokens = parse_pattern(parsed["timestamp.format"])
            self._formatter = DateFormatter(tokens)
            self._period = shortest_period(tokens)
        except DatePatternError as error:
            self._broken = str(error)

    def apply(self, record: Record) -> Record | None:
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: {record_text(record)}")
        if self._formatter is None:
            raise DataError(self._broken, ILLEGAL_ARGUMENT)
        topic = self._topic_format.replace("${topic}", record.topic)
        return with_topic(record, topic.replace("${timestamp}", self._formatter.format(record.timestamp)))

    def apply_batch(self, batch: Batch) -> Batch | None:
        """All records that go where the first one goes."""
        if batch.timestamp is None or batch.timestamp.null_count or self._formatter is None:
            return None
        periods = batch.timestamp.to_numpy() // self._period
        same = periods == periods[0]
        if not same.all():
            raise RowsDeclined(pa.array(~same))
        topic = self._topic_format.replace("${topic}", batch.topic)
        shown = self._formatter.format(batch.timestamp[0].as_py())
        return batch.with_(topic=topic.replace("${timestamp}", shown))
