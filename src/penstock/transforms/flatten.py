"""Flatten: fields of fields become fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.errors import DataError
from penstock.api.record import Field, Record, Schema, SchemaType

from .cast_functions import inferred_type
from .columns import Members, column_of, is_nothing, members_of
from .java.hash_order import hash_map_order
from .sides import KeySide, SidedTransform, ValueSide
from .structs import SchemaCache, null_in_required, rebuilt, require_map, require_struct, with_default

_PURPOSE = "flattening"


class _Leaf(NamedTuple):
    """A field that moves as it is."""

    source: str
    target: Field
    default: Any


class _Branch(NamedTuple):
    """A struct whose fields move up."""

    source: str
    members: tuple[_Leaf | _Branch, ...]


class _Plan(NamedTuple):
    schema: Schema
    members: tuple[_Leaf | _Branch, ...]


class Flatten(SidedTransform):
    """Turns nested structs (maps without schema) into one level, names joined by a delimiter. Arrays stay."""

    config = ConfigDef(
        ConfigKey("delimiter", Type.STRING, ".", Importance.MEDIUM, "What stands between the names that are joined."),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._delimiter: str = self.config.parse(settings)["delimiter"]
        self._plans = SchemaCache(self._plan)

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        result: dict[str, Any] = {}
        if schema is None:
            source = require_map(value, _PURPOSE)
            if not self._flatten_map(source, "", result):
                result.clear()
                self._flatten_map(_as_java_walks(source), "", result)
            return None, result
        struct = require_struct(schema, value, _PURPOSE)
        plan = self._plans.get(schema)
        _flatten_struct(struct, plan.members, result)
        return plan.schema, result

    def _flatten_map(self, source: dict[str, Any], prefix: str, target: dict[str, Any]) -> bool:
        """Whether all joined names were different, so that the order of the map did not matter."""
        distinct = True
        for name, value in source.items():
            joined = self._join(prefix, name)
            if value is not None and inferred_type(value, "Flatten") is SchemaType.MAP:
                distinct = self._flatten_map(value, joined, target) and distinct
            else:
                distinct = distinct and joined not in target
                target[joined] = value
        return distinct

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        """Only maps: structs with a schema have too many rules about nulls and defaults."""
        if is_nothing(column):
            return column
        members = members_of(column) if column.schema is None else None
        flat: Members = {}
        return column_of(flat) if members is not None and self._flatten_columns(members, "", flat) else None

    def _flatten_columns(self, source: Members, prefix: str, target: Members) -> bool:
        """Whether it could be done for all records."""
        for name, array in source.items():
            joined = self._join(prefix, name)
            if not pa.types.is_struct(array.type):
                if joined in target:
                    return False
                target[joined] = array
                continue
            inner = members_of(Column(array))
            if inner is None or not self._flatten_columns(inner, joined, target):
                return False
        return True

    def _plan(self, schema: Schema) -> _Plan:
        leaves: list[Field] = []
        members = self._members(schema, "", schema.optional, schema.default_value, leaves)
        return _Plan(rebuilt(schema, leaves), members)

    def _members(
        self, schema: Schema, prefix: str, optional: bool, default: dict[str, Any] | None, leaves: list[Field]
    ) -> tuple[_Leaf | _Branch, ...]:
        members: list[_Leaf | _Branch] = []
        for field in schema.fields:
            name = self._join(prefix, field.name)
            may_miss = optional or field.schema.optional
            own = field.schema.default_value
            if own is None and default is not None:
                own = default.get(field.name)
            if field.schema.type is SchemaType.MAP:
                raise DataError(
                    f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                )
            if field.schema.type is SchemaType.STRUCT:
                members.append(_Branch(field.name, self._members(field.schema, name, may_miss, own, leaves)))
                continue
            target = Field(name, _leaf_schema(field.schema, may_miss, own))
            leaves.append(target)
            members.append(_Leaf(field.name, target, field.schema.default_value))
        return tuple(members)

    def _join(self, prefix: str, name: str) -> str:
        return prefix + self._delimiter + name if prefix else name


def _as_java_walks(source: dict[str, Any]) -> dict[str, Any]:
    """The same map in the order of a Java HashMap, which decides who wins when two names become one."""
    ordered = {name: source[name] for name in hash_map_order(source)}
    return {name: _as_java_walks(value) if isinstance(value, dict) else value for name, value in ordered.items()}


def _leaf_schema(schema: Schema, optional: bool, default: Any) -> Schema:
    bare = Schema(
        schema.type,
        optional=optional,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters or None,
        value_schema=schema.value_schema,
    )
    return bare if default is None else with_default(bare, default)


def _flatten_struct(source: dict[str, Any], members: tuple[_Leaf | _Branch, ...], target: dict[str, Any]) -> None:
    for member in members:
        value = source.get(member.source)
        if isinstance(member, _Branch):
            if value is not None:
                _flatten_struct(value, member.members, target)
            continue
        if value is None:
            value = member.default
            if value is None and not member.target.schema.optional:
                raise null_in_required(member.target)
        target[member.target.name] = value


class FlattenKey(KeySide, Flatten):
    """Flattens the key."""

    java_class = "org.apache.kafka.connect.transforms.Flatten$Key"


class FlattenValue(ValueSide, Flatten):
    """Flattens the value."""

    java_class = "org.apache.kafka.connect.transforms.Flatten$Value"
