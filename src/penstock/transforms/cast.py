"""Cast: another type for fields, or for the whole key or value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.config_values import trim
from penstock.api.errors import ConfigError
from penstock.api.record import Field, Record, Schema, SchemaType

from . import cast_functions
from .cast_functions import TARGETS, cast_schemaless, cast_with_schema, type_list
from .columns import are_complete, column_of, is_nothing, mapped, members_of
from .java.hash_order import hash_map_order
from .sides import KeySide, SidedTransform, ValueSide
from .structs import (
    REPLACE_NULL,
    SchemaCache,
    StructCopier,
    fields_of,
    rebuilt,
    require_map,
    require_struct,
    with_default,
)

_PURPOSE = "cast types"
_ARROW = {
    SchemaType.INT8: pa.int8(),
    SchemaType.INT16: pa.int16(),
    SchemaType.INT32: pa.int32(),
    SchemaType.INT64: pa.int64(),
    SchemaType.FLOAT32: pa.float32(),
    SchemaType.FLOAT64: pa.float64(),
    SchemaType.BOOLEAN: pa.bool_(),
    SchemaType.STRING: pa.string(),
}


class _Spec(NamedTuple):
    """What to cast: the whole, or fields by name."""

    whole: SchemaType | None
    fields: dict[str, SchemaType]

    @classmethod
    def parse(cls, mappings: Sequence[str]) -> _Spec:
        whole: SchemaType | None = None
        fields: dict[str, SchemaType] = {}
        for mapping in mappings:
            parts = _java_split(mapping)
            if len(parts) > 2:
                shown = f"[{', '.join(mappings)}]"
                raise ConfigError.invalid("renames", shown, f"Invalid rename mapping: {mapping}")
            if len(parts) == 2:
                fields[trim(parts[0])] = _target(trim(parts[1]))
            else:
                whole = _target(trim(parts[0]) if parts else "")
        if whole is not None and len(mappings) > 1:
            raise ConfigError(
                "Cast transformations that specify a type to cast the entire value to "
                "may only specify a single cast in their spec"
            )
        return cls(whole, fields)


def _java_split(text: str) -> list[str]:
    """Parts between colons, without empty ones at the end."""
    parts = text.split(":")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _target(name: str) -> SchemaType:
    try:
        target = SchemaType[name.upper()]
    except KeyError:
        cause = f"No enum constant org.apache.kafka.connect.data.Schema.Type.{name.upper()}"
        raise ConfigError(
            f"Invalid value java.lang.IllegalArgumentException: {cause} for configuration "
            f"Invalid type found in casting spec: {name}"
        ) from None
    if target not in TARGETS:
        supported = type_list(TARGETS)
        raise ConfigError(
            f"Cast transformation does not support casting to {target.name}; supported types are {supported}"
        )
    return target


def _valid_spec(name: str, value: Any) -> None:
    if not value:
        raise ConfigError("Must specify at least one field to cast.")
    _Spec.parse(value)


class _StructPlan(NamedTuple):
    schema: Schema
    copier: StructCopier
    casts: tuple[tuple[str, cast_functions.Cast], ...]


class Cast(SidedTransform):
    """Casts numbers, booleans and strings to one another, and bytes and dates to strings. Null stays null."""

    config = ConfigDef(
        ConfigKey(
            "spec",
            Type.LIST,
            importance=Importance.HIGH,
            validator=_valid_spec,
            doc="Pairs field:type, or a single type for the whole key or value. Types: int8, int16, int32, int64, "
            "float32, float64, boolean, string. Bytes can only become strings.",
        ),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        spec = _Spec.parse(parsed["spec"])
        self._targets = spec.fields
        self._whole = spec.whole
        self._with_default: bool = parsed["replace.null.with.default"]
        self._structs = SchemaCache(self._struct_plan)
        if spec.whole is not None:
            whole = spec.whole
            self._schemaless_whole = cast_schemaless(whole)
            self._wholes = SchemaCache(lambda schema: _whole_plan(schema, whole))
        self._schemaless = tuple((name, cast_schemaless(spec.fields[name])) for name in hash_map_order(spec.fields))

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if self._whole is not None:
            if schema is None:
                return None, self._schemaless_whole(value)
            new_schema, cast = self._wholes.get(schema)
            return new_schema, cast(value)
        if schema is None:
            result = require_map(value, _PURPOSE).copy()
            for name, cast in self._schemaless:
                result[name] = cast(value.get(name))
            return None, result
        plan = self._structs.get(schema)
        result = plan.copier.copy(require_struct(schema, value, _PURPOSE))
        for name, cast in plan.casts:
            result[name] = cast(result.get(name))
        return plan.schema, result

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        schema = column.schema
        if is_nothing(column):
            return column
        if self._whole is not None:
            return self._cast_whole(column, self._whole)
        members = members_of(column)
        if members is None:
            return None
        if schema is None:
            for name, cast in self._schemaless:
                values = Column(members.get(name, pa.nulls(len(batch))))
                members[name] = _cast_column(values, cast, self._targets[name])
            return column_of(members)
        plan = self._structs.find(schema)
        if plan is None or not are_complete(members, schema.fields, self._with_default):
            return None
        for name, cast in plan.casts:
            values = Column(members[name], schema.by_name[name].schema)
            members[name] = _cast_column(values, cast, self._targets[name])
        return column_of(members, plan.schema)

    def _cast_whole(self, column: Column, target: SchemaType) -> Column | None:
        """Nulls keep their schema, so that they cannot share a column with others that have one."""
        if column.schema is None:
            return Column(_cast_column(column, self._schemaless_whole, target))
        if column.array.null_count:
            return None
        found = self._wholes.find(column.schema)
        return None if found is None else Column(_cast_column(column, found[1], target), found[0])

    def _struct_plan(self, schema: Schema) -> _StructPlan:
        casts: dict[str, cast_functions.Cast] = {}
        fields: list[Field] = []
        for field in fields_of(schema):
            target = self._targets.get(field.name)
            if target is None:
                fields.append(field)
                continue
            cast = casts[field.name] = cast_with_schema(field.schema, target)
            fields.append(Field(field.name, _cast_schema(Schema(target), field.schema, cast)))
        updated = _cast_schema(rebuilt(schema, fields), schema, cast_with_schema(schema, SchemaType.STRING))
        return _StructPlan(updated, StructCopier(schema.fields, self._with_default), tuple(casts.items()))


def _cast_column(column: Column, cast: cast_functions.Cast, target: SchemaType) -> pa.Array:
    kind = column.array.type
    is_plain = column.schema is None or column.schema.name is None
    if target is SchemaType.STRING and is_plain and (pa.types.is_signed_integer(kind) or pa.types.is_string(kind)):
        return column.array.cast(pa.string())
    return mapped(column, cast, _ARROW[target])


def _whole_plan(schema: Schema, target: SchemaType) -> tuple[Schema, cast_functions.Cast]:
    cast = cast_with_schema(schema, target)
    bare = Schema(
        target, name=schema.name, version=schema.version, doc=schema.doc, parameters=schema.parameters or None
    )
    return _cast_schema(bare, schema, cast), cast


def _cast_schema(bare: Schema, original: Schema, cast: cast_functions.Cast) -> Schema:
    """The new schema, as optional as the original and with its default, cast."""
    if original.optional:
        bare = bare.with_(optional=True)
    default = original.default_value
    return bare if default is None else with_default(bare, cast(default))


class CastKey(KeySide, Cast):
    """Casts the key or its fields."""

    java_class = "org.apache.kafka.connect.transforms.Cast$Key"


class CastValue(ValueSide, Cast):
    """Casts the value or its fields."""

    java_class = "org.apache.kafka.connect.transforms.Cast$Value"
