"""What converters with a registry have in common: the wire format, and writers and readers made once a schema."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, Width, at_least
from penstock.api.converter import Converter
from penstock.api.errors import DataError, RetriableError
from penstock.api.record import Schema

from ..common import CONVERTER_TYPE
from .client import RegistryClient, SchemaText, shared_client
from .errors import RegistryRefusal, record_error
from .settings import REGISTRY_KEYS, RegistrySettings
from .subjects import TOPIC_NAME, check_strategy, subject_strategy

Write = Callable[[Any], bytes]
"""From a value to the whole message, with the prefix that names the schema."""

Read = Callable[[bytes], Any]
"""From the whole message to a value."""

PREFIX_BYTES = 5
MAGIC = 0
FAILURE_SECONDS = 2.0
"""How long a refused schema is not tried again, so that a million bad records do not ask a million times."""

_STRATEGY = f"io.confluent.kafka.serializers.subject.{TOPIC_NAME}"


def _key(name: str, type: Type, default: Any, importance: Importance, doc: str, **more: Any) -> ConfigKey:
    return ConfigKey(name, type, default, importance, doc, group="Schemas", width=Width.MEDIUM, **more)


SERIALIZER_KEYS = ConfigDef(
    CONVERTER_TYPE,
    *REGISTRY_KEYS.keys,
    _key(
        "auto.register.schemas",
        Type.BOOLEAN,
        True,
        Importance.MEDIUM,
        "Register the schema of a record that the registry does not know yet.",
    ),
    _key(
        "use.latest.version",
        Type.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Write with the latest schema of the subject instead of the record's own, where auto.register.schemas is false;"
        " read into the latest schema instead of the writer's.",
    ),
    _key(
        "latest.compatibility.strict",
        Type.BOOLEAN,
        True,
        Importance.LOW,
        "Refuse to write with the latest schema when it could not read what the record's own schema describes.",
    ),
    _key(
        "latest.cache.ttl.sec",
        Type.INT,
        -1,
        Importance.LOW,
        "How long the latest schema is remembered. -1: until the process ends.",
        validator=at_least(-1),
    ),
    _key("use.schema.id", Type.INT, -1, Importance.LOW, "Write with the schema of this id. -1: not."),
    _key(
        "id.compatibility.strict",
        Type.BOOLEAN,
        True,
        Importance.LOW,
        "Refuse to write with use.schema.id when it could not read what the record's own schema describes.",
    ),
    _key(
        "normalize.schemas",
        Type.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Have the registry treat schemas as equal that differ only in order or spelling.",
    ),
    _key(
        "key.subject.name.strategy",
        Type.STRING,
        _STRATEGY,
        Importance.MEDIUM,
        "The subject of key schemas: TopicNameStrategy (<topic>-key), RecordNameStrategy (the schema's name),"
        " TopicRecordNameStrategy (<topic>-<schema's name>).",
        validator=check_strategy,
    ),
    _key(
        "value.subject.name.strategy",
        Type.STRING,
        _STRATEGY,
        Importance.MEDIUM,
        "The subject of value schemas: TopicNameStrategy (<topic>-value), RecordNameStrategy (the schema's name),"
        " TopicRecordNameStrategy (<topic>-<schema's name>).",
        validator=check_strategy,
    ),
    _key(
        "schemas.cache.config",
        Type.INT,
        1000,
        Importance.LOW,
        "How many schemas a converter keeps ready to write and to read with.",
        validator=at_least(1),
    ),
    _key(
        "ignore.default.for.nullables",
        Type.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Write null, not the default, where an optional field that has a default is null.",
    ),
)


@dataclass(frozen=True)
class SchemaFormat:
    """What error texts and the registry call a format."""

    kind: str
    unwritable: str
    unreadable: str


@dataclass(frozen=True)
class Ready:
    """A writer or a reader: its Connect schema, the registry's schema and id, until when it may be used."""

    schema: Schema | None
    text: SchemaText
    prefix: bytes
    run: Callable[[Any], Any]
    until: float | None

    @property
    def is_over(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until


class RegistryConverter(Converter):
    """Messages that begin with a zero byte and the id of their schema (Confluent's wire format)."""

    config: ClassVar[ConfigDef] = SERIALIZER_KEYS
    format: ClassVar[SchemaFormat]

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse({"converter.type": "value", **settings})
        self._is_key = parsed["converter.type"] == "key"
        self._registry = RegistrySettings.from_parsed(parsed, settings)
        side = "key" if self._is_key else "value"
        self._subject = subject_strategy(parsed[f"{side}.subject.name.strategy"], self._is_key)
        self._register: bool = parsed["auto.register.schemas"]
        self._use_latest: bool = parsed["use.latest.version"]
        self._latest_strict: bool = parsed["latest.compatibility.strict"]
        self._latest_seconds: int = parsed["latest.cache.ttl.sec"]
        self._use_id: int = parsed["use.schema.id"]
        self._id_strict: bool = parsed["id.compatibility.strict"]
        self._normalize: bool = parsed["normalize.schemas"]
        self._cache_size: int = parsed["schemas.cache.config"]
        self._writers: dict[tuple[str, Schema | None], Ready] = {}
        self._readers: dict[tuple[str, bytes], Ready] = {}
        self._failures: dict[Any, tuple[float, DataError]] = {}
        self.take_settings(parsed)

    @abstractmethod
    def take_settings(self, parsed: Mapping[str, Any]) -> None:
        """Take the format's own keys, already parsed."""

    @abstractmethod
    def describe(self, schema: Schema | None) -> tuple[SchemaText, str | None]:
        """A Connect schema in this format, and its name if it has one that subjects can use."""

    @abstractmethod
    def record_name(self, text: SchemaText) -> str | None:
        """The name of a schema for subjects."""

    @abstractmethod
    def make_writer(self, schema: Schema | None, text: SchemaText, prefix: bytes) -> Write:
        """A function that writes values of ``schema`` as ``text`` says, after ``prefix``."""

    @abstractmethod
    def make_reader(
        self, text: SchemaText, latest: SchemaText | None, version: int | None
    ) -> tuple[Schema | None, Read]:
        """A function that reads what was written with ``text``, into ``latest`` if that is given; and its schema."""

    @abstractmethod
    def incompatibilities(self, reader: SchemaText, writer: SchemaText) -> list[str]:
        """Why ``reader`` could not read what was written with ``writer``; empty when it can."""

    @property
    def client(self) -> RegistryClient:
        """The registry, shared by all converters of this process."""
        return shared_client(self._registry)

    def ready_to_write(self, topic: str, schema: Schema | None) -> Ready:
        """The writer for records of this topic and schema, made when it is first needed."""
        ready = self._writers.get((topic, schema))
        if ready is None or ready.is_over:
            with self._reported(self.format.unwritable.format(topic), ("w", topic, schema)):
                ready = self._new_writer(topic, schema)
            _remember(self._writers, (topic, schema), ready, self._cache_size)
        return ready

    def ready_to_read(self, topic: str, prefix: bytes) -> Ready:
        """The reader for messages of this topic that begin like this, made when it is first needed."""
        ready = self._readers.get((topic, prefix))
        if ready is None or ready.is_over:
            with self._reported(self.format.unreadable.format(topic), ("r", topic, prefix)):
                ready = self._new_reader(topic, prefix)
            _remember(self._readers, (topic, prefix), ready, self._cache_size)
        return ready

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        ready = self.ready_to_read(topic, data[:PREFIX_BYTES])
        return ready.schema, ready.run(data)

    def _new_writer(self, topic: str, schema: Schema | None) -> Ready:
        own, name = self.describe(schema)
        subject = self._subject(topic, name)
        until = None
        if self._register:
            number, text = self.client.register(subject, own, self._normalize), own
        elif self._use_id >= 0:
            number, text = self._use_id, self.client.by_id(self._use_id, subject)
            self._check(text, own, "id.compatibility.strict", self._id_strict)
        elif self._use_latest:
            latest = self.client.latest(subject)
            number, text, until = latest.id, latest.schema, self._latest_until()
            self._check(text, own, "latest.compatibility.strict", self._latest_strict)
        else:
            number, text = self.client.find(subject, own, self._normalize), own
        prefix = bytes([MAGIC]) + number.to_bytes(PREFIX_BYTES - 1, "big")
        return Ready(schema, text, prefix, self.make_writer(schema, text, prefix), until)

    def _new_reader(self, topic: str, prefix: bytes) -> Ready:
        number = _schema_id(prefix)
        by_topic = self._subject_of(topic, None)
        text = self.client.by_id(number, by_topic)
        if text.kind != self.format.kind:
            raise DataError(f"schema {number} is of type {text.kind}, not {self.format.kind}")
        subject = by_topic or self._subject(topic, self.record_name(text))
        latest, until = None, None
        if self._use_latest:
            latest, until = self.client.latest(subject).schema, self._latest_until()
        version = self.client.version(subject, text)
        schema, read = self.make_reader(text, latest, version)
        return Ready(schema, text, prefix, read, until)

    def _subject_of(self, topic: str, name: str | None) -> str | None:
        """The subject, or ``None`` when it takes a name."""
        try:
            return self._subject(topic, name)
        except DataError:
            return None

    def _latest_until(self) -> float | None:
        return None if self._latest_seconds < 0 else time.monotonic() + self._latest_seconds

    def _check(self, reader: SchemaText, own: SchemaText, key: str, strict: bool) -> None:
        if reader.kind != self.format.kind:
            raise DataError(f"The subject's schema is of type {reader.kind}, not {self.format.kind}")
        problems = self.incompatibilities(reader, own) if strict else []
        if problems:
            raise DataError(
                f"Incompatible schema of type '{reader.kind}'. Set {key}=false to disable this check."
                f" {'; '.join(problems)}"
            )

    @contextmanager
    def _reported(self, context: str, key: Any) -> Any:
        """Errors in Kafka Connect's words; one that would come again at once is not looked for again."""
        failed = self._failures.get(key)
        if failed is not None and time.monotonic() < failed[0]:
            raise DataError(failed[1].args[0], failed[1].exception)
        try:
            yield
        except RegistryRefusal as refusal:
            error = record_error(context, refusal)
            if isinstance(error, DataError):
                self._remember_failure(key, error)
            raise error from refusal
        except RetriableError as error:
            raise RetriableError(f"{context} {error}") from error
        except DataError as error:
            described = DataError(f"{context} {error}", error.exception)
            self._remember_failure(key, described)
            raise described from error

    def _remember_failure(self, key: Any, error: DataError) -> None:
        _remember(self._failures, key, (time.monotonic() + FAILURE_SECONDS, error), self._cache_size)


def _schema_id(prefix: bytes) -> int:
    if len(prefix) < PREFIX_BYTES:
        raise DataError(f"a message of {len(prefix)} bytes is too short for a schema id")
    if prefix[0] != MAGIC:
        raise DataError("Unknown magic byte!")
    return int.from_bytes(prefix[1:], "big")


def _remember(cache: dict[Any, Any], key: Any, value: Any, limit: int) -> None:
    if len(cache) >= limit:
        cache.pop(next(iter(cache)))
    cache[key] = value
