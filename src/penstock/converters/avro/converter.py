"""The converter itself: settings, tombstones, and which schema stands for which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.api.batch import Column, Part
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, Width
from penstock.api.errors import DataError, PluginError
from penstock.api.record import Schema

from ..registry.client import SchemaText
from ..registry.converter import PREFIX_BYTES, SERIALIZER_KEYS, Read, RegistryConverter, SchemaFormat, Write
from .checks import null_value
from .from_connect import avro_text
from .reading import avro_reader
from .resolution import problems
from .schema import AvroType, parse_schema
from .styles import AvroStyle
from .to_connect import connect_schema
from .writing import avro_writer

if TYPE_CHECKING:
    import pyarrow as pa


def _flag(name: str, default: bool, importance: Importance, doc: str) -> ConfigKey:
    return ConfigKey(name, Type.BOOLEAN, default, importance, doc, group="Avro", width=Width.SHORT)


class AvroConverter(RegistryConverter):
    """Avro with a schema registry: a zero byte, the id of the schema, the value in Avro's binary form."""

    java_class: ClassVar[str] = "io.confluent.connect.avro.AvroConverter"
    config: ClassVar[ConfigDef] = SERIALIZER_KEYS.extended(
        _flag(
            "enhanced.avro.schema.support",
            False,
            Importance.MEDIUM,
            "Write strings that came from Avro enums as enums again, and name the fields of unions by full names.",
        ),
        _flag(
            "connect.meta.data",
            True,
            Importance.LOW,
            "Keep in Avro schemas what only Connect schemas have, as properties whose names start with connect.",
        ),
        _flag(
            "scrub.invalid.names",
            False,
            Importance.MEDIUM,
            "Replace characters in names that Avro does not allow, instead of refusing the record.",
        ),
        _flag(
            "allow.optional.map.keys",
            False,
            Importance.LOW,
            "Write maps whose string keys are optional as Avro maps, instead of arrays of keys and values.",
        ),
        _flag("flatten.singleton.unions", True, Importance.LOW, "Read a union of a single type as that type."),
    )
    format: ClassVar[SchemaFormat] = SchemaFormat(
        "AVRO",
        unwritable="Failed to serialize Avro data from topic {}:",
        unreadable="Failed to deserialize data for topic {} to Avro:",
    )

    def take_settings(self, parsed: Mapping[str, Any]) -> None:
        self._style = AvroStyle(
            enhanced=parsed["enhanced.avro.schema.support"],
            scrub=parsed["scrub.invalid.names"],
            metadata=parsed["connect.meta.data"],
            optional_map_keys=parsed["allow.optional.map.keys"],
            flatten_singletons=parsed["flatten.singleton.unions"],
            ignore_default=parsed["ignore.default.for.nullables"],
        )
        self._parsed: dict[SchemaText, AvroType] = {}

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None if schema is None or schema.optional else null_value()
        data: bytes = self.ready_to_write(topic, schema).run(value)
        return data

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        try:
            return super().to_data(topic, data)
        except DataError as error:
            context = self.format.unreadable.format(topic)
            if str(error).startswith(context):
                raise
            raise DataError(f"{context} {error}", error.exception) from error

    def describe(self, schema: Schema | None) -> tuple[SchemaText, str | None]:
        text = SchemaText("AVRO", avro_text(schema, self._style))
        return text, self.record_name(text)

    def record_name(self, text: SchemaText) -> str | None:
        return self._parse(text).name

    def make_writer(self, schema: Schema | None, text: SchemaText, prefix: bytes) -> Write:
        return avro_writer(schema, self._parse(text), self._style, prefix)

    def make_reader(
        self, text: SchemaText, latest: SchemaText | None, version: int | None
    ) -> tuple[Schema | None, Read]:
        writer = self._parse(text)
        reader = writer if latest is None else self._parse(latest)
        schema = connect_schema(reader, self._style, version)
        return schema, avro_reader(writer, reader, schema, self._style, start=PREFIX_BYTES)

    def encode(self, topic: str, column: Column) -> pa.Array | None:
        from .column_writer import write_column

        try:
            ready = self.ready_to_write(topic, column.schema)
        except PluginError:  # The registry or the schema: each record reports it, or tries again.
            return None
        return write_column(column, self._parse(ready.text), self._style, ready.prefix)

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        parts = self.decode_parts(topic, data)
        return parts[0].column if len(parts) == 1 and len(parts[0].rows) == len(data) else None

    def decode_parts(self, topic: str, data: pa.Array) -> Sequence[Part]:
        from .column_reader import column_reader, messages_by_prefix, read_rows

        found: list[Part] = []
        for prefix, rows in () if self._use_latest else messages_by_prefix(data):
            try:
                ready = self.ready_to_read(topic, prefix)
            except PluginError:
                continue
            read = column_reader(self._parse(ready.text), ready.schema)
            part = None if read is None else read_rows(data, rows, read)
            found += [] if part is None else [Part(part[0], Column(part[1], ready.schema))]
        return found

    def incompatibilities(self, reader: SchemaText, writer: SchemaText) -> list[str]:
        return problems(self._parse(reader), self._parse(writer))

    def _parse(self, text: SchemaText) -> AvroType:
        found = self._parsed.get(text)
        if found is None:
            referenced = self.client.referenced(text).values() if text.references else ()
            found = self._parsed[text] = parse_schema(text.text, referenced)
            if len(self._parsed) > self._cache_size:
                self._parsed.pop(next(iter(self._parsed)))
        return found
