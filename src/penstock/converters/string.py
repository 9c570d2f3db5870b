"""Text in any encoding; values that are no text are written as Java prints them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.api.batch import Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, Width
from penstock.api.errors import ConfigError
from penstock.api.record import OPTIONAL_STRING, Schema, SchemaType
from penstock.api.text import java_text

from .character_sets import codec_of
from .common import CONVERTER_TYPE, ValueAndHeaderConverter

if TYPE_CHECKING:
    import pyarrow as pa

_REPLACE = "penstock.java_replace"
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_INTEGERS = {SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64}


def _replace_like_java(error: UnicodeError) -> tuple[str, int]:
    """One mark for a surrogate that was encoded in three bytes, or the first two of them; otherwise as Python does."""
    if isinstance(error, UnicodeDecodeError) and error.encoding == "utf-8":
        surrogate = _ENCODED_SURROGATE.match(error.object, error.start)
        if surrogate is not None:
            return "\ufffd", surrogate.end()
    replaced: tuple[str, int] = codecs.replace_errors(error)  # type: ignore[assignment]
    return replaced


codecs.register_error(_REPLACE, _replace_like_java)


def decode_java_utf8(data: bytes) -> str:
    """UTF-8 with marks in place of what is malformed, as Java reads it."""
    return data.decode("utf-8", _REPLACE)


class UnsupportedEncodingError(ConfigError):
    """``converter.encoding`` names no character set that we know."""

    exception = "org.apache.kafka.common.errors.SerializationException"


Encode = Callable[[str], bytes]
Decode = Callable[[bytes], str]


def _codec(name: str) -> tuple[Encode, Decode]:
    """Functions for a Java character set. Java's UTF-16 and UTF-32 are big-endian unless a mark says otherwise."""
    canonical = codec_of(name)
    if canonical is None:
        raise UnsupportedEncodingError(f"Unsupported encoding {name}")
    if canonical == "utf-8":
        return lambda text: text.encode("utf-8", "replace"), decode_java_utf8
    if canonical in ("utf-16", "utf-32"):
        return _marked_codec(canonical)
    return lambda text: text.encode(canonical, "replace"), lambda data: data.decode(canonical, "replace")


def _marked_codec(name: str) -> tuple[Encode, Decode]:
    big, little = f"{name}-be", f"{name}-le"
    big_mark, little_mark = "\ufeff".encode(big), "\ufeff".encode(little)
    written_mark = big_mark if name == "utf-16" else b""

    def encode(text: str) -> bytes:
        return written_mark + text.encode(big, "replace") if text else b""

    def decode(data: bytes) -> str:
        if data.startswith(little_mark):
            return data[len(little_mark) :].decode(little, "replace")
        return data.removeprefix(big_mark).decode(big, "replace")

    return encode, decode


class StringConverter(ValueAndHeaderConverter):
    """Strings in ``converter.encoding``; columns of UTF-8 strings without a copy."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.storage.StringConverter"
    config: ClassVar[ConfigDef] = ConfigDef(
        CONVERTER_TYPE,
        ConfigKey(
            "converter.encoding",
            Type.STRING,
            "UTF-8",
            Importance.HIGH,
            "The name of the Java character set to use for encoding strings as byte arrays.",
            width=Width.MEDIUM,
            display_name="Encoding",
        ),
    )

    def __init__(self) -> None:
        self._use("UTF-8")

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._use(self.config.parse({"converter.type": "value", **settings})["converter.encoding"])

    def _use(self, encoding: str) -> None:
        self._encode, self._decode = _codec(encoding)
        self._is_utf8 = self._decode is decode_java_utf8

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        return self._encode(value if type(value) is str else java_text(value, schema))

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return OPTIONAL_STRING, None if data is None else self._decode(data)

    def encode(self, topic: str, column: Column) -> pa.Array | None:
        import pyarrow as pa

        kind, schema = column.array.type, column.schema
        if not self._is_utf8:
            return None
        if pa.types.is_large_string(kind):
            return column.array.cast(pa.large_binary())
        if pa.types.is_string(kind):
            return column.array.cast(pa.binary())
        plain = schema is None or (schema.type in _INTEGERS and schema.name is None)
        if pa.types.is_integer(kind) and plain:
            return column.array.cast(pa.string()).cast(pa.binary())
        return None

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        import pyarrow as pa

        if not self._is_utf8:
            return None
        try:
            text = data.cast(pa.large_string() if pa.types.is_large_binary(data.type) else pa.string())
        except pa.ArrowInvalid:
            return None
        return Column(text, OPTIONAL_STRING)
