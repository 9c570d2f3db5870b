"""Rules of the transforms that the record cases do not reach, and that no transform changes what it is given."""

from __future__ import annotations

import copy
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.errors import ConfigError, DataError
from penstock.api.logical import DATE, TIME, TIMESTAMP, decimal_schema
from penstock.api.record import (
    FLOAT32,
    INT32,
    INT64,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    Float32,
    Header,
    Int8,
    Int32,
    Record,
    Schema,
    struct_schema,
)
from penstock.api.transform import Transform
from penstock.transforms.cast import CastValue
from penstock.transforms.extract_field import ExtractFieldValue
from penstock.transforms.flatten import FlattenValue
from penstock.transforms.headers import DropHeaders, HeaderFromValue, InsertHeader
from penstock.transforms.hoist_field import HoistFieldValue
from penstock.transforms.insert_field import InsertFieldValue
from penstock.transforms.mask_field import MaskFieldValue
from penstock.transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue
from penstock.transforms.routers import RegexRouter, TimestampRouter
from penstock.transforms.set_schema_metadata import SetSchemaMetadataValue
from penstock.transforms.timestamp_converter import TimestampConverterValue
from penstock.transforms.value_to_key import ValueToKey

HOME = struct_schema(("city", STRING))
PERSON = struct_schema(
    ("id", INT32), ("name", OPTIONAL_STRING), ("at", INT64), ("home", HOME), name="Person", version=2
)
ANN = {"id": 7, "name": "Ann", "at": 1700000000123, "home": {"city": "Rome"}}


def configured(cls: type[Transform], **settings: Any) -> Transform:
    transform = cls()
    transform.configure({key.replace("_", "."): value for key, value in settings.items()})
    return transform


def value_of(transform: Transform, value: Any, schema: Schema | None = None) -> Any:
    changed = transform.apply(Record(value=value, value_schema=schema, topic="t", offset=0))
    assert changed is not None
    return changed.value


def error_of(transform: Transform, value: Any, schema: Schema | None = None) -> DataError:
    with pytest.raises(DataError) as failed:
        transform.apply(Record(value=value, value_schema=schema, topic="t"))
    return failed.value


EVERY = [
    configured(CastValue, spec="id:string"),
    configured(DropHeaders, headers="h"),
    configured(ExtractFieldValue, field="name"),
    configured(FlattenValue),
    configured(HeaderFromValue, fields="name", headers="n", operation="move"),
    configured(HoistFieldValue, field="f"),
    configured(InsertFieldValue, topic_field="topic", timestamp_field="ts"),
    configured(InsertHeader, header="x", value_literal="1"),
    configured(MaskFieldValue, fields="name"),
    configured(RegexRouter, regex=".*", replacement="r"),
    configured(ReplaceFieldValue, renames="name:n", exclude="id"),
    configured(TimestampConverterValue, field="at", target_type="string", format="yyyy"),
    configured(TimestampRouter),
    configured(ValueToKey, fields="id"),
]


@pytest.mark.parametrize("transform", EVERY, ids=lambda transform: type(transform).__name__)
@pytest.mark.parametrize("schema", [PERSON, None], ids=["struct", "map"])
def test_the_given_record_stays_as_it_was(transform: Transform, schema: Schema | None) -> None:
    headers = (Header("h", 1, INT64),)
    record = Record(copy.deepcopy(ANN), "k", "t", 0, schema, STRING, headers, 1700000000123, 5)
    before = copy.deepcopy(record)
    changed = transform.apply(record)
    assert changed != before
    assert record == before
    assert changed is not None
    assert (changed.partition, changed.timestamp, changed.offset) == (0, 1700000000123, 5)


def test_the_new_schema_is_made_once_for_equal_schemas() -> None:
    cast = configured(CastValue, spec="id:string")
    schemas = [PERSON, PERSON.with_(), INT32, PERSON]
    made = []
    for schema in schemas:
        record = Record(value=dict(ANN), value_schema=schema, topic="t")
        if schema is INT32:
            with pytest.raises(DataError, match="Cannot list fields on non-struct type"):
                cast.apply(record)
            continue
        changed = cast.apply(record)
        assert changed is not None
        made.append(changed.value_schema)
    assert made[0] is made[1] is made[2]
    assert made[0] is not None
    assert (made[0].name, made[0].version, made[0].fields[0]) == ("Person", 2, ("id", STRING))


def test_casts_without_schema_keep_javas_classes() -> None:
    assert type(value_of(configured(CastValue, spec="int8"), 300)) is Int8
    assert type(value_of(configured(CastValue, spec="a:float32"), {"a": "0.1"})["a"]) is Float32
    assert type(value_of(configured(CastValue, spec="int64"), Int8(3))) is int


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (DATE, date(2023, 11, 14), "2023-11-14"),
        (TIME, time(1, 2, 3, 4000), "01:02:03.004Z"),
        (TIMESTAMP, datetime(2023, 11, 14, 1, tzinfo=UTC), "2023-11-14T01:00:00.000Z"),
        (decimal_schema(2), Decimal("571.95"), "571.95"),
        (FLOAT32, 0.10000000149011612, "0.1"),
    ],
)
def test_typed_values_become_text(schema: Schema, value: Any, text: str) -> None:
    cast = configured(CastValue, spec="a:string")
    assert value_of(cast, {"a": value}, struct_schema(("a", schema))) == {"a": text}


def test_dates_without_schema_cannot_be_cast_or_flattened() -> None:
    moment = datetime(2023, 1, 1, tzinfo=UTC)
    reason = "was passed a value of type class java.util.Date which is not supported by Connect's data API"
    assert str(error_of(configured(CastValue, spec="a:string"), {"a": moment})) == f"Cast transformation {reason}"
    assert str(error_of(configured(FlattenValue), {"a": moment})) == f"Flatten transformation {reason}"


def test_a_required_field_does_not_become_null() -> None:
    schema = struct_schema(("a", INT32.with_(default=5)), ("b", OPTIONAL_STRING))
    keep = configured(InsertFieldValue, static_field="c", static_value="x", replace_null_with_default="false")
    fill = configured(InsertFieldValue, static_field="c", static_value="x")
    assert value_of(fill, {"b": None}, schema) == {"a": 5, "b": None, "c": "x"}
    message = 'Invalid value: null used for required field: "a", schema type: INT32'
    assert str(error_of(keep, {"b": None}, schema)) == message
    assert str(error_of(configured(HoistFieldValue, field="a"), None, INT32)) == message


def test_only_records_of_sinks_have_an_offset() -> None:
    insert = configured(InsertFieldValue, offset_field="o")
    assert value_of(insert, {}) == {"o": 0}
    message = "Only SinkRecord supported for [field insertion], found: org.apache.kafka.connect.source.SourceRecord"
    assert str(error_of(insert, {})) == message


def test_a_partition_without_schema_is_an_integer() -> None:
    changed = configured(InsertFieldValue, partition_field="p!").apply(Record(value={}, partition=3))
    assert changed is not None
    assert type(changed.value["p"]) is Int32


def test_an_inserted_field_must_be_new_to_the_struct() -> None:
    failed = error_of(configured(InsertFieldValue, topic_field="id"), dict(ANN), PERSON)
    assert str(failed) == "Cannot create field because of field name duplication id"
    assert failed.exception == "org.apache.kafka.connect.errors.SchemaBuilderException"


def test_a_rename_onto_another_field_lets_the_later_one_of_the_hash_map_win() -> None:
    assert value_of(configured(ReplaceFieldValue, renames="a:b"), {"b": 2, "a": 1}) == {"b": 2}
    assert value_of(configured(ReplaceFieldValue, renames="b:a"), {"b": 2, "a": 1}) == {"a": 2}


def test_a_renamed_and_excluded_field_still_lends_its_value() -> None:
    replace = configured(ReplaceFieldValue, renames="a:b", exclude="a")
    same = struct_schema(("a", INT32), ("b", INT32))
    assert value_of(replace, {"a": 1, "b": 2}, same) == {"b": 1}
    other = struct_schema(("a", STRING), ("b", INT32))
    message = 'Invalid Java object for schema with type INT32: class java.lang.String for field: "b"'
    assert str(error_of(replace, {"a": "x", "b": 2}, other)) == message
    assert str(error_of(replace, {"b": 2}, struct_schema(("b", INT32)))) == "a is not a valid field name"


def test_the_key_side_leaves_the_value_alone() -> None:
    record = Record(value={"a": 1}, key={"a": 1, "b": 2}, topic="t")
    changed = configured(ReplaceFieldKey, include="b").apply(record)
    assert changed is not None
    assert (changed.key, changed.value) == ({"b": 2}, {"a": 1})


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (Int8(5), Int8(0)),
        (Float32(1.5), Float32(0)),
        (Decimal("1.50"), Decimal(0)),
        ("x", ""),
        ([1], []),
        (True, False),
    ],
)
def test_masks_are_of_the_same_class(value: Any, masked: Any) -> None:
    result = value_of(configured(MaskFieldValue, fields="a"), {"a": value})["a"]
    assert (result, type(result)) == (masked, type(masked))


def test_a_mask_knows_types_of_one_field_apart() -> None:
    mask = configured(MaskFieldValue, fields="a", replacement="7")
    assert [value_of(mask, {"a": value})["a"] for value in (1, "x", 1.5, 2)] == [7, "7", 7.0, 7]


def test_a_replacement_must_fit_the_field() -> None:
    mask = configured(MaskFieldValue, fields="a", replacement="***")
    assert str(error_of(mask, {"a": 1})) == "Unable to convert *** (class java.lang.String) to a number"
    assert str(error_of(mask, {"a": Decimal(1)})) == "Unable to convert *** (class java.lang.String) to number"
    nested = struct_schema(("a", PERSON))
    message = "Cannot mask value of type class org.apache.kafka.connect.data.Struct with custom replacement."
    assert str(error_of(mask, {"a": ANN}, nested)) == message


def test_flattened_fields_are_as_optional_as_what_they_were_in() -> None:
    inner = struct_schema(("a", INT32), ("b", INT32.with_(default=3)), optional=True)
    flatten = configured(FlattenValue, delimiter="_")
    record = Record(value={"in": None}, value_schema=struct_schema(("in", inner)), topic="t")
    changed = flatten.apply(record)
    assert changed is not None
    assert changed.value == {}
    assert changed.value_schema == struct_schema(("in_a", OPTIONAL_INT32), ("in_b", OPTIONAL_INT32.with_(default=3)))


def test_two_fields_must_not_flatten_to_one() -> None:
    schema = struct_schema(("a", struct_schema(("b", INT32))), ("a.b", INT32))
    failed = error_of(configured(FlattenValue), {"a": {"b": 1}, "a.b": 2}, schema)
    assert str(failed) == "Cannot create field because of field name duplication a.b"


def test_metadata_needs_a_struct_or_nothing_at_all() -> None:
    rename = configured(SetSchemaMetadataValue, schema_name="N", schema_version="3")
    record = Record(value=dict(ANN), value_schema=PERSON, topic="t")
    changed = rename.apply(record)
    assert changed is not None
    assert changed.value_schema == PERSON.with_(name="N", version=3)
    nothing = Record(topic="t")
    assert rename.apply(nothing) is nothing


@pytest.mark.parametrize(
    ("precision", "number", "millis"),
    [("seconds", 1 << 62, (1 << 63) - 1), ("microseconds", -1500, -1), ("nanoseconds", 1_999_999, 1)],
)
def test_precisions_are_cut_off_and_kept_within_a_long(precision: str, number: int, millis: int) -> None:
    schema = struct_schema(("a", INT64))
    convert = configured(TimestampConverterValue, field="a", target_type="Timestamp", unix_precision=precision)
    back = configured(TimestampConverterValue, field="a", target_type="unix")
    record = convert.apply(Record(value={"a": number}, value_schema=schema, topic="t"))
    assert record is not None
    again = back.apply(record)
    assert again is not None
    assert again.value == {"a": millis}


def test_narrow_numbers_are_no_timestamps() -> None:
    convert = configured(TimestampConverterValue, target_type="Timestamp")
    message = "TimestampConverter does not support class java.lang.Integer objects as timestamps"
    assert str(error_of(convert, Int32(5))) == message


def test_a_bad_date_pattern_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError) as refused:
        configured(TimestampConverterValue, target_type="string", format="yyyy-bb")
    assert str(refused.value) == (
        "Invalid value java.lang.IllegalArgumentException: Illegal pattern character 'b' for configuration "
        "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: yyyy-bb"
    )


def test_a_header_of_a_null_needs_an_optional_schema() -> None:
    settings = {"fields": "a", "headers": "h", "operation": "copy", "replace_null_with_default": "false"}
    schema = struct_schema(("a", INT32.with_(default=1)))
    failed = error_of(configured(HeaderFromValue, **settings), {}, schema)
    assert str(failed) == "A null value requires an optional schema but was Schema{INT32}"
