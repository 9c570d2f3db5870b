"""MaskField: fields overwritten with nothing, or with a replacement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, non_empty_string, unique_list
from penstock.api.errors import DataError
from penstock.api.logical import from_millis
from penstock.api.record import Float32, Int8, Int16, Int32, Record, Schema
from penstock.api.text import java_class

from .columns import Members, are_complete, column_of, members_of, same
from .java.hash_order import hash_map_order
from .java.numbers import parse_big_decimal, to_double, to_float, to_integer
from .sides import KeySide, SidedTransform, ValueSide
from .structs import REPLACE_NULL, SchemaCache, StructCopier, require_map, require_struct

_PURPOSE = "mask fields"

_EMPTY: dict[str, Callable[[], Any]] = {
    "java.lang.Boolean": lambda: False,
    "java.lang.Byte": lambda: Int8(0),
    "java.lang.Short": lambda: Int16(0),
    "java.lang.Integer": lambda: Int32(0),
    "java.lang.Long": lambda: 0,
    "java.lang.Float": lambda: Float32(0.0),
    "java.lang.Double": lambda: 0.0,
    "java.math.BigDecimal": lambda: Decimal(0),
    "java.lang.String": lambda: "",
    "java.util.ArrayList": list,
    "java.util.HashMap": dict,
}
_REPLACE: dict[str, Callable[[str], Any]] = {
    "java.lang.Byte": lambda text: Int8(to_integer(parse_big_decimal(text), 8)),
    "java.lang.Short": lambda text: Int16(to_integer(parse_big_decimal(text), 16)),
    "java.lang.Integer": lambda text: Int32(to_integer(parse_big_decimal(text), 32)),
    "java.lang.Long": lambda text: to_integer(parse_big_decimal(text), 64),
    "java.lang.Float": lambda text: Float32(to_float(to_double(parse_big_decimal(text)))),
    "java.lang.Double": lambda text: to_double(parse_big_decimal(text)),
    "java.math.BigDecimal": parse_big_decimal,
    "java.lang.String": str,
}


_SAMPLES: dict[pa.DataType, Any] = {
    pa.string(): "",
    pa.large_string(): "",
    pa.bool_(): False,
    pa.int64(): 0,
    pa.int32(): Int32(0),
    pa.int16(): Int16(0),
    pa.int8(): Int8(0),
    pa.float64(): 0.0,
    pa.float32(): Float32(0.0),
}
"""A value of each Arrow type that a column of masks can have."""


class _Masked(NamedTuple):
    """A field to mask, and what it becomes for each Python type seen so far."""

    name: str
    schema: Schema | None
    masks: dict[type, Any]


class MaskField(SidedTransform):
    """Overwrites fields with the empty value of their type (0, false, "", an empty list), or with a replacement."""

    config = ConfigDef(
        ConfigKey(
            "fields",
            Type.LIST,
            importance=Importance.HIGH,
            validator=unique_list(allow_empty=False),
            doc="The fields to overwrite.",
        ),
        ConfigKey(
            "replacement",
            Type.STRING,
            None,
            Importance.LOW,
            "What to write instead of the empty value. Only for fields that are strings or numbers.",
            non_empty_string,
        ),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._fields = frozenset(parsed["fields"])
        self._schemaless = tuple(_Masked(name, None, {}) for name in hash_map_order(dict.fromkeys(parsed["fields"])))
        self._replacement: str | None = parsed["replacement"]
        self._with_default: bool = parsed["replace.null.with.default"]
        self._plans = SchemaCache(self._plan)

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            result = require_map(value, _PURPOSE).copy()
            self._mask(result, self._schemaless)
            return None, result
        struct = require_struct(schema, value, _PURPOSE)
        copier, masked = self._plans.get(schema)
        result = copier.copy(struct)
        self._mask(result, masked)
        return schema, result

    def _plan(self, schema: Schema) -> tuple[StructCopier, tuple[_Masked, ...]]:
        masked = tuple(_Masked(f.name, f.schema, {}) for f in schema.fields if f.name in self._fields)
        return StructCopier(schema.fields, self._with_default), masked

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        members = members_of(column)
        if members is None:
            return None
        masked = self._schemaless
        if column.schema is not None:
            plan = self._plans.find(column.schema)
            if plan is None or not are_complete(members, column.schema.fields, self._with_default):
                return None
            masked = plan[1]
        masks = all(self._mask_column(members, one, len(batch)) for one in masked)
        return column_of(members, column.schema) if masks else None

    def _mask_column(self, members: Members, masked: _Masked, size: int) -> bool:
        """Whether it could be done for all records."""
        name, schema, _ = masked
        array = members.get(name)
        if array is None or array.null_count == size:
            members[name] = pa.nulls(size) if array is None else array
            return True
        sample = _SAMPLES.get(array.type)
        if sample is None or (schema is not None and schema.name is not None):
            return False
        one: dict[str, Any] = {name: sample}
        try:
            self._mask(one, (masked,))
        except DataError:  # Values of this type cannot be masked: each record says so.
            return False
        values = same(one[name], array.type, size)
        if array.null_count:
            values = pc.if_else(array.is_valid(), values, pa.scalar(None, array.type))
        members[name] = values
        return True

    def _mask(self, target: dict[str, Any], masked: tuple[_Masked, ...]) -> None:
        for name, schema, masks in masked:
            value = target.get(name)
            if value is None:
                target[name] = None
                continue
            python = type(value)
            if python not in masks:
                kind = java_class(value, schema)
                text = self._replacement
                mask = _empty(kind, schema) if text is None else _replaced(kind, text)
                masks[python] = mask if schema is None else _bare(mask)
            target[name] = masks[python]


def _empty(kind: str, schema: Schema | None) -> Any:
    if kind == "java.util.Date":
        return from_millis(0, schema.name) if schema is not None else from_millis(0)
    make = _EMPTY.get(kind)
    if make is None:
        raise DataError(f"Cannot mask value of type: class {kind}")
    return make()


def _replaced(kind: str, replacement: str) -> Any:
    convert = _REPLACE.get(kind)
    if convert is None:
        raise DataError(f"Cannot mask value of type class {kind} with custom replacement.")
    try:
        return convert(replacement)
    except ValueError:
        article = "" if kind == "java.math.BigDecimal" else "a "
        raise DataError(f"Unable to convert {replacement} (class java.lang.String) to {article}number") from None


def _bare(mask: Any) -> Any:
    """A number as structs hold it: their schema says how wide it is."""
    if isinstance(mask, (Int8, Int16, Int32)):
        return int(mask)
    return float(mask) if isinstance(mask, Float32) else mask


class MaskFieldKey(KeySide, MaskField):
    """Masks fields of the key."""

    java_class = "org.apache.kafka.connect.transforms.MaskField$Key"


class MaskFieldValue(ValueSide, MaskField):
    """Masks fields of the value."""

    java_class = "org.apache.kafka.connect.transforms.MaskField$Value"
