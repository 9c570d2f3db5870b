"""The converter itself: settings, nulls, and which schema stands for which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, Width, one_of_ignoring_case
from penstock.api.errors import DataError
from penstock.api.record import Schema

from ..json.reader import JsonError, read_exact
from ..registry.client import SchemaText
from ..registry.converter import PREFIX_BYTES, SERIALIZER_KEYS, Read, RegistryConverter, SchemaFormat, Write
from .compatibility import json_problems
from .documents import Documents
from .from_connect import json_schema_text
from .names import JsonStyle
from .reading import json_reader
from .to_connect import connect_schema
from .validating import Validate, require_validator, validator
from .writing import json_writer


def _key(name: str, type: Type, default: Any, importance: Importance, doc: str, **more: Any) -> ConfigKey:
    return ConfigKey(name, type, default, importance, doc, group="JSON Schema", width=Width.SHORT, **more)


class JsonSchemaConverter(RegistryConverter):
    """JSON with JSON Schemas in a registry: a zero byte, the id of the schema, the value as JSON text."""

    java_class: ClassVar[str] = "io.confluent.connect.json.JsonSchemaConverter"
    config: ClassVar[ConfigDef] = SERIALIZER_KEYS.extended(
        _key(
            "json.fail.invalid.schema",
            Type.BOOLEAN,
            False,
            Importance.MEDIUM,
            "Refuse messages that their schema does not accept. Needs the package jsonschema-rs.",
        ),
        _key(
            "object.additional.properties",
            Type.BOOLEAN,
            True,
            Importance.MEDIUM,
            "Register schemas that accept properties they do not name.",
        ),
        _key(
            "use.optional.for.nonrequired",
            Type.BOOLEAN,
            False,
            Importance.MEDIUM,
            "Read properties that are not required as optional fields.",
        ),
        _key(
            "decimal.format",
            Type.STRING,
            "BASE64",
            Importance.LOW,
            "How decimals are written: BASE64 (the bytes of their digits) or NUMERIC (a number).",
            validator=one_of_ignoring_case("BASE64", "NUMERIC"),
        ),
        _key("flatten.singleton.unions", Type.BOOLEAN, True, Importance.LOW, "Read a choice of one type as that type."),
    )
    format: ClassVar[SchemaFormat] = SchemaFormat(
        "JSON",
        unwritable="Converting Kafka Connect data to byte[] failed due to serialization error of topic {}:",
        unreadable="Converting byte[] to Kafka Connect data failed due to serialization error of topic {}:",
    )

    def take_settings(self, parsed: Mapping[str, Any]) -> None:
        self._style = JsonStyle(
            numeric_decimals=parsed["decimal.format"].upper() == "NUMERIC",
            additional_properties=parsed["object.additional.properties"],
            optional_if_not_required=parsed["use.optional.for.nonrequired"],
            flatten_singletons=parsed["flatten.singleton.unions"],
            ignore_default=parsed["ignore.default.for.nullables"],
        )
        self._validates: bool = parsed["json.fail.invalid.schema"]
        if self._validates:
            require_validator()

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None and (schema is None or not (schema.optional or schema.default_value is not None)):
            return None
        data: bytes = self.ready_to_write(topic, schema).run(value)
        return data

    def describe(self, schema: Schema | None) -> tuple[SchemaText, str | None]:
        if schema is None:
            raise DataError("JsonSchemaConverter writes only values that have a schema; without one, use JsonConverter")
        text = SchemaText("JSON", json_schema_text(schema, self._style))
        return text, self.record_name(text)

    def record_name(self, text: SchemaText) -> str | None:
        root = self._documents(text).root
        title = root.get("title") if isinstance(root, dict) else None
        return title if isinstance(title, str) else None

    def make_writer(self, schema: Schema | None, text: SchemaText, prefix: bytes) -> Write:
        write_text, validate = json_writer(schema, self._style), self._validator(text)

        def write(value: Any) -> bytes:
            payload = (write_text(value) or "null").encode("utf-8")
            if validate is not None:
                validate(payload)
            return prefix + payload

        return write

    def make_reader(
        self, text: SchemaText, latest: SchemaText | None, version: int | None
    ) -> tuple[Schema | None, Read]:
        target = text if latest is None else latest
        schema = connect_schema(self._documents(target), self._style, version)
        read_tree, validate = json_reader(schema), self._validator(target)

        def read(data: bytes) -> Any:
            payload = data[PREFIX_BYTES:]
            try:
                tree = read_exact(payload)
            except JsonError as error:
                raise DataError(f"the message is not JSON: {error}") from error
            if validate is not None:
                validate(payload)
            return read_tree(tree)

        return schema, read

    def incompatibilities(self, reader: SchemaText, writer: SchemaText) -> list[str]:
        return json_problems(json.loads(reader.text), json.loads(writer.text))

    def _documents(self, text: SchemaText) -> Documents:
        return Documents(text.text, self._referenced(text))

    def _referenced(self, text: SchemaText) -> Mapping[str, str]:
        return self.client.referenced(text) if text.references else {}

    def _validator(self, text: SchemaText) -> Validate | None:
        return validator(text.text, self._referenced(text)) if self._validates else None
