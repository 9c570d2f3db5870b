"""The names under which Kafka Connect's converter keeps what JSON Schema itself has no place for."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.record import Schema, SchemaType

NAMESPACE = "io.confluent.connect.json"
ENUM = f"{NAMESPACE}.Enum"
ONE_OF = f"{NAMESPACE}.OneOf"
NULL_MARKER = "<NULL>"
KEY, VALUE = "key", "value"

CONNECT_TYPE = "connect.type"
CONNECT_VERSION = "connect.version"
CONNECT_PARAMETERS = "connect.parameters"
CONNECT_INDEX = "connect.index"
MAP = "map"
BYTES = "bytes"


@dataclass(frozen=True)
class JsonStyle:
    """The settings that change how Connect and JSON Schema map to each other."""

    numeric_decimals: bool = False
    additional_properties: bool = True
    optional_if_not_required: bool = False
    flatten_singletons: bool = True
    ignore_default: bool = False


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for one of several types."""
    return schema.name == ONE_OF


def union_member(number: int) -> str:
    """The name of the field that stands for one of the types."""
    return f"{ONE_OF}.field.{number}"


def has_string_keys(schema: Schema) -> bool:
    """Whether a map can be a JSON object."""
    keys = schema.key_schema
    return keys is not None and keys.type is SchemaType.STRING and not keys.optional
