"""Made-up JSON documents and chains of transforms, and sinks that show which way records took."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.api import Batch, Column, Record
from penstock.api.record import STRING, Schema, SchemaType, struct_schema
from penstock.spark.splits import ErrorPolicy, PluginRef, TaskSpec, TransformRef

from .pumping import HEADERS, Keeping, here

LAST_TIMESTAMP = 2**40
"""In made-up batches; later ones were set while a record was written."""

NAMES = ("id", "name", "amount", "flag", "note", "inner", "ä", "")
TRANSFORMS = "penstock.transforms."
JSON = "penstock.converters.json:JsonConverter"
DEAD_LETTERS = ErrorPolicy(
    tolerate_all=True, log=True, log_messages=True, dead_letter_topic="dlq", dead_letter_headers=True
)

_numbers = st.one_of(
    st.integers(-5, 120),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(-1000, 1000, places=2).map(float),
)
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["true", "12", "plain", 'quo"te', "back\\slash", "line\nend", "\U0001f600", "é", "-0"]
)
_scalars = st.none() | st.booleans() | _numbers | _texts
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3), max_leaves=4
)


_plain_texts = st.text("abcxyz é.", max_size=8)
_simple = [st.integers(-5, 10**12), _plain_texts, st.decimals(-1000, 1000, places=2).map(float), st.booleans()]
_nullable = [st.none() | values for values in _simple]
_nested = st.fixed_dictionaries({"x": st.integers(0, 9), "y": _plain_texts})
_kinds = [*_simple, *_simple, *_simple, *_nullable, _nested, st.none(), _texts, _numbers, _values]


@st.composite
def _shapes(draw: st.DrawFn) -> dict[str, st.SearchStrategy[Any]]:
    """Names with what their values are drawn from: mostly one type a name."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    return {name: draw(st.sampled_from(_kinds)) for name in names}


_ODD_TEXTS = (
    b"",
    b" ",
    b"{",
    b"null",
    b"[1,2]",
    b'"text"',
    b"12",
    b"{} {}",
    b'{"id":broken}',
    b'{"id":1,"id":2}',
    b'{"id":01}',
    b'{"id":-0}',
    b'{"id":-0.0}',
    b'{"id":1e400}',
    b'{"id":1E-7}',
    b'{"id":1.0e3}',
    b'{"id":12345678901234567890}',
    b'{"id":1.}',
    b'{"id":.5}',
    b'{"id":+1}',
    b'{"id":nul}',
    b'{"id":"a\x01b"}',
    b'{"id":"\xff"}',
    b'{"id":"\xed\xa0\x80"}',
    b'{"id":"\\ud83d\\ude00"}',
    b'{"id":"\\ud83d"}',
    b'{ "id" : 1 , "name" : "x" }',
    b'{"id":1,"name":"x"} trailing',
    b'{"id":{}}',
    b'{"id":[]}',
    b'\xef\xbb\xbf{"id":1}',
    b'{"id":9223372036854775807}',
    b'{"id":-9223372036854775808}',
    b'{"id":9223372036854775808}',
    b'{"id":00.5}',
    b'{"id":0.1000000000000000055511151231257827021181583404541015625}',
    b'{"id":100000000.5}',
    b'{"id":0.00001}',
)


@st.composite
def value_lists(draw: st.DrawFn) -> list[bytes | None]:
    """Values of a topic: most of a few shapes, some tombstones, some that are odd or no JSON at all."""
    shapes = draw(st.lists(_shapes(), min_size=1, max_size=2))
    style = draw(st.sampled_from([(",", ":"), (",", ":"), (", ", ": ")]))

    def document(shape: dict[str, st.SearchStrategy[Any]]) -> bytes:
        values = {name: draw(values) for name, values in shape.items()}
        return json.dumps(values, separators=style, ensure_ascii=draw(st.booleans())).encode()

    found: list[bytes | None] = []
    for _ in range(draw(st.integers(0, 30))):
        which = draw(st.integers(0, 29))
        if which == 0:
            found.append(None)
        elif which == 1:
            found.append(draw(st.sampled_from(_ODD_TEXTS)))
        elif which == 2:
            found.append(document(draw(_shapes())))
        elif which == 3:
            found.append(_damaged(draw, document(shapes[0])))
        else:
            found.append(document(draw(st.sampled_from(shapes))))
    return found


_JSON_TYPES: dict[str, st.SearchStrategy[Any]] = {
    "int8": st.integers(-128, 127),
    "int32": st.integers(-(2**31), 2**31 - 1) | st.integers(-5, 5),
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    "double": st.floats(-1e9, 1e9) | st.decimals(-1000, 1000, places=2).map(float) | st.integers(-9, 9),
    "float": st.floats(-1e9, 1e9),
    "boolean": st.booleans(),
    "string": _plain_texts,
    "bytes": st.just("AAE="),
}
_DEFAULTS = {"string": "d", "boolean": True, "bytes": "AA=="}


@st.composite
def _schema_members(draw: st.DrawFn) -> dict[str, Any]:
    """The JSON form of a struct's schema."""
    names = draw(st.lists(st.sampled_from([name for name in NAMES if name]), unique=True, min_size=1, max_size=5))
    fields: list[dict[str, Any]] = []
    for name in names:
        kind = draw(st.sampled_from([*_JSON_TYPES, "int64", "string", "string", "double"]))
        field = {"type": kind, "optional": draw(st.booleans()), "field": name}
        if draw(st.integers(0, 5)) == 0:
            field["default"] = _DEFAULTS.get(kind, 7)
        if kind == "int64" and draw(st.integers(0, 4)) == 0:
            field["name"] = draw(st.sampled_from(["org.apache.kafka.connect.data.Timestamp", "mine"]))
        fields.append(field)
    inner = {"type": "struct", "fields": fields[:2], "optional": True, "field": "nested"}
    return {
        "type": "struct",
        "fields": [*fields, inner] if draw(st.booleans()) else fields,
        "optional": draw(st.booleans()),
    }


@st.composite
def enveloped_lists(draw: st.DrawFn) -> list[bytes | None]:
    """Like ``value_lists``, in envelopes with a schema that most payloads follow."""
    style = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    schemas = draw(st.lists(_schema_members(), min_size=1, max_size=2))

    def member(field: dict[str, Any]) -> Any:
        which = draw(st.integers(0, 19))
        if which == 0 or (which < 3 and field["optional"]):
            return None
        if "fields" in field:
            return {inner["field"]: member(inner) for inner in field["fields"]}
        return draw(_scalars) if which == 19 else draw(_JSON_TYPES[field["type"]])

    def document(schema: dict[str, Any]) -> bytes:
        payload = {field["field"]: member(field) for field in schema["fields"] if draw(st.integers(0, 19))}
        return json.dumps({"schema": schema, "payload": payload}, separators=style, ensure_ascii=False).encode()

    found: list[bytes | None] = []
    for _ in range(draw(st.integers(0, 25))):
        which = draw(st.integers(0, 29))
        text = document(draw(st.sampled_from(schemas)))
        odd = [
            None,
            b'{"schema":null,"payload":1}',
            b'{"payload":{},"schema":null}',
            text + b" ",
            b"{}",
            _damaged(draw, text),
        ]
        found.append(odd[which] if which < len(odd) else text)
    return found


def _damaged(draw: st.DrawFn, text: bytes) -> bytes:
    at = draw(st.integers(0, len(text)))
    return (
        text[:at]
        + draw(st.binary(max_size=2) | st.sampled_from([b'"', b",", b"}", b"\\", b"0", b" "]))
        + text[at + 1 :]
    )


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from([name for name in NAMES if name])


def _some_names() -> st.SearchStrategy[str]:
    return st.lists(_names(), min_size=1, max_size=3, unique=True).map(",".join)


_SIDED: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "insert_field:InsertField": st.fixed_dictionaries(
        {"static.field": _names(), "static.value": _texts.filter(bool)},
        optional={f"{what}.field": _names() for what in ("topic", "partition", "offset", "timestamp")},
    ),
    "replace_field:ReplaceField": st.fixed_dictionaries(
        {},
        optional={
            "exclude": _some_names(),
            "include": _some_names(),
            "renames": st.tuples(_names(), _names() | st.just("new")).map(":".join),
        },
    ),
    "mask_field:MaskField": st.fixed_dictionaries(
        {"fields": _some_names()}, optional={"replacement": st.sampled_from(["***", "7", "1.5"])}
    ),
    "hoist_field:HoistField": st.fixed_dictionaries({"field": _names()}),
    "extract_field:ExtractField": st.fixed_dictionaries({"field": _names()}),
    "flatten:Flatten": st.fixed_dictionaries({}, optional={"delimiter": st.sampled_from([".", "_", ""])}),
    "cast:Cast": st.tuples(_names(), st.sampled_from(["string", "int64", "float64", "boolean", "int8"])).map(
        lambda pair: {"spec": ":".join(pair)}
    ),
    "set_schema_metadata:SetSchemaMetadata": st.just({"schema.name": "named"}),
    "timestamp_converter:TimestampConverter": st.fixed_dictionaries(
        {"field": _names(), "target.type": st.sampled_from(["unix", "string", "Timestamp"]), "format": st.just("yyyy")}
    ),
}
_UNSIDED: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "value_to_key:ValueToKey": st.fixed_dictionaries({"fields": _some_names()}),
    "routers:RegexRouter": st.just({"regex": "(.*)", "replacement": "routed-$1"}),
    "routers:TimestampRouter": st.just({}),
    "filter:Filter": st.just({}),
    "headers:InsertHeader": st.just({"header": "h", "value.literal": "1"}),
    "headers:DropHeaders": st.just({"headers": "h"}),
}
_PREDICATES = (
    None,
    None,
    None,
    PluginRef(f"{TRANSFORMS}predicates:RecordIsTombstone"),
    PluginRef(f"{TRANSFORMS}predicates:TopicNameMatches", {"pattern": "t.*"}),
    PluginRef(f"{TRANSFORMS}predicates:HasHeaderKey", {"name": "h"}),
)


@st.composite
def _links(draw: st.DrawFn) -> TransformRef:
    name = draw(st.sampled_from([*_SIDED, *_SIDED, *_UNSIDED]))
    side = draw(st.sampled_from(["Value", "Value", "Value", "Key"])) if name in _SIDED else ""
    transform = PluginRef(f"{TRANSFORMS}{name}{side}", draw((_SIDED | _UNSIDED)[name]))
    predicate = draw(st.sampled_from(_PREDICATES))
    if name == "filter:Filter" and predicate is None:
        predicate = _PREDICATES[3]
    return TransformRef("link", transform, predicate, predicate is not None and draw(st.booleans()))


def chains() -> st.SearchStrategy[list[TransformRef]]:
    """Up to four links of any of Kafka's transforms, some with predicates."""
    return st.lists(_links(), max_size=4)


_FIELD_KINDS: list[tuple[SchemaType, pa.DataType, st.SearchStrategy[Any], Any]] = [
    (SchemaType.INT64, pa.int64(), st.integers(-(2**63), 2**63 - 1), 3),
    (SchemaType.INT32, pa.int32(), st.integers(-(2**31), 2**31 - 1), 4),
    (SchemaType.INT8, pa.int8(), st.integers(-128, 127), 5),
    (SchemaType.STRING, pa.string(), _texts, "default"),
    (SchemaType.BOOLEAN, pa.bool_(), st.booleans(), True),
    (SchemaType.FLOAT64, pa.float64(), st.floats(), 0.5),
    (SchemaType.FLOAT32, pa.float32(), st.floats(width=32), 0.5),
    (SchemaType.BYTES, pa.binary(), st.binary(max_size=3), b"d"),
]


@st.composite
def struct_batches(draw: st.DrawFn) -> Batch:
    """Structs as a source gives them: with or without a schema, some fields null, some with defaults."""
    size = draw(st.integers(1, 12))
    names = draw(st.lists(_names(), unique=True, min_size=1, max_size=5))
    arrays, fields = [], []
    for name in names:
        kind, arrow, values, default = draw(st.sampled_from(_FIELD_KINDS))
        optional, has_default = draw(st.booleans()), draw(st.integers(0, 3)) == 0
        nullable = draw(st.integers(0, 3)) == 0
        drawn = st.none() | values if nullable else values
        arrays.append(pa.array(draw(st.lists(drawn, min_size=size, max_size=size)), arrow))
        fields.append((name, Schema(kind, optional=optional, default=default if has_default else None)))
    schema = draw(st.sampled_from([None, struct_schema(*fields), struct_schema(*fields, optional=True, name="s")]))
    flags = pa.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    mask = flags if draw(st.integers(0, 9)) == 0 else None
    value = Column(pa.StructArray.from_arrays(arrays, names=names, mask=mask), schema)
    millis = draw(st.lists(st.none() | st.integers(0, LAST_TIMESTAMP), min_size=size, max_size=size))
    key = Column(pa.array(draw(st.lists(_texts, min_size=size, max_size=size)), pa.string()), STRING)
    return Batch(
        "t",
        value,
        draw(st.sampled_from([None, key])),
        partition=draw(st.sampled_from([None, pa.array([0] * size, pa.int32())])),
        timestamp=draw(st.sampled_from([None, pa.array(millis, pa.int64())])),
    )


def json_spec(
    task: type[Any] | str,
    transforms: Sequence[TransformRef],
    errors: ErrorPolicy = DEAD_LETTERS,
    key: str = "spec",
    schemas: str = "false",
    settings: Mapping[str, str] | None = None,
) -> TaskSpec:
    """A task between JSON topics."""
    converter = PluginRef(JSON, {"schemas.enable": schemas})
    target = PluginRef(task if isinstance(task, str) else here(task), settings or {})
    return TaskSpec(key, "c", 0, target, converter, converter, PluginRef(HEADERS), transforms, errors)


class KeepingMixed(Keeping):
    """Takes columns and records; counts what came in columns."""

    in_columns = 0

    def put_mixed(self, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        for item in items:
            if isinstance(item, Batch):
                KeepingMixed.in_columns += len(item)
                Keeping.kept.extend(item.records())
            else:
                Keeping.kept.append(item)
        return {"count": len(Keeping.kept)}


def exact(value: Any) -> Any:
    """A form in which only values of the same types, digits and order are equal."""
    if isinstance(value, float):
        return type(value).__name__, struct.pack(">d", value)
    if isinstance(value, dict):
        return "dict", [(exact(name), exact(member)) for name, member in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [exact(item) for item in value]
    if isinstance(value, (date, time, Decimal)):
        return type(value).__name__, value
    if isinstance(value, Record):
        headers = [(h.key, exact(h.value), h.schema) for h in value.headers]
        where = (value.topic, value.partition, value.timestamp, value.offset)
        return (where, headers, value.key_schema, exact(value.key), value.value_schema, exact(value.value))
    return type(value).__name__, value
