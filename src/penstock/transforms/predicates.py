"""The predicates that decide whether a transform applies to a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.api.batch import Batch
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, all_of, non_empty_string
from penstock.api.record import Record
from penstock.api.transform import Predicate

from .java.regex import JavaPattern, valid_regex

if TYPE_CHECKING:
    import pyarrow as pa

_CACHE_SIZE = 4096


class HasHeaderKey(Predicate):
    """True for records with at least one header of the given name."""

    java_class = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"
    config = ConfigDef(
        ConfigKey(
            "name",
            Type.STRING,
            importance=Importance.MEDIUM,
            doc="The name of the header.",
            validator=non_empty_string,
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._name: str = self.config.parse(settings)["name"]

    def test(self, record: Record) -> bool:
        name = self._name
        return any(header.key == name for header in record.headers)

    def test_batch(self, batch: Batch) -> bool:
        return any(header.key == self._name for header in batch.headers)


class RecordIsTombstone(Predicate):
    """True for records without a value."""

    java_class = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"

    def test(self, record: Record) -> bool:
        return record.value is None

    def test_batch(self, batch: Batch) -> bool | pa.Array:
        values = batch.value.array
        if values.null_count == 0 or values.null_count == len(values):
            return bool(values.null_count)
        return values.is_null()


class TopicNameMatches(Predicate):
    """True for records whose topic's whole name matches a regular expression."""

    java_class = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
    config = ConfigDef(
        ConfigKey(
            "pattern",
            Type.STRING,
            importance=Importance.MEDIUM,
            doc="The regular expression, in Java's syntax, that the whole name of the topic has to match.",
            validator=all_of(non_empty_string, valid_regex),
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._pattern = JavaPattern(self.config.parse(settings)["pattern"])
        self._known: dict[str, bool] = {}

    def test(self, record: Record) -> bool:
        known = self._known.get(record.topic)
        if known is None:
            if len(self._known) >= _CACHE_SIZE:
                self._known.clear()
            known = self._known[record.topic] = self._pattern.matches(record.topic)
        return known

    def test_batch(self, batch: Batch) -> bool:
        return self._pattern.matches(batch.topic)
