"""The converter itself: settings, envelopes, caches."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.api.batch import Column, Part
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, Width, one_of_ignoring_case
from penstock.api.errors import ConfigError, DataError
from penstock.api.header_check import check_header
from penstock.api.record import Schema

from ..common import CONVERTER_TYPE, ValueAndHeaderConverter
from .decoding import Read, reader_for
from .encoding import Style, Write, plain_text, writer_for
from .lenient import MAX_DEPTH
from .reader import MISSING, JsonError, read_envelope, read_exact, read_plain
from .schemas import schema_from_node, schema_text

if TYPE_CHECKING:
    import pyarrow as pa

    from .envelopes import EnvelopeBook
    from .shape_book import ShapeBook

_UNREADABLE = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_BAD_CONTENT = "Failed to parse schema in converter config due to serialization error: "
_UNWRITABLE = "Converting Kafka Connect data to byte[] failed due to serialization error: "
_NO_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields.'
    " If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_ENVELOPE = {"schema", "payload"}

_CONFIG = ConfigDef(
    CONVERTER_TYPE,
    ConfigKey(
        "schemas.enable",
        Type.BOOLEAN,
        True,
        Importance.HIGH,
        "Include schemas within each of the serialized values and keys.",
        group="Schemas",
        order=0,
        width=Width.MEDIUM,
        display_name="Enable Schemas",
    ),
    ConfigKey(
        "schemas.cache.size",
        Type.INT,
        1000,
        Importance.HIGH,
        "The maximum number of schemas that can be cached in this converter instance.",
        group="Schemas",
        order=1,
        width=Width.MEDIUM,
        display_name="Schema Cache Size",
    ),
    ConfigKey(
        "schema.content",
        Type.STRING,
        None,
        Importance.HIGH,
        "The schema of all values that are read, which are without an envelope then. Only with schemas.enable.",
        group="Schemas",
        order=2,
        width=Width.MEDIUM,
        display_name="Schema Content",
    ),
    ConfigKey(
        "decimal.format",
        Type.STRING,
        "BASE64",
        Importance.LOW,
        "Controls which format this converter will serialize decimals in."
        " This value is case insensitive and can be either 'BASE64' (default) or 'NUMERIC'",
        one_of_ignoring_case("NUMERIC", "BASE64"),
        group="Serialization",
        order=0,
        width=Width.MEDIUM,
        display_name="Decimal Format",
    ),
    ConfigKey(
        "replace.null.with.default",
        Type.BOOLEAN,
        True,
        Importance.LOW,
        "Whether to replace fields that have a default value and that are null to the default value."
        " When set to true, the default value is used, otherwise null is used.",
        group="Serialization",
        order=1,
        width=Width.MEDIUM,
        display_name="Replace null with default",
    ),
)


@contextmanager
def room_to_recurse() -> Iterator[None]:
    """A recursion limit that suits the deepest JSON."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class NoSchemaError(ConfigError):
    """``schema.content`` is no schema."""

    exception = DataError.exception


class JsonConverter(ValueAndHeaderConverter):
    """JSON values, by default in an envelope of ``schema`` and ``payload``."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.json.JsonConverter"
    config: ClassVar[ConfigDef] = _CONFIG

    def __init__(self) -> None:
        self.configure({})

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse({"converter.type": "value", **settings})
        self._with_schemas: bool = parsed["schemas.enable"]
        self._style = Style(parsed["decimal.format"].upper() == "NUMERIC", parsed["replace.null.with.default"])
        self._given = _given_schema(parsed["schema.content"] or "", self._style.replace_null)
        self._cache_size = max(parsed["schemas.cache.size"], 1)
        self._writers: dict[Schema, tuple[str, Write]] = {}
        self._readers: dict[bytes, tuple[Schema | None, Read]] = {}
        self._books: EnvelopeBook | ShapeBook | None = None

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        prefix, write = self._writer(schema)
        try:
            payload = write(value)
        except RecursionError:
            with room_to_recurse():
                payload = write(value)
        text = f"{prefix}{payload}}}" if self._with_schemas else payload
        if len(text) > 2 * MAX_DEPTH and _depth(text) > MAX_DEPTH:
            raise DataError(_UNWRITABLE)
        return text.encode("utf-8")

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            return self._read(data)
        except JsonError as error:
            raise DataError(_UNREADABLE) from error
        except RecursionError:
            with room_to_recurse():
                return self._read(data)

    def to_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        schema, value = self.to_data(topic, data)
        check_header(schema, value)
        return schema, value

    def encode(self, topic: str, column: Column) -> pa.Array | None:
        from .column_writer import NullRefused, json_texts
        from .columns import as_bytes, is_plain_string, quoted, wrapped

        array, schema = column.array, column.schema
        # What refuses a value or a schema here refuses it again where values go one by one, and is reported there.
        try:
            prefix, suffix = (self._writer(schema)[0], "}") if self._with_schemas else ("", "")
            if is_plain_string(column) and not (array.null_count and schema is not None):
                texts = quoted(array, prefix, suffix)
            else:
                texts = wrapped(json_texts(array, schema, self._style), prefix, suffix)
        except (DataError, NullRefused):
            return None
        return as_bytes(texts, array if schema is None else None)

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        from .columns import decode_strings, is_string_schema, string_prefix

        if not self._with_schemas:
            strings = decode_strings(data, "", "")
            return None if strings is None else Column(strings)
        prefix = string_prefix(data)
        if prefix is None or self._given is not None:
            return None
        try:
            schema, _ = self.to_data(topic, f'{prefix}""}}'.encode())
        except DataError:  # The schema is not for strings, or none at all.
            return None
        strings = decode_strings(data, prefix, "}") if is_string_schema(schema) else None
        return None if strings is None else Column(strings, schema)

    def decode_parts(self, topic: str, data: pa.Array) -> Sequence[Part]:
        import numpy as np

        if data.null_count == len(data):
            from pyarrow import nulls

            return [Part(np.arange(len(data)), Column(nulls(len(data))))]
        if self._with_schemas and self._given is not None:
            return []
        if found := super().decode_parts(topic, data):
            return found
        if self._books is None:
            self._books = self._new_books()
        return self._books.read(data)

    def _new_books(self) -> EnvelopeBook | ShapeBook:
        from .envelopes import EnvelopeBook
        from .shape_book import ShapeBook

        if not self._with_schemas:
            return ShapeBook()
        return EnvelopeBook(self._schema_of, self._style.replace_null)

    def _schema_of(self, schema_json: bytes) -> Schema | None:
        """The schema of envelopes; ``None`` also for a wrong or a very deep one, with which values go one by one."""
        try:
            return self._reader(schema_json)[0]
        except (DataError, JsonError, RecursionError):
            return None

    def _writer(self, schema: Schema | None) -> tuple[str, Write]:
        if schema is None:
            return '{"schema":null,"payload":', plain_text
        found = self._writers.get(schema)
        if found is None:
            prefix = f'{{"schema":{schema_text(schema, self._style)},"payload":' if self._with_schemas else ""
            found = prefix, writer_for(schema, self._style)
            _remember(self._writers, schema, found, self._cache_size)
        return found

    def _read(self, data: bytes) -> tuple[Schema | None, Any]:
        if self._with_schemas:
            return self._read_envelope(data) if self._given is None else self._read_bare(data, *self._given)
        value = read_plain(data)
        return None, None if value is MISSING else value

    def _read_bare(self, data: bytes, schema: Schema, read: Read) -> tuple[Schema, Any]:
        """A value of the configured schema."""
        return schema, read(read_exact(data))

    def _read_envelope(self, data: bytes) -> tuple[Schema | None, Any]:
        members = read_envelope(data)
        if members is None or members.keys() != _ENVELOPE:
            node = read_exact(data)
            _check_envelope(node)
            schema = schema_from_node(node["schema"], self._style.replace_null)
            return schema, reader_for(schema, self._style.replace_null)(node["payload"])
        try:
            schema, read = self._reader(bytes(members["schema"]))
        except DataError:
            read_exact(data)
            raise
        return schema, read(read_exact(bytes(members["payload"])))

    def _reader(self, schema_json: bytes) -> tuple[Schema | None, Read]:
        found = self._readers.get(schema_json)
        if found is None:
            schema = schema_from_node(read_exact(schema_json), self._style.replace_null)
            found = schema, reader_for(schema, self._style.replace_null)
            _remember(self._readers, schema_json, found, self._cache_size)
        return found


def _given_schema(content: str, replace_null: bool) -> tuple[Schema, Read] | None:
    """The schema that a configuration gives for all values, and what reads them."""
    if not content:
        return None
    try:
        schema = schema_from_node(read_exact(content.encode("utf-8", "surrogatepass")), replace_null)
    except JsonError as error:
        raise NoSchemaError(_BAD_CONTENT) from error
    except DataError as error:
        raise NoSchemaError(str(error)) from error
    return None if schema is None else (schema, reader_for(schema, replace_null))


def _check_envelope(node: Any) -> None:
    if not isinstance(node, dict) or node.keys() != _ENVELOPE:
        raise DataError(_NO_ENVELOPE)


def _remember(cache: dict[Any, Any], key: Any, value: Any, limit: int) -> None:
    if len(cache) >= limit:
        cache.pop(next(iter(cache)))
    cache[key] = value


def _depth(text: str) -> int:
    """How deep the JSON text is nested."""
    deepest = depth = 0
    in_string = escaped = False
    for character in text if text.count("[") + text.count("{") > MAX_DEPTH else "":
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest
