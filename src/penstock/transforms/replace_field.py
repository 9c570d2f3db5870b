"""ReplaceField: fields kept, dropped and renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, unique_list
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Field, Record, Schema
from penstock.api.validation import validate_value

from .columns import column_of, is_nothing, members_of
from .java.hash_order import hash_map_order
from .sides import KeySide, SidedTransform, ValueSide
from .structs import REPLACE_NULL, SchemaCache, null_in_required, rebuilt, require_map, require_struct

_PURPOSE = "field replacement"
_CACHE_SIZE = 256


def _parse_renames(mappings: Sequence[str]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for mapping in mappings:
        parts = mapping.rstrip(":").split(":")
        if len(parts) != 2:
            shown = f"[{', '.join(mappings)}]"
            raise ConfigError.invalid("renames", shown, f"Invalid rename mapping: {mapping}")
        renames[parts[0]] = parts[1]
    return renames


def _valid_renames(name: str, value: Any) -> None:
    _parse_renames(value or ())


class _Move(NamedTuple):
    """One field of the new struct: where its value comes from, and what it falls back to."""

    source: str
    target: Field
    default: Any
    checked: bool
    """Whether the value must be checked, because it comes from a field of another schema."""


class _Plan(NamedTuple):
    schema: Schema
    moves: tuple[_Move, ...]


class ReplaceField(SidedTransform):
    """Keeps, drops and renames fields. Null stays null."""

    config = ConfigDef(
        ConfigKey(
            "exclude",
            Type.LIST,
            [],
            Importance.MEDIUM,
            "The fields to drop, even among the included ones.",
            unique_list(),
        ),
        ConfigKey(
            "include", Type.LIST, [], Importance.MEDIUM, "The fields to keep; none given keeps all.", unique_list()
        ),
        ConfigKey(
            "renames",
            Type.LIST,
            [],
            Importance.MEDIUM,
            "Pairs old:new of field names.",
            _valid_renames,
        ),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._exclude = frozenset(parsed["exclude"])
        self._include = frozenset(parsed["include"])
        self._renames = _parse_renames(parsed["renames"])
        self._origins = {self._renames[old]: old for old in hash_map_order(self._renames)}
        self._with_default: bool = parsed["replace.null.with.default"]
        self._plans = SchemaCache(self._plan)
        self._moves: dict[tuple[str, ...], list[tuple[str, str]]] = {}

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            return None, self._replace_map(require_map(value, _PURPOSE))
        struct = require_struct(schema, value, _PURPOSE)
        plan = self._plans.get(schema)
        return plan.schema, _replace_struct(struct, plan.moves)

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        schema = column.schema
        if is_nothing(column):
            return column
        members = members_of(column)
        if members is None:
            return None
        if schema is None:
            return column_of(self._replace_map(members))
        plan = self._plans.find(schema)
        if plan is None:
            return None
        for source, target, default, checked in plan.moves:
            if checked or (members[source].null_count and (default is not None or not target.schema.optional)):
                return None
        return column_of({move.target.name: members[move.source] for move in plan.moves}, plan.schema)

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _replace_map(self, value: dict[str, Any]) -> dict[str, Any]:
        names = tuple(value)
        moves = self._moves.get(names)
        if moves is None:
            if len(self._moves) >= _CACHE_SIZE:
                self._moves.clear()
            moves = self._moves[names] = self._moves_of(names)
        return {new: value[old] for old, new in moves}

    def _moves_of(self, names: tuple[str, ...]) -> list[tuple[str, str]]:
        """Which members of a map stay, with their old and new names, in the order in which they are put."""
        new_names = {name: self._renames.get(name, name) for name in names if self._keeps(name)}
        if len(set(new_names.values())) == len(new_names):
            return list(new_names.items())
        return [(name, new_names[name]) for name in hash_map_order(names) if name in new_names]

    def _plan(self, schema: Schema) -> _Plan:
        kept = [f for f in schema.fields if self._keeps(f.name)]
        updated = rebuilt(schema, [Field(self._renames.get(f.name, f.name), f.schema) for f in kept])
        return _Plan(updated, tuple(self._move(schema, target) for target in updated.fields))

    def _move(self, schema: Schema, target: Field) -> _Move:
        origin = self._origins.get(target.name, target.name)
        source = schema.by_name.get(origin)
        if source is None:
            raise DataError(f"{origin} is not a valid field name")
        default = source.schema.default_value if self._with_default else None
        return _Move(origin, target, default, source.schema is not target.schema)


def _replace_struct(struct: dict[str, Any], moves: tuple[_Move, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for source, target, default, checked in moves:
        value = struct.get(source)
        if value is None:
            value = default
            if value is None and not target.schema.optional:
                raise null_in_required(target)
        if checked:
            validate_value(target.schema, value, target.name)
        result[target.name] = value
    return result


class ReplaceFieldKey(KeySide, ReplaceField):
    """Keeps, drops and renames fields of the key."""

    java_class = "org.apache.kafka.connect.transforms.ReplaceField$Key"


class ReplaceFieldValue(ValueSide, ReplaceField):
    """Keeps, drops and renames fields of the value."""

    java_class = "org.apache.kafka.connect.transforms.ReplaceField$Value"
