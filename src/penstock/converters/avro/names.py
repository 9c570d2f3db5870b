"""The names under which Kafka Connect's Avro converter keeps what Avro itself has no place for."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

from penstock.api.errors import DataError

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = "ConnectDefault"
MAP_ENTRY = "MapEntry"
KEY, VALUE = "key", "value"

CONNECT_NAME = "connect.name"
CONNECT_DOC = "connect.doc"
CONNECT_VERSION = "connect.version"
CONNECT_DEFAULT = "connect.default"
CONNECT_PARAMETERS = "connect.parameters"
CONNECT_TYPE = "connect.type"
INTERNAL_TYPE = "connect.internal.type"
FIXED_SIZE = "connect.fixed.size"
DECIMAL_PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64

RECORD_DOC = f"{NAMESPACE}.record.doc"
FIELD_DOC = f"{NAMESPACE}.field.doc."
ENUM_DOC = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT = f"{NAMESPACE}.enum.default."
FIELD_DEFAULT = f"{NAMESPACE}.field.default"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
ANYTHING = f"{NAMESPACE}.Anything"
DEFAULT_FULL_NAME = f"{NAMESPACE}.{DEFAULT_NAME}"

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ILLEGAL_CHARACTER = re.compile(r"[^A-Za-z0-9_]")
_PARSE_ERROR = "org.apache.avro.SchemaParseException"


def split_name(full: str) -> tuple[str | None, str]:
    """Namespace and last part of a dotted name."""
    namespace, _, name = full.rpartition(".")
    return namespace or None, name


def scrub(name: str) -> str:
    """A name that Avro accepts: other characters URL-encoded, with underscores for percent signs."""
    if _LEGAL.fullmatch(name) or not name:
        return name
    encoded = quote_plus(name, safe="*-._").replace("~", "%7E")
    if encoded[0].isdigit():
        encoded = "x" + encoded
    return _ILLEGAL_CHARACTER.sub("_", encoded)


def scrub_full(name: str) -> str:
    """A dotted name with each part scrubbed."""
    return ".".join(map(scrub, name.split(".")))


def check_name(name: str) -> str:
    """The name, if Avro accepts it."""
    if _LEGAL.fullmatch(name):
        return name
    problem = "Empty name"
    if name:
        start = not re.match(r"[A-Za-z_]", name)
        problem = f"Illegal initial character: {name}" if start else f"Illegal character in: {name}"
    raise DataError(f"{problem} (scrub.invalid.names=true replaces what Avro does not allow in names)", _PARSE_ERROR)
