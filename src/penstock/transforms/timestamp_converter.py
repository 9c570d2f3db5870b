"""TimestampConverter: times between text, numbers and Kafka Connect's own types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.api.batch import Batch, Column
from penstock.api.calendar import MILLIS_PER_DAY
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, one_of
from penstock.api.config_values import trim
from penstock.api.errors import ConfigError, DataError
from penstock.api.logical import (
    DATE,
    DATE_NAME,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    from_millis,
    is_java_date,
    to_millis,
)
from penstock.api.record import INT64, STRING, Field, Record, Schema, SchemaType
from penstock.api.text import java_class, schema_text

from .columns import are_complete, column_of, is_nothing, mapped, members_of
from .java.date_format import DateFormatter
from .java.date_parse import DateParser
from .java.date_pattern import DatePatternError, parse_pattern
from .sides import KeySide, SidedTransform, ValueSide
from .structs import (
    CONNECT_EXCEPTION,
    NULL_POINTER,
    REPLACE_NULL,
    SchemaCache,
    StructCopier,
    fields_of,
    rebuilt,
    require_map,
    require_struct,
    with_default,
)

_PURPOSE = "converting timestamp formats"
_SCHEMAS = {"string": STRING, "unix": INT64, "Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP}
_OPTIONAL = {target: schema.with_(optional=True) for target, schema in _SCHEMAS.items()}
_KINDS = {TIMESTAMP_NAME: "Timestamp", DATE_NAME: "Date", TIME_NAME: "Time"}
_PER_SECOND = {"nanoseconds": 10**9, "microseconds": 10**6, "milliseconds": 1000, "seconds": 1}
_LONG_MAX = (1 << 63) - 1
_ARROW = {
    "string": pa.string(),
    "unix": pa.int64(),
    "Date": pa.date32(),
    "Time": pa.time32("ms"),
    "Timestamp": pa.timestamp("ms", "UTC"),
}

_ToMillis = Callable[[Any], int]
_FromMillis = Callable[[int], Any]


class _StructPlan(NamedTuple):
    schema: Schema
    copier: StructCopier
    field: Schema | None
    """What the field holds; ``None`` when the struct has no such field."""


class TimestampConverter(SidedTransform):
    """Converts one field, or the whole key or value. Null stays null."""

    config = ConfigDef(
        ConfigKey("field", Type.STRING, "", Importance.HIGH, "The field to convert; empty for the whole key or value."),
        ConfigKey(
            "target.type",
            Type.STRING,
            importance=Importance.HIGH,
            validator=one_of(*_SCHEMAS),
            doc="What to convert to: string, unix (a number), Date, Time or Timestamp.",
        ),
        ConfigKey(
            "format",
            Type.STRING,
            "",
            Importance.MEDIUM,
            "How times look as text, to read or to write them: a pattern as for Java's SimpleDateFormat. In UTC.",
        ),
        ConfigKey(
            "unix.precision",
            Type.STRING,
            "milliseconds",
            Importance.LOW,
            "What numbers count, to read or to write them: seconds, milliseconds, microseconds or nanoseconds "
            "since 1970. What is finer than a millisecond gets lost.",
            one_of(*_PER_SECOND),
        ),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._field: str = parsed["field"]
        self._target: str = parsed["target.type"]
        self._precision = _PER_SECOND[parsed["unix.precision"]]
        self._with_default: bool = parsed["replace.null.with.default"]
        self._set_format(parsed["format"])
        readers: dict[str, _ToMillis] = {"string": self._read_text, "unix": self._read_number}
        self._read = {kind: readers.get(kind) or _date_reader(kind) for kind in _SCHEMAS}
        self._write = self._writer()
        self._structs = SchemaCache(self._struct_plan)

    def _set_format(self, pattern: str) -> None:
        self._pattern = pattern
        self._parser: DateParser | None = None
        self._formatter: DateFormatter | None = None
        if trim(pattern):
            try:
                tokens = parse_pattern(pattern)
            except DatePatternError as error:
                raise ConfigError(
                    f"Invalid value java.lang.IllegalArgumentException: {error} for configuration TimestampConverter "
                    f"requires a SimpleDateFormat-compatible pattern for string timestamps: {pattern}"
                ) from None
            self._parser, self._formatter = DateParser(tokens), DateFormatter(tokens)
        elif self._target == "string":
            raise ConfigError("TimestampConverter requires format option to be specified when using string timestamps")

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, self._change_schemaless(value)
        if not self._field:
            kind = _kind_of(schema)
            return self._target_schema(schema), self._convert(value, kind)
        struct = None if value is None else require_struct(schema, value, _PURPOSE)
        plan = self._structs.get(schema)
        return plan.schema, self._convert_struct(struct, plan)

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        schema, arrow = column.schema, _ARROW[self._target]
        if schema is None and is_nothing(column):
            return column
        if not self._field:
            if schema is None:
                return Column(mapped(column, self._convert_inferred, arrow))
            convert = self._conversion(schema)
            return None if convert is None else Column(mapped(column, convert, arrow), self._target_schema(schema))
        members = members_of(column)
        if members is None:
            return None
        if schema is None:
            held = Column(members.get(self._field, pa.nulls(len(batch))))
            members[self._field] = mapped(held, self._convert_inferred, arrow)
            return column_of(members)
        plan = self._structs.find(schema)
        if plan is None or not are_complete(members, schema.fields, self._with_default):
            return None
        if plan.field is not None:
            convert = self._conversion(plan.field)
            if convert is None:
                return None
            members[self._field] = mapped(Column(members[self._field], plan.field), convert, arrow)
        return column_of(members, plan.schema)

    def _conversion(self, schema: Schema) -> Callable[[Any], Any] | None:
        """What converts values of a schema; ``None`` for one that stands for no time."""
        kind = _known_kind(schema)
        return None if kind is None else lambda value: self._convert(value, kind)

    def _convert_inferred(self, value: Any) -> Any:
        return None if value is None else self._convert(value, _inferred_kind(value))

    def _change_schemaless(self, value: Any) -> Any:
        if value is None:
            return None
        if not self._field:
            return self._convert_inferred(value)
        result = require_map(value, _PURPOSE).copy()
        result[self._field] = self._convert_inferred(result.get(self._field))
        return result

    def _convert(self, value: Any, kind: str) -> Any:
        return None if value is None else self._write(self._read[kind](value))

    def _convert_struct(self, struct: dict[str, Any] | None, plan: _StructPlan) -> dict[str, Any] | None:
        if struct is None:
            return None
        result = plan.copier.copy(struct)
        if plan.field is not None:
            result[self._field] = self._convert(result.get(self._field), _kind_of(plan.field))
        return result

    def _struct_plan(self, schema: Schema) -> _StructPlan:
        fields = fields_of(schema)
        changed = [Field(f.name, self._target_schema(f.schema)) if f.name == self._field else f for f in fields]
        updated = rebuilt(schema, changed).with_(optional=schema.optional)
        converted = schema.by_name.get(self._field)
        held = converted.schema if converted is not None else None
        plan = _StructPlan(updated, StructCopier(fields, self._with_default), held)
        if schema.default_value is None:
            return plan
        return plan._replace(schema=with_default(updated, self._convert_struct(schema.default_value, plan)))

    def _target_schema(self, schema: Schema) -> Schema:
        return (_OPTIONAL if schema.optional else _SCHEMAS)[self._target]

    def _read_text(self, value: Any) -> int:
        if not isinstance(value, str):
            raise DataError(f"Expected string timestamp to be a String, but found class {java_class(value)}")
        if self._parser is None:
            message = 'Cannot invoke "java.text.SimpleDateFormat.parse(String)" because "config.format" is null'
            raise DataError(message, NULL_POINTER)
        millis = self._parser.parse(value)
        if millis is None:
            raise DataError(f"Could not parse timestamp: value ({value}) does not match pattern ({self._pattern})")
        return millis

    def _read_number(self, value: Any) -> int:
        if type(value) is not int:
            raise DataError(f"Expected Unix timestamp to be a Long, but found class {java_class(value)}")
        return _rescaled(value, self._precision, 1000)

    def _writer(self) -> _FromMillis:
        target = self._target
        if target == "string" and self._formatter is not None:
            return self._formatter.format
        if target == "unix":
            return lambda millis: _rescaled(millis, 1000, self._precision)
        if target == "Date":
            return lambda millis: from_millis(millis // MILLIS_PER_DAY * MILLIS_PER_DAY, DATE_NAME)
        if target == "Time":
            return lambda millis: from_millis(millis % MILLIS_PER_DAY, TIME_NAME)
        return from_millis


def _rescaled(number: int, unit: int, target: int) -> int:
    """From units a second to others, cut off towards zero and kept within a long."""
    if unit > target:
        factor = unit // target
        return number // factor if number >= 0 else -(-number // factor)
    scaled = number * (target // unit)
    return max(-_LONG_MAX - 1, min(_LONG_MAX, scaled))


def _date_reader(kind: str) -> _ToMillis:
    def read(value: Any) -> int:
        if not is_java_date(value):
            raise DataError(f"Expected {kind} to be a java.util.Date, but found class {java_class(value)}")
        return to_millis(value)

    return read


def _known_kind(schema: Schema) -> str | None:
    kind = _KINDS.get(schema.name or "")
    if kind is not None:
        return kind
    if schema.type is SchemaType.STRING:
        return "string"
    return "unix" if schema.type is SchemaType.INT64 else None


def _kind_of(schema: Schema) -> str:
    kind = _known_kind(schema)
    if kind is not None:
        return kind
    message = f"Schema {schema_text(schema)} does not correspond to a known timestamp type format"
    raise DataError(message, CONNECT_EXCEPTION)


def _inferred_kind(value: Any) -> str:
    if type(value) is int:
        return "unix"
    if isinstance(value, str):
        return "string"
    if is_java_date(value):
        return "Timestamp"
    raise DataError(f"TimestampConverter does not support class {java_class(value)} objects as timestamps")


class TimestampConverterKey(KeySide, TimestampConverter):
    """Converts the key or one of its fields."""

    java_class = "org.apache.kafka.connect.transforms.TimestampConverter$Key"


class TimestampConverterValue(ValueSide, TimestampConverter):
    """Converts the value or one of its fields."""

    java_class = "org.apache.kafka.connect.transforms.TimestampConverter$Value"
